"""Ridge regression by the singular values of Z, accurate at penalties that the normal equations lose, including 0.

Rounding of ZᵀZ in float64 hides its eigenvalues below ε·σ², where σ is the largest singular value of Z. A QR
factorisation of Z has singular values right to about ε·σ, and so honours penalties down to (ε·σ)². One pass over the
rows gives each fold's R of [1 | Z | y]. The R of a training set is that of the other folds' stacked R, and its singular
values give the solutions at every λ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, lapack, svd

from rffbench.solvers.ridge.fold_statistics import (
    Accuracy,
    HeldOut,
    RidgeSolution,
    Solutions,
    Solved,
    best_solution,
    cross_validate,
    penalty,
)
from rffbench.solvers.ridge.settings import Center, RidgeScale

EPS = float(np.finfo(np.float64).eps)
WORK_MATRICES = 8  # p×p matrices of a solution: R of the training rows, one merged, U, V, and LAPACK's arrays
PANEL = 32  # columns that the factorisation takes at a time


class RFactor:
    """The upper triangular R (q, q) with RᵀR = AᵀA, for the rows A (m, q) added so far.

    A block B is added by the QR factorisation of [R; B] (LAPACK's dtpqrt, 2mq² multiply-adds for m rows). That is
    backward stable: R is exact for rows that differ from A by a relative ε, while a Cholesky factor of AᵀA is exact for
    a matrix that differs from AᵀA by a relative ε. So singular values are right to about ε times the largest one. The
    signs of R's rows are arbitrary. Tall and skinny QR: Demmel et al. 2012, SIAM J. Sci. Comput. 34(1).
    """

    def __init__(self, columns: int) -> None:
        self.matrix = np.zeros((columns, columns), order="F")

    def add(self, rows: NDArray[np.float64]) -> None:
        """Add the rows (m, q), float64; they are overwritten if they are Fortran-ordered."""
        self._add(rows, 0)

    def merge(self, other: RFactor) -> None:
        """Add all rows of ``other``, from its R, which is not changed: a third of the work."""
        self._add(other.matrix.copy(order="F"), len(other.matrix))

    def _add(self, rows: NDArray[np.float64], trapezoid: int) -> None:
        panel = min(PANEL, len(self.matrix))
        self.matrix, *_, info = lapack.dtpqrt(trapezoid, panel, self.matrix, rows, overwrite_a=True, overwrite_b=True)
        if info:
            raise ValueError(f"dtpqrt: argument {-info} is wrong")

    @staticmethod
    def bytes_needed(columns: int) -> int:
        return 8 * columns**2


class FoldFactors:
    """R of the rows [1 | Z | y] of ``folds`` groups of rows, gathered block by block.

    Memory is folds·(p + t + 1)² numbers for p columns of Z and t of y, and any number of rows.
    """

    def __init__(self, columns: int, folds: int, targets: int = 1) -> None:
        self.columns, self.folds, self.targets = columns, folds, targets
        self._factors = [RFactor(1 + columns + targets) for _ in range(folds)]
        self._counts = np.zeros(folds)

    def add(self, fold: int, Z: NDArray, y: NDArray, *, weights: NDArray[np.float64] | None = None) -> None:
        """Add the rows Z (rows, columns) with targets y (rows, targets) and ``weights`` to ``fold``; float32 features
        are factored in float64."""
        rows = np.empty((len(Z), 1 + self.columns + self.targets), order="F")
        rows[:, 0], rows[:, 1 : 1 + self.columns] = 1.0, Z
        rows[:, 1 + self.columns :] = np.reshape(y, (len(Z), self.targets))
        if weights is not None:
            rows *= np.sqrt(weights)[:, None]
        self._counts[fold] += len(Z) if weights is None else float(weights.sum())
        self._factors[fold].add(rows)

    @property
    def finite(self) -> bool:
        """Whether all features so far, and the sums of their squares, are finite."""
        return all(np.isfinite(np.square(factor.matrix).sum()) for factor in self._factors)

    def solve(
        self, folds: Sequence[int], alphas: Sequence[float], *, lambda_scale: RidgeScale, center: Center
    ) -> Solved:
        """(coef, intercept) of ridge on the rows of ``folds`` for each alpha; of minimum norm if alpha is 0.

        With Z = UΣVᵀ the coefficients are V(Σ² + cI)⁻¹ΣUᵀy for the penalty c. Singular values below p·ε times the
        largest count as 0, as in `numpy.linalg.lstsq`, so all penalties below their square are the same.
        """
        merged = RFactor(1 + self.columns + self.targets)
        for fold in folds:
            merged.merge(self._factors[fold])
        R, p, n = merged.matrix, self.columns, float(self._counts[list(folds)].sum())
        # Row 0 has the rows' component along 1, √n times the means; the rows below have the rest.
        means = R[0, 1:] / R[0, 0]
        y_mean = means[p:] if center else np.zeros(self.targets)
        if center == "both":
            A, B = R[1 : p + 1, 1 : p + 1], R[1 : p + 1, p + 1 :]
        else:
            A, B = R[: p + 1, 1 : p + 1], R[: p + 1, p + 1 :] - np.outer(R[: p + 1, 0], y_mean)
        right, sigma, left = _right_side(A, B)
        trace = float(sigma @ sigma)
        cut = p * EPS * sigma[0]
        kept = sigma > cut
        sigma, right, left = sigma[kept], right[kept], left[kept]
        penalties = [penalty(alpha, n, lambda_scale, trace) for alpha in alphas]
        scaled = [right / (sigma + c / sigma)[:, None] for c in penalties]
        coefs = np.split(left.T @ np.hstack(scaled), len(alphas), axis=1)
        solutions: Solutions = [(coef, y_mean - means[:p] @ coef if center == "both" else y_mean) for coef in coefs]
        return Solved(solutions, Accuracy.of("svd", cut**2, penalty(1.0, n, lambda_scale, trace)))

    def held_out_mse(self, fold: int, solutions: Solutions) -> list[float]:
        """Each solution's mean squared error on the rows of ``fold``: ‖R(−c; −β; 1)‖² divided by their number."""
        errors = []
        for coef, intercept in (solution for solution in solutions if solution is not None):
            residual = self._factors[fold].matrix @ np.vstack([-intercept[None, :], -coef, np.eye(self.targets)])
            errors.append(float(np.square(residual).sum() / (self._counts[fold] * self.targets)))
        return errors

    @staticmethod
    def bytes_needed(columns: int, folds: int, targets: int = 1) -> int:
        """The bytes of the folds' factors and of a solution."""
        return (folds + WORK_MATRICES) * RFactor.bytes_needed(1 + columns + targets)


def _right_side(
    A: NDArray[np.float64], B: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """UᵀB, the singular values Σ, largest first, and Vᵀ, for A = UΣVᵀ."""
    for driver in ("gesdd", "gesvd"):  # the first is faster, and fails on some rare matrices
        try:
            U, sigma, Vt = svd(A, full_matrices=False, check_finite=False, lapack_driver=driver)
            return U.T @ B, sigma, Vt
        except LinAlgError:
            continue
    raise LinAlgError("the singular values of Z have not converged; take method: cholesky")


def solve_svd_cv(
    factors: FoldFactors, alphas: Sequence[float], *, lambda_scale: RidgeScale = "n", center: Center = True,
    held_out: HeldOut | None = None, path: bool = False,
) -> RidgeSolution:  # fmt: skip
    """As `rffbench.solvers.ridge.cross_validation.solve_ridge_cv`, by singular values, accurate at any alpha."""

    def solve(folds: Sequence[int], alphas: Sequence[float]) -> Solved:
        return factors.solve(folds, alphas, lambda_scale=lambda_scale, center=center)

    fold_error = cross_validate(factors.folds, alphas, solve, held_out or factors.held_out_mse)
    return best_solution(
        alphas, fold_error, lambda alphas: solve(range(factors.folds), alphas), path=path, at_once=True
    )
