"""The cells of a comparison: reported and measured numbers side by side, each with a verdict.

The verdicts, if the reference has a tolerance:

- **reproduced**: the means differ by no more than the tolerance, and the 95 % Welch interval of their difference
  covers 0 (or cannot be computed, because the paper gives no spread);
- **close**: the means differ by no more than the tolerance, but the interval excludes 0: a small but real difference;
- **differs**: the means differ by more than the tolerance.

Without a tolerance (numbers released with their spread), a cell is **reproduced** if the means differ by no more than
runs of one protocol do, else it **differs**; see agreement.py.

The other verdicts:

- **other rows**: the dataset has other training or test rows here than in the paper. The cell is shown, but counts in
  no sum;
- **data not here**, **method not here**, **not comparable** for another reason;
- **no spread**: both numbers are of a single run, so nothing says how far they may differ. It counts in no sum;
- **not measured**, and **not reported** for a measurement that the paper does not have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rffbench.errors import ConfigError, unknown
from rffbench.papers import Reference
from rffbench.papers.recorded import OwnReference
from rffbench.papers.table import DATA_NOT_HERE, INCOMPARABLE, METHOD_NOT_HERE, NOT_MEASURED
from rffbench.report.agreement import allowed_difference
from rffbench.report.claims import paper_name
from rffbench.report.frame import Results, size_label
from rffbench.report.summary import summarise
from rffbench.stats.intervals import welch_interval
from rffbench.trials.metrics import PERCENT, Metric

REPRODUCED, CLOSE, DIFFERS, OTHER_ROWS = "reproduced", "close", "differs", "other rows"
NOT_REPORTED, NO_SPREAD = "not reported", "no spread"
NOT_COMPARABLE = (DATA_NOT_HERE, METHOD_NOT_HERE, INCOMPARABLE)
WITHOUT_SPREAD = "without a spread"  # of `left_out`, beside NOT_MEASURED and INCOMPARABLE

CELL_COLUMNS = [
    "dataset", "n_features", "multiple", "method", "metric", "reported", "reported_std", "measured", "measured_std",
    "n_ok", "difference", "low", "high", "tolerance", "reported_significant", "measured_significant", "verdict",
]  # fmt: skip
BESIDES = ["size", "trial", "reported_method", "reported_trials", "because", "percent", "has_trials"]


def counted(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells both reported and measured that agree or differ."""
    return cells[cells["verdict"].isin([REPRODUCED, CLOSE, DIFFERS])]


def left_out(cells: pd.DataFrame) -> Counter[str]:
    """How many reported cells are not `counted`, by why: not measured, not comparable, without a spread."""
    verdicts = cells["verdict"]
    numbers = {
        NOT_MEASURED: (verdicts == NOT_MEASURED) & cells["reported"].notna(),
        INCOMPARABLE: verdicts.isin([*NOT_COMPARABLE, OTHER_ROWS]),
        WITHOUT_SPREAD: verdicts == NO_SPREAD,
    }
    return +Counter({why: int(rows.sum()) for why, rows in numbers.items()})


def in_words(verdict: str, because: str) -> str:
    """Why cells are `left_out`: ``not comparable, method not here: …``, or ``not comparable: HIGGS is not here``."""
    if verdict == NO_SPREAD:
        return f"{WITHOUT_SPREAD}: {because}"
    if verdict == INCOMPARABLE or because.endswith("not here"):
        return f"{INCOMPARABLE}: {because}"
    return f"{INCOMPARABLE}, {verdict}: {because}"


def reported_cells(reference: Reference, results: Results, numbers: pd.DataFrame) -> pd.DataFrame:
    """The reference's ``numbers`` for the experiment's datasets, with rffbench's names of datasets and methods. For a
    table whose rows all count, also the numbers for other datasets."""
    planned = results.grid.datasets
    parts = [
        numbers[numbers["paper_dataset"] == reference.datasets.get(dataset)].assign(dataset=dataset)
        for dataset in planned
    ]
    if reference.table and reference.table.counts_all:
        others = numbers[~numbers["paper_dataset"].isin([reference.datasets.get(dataset) for dataset in planned])]
        here = {theirs: dataset for dataset, theirs in reversed(reference.datasets.items())}
        parts.append(others.assign(dataset=others["paper_dataset"].replace(here)))
    return pd.concat(parts) if parts else numbers.assign(dataset=[])


