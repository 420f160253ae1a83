"""The sum over row blocks as a tree that the rows alone determine: so are its digits, whoever adds, in whatever order.

The rows of each fold are cut into leaves of at most LEAF_ROWS. A leaf is one task: its Gram triangle, right side and
sums are gathered in one place. Neighbours are then added in pairs, the sums again, until one is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

LEAF_ROWS = 1 << 14
"""Rows of a leaf: enough that sending its triangle, 4p² bytes, takes a twentieth of computing it, rows·p²/2
multiply-adds, where a node does 10¹¹ of them a second and the network moves 10⁹ bytes."""


class Node(NamedTuple):
    """A sum of two: of the nodes numbered ``left`` and ``right``, leaves being numbered first."""

    left: int
    right: int


def leaves(start: int, stop: int, most: int = LEAF_ROWS) -> list[slice]:
    """Rows start…stop−1 in slices of at most ``most`` rows, whose lengths differ by one at most."""
    count = -(-(stop - start) // most)
    bounds = [start + (stop - start) * leaf // count for leaf in range(count + 1)] if count else []
    return [slice(*pair) for pair in pairwise(bounds)]


def pairs(count: int) -> list[Node]:
    """The sums over ``count`` leaves: node number count + i is the i-th of them, the last one the sum of all."""
    nodes: list[Node] = []
    level = list(range(count))
    while len(level) > 1:
        nodes += [Node(left, right) for left, right in zip(level[::2], level[1::2], strict=False)]
        added = range(count + len(nodes) - len(level) // 2, count + len(nodes))
        level = [*added, *level[len(level) // 2 * 2 :]]
    return nodes


def depth_first(count: int, nodes: Sequence[Node]) -> list[int]:
    """All numbers in the order in which one process holds the fewest sums at a time: each right after its parts."""
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


Work = Callable[..., Any]  # a module's function: it goes by name


class Engine(Protocol):
    """What calls functions on workers. ``shared`` is sent to each of them once, and is their first argument. It, and
    anything in a part, may be what `keep` gave."""

    @property
    def threads(self) -> int:
        """How many parts are worked on at a time, at least 1."""

    def keep(self, value: Any) -> Any:
        """The value on the workers, for several calls: it is sent once."""

    def sums(self, work: Work, add: Work, shared: Any, groups: Sequence[Sequence[tuple]]) -> Iterator[Any]:
        """Of each group of parts the sum by the tree over ``work(shared, *part)``, of two at a time by
        ``add(left, right)``."""

    def each(self, work: Work, shared: Any, parts: Sequence[tuple]) -> Iterator[Any]:
        """``work(shared, *part)`` of every part, in their order."""
