"""Compares an experiment with its reference: the paper's numbers, cell by cell, and the paper's claims.

cells.py explains the verdicts of cells. Seconds of two machines cannot be compared, so costs (time, memory, model size)
are compared as ratios of two methods: **reproduced** within a factor of 2 of the paper's ratio, **close** if at least
the same method is the cheaper one, else **differs**.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd

from rffbench.config.grid import Grid, asked_for
from rffbench.config.loading import load_resolved
from rffbench.errors import ConfigError, ResultsError
from rffbench.io.text import plural
from rffbench.papers import Reference, references
from rffbench.papers.recorded import OwnReference
from rffbench.papers.table import NOT_MEASURED
from rffbench.report import edges
from rffbench.report.agreement import Lean, lean
from rffbench.report.cells import (
    CLOSE,
    DIFFERS,
    INCOMPARABLE,
    NO_SPREAD,
    NOT_COMPARABLE,
    OTHER_ROWS,
    REPRODUCED,
    counted,
    in_words,
    left_out,
    make_cells,
    reported_cells,
    score_of,
)
from rffbench.report.claims import labelled, paper_name
from rffbench.report.controls import Control, controls
from rffbench.report.frame import Protocols, Results, each_cell, find_card
from rffbench.report.judge import Finding, judge
from rffbench.report.reference import read_reference
from rffbench.stats.verdicts import REFUTED
from rffbench.trials.metrics import TIMES

NOT_RUN_YET, NOT_ASKED = "Not run yet", "Reported, but not asked for by this experiment"
MOST = 6  # names in a sentence
RATIO_FACTOR = 2.0  # a ratio of costs within this factor of the paper's is reproduced


class NoReference(ConfigError):
    """The experiment's config names no reference to be compared with."""


class NotComparable(ResultsError):
    """The experiment and its reference have nothing in common."""


@dataclass(frozen=True)
class Comparison:
    """An experiment against its reference.

    ``cells`` has a row for every measured or reported cell of the experiment's datasets, with ``CELL_COLUMNS`` and
    ``BESIDES`` of cells.py: scores in rffbench's units; ``size`` as written; ``difference`` (measured less reported)
    with its 95 % interval ``low``, ``high``, in points or, if ``percent`` is set, in percent of the reported number;
    ``because``, the reason why a cell is not comparable. If all rows of the reference count, those of other datasets
    and methods have a row too. ``costs`` has a row for every two methods and every cost that the paper reports:
    dataset, method, baseline, metric, reported and measured ratio, verdict. ``missing`` are sentences on missing
    numbers.
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
        return counted(self.cells)

    @property
    def by_interval(self) -> bool:
        """Whether cells agree by the spread of runs, not by a tolerance."""
        return self.reference.table is not None and self.reference.table.by_interval and self.tolerance is None

    @property
    def _of_paper(self) -> bool:
        """Whether the numbers are a paper's, not recorded here."""
        return self.reference.table is not None and not isinstance(self.reference, OwnReference)

    @cached_property
    def controls(self) -> list[Control]:
        """The number of cells within the tolerance if methods were mixed up; only for a paper's numbers."""
        if not self._of_paper:
            return []
        return controls(self.counted[self.counted["metric"] == self.counted["metric"].min()])

    @cached_property
    def leans(self) -> list[Lean]:
        """The mean signed difference of each metric's cells; only for a paper's numbers."""
        if not self._of_paper:
            return []
        return [
            lean(str(metric), cells, bool(cells["percent"].iloc[0]))
            for metric, cells in self.counted.groupby("metric", sort=False)
        ]

    @property
    def left_out(self) -> Counter[str]:
        """How many reported cells are in no sum, by why."""
        return left_out(self.cells)

    @property
    def not_comparable(self) -> int:
        """The number of reported cells that cannot be compared."""
        return self.left_out[INCOMPARABLE]

    @property
    def unit(self) -> str:
        """The unit of the cells' differences."""
        kinds = set(self.cells.loc[self.cells["difference"].notna(), "percent"])
        return {(True,): "%", (False, True): "points or %"}.get(tuple(sorted(kinds)), "points")

    @property
    def unmeasured(self) -> int:
        """The number of reported cells that were not measured."""
        return self.left_out[NOT_MEASURED]

    @property
    def outside(self) -> int:
        """The number of cells that differ by more than the tolerance."""
        return int((self.cells["verdict"] == DIFFERS).sum())

    @property
    def refuted(self) -> int:
        """The number of claims that do not hold."""
        return sum(finding.verdict == REFUTED for finding in self.findings)

    @property
    def measured(self) -> bool:
        """Whether anything could be compared or judged."""
        compared = [
            *self.cells.loc[self.cells["reported"].notna(), "verdict"],
            *self.costs["verdict"],
            *(finding.verdict for finding in self.findings),
        ]
        return any(verdict not in (NOT_MEASURED, *NOT_COMPARABLE, NO_SPREAD) for verdict in compared)


