"""Three verdicts on a claim, by an interval: it holds, it does not, or the evidence is not enough.

What is measured is one number a trial (a difference, the logarithm of a ratio, a slope). A claim says where its mean
lies, and Student's interval of the mean over trials decides: the claim holds where the whole interval lies there, it
does not hold where none of the interval does, and else the evidence is not enough.

An interval covers one of two things:

- **this dataset**: other splits of these rows and other draws of the features. Trials are independent of one another
  given the dataset. Where the split is given, all trials have the same rows, and the interval covers draws only.
- **new rows**: other rows of this kind. Random splits of one dataset share rows, so their spread understates how much
  other rows would change the mean. Nadeau and Bengio ("Inference for the generalization error", Machine Learning 52,
  2003) multiply the variance of the mean over J trials by 1 + J·n_test/n_train. More trials do not shrink it to zero.

A claim with two bounds is one of equivalence. It holds where two one-sided tests (Schuirmann 1987), each at LEVEL,
place the mean within: where the interval at 1 − 2·LEVEL lies there. A claim for every size holds where it holds at each
(an intersection–union test: its p-value is the largest), and fails where it fails at any, by Holm's correction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import stdtr, stdtrit

from rffbench.report.significance import LEVEL, holm

HOLDS, REFUTED, OPEN, NOT_MEASURED = "holds", "does not hold", "not enough evidence", "not measured"
VERDICTS = (HOLDS, REFUTED, OPEN, NOT_MEASURED)
THIS_DATASET, NEW_ROWS, DRAWS = "this dataset", "new rows", "draws only"
MOST_TRIALS = 1000  # beyond that no number of trials is named


@dataclass(frozen=True)
class Range:
    """Where a claim has a number: above ``low`` and below ``high``; infinite is no bound."""

    low: float
    high: float

    @property
    def level(self) -> float:
        """Of the interval that has to lie within: 1 − level is its coverage."""
        return 2 * LEVEL if np.isfinite([self.low, self.high]).all() else LEVEL

    def distance(self, value: float) -> float:
        """How far a number is from the nearest bound."""
        return min(abs(value - self.low), abs(value - self.high))


@dataclass(frozen=True)
class Judgement:
    """A verdict and its p-value: of the test that the verdict rests on, or, where it is OPEN, the smaller of the two
    that could have decided."""

    verdict: str
    p_holds: float
    p_fails: float

    @property
    def p(self) -> float:
        return {HOLDS: self.p_holds, REFUTED: self.p_fails}.get(self.verdict, min(self.p_holds, self.p_fails))


@dataclass(frozen=True)
class Estimate:
    """A mean over ``trials``, two at least, and its standard error."""

    mean: float
    error: float
    trials: int

    @classmethod
    def of(cls, sample: pd.Series) -> Estimate:
        """Of this dataset: other splits and draws."""
        return cls(float(sample.mean()), float(sample.std(ddof=1)) / np.sqrt(len(sample)), len(sample))

    @classmethod
    def from_interval(cls, mean: float, low: float, high: float, trials: int) -> Estimate:
        """Of which Student's interval at 1 − LEVEL is known."""
        return cls(mean, (high - low) / 2 / float(stdtrit(trials - 1, 1 - LEVEL / 2)), trials)

    def of_new_rows(self, test_over_train: float) -> Estimate:
        """The same mean, of rows that are drawn anew: Nadeau and Bengio's corrected variance, for trials with random
        splits into training rows and ``test_over_train`` times as many test rows."""
        return Estimate(self.mean, self.error * np.sqrt(1 + self.trials * test_over_train), self.trials)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Student's, at 1 − ``level``."""
        half = float(stdtrit(self.trials - 1, 1 - level / 2)) * self.error
        return self.mean - half, self.mean + half

    def judge(self, claimed: Range) -> Judgement:
        """An interval that ends at a bound is beyond it on neither side, unless it is that point alone: no difference
        in any trial is not more than none."""
        low, high = self.interval(claimed.level)
        least, most = self.interval()
        above, below = self._p_above(claimed.low), self._p_below(claimed.high)
        two_sided = 1 if claimed.level > LEVEL else 2
        p_holds = min(1.0, two_sided * max(above, below))
        p_fails = min(1.0, 2 * min(self._p_below(claimed.low), self._p_above(claimed.high)))
        alone = self.error == 0 and self.mean in (claimed.low, claimed.high)
        if claimed.low < low and high < claimed.high:
            return Judgement(HOLDS, p_holds, p_fails)
        if alone or most < claimed.low or least > claimed.high:
            return Judgement(REFUTED, p_holds, 0.0 if alone else p_fails)
        return Judgement(OPEN, p_holds, p_fails)

    def _p_above(self, bound: float) -> float:
        """One-sided, of the mean being above a bound."""
        if self.error == 0 or np.isinf(bound):
            return 0.0 if self.mean > bound else 1.0
        return float(stdtr(self.trials - 1, (bound - self.mean) / self.error))

    def _p_below(self, bound: float) -> float:
        if self.error == 0 or np.isinf(bound):
            return 0.0 if self.mean < bound else 1.0
        return float(stdtr(self.trials - 1, (self.mean - bound) / self.error))

    def trials_to_settle(self, claimed: Range) -> int | None:
        """The least number of trials whose interval would lie on one side of the bounds, were the mean and the spread
        to stay as observed; None if that is more than MOST_TRIALS."""
        counts = np.arange(2, MOST_TRIALS + 1)
        inside = claimed.low < self.mean < claimed.high
        level = claimed.level if inside else LEVEL
        half = stdtrit(counts - 1, 1 - level / 2) * self.error * np.sqrt(self.trials / counts)
        enough = counts[half < claimed.distance(self.mean)]
        return int(enough[0]) if len(enough) else None


def judge_every(estimates: Mapping[str, Estimate], claimed: Range) -> tuple[Judgement, list[str]]:
    """The verdict on a claim for each of the sizes together, and the sizes at which it does not hold."""
    each = {size: estimate.judge(claimed) for size, estimate in estimates.items()}
    fails = dict(zip(each, holm([judged.p_fails for judged in each.values()]), strict=True))
    wrong = [size for size, p in fails.items() if p < LEVEL]
    p_holds = max(judged.p_holds for judged in each.values())
    holds = all(judged.verdict == HOLDS for judged in each.values())
    verdict = HOLDS if holds else REFUTED if wrong else OPEN
    return Judgement(verdict, p_holds, min(fails.values())), wrong


def adjusted(p_values: Sequence[float]) -> list[float]:
    """p-values by Benjamini and Yekutieli (2001): of the verdicts whose adjusted p-value is below LEVEL, no more than
    that share is expected to be wrong, however the tests depend on one another."""
    return stats.false_discovery_control(p_values, method="by").tolist() if len(p_values) else []
