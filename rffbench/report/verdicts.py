"""Three verdicts on a claim, by an interval: it holds, it does not, or the evidence is not enough.

What is measured is one number a trial (a difference, the logarithm of a ratio, a slope), whose mean over trials has
Student's interval. A claim says where that mean lies. It holds where the whole interval lies there, it does not hold
where none of the interval does, and else more trials would be needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from rffbench.report.significance import LEVEL, mean_interval

HOLDS, REFUTED, OPEN, NOT_MEASURED = "holds", "does not hold", "not enough evidence", "not measured"
VERDICTS = (HOLDS, REFUTED, OPEN, NOT_MEASURED)
MOST_TRIALS = 1000  # beyond that no number of trials is named


@dataclass(frozen=True)
class Range:
    """Where a claim has a number: above ``low`` and below ``high``; infinite is no bound."""

    low: float
    high: float

    def distance(self, value: float) -> float:
        """How far a number is from the nearest bound."""
        return min(abs(value - self.low), abs(value - self.high))


@dataclass(frozen=True)
class Estimate:
    """A mean over ``trials``, and Student's interval at 1 − LEVEL, ``low`` to ``high``."""

    mean: float
    low: float
    high: float
    trials: int

    @classmethod
    def of(cls, sample: pd.Series) -> Estimate:
        return cls(float(sample.mean()), *mean_interval(sample), len(sample))

    def verdict(self, claimed: Range) -> str:
        """HOLDS, REFUTED or OPEN. An interval that ends at a bound is beyond it on neither side, unless it is that
        point alone: no difference in any trial is not more than none."""
        if claimed.low < self.low and self.high < claimed.high:
            return HOLDS
        alone = self.low == self.high
        if self.high < claimed.low or self.low > claimed.high or (alone and self.mean in (claimed.low, claimed.high)):
            return REFUTED
        return OPEN

    def trials_to_settle(self, claimed: Range) -> int | None:
        """The least number of trials whose interval would lie on one side of the bounds, were the mean and the spread
        to stay as observed; None where that is more than MOST_TRIALS."""
        distance = claimed.distance(self.mean)
        spread = (self.high - self.mean) * np.sqrt(self.trials) / _quantile(self.trials)
        counts = np.arange(2, MOST_TRIALS + 1)
        enough = counts[_quantile(counts) * spread / np.sqrt(counts) < distance]
        return int(enough[0]) if len(enough) else None


def _quantile(trials: int | np.ndarray) -> np.ndarray:
    """Student's, of a two-sided interval of so many values."""
    return np.asarray(stats.t.ppf(1 - LEVEL / 2, np.asarray(trials) - 1))
