"""Measured against reported: an experiment joined with the paper's numbers and compared with its claims.

A cell's verdict:

- **reproduced**: the means differ by no more than the tolerance, and the 95 % Welch interval of their difference
  covers 0 (or cannot be computed, as for a paper that gives no spread);
- **close**: by no more than the tolerance, but the interval excludes 0: a difference that is small but real;
- **differs**: by more than the tolerance;
- **other rows**: where the dataset at hand has other training or test rows than the paper's. Such a cell stands beside
  the others and counts in no sum;
- **not measured**, and **not reported** for what is measured beyond the paper.

A ratio of costs (time, memory, model size) of two methods, as another machine's seconds cannot be compared:
**reproduced** within a factor of 2 of the paper's ratio, **close** where at least the same method is the cheaper one,
else **differs**.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from rffbench.config.grid import Grid, asked_for
from rffbench.config.loading import load_resolved
from rffbench.errors import ConfigError, ResultsError, RffbenchError, unknown
from rffbench.papers import Reference, references
from rffbench.papers.recorded import OwnReference, find_reference
from rffbench.report import edges
from rffbench.report.claims import labelled, load_claims, paper_name
from rffbench.report.controls import Control, controls
from rffbench.report.frame import Protocols, Results, size_label
from rffbench.report.frame import cells as every_cell
from rffbench.report.judge import Finding, judge
from rffbench.report.significance import welch_interval
from rffbench.report.summary import summarise
from rffbench.report.verdicts import NOT_MEASURED, REFUTED
from rffbench.trials.metrics import TIMES, Metric

REPRODUCED, CLOSE, DIFFERS, OTHER_ROWS = "reproduced", "close", "differs", "other rows"
NOT_REPORTED = "not reported"
NOT_RUN_YET, NOT_ASKED = "Not run yet", "Reported, but not asked for by this experiment"
MOST = 6  # names in a sentence
RATIO_FACTOR = 2.0  # how far from the paper's a ratio of costs may be and be reproduced

CELL_COLUMNS = [
    "dataset",
    "n_features",
    "multiple",
    "method",
    "metric",
    "reported",
    "reported_std",
    "measured",
    "measured_std",
    "n_ok",
    "difference",
    "low",
    "high",
    "tolerance",
    "reported_significant",
    "measured_significant",
    "verdict",
]


class NoReference(ConfigError):
    """The experiment's config names no reference to be compared with."""


class NotComparable(ResultsError):
    """The experiment and its reference have nothing in common."""


@dataclass(frozen=True)
class Comparison:
    """An experiment against its reference.

    ``cells`` has a row for every cell measured or reported of the experiment's datasets, with ``CELL_COLUMNS`` and
    ``size``, as written: scores in the suite's unit; ``difference`` (measured less reported) and its Welch interval
    ``low``, ``high`` in points, or in percent of the reported number where the table's tolerance is. ``costs`` has a
    row for every two methods and cost that the paper reports: dataset, method, baseline, metric, reported and measured
    ratio, verdict. ``missing`` says in sentences what there was no number for.
    """

    reference: Reference
    results: Results
    tolerance: float | None
    cells: pd.DataFrame
    costs: pd.DataFrame
    findings: list[Finding]
    missing: list[str]

    @property
    def counted(self) -> pd.DataFrame:
        """The cells both reported and measured, on the same rows."""
        return self.cells[self.cells["verdict"].isin([REPRODUCED, CLOSE, DIFFERS])]

    @property
    def controls(self) -> list[Control]:
        """How many cells would be within the tolerance were methods mixed up; of a paper's numbers alone."""
        if self.reference.table is None or isinstance(self.reference, OwnReference):
            return []
        return controls(self.counted, self.reference.table.tolerance_unit == "percent")

    @property
    def unmeasured(self) -> int:
        """How many reported cells were not measured."""
        return int(((self.cells["verdict"] == NOT_MEASURED) & self.cells["reported"].notna()).sum())

    @property
    def outside(self) -> int:
        """How many cells differ by more than the tolerance."""
        return int((self.cells["verdict"] == DIFFERS).sum())

    @property
    def refuted(self) -> int:
        """How many claims do not hold."""
        return sum(finding.verdict == REFUTED for finding in self.findings)

    @property
    def measured(self) -> bool:
        """Whether anything could be compared or judged."""
        compared = [
            *self.cells.loc[self.cells["reported"].notna(), "verdict"],
            *self.costs["verdict"],
            *(finding.verdict for finding in self.findings),
        ]
        return any(verdict != NOT_MEASURED for verdict in compared)


