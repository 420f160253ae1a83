"""R of a QR factorisation, without Q, from rows in blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

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
