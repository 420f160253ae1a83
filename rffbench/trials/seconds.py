"""Seconds that can be compared: work timed alone on the machine, and again where once is too short to tell."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rffbench.process import Contention

SHORT_S = 0.05  # of work that takes less the spread is to be known
ENOUGH_S = 0.12  # seconds: by then the ticks of the system's clock can tell whether others were at work
BRIEF_S = 0.01  # seconds, of a trial after an undisturbed one
FEWEST, MOST = 5, 1000  # repeats of short work
ATTEMPTS = 3  # how often work is timed, where others disturbed it or it cannot be told
FRESH_S = 5.0  # for how long what was timed before tells of the present


@dataclass(frozen=True)
class Timed:
    """The median ``seconds`` of ``repeats`` runs, their ``spread`` (interquartile range over median; None of a
    single one), and whether others used the processors meanwhile (None: it cannot be told)."""

    seconds: float
    repeats: int
    spread: float | None
    contended: bool | None


class Timer:
    """Times the work of one trial after the other, where nothing else of the run is at work.

    Whether others were at work takes ENOUGH_S seconds to tell. Of those, a trial after one that was not disturbed takes
    only BRIEF_S: what was timed right before it tells the rest. After one that was disturbed however often it was
    timed, a trial is timed once. What was timed before may be another worker's: the timer is passed on with the
    machine, as a pickle.
    """

    def __init__(self, contention: Callable[[], Contention] = Contention) -> None:
        self._contention = contention
        self._before: deque[Contention] = deque()  # the last undisturbed ones, ENOUGH_S less BRIEF_S together
        self._attempts = ATTEMPTS

    def timed(self, *works: Callable[[], float]) -> list[Timed]:
        """Time each of ``works``, which say how many of their own seconds count.

        Again until all have taken the seconds that are needed, shared out, MOST times at most, and FEWEST times at
        least where once takes less than SHORT_S, and until it is known that others use the processors. Where they do,
        or it cannot be told, it is all done anew, for ENOUGH_S seconds, ATTEMPTS times at most.
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
        return [_told(seconds, contended) for seconds in found]

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


def _told(seconds: list[float], contended: bool | None) -> Timed:
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    spread = float((high - low) / median) if len(seconds) > 1 and median > 0 else None
    return Timed(float(median), len(seconds), spread, contended)
