"""When does a measured mean agree with a released one? And are the differences mostly in one direction?

**A cell** agrees if the two means differ by no more than

    t₉₅ · s · √(1/n₁ + 1/n₂)  +  half a unit of the last decimal that the released number is printed with,

for n₁ released runs with standard deviation s₁ and n₂ trials here with s₂; t₉₅ is the two-sided 95 % quantile of
Student's t with n₁ + n₂ − 2 degrees of freedom. s is pooled: s² = ((n₁ − 1)s₁² + (n₂ − 1)s₂²)/(n₁ + n₂ − 2). The tested
hypothesis is that both are runs of one protocol. Then they have one spread, and this is the exact test. Welch's test
allows two spreads, and has fewer degrees of freedom: with three trials and ten released runs it allows a difference of
2.0 standard deviations instead of 1.4, with two trials 5.3 instead of 1.7, so that fewer trials would agree more often.
If the spreads do differ, so do the protocols, and `Lean.spreads` shows it.

Without a released spread, n₁ is 1 and s is s₂: the interval is t₉₅·s₂·√(1 + 1/n₂). A single trial and a released spread
are treated in the same way. With a single run on both sides there is no spread, and the cell is not judged.

If the protocols are equal, 95 % of the cells agree. The count cannot show a **lean**: with wide intervals every cell
may agree although all are too large. So the mean signed difference is given with the count, and its interval. The cells
of one dataset share rows and random draws, so the interval is Student's over the means of the datasets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rffbench.stats.intervals import LEVEL, interval_of


def allowed_difference(std: float, n: float, released_std: float, released_n: float) -> float:
    """t₉₅·s·√(1/n₁ + 1/n₂) with s pooled from n trials and ``released_n`` runs; NaN if neither side has a spread."""
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
    """The mean signed difference of one metric's cells from the released numbers.

    ``mean``, with its interval ``low`` to ``high`` (NaN for a single dataset), is in ``unit``: points for a score in
    percent; else percent of the released number, from the mean of the logarithms of the ratios. ``agreeing`` of
    ``cells`` agree, and ``above`` are larger than released. ``allowed`` is the median of the allowed differences.
    ``spreads`` is the median ratio of our standard deviation to the released one, NaN without any.
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
    """The lean of the cells of one metric that are both measured and released. ``percent``: their differences are in
    percent of the released number."""
    ratios = percent and bool((cells[["measured", "reported"]] > 0).all(axis=None))
    # With logarithms, a ratio of 2 and one of 1/2 cancel.
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
