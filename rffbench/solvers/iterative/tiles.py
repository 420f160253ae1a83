"""Passes over the rows of Z, which are mapped again each time, in tiles of rows, one per thread.

A pass is a sum over tiles. Its work is an object that can be sent to other processes
(`rffbench.solvers.iterative.blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from threading import local
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.rowsource import Stopwatch, clock, row_blocks, since
from rffbench.features.base import check_finite, mapped
from rffbench.features.hooks import bears_threads, hook
from rffbench.linalg.threads import side_by_side, thread_count
from rffbench.solvers.base import checked_rows, default_block_rows
from rffbench.solvers.iterative.problems import Problems

AT_ONCE = 4  # tiles mapped before their results are added; fixed, so that results do not depend on the threads
Result = TypeVar("Result")
_kept = local()  # the buffers of this thread's last pass: see `Tiles`
Sums = tuple[NDArray[np.float64], ...]


class Work(Protocol):
    """The work of a pass on a tile: arrays to be summed over all tiles. It can be pickled."""

    def __call__(self, problems: Problems, rows: slice, Z: NDArray) -> tuple[NDArray, ...]:
        """``rows`` are the places of Z's rows among all rows."""


class Tiles:
    """Z (n, p): the features of X, or X itself without ``features``, in X's dtype. A tile is some rows of Z.

    A thread maps a tile and multiplies by it, with one BLAS thread: threads that share a product wait for each other,
    and for long if other processes are busy.
    """

    def __init__(self, X: Any, features: Any, columns: int, first: int = 0, *, keep: bool = False) -> None:
        """``first``: the number of X's first row among all rows. ``keep``: the thread's next pass uses the same
        buffers, because a pass over few rows spends a fifth of its time on new memory."""
        self.X, self.features, self.first, self.keep = X, features, first, keep
        self.n, self.p, self.dtype = int(X.shape[0]), columns, np.dtype(X.dtype)
        self.rows = self.rows_of(columns)
        self.passes = 0
        self._seconds, self._mapped = 0.0, 0
        self._threads = None if features is None or bears_threads(features) else 1

    @staticmethod
    def rows_of(columns: int) -> int:
        """Rows of a tile."""
        return max(64, default_block_rows(columns) // AT_ONCE)

    @property
    def feature_s(self) -> float:
        """The mean time, in all threads, of mapping each row once."""
        return self._seconds * self.n / max(self._mapped, 1) / (self._threads or thread_count())

    def total(self, work: Work, problems: Problems) -> Sums:
        """One pass: the sums of ``work(problems, rows, Z)`` over all tiles, added in the order of the rows."""
        totals: Sums = ()
        for _, _, found in self.visit(partial(work, problems)):
            if not totals:
                totals = tuple(np.zeros(each.shape) for each in found)
            for total, each in zip(totals, found, strict=True):
                total += each
        return totals

    def times(self, coef: NDArray) -> NDArray[np.float64]:
        """Z·coef (n, t) for coef (p, t)."""
        out = np.empty((self.n, coef.shape[1]))
        for rows, _, outputs in self.visit(lambda _, Z: Z @ coef):
            out[rows] = outputs
        return out

    def visit(self, work: Callable[[slice, NDArray], Result]) -> Iterator[tuple[slice, NDArray, Result]]:
        """One pass. Threads call ``work(rows, Z)`` for each tile; in the order of the rows, the tile's rows, Z and the
        result are yielded. Z is overwritten after AT_ONCE tiles."""
        self.passes += 1
        buffers = self.buffers_of_thread()
        for group in row_blocks(self.n, AT_ONCE * self.rows):
            read, found = checked_rows(self.X, group), dict[int, Any]()
            parts = list(row_blocks(len(read), self.rows))

            def do(
                at: int, read: NDArray = read, found: dict = found, parts: list = parts, first: int = group.start
            ) -> None:
                part = parts[at]
                started = clock()
                Z = self._map(read[part], buffers[at][: part.stop - part.start])
                seconds = since(started)
                start = self.first + first
                found[at] = seconds, Z, work(slice(start + part.start, start + part.stop), Z)

            side_by_side([partial(do, at) for at in range(len(parts))], self._threads)
            for at, part in enumerate(parts):
                seconds, Z, result = found[at]
                self._seconds, self._mapped = self._seconds + seconds, self._mapped + len(Z)
                check_finite(self.features, Z)
                yield slice(group.start + part.start, group.start + part.stop), Z, result

    def buffers_of_thread(self) -> list[NDArray]:
        shape = min(self.rows, self.n), self.p
        kept = getattr(_kept, "buffers", []) if self.keep else []
        if kept and kept[0].dtype == self.dtype and kept[0].shape[1] == self.p and len(kept[0]) >= shape[0]:
            return kept
        buffers = [np.empty(shape, self.dtype) for _ in range(AT_ONCE)]
        if self.keep:
            _kept.buffers = buffers
        return buffers

    def _map(self, rows: NDArray, out: NDArray) -> NDArray:
        if self.features is None:
            return rows
        if (fill := hook(self.features, "fill")) is None:
            return mapped(self.features, rows, self.p)
        fill(np.ascontiguousarray(rows), out)
        return out


class SparseTiles(Tiles):
    """`Tiles` of a map that makes a CSR matrix: Z is one tile, mapped once and kept, because it is small."""

    _Z: Any = None

    @property
    def feature_s(self) -> float:
        """The seconds of mapping each row once."""
        return self._seconds

    def mapped(self) -> Any:
        """Z."""
        with Stopwatch(self.X) as watch:
            Z = mapped(self.features, checked_rows(self.X, slice(0, self.n)), self.p)
        check_finite(self.features, Z)
        self._seconds = watch.seconds
        return Z

    def visit(self, work: Callable[[slice, Any], Result]) -> Iterator[tuple[slice, Any, Result]]:
        """One pass, with all rows in one tile."""
        self.passes += 1
        if self._Z is None:
            self._Z = self.mapped()
        rows = slice(self.first, self.first + self.n)
        yield rows, self._Z, work(rows, self._Z)
