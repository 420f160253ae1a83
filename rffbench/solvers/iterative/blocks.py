"""Passes over the rows by the workers of a dask cluster: each adds up the tiles of its rows, a tree adds their sums.

The tree is that of ridge (`rffbench.solvers.ridge.tree`), which the number of rows determines: the digits are the same
for any number of workers. The map, the problems and the rows are sent once a fit; each pass sends the vectors that it
multiplies.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffbench.rowsource import Stopwatch, part
from rffbench.solvers.iterative.problems import Problems
from rffbench.solvers.iterative.tiles import Sums, Tiles, Work
from rffbench.solvers.ridge.tree import Engine, leaves


class Leaf(NamedTuple):
    """The sums of some rows, and the seconds of mapping them and of the whole."""

    sums: Sums
    mapping_s: float
    seconds: float


def total(shared: tuple[Any, int, Problems], work: Work, X: Any, first: int) -> Leaf:
    """``work`` of the rows X, of which ``first`` is the number of the first; ``shared``: the map, its columns, the
    problems."""
    features, columns, problems = shared
    tiles = Tiles(X, features, columns, first, keep=True)
    with Stopwatch(X) as watch:
        sums = tiles.total(work, problems)
    return Leaf(sums, tiles.feature_s, watch.seconds)


def add(left: Leaf, right: Leaf) -> Leaf:
    """Both together. Neither is changed: it may be needed again, where a worker is lost."""
    sums = tuple(one + other for one, other in zip(left.sums, right.sums, strict=True))
    return Leaf(sums, left.mapping_s + right.mapping_s, left.seconds + right.seconds)


def times(shared: tuple[Any, NDArray], X: Any) -> NDArray[np.float64]:
    """Z·coef of the rows X; ``shared``: the map and coef."""
    features, coef = shared
    return Tiles(X, features, len(coef), keep=True).times(coef)


def workers() -> AbstractContextManager[Engine]:
    """The engine of this process; see `rffbench.solvers.ridge.dask_blocks`."""
    from rffbench.solvers.ridge.dask_blocks import engine

    return engine()


class BlockedTiles(Tiles):
    """`Tiles` whose passes are made by workers."""

    def __init__(self, X: Any, features: Any, columns: int) -> None:
        super().__init__(X, features, columns)
        self._shared: Any = None
        self._leaves: list[tuple[Any, int]] = []
        self._pass_s: list[float] = []

    @property
    def feature_s(self) -> float:
        """The seconds that mapping every row once took, the mean over passes: the workers' share of what went by."""
        return float(np.mean(self._pass_s)) if self._pass_s else 0.0

    def total(self, work: Work, problems: Problems) -> Sums:
        with workers() as engine, Stopwatch() as watch:
            if self._shared is None:
                self._shared = engine.keep((self.features, self.p, problems))
                self._leaves = [(engine.keep(part(self.X, rows)), rows.start) for rows in leaves(0, self.n)]
            kept = engine.keep(work)
            parts = [(kept, X, first) for X, first in self._leaves]
            (found,) = engine.sums(total, add, self._shared, [parts])
        self.passes += 1
        self._pass_s.append(watch.seconds * found.mapping_s / max(found.seconds, 1e-9))
        return found.sums

    def times(self, coef: NDArray) -> NDArray[np.float64]:
        parts = [(part(self.X, rows),) for rows in leaves(0, self.n)]
        with workers() as engine:
            return np.concatenate(list(engine.each(times, (self.features, coef), parts)))
