"""What a trial is scored by: accuracy, RMSE, relative RMSE, and the error of the kernel matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, eigsh


def accuracy(y: NDArray, predicted: NDArray) -> float:
    """The share of labels predicted right, in percent."""
    return 100.0 * float(np.mean(y == predicted))


def rmse(y: NDArray, predicted: NDArray) -> float:
    """√(mean (y − ŷ)²), in the target's unit."""
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def relative_rmse(y: NDArray, predicted: NDArray) -> float:
    """‖y − ŷ‖₂ / ‖y‖₂ (Chen et al. 2015, Figure 2); NaN where y is zero."""
    norm = float(np.linalg.norm(y))
    return float(np.linalg.norm(y - predicted)) / norm if norm > 0 else float("nan")


def spectral_norm(A: NDArray) -> float:
    """‖A‖₂ of a symmetric matrix, by Lanczos from a fixed start to 1e-6 relative."""
    if len(A) < 3 or not A.any():  # Lanczos needs room for two vectors besides the wanted one
        return float(np.linalg.norm(A, 2))
    start = np.random.default_rng(0).standard_normal(len(A))
    try:
        value = eigsh(A, k=1, which="LM", v0=start, tol=1e-6, return_eigenvectors=False)
    except ArpackNoConvergence:  # two extreme eigenvalues of opposite sign and nearly equal size
        return float(np.linalg.norm(A, 2))
    return float(abs(value[0]))


def kernel_error(K: NDArray, Z: NDArray) -> float:
    """‖K − ZZᵀ‖₂ / ‖K‖₂ for a kernel matrix K (n, n) and features Z (n, p) (Liu et al. 2020, Figure 1a)."""
    Z = np.asarray(Z, dtype=np.float64)
    return spectral_norm(K - Z @ Z.T) / spectral_norm(K)


def spectral_error(K: NDArray, Z: NDArray) -> float:
    """‖K − ZZᵀ‖₂."""
    return spectral_norm(K - np.asarray(Z, dtype=np.float64) @ Z.T)


def sup_error(K: NDArray, Z: NDArray) -> float:
    """max |K − ZZᵀ| over all pairs of the points (Rahimi & Recht 2007, Claim 1)."""
    return float(np.abs(K - np.asarray(Z, dtype=np.float64) @ Z.T).max())


def entry_error(K: NDArray, Z: NDArray) -> float:
    """The root of the mean square of K − ZZᵀ over pairs of different points."""
    difference = K - np.asarray(Z, dtype=np.float64) @ Z.T
    return float(np.sqrt(np.mean(np.square(difference[~np.eye(len(K), dtype=bool)]))))


MEASURES: dict[str, Callable[[NDArray, NDArray], float]] = {
    each.__name__: each for each in (kernel_error, spectral_error, sup_error, entry_error)
}
"""What a config may ask to be measured of a kernel matrix K (n, n) and features Z (n, p), by name."""
