"""Row sources: matrices that serve their rows on demand, so that no n×d array need be in memory; and clocks that
exclude the time for fetching rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from types import TracebackType
from typing import Any

import numpy as np


class RowSource:
    """A lazy matrix with ``shape``, a ``dtype`` of float64 or float32, and ``X[a:b]``, a C-ordered array of that
    dtype."""

    shape: tuple[int, int]
    dtype: np.dtype
    ndim = 2


class _RowsOf(RowSource):
    """The rows of another matrix, ``_X``."""

    _X: Any

    @property
    def seconds(self) -> float:
        """The time that X has spent on its rows so far, if it says so."""
        return float(getattr(self._X, "seconds", 0.0))


class LazyRows(_RowsOf):
    """The rows of any lazy matrix X, of float64 or float32: the one place that converts a slice.

    X has ``shape``, ``dtype`` and ``X[a:b]``, whose slices are arrays or have ``__array__`` (dask, xarray, h5py, zarr,
    torch), of any real numbers. As scikit-learn does with an array, float32 stays, and float16, integers and booleans
    become float64. ``seconds`` and ``part`` are those of X, if it has them. ValueError, which names the rows, for a
    slice of another shape, or that is no array of real numbers.
    """

    def __init__(self, X: Any) -> None:
        self._X = X
        shape = tuple(X.shape)
        if len(shape) != 2 or not all(float(size).is_integer() for size in shape):
            raise ValueError(f"X must be 2-D, with known numbers of rows and columns, got the shape {shape}")
        self.shape = int(shape[0]), int(shape[1])
        try:
            given = np.dtype(X.dtype)
        except TypeError:  # of another library
            given = np.asarray(X[0:1]).dtype
        if given.kind not in "biuf":
            raise ValueError(f"X must have real numbers, float64, float32 or what converts to them, got {given}")
        self.dtype = given if given in (np.float64, np.float32) else np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, step = rows.indices(self.shape[0])
        if step != 1:
            raise IndexError(f"rows are read in slices of step 1, got step {step}")
        part = self._X[start:stop]
        part = part.toarray() if hasattr(part, "toarray") else part
        try:
            found = np.ascontiguousarray(part, dtype=self.dtype)
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.shape != (max(0, stop - start), self.shape[1]):
            wanted = (max(0, stop - start), self.shape[1])
            raise ValueError(
                f"X[{start}:{stop}] must be an array of real numbers {wanted}, or have __array__ that gives one, got "
                f"{type(part).__name__}{f' {part.shape}' if hasattr(part, 'shape') else ''}"
            )
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array of lazy rows is always a copy")
        return self[:].astype(dtype or self.dtype)

    def part(self, rows: slice) -> Any:
        """Some of the rows, for another process: lazy if X has a ``part``, else an array."""
        return LazyRows(self._X.part(rows)) if hasattr(self._X, "part") else self[rows]


class InDouble(_RowsOf):
    """The rows X, an array or a row source, in float64; they are converted slice by slice."""

    dtype = np.dtype(np.float64)

    def __init__(self, X: Any) -> None:
        self._X, self.shape = X, X.shape

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.asarray(self._X[rows], self.dtype)

    def part(self, rows: slice) -> Any:
        """Some of the rows, for another process; see `LazyRows`."""
        return InDouble(part(self._X, rows))


class FiniteRows(_RowsOf):
    """The rows of a row source X; ValueError for a slice that holds NaN or infinity."""

    def __init__(self, X: Any) -> None:
        self._X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        part = np.asarray(self._X[rows])
        if not np.isfinite(part).all():
            raise ValueError(f"X contains NaN or infinity in rows {rows.start} to {rows.stop - 1}")
        return part


def float_rows(X: Any) -> RowSource:
    """A row source X (`is_row_source`) with float64 or float32 slices; X itself if it is a `RowSource`."""
    return X if isinstance(X, RowSource) else LazyRows(X)


def is_row_source(X: Any) -> bool:
    """Whether X is a lazy 2-D array (``shape``, ``dtype``, ``X[a:b]``), which `float_rows` converts slice by slice.

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
