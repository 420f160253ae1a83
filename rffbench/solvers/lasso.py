"""The LASSO: min λ‖w‖₁ + (1/2N) Σ (zₙᵀw − yₙ)²."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rffbench.seeds import RandomState, generator, seed_sequence
from rffbench.solvers.l1 import L1Problem, Minimum, minimise


class Lasso(L1Problem):
    """The loss ½(z − y)²; every point has one."""

    factor = 0.5

    def points(self, residual: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.ones(len(residual), dtype=bool)


def solve_lasso(
    Z: NDArray, y: ArrayLike, penalty: float, *, start: ArrayLike | None = None, tol: float = 1e-6,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], Minimum]:  # fmt: skip
    """The weights w (p,) for features Z (N, p), float64, float32 or int8, and target y (N,); no intercept.

    ``penalty`` is λ; ``start`` (p,) are weights to begin from, zeros where not given. Ends when the duality gap is
    ``tol`` times the objective or less. Z in column order (Fortran) isn't copied.
    """
    return solve(Lasso(np.array(y, dtype=np.float64), penalty), Z, start, tol, random_state)


def solve(
    problem: L1Problem, Z: NDArray, start: ArrayLike | None, tol: float, random_state: RandomState
) -> tuple[NDArray[np.float64], Minimum]:
    """The weights of ``problem`` on fixed features Z (N, p)."""
    features = np.ascontiguousarray(Z.T)
    w = np.zeros(len(features)) if start is None else np.array(start, dtype=np.float64)
    problem.shift(features, w)
    return w, minimise(problem, features, w, tol=tol, rng=generator(seed_sequence(random_state), "descent"))