def compare(
    results: Results, tolerance: float | None = None, protocols: Protocols | None = None,
    summary: pd.DataFrame | None = None, *, judged: bool = True,
) -> Comparison:  # fmt: skip
    """Compare an experiment with its config's ``reference``.

    ``tolerance`` replaces the reference's own. ``protocols`` are all protocols of a sweep, ``results`` being the first;
    claims are judged under each of them. Without ``judged``, claims are left out. ``summary`` is the summary of the
    results, if it is computed already. Raises NoReference if the config names no reference, ConfigError if it names an
    unknown one, NotComparable if finished trials have nothing in common with it.
    """
    name = results.config.get("reference")
    where = results.folder / "config.yaml"
    if not name:
        raise NoReference(
            f"{where}: names no reference to compare with; known: {', '.join(references())}; "
            "or a file of your own, which `rffbench record` writes"
        )
    reference, numbers, claims = read_reference(name, results.folder, results.methods)
    if isinstance(reference, OwnReference):
        asked = asked_for(Grid(resolved) for _, resolved in load_resolved(where))
        reference.check_places(asked, dict.fromkeys(asked, results.metrics), str(where))
    reported = reported_cells(reference, results, numbers)
    other_rows = _other_rows(reference, results)
    cells = make_cells(reference, reported, results, tolerance, set(other_rows), summary)
    findings = judge(claims if judged else [], protocols or [({}, results)], reference.datasets)
    differ = [f"{dataset}: {said}." for dataset, said in other_rows.items()]
    missing = [*_missing(cells, results), *differ, *edges.notes(results)]
    costs = _costs(reference, reported, results)
    comparison = Comparison(reference, results, tolerance, cells, costs, findings, missing)
    finished = (results.trials["status"] == "ok").any()
    nothing = not comparison.measured and not (cells["has_trials"] & cells["reported"].notna()).any()
    if finished and nothing and not comparison.not_comparable:
        raise NotComparable(f"{where}: nothing in it is in its reference {name}: {_mismatch(reference, results)}")
    return comparison


