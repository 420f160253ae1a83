"""Ridge regression in the dual, from the n×n kernel matrix: for kernels, and for more columns than rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from rffbench.linalg.triangles import Triangle, recombine_triangles
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


def solve_dual_cv(
    kernel: Triangle, work: Triangle, Y: NDArray[np.float64], alphas: Sequence[float], *, folds: int = 5,
    lambda_scale: RidgeScale = "n", center: Center = True, scoring: Scoring = None, path: bool = False,
    weights: NDArray[np.float64] | None = None,
) -> RidgeSolution:  # fmt: skip
    """(K + nλI)⁻¹(y − ȳ) at the alpha with the smallest mean held-out error over contiguous folds: the mean square, or
    with ``scoring='accuracy'`` the share of wrong labels.

    ``kernel`` holds K (n, n); ``work`` is a working triangle of the same size; Y is (n, t). Predictions are those of
    ridge on features Z with K = ZZᵀ, and cheaper if Z has more columns than rows. The solution's ``coef`` are the
    coefficients (n, t) of the training rows. A row of weight w counts as w rows, also in n.
    """
    n = len(Y)
    weights = np.ones(n) if weights is None else weights
    bounds = fold_bounds(n, folds)
    fold_error = np.empty((len(alphas), 0))
    if len(alphas) > 1:
        fold_error = np.full((len(alphas), folds), np.inf)
        for fold in range(folds):
            held = np.arange(bounds[fold], bounds[fold + 1])
            training = np.concatenate([np.arange(bounds[fold]), np.arange(bounds[fold + 1], n)])
            for index, alpha in enumerate(alphas):
                try:
                    (dual_coef, intercept), _ = _solve(kernel, work, Y, weights, training, alpha, lambda_scale, center)
                except LinAlgError:
                    continue
                outputs = kernel.multiply(dual_coef)[held] + intercept
                fold_error[index, fold] = mean_error(outputs, Y[held], scoring, weights[held])

    def solve(alphas: Sequence[float]) -> Solved:
        solutions: Solutions = []
        accuracy = Accuracy.of("cholesky", 0.0, 1.0)
        for alpha in alphas:
            try:
                solution, accuracy = _solve(kernel, work, Y, weights, np.arange(n), alpha, lambda_scale, center)
                solutions.append(solution)
            except LinAlgError:
                solutions.append(None)
        return Solved(solutions, accuracy)

    return best_solution(alphas, fold_error, solve, path=path)


def _solve(
    kernel: Triangle, work: Triangle, Y: NDArray, weights: NDArray, training: NDArray, alpha: float,
    lambda_scale: RidgeScale, center: Center,
) -> tuple[Solution, Accuracy]:  # fmt: skip
    """Dual coefficients (n, t), zero outside the rows ``training``, the intercept, and their accuracy.

    With D = diag(√w) it solves (DKD + nλI)a = D(y − ȳ), with n = Σw and the weighted mean ȳ; the coefficients are Da.
    """
    m = len(training)
    matrix, w = work.leading(m), weights[training]
    root, total = np.sqrt(w), float(w.sum())
    recombine_triangles(matrix, [kernel], training, training, root, 0 * root)
    y_mean = (w[:, None] * Y[training]).sum(axis=0) / total if center else np.zeros(Y.shape[1])
    row_means = np.zeros(m)
    if center == "both":  # HDKDH with H = I − √w√wᵀ/n: the solution is orthogonal to √w, so that Ha = a
        row_means = matrix.multiply(root[:, None])[:, 0] / total
        grand_mean = (root * row_means).sum() / total
        lower = matrix.lower
        for i in range(m):
            others = slice(0, i + 1)
            lower[i, others] += (
                grand_mean * root[i] * root[others] - row_means[i] * root[others] - root[i] * row_means[others]
            )
    trace = float(matrix.diagonal.sum())
    matrix.diagonal[:] += penalty(alpha, total, lambda_scale, trace)
    matrix.cholesky()
    solution = matrix.solve(root[:, None] * (Y[training] - y_mean))
    dual_coef = np.zeros_like(Y)
    dual_coef[training] = root[:, None] * solution
    accuracy = Accuracy.of("cholesky", CHOLESKY_FLOOR * trace, penalty(1.0, total, lambda_scale, trace))
    return (dual_coef, y_mean - row_means @ solution), accuracy
