"""When does a mean measured here agree with one that others released? And do the differences lean to one side?

**A cell** agrees where the two means differ by no more than

    t₉₅ · s · √(1/n₁ + 1/n₂)  +  half a unit of the last decimal that the released number is printed with,

n₁ runs with standard deviation s₁ released, n₂ trials with s₂ here, and t₉₅ the two-sided 95 % quantile of Student's t
with n₁ + n₂ − 2 degrees of freedom. s is pooled: s² = ((n₁ − 1)s₁² + (n₂ − 1)s₂²)/(n₁ + n₂ − 2). The claim that is
tested is that both are runs of one protocol, so that they have one spread, and then this is the exact test. Welch's
would allow for two spreads, at the price of degrees of freedom: with three trials here and ten runs there it allows a
difference of 2.0 standard deviations where this allows 1.4, and with two 5.3 against 1.7, so that the fewer trials were
run, the more would agree. Where the spreads differ all the same, the protocols do, and `Lean.spreads` shows it.

Without a released spread, n₁ is 1 and s is s₂: ours ± t₉₅·s₂·√(1 + 1/n₂). One trial here and a released spread are the
same the other way round. With a single run on both sides there is no spread at all, and nothing to say.

Of right protocols 95 % of the cells agree. **The lean** is what this can't show: with wide intervals every cell may
agree, and all be too large. So the mean signed difference stands beside the count, with its interval. The cells of one
dataset share rows and random draws, so that the interval is Student's over the means of the datasets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rffbench.report.significance import LEVEL, interval_of


def allowed_difference(std: float, n: float, released_std: float, released_n: float) -> float:
    """t₉₅·s·√(1/n₁ + 1/n₂), s pooled of n trials here and ``released_n`` runs; NaN where neither has a spread."""
    if math.isnan(released_std) or math.isnan(released_n):
        released_std, released_n = 0.0, 1.0
    if math.isnan(std):
        std, n = 0.0, 1.0
    freedom = n + released_n - 2
    if freedom < 1:
        return math.nan
    variance = ((n - 1) * std**2 + (released_n - 1) * released_std**2) / freedom
    return float(stdtrit(freedom, 1 - LEVEL / 2) * math.sqrt(variance * (1 / n + 1 / released_n)))


@dataclass(frozen=True)
class Lean:
    """The signed differences of one metric's cells from the released numbers, taken together.

    ``mean``, with its interval ``low`` to ``high`` (NaN of a single dataset), is in ``unit``: points of a score in
    percent; else percent of the released number, by the mean of the logarithms of the ratios. ``above`` of ``cells``
    are larger than released. ``allowed`` is the median of what a cell may differ by. ``spreads`` is the median ratio of
    our standard deviation to the released one, NaN without any.
    """

    metric: str
    unit: str
    cells: int
    agreeing: int
    mean: float
    low: float
    high: float
    datasets: int
    above: int
    allowed: float
    spreads: float


def lean(metric: str, cells: pd.DataFrame, percent: bool) -> Lean:
    """Of the cells of one metric that are both measured and released; ``percent``: they differ in percent of that."""
    ratios = percent and bool((cells[["measured", "reported"]] > 0).all(axis=None))
    # Of a ratio and of its inverse the logarithms are as far from 0: twice and half cancel.
    effects = np.log(cells["measured"]) - np.log(cells["reported"]) if ratios else cells["difference"]
    by_dataset = pd.Series(effects).groupby(cells["dataset"]).mean()
    mean = float(by_dataset.mean())
    low, high = interval_of(mean, float(by_dataset.std()), len(by_dataset)) if len(by_dataset) > 1 else (math.nan,) * 2
    if ratios:
        mean, low, high = (100 * math.expm1(value) for value in (mean, low, high))
    spread = cells.loc[cells["reported_std"] > 0, "measured_std"] / cells["reported_std"]
    agreeing = int((cells["difference"].abs() <= cells["tolerance"] + 1e-9).sum())
    return Lean(
        metric, "%" if percent else "points", len(cells), agreeing,
        mean, low, high, len(by_dataset), int((cells["difference"] > 0).sum()),
        float(cells["tolerance"].median()), float(spread.median()),
    )  # fmt: skip
