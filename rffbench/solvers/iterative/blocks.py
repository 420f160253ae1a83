"""Passes over the rows by the workers of a dask cluster: each adds up the tiles of its rows, a tree adds their sums.

The tree is that of ridge (`rffbench.solvers.ridge.tree`), which the number of rows determines: the digits are the same
for any number of workers. A task is a branch of it, a few leaves that one worker adds up itself, because a leaf takes
some 50 ms and a task costs some of them. The map, the problems and the rows are sent once a fit; each pass sends the
vectors that it multiplies.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffbench.rowsource import Stopwatch, part
from rffbench.solvers.iterative.problems import Problems
from rffbench.solvers.iterative.tiles import Sums, Tiles, Work
from rffbench.solvers.ridge.tree import Engine, depth_first, leaves, pairs

BRANCHES = 4
"""Tasks of a pass for each thread of the workers, at least, where there are as many leaves."""


class Leaf(NamedTuple):
    """The sums of some rows, and the seconds of mapping them and of the whole."""

    sums: Sums
    mapping_s: float
    seconds: float


def total(shared: tuple[Any, int, Problems], work: Work, branch: Sequence[tuple[Any, int]]) -> Leaf:
    """``work`` of the leaves of a branch: rows X, and the number of the first of them; ``shared``: the map, its
    columns, the problems."""
    nodes, found = pairs(len(branch)), dict[int, Leaf]()
    for number in depth_first(len(branch), nodes):
        if number < len(branch):
            found[number] = _leaf(shared, work, *branch[number])
        else:
            left, right = nodes[number - len(branch)]
            found[number] = add(found.pop(left), found.pop(right))
    return found.popitem()[1]


def _leaf(shared: tuple[Any, int, Problems], work: Work, X: Any, first: int) -> Leaf:
    features, columns, problems = shared
    tiles = Tiles(X, features, columns, first, keep=True)
    with Stopwatch(X) as watch:
        sums = tiles.total(work, problems)
    return Leaf(sums, tiles.feature_s, watch.seconds)


def add(left: Leaf, right: Leaf) -> Leaf:
    """Both together. Neither is changed: it may be needed again, where a worker is lost."""
    sums = tuple(one + other for one, other in zip(left.sums, right.sums, strict=True))
    return Leaf(sums, left.mapping_s + right.mapping_s, left.seconds + right.seconds)


def even_leaves(n: int) -> list[slice]:
    """n rows in leaves whose number is a power of two, where there are rows enough: workers get equally many."""
    count = len(leaves(0, n))
    return leaves(0, n, most=-(-n // (1 << (count - 1).bit_length()))) if count else []


def branches(cut: Sequence[slice], wanted: int) -> list[Sequence[slice]]:
    """The leaves ``cut`` in branches of 2^k neighbours, whose sums the tree adds as it would add the leaves: as long as
    can be with at least ``wanted`` of them, or else a leaf each."""
    size = 1
    while len(cut) >= 2 * size * wanted:
        size *= 2
    return [cut[start : start + size] for start in range(0, len(cut), size)]


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
        self._branches: list[Any] = []
        self._pass_s: list[float] = []

    @property
    def feature_s(self) -> float:
        """The seconds that mapping every row once took, the mean over passes: the workers' share of what went by."""
        return float(np.mean(self._pass_s)) if self._pass_s else 0.0

    def total(self, work: Work, problems: Problems) -> Sums:
        with workers() as engine, Stopwatch() as watch:
            if self._shared is None:
                self._shared = engine.keep((self.features, self.p, problems))
                self._branches = [
                    engine.keep([(part(self.X, rows), rows.start) for rows in branch])
                    for branch in branches(even_leaves(self.n), BRANCHES * engine.threads)
                ]
            kept = engine.keep(work)
            (found,) = engine.sums(total, add, self._shared, [[(kept, branch) for branch in self._branches]])
        self.passes += 1
        self._pass_s.append(watch.seconds * found.mapping_s / max(found.seconds, 1e-9))
        return found.sums

    def times(self, coef: NDArray) -> NDArray[np.float64]:
        parts = [(part(self.X, rows),) for rows in leaves(0, self.n)]
        with workers() as engine:
            return np.concatenate(list(engine.each(times, (self.features, coef), parts)))
