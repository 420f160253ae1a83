"""Is the difference of two runs beyond a tolerance, or noise? How many trials would settle that?

A difference is beyond the tolerance if Student's interval of its mean lies beyond it, at the level that Holm's
procedure gives the cell among all cells. If two runs differ by noise alone, the chance of any alarm is at most
``LEVEL``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import chdtri, nctdtr, stdtr, stdtrit

from rffbench.stats.intervals import LEVEL

POWER = 0.8
"""The chance to find a change of twice the tolerance with the number of trials that settles a difference."""
MOST_TRIALS = 10_000
_ROUNDING = 1e-9  # a difference that equals the tolerance is within it, also after rounding


@dataclass(frozen=True)
class Change:
    """A mean difference from ``trials`` trials on each side, its standard ``error`` (infinite from a single trial) and
    the error's degrees of ``freedom``."""

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
        """The change in another unit. An infinite factor makes a mean that is not 0 infinite, and keeps the error."""
        if math.isinf(factor):
            return replace(self, mean=math.copysign(factor, self.mean) if self.mean else 0.0)
        return replace(self, mean=self.mean * factor, error=self.error * abs(factor))

    def p_beyond(self, tolerance: float) -> float:
        """The p-value of a mean beyond ± the tolerance: it is below a level if the interval at 1 − that level lies
        beyond."""
        excess = abs(self.mean) - tolerance
        if excess <= _ROUNDING or not math.isfinite(self.error):
            return 1.0
        return min(1.0, 2 * float(stdtr(self.freedom, -excess / self.error))) if self.error else 0.0

    def within(self, tolerance: float) -> bool:
        """Whether the interval is within ± the tolerance."""
        return max(map(abs, self.interval)) <= tolerance + _ROUNDING

    def settling_trials(self, tolerance: float, cells: int) -> int | None:
        """The number of trials that would settle the change among ``cells`` cells. With that number, a change of twice
        the tolerance (without a tolerance: of the mean difference) is found with the chance ``POWER``. None if it is
        more than ``MOST_TRIALS``, or unknown because a single trial has no spread.

        A spread from few trials may be too small, so the upper end of its one-sided interval at ``POWER`` is used.
        """
        effect = tolerance or abs(self.mean)
        if not math.isfinite(self.error) or not effect:
            return None
        # chdtri takes the probability of the upper tail.
        noise = self.error * math.sqrt(self.trials * self.freedom / chdtri(self.freedom, POWER))
        if _power(MOST_TRIALS, effect, noise, LEVEL / cells) < POWER:
            return None
        few, enough = 1, MOST_TRIALS
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (few, middle) if _power(middle, effect, noise, LEVEL / cells) >= POWER else (middle, enough)
        return enough


def change_of(old: pd.Series, new: pd.Series, paired: bool) -> Change | None:
    """``new`` less ``old``: trial by trial if they are ``paired`` (have the same index), else by Welch's test. None if
    either is empty."""
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
