"""The layout of Yen et al. 2014, Tables 1 and 2: one row per method, with its model's size, score, times and memory."""

from __future__ import annotations

import pandas as pd

from rffbench.errors import amount
from rffbench.report import edges
from rffbench.report.frame import Results, as_written, each_cell
from rffbench.report.leaders import BEST, leaders
from rffbench.report.text_table import NOT_RUN, Table, failures, marked, plus_minus, significant_digits

HEADER = ["dataset", "s", "method", "size", "score", "training", "test", "memory"]
STUB = HEADER.index("size")  # the columns that name a row
_TIMES = ("training", "test")


def make_model_table(results: Results, *, written: bool = False, seconds: bool = True, best: bool = False) -> Table:
    """The table of an experiment whose methods report the size of their model.

    A row is a dataset, a size and a method: the model's size (support vectors, features D, or non-zeros), the score,
    seconds to train and to test, and the memory of training and testing: the process's peak less its memory before.
    Numbers are means ± standard deviations over trials; a row without a result gives the reason. ``written``: names as
    people write them. ``seconds``: whether to show times. ``best``: marks at the leading scores
    of a dataset and size (leaders.py).
    """
    table = Table(results.title, list(HEADER), stub=STUB)
    datasets = {each: marked(each, results, table.notes, written) for each in results.datasets}
    at_edges = edges.marks(results)
    leading = leaders(results, {dataset: results.score(dataset) for dataset in results.datasets}) if best else {}
    for dataset, n_features, size, method, trials in each_cell(results.trials):
        ok = trials[trials["status"] == "ok"]
        row = [datasets[dataset], size, as_written(method) if written else method]
        if ok.empty:
            row += [NOT_RUN, f"— ({failures(trials)})", NOT_RUN, NOT_RUN, NOT_RUN]
        else:
            score = results.score(dataset)
            mark = "~" if ok["contended"].any() else ""
            sizes, memory = ok["model_size"], ok["own_memory_bytes"].mean()
            if sizes.isna().all() and results.grid.setting("count") == "columns":  # a learner that keeps every column
                sizes = ok["n_features"]
            at_edge = f" {at_edges[place]}" if (place := (dataset, n_features, method)) in at_edges else ""
            row += [
                _mean(sizes, 0), _mean(ok[score.name], score.decimals) + at_edge,
                mark + _mean(ok["train_s"]), mark + _mean(ok["predict_s"]),
                NOT_RUN if pd.isna(memory) else amount(memory),
            ]  # fmt: skip
            if method in leading.get((dataset, n_features), ()):
                table.best.add((len(table.rows), HEADER.index("score")))
        table.rows.append(row)
    labels = dict.fromkeys(results.score(dataset).label for dataset in results.datasets)
    times = "training and test in seconds; " if seconds else ""
    contended = seconds and (results.trials["contended"] & (results.trials["status"] == "ok")).any()
    table.notes[:0] = [
        f"size: support vectors, features D, or non-zeros; score: {'; '.join(labels)}; {times}"
        "memory: the process's peak less what it held before. Mean ± standard deviation over trials.",
        *([BEST] if table.best else []),
        *(["~ some times were taken while other work used the processors."] if contended else []),
    ]
    table.notes += edges.notes(results)
    if not seconds:
        kept = [column for column, name in enumerate(HEADER) if name not in _TIMES]
        table.header = [HEADER[column] for column in kept]
        table.rows = [[row[column] for column in kept] for row in table.rows]
    return table


def _mean(values: pd.Series, decimals: int | None = None) -> str:
    if values.isna().all():
        return NOT_RUN
    mean = float(values.mean())
    return plus_minus(mean, float(values.std(ddof=1)), significant_digits(mean, 3) if decimals is None else decimals)
