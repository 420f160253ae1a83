"""Student's intervals and paired tests over trials, and Holm's correction of several p-values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from rffbench.trials.metrics import check_direction

LEVEL = 0.05  # of tests (1 − LEVEL of intervals), unless a config sets another level


def paired_p_value(candidate: ArrayLike, baseline: ArrayLike, better: str) -> float:
    """The p-value of a one-sided paired t-test that ``candidate`` is better ('greater' or 'less') than ``baseline``.

    Arrays are paired by position, two series by their index, the trial; trials with a NaN are left out. NaN with fewer
    than two pairs. If all differences are equal, the t statistic is infinite or 0/0; then p is 0 if they favour the
    candidate, else 1.
    """
    check_direction(better)
    if isinstance(candidate, pd.Series) and isinstance(baseline, pd.Series):
        candidate, baseline = candidate.align(baseline)
    pairs = np.array([candidate, baseline], float)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    count = pairs.shape[1]
    if count < 2:
        return float("nan")
    gains = pairs[0] - pairs[1] if better == "greater" else pairs[1] - pairs[0]
    rounding = 16 * np.finfo(float).eps * np.abs(pairs).max()
    if np.ptp(gains) <= rounding:
        return 0.0 if gains.mean() > rounding else 1.0
    # The same as scipy.stats.ttest_rel in a tenth of the time: a report of many protocols makes thousands of tests.
    return float(stdtr(count - 1, -gains.mean() / np.sqrt(gains.var(ddof=1) / count)))


def mean_interval(sample: ArrayLike) -> tuple[float, float]:
    """Student's interval of a mean at 1 − ``LEVEL``; infinite from a single value."""
    values = np.asarray(sample, float)
    if len(values) < 2:
        return -np.inf, np.inf
    return interval_of(float(values.mean()), float(values.std(ddof=1)), len(values))


def interval_of(mean: float, std: float, n: int) -> tuple[float, float]:
    """Student's interval at 1 − ``LEVEL`` of the mean of ``n`` numbers; infinite from a single one."""
    half = float(stdtrit(n - 1, 1 - LEVEL / 2) * std / np.sqrt(n)) if n > 1 else np.inf
    return mean - half, mean + half


def welch_interval(
    mean: float, std: float, n: int, other_mean: float, other_std: float, other_n: int
) -> tuple[float, float]:
    """Welch's interval at 1 − ``LEVEL`` of ``mean − other_mean``, from the two samples' statistics.

    NaN if either has no standard deviation or fewer than two numbers.
    """
    if not (n > 1 and other_n > 1 and np.isfinite([std, other_std]).all()):
        return np.nan, np.nan
    variances = np.array([std**2 / n, other_std**2 / other_n])
    if not variances.any():  # the degrees of freedom would be 0/0
        return mean - other_mean, mean - other_mean
    freedom = variances.sum() ** 2 / (variances**2 / [n - 1, other_n - 1]).sum()  # Welch–Satterthwaite
    half = float(stdtrit(freedom, 1 - LEVEL / 2) * np.sqrt(variances.sum()))
    return mean - other_mean - half, mean - other_mean + half


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down adjusted p-values, in the given order: max over j ≤ i of (m − j + 1)·pⱼ, at most 1.

    NaN, for a comparison that was not possible, is not part of the family and stays NaN.
    """
    adjusted = np.array(p_values, dtype=float)
    order = np.argsort(adjusted, kind="stable")[: np.count_nonzero(~np.isnan(adjusted))]  # NaN comes last
    steps = np.maximum.accumulate(adjusted[order] * np.arange(len(order), 0, -1))
    adjusted[order] = np.minimum(steps, 1)
    return adjusted.tolist()