def compare(
    results: Results,
    tolerance: float | None = None,
    protocols: Protocols | None = None,
    summary: pd.DataFrame | None = None,
    *,
    judged: bool = True,
) -> Comparison:
    """Compare an experiment with its config's ``reference``.

    ``tolerance`` takes the place of the reference's own. ``protocols`` are all those of a sweep, of which ``results``
    are the first: claims are judged under each, or not at all, for the numbers alone. ``summary`` is that of the
    results, where it is made already. Raises NoReference where the config names none, ConfigError where it names an
    unknown one, NotComparable where finished trials have nothing in common with it.
    """
    name = results.config.get("reference")
    where = results.folder / "config.yaml"
    if not name:
        raise NoReference(
            f"{where}: names no reference to compare with; known: {', '.join(references())}; "
            "or a file of your own, which `rffbench record` writes"
        )
    reference = find_reference(name, results.folder)
    if isinstance(reference, OwnReference):
        reference.check_places(asked_for(Grid(resolved) for _, resolved in load_resolved(where)), where)
    reported = _reported(reference, results, reference.numbers())
    other_rows = _other_rows(reference, results)
    cells = _cells(reference, reported, results, tolerance, set(other_rows), summary)
    claims = load_claims(reference.claims, reference.datasets.values()) if judged else []
    findings = judge(claims, protocols or [({}, results)], reference.datasets)
    comparison = Comparison(
        reference,
        results,
        tolerance,
        cells,
        _costs(reference, reported, results),
        findings,
        [
            *_missing(cells, results),
            *(f"{dataset}: {said}." for dataset, said in other_rows.items()),
            *edges.notes(results),
        ],
    )
    finished = (results.trials["status"] == "ok").any()
    if finished and not comparison.measured and not cells[["n_features", "reported"]].notna().all(axis=1).any():
        raise NotComparable(f"{where}: nothing in it is in its reference {name}: {_mismatch(reference, results)}")
    return comparison


