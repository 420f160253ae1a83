"""R of a QR factorisation, from rows that come block by block: the orthogonal factor is never formed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

PANEL = 32  # columns that the factorisation takes at a time


class RFactor:
    """The upper triangular R (q, q) with RᵀR = AᵀA, for the rows A (m, q) added so far.

    A block B is added by the QR factorisation of [R; B] (LAPACK's dtpqrt, 2mq² multiply-adds for m rows), which is
    backward stable: R is that of rows that differ from A by ε times A, not, as a Cholesky factor of AᵀA, that of an AᵀA
    that differs by ε times AᵀA. So singular values are right to about ε times the largest of them. The signs of R's
    rows are arbitrary. Tall and skinny QR: Demmel et al. 2012, SIAM J. Sci. Comput. 34(1).
    """

    def __init__(self, columns: int) -> None:
        self.matrix = np.zeros((columns, columns), order="F")

    def add(self, rows: NDArray[np.float64]) -> None:
        """Add the rows (m, q), float64; they are overwritten where they are Fortran-ordered."""
        self._add(rows, 0)

    def merge(self, other: RFactor) -> None:
        """Add the rows that ``other`` is made of, of which its R is left as it is: a third of the work."""
        self._add(other.matrix.copy(order="F"), len(other.matrix))

    def _add(self, rows: NDArray[np.float64], trapezoid: int) -> None:
        panel = min(PANEL, len(self.matrix))
        self.matrix, *_, info = lapack.dtpqrt(trapezoid, panel, self.matrix, rows, overwrite_a=True, overwrite_b=True)
        if info:
            raise ValueError(f"dtpqrt: argument {-info} is wrong")

    @staticmethod
    def bytes_needed(columns: int) -> int:
        return 8 * columns**2