def cells_beside(
    comparison: Comparison, others: Protocols, summaries: Sequence[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    """For each of the other protocols of the same sweep, its cells (as in ``Comparison.cells``)."""
    reference, cells = comparison.reference, comparison.cells
    other_rows = set(cells.loc[cells["verdict"] == OTHER_ROWS, "dataset"])
    numbers = reference.numbers()
    reported: dict[tuple[str, ...], pd.DataFrame] = {}  # by datasets, which nearly all protocols share
    for (_, results), summary in zip(others, summaries, strict=True):
        datasets = tuple(results.grid.datasets)
        if datasets not in reported:
            reported[datasets] = reported_cells(reference, results, numbers)
        yield make_cells(reference, reported[datasets], results, comparison.tolerance, other_rows, summary)


# ---- Ratios of costs ---------------------------------------------------------------------------------------


def _costs(reference: Reference, reported: pd.DataFrame, results: Results) -> pd.DataFrame:
    """The reported and measured ratios of every cost, for every two methods with the same kernel."""
    rows = []
    for metric in reference.table.costs if reference.table else ():
        measured = mean_costs(results, metric)
        kernels = reported["method"].str.partition(" ")[2]
        for (dataset, _), group in reported.groupby(["dataset", kernels], sort=False):
            printed = zip(group["method"], group[metric], strict=True)
            ours = results.grid.methods_on(str(dataset))
            for (above, over), (below, under) in itertools.combinations(printed, 2):
                for pair in itertools.product(labelled(above, ours) or [above], labelled(below, ours) or [below]):
                    numerator, denominator = (measured.get((dataset, method), np.nan) for method in pair)
                    rows.append((dataset, *pair, metric, over / under, numerator / denominator))
    costs = pd.DataFrame(rows, columns=["dataset", "method", "baseline", "metric", "reported", "measured"])
    costs["verdict"] = [_cost_verdict(*cost) for cost in costs[["reported", "measured"]].itertuples(index=False)]
    return costs


def mean_costs(results: Results, metric: str) -> dict[Any, float]:
    """A metric's mean by dataset and method, at the method's largest size; contended seconds are left out."""
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


# ---- Missing numbers ---------------------------------------------------------------------------------------


def _missing(cells: pd.DataFrame, results: Results) -> list[str]:
    """Sentences on cells that are not comparable, not asked for or not run, and on cells with too few trials."""
    few = []
    for dataset, _, size, method, trials in each_cell(results.trials):
        planned = results.grid.planned_trials(dataset, method, size)
        if (ok := int((trials["status"] == "ok").sum())) < planned:
            failed = trials.loc[trials["status"] != "ok", "status"].value_counts()
            why = "".join(f", {count} {status}" for status, count in failed.items())
            few.append(f"{dataset} {size} {method} ({ok} of {planned}{why})")
    if len(few) > MOST:
        few[MOST:] = [f"{len(few) - MOST} more cells"]
    absent = cells[(cells["verdict"] == NOT_MEASURED) & ~cells["has_trials"].astype(bool)]
    places = zip(absent["dataset"], absent["method"], absent["size"], strict=True)
    asked = np.array([results.grid.asks_for(*place) for place in places], bool)
    idle = [name for name in results.grid.datasets if name not in results.datasets]
    apart = cells[cells["verdict"].isin([*NOT_COMPARABLE, NO_SPREAD])]
    reasons = Counter(zip(apart["verdict"], apart["because"], strict=True))
    lists = {
        "Datasets without a trial yet": idle, NOT_RUN_YET: _places(absent[asked], cells),
        "Fewer trials than planned": few, NOT_ASKED: _places(absent[~asked], cells),
    }  # fmt: skip
    return [
        *(f"{plural(count, 'cell')} {in_words(*why)}." for why, count in reasons.items()),
        *(f"{what}: {'; '.join(names)}." for what, names in lists.items() if names),
    ]


def _places(absent: pd.DataFrame, cells: pd.DataFrame) -> list[str]:
    """``covtype 8d, 16d`` if all methods are absent, else with the methods' names."""
    sizes: dict[tuple[str, str], list[str]] = {}
    reported = cells[cells["reported"].notna()]
    for key, rows in absent.groupby(["dataset", "size"], sort=False):
        dataset, size = cast(tuple[str, str], key)
        everyone = reported[(reported["dataset"] == dataset) & ((reported["size"] == size) | (not size))]
        names = "" if set(everyone["method"]) <= set(rows["method"]) else f" {', '.join(rows['method'])}"
        sizes.setdefault((dataset, names), []).append(f" {size}" if size else "")
    return [f"{dataset}{','.join(each)}{names}" for (dataset, names), each in sizes.items()]


def _other_rows(reference: Reference, results: Results) -> dict[str, str]:
    """The datasets whose cards have other numbers of training and test rows than the paper, with both numbers."""
    stated = reference.dataset_statistics()
    said = {}
    for dataset in results.datasets:
        card, paper = find_card(dataset), reference.datasets.get(dataset, "")
        if card and paper in stated.index and "n_train" in stated:
            train, test = stated.loc[[paper], ["n_train", "n_test"]].to_numpy()[0]
            if (card.n_train, card.n_test) != (train, test):
                ours = f"{card.n_train:,} training and {card.n_test:,} test rows"
                said[dataset] = f"{ours}; the paper's are {train:,} and {test:,}"
    return said


def _mismatch(reference: Reference, results: Results) -> str:
    """The reason why experiment and reference have nothing in common."""
    if reference.datasets and not set(results.datasets) & reference.datasets.keys():
        return f"it reports {', '.join(reference.datasets)}; this experiment is of {', '.join(results.datasets)}"
    methods = list(dict.fromkeys(reference.numbers()["method"]))
    if methods and not {paper_name(label) for label in results.methods} & {paper_name(name) for name in methods}:
        return f"it reports the methods {', '.join(methods)}; this experiment has {', '.join(results.methods)}"
    scores = {score_of(reference, results, dataset).label: None for dataset in results.datasets if reference.table}
    score = " or ".join(scores) or "what its claims are about"
    return f"no trial has {score} at a size that it reports"
