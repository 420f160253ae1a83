"""How a registered hypothesis is judged: parts with a number, an interval and a rule; one verdict of them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from rffbench.stats import LEVEL, Range, bootstrap, wilcoxon_holm
from studies.evidence import signed

HOLDS, REFUTED, UNDECIDED, WAITS = "holds", "does not hold", "undecided", "not measured yet"
ACROSS = "*"
"""Behind a verdict whose interval reaches across the threshold."""
Trials = Mapping[str, np.ndarray]
"""By dataset, a number for each trial."""


@dataclass(frozen=True)
class Part:
    """One number of a hypothesis, as it is ``said``: whether the registered rule ``is_met``, and whether the interval,
    or the test of a count, is on the same side, ``is_sure``. Relative ``gains`` are tested, too."""

    of: str
    said: str
    is_met: bool
    is_sure: bool = True
    gains: Trials = field(default_factory=dict)


@dataclass(frozen=True)
class Hypothesis:
    """A registered sentence, its measure, and the parts that must all be met; none where it is not measured yet, which
    ``waits`` says in words."""

    name: str
    sentence: str
    measure: str
    parts: Sequence[Part] = ()
    waits: str = ""

    @property
    def verdict(self) -> str:
        """It holds if every part meets the registered rule. If not, it does not hold where the interval, or the test,
        of a part that fails is wholly on the other side, and else is undecided."""
        if self.waits:
            return WAITS
        if all(part.is_met for part in self.parts):
            return HOLDS
        return REFUTED if any(part.is_sure and not part.is_met for part in self.parts) else UNDECIDED

    @property
    def said(self) -> str:
        """The verdict as tables have it."""
        if self.waits:
            return f"{WAITS}: {self.waits}"
        return self.verdict + ACROSS * (self.verdict == HOLDS and not all(part.is_sure for part in self.parts))


SHOWN: dict[str, Callable[[float], str]] = {
    "%": lambda gain: signed(100 * gain, 1),
    "": lambda value: f"{value:.2g}",
    "log": lambda log: f"{np.exp(log):.2g}",
}
"""How a number is shown by its unit: a relative gain, a number as it is, a ratio that is given as its logarithm."""


def in_range(of: str, values: Trials, within: Range, unit: str = "%") -> Part:
    """Does the median over datasets of their means lie in the range? ``unit`` is one of `SHOWN`; relative gains are
    tested for being 0."""
    middle, low, high = bootstrap(values)
    is_met = within.low < middle < within.high
    inside, outside = within.low < low and high < within.high, high <= within.low or low >= within.high
    number, least, most = map(SHOWN[unit], (middle, low, high))
    said = f"{number}{' %' * (unit == '%')} ({least} to {most})"
    return Part(of, said, is_met, inside if is_met else outside, values if unit == "%" else {})


def more_than_not(of: str, ups: int, downs: int, values: Trials) -> Part:
    """Is it up on more datasets than down, by a two-sided sign test at .05? Datasets that are neither do not count. A
    test that is not significant decides nothing."""
    p = float(binomtest(ups, ups + downs).pvalue) if ups + downs else 1.0
    said = f"{ups} up, {downs} down, p = {p:.2g}; {median_of(values)}"
    return Part(of, said, ups > downs and p < LEVEL, p < LEVEL, values)


def on_enough(of: str, count: int, datasets: int, needed: int, beside: str, gains: Trials | None = None) -> Part:
    """Is it so on as many datasets as are needed?"""
    said = f"{count} of {datasets}; {beside}" if beside else f"{count} of {datasets}"
    return Part(of, said, count >= needed, gains=gains or {})


def median_of(values: Trials) -> str:
    """``median +1.2 % (−0.3 to +2.0)``."""
    return f"median {in_range('', values, Range(-np.inf, np.inf)).said}"


def relative(table: pd.DataFrame, candidate: str, baseline: str) -> Trials:
    """The gain (loss of the baseline − loss)/loss of the baseline of every trial. The ``table`` has the losses: dataset
    and trial × columns. Trials that lack one of the two are left out."""
    if not {candidate, baseline} <= set(table):
        return {}
    return by_dataset(1 - table[candidate] / table[baseline])


def by_dataset(values: pd.Series) -> Trials:
    """The numbers of each dataset's trials, of a series by dataset, trial and so on."""
    return {str(name): each.to_numpy(float) for name, each in values.dropna().groupby("dataset", sort=False)}


def means(values: Trials) -> pd.Series:
    """By dataset, the mean over trials."""
    return pd.Series({name: each.mean() for name, each in values.items()}, dtype=float)


def p_values(hypotheses: Sequence[Hypothesis]) -> dict[tuple[str, str], float]:
    """By hypothesis and part, the p of Wilcoxon's signed rank test that gains are 0, with Holm's correction over all
    comparisons of these hypotheses."""
    gains = {(each.name, part.of): means(part.gains) for each in hypotheses for part in each.parts if part.gains}
    if not gains:
        return {}
    found = wilcoxon_holm(pd.DataFrame(dict(enumerate(gains.values()))))["p_holm"]
    return dict(zip(gains, found.tolist(), strict=True))