def cells_beside(
    comparison: Comparison, others: Protocols, summaries: Sequence[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    """The cells of the other protocols of the same sweep, each as ``Comparison.cells``, beside the same reported
    numbers."""
    reference, cells = comparison.reference, comparison.cells
    other_rows = set(cells.loc[cells["verdict"] == OTHER_ROWS, "dataset"])
    numbers = reference.numbers()
    reported: dict[tuple[str, ...], pd.DataFrame] = {}  # by the datasets, which nearly all protocols have in common
    for (_, results), summary in zip(others, summaries, strict=True):
        datasets = tuple(_planned(results))
        if datasets not in reported:
            reported[datasets] = _reported(reference, results, numbers)
        yield _cells(reference, reported[datasets], results, comparison.tolerance, other_rows, summary)


def _reported(reference: Reference, results: Results, numbers: pd.DataFrame) -> pd.DataFrame:
    """The reference's numbers of the experiment's datasets, under their names here."""
    parts = [
        numbers[numbers["paper_dataset"] == reference.datasets.get(dataset)].assign(dataset=dataset)
        for dataset in _planned(results)
    ]
    found = pd.concat(parts) if parts else numbers.assign(dataset=[])
    return found.assign(method=found["method"].replace(results.shown))


def _planned(results: Results) -> list[str]:
    return results.grid.datasets


# ---- Cells -------------------------------------------------------------------------------------------------


def _cells(
    reference: Reference,
    reported: pd.DataFrame,
    results: Results,
    tolerance: float | None,
    other_rows: set[str],
    summary: pd.DataFrame | None,
) -> pd.DataFrame:
    if reference.table is None:
        return pd.DataFrame(columns=[*CELL_COLUMNS, "size"])
    measured = (summarise(results) if summary is None else summary).rename(
        columns={"mean": "measured", "std": "measured_std", "significant": "measured_significant"}
    )
    scores = {dataset: score_of(reference, results, dataset).name for dataset in _planned(results)}
    measured = measured[measured["metric"] == measured["dataset"].map(scores)].drop(columns="metric")
    own = isinstance(reference, OwnReference)
    measured["paper_method"] = measured["method"].map(str if own else paper_name)
    measured["size"] = [size_label(*size) for size in zip(measured["n_features"], measured["multiple"], strict=True)]
    keys = ["dataset", "paper_method"]
    if own:
        keys.append("size")
    elif reported["multiple"].notna().any():
        keys.append("multiple")
        measured = measured[measured["multiple"].notna()]
    else:  # a table without sizes: every method at its largest
        measured = measured.loc[measured.groupby(["dataset", "method"])["n_features"].idxmax()]
        reported = reported.drop(columns="multiple")
    cells = reported.rename(columns={"method": "paper_method"}).merge(measured, on=keys, how="outer")
    cells["method"] = cells["method"].fillna(cells["paper_method"])
    cells["metric"] = cells["dataset"].map(scores)
    sizes = cells["multiple"].map(lambda multiple: "" if pd.isna(multiple) else f"{multiple}d")
    cells["size"] = cells["size"].fillna(sizes)
    cells["n_ok"] = cells["n_ok"].fillna(0).astype(int)
    cells.loc[cells["n_ok"] == 0, "measured_significant"] = np.nan
    if tolerance is not None:
        cells["tolerance"] = float(tolerance)
    cells["difference"] = cells["measured"] - cells["reported"]
    intervals = [
        welch_interval(
            cell["measured"],
            cell["measured_std"],
            cell["n_ok"],
            cell["reported"],
            cell["reported_std"],
            cell["reported_trials"],
        )
        for cell in cells.to_dict("records")
    ]
    cells[["low", "high"]] = np.array(intervals, float).reshape(-1, 2)
    if reference.table.tolerance_unit == "percent":
        cells[["difference", "low", "high"]] *= (100 / cells["reported"]).to_numpy()[:, None]
    cells["verdict"] = [_verdict(cell) for cell in cells.to_dict("records")]
    cells.loc[cells["dataset"].isin(other_rows) & cells["difference"].notna(), "verdict"] = OTHER_ROWS
    for column, order in (("dataset", _planned(results)), ("method", [*results.methods, *cells["method"]])):
        cells[column] = pd.Categorical(cells[column], list(dict.fromkeys(order)))
    by_size = "n_features" if own else "multiple"
    cells = cells.sort_values(["dataset", by_size, "method"]).astype({"dataset": str, "method": str})
    cells["n_features"] = cells["n_features"].astype("Int64")
    return cells.reset_index(drop=True)[[*CELL_COLUMNS, "size"]]


def score_of(reference: Reference, results: Results, dataset: str) -> Metric:
    """What the reference compares a dataset by: its table's metric, or the dataset's own score."""
    name = reference.metric_of(dataset)
    if name and name not in results.metrics:
        raise ConfigError(f"{reference.citation}: {unknown('metric', name, results.metrics)}")
    return results.metrics[name] if name else results.score(dataset)


def _verdict(cell: Mapping[Any, Any]) -> str:
    if math.isnan(cell["measured"]):
        return NOT_MEASURED
    if math.isnan(cell["reported"]):
        return NOT_REPORTED
    # A difference that equals the tolerance is within it, also after the subtraction's rounding.
    if abs(cell["difference"]) > cell["tolerance"] + 1e-9:
        return DIFFERS
    return CLOSE if cell["low"] > 0 or cell["high"] < 0 else REPRODUCED


# ---- Ratios of costs ---------------------------------------------------------------------------------------


def _costs(reference: Reference, reported: pd.DataFrame, results: Results) -> pd.DataFrame:
    """Every cost of two methods with the same kernel, the one's over the other's."""
    rows = []
    for metric in reference.table.costs if reference.table else ():
        measured = _mean_costs(results, metric)
        kernels = reported["method"].str.partition(" ")[2]
        for (dataset, _), group in reported.groupby(["dataset", kernels], sort=False):
            printed = zip(group["method"], group[metric], strict=True)
            ours = results.methods_on(str(dataset))
            for (above, over), (below, under) in itertools.combinations(printed, 2):
                for pair in itertools.product(labelled(above, ours) or [above], labelled(below, ours) or [below]):
                    numerator, denominator = (measured.get((dataset, method), np.nan) for method in pair)
                    rows.append((dataset, *pair, metric, over / under, numerator / denominator))
    costs = pd.DataFrame(rows, columns=["dataset", "method", "baseline", "metric", "reported", "measured"])
    costs["verdict"] = [_cost_verdict(*cost) for cost in costs[["reported", "measured"]].itertuples(index=False)]
    return costs


def _mean_costs(results: Results, metric: str) -> dict[Any, float]:
    """A metric's mean by dataset and method, at the method's largest size; only seconds that can be compared."""
    trials = results.trials.dropna(subset=[metric])
    if metric in TIMES:
        trials = trials[~trials["contended"]]
    trials = trials[trials["n_features"] == trials.groupby(["dataset", "method"])["n_features"].transform("max")]
    return dict(trials.groupby(["dataset", "method"])[metric].mean())


def _cost_verdict(reported: float, measured: float) -> str:
    if not measured > 0:
        return NOT_MEASURED
    if 1 / RATIO_FACTOR <= measured / reported <= RATIO_FACTOR:
        return REPRODUCED
    return CLOSE if (measured > 1) == (reported > 1) else DIFFERS


# ---- What is missing ---------------------------------------------------------------------------------------


def _missing(cells: pd.DataFrame, results: Results) -> list[str]:
    """Reported cells that the experiment does not ask for or has not run, and measured ones short of trials."""
    few = []
    for dataset, n_features, method, trials in every_cell(results.trials):
        planned = results.planned_trials(n_features, trials["multiple"].iloc[0])
        if (ok := int((trials["status"] == "ok").sum())) < planned:
            failed = trials.loc[trials["status"] != "ok", "status"].value_counts()
            why = "".join(f", {count} {status}" for status, count in failed.items())
            size = size_label(n_features, trials["multiple"].iloc[0])
            few.append(f"{dataset} {size} {method} ({ok} of {planned}{why})")
    absent = cells[(cells["verdict"] == NOT_MEASURED) & cells["n_features"].isna()]
    asked = pd.Series(
        [
            results.asks_for(dataset, method, size)
            for dataset, method, size in zip(absent["dataset"], absent["method"], absent["size"], strict=True)
        ],
        index=absent.index,
        dtype=bool,
    )
    idle = [name for name in _planned(results) if name not in results.datasets]
    return [
        f"{what}: {'; '.join(names)}."
        for what, names in (
            ("Datasets without a trial yet", idle),
            (NOT_RUN_YET, _places(absent[asked], cells)),
            (
                "Fewer trials than planned",
                [*few[:MOST], *([f"{len(few) - MOST} more cells"] if len(few) > MOST else [])],
            ),
            (NOT_ASKED, _places(absent[~asked], cells)),
        )
        if names
    ]


def _places(absent: pd.DataFrame, cells: pd.DataFrame) -> list[str]:
    """``covtype 8d, 16d`` where all methods lack, else with their names."""
    sizes: dict[tuple[str, str], list[str]] = {}
    reported = cells[cells["reported"].notna()]
    for key, rows in absent.groupby(["dataset", "size"], sort=False):
        dataset, size = cast(tuple[str, str], key)
        everyone = reported[(reported["dataset"] == dataset) & ((reported["size"] == size) | (not size))]
        names = "" if set(everyone["method"]) <= set(rows["method"]) else f" {', '.join(rows['method'])}"
        sizes.setdefault((dataset, names), []).append(f" {size}" if size else "")
    return [f"{dataset}{','.join(each)}{names}" for (dataset, names), each in sizes.items()]


def _other_rows(reference: Reference, results: Results) -> dict[str, str]:
    """The datasets whose cards have other numbers of training and test rows than the paper's, and which."""
    from rffbench.data.cards import load_card

    stated = reference.dataset_statistics()
    said = {}
    for dataset in results.datasets:
        try:
            card = load_card(dataset)
        except RffbenchError:  # results of a dataset that this version has no card for
            continue
        paper = reference.datasets.get(dataset, "")
        if paper in stated.index and "n_train" in stated:
            here, there = (card.n_train, card.n_test), tuple(stated.loc[[paper], ["n_train", "n_test"]].to_numpy()[0])
            if here != there:
                said[dataset] = (
                    f"{here[0]:,} training and {here[1]:,} test rows; the paper's are {there[0]:,} and {there[1]:,}"
                )
    return said


def _mismatch(reference: Reference, results: Results) -> str:
    if reference.datasets and not set(results.datasets) & reference.datasets.keys():
        return f"it reports {', '.join(reference.datasets)}; this experiment is of {', '.join(results.datasets)}"
    methods = list(dict.fromkeys(reference.numbers()["method"]))
    if methods and not {paper_name(label) for label in results.methods} & {paper_name(name) for name in methods}:
        return f"it reports the methods {', '.join(methods)}; this experiment has {', '.join(results.methods)}"
    scores = {score_of(reference, results, dataset).label: None for dataset in results.datasets if reference.table}
    score = " or ".join(scores) or "what its claims are about"
    return f"no trial has {score} at a size that it reports"
