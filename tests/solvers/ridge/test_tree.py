"""The tree of sums: what it adds is determined by the rows alone, and what it costs is what docs/scaling.md says."""

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from rffbench.linalg.triangles import TriangleStack, packed_length
from rffbench.solvers.ridge.fold_statistics import FoldStatistics, fold_bounds
from rffbench.solvers.ridge.tree import LEAF_ROWS, Node, depth_first, leaves, pairs

PAGE = Path(__file__).parents[3] / "docs" / "scaling.md"


@pytest.mark.parametrize("rows", [0, 1, LEAF_ROWS, LEAF_ROWS + 1, 10 * LEAF_ROWS - 3])
def test_leaves_cover_the_rows_in_order_and_are_of_nearly_one_length(rows):
    cut = leaves(7, 7 + rows)
    assert [row for leaf in cut for row in (leaf.start, leaf.stop)][1:-1:2] == [leaf.start for leaf in cut[1:]]
    assert sum(leaf.stop - leaf.start for leaf in cut) == rows
    lengths = {leaf.stop - leaf.start for leaf in cut}
    assert not lengths or (max(lengths) <= LEAF_ROWS and max(lengths) - min(lengths) <= 1)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13, 612])
def test_every_leaf_is_added_once_between_its_neighbours(count):
    nodes = pairs(count)
    words = [(leaf,) for leaf in range(count)]
    for left, right in nodes:
        words.append(words[left] + words[right])
    assert words[-1] == tuple(range(count))
    assert sorted(part for node in nodes for part in node) == list(range(count + len(nodes) - 1))


def test_depth_first_each_sum_comes_right_after_its_parts_and_few_wait():
    count = 100
    nodes = pairs(count)
    waiting, most = set(), 0
    for number in depth_first(count, nodes):
        if number >= count:
            waiting -= set(nodes[number - count])
        waiting.add(number)
        most = max(most, len(waiting))
    assert waiting == {count + len(nodes) - 1}
    assert most <= math.ceil(math.log2(count)) + 1
    assert pairs(3) == [Node(0, 1), Node(3, 2)]
    assert depth_first(3, pairs(3)) == [0, 1, 3, 2, 4]


class Cost(NamedTuple):
    """What gathering comes to; see `cost`."""

    leaves: int
    depth: int
    bytes_moved: int
    most_held: int


def cost(rows: int, folds: int, workers: int, columns: int, targets: int = 1) -> Cost:
    """Simulates gathering this number of rows: leaf i is computed by worker i modulo ``workers``, each sum by the
    worker of its left part, which is sent the right one; everybody goes through the trees depth-first, a leaf at a
    time.

    ``depth``: sums one after the other; ``bytes_moved`` between workers, and of each fold's sum to the client;
    ``most_held``: sums that one worker holds at most at a time, copies it was sent included.
    """
    moved, deepest, most, held, first = 0, 0, 0, [0] * workers, 0
    for size in np.diff(fold_bounds(rows, folds)).tolist():
        count = len(leaves(0, size))
        nodes = pairs(count)
        at, depth = [(first + leaf) % workers for leaf in range(count)], [0] * count
        for left, right in nodes:
            moved += at[left] != at[right]
            at.append(at[left])
            depth.append(1 + max(depth[left], depth[right]))
        for number in depth_first(count, nodes):
            parts = nodes[number - count] if number >= count else ()
            held[at[number]] += 1
            most = max(most, held[at[number]] + sum(at[each] != at[number] for each in parts))
            for part in parts:
                held[at[part]] -= 1
        moved, deepest, first = moved + 1, max(deepest, depth[-1]), first + count
    return Cost(first, deepest, moved * bytes_of_a_sum(columns, targets), most)


def bytes_of_a_sum(columns: int, targets: int = 1) -> int:
    """Of a packed Gram triangle, the right sides, the columns' sums and the targets' moments."""
    return 8 * (packed_length(columns) + columns * (targets + 1) + 2 * targets)


def test_what_is_sent_of_a_sum_is_what_was_counted():
    p, t = 37, 3
    statistics = FoldStatistics(p, 2, t)
    Z, Y = np.random.default_rng(0).normal(size=(50, p)), np.ones((50, t))
    statistics.add(0, Z, Y)
    statistics.add(1, 2 * Z, Y)
    for fold in (0, 1):  # a triangle stored by columns, and one by rows
        gram, moments = statistics.packed(fold)
        sent = (gram, moments.right, moments.sums, moments.y_sums, moments.y_squares)
        assert sum(array.nbytes for array in sent) == bytes_of_a_sum(p, t)
        for other in (0, 1):
            copy = FoldStatistics(p, 2, t)
            copy.set_packed(other, gram, moments)
            out = TriangleStack(1, p)[0]
            copy.gram([other], out)
            np.testing.assert_allclose(out.full(), (1 + 3 * fold) * Z.T @ Z)
            assert copy.moments([other]).n == 50


# ---- docs/scaling.md ---------------------------------------------------------------------------------------


def rows_of_the_page():
    table = PAGE.read_text().partition("| rows | nodes | leaves |")[2].partition("\n\n")[0]
    lines = [line for line in table.splitlines() if re.match(r"\| 10", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_pages_bytes_and_depths_are_those_of_the_simulated_tree():
    shown = rows_of_the_page()
    assert len(shown) == 4
    size = bytes_of_a_sum(4096)
    for rows, nodes, leaf_count, depth, moved, moved_each, held, hours in shown:
        n = 10 ** "⁰¹²³⁴⁵⁶⁷⁸⁹".index(rows.removeprefix("10"))
        found = cost(n, 2, int(nodes), 4096)
        assert (int(leaf_count.replace(",", "")), int(depth)) == (found.leaves, found.depth)
        assert moved == gigabytes(found.bytes_moved)
        assert moved_each == gigabytes(found.bytes_moved / int(nodes))
        assert held == f"{found.most_held} ({found.most_held * size / 1e9:.2f} GB)"
        seconds = n * 4096**2 / 2 / int(nodes) / 1e11
        assert hours == (f"{seconds / 60:.1f} min")


def gigabytes(count):
    return f"{count / 1e9:,.1f} GB"


@pytest.mark.slow
def test_nothing_that_one_process_holds_grows_with_the_rows():
    small, large = (cost(n, 2, 100, 4096) for n in (10**7, 10**9))
    assert large.most_held <= small.most_held + 2
    assert large.depth - small.depth == pytest.approx(math.log2(100), abs=1)
    assert fold_bounds(10**9, 2) == [0, 5 * 10**8, 10**9]
    assert cost(10**7, 2, 1, 4096).bytes_moved == 2 * bytes_of_a_sum(4096)  # one worker: to the client alone
