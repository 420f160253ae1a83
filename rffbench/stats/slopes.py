"""Exponents with intervals: measurements as powers of the number of features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rffbench.stats.intervals import mean_interval

FEWEST_SIZES = 3


class Slope(NamedTuple):
    """An exponent, its 95 % interval, and the numbers of sizes and trials behind it."""

    exponent: float
    low: float
    high: float
    sizes: int
    trials: int

    def __str__(self) -> str:
        return f"{self.exponent:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def exponents(sizes: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
    """p of values ∝ sizes^p, the slope of the least-squares line through the logarithms. For sizes of shape (k,) and
    values of shape (k,) or (k, trials), the shape is () or (trials,)."""
    return np.polyfit(np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(values)), 1)[0]


def fitted_slope(trials: pd.DataFrame, metric: str) -> Slope | None:
    """The exponent p of metric ∝ m^p over the sizes m of one method: the mean over trials of the least-squares slopes
    of log metric against log m, with Student's interval. (The sizes of one trial share frequencies; trials do not.)

    None if there are fewer than FEWEST_SIZES sizes or fewer than two trials.
    """
    table = trials.pivot(index="trial", columns="n_features", values=metric).dropna()
    if table.shape[1] < FEWEST_SIZES or len(table) < 2:
        return None
    slopes = pd.Series(exponents(table.columns, table.to_numpy().T))
    return Slope(float(slopes.mean()), *mean_interval(slopes), table.shape[1], len(table))
