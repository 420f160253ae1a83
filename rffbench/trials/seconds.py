"""Comparable seconds: work is timed alone on the machine, and repeated if it is short."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rffbench.io.process import Contention

SHORT_S = 0.05  # shorter work is repeated, to know its spread
ENOUGH_S = 0.12  # in this time, the ticks of the system's clock show whether others used the processors
BRIEF_S = 0.01  # the time that is enough for a trial after an undisturbed one
FEWEST, MOST = 5, 1000  # repeats of short work
ATTEMPTS = 3  # how often work is timed if others disturbed it, or if that is unknown
FRESH_S = 5.0  # an earlier undisturbed timing counts for this long


@dataclass(frozen=True)
class Timed:
    """The median ``seconds`` of ``repeats`` runs, their ``spread`` (interquartile range over median; None for a single
    run), and whether others used the processors meanwhile (None: unknown)."""

    seconds: float
    repeats: int
    spread: float | None
    contended: bool | None


class Timer:
    """Times the work of one trial after the other while the rest of the run is paused.

    It takes ENOUGH_S seconds to see whether others used the processors. After an undisturbed trial, BRIEF_S are enough,
    because the time right before counts too. After a trial that was disturbed in all ATTEMPTS, the next one is timed
    once. The trial before may be another worker's: the timer is passed on with the machine, as a pickle.
    """

    def __init__(self, contention: Callable[[], Contention] = Contention) -> None:
        self._contention = contention
        self._before: deque[Contention] = deque()  # the last undisturbed timings, together ENOUGH_S less BRIEF_S
        self._attempts = ATTEMPTS

    def timed(self, *works: Callable[[], float]) -> list[Timed]:
        """Time each of ``works``, which return the number of their own seconds that count.

        Each is repeated until together they have taken the needed seconds, or until it is known that others use the
        processors: at most MOST times, and at least FEWEST times if one run takes less than SHORT_S. If others used the
        processors, or if that is unknown, everything is timed again for ENOUGH_S seconds, at most ATTEMPTS times.
        """
        if self._before and self._before[-1].age > FRESH_S:
            self._before.clear()
        for _ in range(self._attempts):
            own, enough = self._contention(), BRIEF_S if self._before else ENOUGH_S
            found = [_repeated(work, own, enough / len(works)) for work in works]
            contended = own.contended or own.with_those_of(self._before).contended
            if contended is False:
                self._remember(own)
                break
            self._before.clear()
        self._attempts = ATTEMPTS if contended is False else 1
        return [_summary(seconds, contended) for seconds in found]

    def _remember(self, own: Contention) -> None:
        self._before.append(own)
        while len(self._before) > 1 and sum(each.seconds for each in [*self._before][1:]) >= ENOUGH_S - BRIEF_S:
            self._before.popleft()


def _repeated(work: Callable[[], float], contention: Contention, enough: float) -> list[float]:
    seconds: list[float] = []
    while (
        not seconds
        or (seconds[0] < SHORT_S and len(seconds) < FEWEST)
        or (len(seconds) < MOST and sum(seconds) < enough and not contention.contended)
    ):
        with contention:
            seconds.append(work())
    return seconds


def _summary(seconds: list[float], contended: bool | None) -> Timed:
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    spread = float((high - low) / median) if len(seconds) > 1 and median > 0 else None
    return Timed(float(median), len(seconds), spread, contended)


def either(*contended: bool | None) -> bool | None:
    """Whether any of several sections was contended; None if none was, and at least one is unknown."""
    return True if True in contended else None if None in contended else False
