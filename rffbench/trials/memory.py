"""The memory that a trial needs besides its solver, and the error if that is too much."""

from __future__ import annotations

from rffbench.arguments.rowsource import BLOCK_ROWS
from rffbench.errors import MemoryBudgetError
from rffbench.io.process import free_memory
from rffbench.linalg.triangles import TriangleStack, blas_bytes
from rffbench.solvers.base import default_block_rows
from rffbench.trials.spec import TrialSpec

EFFECTIVE_ROWS = 1000  # training rows, in their random order, whose mean ‖z(x)‖² scales the effective λ


def bytes_to_plan_with(limit: int | None, columns: int) -> int | None:
    """The bytes that a solver of ``columns`` columns may use in this process under ``limit``, without BLAS's memory."""
    free = free_memory(limit)
    return None if free is None else free - blas_bytes(columns)


def measuring_bytes(spec: TrialSpec, n: int, columns: int) -> int:
    """An estimate of the bytes needed after a fit to n rows, besides the model: to predict, and to measure the map with
    its kernel matrices on the points."""
    points = min(n, spec.kernel_error_points)
    rows = min(n, max(points, default_block_rows(columns), EFFECTIVE_ROWS))
    held = 8 * (2 * rows * columns + 6 * points**2)
    if spec.solver.get("path"):
        held += TriangleStack.bytes_needed(2, columns) + 16 * BLOCK_ROWS * columns
    return held


def check_measuring(spec: TrialSpec, n: int, columns: int, free: int | None) -> None:
    """MemoryBudgetError if ``free`` bytes are too few to measure."""
    if free is not None and (needed := measuring_bytes(spec, n, columns)) > free:
        raise MemoryBudgetError(f"measuring a map of {columns} columns", needed, free)
