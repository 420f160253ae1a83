"""The layout of Yen et al. 2014, Tables 1 and 2: one row per method, with its model's size, score, times and memory."""

from __future__ import annotations

import pandas as pd

from rffbench.report.frame import Results, cells, size_label
from rffbench.report.text_table import NOT_RUN, Table, failures, marked, plus_minus, significant_digits
from rffbench.units import amount

HEADER = ["dataset", "s", "method", "size", "score", "training", "test", "memory"]


def make_model_table(results: Results) -> Table:
    """The table of an experiment whose methods say how large their model is.

    A row is a dataset, a size and a method: the model's size (support vectors, features D, or non-zeros), the score,
    seconds to train and to test, and the memory that training and testing took: the process's peak less what it held
    before. Means ± standard deviations over trials; a row without a result says why.
    """
    table = Table(results.title, list(HEADER))
    datasets = {name: marked(name, results, table.notes) for name in results.datasets}
    for dataset, n_features, method, trials in cells(results.trials):
        ok = trials[trials["status"] == "ok"]
        row = [datasets[dataset], size_label(n_features, trials["multiple"].iloc[0]), method]
        if ok.empty:
            row += [NOT_RUN, f"— ({failures(trials)})", NOT_RUN, NOT_RUN, NOT_RUN]
        else:
            score = results.score(dataset)
            mark = "~" if ok["contended"].any() else ""
            sizes, memory = ok["model_size"], ok["own_memory_bytes"].mean()
            if sizes.isna().all() and results.grid.setting("count") == "columns":  # a learner that keeps every column
                sizes = ok["n_features"]
            row += [
                _mean(sizes, 0), _mean(ok[score.name], score.decimals),
                mark + _mean(ok["train_s"]), mark + _mean(ok["predict_s"]),
                NOT_RUN if pd.isna(memory) else amount(memory),
            ]  # fmt: skip
        table.rows.append(row)
    scores = dict.fromkeys(results.score(dataset).label for dataset in results.datasets)
    table.notes[:0] = [
        f"size: support vectors, features D, or non-zeros; score: {'; '.join(scores)}; training and test in seconds; "
        "memory: the process's peak less what it held before. Mean ± standard deviation over trials.",
        *(["~ some times were taken while other work used the processors."] if _contended(results) else []),
    ]
    return table


def has_models(results: Results) -> bool:
    """Whether any trial says how large its model is."""
    return bool(results.trials["model_size"].notna().any())


def _mean(values: pd.Series, decimals: int | None = None) -> str:
    if values.isna().all():
        return NOT_RUN
    mean = float(values.mean())
    return plus_minus(mean, float(values.std(ddof=1)), significant_digits(mean, 3) if decimals is None else decimals)


def _contended(results: Results) -> bool:
    trials = results.trials
    return bool(trials.loc[trials["status"] == "ok", "contended"].any())
