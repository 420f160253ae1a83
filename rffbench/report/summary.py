"""summary.csv: mean and standard deviation over trials, one row per cell and metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from rffbench.report.escape import csv_frame
from rffbench.report.frame import Protocols, Results, cells
from rffbench.report.significance import significantly_better

COLUMNS = [
    "dataset",
    "n_features",
    "multiple",
    "method",
    "metric",
    "mean",
    "std",
    "n_ok",
    "n_failed",
    "significant",
]


def summarise(results: Results) -> pd.DataFrame:
    """The tidy summary, with the columns ``COLUMNS``.

    ``mean`` and ``std`` (divisor n − 1; missing for a single trial) are over the ``n_ok`` trials that have
    the metric; ``n_failed`` trials ended otherwise than ok. ``significant`` is 1 where the method is better
    than every baseline (:mod:`rffbench.report.significance`), else 0: for baselines, times, memory and λ,
    and where no test could be made. Accuracy is in %, times in seconds, memory in bytes. A metric that no
    trial of a dataset has gives no rows, except for the score of a dataset whose trials all failed.
    """
    rows = []
    trials = results.trials
    has = trials.groupby("dataset")[list(results.metrics)].count() > 0
    present = {
        dataset: [name for name in results.metrics if has[name][dataset] or name == results.score(dataset).name]
        for dataset in results.datasets
    }
    better = {
        (dataset, name): significantly_better(results, dataset, results.metrics[name])
        for dataset, names in present.items()
        for name in names
    }
    for dataset, n_features, method, cell in cells(trials):
        failed = int((cell["status"] != "ok").sum())
        for name in present[dataset]:
            rows.append(
                (
                    dataset,
                    n_features,
                    cell["multiple"].iloc[0],
                    method,
                    name,
                    cell[name].mean(),
                    cell[name].std(ddof=1),
                    int(cell[name].count()),
                    failed,
                    int((n_features, method) in better[dataset, name]),
                )
            )
    summary = pd.DataFrame(rows, columns=COLUMNS)
    summary["multiple"] = summary["multiple"].astype("Int64")
    return summary


def summary_csv(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> str:
    """The folder's summary.csv, numbers in full precision; of a sweep, with one more column per axis."""
    return csv_frame(_joined(protocols, summaries)).to_csv(index=False, lineterminator="\n")


def summary_records(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> list[dict[str, Any]]:
    """The same by row; None where there is no number."""
    return records(_joined(protocols, summaries))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as JSON can hold them: no NaN, no infinity, no number of NumPy's."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _joined(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([part.assign(**labels) for (labels, _), part in zip(protocols, summaries, strict=True)])
