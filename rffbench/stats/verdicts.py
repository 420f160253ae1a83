"""The three verdicts on a claim, by an interval: it holds, it does not hold, or the evidence is not enough.

Each trial measures one number (a difference, the logarithm of a ratio, a slope). A claim states a range of its mean,
and Student's interval of the mean over trials decides: the claim holds if the whole interval lies in the range, and
does not hold if no part of the interval does. Otherwise the evidence is not enough.

An interval covers one of two things:

- **this dataset**: other splits of these rows and other draws of the features. Given the dataset, trials are
  independent. If the dataset has a prescribed split, all trials have the same rows, and the interval covers draws only.
- **new rows**: other rows of this kind. Random splits of one dataset share rows, so their spread understates how much
  other rows would change the mean. Nadeau and Bengio ("Inference for the generalization error", Machine Learning 52,
  2003) multiply the variance of the mean over J trials by 1 + J·n_test/n_train. More trials do not shrink it to zero.

A claim with two bounds claims equivalence. It holds if two one-sided tests (Schuirmann 1987), each at LEVEL, place the
mean between them: if the interval at 1 − 2·LEVEL lies between. A claim for every size holds if it holds at each (an
intersection–union test, whose p-value is the largest), and fails if it fails at any, with Holm's correction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import stdtr, stdtrit

from rffbench.stats.intervals import LEVEL, holm

HOLDS, REFUTED, OPEN = "holds", "does not hold", "not enough evidence"
THIS_DATASET, NEW_ROWS, DRAWS = "this dataset", "new rows", "draws only"
MOST_TRIALS = 1000  # the largest number of trials that is suggested


@dataclass(frozen=True)
class Range:
    """The range of a claim: above ``low`` and below ``high``; an infinite value is no bound."""

    low: float
    high: float

    @property
    def level(self) -> float:
        """The level of the interval that must lie in the range; 1 − level is its coverage."""
        return 2 * LEVEL if np.isfinite([self.low, self.high]).all() else LEVEL

    def distance(self, value: float) -> float:
        """The distance of a number from the nearest bound."""
        return min(abs(value - self.low), abs(value - self.high))


@dataclass(frozen=True)
class Judgement:
    """A verdict, with the p-values of the tests that the claim holds and that it fails."""

    verdict: str
    p_holds: float
    p_fails: float

    @property
    def p(self) -> float:
        """The p-value of the test that gives the verdict; if the verdict is OPEN, the smaller of the two."""
        return {HOLDS: self.p_holds, REFUTED: self.p_fails}.get(self.verdict, min(self.p_holds, self.p_fails))


@dataclass(frozen=True)
class Estimate:
    """A mean over ``trials`` (at least two) and its standard error."""

    mean: float
    error: float
    trials: int

    @classmethod
    def of(cls, sample: pd.Series) -> Estimate:
        """The estimate for this dataset (other splits and draws), from one number per trial."""
        return cls(float(sample.mean()), float(sample.std(ddof=1)) / np.sqrt(len(sample)), len(sample))

    @classmethod
    def from_interval(cls, mean: float, low: float, high: float, trials: int) -> Estimate:
        """The estimate whose Student's interval at 1 − LEVEL is ``low`` to ``high``."""
        return cls(mean, (high - low) / 2 / float(stdtrit(trials - 1, 1 - LEVEL / 2)), trials)

    def of_new_rows(self, test_over_train: float) -> Estimate:
        """The estimate for new rows: the same mean with Nadeau and Bengio's corrected variance, for random splits into
        training rows and ``test_over_train`` times as many test rows."""
        return Estimate(self.mean, self.error * np.sqrt(1 + self.trials * test_over_train), self.trials)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Student's, at 1 − ``level``."""
        half = float(stdtrit(self.trials - 1, 1 - level / 2)) * self.error
        return self.mean - half, self.mean + half

    def judge(self, claimed: Range) -> Judgement:
        """The verdict on a claimed range. An interval that ends at a bound decides nothing, except a single point
        there: if no trial differs, the claim of a difference is refuted."""
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
        """One-sided p-value for a mean above a bound."""
        if self.error == 0 or np.isinf(bound):
            return 0.0 if self.mean > bound else 1.0
        return float(stdtr(self.trials - 1, (bound - self.mean) / self.error))

    def _p_below(self, bound: float) -> float:
        """One-sided p-value for a mean below a bound."""
        if self.error == 0 or np.isinf(bound):
            return 0.0 if self.mean < bound else 1.0
        return float(stdtr(self.trials - 1, (self.mean - bound) / self.error))

    def trials_to_settle(self, claimed: Range) -> int | None:
        """The least number of trials that would decide the claim if mean and spread stayed as observed; None if it is
        more than MOST_TRIALS."""
        counts = np.arange(2, MOST_TRIALS + 1)
        inside = claimed.low < self.mean < claimed.high
        level = claimed.level if inside else LEVEL
        half = stdtrit(counts - 1, 1 - level / 2) * self.error * np.sqrt(self.trials / counts)
        enough = counts[half < claimed.distance(self.mean)]
        return int(enough[0]) if len(enough) else None


def judge_every(estimates: Mapping[str, Estimate], claimed: Range) -> tuple[Judgement, list[str]]:
    """The verdict on a claim for every size, and the sizes at which it does not hold."""
    each = {size: estimate.judge(claimed) for size, estimate in estimates.items()}
    fails = dict(zip(each, holm([judged.p_fails for judged in each.values()]), strict=True))
    wrong = [size for size, p in fails.items() if p < LEVEL]
    p_holds = max(judged.p_holds for judged in each.values())
    holds = all(judged.verdict == HOLDS for judged in each.values())
    verdict = HOLDS if holds else REFUTED if wrong else OPEN
    return Judgement(verdict, p_holds, min(fails.values())), wrong


def adjusted(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted by Benjamini and Yekutieli (2001): among verdicts with an adjusted p-value below LEVEL, the
    expected share of wrong ones is at most LEVEL, for any dependence between the tests."""
    return stats.false_discovery_control(p_values, method="by").tolist() if len(p_values) else []
