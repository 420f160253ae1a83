"""Sums over rows by a tree that depends only on the rows, so that results do not depend on the workers.

The rows of each fold are divided into leaves of at most LEAF_ROWS. A leaf is one task: one worker computes its Gram
triangle, right side and sums. Then neighbours are added in pairs, and these sums again, until one is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

LEAF_ROWS = 1 << 14
"""Rows of a leaf. Sending its triangle, 4p² bytes at 10⁹ bytes per second, then takes a twentieth of the time of
computing it, rows·p²/2 multiply-adds at 10¹¹ per second."""


class Node(NamedTuple):
    """The sum of the nodes with numbers ``left`` and ``right``; leaves have the first numbers."""

    left: int
    right: int


def leaves(start: int, stop: int, most: int = LEAF_ROWS) -> list[slice]:
    """Rows start…stop−1 in slices of at most ``most`` rows, with lengths that differ by at most one."""
    count = -(-(stop - start) // most)
    bounds = [start + (stop - start) * leaf // count for leaf in range(count + 1)] if count else []
    return [slice(*pair) for pair in pairwise(bounds)]


def pairs(count: int) -> list[Node]:
    """The sums over ``count`` leaves: sum i is the node with number count + i, and the last one is the sum of all."""
    nodes: list[Node] = []
    level = list(range(count))
    while len(level) > 1:
        nodes += [Node(left, right) for left, right in zip(level[::2], level[1::2], strict=False)]
        added = range(count + len(nodes) - len(level) // 2, count + len(nodes))
        level = [*added, *level[len(level) // 2 * 2 :]]
    return nodes


def depth_first(count: int, nodes: Sequence[Node]) -> list[int]:
    """All numbers in the order in which one process holds the fewest sums at a time: each sum right after its parts."""
    order: list[int] = []

    def visit(number: int) -> None:
        if number >= count:
            left, right = nodes[number - count]
            visit(left)
            visit(right)
        order.append(number)

    if count:
        visit(count + len(nodes) - 1)
    return order


Work = Callable[..., Any]  # a function of a module, so that it can be pickled


class Engine(Protocol):
    """Calls functions on workers. ``shared`` is sent to each worker once, and is the first argument. It, and values in
    a part, may be results of `keep`."""

    @property
    def threads(self) -> int:
        """The number of parts that are worked on at a time, at least 1."""

    def keep(self, value: Any) -> Any:
        """A handle of ``value``, which is sent to the workers once, for several calls."""

    def sums(self, work: Work, add: Work, shared: Any, groups: Sequence[Sequence[tuple]]) -> Iterator[Any]:
        """For each group of parts, the sum of ``work(shared, *part)`` by the tree, with ``add(left, right)``."""

    def each(self, work: Work, shared: Any, parts: Sequence[tuple]) -> Iterator[Any]:
        """``work(shared, *part)`` for every part, in order."""
