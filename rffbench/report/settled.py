"""Is a difference of two runs beyond a tolerance, or noise; and how many trials would settle that?

A difference is beyond the tolerance where Student's interval of its mean is, at a level that Holm's procedure shares
out among all cells: in a comparison of runs that differ by noise alone, the chance of any alarm is ``LEVEL`` at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import chdtri, nctdtr, stdtr, stdtrit

from rffbench.report.significance import LEVEL

POWER = 0.8
"""The chance to find a change of twice the tolerance with as many trials as would settle a difference."""
MOST_TRIALS = 10_000
_ROUNDING = 1e-9  # a difference that equals the tolerance is within it, also after rounding


@dataclass(frozen=True)
class Change:
    """A mean difference from ``trials`` trials a side, its standard ``error`` and the degrees of ``freedom`` of that;
    an infinite error from a single trial."""

    mean: float
    error: float
    freedom: float
    trials: int

    @property
    def interval(self) -> tuple[float, float]:
        """Student's interval at 1 − ``LEVEL``."""
        half = float(stdtrit(self.freedom, 1 - LEVEL / 2) * self.error) if math.isfinite(self.error) else math.inf
        return self.mean - half, self.mean + half

    def scaled(self, factor: float) -> Change:
        """The same in another unit; by an infinite factor, what is not 0 is infinite, with the error that it has."""
        if math.isinf(factor):
            return replace(self, mean=math.copysign(factor, self.mean) if self.mean else 0.0)
        return replace(self, mean=self.mean * factor, error=self.error * abs(factor))

    def p_beyond(self, tolerance: float) -> float:
        """The p-value of the interval beyond ± the tolerance: below a level where the interval at 1 − that level is."""
        excess = abs(self.mean) - tolerance
        if excess <= _ROUNDING or not math.isfinite(self.error):
            return 1.0
        return min(1.0, 2 * float(stdtr(self.freedom, -excess / self.error))) if self.error else 0.0

    def within(self, tolerance: float) -> bool:
        """Whether the interval is within ± the tolerance."""
        return max(map(abs, self.interval)) <= tolerance + _ROUNDING

    def settling_trials(self, tolerance: float, cells: int) -> int | None:
        """The number of trials that would settle it among ``cells`` cells: with these a change of twice the tolerance,
        or of the mean difference where there is no tolerance, is found with a chance of ``POWER``. None if they would
        be more than ``MOST_TRIALS``, and from a single trial, which says nothing of the noise.

        The noise is known from few trials, so that it may be larger: taken is the upper end of its one-sided interval
        at ``POWER``.
        """
        effect = tolerance or abs(self.mean)
        if not math.isfinite(self.error) or not effect:
            return None
        # chdtri is of the upper tail: the variance of the trials is above this share of the measured one.
        noise = self.error * math.sqrt(self.trials * self.freedom / chdtri(self.freedom, POWER))
        if _power(MOST_TRIALS, effect, noise, LEVEL / cells) < POWER:
            return None
        few, enough = 1, MOST_TRIALS
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (few, middle) if _power(middle, effect, noise, LEVEL / cells) >= POWER else (middle, enough)
        return enough


def change_of(old: pd.Series, new: pd.Series, paired: bool) -> Change | None:
    """``new`` less ``old``, trial by trial where they are paired (the same index), else by Welch; None without any."""
    counts = len(old), len(new)
    if not all(counts):
        return None
    if paired:
        differences = (new - old).to_numpy(float)
        rounding = 16 * np.finfo(float).eps * float(np.abs([old, new]).max())
        error = float(differences.std(ddof=1)) / math.sqrt(counts[0]) if counts[0] > 1 else math.inf
        return Change(float(differences.mean()), 0.0 if error <= rounding else error, max(counts[0] - 1, 1), counts[0])
    mean = float(new.mean() - old.mean())
    if min(counts) < 2:
        return Change(mean, math.inf, 1, min(counts))
    squares = [float(each.var(ddof=1)) / len(each) for each in (old, new)]
    if not sum(squares):
        return Change(mean, 0.0, 1, min(counts))
    freedom = sum(squares) ** 2 / sum(each**2 / (n - 1) for each, n in zip(squares, counts, strict=True))
    return Change(mean, math.sqrt(sum(squares)), freedom, min(counts))


def _power(trials: int, effect: float, noise: float, level: float) -> float:
    """The chance that Student's test at a level finds an effect, given the standard deviation of a trial."""
    if not noise:
        return 1.0
    threshold = stdtrit(trials - 1, 1 - level / 2)
    return 1 - float(nctdtr(trials - 1, effect * math.sqrt(trials) / noise, threshold))
