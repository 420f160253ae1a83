"""Ends everything that a worker has started when the worker ends, including processes in sessions of their own.

A signal to a process group reaches only the processes in it. A child that calls ``setsid``, as daemons and some
launchers do, leaves the group. On Linux such a child can still be found: when its parent dies, it becomes a child of
the nearest "subreaper" above, and not of the system's first process. A worker is a subreaper, so everything that it
has started stays below it while it lives. The server that workers are forked from is one too, and inherits the
children of a dead worker.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import forkserver, process
from pathlib import Path

from rffbench.io.process import children_files, descendants

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # of prctl(2)
LINUX = sys.platform == "linux"
ENDED_S = 5.0  # how long killed processes may take to end
LOOK_S = 0.01


def adopt() -> None:
    """Make this process the parent of all orphans below it (on Linux; elsewhere this does nothing)."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Make this process, the server of workers, end with its parent, together with everything below it.

    It leaves its parent's process group, so that a signal to the group does not end it before it has cleaned up.
    """
    if not LINUX:
        return
    server, parent = os.getpid(), os.getppid()

    def end(*_: object) -> None:
        if os.getpid() == server and os.getppid() != parent:  # and not a thread of it alone
            end_below(server)
            os._exit(0)

    number = signal.SIGRTMIN + 7
    signal.signal(number, end)  # workers inherit it, where it does nothing
    with contextlib.suppress(OSError):
        os.setsid()
    adopt()
    _prctl(PR_SET_PDEATHSIG, number)
    end()  # it may have died before


def end(pid: int) -> None:
    """Kill a worker, its process group and everything below it."""
    below = descendants(pid) if LINUX else []
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    _kill(below)


def end_strays() -> None:
    """Kill the processes that dead workers have left to their server, and everything below them."""
    server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    if LINUX and server is not None:
        _end_all(lambda: [each for stray in _strays(server) for each in [stray, *descendants(stray)]])


def end_below(pid: int) -> None:
    """Kill everything below a process, until nothing is left or ENDED_S have passed."""
    _end_all(lambda: descendants(pid))


def _end_all(look: Callable[[], list[int]]) -> None:
    """Kill the processes that ``look`` finds, until all have ended and a second look finds no others.

    One look is not enough: if a process dies while ``look`` goes down the tree, its children move to one that it has
    passed already.
    """
    until, before = time.monotonic() + ENDED_S, None
    while time.monotonic() < until:
        found = look()
        running = [each for each in found if _session(each) is not None]
        if not running and found == before:
            return
        _kill(running)
        before = found
        time.sleep(LOOK_S if running else 0)


def _strays(server: int) -> list[int]:
    """The server's children that were not forked for this process: they have a worker's session, or their own."""
    ours = {each.pid for each in list(process._children)}  # type: ignore[attr-defined]
    children = (int(pid) for path in children_files(server) for pid in _words(path))
    return [pid for pid in children if pid not in ours and _session(pid) != server]


def _session(pid: int) -> int | None:
    """The session of a process; None if it has ended."""
    fields = _words(Path(f"/proc/{pid}/stat"), behind=")")
    return int(fields[3]) if fields and fields[0] not in "ZX" else None


def _words(path: Path, behind: str = "") -> list[str]:
    try:
        text = path.read_text()
    except OSError:
        return []
    return (text.rpartition(behind)[2] if behind else text).split()


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if LINUX:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
