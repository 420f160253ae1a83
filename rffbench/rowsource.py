"""Row sources: matrices that serve their rows on demand, so that nothing of size n×d need be in memory; and what work
on them takes, fetching rows left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from types import TracebackType
from typing import Any

import numpy as np


def is_row_source(X: Any) -> bool:
    """Whether X is a lazy 2-D array (``shape``, ``dtype``, ``X[a:b]``), to be streamed as it is, unchecked.

    Arrays, sparse matrices and data frames are not lazy: they are validated as scikit-learn does it.
    """
    return (
        not isinstance(X, np.ndarray)
        and not hasattr(X, "toarray")
        and not hasattr(X, "iloc")
        and all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))
    )


def part(X: Any, rows: slice) -> Any:
    """X[rows], for another process: as it says itself by ``part``, which may be little to send; else as an array."""
    return X.part(rows) if hasattr(X, "part") else X[rows]


BLOCK_ROWS = 2048
"""Rows mapped at a time while a fit streams over the data: a block of features stays in cache-sized reach."""


def row_blocks(n: int, rows: int | None = None) -> Iterator[slice]:
    """Slices of at most so many ``rows``, BLOCK_ROWS unless given, that cover n rows in order."""
    rows = rows or BLOCK_ROWS
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


def dense_rows(X: Any) -> np.ndarray:
    """The rows X, an array or a sparse matrix of few rows, as a C-ordered array, copied only if they are not."""
    return X.toarray() if hasattr(X, "toarray") else np.ascontiguousarray(X)


_stood_still: Sequence[float] = (0.0,)


def clock() -> float:
    """Wall seconds since some moment, without those in which this process was made to stand still."""
    return perf_counter() - _stood_still[0]


def since(started: float) -> float:
    """Seconds by `clock` since it was ``started``. It may have gone back a little: who makes this process stand still
    does not know to the microsecond when it did."""
    return max(0.0, clock() - started)


def stands_still(seconds: Sequence[float]) -> None:
    """Have `clock` leave out what ``seconds[0]`` says, then and later: for how long this process has stood still."""
    global _stood_still
    _stood_still = seconds


class Stopwatch:
    """The seconds by `clock` that a ``with`` block takes, less those that a lazy X spends on fetching rows meanwhile.

    ``seconds`` holds them after the block; entered again, it adds up. X says in an attribute ``seconds`` what it has
    spent on its rows so far; of one without it (an array, None), every second counts.

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
