"""How each map stands beside random Fourier features (RFF): with as many columns, and for the same seconds or memory.

The size of a difference is the ratio of test errors, in the median over datasets, with the interval of a bootstrap
over datasets and trials. The verdict is the board's: the Bayesian signed-rank test of its gains
(`rffbench.report.board.statistics`). No verdict comes from mean ranks: those of two maps depend on the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control, ttest_1samp, wilcoxon

from rffbench.report.site.parts import Part, task_of, with_errors
from rffbench.stats.costs import Cost, at_cost, outside
from rffbench.stats.datasets import bootstrap
from rffbench.stats.gain import CELL, gains
from rffbench.stats.intervals import LEVEL, holm
from rffbench.stats.summary import Summary, gains_of, summary_of
from rffbench.stats.units import references

BETTER, WORSE, ALIKE = "smaller", "larger", "not told apart"
PLACE = ["dataset", "n_features", "trial"]


@dataclass(frozen=True)
class Standing:
    """One map beside RFF at one budget: the ``ratio`` of test errors with its interval from ``low`` to ``high``, the
    mean ratio on each dataset, and the `Summary` of its gains, None where no dataset has a unit for them."""

    method: str
    ratio: float
    low: float
    high: float
    on: Mapping[str, float]
    gain: Summary | None
    outside: str = ""

    @property
    def verdict(self) -> str:
        """better, same, worse or undecided."""
        return self.gain.verdict if self.gain is not None and self.gain.is_known else "undecided"

    @property
    def smaller_on(self) -> int:
        return sum(ratio < 1 for ratio in self.on.values())


@dataclass(frozen=True)
class View:
    """Every map of a part at one budget (``columns``, ``fit`` seconds or ``memory`` of RFF), the best ratio first."""

    part: Part
    of: str
    rows: pd.DataFrame
    """A row for every trial: dataset, method, trial, ratio, gain."""

    @cached_property
    def standings(self) -> list[Standing]:
        compared = [name for name in self.part.methods if name != self.part.baseline]
        found = [_standing(self.rows, name) for name in compared if (self.rows["method"] == name).any()]
        known = [each for each in found if not np.isnan(each.ratio)]
        return sorted(known, key=lambda each: each.ratio)

    @property
    def of_maps(self) -> list[Standing]:
        return [each for each in self.standings if self.part.is_map(each.method)]

    def with_verdict(self, verdict: str) -> list[str]:
        """The maps with that verdict."""
        return [each.method for each in self.of_maps if each.verdict == verdict]


def at_columns(part: Part, columns: int | None = None) -> View:
    """The part's maps with as many ``columns`` as RFF; without any, those of its budget. A method without columns is
    compared with RFF at its budget."""
    columns = columns or part.columns
    rows = with_errors(part)
    at_size = rows["n_features"] == columns
    has_no_size = ~rows["method"].map(part.is_map).astype(bool)
    rows = rows[at_size | has_no_size].assign(n_features=columns)
    rows = rows.drop_duplicates(CELL)
    rows["ratio"] = _over_baseline(rows, part.baseline)
    gained = gains(rows, references(), baseline=part.baseline)[[*CELL, "gain"]]
    return View(part, "columns", rows.merge(gained, on=CELL, how="left"))


def with_ratios(part: Part) -> pd.DataFrame:
    """The rows with the test ``error``, and its ``ratio`` to that of RFF with as many columns on the same split."""
    rows = with_errors(part)
    return rows.assign(ratio=_over_baseline(rows, part.baseline))


def _over_baseline(rows: pd.DataFrame, baseline: str) -> pd.Series:
    """Each trial's test error over the baseline's on the same split; NaN where that is 0 or not known."""
    base = rows[rows["method"] == baseline].set_index(PLACE)["error"]
    of_baseline = base.reindex(pd.MultiIndex.from_frame(rows[PLACE])).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = rows["error"].to_numpy() / of_baseline
    return pd.Series(np.where(of_baseline > 0, ratio, np.nan), rows.index)


def at_equal_cost(part: Part, of: Cost) -> View | None:
    """The part's maps for what RFF with its budget of columns costs; None where costs were not measured, or no dataset
    has a unit for gains."""
    known = {name: each for name, each in references().items() if each.is_usable and name in part.datasets}
    if not known or not part.baseline or of not in part.rows or part.rows[of].isna().all():
        return None
    maps = part.rows[part.rows["method"].map(part.is_map).astype(bool)]
    costs = maps[[*CELL, of]].rename(columns={of: "cost"}).dropna()
    found = at_cost(maps, costs, known, part.columns, part.baseline).trials
    base = maps[(maps["method"] == part.baseline) & (maps["n_features"] == part.columns)]
    target = base.set_index(["dataset", "trial"])["loss"]
    losses = target.reindex(pd.MultiIndex.from_frame(found[["dataset", "trial"]])).to_numpy()
    unit = found["dataset"].map({name: each.unit for name, each in known.items()}).to_numpy(float)
    is_regression = found["dataset"].map(lambda name: task_of(part, name) == "regression").to_numpy(bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (losses - found["gain"].to_numpy() * unit) / losses
    found["ratio"] = np.where(is_regression, np.sqrt(np.maximum(ratio, 0)), ratio)
    return View(part, of, found)


def _standing(rows: pd.DataFrame, method: str) -> Standing:
    mine = rows[rows["method"] == method]
    by_dataset = {str(name): each["ratio"].to_numpy(float) for name, each in mine.groupby("dataset")}
    by_dataset = {name: each for name, each in by_dataset.items() if not np.isnan(each).all()}
    ratio, low, high = bootstrap(by_dataset)
    gain = summary_of(
        method, gains_of(rows, method), view=rows["dataset"].nunique(), outside=outside(rows, method)
    ) if mine["gain"].notna().any() else None  # fmt: skip
    means = {name: float(np.nanmean(each)) for name, each in by_dataset.items()}
    return Standing(method, ratio, low, high, means, gain, outside(rows, method))


# ---- On one dataset, and over ranks ----------------------------------------------------------------------------------


def told_apart(pairs: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """For each name, whether the logarithms of its ratios (n,), one a trial, are below 0 (`BETTER`), above (`WORSE`)
    or neither: Student's t-test, at most `LEVEL` of those told apart wrongly (Benjamini and Hochberg)."""
    logs = {}
    for name, each in pairs.items():
        values = np.asarray(each, float)
        logs[name] = np.log(values[values > 0])
    p = {name: _p(values) for name, values in logs.items()}
    known = {name: each for name, each in p.items() if not np.isnan(each)}
    corrected = dict(zip(known, false_discovery_control(list(known.values())), strict=True)) if known else {}
    return {
        name: ALIKE if not corrected.get(name, 1.0) < LEVEL else BETTER if values.mean() < 0 else WORSE
        for name, values in logs.items()
    }


def _p(values: np.ndarray) -> float:
    if len(values) < 2:
        return np.nan
    if np.ptp(values) == 0:
        return 0.0 if values[0] else 1.0
    return float(ttest_1samp(values, 0).pvalue)


def mean_ranks(view: View) -> tuple[pd.Series, pd.DataFrame]:
    """The mean rank of RFF and every map over the datasets that all have (1 is best), and for every two of them the p
    of Wilcoxon's signed-rank test of their errors, with Holm's correction."""
    part = view.part
    maps = [name for name in part.methods if part.is_map(name)]
    errors = view.rows[view.rows["method"].isin(maps)].pivot_table(index="dataset", columns="method", values="ratio")
    errors = errors.dropna(axis=1, how="all").dropna()
    pairs = list(itertools.combinations(errors.columns, 2))
    p = []
    for first, second in pairs:
        difference = (errors[first] - errors[second]).to_numpy()
        p.append(float(wilcoxon(difference).pvalue) if np.count_nonzero(difference) > 1 else np.nan)
    table = pd.DataFrame(pairs, columns=["method", "baseline"]).assign(p_holm=holm(p) if p else [])
    return errors.rank(axis=1).mean().sort_values(), table
