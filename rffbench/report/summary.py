"""summary.csv: mean and standard deviation over trials, one row per cell and metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.report.escape import csv_frame
from rffbench.report.frame import Protocols, Results, cell_places, with_labels
from rffbench.report.significance import significantly_better

COLUMNS = ["dataset", "n_features", "multiple", "method", "metric", "mean", "std", "n_ok", "n_failed", "significant"]


def summarise(results: Results) -> pd.DataFrame:
    """The tidy summary, with the columns ``COLUMNS``.

    ``mean`` and ``std`` (divisor n − 1; missing for a single trial) are over the ``n_ok`` trials that have
    the metric; ``n_failed`` trials did not finish. ``significant`` is 1 if the method is better than every
    baseline (:mod:`rffbench.report.significance`), else 0; it is also 0 for baselines, times, memory and λ, and
    if no test was possible. Accuracy is in %, times in seconds, memory in bytes. A metric that no trial of a
    dataset has gives no rows, except for the score of a dataset whose trials all failed.
    """
    trials, names = results.trials, list(results.metrics)
    values, failed = trials[names].to_numpy(float), (trials["status"] != "ok").to_numpy()
    of_dataset = trials.groupby("dataset").indices
    present: dict[str, list[int]] = {}
    better: set[tuple[str, int, str, str]] = set()
    for dataset in results.datasets:
        measured = ~np.isnan(values[of_dataset[dataset]]).all(axis=0)
        present[dataset] = [i for i, name in enumerate(names) if measured[i] or name == results.score(dataset).name]
        metrics = [results.metrics[names[i]] for i in present[dataset]]
        better |= {(dataset, *cell) for cell in significantly_better(results, dataset, metrics)}
    rows, multiples = [], trials["multiple"].tolist()
    for (dataset, n_features, method), places in cell_places(trials).items():
        multiple, lost = multiples[places[0]], int(failed[places].sum())
        for i, *numbers in zip(present[dataset], *_moments(values[places][:, present[dataset]]), strict=True):
            significant = int((dataset, n_features, method, names[i]) in better)
            rows.append((dataset, n_features, multiple, method, names[i], *numbers, lost, significant))
    summary = pd.DataFrame(rows, columns=COLUMNS)
    summary["multiple"] = summary["multiple"].astype("Int64")
    return summary


def _moments(values: NDArray[np.float64]) -> tuple[list[float], list[float], list[int]]:
    """Mean, standard deviation (NaN of a single number) and count of each column's numbers that are not NaN."""
    columns = np.ascontiguousarray(values.T)  # so that rounding does not depend on the other columns
    has = ~np.isnan(columns)
    counts = has.sum(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):  # numbers near the largest float
        means = np.where(has, columns, 0.0).sum(axis=1) / counts
        squares = np.where(has, (columns - means[:, None]) ** 2, 0.0).sum(axis=1)
        stds = np.sqrt(squares / np.where(counts > 1, counts - 1, np.nan))
    return means.tolist(), stds.tolist(), counts.tolist()


def summary_csv(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> str:
    """The text of the folder's summary.csv: numbers in full precision; for a sweep, one more column per axis."""
    return csv_frame(_joined(protocols, summaries)).to_csv(index=False, lineterminator="\n")


def summary_records(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> list[dict[str, Any]]:
    """The rows of summary.csv as dictionaries; None for a missing number."""
    return records(_joined(protocols, summaries))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries for JSON: NaN and infinity become None, NumPy's numbers Python's."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _joined(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([with_labels(part, labels) for (labels, _), part in zip(protocols, summaries, strict=True)])
