"""Ridge regression on a sparse Z by conjugate gradients, without computing ZZᵀ.

The coefficients are β = Zᵀa with (ZZᵀ + cI)a = y − ȳ, n equations for any number of columns. The residual of these
equations also bounds the error of the predictions for the training rows. One sequence of products serves every penalty,
because (ZZᵀ + cI) and (ZZᵀ + c′I) have the same Krylov spaces.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from rffbench.linalg.conjugate_gradients import conjugate_gradients
from rffbench.linalg.row_gram import RowGram
from rffbench.solvers.ridge.fold_statistics import (
    Accuracy,
    RidgeSolution,
    Solution,
    Solutions,
    Solved,
    best_solution,
    fold_bounds,
    mean_error,
    penalty,
)
from rffbench.solvers.ridge.settings import CHOLESKY_FLOOR, Center, RidgeScale, Scoring

TOLERANCE = 1e-8  # of the relative residual
CHOOSING = 1e-5  # the same for fits that only choose λ
MOST_STEPS = 3000


def solve_sparse_cv(
    Z: Any, Y: NDArray[np.float64], alphas: Sequence[float], *, folds: int = 5, lambda_scale: RidgeScale = "n",
    center: Center = True, scoring: Scoring = None, weights: NDArray[np.float64] | None = None,
) -> RidgeSolution:  # fmt: skip
    """Ridge on the CSR matrix Z (n, p) and Y (n, t) at the alpha > 0 with the smallest mean held-out error over
    contiguous folds: the mean square, or with ``scoring='accuracy'`` the share of wrong labels.

    Weights of 0 hold out a fold, so that Z is not copied. Memory beside Z: a vector (p,) per target, or two (n,) per
    target and alpha, and Z's entries once more if it has many columns. A ConvergenceWarning names an alpha for which
    MOST_STEPS steps are not enough.
    """
    n, alphas = len(Y), [float(alpha) for alpha in alphas]
    weights = np.ones(n) if weights is None else weights
    Z = Z.astype(np.float64, copy=False)
    squares = csr_array((np.square(Z.data), Z.indices, Z.indptr), shape=Z.shape).sum(axis=1)
    gram = RowGram(Z, min(Y.shape[1], _targets_at_once(Z, alphas)))

    def solved(counted: NDArray[np.float64], alphas: Sequence[float], tolerance: float) -> _Duals:
        return _solve(Z, gram, Y, counted, squares, alphas, lambda_scale, center, tolerance)

    fold_error = np.empty((len(alphas), 0))
    if len(alphas) > 1:
        fold_error = np.empty((len(alphas), folds))
        bounds = fold_bounds(n, folds)
        for fold in range(folds):
            held = slice(bounds[fold], bounds[fold + 1])
            counted = weights.copy()
            counted[held] = 0
            duals = solved(counted, alphas, CHOOSING)
            rows = Z[held]
            for index in range(len(alphas)):
                coef, intercept = duals.solution(Z, index)
                fold_error[index, fold] = mean_error(rows @ coef + intercept, Y[held], scoring, weights[held])

    def solve(alphas: Sequence[float]) -> Solved:
        duals = solved(weights, alphas, TOLERANCE)
        for alpha, left in zip(alphas, duals.left, strict=True):
            if left > TOLERANCE:
                warnings.warn(
                    f"ridge at lambda={alpha:g} has not converged after {MOST_STEPS} steps of conjugate gradients: the "
                    f"relative residual is {left:.0e}; take a larger lambda", ConvergenceWarning, stacklevel=3,
                )  # fmt: skip
        solutions: Solutions = [duals.solution(Z, index) for index in range(len(alphas))]
        return Solved(solutions, duals.accuracy)

    return best_solution(alphas, fold_error, solve, path=False)


class _Duals(NamedTuple):
    """The dual coefficients of the rows (alphas, n, t), ȳ (t,), z̄ (p,), and the relative residuals (alphas,)."""

    values: NDArray[np.float64]
    y_mean: NDArray[np.float64]
    z_mean: NDArray[np.float64]
    left: NDArray[np.float64]
    accuracy: Accuracy

    def solution(self, Z: Any, index: int) -> Solution:
        """β = Zᵀa (p, t), and the intercept."""
        coef = Z.T @ self.values[index]
        return coef, self.y_mean - self.z_mean @ coef


def _targets_at_once(Z: Any, alphas: Sequence[float]) -> int:
    """The number of targets whose arrays take no more memory than Z."""
    return max(1, int(Z.nnz) // (2 * len(alphas) * Z.shape[0]))


def _solve(
    Z: Any, gram: RowGram, Y: NDArray[np.float64], weights: NDArray[np.float64], squares: NDArray[np.float64],
    alphas: Sequence[float], lambda_scale: RidgeScale, center: Center, tolerance: float,
) -> _Duals:  # fmt: skip
    """With D = diag(√w) it solves (DZZᵀD + cI)a = D(y − ȳ), and with an intercept (HDZZᵀDH + cI)a, H = I − √w√wᵀ/Σw;
    the dual coefficients are Da. ``gram`` is ZZᵀ, and ``squares`` are the rows' ‖z‖²."""
    root, total = np.sqrt(weights)[:, None], float(weights.sum())
    trace = float(weights @ squares)
    y_mean = (weights @ Y) / total if center else np.zeros(Y.shape[1])
    z_mean = np.zeros(Z.shape[1])
    if center == "both":
        z_mean = Z.T @ weights / total
        trace -= total * float(z_mean @ z_mean)

    def multiply(V: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        product = root * gram.times(root * V)
        if center == "both":
            product -= root * (root.T @ product / total)
        return product

    penalties = np.array([penalty(alpha, total, lambda_scale, trace) for alpha in alphas])
    values, left = np.empty((len(alphas), *Y.shape)), np.zeros(len(alphas))
    at_once = _targets_at_once(Z, alphas)
    for first in range(0, Y.shape[1], at_once):
        some = slice(first, first + at_once)
        right = root * (Y[:, some] - y_mean[some])
        found = conjugate_gradients(multiply, right, penalties, tolerance=tolerance, most_steps=MOST_STEPS)
        values[:, :, some] = found.X
        left = np.maximum(left, found.left.max(axis=1))
    values *= root
    accuracy = Accuracy.of("cg", CHOLESKY_FLOOR * trace, penalty(1.0, total, lambda_scale, trace))
    return _Duals(values, y_mean, z_mean, left, accuracy)
