"""How a comparison is timed: alternately, several times, with medians; how extra memory is measured."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter, sleep
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rffbench.io.process import Contention, peak_memory, reset_peak

Bound = Literal["at least", "at most"]
BLAS_AWAKE_S = 0.05  # OpenBLAS's threads wait for more work in a busy loop for up to 2^26 ticks
Work = Callable[[], object]
BUILT_IN = {"name": "fourier"}, {"name": "ridge"}, {"name": "gaussian", "gamma": 1.0}
"""Map, solver and kernel of a trial whose work is a benchmark's own."""


@contextmanager
def threads(count: int) -> Iterator[None]:
    """BLAS, OpenMP and numba on ``count`` threads."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, before))
    try:
        with threadpool_limits(count):
            yield
    finally:
        numba.set_num_threads(before)


def thread_counts() -> list[int]:
    """One thread, and all of them."""
    everything = min(numba.get_num_threads(), len(os.sched_getaffinity(0)))
    return sorted({1, everything})


def compare(
    name: str, ours: Work, peer: Work, *, goal: float | None, bound: Bound = "at least", repeats: int = 7,
    peer_name: str, scale_peer: float = 1.0, warm_up: bool = True, **details: Any,
) -> dict[str, Any]:  # fmt: skip
    """Time ``ours`` and ``peer`` in turn, after one run of each (``warm_up``) that doesn't count.

    With the bound 'at least' the ratio is peer/ours (how many times faster ours is), else ours/peer. The
    median is over the ratios of the rounds. ``scale_peer`` multiplies the peer's seconds, where it does a
    known share of the same work. Before each run BLAS's threads of the last one have fallen asleep.
    """
    if warm_up:
        ours(), peer()
    ours_s: list[float] = []
    peer_s: list[float] = []
    contention = Contention()
    for _ in range(repeats):
        for work, seconds, scale in ((ours, ours_s, 1.0), (peer, peer_s, scale_peer)):
            gc.collect()
            sleep(BLAS_AWAKE_S)
            with contention:
                started = perf_counter()
                work()
                seconds.append(scale * (perf_counter() - started))
    return result(
        name, ours_s, peer_s, goal=goal, bound=bound, peer_name=peer_name, unit="s",
        contended=contention.contended, **details,
    )  # fmt: skip


def result(
    name: str, ours: list[float], peer: list[float], *, goal: float | None, bound: Bound, peer_name: str, unit: str,
    **details: Any,
) -> dict[str, Any]:  # fmt: skip
    """The record of one comparison; ``ours`` and ``peer`` are in ``unit``, round by round."""
    rounds = zip(ours, peer, strict=True)
    ratios = [p / o if bound == "at least" else o / p for o, p in rounds]
    ratio = median(ratios)
    return {
        "name": name,
        "peer": peer_name,
        f"ours_{unit}": ours,
        f"peer_{unit}": peer,
        "unit": unit,
        "ratio": ratio,
        "ratios": ratios,
        "goal": goal,
        "bound": bound,
        "met": meets(ratio, goal, bound),
        **details,
    }


def meets(ratio: float, goal: float | None, bound: Bound) -> bool | None:
    """Whether the ratio is what was aimed at; None where nothing was."""
    if goal is None:
        return None
    return ratio >= goal if bound == "at least" else ratio <= goal


def single(name: str, values: list[float], ratio: float, *, goal: float | None, peer: str, unit: str,
           **details: Any) -> dict[str, Any]:  # fmt: skip
    """The record of a figure that has no peer to be timed; it is to stay below ``goal``."""
    return {
        "name": name, "peer": peer, f"ours_{unit}": values, f"peer_{unit}": [], "unit": unit, "ratio": ratio,
        "ratios": [ratio], "goal": goal, "bound": "at most", "met": meets(ratio, goal, "at most"), **details,
    }  # fmt: skip


def disturbed(seconds: float = 1.0) -> bool | None:
    """Whether others are using the processors, while this process does nothing: for work done by its workers."""
    with Contention() as contention:
        sleep(seconds)
    return contention.contended


TRIAD_NUMBERS = 1 << 23  # of each array: 64 MB, more than a level-3 cache holds


@numba.njit(parallel=True)
def _triad(a: NDArray, b: NDArray, c: NDArray) -> None:
    for i in numba.prange(len(a)):
        a[i] = b[i] + 3.0 * c[i]


def triad_seconds(size: float) -> float:
    """The seconds in which the threads in use move ``size`` bytes from and to memory, at the best speed of a few STREAM
    triads a ← b + s·c, each of which moves three arrays."""
    a, b, c = np.ones((3, TRIAD_NUMBERS))
    _triad(a, b, c)  # compiled by the first call of a process, once for all
    seconds = []
    for _ in range(5):
        started = perf_counter()
        _triad(a, b, c)
        seconds.append(perf_counter() - started)
    return min(seconds) * size / (3 * a.nbytes)


def extra_memory(function: Callable[..., Callable[[], object]], *arguments: Any) -> int:
    """Bytes the resident set grows by, at its peak, in the work that ``function(*arguments)`` returns.

    In a fresh process; what ``function`` itself sets up (the data) is not counted.
    """
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_grow, args=(sending, function, arguments))
    process.start()
    sending.close()
    try:
        return int(receiving.recv())
    finally:
        process.join()


def _grow(sending: Any, function: Callable[..., Callable[[], object]], arguments: tuple) -> None:
    work = function(*arguments)
    gc.collect()
    reset_peak()
    before = peak_memory() or 0
    work()
    sending.send((peak_memory() or 0) - before)