def make_cells(
    reference: Reference, reported: pd.DataFrame, results: Results, tolerance: float | None, other_rows: set[str],
    summary: pd.DataFrame | None,
) -> pd.DataFrame:  # fmt: skip
    """`Comparison.cells`, with the columns CELL_COLUMNS and BESIDES, of the ``reported`` numbers (`reported_cells`)."""
    table = reference.table
    if table is None:
        return pd.DataFrame(columns=[*CELL_COLUMNS, *BESIDES])
    scores = {dataset: score_of(reference, results, dataset).name for dataset in results.grid.datasets}
    own_score = reported["dataset"].map(scores)
    reported = reported.assign(metric=reported["metric"].where(reported["metric"].notna(), own_score))
    wanted = {*scores.items(), *zip(reported["dataset"], reported["metric"], strict=True)}
    own = isinstance(reference, OwnReference)
    by_trial = not own and bool(reported["trial"].notna().any())
    measured = _of_trials(results, wanted) if by_trial else _of_means(results, wanted, summary)
    measured["paper_method"] = measured["method"].map(str if own else paper_name)
    measured["size"] = [size_label(*size) for size in zip(measured["n_features"], measured["multiple"], strict=True)]
    by_size = size_column(reference, reported)
    if by_size:
        measured = measured[measured[by_size].notna()]
    else:  # a table without sizes: every method at its largest
        largest = measured.groupby(["dataset", "method"])["n_features"].transform("max")
        measured = measured[measured["n_features"] == largest]
    keys = ["dataset", "paper_method", "metric", *([by_size] if by_size else []), *(["trial"] if by_trial else [])]
    cells = _joined(reported, measured, keys)
    cells["n_ok"] = cells["n_ok"].fillna(0).astype(int)
    cells.loc[cells["n_ok"] == 0, "measured_significant"] = np.nan
    if tolerance is not None:
        cells["tolerance"] = float(tolerance)
    judge(cells, reference, results, by_interval=table.by_interval and tolerance is None)
    cells.loc[cells["dataset"].isin(other_rows) & cells["difference"].notna(), "verdict"] = OTHER_ROWS
    for column, order in (("dataset", results.grid.datasets), ("method", results.methods)):
        cells[column] = pd.Categorical(cells[column], list(dict.fromkeys([*order, *cells[column]])))
    ordered = ["dataset", "n_features" if own else by_size or "multiple", "method"]
    cells = cells.sort_values(ordered).astype({"dataset": str, "method": str, "n_features": "Int64"})
    return cells.reset_index(drop=True).reindex(columns=[*CELL_COLUMNS, *BESIDES])


def size_column(reference: Reference, reported: pd.DataFrame) -> str | None:
    """The column by which reported and measured sizes are matched; None if the reference has no sizes."""
    if isinstance(reference, OwnReference):
        return "size"
    return next((name for name in ("multiple", "n_features") if reported[name].notna().any()), None)


def score_of(reference: Reference, results: Results, dataset: str) -> Metric:
    """The metric that the reference has for a dataset: its table's (first) metric, else the dataset's own score."""
    name = reference.metric_of(dataset)
    for each in (name, *(reference.table.metrics if reference.table else ())):
        if each and each not in results.metrics:
            raise ConfigError(f"{reference.citation}: {unknown('metric', each, results.metrics)}")
    return results.metrics[name] if name else results.score(dataset)


def _of_means(results: Results, wanted: set[tuple[str, str]], summary: pd.DataFrame | None) -> pd.DataFrame:
    """The means over trials of the ``wanted`` (dataset, metric) pairs."""
    measured = (summarise(results) if summary is None else summary).rename(
        columns={"mean": "measured", "std": "measured_std", "significant": "measured_significant"}
    )
    return measured[[pair in wanted for pair in zip(measured["dataset"], measured["metric"], strict=True)]]


def _of_trials(results: Results, wanted: set[tuple[str, str]]) -> pd.DataFrame:
    """The number of each single trial for the ``wanted`` (dataset, metric) pairs."""
    places = results.trials[["dataset", "n_features", "multiple", "method", "trial"]]
    parts = [
        places.assign(metric=metric, measured=results.trials[metric])[places["dataset"] == dataset]
        for dataset, metric in sorted(wanted) if metric in results.trials
    ]  # fmt: skip
    measured = pd.concat(parts, ignore_index=True).astype({"trial": "Int64"})
    ok = measured["measured"].notna().astype(int)
    return measured.assign(measured_std=math.nan, measured_significant=math.nan, n_ok=ok)


