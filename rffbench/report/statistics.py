"""Does a method win over all datasets? Paired tests, effect sizes with intervals, mean ranks.

There are two kinds of rows. For one dataset, the unit is the trial, with differences averaged over sizes, and the test
is a paired t-test. For all datasets, the unit is the cell (dataset and size), with scores averaged over trials, and the
test is Wilcoxon's signed-rank test; Friedman's test uses the same cells (Demšar 2006, JMLR 7). The sizes of a dataset
share rows and frequencies, so the p-values over cells are smaller than independent cells would give. The p-values of
each kind of rows are one family, with Holm's correction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse.csgraph import connected_components

from rffbench.io.text import first_of
from rffbench.report.escape import csv_frame
from rffbench.report.frame import Results
from rffbench.report.summary import records
from rffbench.report.text_table import Table
from rffbench.stats.intervals import LEVEL, holm, mean_interval, paired_p_value

MOST_NAMED = 4  # methods in a sentence
ALL = "all"
Numbers = NDArray[np.float64]
COLUMNS = [
    "dataset", "method", "baseline", "unit", "pairs", "difference", "low", "high", "effect_size", "test", "p", "p_holm",
]  # fmt: skip


@dataclass(frozen=True)
class Statistics:
    """The methods of an experiment compared with one another.

    ``pairs`` has a row for every two methods over ALL and on every dataset, with ``COLUMNS``: difference (mean of
    method less baseline, positive if the method is better: points of accuracy, percent of the baseline's error), its 95
    % interval, effect_size (Cohen's d_z: the mean difference over the differences' standard deviation), two-sided p.

    ``measured`` names the score. ``ranks`` is each method's mean rank over cells (1 is best). ``friedman`` is the
    test's χ² and p, None with fewer than three methods or two cells. ``cells`` is the number of cells that all methods
    have, ``left_out`` the number of others. ``apart`` are the methods without a cell in common with the others.
    """

    title: str
    measured: str
    pairs: pd.DataFrame
    ranks: pd.Series
    friedman: tuple[float, float] | None
    cells: int
    left_out: int
    apart: tuple[str, ...] = ()

    def to_csv(self) -> str:
        """The text of statistics.csv."""
        return csv_frame(self.pairs).to_csv(index=False, lineterminator="\n")

    def records(self) -> list[dict[str, Any]]:
        """The rows of ``pairs`` for JSON."""
        return records(self.pairs)

    def table(self) -> Table:
        """The table of the rows over all datasets."""
        table = Table(
            f"{self.title}: methods against each other over {self.cells} cells (dataset and size)",
            ["method", "against", "mean difference", "95 %", "d_z", "p (Wilcoxon, Holm)"],
            sentence=self.sentence(),
        )
        for row in self.pairs[self.pairs["dataset"] == ALL].to_dict("records"):
            table.rows.append([
                row["method"], row["baseline"], f"{row['difference']:+.2f}",
                "" if np.isinf(row["low"]) else f"{row['low']:+.2f} to {row['high']:+.2f}",
                "" if np.isnan(row["effect_size"]) else f"{row['effect_size']:+.2f}",
                "–" if np.isnan(row["p_holm"]) else f"{row['p_holm']:.2g}",
            ])  # fmt: skip
        ranks = ", ".join(f"{method} {rank:.2f}" for method, rank in self.ranks.items())
        chi2, p = self.friedman or (np.nan, np.nan)
        friedman = f"; Friedman χ² = {chi2:.2f}, p = {p:.2g}" if self.friedman else ""
        table.notes = [
            f"Mean ranks (1 is best): {ranks}{friedman}.",
            "Differences: points of accuracy or percent of an error, positive where the method is better. Cells of a "
            "dataset are not independent: read the p-values as lower bounds.",
            "statistics.csv has every dataset's own tests.",
        ]
        if self.apart:
            table.notes.append(f"Left out, for want of a cell in common with the others: {', '.join(self.apart)}.")
        if self.left_out:
            table.notes.append(f"{self.left_out} cells that not all methods have are left out.")
        return table

    @property
    def first(self) -> str:
        """The method that ranks first."""
        return str(self.ranks.index[0])

    @property
    def shown_with_first(self) -> pd.DataFrame:
        """The rows over all datasets, of the method that ranks first and another, whose difference Holm's p shows."""
        of_first = (self.pairs["method"] == self.first) | (self.pairs["baseline"] == self.first)
        return self.pairs[(self.pairs["dataset"] == ALL) & of_first & (self.pairs["p_holm"] < LEVEL)]

    def sentence(self) -> str:
        """Which method ranks first, and which others it is shown to be better than."""
        best = self.first
        pairs = self.shown_with_first.to_dict("records")
        better = [(row["method"], row["baseline"])[:: 1 if row["difference"] > 0 else -1] for row in pairs]
        worse = {other for method, other in better if method == best}
        others = [str(method) for method in self.ranks.index[1:]]
        shown = [method for method in others if method in worse]
        if not shown:
            return f"{best} ranks first, but is not shown to be better than any other method."
        rest = [method for method in others if method not in worse]
        but = f", but not than {first_of(rest, MOST_NAMED)}" if rest else ""
        return f"{best} ranks first. It is shown to be better than {first_of(shown, MOST_NAMED)}{but}."


def compute_statistics(results: Results) -> Statistics | None:
    """The statistics of an experiment; None if fewer than two methods share a cell."""
    scores = _scores(results)
    by_cell = scores.groupby(["dataset", "n_features", "method"], sort=False)["score"].mean().unstack("method")
    labels = [label for label in results.methods if label in by_cell]
    methods = _comparable(by_cell[labels]) if labels else []
    by_cell = by_cell[methods].dropna(how="all")
    complete = by_cell.dropna()
    if len(methods) < 2 or complete.empty:
        return None
    relative = {dataset: results.score(dataset).better == "less" for dataset in results.datasets}
    in_percent = np.array([relative[name] for name in complete.index.get_level_values("dataset")])
    over_cells = [
        _pair(ALL, method, baseline, _gain(of_method, of_baseline, in_percent), "cell")
        for (method, of_method), (baseline, of_baseline) in _pairs(complete)
    ]
    within = []
    for dataset in complete.index.unique("dataset"):
        of_dataset = scores[scores["dataset"] == dataset]
        by_trial = of_dataset.pivot_table(index=["trial", "n_features"], columns="method", values="score")[methods]
        _, trial = np.unique(by_trial.index.get_level_values("trial"), return_inverse=True)
        for (method, of_method), (baseline, of_baseline) in _pairs(by_trial):
            gains = _means(_gain(of_method, of_baseline, relative[dataset]), trial)
            within.append(_pair(str(dataset), method, baseline, gains, "trial"))
    pairs = pd.DataFrame([*_corrected(over_cells), *_corrected(within)], columns=COLUMNS)
    oriented = complete.mul(np.where(in_percent, -1.0, 1.0), axis=0)
    ranks = oriented.rank(axis=1, ascending=False).mean().sort_values(kind="stable")
    measured = " or ".join(dict.fromkeys(results.score(dataset).label for dataset in results.datasets))
    left_out = len(by_cell) - len(complete)
    apart = tuple(label for label in labels if label not in methods)
    return Statistics(results.title, measured, pairs, ranks, _friedman(oriented), len(complete), left_out, apart)


def _comparable(by_cell: pd.DataFrame) -> list[str]:
    """The methods to compare: the largest group that is connected by common cells. With a method that has other sizes
    (an exact solver, another kind of map) no cell would be common to all."""
    has = by_cell.notna().to_numpy().astype(int)
    _, group = connected_components(has.T @ has)
    return list(by_cell.columns[group == np.bincount(group).argmax()])


def _scores(results: Results) -> pd.DataFrame:
    """dataset, n_features, method, trial, and score, the dataset's main metric."""
    trials = results.trials
    score = pd.concat(
        [trials.loc[trials["dataset"] == dataset, results.score(dataset).name] for dataset in results.datasets]
    )
    return trials.assign(score=score)[["dataset", "n_features", "method", "trial", "score"]].dropna()


def _pairs(scores: pd.DataFrame) -> Iterator[tuple[tuple[str, Numbers], tuple[str, Numbers]]]:
    """Every two columns, with their names. Arrays, as series take most of the time where methods are many."""
    return itertools.combinations(zip(scores.columns, scores.to_numpy(float).T, strict=True), 2)


def _gain(method: Numbers, baseline: Numbers, in_percent: bool | NDArray[np.bool_]) -> Numbers:
    """The gain of each unit over the baseline: points of a score, or, ``in_percent``, percent of the baseline's
    error."""
    return np.where(in_percent, 100 * (baseline - method) / baseline, method - baseline)


def _means(gains: Numbers, trial: NDArray[np.int64]) -> Numbers:
    """The mean over the sizes that both have, of each trial that has one."""
    known = ~np.isnan(gains)
    counts = np.bincount(trial[known])
    return np.bincount(trial[known], gains[known])[counts > 0] / counts[counts > 0]


def _pair(dataset: str, method: str, baseline: str, gains: Numbers, unit: str) -> dict[str, Any]:
    mean = float(gains.mean()) if len(gains) else np.nan
    low, high = mean_interval(gains)
    spread = float(gains.std(ddof=1)) if len(gains) > 1 else 0.0
    test, p = ("Wilcoxon", _wilcoxon(gains)) if unit == "cell" else ("paired t", _two_sided(gains))
    return {
        "dataset": dataset, "method": method, "baseline": baseline, "unit": unit, "pairs": len(gains),
        "difference": mean, "low": low, "high": high,
        "effect_size": mean / spread if spread > 0 else np.nan, "test": test, "p": p,
    }  # fmt: skip


def _two_sided(gains: Numbers) -> float:
    """The p-value of a two-sided paired t-test; NaN from a single trial."""
    one_sided = [paired_p_value(gains, np.zeros(len(gains)), better) for better in ("greater", "less")]
    return float(np.minimum(1.0, 2 * np.min(one_sided)))


def _wilcoxon(gains: Numbers) -> float:
    """The two-sided p-value; NaN from a single cell, 1 if no cell differs."""
    if len(gains) < 2:
        return np.nan
    return float(stats.wilcoxon(gains).pvalue) if gains.any() else 1.0


def _corrected(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "p_holm": p} for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True)]


def _friedman(scores: pd.DataFrame) -> tuple[float, float] | None:
    if scores.shape[1] < 3 or len(scores) < 2 or (scores.nunique(axis=1) == 1).all():
        return None
    result = stats.friedmanchisquare(*(scores[method] for method in scores))
    return float(result.statistic), float(result.pvalue)


def significance_matrix(statistics: Statistics) -> pd.DataFrame:
    """Holm's p-values over cells for every two methods: a symmetric matrix with 1 on its diagonal."""
    methods = list(statistics.ranks.index)
    matrix = pd.DataFrame(1.0, index=methods, columns=methods)
    for row in statistics.pairs[statistics.pairs["dataset"] == ALL].to_dict("records"):
        matrix.loc[row["method"], row["baseline"]] = matrix.loc[row["baseline"], row["method"]] = row["p_holm"]
    return matrix.fillna(1.0)
