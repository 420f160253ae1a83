"""Ridge regression in the dual, from the n×n kernel matrix: for kernels, and for more columns than rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from rffbench.linalg.triangles import Triangle, recombine_triangles
from rffbench.solvers.base import LambdaScale
from rffbench.solvers.ridge.fold_statistics import RidgeSolution, best_solution, fold_bounds, penalty, wrong_share
from rffbench.solvers.ridge.settings import Center, Scoring


def solve_dual_cv(
    kernel: Triangle,
    work: Triangle,
    Y: NDArray[np.float64],
    alphas: Sequence[float],
    *,
    folds: int = 5,
    lambda_scale: LambdaScale = "n",
    center: Center = True,
    scoring: Scoring = None,
    path: bool = False,
) -> RidgeSolution:
    """(K + nλI)⁻¹(y − ȳ) at the alpha of the smallest mean held-out error over contiguous folds: the mean square, or
    with ``scoring='accuracy'`` the share of wrong labels.

    ``kernel`` holds K (n, n); ``work`` is a triangle of the same size to solve in; Y is (n, t). The same
    predictions as ridge on features Z with K = ZZᵀ; worth it where Z has more columns than rows. The solution's
    ``coef`` are the coefficients (n, t) of the training rows.
    """
    n = len(Y)
    bounds = fold_bounds(n, folds)
    fold_error = np.empty((len(alphas), 0))
    if len(alphas) > 1:
        fold_error = np.full((len(alphas), folds), np.inf)
        for fold in range(folds):
            held = np.arange(bounds[fold], bounds[fold + 1])
            training = np.concatenate([np.arange(bounds[fold]), np.arange(bounds[fold + 1], n)])
            for index, alpha in enumerate(alphas):
                try:
                    dual_coef, intercept = _solve(kernel, work, Y, training, alpha, lambda_scale, center)
                except LinAlgError:
                    continue
                outputs = kernel.multiply(dual_coef)[held] + intercept
                wrong = wrong_share(outputs, Y[held]) if scoring else np.mean((outputs - Y[held]) ** 2)
                fold_error[index, fold] = wrong

    def solve(index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        try:
            return _solve(kernel, work, Y, np.arange(n), alphas[index], lambda_scale, center)
        except LinAlgError:
            return None

    solutions = [solve(index) for index in range(len(alphas))] if path else []
    return best_solution(alphas, fold_error, lambda index: solutions[index] if path else solve(index), solutions)


def _solve(
    kernel: Triangle, work: Triangle, Y: NDArray, training: NDArray, alpha: float,
    lambda_scale: LambdaScale, center: Center,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Dual coefficients (n, t), zero outside the rows ``training``, and the intercept."""
    m = len(training)
    matrix, ones = work.leading(m), np.ones(m)
    recombine_triangles(matrix, [kernel], training, training, ones, 0 * ones)
    y_mean = Y[training].mean(axis=0) if center else np.zeros(Y.shape[1])
    row_means = np.zeros(m)
    if center == "both":  # HKH with H = I − 11ᵀ/m: the solution sums to 0, so that Hα = α
        row_means = matrix.multiply(ones[:, None])[:, 0] / m
        grand_mean = row_means.mean()
        lower = matrix.lower
        for i in range(m):
            lower[i, : i + 1] += grand_mean - row_means[i] - row_means[: i + 1]
    matrix.diagonal[:] += penalty(alpha, m, lambda_scale)
    matrix.cholesky()
    solution = matrix.solve(Y[training] - y_mean)
    dual_coef = np.zeros_like(Y)
    dual_coef[training] = solution
    return dual_coef, y_mean - row_means @ solution
