"""Columns k(x) of a map φ(x) = R⁻¹·k(x) before they are mixed: ridge sums KᵀK and Kᵀy, and applies R to the sums.

(R⁻¹KᵀKR⁻ᵀ + nλI)β = R⁻¹Kᵀy is (KᵀK + nλ·RRᵀ)α = Kᵀy for α = R⁻ᵀβ. A pass takes half as long. Rounding in KᵀK is as
large as ε·n and is divided by the eigenvalues of RRᵀ, so these must not be too small for λ. Predictions are k(x)ᵀα in
any case: they are rounded by about ε·‖R‖·‖α‖, as φ(x)ᵀβ is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrcon

TOLERANCE = 1e-4  # the largest relative change of the penalty by rounding


class UnmixedColumns:
    """The r columns k(x) of a map with ``width`` columns, φ(x) = R⁻¹·k(x) and zeros, as a map."""

    def __init__(self, values: Any, width: int) -> None:
        self.blocks, self.root, self.width = values.blocks, values.root, width
        self.n_components = len(values.root)

    def keeps(self, penalty: float, n: int) -> bool:
        """Whether rounding in sums over n rows hardly changes a ``penalty`` on ‖β‖²."""
        root = self.root
        largest = float(np.square(root).sum(axis=1).max())  # of RRᵀ's diagonal
        smallest = (float(dtrcon(root, uplo="L")[0]) * np.abs(root).sum(axis=0).max()) ** 2
        rounding = np.finfo(np.float64).eps * np.sqrt(len(root)) * n * largest**2
        return rounding <= TOLERANCE * penalty * smallest

    def fill(self, X: Any, out: NDArray) -> None:
        """Write k(x) of the rows X (n, d) into ``out`` (n, r) float64."""
        self.blocks.fill(X, out)

    def collapse(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients of k(x), from those of φ(x)."""
        found: NDArray[np.float64] = solve_triangular(self.root, coef[: len(self.root)], lower=True, trans="T")
        return found

    def spread(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients of φ(x), (width, t), from those of R⁻¹·k(x), (r, t)."""
        return np.concatenate([coef, np.zeros((self.width - len(coef), *coef.shape[1:]))])


@dataclass(frozen=True)
class Unmixed:
    """In place of `rffbench.features.hooks.Distinct`: unmixed columns are solved for."""

    features: UnmixedColumns
    columns: UnmixedColumns
