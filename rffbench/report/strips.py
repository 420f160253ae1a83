"""Lines of dots, one dot for each dataset, with their median and its interval: what a figure of them shows."""

from __future__ import annotations

from dataclasses import dataclass


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
