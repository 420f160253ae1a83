"""What a trial is scored by: accuracy, RMSE, relative RMSE; and the norm that errors of kernel matrices are told in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, aslinearoperator, eigsh


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


def spectral_norm(A: NDArray | LinearOperator) -> float:
    """‖A‖₂ of a symmetric matrix, by Lanczos from a fixed start to 1e-6 relative."""
    operator = aslinearoperator(A)
    n = operator.shape[0]
    start = np.random.default_rng(0).standard_normal(n)
    if n < 3 or not operator.matvec(start).any():  # Lanczos needs room for two vectors besides the wanted one
        return float(np.linalg.norm(operator @ np.eye(n), 2))
    try:
        value = eigsh(operator, k=1, which="LM", v0=start, tol=1e-6, return_eigenvectors=False)
    except ArpackNoConvergence:  # two extreme eigenvalues of opposite sign and nearly equal size
        return float(np.linalg.norm(operator @ np.eye(n), 2))
    return float(abs(value[0]))
