"""Seconds that can be compared: work timed alone on the machine, and again where once is too short to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rffbench.process import Contention

SHORT_S = 0.05  # of work that takes less the spread is to be known
ENOUGH_S = 0.12  # seconds: by then the ticks of the system's clock can tell whether others were at work
FEWEST, MOST = 5, 1000  # repeats of short work
ATTEMPTS = 3  # how often work is timed, where others disturbed it or it cannot be told


@dataclass(frozen=True)
class Timed:
    """The median ``seconds`` of so many ``repeats``, their ``spread`` (interquartile range over median; None of a
    single one), and whether others used the processors meanwhile (None: it cannot be told)."""

    seconds: float
    repeats: int
    spread: float | None
    contended: bool | None


def timed(*works: Callable[[], float], contention: Callable[[], Contention] = Contention) -> list[Timed]:
    """Time each of ``works``, which say how many of their own seconds count.

    Again until all have taken ENOUGH_S seconds, shared out, MOST times at most, and FEWEST times at least where once
    takes less than SHORT_S. Where others used the processors, or it cannot be told, it is all done anew, ATTEMPTS times
    at most.
    """
    for _ in range(ATTEMPTS):
        together = contention()
        found = [_repeated(work, together, ENOUGH_S / len(works)) for work in works]
        if together.contended is False:
            break
    return [_told(seconds, together.contended) for seconds in found]


def _repeated(work: Callable[[], float], contention: Contention, enough: float) -> list[float]:
    seconds: list[float] = []
    while not seconds or (
        len(seconds) < MOST and (sum(seconds) < enough or (seconds[0] < SHORT_S and len(seconds) < FEWEST))
    ):
        with contention:
            seconds.append(work())
    return seconds


def _told(seconds: list[float], contended: bool | None) -> Timed:
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    spread = float((high - low) / median) if len(seconds) > 1 and median > 0 else None
    return Timed(float(median), len(seconds), spread, contended)
