"""Preconditioners of ZᵀZ + cI: one eigenvalue decomposition serves every c and every fold.

A fold is fitted to a share s of all rows, so its ZᵀZ is nearly s times that of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from rffbench.linalg.lapack import eigh
from rffbench.linalg.threads import interruptibly

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Spectrum:
    """P ≈ ZᵀZ over all rows: U·diag(values)·Uᵀ + rest·(I − UUᵀ), U (p, rank) orthonormal; if U is None,
    diag(values)."""

    U: Numbers | None
    values: Numbers
    rest: float = 0.0

    @property
    def rank(self) -> int:
        return len(self.values)

    def solve(self, R: Numbers, penalties: Numbers, share: Numbers) -> Numbers:
        """(share_j·P + penalty_j·I)⁻¹r_j for every column r_j of R (p, t); ``penalties`` and ``share`` are (t,)."""
        factors = self.values[:, None] * share + penalties
        if self.U is None:
            return R / factors
        outside = self.rest * share + penalties
        found: Numbers = self.U @ ((self.U.T @ R) * (1 / factors - 1 / outside))
        found += R / outside
        return found


def of_sketch(SZ: Numbers) -> Spectrum:
    """P = (SZ)ᵀ(SZ) for the sketched rows SZ (s, p); s may be below p (H. Avron, K. Clarkson and D. Woodruff, "Faster
    kernel ridge regression using sketching and preconditioning", SIMAX 2017)."""
    s, p = SZ.shape
    if s >= p:
        values, U = eigh(SZ.T @ SZ)
        return Spectrum(U, np.maximum(values, 0))
    values, Q = eigh(SZ @ SZ.T)
    kept = values > s * np.finfo(np.float64).eps * max(values[-1], np.finfo(np.float64).tiny)
    return Spectrum(SZ.T @ (Q[:, kept] / np.sqrt(values[kept])), values[kept])


def of_nystroem(Y: Numbers, Omega: Numbers, precision: float) -> Spectrum:
    """The Nyström approximation Y(ΩᵀY)⁺Yᵀ of a positive semi-definite A, where Y = AΩ (p, r) is computed to
    ``precision`` and Ω has orthonormal columns; outside its range, its smallest eigenvalue (Z. Frangella, J. Tropp and
    M. Udell, "Randomized Nyström preconditioning", SIMAX 2023, Algorithm 2.1 and Eq. 1.3)."""
    shift = np.sqrt(len(Y)) * precision * float(np.sqrt(max(np.linalg.eigvalsh(Y.T @ Y)[-1], 0)))
    for _ in range(6):  # until the shift is above rounding
        shifted = Y + shift * Omega
        inner = Omega.T @ shifted
        try:
            root = cholesky((inner + inner.T) / 2, lower=True)
        except LinAlgError:
            shift = 10 * shift or precision
            continue
        whitened = solve_triangular(root, shifted.T, lower=True).T
        decompose = partial(np.linalg.svd, whitened, full_matrices=False)  # scipy's keeps the GIL
        U, singular, _ = interruptibly(decompose, 6.0 * len(Y) * len(root) ** 2)
        values = np.maximum(singular**2 - shift, 0)
        return Spectrum(U, values, float(values[-1]) if len(values) < len(Y) else 0.0)
    raise LinAlgError("the Nyström preconditioner is not positive definite; take a smaller rank")
