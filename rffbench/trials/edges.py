"""Tuned values on the edge of their grid, and how much the held-out error still falls there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rffbench.plugins.parts import declared

End = Literal["smallest", "largest"]


def edge_of(grid: Sequence[float], chosen: float) -> End | None:
    """The end of its grid that a tuned value is; None inside the grid. λ = 0 is not an end: no smaller λ exists."""
    if len(grid) < 2 or chosen == 0:
        return None
    return "smallest" if chosen == min(grid) else "largest" if chosen == max(grid) else None


def gain_at_edge(grid: Sequence[float], fold_error: ArrayLike, chosen: float) -> dict[str, float] | None:
    """The decrease of the held-out error from the neighbour to the ``chosen`` end of the grid.

    ``fold_error`` (values, folds) are the errors held out; ``gain`` is the mean over the folds of the difference, with
    its ``standard_error``. None inside the grid, and if the neighbour has no solution.
    """
    if edge_of(grid, chosen) is None:
        return None
    errors, order = np.asarray(fold_error), np.argsort(grid)
    at, beside = (order[0], order[1]) if grid[order[0]] == chosen else (order[-1], order[-2])
    gains = errors[beside] - errors[at]
    if len(gains) < 2 or not np.isfinite(gains).all():
        return None
    return {"gain": float(gains.mean()), "standard_error": float(gains.std(ddof=1) / np.sqrt(len(gains)))}


def edges_of_solver(solver: Any) -> dict[str, dict[str, float]]:
    """`gain_at_edge` of a fitted solver's λ, by name, if cross-validation chose the end of its grid."""
    results = declared(solver, "cv_results_", {})
    errors = results.get("fold_test_error")
    if errors is None or not np.size(errors):
        return {}
    found = gain_at_edge(list(results["alpha"]), errors, solver.alpha_)
    return {"lambda": found} if found else {}


def chosen_fold_errors(solver: Any) -> list[float]:
    """The held-out error on each fold at the λ that a fitted solver has chosen; empty without cross-validation."""
    results = declared(solver, "cv_results_", {})
    errors = results.get("fold_test_error")
    if errors is None or not np.size(errors):
        return []
    return [float(error) for error in errors[list(results["alpha"]).index(solver.alpha_)]]
