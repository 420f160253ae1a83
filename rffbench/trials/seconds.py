"""Seconds that can be compared: work timed alone on the machine, and again where once is too short to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rffbench.process import Contention

SHORT_S = 0.05  # of work that takes less the spread is to be known
ENOUGH_S = 0.12  # seconds: by then the ticks of the system's clock can tell whether others were at work
FEWEST, MOST = 5, 200  # repeats of short work
ATTEMPTS = 3  # how often work is timed, where others disturbed it or it cannot be told


@dataclass(frozen=True)
class Timed:
    """The median ``seconds`` of so many ``repeats``, their ``spread`` (interquartile range over median; None of a
    single one), and whether others used the processors meanwhile (None: it cannot be told)."""

    seconds: float
    repeats: int
    spread: float | None
    contended: bool | None


def timed(work: Callable[[], float], contention: Callable[[], Contention] = Contention) -> Timed:
    """Time ``work``, which says how many of its own seconds count.

    Again until ENOUGH_S seconds, MOST times at most, and FEWEST times at least where once takes less than SHORT_S.
    Where others used the processors, or it cannot be told, it is all done anew, ATTEMPTS times at most.
    """
    for _ in range(ATTEMPTS):
        found = _timed(work, contention())
        if found.contended is False:
            break
    return found


def _timed(work: Callable[[], float], contention: Contention) -> Timed:
    seconds: list[float] = []
    while not seconds or (
        len(seconds) < MOST and (sum(seconds) < ENOUGH_S or (seconds[0] < SHORT_S and len(seconds) < FEWEST))
    ):
        with contention:
            seconds.append(work())
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    spread = float((high - low) / median) if len(seconds) > 1 and median > 0 else None
    return Timed(float(median), len(seconds), spread, contention.contended)
