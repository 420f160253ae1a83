"""Blocks of a kernel matrix K(X, L) between rows and fixed points, such as landmarks. A pass over many rows writes them
into one buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rffbench.arguments.rowsource import dense_rows
from rffbench.kernels import Kernel
from rffbench.kernels.base import squared_lengths
from rffbench.linalg.threads import in_threads, side_by_side

TILE_COLUMNS, TILE_BYTES = 2048, 1 << 20  # a tile of products that stays in a level-2 cache
WORTH_A_THREAD = 1 << 18  # kernel values: fewer take less time than starting a thread
FARTHEST = {"float32": 1e16, "float64": 1e150}  # largest coordinate, so that its square is finite
LONGEST = {"float32": 1e4, "float64": 1e7}
"""‖x‖², of shifted rows at γ = 1, above which the rounding of a product would show in a squared distance."""
REACH = 1e7  # coordinates of such rows, above which their own rounding would show
DENSE_NUMBERS = 1 << 21  # rows of a CSR matrix are made dense in blocks of this many numbers, 17 MB


class KernelBlocks:
    """k(x, lⱼ) for rows x and ``points`` l (m, d), a block of rows at a time.

    A kernel with an `affine_form` (gaussian, rational-quadratic, polynomial, exponential) is a function of one matrix
    product, computed tile by tile in the cache. If it depends on differences, both sides are first shifted by the
    points' mean, so that rounding changes squared distances by at most ε·‖x − mean‖²; rows for which that is too much,
    `LONGEST`, are subtracted from each point instead. Other kernels are computed coordinate by coordinate, by compiled
    code if there is a compiled form. Threads: as many as numba's, each with its
    rows.

    Parameters
    ----------
    kernel : any of `rffbench.kernels`, with γ as a number; it may have ``lengths``.
    points : (m, d), an array or a CSR matrix.
    dtype : float64 or float32, the precision of the values; float32 has errors of about 1e-7·(1 + γ‖x − mean‖²).
    """

    def __init__(self, kernel: Kernel, points: Any, dtype: Any = np.float64) -> None:
        self.kernel, self.points, self.dtype = kernel, points, np.dtype(dtype)
        plain = kernel.without_lengths()
        self._scale = plain.unit_scale if kernel.of_differences else 1.0
        self._plain = plain.with_gamma(1.0) if kernel.of_differences else plain
        self._form = self._plain.affine_form()
        self._units = kernel.scaled(points)
        if issparse(points):
            self._reach = float(squared_lengths(self._units).max(initial=0.0)) * kernel.unit_scale**2
            return
        dense = np.asarray(self._units, dtype=np.float64)
        self._shift = dense.mean(axis=0) if kernel.of_differences else np.zeros(dense.shape[1])
        own = self._moved(dense)
        self._longest = LONGEST[self.dtype.name] if kernel.of_differences and self._form else np.inf
        self._reach = float(squared_lengths(own).max(initial=0.0))
        self._all_far = self._reach > self._longest
        if self._form is None and kernel.of_differences:
            self._all_far = bool(np.abs(own).max(initial=0.0) > REACH)
        self._columns = np.ascontiguousarray((self._extended(own, points=True) if self._form else own).T, self.dtype)

    @property
    def count(self) -> int:
        """m."""
        return int(self.points.shape[0])

    @property
    def rounding(self) -> float:
        """About the largest error of a value between the points, of a kernel that is 1 at most: ε·‖l − mean‖², of
        shifted points at γ = 1, of a product; else ε."""
        by_product = self.kernel.of_differences and self._form is not None
        within = by_product and self._reach <= LONGEST[self.dtype.name]
        return float(np.finfo(self.dtype).eps) * (max(1.0, self._reach) if within else 1.0)

    def __call__(self, X: Any) -> NDArray:
        """K(X, L), (n, m), of the rows X (n, d), an array or a CSR matrix."""
        out = np.empty((X.shape[0], self.count), self.dtype)
        self.fill(X, out)
        return out

    def fill(self, X: Any, out: NDArray) -> None:
        """Write K(X, L) of the rows X (n, d), an array or a CSR matrix, into ``out`` (n, m) of this ``dtype``, a view
        with a row stride allowed."""
        if issparse(X) or issparse(self.points):
            self._fill_sparse(X, out)
            return
        if self._form is not None:
            fill = self._fill_by_product
        elif self._plain.compiled_form(len(self._columns)) is not None:
            fill = self._fill_compiled
        else:
            fill = self._fill_by_kernel

        def part(first: int, last: int) -> None:
            fill(np.asarray(X[first:last], np.float64), out[first:last])

        if out.size > WORTH_A_THREAD:
            in_threads(part, len(X))
        else:
            side_by_side([lambda: part(0, len(X))])  # with one BLAS thread: a second is no faster on a tile

    def _moved(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows in units of the kernel's lengths; shifted, and scaled to γ = 1, if the kernel depends on differences."""
        if not self.kernel.of_differences:
            return X
        farthest = FARTHEST[self.dtype.name]
        return np.clip((X - self._shift) * self._scale, -farthest, farthest)

    def _extended(self, X: NDArray[np.float64], points: bool = False) -> NDArray[np.float64]:
        """Rows with two more columns, so that products of rows and points are u of the kernel's `affine_form`."""
        assert self._form is not None
        product, squares, constant = self._form
        out = np.ones((len(X), X.shape[1] + 2))
        out[:, :-2] = product * X if points else X
        out[:, -1 if points else -2] = squares * squared_lengths(X) + (constant if points else 0)
        return out

    def _fill_by_product(self, X: NDArray[np.float64], out: NDArray) -> None:
        width = min(self.count, TILE_COLUMNS)
        height = max(1, TILE_BYTES // (width * self.dtype.itemsize))
        scratch = np.empty(width * min(height, len(X)), self.dtype)
        for row in range(0, len(X), height):
            moved = self._moved(self.kernel.scaled(X[row : row + height]))
            far = squared_lengths(moved) > self._longest
            if self._all_far or far.all():
                self._fill_by_kernel(X[row : row + height], out[row : row + height])
                continue
            A = self._extended(moved).astype(self.dtype, copy=False)
            for first in range(0, self.count, width):
                W = self._columns[:, first : first + width]
                tile = scratch[: len(A) * W.shape[1]].reshape(len(A), -1)
                np.matmul(A, W, out=tile)
                self._plain.of_affine(tile, out[row : row + height, first : first + width])
            if far.any():
                apart = np.empty((int(far.sum()), self.count), self.dtype)
                self._fill_by_kernel(X[row : row + height][far], apart)
                out[row : row + height][far] = apart

    def _fill_compiled(self, X: NDArray[np.float64], out: NDArray) -> None:
        from rffbench.linalg.kernel_rows import fill_points

        points = self._moved(self.kernel.scaled(X)).astype(self.dtype, copy=False)
        if self._all_far or np.abs(points).max(initial=0.0) > REACH:  # their product with √γ is rounded
            self._fill_by_kernel(X, out)
            return
        fill_points(self._plain, self._columns, points, out)

    def _fill_by_kernel(self, X: NDArray[np.float64], out: NDArray) -> None:
        out[:] = self.kernel(X, np.asarray(self.points, np.float64))

    def _fill_sparse(self, X: Any, out: NDArray) -> None:
        """For sparse rows or points. Rows stay sparse if the kernel allows it; else a few at a time are made dense."""
        kernel = self.kernel.without_lengths()
        longest = LONGEST[self.dtype.name] if kernel.of_differences else np.inf
        reach = max(float(squared_lengths(each).max(initial=0.0)) for each in (self.kernel.scaled(X), self._units))
        form = kernel.affine_form() if reach * kernel.unit_scale**2 <= longest else None
        if form is not None:
            A, B = self.kernel.scaled(X).astype(np.float64), self._units.astype(np.float64)
            T = A @ B.T
            U = form.product * (T.toarray() if issparse(T) else T) + form.constant
            if form.squares:
                U += form.squares * squared_lengths(A)[:, None]
                U += form.squares * squared_lengths(B)
            kernel.of_affine(U.astype(self.dtype, copy=False), out)
            return
        if kernel.affine_form() is None and kernel.sklearn_name and issparse(X) and issparse(self.points):
            from sklearn.metrics.pairwise import pairwise_kernels

            A = self.kernel.scaled(X)
            out[:] = pairwise_kernels(A, self._units, metric=kernel.sklearn_name, gamma=kernel.gamma)
            return
        points = np.asarray(dense_rows(self.points), np.float64)
        rows = max(1, DENSE_NUMBERS // X.shape[1])
        for first in range(0, X.shape[0], rows):
            out[first : first + rows] = self.kernel(dense_rows(X[first : first + rows]), points)
