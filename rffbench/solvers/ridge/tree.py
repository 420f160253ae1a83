"""The sum over row blocks as a tree that the rows alone determine: so are its digits, whoever adds, in whatever order.

The rows of each fold are cut into leaves of at most LEAF_ROWS. A leaf is one task: its Gram triangle, right side and
sums are gathered in one place. Neighbours are then added in pairs, the sums again, until one is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from rffbench.linalg.triangles import packed_length

LEAF_ROWS = 1 << 14
"""Rows of a leaf: so many that sending its triangle, 4p² bytes, takes about a hundredth of computing it, rows·p²/2
multiply-adds, where a node does 5·10¹⁰ of them a second and the network moves 10⁹ bytes."""


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


class Cost(NamedTuple):
    """What a tree comes to; see `cost`."""

    leaves: int
    depth: int
    bytes_moved: int
    most_held: int


def cost(count: int, workers: int, columns: int, targets: int = 1) -> Cost:
    """A tree over ``count`` leaves, simulated: leaf i is computed by worker i modulo ``workers``, each sum by the
    worker of its left part, which is sent the right one.

    ``depth``: sums one after the other; ``bytes_moved`` between workers, and of the last sum to the client;
    ``most_held``: sums that one worker holds at most, where everybody goes through the tree depth-first.
    """
    size = 8 * (packed_length(columns) + columns * (targets + 1) + 2 * targets)
    nodes = pairs(count)
    at, depth = [leaf % workers for leaf in range(count)], [0] * count
    moved = 1  # to the client
    for left, right in nodes:
        moved += at[left] != at[right]
        at.append(at[left])
        depth.append(1 + max(depth[left], depth[right]))
    held, most = [0] * workers, 0
    for number in depth_first(count, nodes):
        held[at[number]] += 1
        copied = number >= count and at[nodes[number - count].right] != at[number]
        most = max(most, held[at[number]] + copied)
        if number >= count:
            for each in nodes[number - count]:
                held[at[each]] -= 1
    return Cost(count, depth[-1], moved * size, most)


Work = Callable[..., Any]  # a module's function: it goes by name


class Engine(Protocol):
    """What calls functions on workers. ``shared`` is sent to each of them once, and is their first argument."""

    def sums(self, work: Work, add: Work, shared: Any, groups: Sequence[Sequence[tuple]]) -> Iterator[Any]:
        """Of each group of parts the sum by the tree over ``work(shared, *part)``, of two at a time by
        ``add(left, right)``."""

    def each(self, work: Work, shared: Any, parts: Sequence[tuple]) -> Iterator[Any]:
        """``work(shared, *part)`` of every part, in their order."""
