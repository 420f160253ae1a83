"""What gains come to over datasets: a line a map, for a terminal's table and a page's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.io.text import NOT_RUN
from rffbench.stats.costs import outside
from rffbench.stats.datasets import FEWEST, GROUPS, REGION, SURE, Groups, Posterior, bootstrap, signed_rank

Gains = Mapping[str, NDArray[np.float64]]
"""Of one map, by dataset, the gains of its trials, NaN without any."""


@dataclass(frozen=True)
class Summary:
    """One map over all datasets: its ``means``, the mean gain over trials on each dataset that it has one on; their
    ``median``, with the interval from ``low`` to ``high``; the ``region`` in which gains are the same; how many
    datasets the ``view`` has; and, in words, on how many of them the map has no gain at this cost, as it is dearer or
    cheaper at every size (``outside``)."""

    method: str
    median: float
    low: float
    high: float
    means: tuple[float, ...]
    region: float = REGION
    view: int = 0
    outside: str = ""

    @property
    def datasets(self) -> int:
        return len(self.means)

    @cached_property
    def posterior(self) -> Posterior:
        """When asked for: not every table has it, and it takes as long as the interval."""
        return signed_rank(self.means, self.region)

    @property
    def is_known(self) -> bool:
        return not np.isnan(self.median)

    @property
    def is_enough(self) -> bool:
        """Whether the gains are of enough datasets for their median to say something of all."""
        return self.datasets >= max(FEWEST, self.view / 2)

    @property
    def verdict(self) -> str:
        """The posterior's verdict; undecided where fewer than half of the view's datasets have a gain."""
        return self.posterior.verdict if self.is_enough else "undecided"

    @property
    def said(self) -> str:
        """The gain with its interval, as sentences have it."""
        return f"{percent(self.median)} % ({interval(self.low, self.high)})"

    @property
    def where(self) -> str:
        """On how many datasets, and on how many it has no gain at this cost."""
        return f"on {self.datasets} datasets" + (f", {self.outside}" if self.outside else "")


def gains_of(rows: pd.DataFrame, method: str) -> Gains:
    """One map's gains by dataset, of rows with dataset, method and gain."""
    mine = rows[rows["method"] == method]
    return {str(dataset): each.to_numpy(float) for dataset, each in mine.groupby("dataset")["gain"]}


def summary_of(
    method: str, gains: Gains, region: float = REGION, *, view: int = 0, outside: str = "", groups: Groups = GROUPS
) -> Summary:
    """What the ``gains`` of one method come to, in a view of that many datasets: the median over datasets of the mean
    over trials with its 95 % interval (`bootstrap`), and the posterior (`signed_rank`)."""
    median, low, high = bootstrap(gains, groups=groups)
    means = tuple(float(np.nanmean(each)) for each in gains.values() if not np.isnan(each).all())
    return Summary(method, median, low, high, means, region, view, outside)


def summaries(
    rows: pd.DataFrame, methods: Sequence[str], region: float = REGION, groups: Groups = GROUPS
) -> list[Summary]:
    """What gains come to over datasets, the largest median gain first; of ``methods`` that have any.

    ``rows`` has the columns dataset, method and gain, a row for every trial, as `gains` and `at_cost` make them. Gains
    within ±``region`` count as the same. ``groups`` are names of datasets by group, which the bootstrap draws together.
    """
    view = rows["dataset"].nunique()
    found = [
        summary_of(method, gains_of(rows, method), region, view=view, outside=outside(rows, method), groups=groups)
        for method in methods
    ]
    return sorted((each for each in found if each.is_known), key=lambda each: -each.median)


# ---- In cells --------------------------------------------------------------------------------------------------------


def percent(value: float, decimals: int = 1) -> str:
    """A gain as cells have it: in %, with its sign, but for one that rounds to 0."""
    return NOT_RUN if np.isnan(value) else signed(100 * value, decimals)


def signed(value: float, decimals: int = 1) -> str:
    """A number with its sign; one that rounds to 0 has none."""
    text = f"{value:+.{decimals}f}"
    return text if float(text) else text[1:]


def in_percent(value: float, decimals: int = 0) -> str:
    """A share as sentences have it, in %."""
    return f"{100 * value:.{decimals}f} %"


def interval(low: float, high: float) -> str:
    """The two ends of an interval of gains, in %."""
    return NOT_RUN if np.isnan(low) else f"{percent(low)} to {percent(high)}"


def odds(posterior: Posterior) -> str:
    """The probabilities better | same | worse."""
    if np.isnan(posterior.better):
        return NOT_RUN
    return " | ".join(map(_probability, (posterior.better, posterior.same, posterior.worse)))


def _probability(value: float) -> str:
    """A probability with two decimals, or with as many as show on which side of `SURE` it is."""
    return next(
        text for decimals in range(2, 18) if (float(text := f"{value:.{decimals}f}") >= SURE) == (value >= SURE)
    )
