"""Row sources: matrices that serve their rows on demand, so that no n×d array need be in memory; and clocks that
exclude the time for fetching rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from types import TracebackType
from typing import Any

import numpy as np


def is_row_source(X: Any) -> bool:
    """Whether X is a lazy 2-D array (``shape``, ``dtype``, ``X[a:b]``), which is streamed unchecked.

    Arrays, sparse matrices and data frames are not lazy: they are validated as scikit-learn does it.
    """
    return (
        not isinstance(X, np.ndarray)
        and not hasattr(X, "toarray")
        and not hasattr(X, "iloc")
        and all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))
    )


def part(X: Any, rows: slice) -> Any:
    """X[rows] for another process: ``X.part(rows)`` if X has that, which may be small to send, else an array."""
    return X.part(rows) if hasattr(X, "part") else X[rows]


BLOCK_ROWS = 2048
"""Rows mapped at a time while a fit streams over the data: a block of features stays in cache-sized reach."""


def row_blocks(n: int, rows: int | None = None) -> Iterator[slice]:
    """Slices of at most ``rows`` rows, BLOCK_ROWS unless given, that cover n rows in order."""
    rows = rows or BLOCK_ROWS
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


def dense_rows(X: Any) -> np.ndarray:
    """X, an array or a sparse matrix of few rows, as a C-ordered array; copied only if necessary."""
    return X.toarray() if hasattr(X, "toarray") else np.ascontiguousarray(X)


_paused_s: Sequence[float] = (0.0,)


def clock() -> float:
    """Wall seconds since some moment, without the time for which the parent paused this process."""
    return perf_counter() - _paused_s[0]


def since(started: float) -> float:
    """Seconds by `clock` since ``started``, at least 0: the clock may go back a little, because the parent does not
    know a pause to the microsecond."""
    return max(0.0, clock() - started)


def subtract_pauses(seconds: Sequence[float]) -> None:
    """Have `clock` subtract the paused time, ``seconds[0]``, which may still grow."""
    global _paused_s
    _paused_s = seconds


class Stopwatch:
    """The seconds by `clock` that a ``with`` block takes, less those that a lazy X spends on fetching rows meanwhile.

    ``seconds`` holds them after the block; further blocks are added. A lazy X has an attribute ``seconds``, the time
    that it has spent on its rows so far. For X without it (an array, None), every second counts.

    >>> with Stopwatch() as watch:
    ...     total = sum(range(1000))
    >>> watch.seconds > 0
    True
    """

    def __init__(self, X: Any = None) -> None:
        self.seconds = 0.0
        self._X = X

    def __enter__(self) -> Stopwatch:
        self._started, self._fetched = clock(), self._fetching()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds += since(self._started + self._fetching() - self._fetched)

    def _fetching(self) -> float:
        return float(getattr(self._X, "seconds", 0.0))
