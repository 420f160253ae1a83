"""Measured against reported: an experiment joined with the paper's numbers and compared with its claims.

Which verdicts a cell has is said in cells.py.

A ratio of costs (time, memory, model size) of two methods, as another machine's seconds cannot be compared:
**reproduced** within a factor of 2 of the paper's ratio, **close** where at least the same method is the cheaper one,
else **differs**.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from rffbench.config.grid import Grid, asked_for
from rffbench.config.loading import load_resolved
from rffbench.errors import ConfigError, ResultsError, RffbenchError
from rffbench.papers import Reference, references
from rffbench.papers.recorded import OwnReference, find_reference
from rffbench.report import edges
from rffbench.report.agreement import Lean, lean
from rffbench.report.cells import (
    CLOSE,
    DIFFERS,
    NOT_COMPARABLE,
    OTHER_ROWS,
    REPRODUCED,
    make_cells,
    reported_cells,
    score_of,
)
from rffbench.report.claims import labelled, load_claims, paper_name
from rffbench.report.controls import Control, controls
from rffbench.report.frame import Protocols, Results, size_label
from rffbench.report.frame import cells as every_cell
from rffbench.report.judge import Finding, judge
from rffbench.report.verdicts import NOT_MEASURED, REFUTED
from rffbench.trials.metrics import TIMES

NOT_RUN_YET, NOT_ASKED = "Not run yet", "Reported, but not asked for by this experiment"
MOST = 6  # names in a sentence
RATIO_FACTOR = 2.0  # how far from the paper's a ratio of costs may be and be reproduced


class NoReference(ConfigError):
    """The experiment's config names no reference to be compared with."""


class NotComparable(ResultsError):
    """The experiment and its reference have nothing in common."""


@dataclass(frozen=True)
class Comparison:
    """An experiment against its reference.

    ``cells`` has a row for every cell measured or reported of the experiment's datasets, with ``CELL_COLUMNS`` and
    ``BESIDES`` of cells.py: scores in the suite's unit; ``size`` as written; ``difference`` (measured less reported)
    and its 95 % interval ``low``, ``high`` in points, or, of cells that are in ``percent``, in percent of the reported
    number; ``because`` says why a cell is not comparable. Of a reference whose rows all count, what is not here has a
    row too. ``costs`` has a
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
        return controls(self.counted[self.counted["metric"] == self.counted["metric"].min()])

    @property
    def leans(self) -> list[Lean]:
        """Of numbers released with their spread, how far the cells of each metric lie to one side."""
        if self.reference.table is None or not self.reference.table.by_interval:
            return []
        return [
            lean(str(metric), cells, bool(cells["percent"].iloc[0]))
            for metric, cells in self.counted.groupby("metric", sort=False)
        ]

    @property
    def not_comparable(self) -> int:
        """How many reported cells nothing here can be compared with."""
        return int(self.cells["verdict"].isin(NOT_COMPARABLE).sum())

    @property
    def unit(self) -> str:
        """What the differences of its cells are in."""
        kinds = set(self.cells.loc[self.cells["difference"].notna(), "percent"])
        return {(True,): "%", (False, True): "points or %"}.get(tuple(sorted(kinds)), "points")

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
        return any(verdict not in (NOT_MEASURED, *NOT_COMPARABLE) for verdict in compared)


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
    results, where it is made already. Raises NoReference if the config names none, ConfigError if it names an
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
    reported = reported_cells(reference, results, reference.numbers())
    _check_cards(reference, reported)
    other_rows = _other_rows(reference, results)
    cells = make_cells(reference, reported, results, tolerance, set(other_rows), summary)
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
    nothing = not comparison.measured and not (cells["has_trials"] & cells["reported"].notna()).any()
    if finished and nothing and not comparison.not_comparable:  # a table may be there for its numbers' size alone
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
            reported[datasets] = reported_cells(reference, results, numbers)
        yield make_cells(reference, reported[datasets], results, comparison.tolerance, other_rows, summary)


def _planned(results: Results) -> list[str]:
    return results.grid.datasets


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
    absent = cells[(cells["verdict"] == NOT_MEASURED) & ~cells["has_trials"].astype(bool)]
    asked = pd.Series(
        [
            results.asks_for(dataset, method, size)
            for dataset, method, size in zip(absent["dataset"], absent["method"], absent["size"], strict=True)
        ],
        index=absent.index,
        dtype=bool,
    )
    idle = [name for name in _planned(results) if name not in results.datasets]
    apart = cells[cells["verdict"].isin(NOT_COMPARABLE)]
    reasons = Counter(zip(apart["verdict"], apart["because"], strict=True))
    return [f"Not comparable, {verdict}: {count} cells: {why}." for (verdict, why), count in reasons.items()] + [
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


def _check_cards(reference: Reference, reported: pd.DataFrame) -> None:
    """ConfigError, with file and line, where the reference is of a dataset without a card, or of a fold that its card
    does not have."""
    from rffbench.data.cards import load_card

    if reference.table is None or isinstance(reference, OwnReference):
        return
    above = () if reference.table.datasets else ("..",)
    for dataset in reference.datasets:
        try:
            load_card(dataset)
        except RffbenchError as error:
            raise ConfigError(f"{reference.place(*above, 'datasets', dataset)}: {error}") from None
    of_fold = reported[reported["trial"].notna() & (reported["absent"] == "")]
    for name, rows in of_fold.groupby("dataset"):
        card = load_card(str(name))
        folds = round(card.rows / card.n_test) if card.split.rule == "folds" else 0
        if (beyond := rows["trial"] >= folds).any():
            row = rows[beyond].iloc[0]
            has = f"has the folds 0 to {folds - 1}" if folds else "has no fixed folds"
            raise ConfigError(f"{reference.file}, line {row['line']}: is of fold {row['trial']}; {name} {has}")


def _mismatch(reference: Reference, results: Results) -> str:
    if reference.datasets and not set(results.datasets) & reference.datasets.keys():
        return f"it reports {', '.join(reference.datasets)}; this experiment is of {', '.join(results.datasets)}"
    methods = list(dict.fromkeys(reference.numbers()["method"]))
    if methods and not {paper_name(label) for label in results.methods} & {paper_name(name) for name in methods}:
        return f"it reports the methods {', '.join(methods)}; this experiment has {', '.join(results.methods)}"
    scores = {score_of(reference, results, dataset).label: None for dataset in results.datasets if reference.table}
    score = " or ".join(scores) or "what its claims are about"
    return f"no trial has {score} at a size that it reports"