def _joined(reported: pd.DataFrame, measured: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """One row per cell that is reported, measured, or both, and then the reported cells that are not comparable.

    ``has_trials`` is whether the experiment has trials of the cell. ``reported_method`` is the released method's name,
    if several released methods are one method here."""
    compared = reported[reported["absent"] == ""].rename(columns={"method": "paper_method"})
    several = compared.groupby(keys, dropna=False)["reported_method"].transform("nunique") > 1
    compared["reported_method"] = compared["reported_method"].where(several, "")
    of_measured = [name for name in ("size", "multiple", "n_features", "trial") if name not in keys]
    if "n_features" in keys:
        measured = measured.astype({"n_features": "Int64"})
    compared = compared.drop(columns=of_measured, errors="ignore")
    cells = compared.merge(measured, on=keys, how="outer", indicator="has_trials")
    cells["has_trials"] = cells["has_trials"] != "left_only"
    if len(absent := reported[reported["absent"] != ""]):
        cells = pd.concat([cells, absent.assign(has_trials=False, reported_method="")], ignore_index=True)
    cells["method"] = cells["method"].fillna(cells["paper_method"])
    cells["reported_method"] = cells["reported_method"].fillna("")
    sizes = [_written(*size) for size in zip(cells["n_features"], cells["multiple"], strict=True)]
    cells["size"] = cells["size"].fillna(pd.Series(sizes, index=cells.index, dtype=object))
    return cells


def _written(n_features: Any, multiple: Any) -> str:
    return "" if pd.isna(multiple) and pd.isna(n_features) else size_label(n_features, multiple)


# ---- Verdicts ----------------------------------------------------------------------------------------------


def judge(cells: pd.DataFrame, reference: Reference, results: Results, *, by_interval: bool) -> None:
    """Fill in each cell's difference with its interval, the allowed difference, and the verdict."""
    table = reference.table
    assert table is not None
    percent = {
        name: table.tolerance_unit == "percent" or (table.by_interval and results.metrics[name].unit != PERCENT)
        for name in cells["metric"].dropna().unique() if name in results.metrics
    }  # fmt: skip
    cells["percent"] = cells["metric"].map(percent).eq(True)
    cells["difference"] = cells["measured"] - cells["reported"]
    rows = cells.to_dict("records")
    if by_interval:
        half = np.array([_allowed(cell) for cell in rows])
        cells["low"], cells["high"] = cells["difference"] - half, cells["difference"] + half
        cells["tolerance"] = half + cells["rounding"]
    else:
        cells[["low", "high"]] = np.array([_welch(cell) for cell in rows], float).reshape(-1, 2)
    in_unit = (100 / cells["reported"]).where(cells["percent"], 1.0).abs()
    moved = ["difference", "low", "high", *(["tolerance"] if by_interval else [])]
    cells[moved] *= in_unit.to_numpy()[:, None]
    cells["verdict"] = [_verdict(cell, by_interval) for cell in cells.to_dict("records")]
    alone = cells["verdict"] == NO_SPREAD
    cells.loc[alone, "because"] = "a single run there, and a single trial here"


def _allowed(cell: Mapping[Any, Any]) -> float:
    return allowed_difference(cell["measured_std"], cell["n_ok"], cell["reported_std"], cell["reported_trials"])


def _welch(cell: Mapping[Any, Any]) -> tuple[float, float]:
    return welch_interval(
        cell["measured"], cell["measured_std"], cell["n_ok"],
        cell["reported"], cell["reported_std"], cell["reported_trials"],
    )  # fmt: skip


def _verdict(cell: Mapping[Any, Any], by_interval: bool) -> str:
    if cell["absent"] and cell["absent"] == cell["absent"]:  # is not NaN
        return str(cell["absent"])
    if math.isnan(cell["measured"]):
        return NOT_MEASURED
    if math.isnan(cell["reported"]):
        return NOT_REPORTED
    if math.isnan(cell["tolerance"]):
        return NO_SPREAD
    # A difference that equals the tolerance is within it, also after the subtraction's rounding.
    if abs(cell["difference"]) > cell["tolerance"] + 1e-9:
        return DIFFERS
    return CLOSE if not by_interval and (cell["low"] > 0 or cell["high"] < 0) else REPRODUCED
