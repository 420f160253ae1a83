"""The ℓ1-penalised SVM with the squared hinge: min λ‖w‖₁ + (1/N) Σ max(0, 1 − yₙ zₙᵀw)²."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import LinearSVC

from rffbench.seeds import RandomState
from rffbench.solvers.l1 import L1Problem, Minimum
from rffbench.solvers.lasso import solve


class SquaredHinge(L1Problem):
    """The loss max(0, 1 − yz)², y = ±1: (y − z)² at the points whose margin is below 1, y(y − z) > 0."""

    factor = 1.0

    def points(self, residual: NDArray[np.float64]) -> NDArray[np.bool_]:
        return self.y * residual > 0


def solve_l1_svm(
    Z: NDArray, y: ArrayLike, penalty: float, *, start: ArrayLike | None = None, tol: float = 1e-6,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], Minimum]:  # fmt: skip
    """The weights w (p,) for features Z (N, p) and labels y (N,), −1 and 1; otherwise as `solve_lasso`."""
    return solve(SquaredHinge(np.array(y, dtype=np.float64), penalty), Z, start, tol, random_state)


def solve_by_liblinear(
    Z: NDArray, y: ArrayLike, penalty: float, *, tol: float = 1e-4, most_iterations: int = 1000, seed: int = 0
) -> NDArray[np.float64]:
    """The same weights by LIBLINEAR's coordinate descent (its solver 5), which begins at 0 each time.

    LIBLINEAR minimises ‖w‖₁ + C Σ max(0, …)², so C = 1/(λN). ``tol`` is its own ε, relative to the violation of
    optimality at 0; it copies Z into 16 bytes a number.
    """
    machine = LinearSVC(
        penalty="l1", loss="squared_hinge", dual=False, C=1 / (penalty * len(Z)), tol=tol, fit_intercept=False,
        max_iter=most_iterations, random_state=seed,
    )  # fmt: skip
    return machine.fit(Z, np.asarray(y)).coef_[0]
