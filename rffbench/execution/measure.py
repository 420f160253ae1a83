"""What the operating system says of a process: its memory, and whether it had the processors to itself."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

KIB = 1024


def private_memory(pid: int | str = "self") -> int | None:
    """Bytes only this process holds: anonymous and swapped pages, without mapped files such as datasets.

    None where the system does not say (no /proc, or the process is gone).
    """
    fields = _status(pid)
    parts = [fields[name] for name in ("RssAnon", "RssShmem", "VmSwap") if name in fields]
    return sum(parts) if parts else None


def reset_peak() -> None:
    """Make ``peak_memory`` count from now on (Linux; elsewhere it stays the peak of the process's life)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM back to the present resident set, see proc(5)


def peak_memory() -> int:
    """The largest resident set of this process, in bytes, since ``reset_peak``."""
    peak = _status("self").get("VmHWM")
    if peak is not None:
        return peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else KIB)


def _status(pid: int | str) -> dict[str, int]:
    """The memory fields of /proc/<pid>/status, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if line.endswith(" kB"))
    return {name: int(value.split()[0]) * KIB for name, value in pairs}


class OwnMemory:
    """How much more than when it entered a section a process came to hold in it: ``bytes``, None where the system
    does not say. Pages of files mapped meanwhile, the dataset's, are not counted; ``reset_peak`` must come after
    entering."""

    bytes: int | None = None

    def __enter__(self) -> OwnMemory:
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # glibc keeps what was freed, unless told
            ctypes.CDLL(None).malloc_trim(0)
        self._before = _status("self")
        return self

    def __exit__(self, *_: object) -> None:
        after = _status("self")
        if {"VmRSS", "RssFile"} <= self._before.keys() and "VmHWM" in after:
            mapped = max(0, after["RssFile"] - self._before["RssFile"])
            self.bytes = max(0, after["VmHWM"] - self._before["VmRSS"] - mapped)


_touched = 0


def touch_memory(size: int) -> None:
    """Write to ``size`` bytes of fresh memory and give them back, where this process has not done so yet.

    The first touch of a page can cost far more than every later one (in a virtual machine the host finds it
    memory), which whoever is measured first at a larger size would pay for all.
    """
    global _touched
    if size > _touched:
        np.empty(size, dtype=np.uint8).fill(1)
        _touched = size


def busy_seconds() -> float | None:
    """Seconds all processors together have worked since start-up, for anyone; None without /proc."""
    try:
        with open("/proc/stat") as stat:
            ticks = [int(count) for count in stat.readline().split()[1:]]
        user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = ticks
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Contention:
    """Whether anything but this process used the processors while a section ran.

    >>> contention = Contention()
    >>> with contention:
    ...     pass  # what is timed; more sections may follow, they add up
    >>> contention.contended in (True, False, None)
    True

    ``contended`` is True where others used more than 5 % of one processor over the sections. The system
    counts in ticks of some 10 ms, so the first 50 ms of others' work are put down to that. None where the
    system doesn't count.
    """

    SHARE = 0.05
    TICKS_S = 0.05

    def __init__(
        self,
        busy: Callable[[], float | None] = busy_seconds,
        own: Callable[[], float] = time.process_time,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._busy, self._own, self._clock = busy, own, clock
        self._wall_s = 0.0
        self._others_s: float | None = 0.0

    def __enter__(self) -> Contention:
        self._start = self._clock(), self._busy(), self._own()
        return self

    def __exit__(self, *_: object) -> None:
        own, busy, clock = self._own(), self._busy(), self._clock()
        started, busy_before, own_before = self._start
        self._wall_s += clock - started
        if busy is None or busy_before is None or self._others_s is None:
            self._others_s = None
        else:
            self._others_s += (busy - busy_before) - (own - own_before)

    @property
    def contended(self) -> bool | None:
        if self._others_s is None:
            return None
        return self._others_s > self.SHARE * self._wall_s + self.TICKS_S
