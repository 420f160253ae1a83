"""The site's files of numbers, at names that stay: all trials, and the shape that bencheval reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rffbench.report.escape import csv_frame
from rffbench.report.site.parts import COSTS, Part, metric_of, with_errors
from rffbench.stats.units import references

TRIALS = ("dataset", "metric", "method", "columns", "trial", "error", "failed")


def tables(parts: Sequence[Part]) -> dict[str, str]:
    """The text of each file by its name: ``<part>.csv`` with every trial, and ``<part>-bencheval-<columns>.csv``."""
    found = {}
    for part in parts:
        found[f"{part.name}.csv"] = _text(trials(part))
        for columns in sorted(part.rows.loc[part.rows["method"] == part.baseline, "n_features"].unique()):
            found[f"{part.name}-bencheval-{columns}.csv"] = _text(bencheval(part, int(columns)))
    return found


def trials(part: Part) -> pd.DataFrame:
    """A row for every trial: the test error in the units of its metric (empty of one that failed), and the seconds of
    map, one fit and prediction and the memory, as ratios to random Fourier features' with 512 columns."""
    rows = with_errors(part).rename(columns={"n_features": "columns"} | dict(COSTS))
    rows["metric"] = rows["dataset"].map({name: metric_of(part, name) for name in part.datasets})
    costs = [name for name in COSTS.values() if name in rows]
    return rows[[*TRIALS, *costs]].rename(columns={name: f"{name}_ratio" for name in costs})


def bencheval(part: Part, columns: int) -> pd.DataFrame:
    """The maps with that many ``columns`` as bencheval reads them: method, task, seed, metric_error (less is better),
    and the times: ``time_train_s`` and ``time_infer_s`` of own trials, else ``time_ratio``.

    Only methods that have every task and seed are there, as bencheval expects. A trial that failed has the error of the
    best constant, where that is known; else its method is left out.
    """
    rows = with_errors(part)
    rows = rows[(rows["n_features"] == columns) & rows["method"].map(part.is_map).astype(bool)]
    known = references()
    for dataset in rows.loc[rows["failed"], "dataset"].unique():
        if dataset in known:
            lost = rows["failed"] & (rows["dataset"] == dataset)
            is_root = metric_of(part, str(dataset)) == "RMSE"
            constant = known[str(dataset)].constant
            rows.loc[lost, "error"] = np.sqrt(constant) if is_root else constant
    rows = rows.dropna(subset=["error"])
    counts = rows["method"].value_counts()
    rows = rows[rows["method"].isin(counts.index[counts == counts.max()])]
    found = pd.DataFrame({
        "method": rows["method"], "task": rows["dataset"], "seed": rows["trial"], "metric_error": rows["error"],
    })  # fmt: skip
    if not part.seconds.empty:
        cell = ["dataset", "n_features", "method", "trial"]
        timed = rows[cell].merge(part.seconds, on=cell, how="left")
        return found.assign(time_train_s=timed["train_s"].to_numpy(), time_infer_s=timed["predict_s"].to_numpy())
    return found.assign(time_ratio=rows["fit"]) if "fit" in rows else found


def _text(frame: pd.DataFrame) -> str:
    return csv_frame(frame).to_csv(index=False, float_format="%.8g", lineterminator="\n")
