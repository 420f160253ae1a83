"""Lines of dots, one dot for each dataset, with their median and its interval: what a figure of them shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rffbench.stats.datasets import REGION
from rffbench.stats.summary import Summary


@dataclass(frozen=True)
class Strip:
    """A line of dots at the ``values`` of datasets, their ``median``, and its interval from ``low`` to ``high``."""

    name: str
    values: tuple[float, ...]
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Strips:
    """A panel: its ``title``, lines of dots, what the ``axis`` measures, and the values, from the first of ``band`` to
    the second, that count as no difference."""

    title: str
    strips: tuple[Strip, ...]
    axis: str
    band: tuple[float, float]


def gains_in_percent(title: str, found: Sequence[Summary]) -> Strips:
    """The gains of maps, in %."""
    strips = tuple(
        Strip(each.method, tuple(100 * mean for mean in each.means), 100 * each.median, 100 * each.low, 100 * each.high)
        for each in found
    )
    return Strips(title, strips, "gain, %", (-100 * REGION, 100 * REGION))
