"""A lock on an open file, which the system frees when its process ends, however it ends."""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # not a Unix: nothing is locked, and two runs into one folder are not kept apart
    fcntl = None  # type: ignore[assignment]


def lock(file: int, *, wait: bool) -> None:
    """Take the lock of an open file for this process alone; BlockingIOError, unless it may ``wait``, where another
    process has it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
