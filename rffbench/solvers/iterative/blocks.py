"""Passes over the rows by the workers of a dask cluster: each sums over its rows, and a tree adds these sums.

The tree is that of ridge (`rffbench.solvers.ridge.tree`). It depends only on the number of rows, so results are the
same for any number of workers. A task is a branch of the tree, leaves that one worker sums. There are as few tasks as
keep the workers busy, because each costs the scheduler some milliseconds in every pass. The map, the rows and
their targets are sent once per fit; each pass sends the vectors that it multiplies.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.rowsource import Stopwatch, part
from rffbench.solvers.iterative.problems import Problems
from rffbench.solvers.iterative.tiles import Sums, Tiles, Work
from rffbench.solvers.ridge.tree import Engine, depth_first, leaves, pairs

EVEN = 0.8
"""For what share of a pass the workers' threads must be busy, if there are enough leaves."""


class Leaf(NamedTuple):
    """Sums over some rows, the seconds of mapping them, and all seconds."""

    sums: Sums
    mapping_s: float
    seconds: float


class Branch(NamedTuple):
    """Leaves of the tree: the problems, with the targets of their rows, and of each its rows X and where they begin."""

    problems: Problems
    parts: list[tuple[Any, int]]


def total(shared: tuple[Any, int], work: Work, branch: Branch) -> Leaf:
    """The sums of ``work`` over the leaves of a branch. ``shared``: the map and its columns."""
    problems, parts = branch
    nodes, found = pairs(len(parts)), dict[int, Leaf]()
    for number in depth_first(len(parts), nodes):
        if number < len(parts):
            found[number] = _leaf(shared, problems, work, *parts[number])
        else:
            left, right = nodes[number - len(parts)]
            found[number] = add(found.pop(left), found.pop(right))
    return found.popitem()[1]


def _leaf(shared: tuple[Any, int], problems: Problems, work: Work, X: Any, first: int) -> Leaf:
    features, columns = shared
    tiles = Tiles(X, features, columns, first, keep=True)
    with Stopwatch(X) as watch:
        sums = tiles.total(work, problems)
    return Leaf(sums, tiles.feature_s, watch.seconds)


def add(left: Leaf, right: Leaf) -> Leaf:
    """The sum of both, which are not changed, because they are needed again if a worker is lost."""
    sums = tuple(one + other for one, other in zip(left.sums, right.sums, strict=True))
    return Leaf(sums, left.mapping_s + right.mapping_s, left.seconds + right.seconds)


def even_leaves(n: int) -> list[slice]:
    """n rows as leaves, a power of two of them if there are enough rows, so that workers get the same number."""
    count = len(leaves(0, n))
    return leaves(0, n, most=-(-n // (1 << (count - 1).bit_length()))) if count else []


def branches(cut: Sequence[slice], threads: int) -> list[Sequence[slice]]:
    """The leaves ``cut`` as branches of 2^k neighbours, which keep the order of the tree's additions. k is the largest
    with which all ``threads`` are busy for EVEN of a pass, if each branch takes as long; or 0."""

    def is_even(size: int) -> bool:
        count = -(-len(cut) // size)
        return count >= EVEN * threads * -(-count // threads)

    size = 1 << len(cut).bit_length()
    while size > 1 and not is_even(size):
        size //= 2
    return [cut[start : start + size] for start in range(0, len(cut), size)]


def times(shared: tuple[Any, NDArray], X: Any) -> NDArray[np.float64]:
    """Z·coef for the rows X; ``shared``: the map and coef."""
    features, coef = shared
    return Tiles(X, features, len(coef), keep=True).times(coef)


def workers() -> AbstractContextManager[Engine]:
    """The engine of this process; see `rffbench.solvers.ridge.dask_blocks`."""
    from rffbench.solvers.ridge.dask_blocks import engine

    return engine()


class BlockedTiles(Tiles):
    """`Tiles` with passes by the workers of a cluster."""

    def __init__(self, X: Any, features: Any, columns: int) -> None:
        super().__init__(X, features, columns)
        self._shared: Any = None
        self._branches: list[Any] = []
        self._pass_s: list[float] = []

    @property
    def feature_s(self) -> float:
        """The mean time of mapping each row once: each pass's time, times the share that its workers spent mapping."""
        return float(np.mean(self._pass_s)) if self._pass_s else 0.0

    def total(self, work: Work, problems: Problems) -> Sums:
        with workers() as engine, Stopwatch() as watch:
            if self._shared is None:
                self._shared = engine.keep((self.features, self.p))
                self._branches = [
                    engine.keep(self._branch(cut, problems)) for cut in branches(even_leaves(self.n), engine.threads)
                ]
            kept = engine.keep(work)
            (found,) = engine.sums(total, add, self._shared, [[(kept, branch) for branch in self._branches]])
        self.passes += 1
        self._pass_s.append(watch.seconds * found.mapping_s / max(found.seconds, 1e-9))
        return found.sums

    def _branch(self, cut: Sequence[slice], problems: Problems) -> Branch:
        parts = [(part(self.X, rows), rows.start) for rows in cut]
        return Branch(problems.part(slice(cut[0].start, cut[-1].stop)), parts)

    def times(self, coef: NDArray) -> NDArray[np.float64]:
        parts = [(part(self.X, rows),) for rows in leaves(0, self.n)]
        with workers() as engine:
            return np.concatenate(list(engine.each(times, (self.features, coef), parts)))
