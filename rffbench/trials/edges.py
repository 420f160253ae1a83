"""Tuned values on the edge of their grid, and how much the held-out error still falls there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

End = Literal["smallest", "largest"]


def edge_of(grid: Sequence[float], chosen: float) -> End | None:
    """The end of its grid that a tuned value is, None inside it: λ = 0 is no end, as there is none beyond it."""
    if len(grid) < 2 or chosen == 0:
        return None
    return "smallest" if chosen == min(grid) else "largest" if chosen == max(grid) else None


def gain_at_edge(grid: Sequence[float], fold_error: ArrayLike, chosen: float) -> dict[str, float] | None:
    """How much smaller the held-out error is at a ``chosen`` end of the grid than at its neighbour.

    ``fold_error`` (values, folds) are the errors held out; ``gain`` is the mean over the folds of the difference, with
    its ``standard_error``. None inside the grid, and where the neighbour has no solution.
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
    """Of a fitted solver's λ, if cross-validation has put it on the edge of its grid: `gain_at_edge`, by name."""
    results = getattr(solver, "cv_results_", {})
    errors = results.get("fold_test_error")
    if errors is None or not np.size(errors):
        return {}
    found = gain_at_edge(list(results["alpha"]), errors, solver.alpha_)
    return {"lambda": found} if found else {}


def chosen_fold_errors(solver: Any) -> list[float]:
    """The held-out error on each fold at the λ that a fitted solver has chosen; none where it has chosen none so."""
    results = getattr(solver, "cv_results_", {})
    errors = results.get("fold_test_error")
    if errors is None or not np.size(errors):
        return []
    return [float(error) for error in errors[list(results["alpha"]).index(solver.alpha_)]]
