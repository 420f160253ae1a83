"""The table at a budget of training time: the score that each method reaches within it."""

from __future__ import annotations

import math

import pandas as pd

from rffbench.errors import ResultsError
from rffbench.report.frame import Results, as_written, size_label
from rffbench.report.text_table import NOT_RUN, Table, failures, marked, plus_minus, significant_digits
from rffbench.trials.metrics import Metric


def make_table_at(
    results: Results, at_seconds: float, metrics: dict[str, Metric], *, seconds: bool = True, written: bool = False
) -> tuple[Table, list[dict[int, float]]]:
    """The table, with one row per dataset, and for each row the numbers that may be the best, by column.

    A cell is the method's score at the largest size whose mean training time is at most ``at_seconds``, with that size
    and time. (The best size would be chosen by the test rows.) Training time is the time to map the training rows and
    to learn; without a solver, the time to generate the features. If a method takes longer at every size, its cell has
    the time of the quickest. ``~`` marks times that cannot be compared. Raises ResultsError if no trial has seconds.
    """
    name = as_written if written else str
    table = Table(f"{results.title}: at most {at_seconds:g} s", ["dataset", *map(name, results.methods)], stub=1)
    found: list[dict[int, float]] = []
    ok = results.trials[results.trials["status"] == "ok"]
    timed = "train_s" if ok["train_s"].notna().any() else "feature_s"
    if ok[timed].isna().all():
        raise ResultsError(f"{results.folder}: no trial has seconds, so none can be chosen by them")
    for dataset in results.datasets:
        metric, mine = metrics[dataset], results.trials[results.trials["dataset"] == dataset]
        scores = mine[metric.name]
        decimals = metric.decimals if metric.decimals is not None else significant_digits(scores.max(), 3)
        row = [marked(dataset, results, table.notes, written)]
        found.append({})
        for column, method in enumerate(results.methods, start=1):
            trials = mine[mine["method"] == method]
            if trials.empty:
                row.append(NOT_RUN if method in results.grid.methods_on(dataset) else "")
                continue
            cell, mean = _cell(trials, metric, timed, at_seconds, decimals, results, seconds)
            row.append(cell)
            if not math.isnan(mean):
                found[-1][column] = math.nan if "~" in cell else round(mean, decimals)
        table.rows.append(row)
    what = "to map the training rows and to learn" if timed == "train_s" else "to generate the features"
    labels = "; ".join(dict.fromkeys(metric.label for metric in metrics.values()))
    table.notes.insert(0, f"Mean ± standard deviation over trials: {labels}, at the largest size s whose mean time "
                          f"{what} is at most {at_seconds:g} s.")  # fmt: skip
    if any("~" in cell for row in table.rows for cell in row):
        table.notes.insert(1, "~ times not comparable: some were taken while other work used the processors, so that "
                              "another size may be the largest.")  # fmt: skip
    return table, found


def _cell(
    trials: pd.DataFrame, metric: Metric, timed: str, at_seconds: float, decimals: int, results: Results, seconds: bool
) -> tuple[str, float]:
    """The text of a cell and its score, NaN without any."""
    measured = trials[(trials["status"] == "ok") & trials[metric.name].notna() & trials[timed].notna()]
    if measured.empty:
        return f"— ({failures(trials) or 'not measured'})", math.nan
    # Under `timing: features`, only the features are timed while the rest of the run is paused.
    shared = timed != "feature_s" and results.grid.timing == "features"
    beside = "~" if shared or measured["contended"].any() else ""
    means = measured.groupby("n_features")[timed].mean()
    within = means[means <= at_seconds]
    if within.empty:
        return f"— (quickest: {beside}{_seconds(means.min())} s)", math.nan
    cell = measured[measured["n_features"] == within.index.max()]
    mean, std = float(cell[metric.name].mean()), float(cell[metric.name].std(ddof=1))
    size = size_label(int(within.index.max()), cell["multiple"].iloc[0])
    where = f"s = {size}, {beside}{_seconds(within.iloc[-1])} s" if seconds else f"s = {size}{', ~' if beside else ''}"
    return f"{plus_minus(mean, std, decimals)} ({where})", mean


def _seconds(value: float) -> str:
    return f"{value:.{significant_digits(value, 2)}f}"
