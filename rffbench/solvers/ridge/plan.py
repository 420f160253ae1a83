"""The way of ridge regression that fits into a memory budget, and its rows per block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rffbench.errors import MemoryBudgetError
from rffbench.features.hooks import hook, makes_sparse, most_columns
from rffbench.linalg.threads import thread_count
from rffbench.linalg.triangles import TriangleStack
from rffbench.solvers.base import default_block_rows
from rffbench.solvers.ridge.fold_statistics import FoldStatistics, most_steps
from rffbench.solvers.ridge.svd import FoldFactors

FEWEST_BLOCK_ROWS = 64  # thinner blocks make the rank-k update slow
GRADIENTS = 12  # vectors of conjugate gradients, for each right side
Way = Literal["in_one_pass", "in_passes", "dual", "by_cg", "by_blocks"]


class Plan(NamedTuple):
    """The way of a fit, its rows per block, bytes for working triangles (None: no bound), and all bytes."""

    way: Way
    block_rows: int
    work_bytes: int | None
    bytes: int


@dataclass(frozen=True)
class Size:
    """The numbers of rows, numbers read per row, columns p to solve for, targets, folds and λ."""

    rows: int
    read: int
    columns: int
    targets: int
    folds: int
    alphas: int


def streaming_plan(
    size: Size, features: Any, *, kept: int, by_svd: bool, weighted: bool, block_rows: int | None, memory: int | None
) -> Plan:
    """The fastest way that fits into ``memory`` bytes; MemoryBudgetError if none does.

    ``kept`` are the bytes of the fitted map ``features``; ``block_rows``, if not None, the rows per block.
    """
    n, d, p, folds = size.rows, size.read, size.columns, size.folds
    most_rows = min(n, block_rows or default_block_rows(p))
    # Each way with the bytes that it needs besides a block of features.
    statistics = FoldFactors if by_svd else FoldStatistics
    least_work = 0 if folds % 2 or by_svd else TriangleStack.bytes_needed(2, p)
    vectors = 8 * p * size.targets * (5 * size.alphas + folds + 8)
    if not by_svd and most_steps(p, folds, size.targets):
        vectors += 8 * p * size.targets * folds * (size.alphas + GRADIENTS * thread_count())
    always = kept + hook(features, "bytes_to_map") + vectors
    ways: list[tuple[Way, int]] = [
        ("in_one_pass", always + statistics.bytes_needed(p, folds, size.targets) + least_work),
        ("in_passes", always + statistics.bytes_needed(p, 1, size.targets)),
    ]
    if n < p and not weighted and not by_svd and not makes_sparse(features):
        held = 8 * n * min(p, d) if features is None else 8 * n * p  # Z, which a CSR matrix is already
        ways.insert(0, ("dual", always + held + TriangleStack.bytes_needed(2, n)))
    fills = features is None or hook(features, "fill") is not None
    # A row as read and scaled, its features and their float64 copy; or those of two blocks, if the map returns a new
    # array for each.
    a_row = 24 * d + (16 if fills else 32) * p + 8 * (p if by_svd else 0)
    if memory is None:
        way, needed = ways[0]
        extra = TriangleStack.bytes_needed(2, p) - least_work if way == "in_one_pass" and not by_svd else 0
        return Plan(way, most_rows, None, needed + extra + most_rows * a_row)
    fewest = min(n, block_rows or FEWEST_BLOCK_ROWS)
    for way, needed in ways:
        left = memory - needed - fewest * a_row
        if left >= 0:
            rows = min(most_rows, fewest + left // a_row)
            return Plan(way, rows, left + least_work - (rows - fewest) * a_row, needed + rows * a_row)
    least = min(needed for _, needed in ways) + fewest * a_row
    raise MemoryBudgetError(f"ridge on {p} columns with {folds} folds", least, memory)


def sparse_plan(size: Size, features: Any, *, kept: int, memory: int | None) -> Plan:
    """Conjugate gradients on sparse features; MemoryBudgetError if ``memory`` bytes do not hold them."""
    n, p = size.rows, size.columns
    # Z with its indices, another array of indices while Z is made, then its entries by tile, and the vectors.
    numbers = 28 * most_columns(features, n) + 8 * size.targets * (2 * p + 3 * size.alphas * n)
    needed = kept + hook(features, "bytes_to_map") + numbers
    check_budget(f"ridge on {n} rows of sparse features in {p} columns", needed, memory)
    return Plan("by_cg", n, None, needed)


def check_budget(what: str, needed: int, memory: int | None) -> None:
    """MemoryBudgetError if ``what`` needs more than ``memory`` bytes."""
    if memory is not None and needed > memory:
        raise MemoryBudgetError(what, needed, memory)
