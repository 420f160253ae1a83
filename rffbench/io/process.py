"""Facts about a process from the operating system: its memory, and whether others used the processors."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

KIB = 1024
STANDARD_ERROR = 2  # the file descriptor

SAFE_PATH, OURS = "PYTHONSAFEPATH", "rffbench"  # Python's variable, of which any text counts; and what is set here


def safe_path() -> str:
    """The value of SAFE_PATH for a Python started with ``-c``: with it, a file of the current folder, such as a user's
    random.py, does not shadow the library's module. Empty, without effect, if this package is in the current folder."""
    here = os.path.samefile(Path(__file__).parents[2], os.curdir)
    return os.environ.get(SAFE_PATH, "" if here else OURS)


def forget_safe_path() -> None:
    """Remove SAFE_PATH, if it was set here, for the programs that a user's code starts."""
    if os.environ.get(SAFE_PATH) == OURS:
        del os.environ[SAFE_PATH]


def have_standard_streams() -> None:
    """Open the file descriptors 0 to 2 on nothing where they are closed, as in some services: else the next file that
    is opened would have such a number, and what a worker prints would be written to it."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        os.set_inheritable(descriptor, True)  # workers have standard streams, too
    os.close(descriptor)


@contextlib.contextmanager
def environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Set these environment variables in the block; None removes one."""
    before = {name: os.environ.get(name) for name in changes}

    def become(values: Mapping[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    become(changes)
    try:
        yield
    finally:
        become(before)


def private_memory(pid: int | str = "self") -> int | None:
    """Bytes only this process holds: anonymous and swapped pages, without mapped files such as datasets.

    None if the system does not say (no /proc, or the process is gone).
    """
    fields = _status(pid)
    parts = [fields[name] for name in ("RssAnon", "RssShmem", "VmSwap") if name in fields]
    return sum(parts) if parts else None


RESERVE_BYTES = 32_000_000
"""Memory of a process that no plan counts: threads' tiles, small arrays, memory that the allocator keeps."""


def free_memory(limit: int | None) -> int | None:
    """Bytes that this process may plan with under a limit on its memory; None without a limit."""
    return None if limit is None else limit - (private_memory() or 0) - RESERVE_BYTES


def tree_memory(pid: int) -> int | None:
    """`private_memory` of a process with all its descendants, pages that they share counted once.

    It is quick without descendants; otherwise the system must look at every page.
    """
    own = private_memory(pid)
    tree = [pid, *descendants(pid)]
    if own is None or len(tree) == 1:
        return own
    shares = [_shares(member) for member in tree]
    return max(own, sum(shares))


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they did."""
    found: list[int] = []
    for path in children_files(pid):
        with contextlib.suppress(OSError):
            for child in map(int, path.read_text().split()):
                found += [child, *descendants(child)]
    return found


def children_files(pid: int) -> list[Path]:
    """The files that list the children of a process's threads; empty if the process has ended, even while listing."""
    try:
        return list(Path(f"/proc/{pid}/task").glob("*/children"))
    except OSError:
        return []


def _shares(pid: int) -> int:
    """Bytes of anonymous and swapped pages; a page shared by k processes counts 1/k."""
    fields = _status(pid, "smaps_rollup")
    return sum(fields.get(name, 0) for name in ("Pss_Anon", "Pss_Shmem", "SwapPss"))


@cache
def keep_freed_memory() -> None:
    """Have this process keep the memory of freed arrays of up to 32 MB for the next ones, as glibc does by itself if
    MALLOC_TRIM_THRESHOLD_ is not set. dask sets it for its workers. Each array of more than 128 kB then goes back to
    the system at once, and the first touch of the next one's pages takes longer than many a product. Without glibc
    nothing changes."""
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return
    trim_threshold, mmap_threshold = -1, -3  # mallopt(3)
    with contextlib.suppress(OSError, AttributeError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(mmap_threshold, 32 << 20)
        libc.mallopt(trim_threshold, 64 << 20)


def reset_peak() -> None:
    """Make ``peak_memory`` count from now on (Linux; elsewhere it stays the peak of the process's life)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM back to the present resident set, see proc(5)


def peak_memory() -> int | None:
    """The largest resident set of this process, in bytes, since ``reset_peak``; None if the system does not say."""
    peak = _status("self").get("VmHWM")
    if peak is not None:
        return peak
    if resource is None:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else KIB)


def _status(pid: int | str, file: str = "status") -> dict[str, int]:
    """The memory fields of /proc/<pid>/<file>, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if line.endswith(" kB"))
    return {name: int(value.split()[0]) * KIB for name, value in pairs}


class OwnMemory:
    """The most that a process held in a section, less what it held on entering it: ``bytes``, None if the system
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
    """Write to ``size`` bytes of fresh memory and free them, unless this process has done so before.

    The first touch of a page can cost far more than every later one (in a virtual machine the host finds it
    memory). Without this, the first trial of a larger size would pay that for all later ones.
    """
    global _touched
    if size > _touched:
        np.empty(size, dtype=np.uint8).fill(1)
        _touched = size


def busy_seconds() -> float | None:
    """Total seconds that all processors have worked since start-up, for any process; None without /proc."""
    try:
        with open("/proc/stat") as stat:
            ticks = [int(count) for count in stat.readline().split()[1:]]
        user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = ticks
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None


class Contention:
    """Whether anything but this process used the processors while a section ran.

    >>> contention = Contention()
    >>> with contention:
    ...     pass  # what is timed; more sections may follow, they add up
    >>> contention.contended in (True, False, None)
    True

    ``contended`` is True if others used more than 5 % of one processor over the sections, beyond the uncertainty of the
    system's ticks of about 10 ms, and False if they used no more than that. None if it is unknown: the system doesn't
    count, the sections together are shorter than ten ticks, or the ticks leave it open.
    """

    SHARE = 0.05
    TICK_S = 0.01

    def __init__(
        self,
        busy: Callable[[], float | None] = busy_seconds,
        own: Callable[[], float] = time.process_time,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._busy, self._own, self._clock = busy, own, clock
        self._wall_s = 0.0
        self._others_s: float | None = 0.0
        self._ended = float("-inf")

    def __enter__(self) -> Contention:
        self._start = self._clock(), self._busy(), self._own()
        return self

    def __exit__(self, *_: object) -> None:
        own, busy, self._ended = self._own(), self._busy(), self._clock()
        started, busy_before, own_before = self._start
        self._wall_s += self._ended - started
        if busy is None or busy_before is None or self._others_s is None:
            self._others_s = None
        else:
            self._others_s += (busy - busy_before) - (own - own_before)

    @property
    def seconds(self) -> float:
        """The total time of the sections."""
        return self._wall_s

    @property
    def age(self) -> float:
        """Seconds since the last section ended; by a clock that all processes of a Linux machine have in common."""
        return self._clock() - self._ended

    def with_those_of(self, others: Iterable[Contention]) -> Contention:
        """The contention over these sections and those of ``others``."""
        found = Contention()
        for each in (self, *others):
            found._wall_s += each._wall_s
            known = found._others_s is not None and each._others_s is not None
            found._others_s = (found._others_s or 0.0) + (each._others_s or 0.0) if known else None
        return found

    @property
    def contended(self) -> bool | None:
        if self._others_s is None:
            return None
        beyond = self._others_s - self.SHARE * self._wall_s
        if beyond > 5 * self.TICK_S:
            return True
        return False if beyond <= 2 * self.TICK_S and self._wall_s >= 10 * self.TICK_S else None
