"""Orthonormal columns that do not depend on the signs which LAPACK leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def positive_qr(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Q (n, m) of A = QR, n ≥ m, with R's diagonal not negative. It is unique if A has full rank; else a basis is
    completed. Of independent normal numbers it is Haar distributed (Mezzadri, "How to generate random matrices from the
    classical compact groups", Notices of the AMS 54, 2007)."""
    Q, R = np.linalg.qr(A)
    return np.asarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))
