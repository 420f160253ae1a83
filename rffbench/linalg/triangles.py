"""Symmetric matrices stored as triangles, two to a square, and the BLAS/LAPACK calls on them in place.

A symmetric p×p matrix needs p(p+1)/2 numbers. There are no fast (level 3) routines for packed storage, so two triangles
share one (p+1)×p Fortran-ordered array: one matrix's lower triangle from row 1 on, another's upper triangle from row 0
on, both with leading dimension p+1. scipy's wrappers fix the leading dimension, so the routines are called directly
(`rffbench.linalg.lapack`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from rffbench.linalg.lapack import address, call
from rffbench.linalg.threads import in_threads, interruptibly, side_by_side, thread_count

BLOCK = 64  # rows and columns per step of an operation in place, which stay in a level-1 cache
GRAM_TILE = 512  # rows of a Gram matrix per task: enough for products at full speed
CHOLESKY_AT_ONCE = 8192  # rows; from some 22,000 on OpenBLAS with two threads writes past its buffers, and crashes
CHOLESKY_STEP = 4096  # columns of a larger factor at a time
GRAM_WORTH_A_THREAD = 1 << 24  # multiplications: fewer take less time than starting a thread
SYMV_WORTH_A_THREAD = 1 << 19
BLAS_BYTES_A_COLUMN = 4096  # measured per column of a Gram matrix and thread: OpenBLAS copies operands, and keeps them


@dataclass(frozen=True)
class Triangle:
    """A symmetric p×p float64 matrix, stored as its lower triangle in a part of a shared ``storage``.

    Element (i, j), i ≥ j, is ``storage[start + i·row_step + j·column_step]``; one of the steps is 1, the
    other the leading dimension.
    """

    storage: NDArray[np.float64]
    start: int
    p: int
    row_step: int
    column_step: int

    @property
    def lower(self) -> NDArray[np.float64]:
        """A p×p view; only its lower triangle belongs to this matrix."""
        strides = (8 * self.row_step, 8 * self.column_step)
        shape = (self.p, self.p)
        return np.lib.stride_tricks.as_strided(self.storage[self.start :], shape, strides)

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """A writable view of the diagonal."""
        step = self.row_step + self.column_step
        return self.storage[self.start : self.start + (self.p - 1) * step + 1 : step]

    def leading(self, p: int) -> Triangle:
        """The leading p×p block, in the same storage."""
        return Triangle(self.storage, self.start, p, self.row_step, self.column_step)

    def full(self) -> NDArray[np.float64]:
        """The whole matrix, as a new array."""
        lower, out = self.lower, np.empty((self.p, self.p))
        for i in range(0, self.p, BLOCK):
            here = slice(i, i + BLOCK)
            out[here, :i] = lower[here, :i]
            out[:i, here] = out[here, :i].T
            corner = np.tril(lower[here, here])
            out[here, here] = corner + np.tril(corner, -1).T
        return out

    # LAPACK sees a row-ordered lower triangle as an upper one.
    @property
    def _uplo(self) -> bytes:
        return b"L" if self.row_step == 1 else b"U"

    @property
    def _leading_dimension(self) -> int:
        return max(self.row_step, self.column_step)

    @property
    def _pointer(self) -> ctypes.c_void_p:
        return self._element(0, 0)

    def _element(self, i: int, j: int) -> ctypes.c_void_p:
        at = self.start + i * self.row_step + j * self.column_step
        return ctypes.c_void_p(self.storage.ctypes.data + 8 * at)

    def set_rows(self, start: int, rows: NDArray[np.float64]) -> None:
        """Set the rows from ``start`` on to ``rows`` (m, start + m or more), up to the diagonal."""
        lower, m = self.lower, len(rows)
        lower[start : start + m, :start] = rows[:, :start]
        corner = np.tril_indices(m)
        lower[start : start + m, start : start + m][corner] = rows[:, start : start + m][corner]

    def packed(self) -> NDArray[np.float64]:
        """The columns of the lower triangle, one after the other, (p(p+1)/2,), as a copy."""
        lower, packed, at = self.lower, np.empty(packed_length(self.p)), 0
        for j in range(self.p):
            packed[at : at + self.p - j] = lower[j:, j]
            at += self.p - j
        return packed

    def set_packed(self, packed: NDArray[np.float64]) -> None:
        """Set the matrix to the one that ``packed()`` returned."""
        lower, at = self.lower, 0
        for j in range(self.p):
            lower[j:, j] = packed[at : at + self.p - j]
            at += self.p - j

    def scale(self, factor: float) -> None:
        """Multiply the matrix by ``factor``."""
        lower = self.lower
        for i in range(0, self.p, BLOCK):
            lower[i : i + BLOCK, :i] *= factor
            corner = lower[i : i + BLOCK, i : i + BLOCK]
            corner[np.tril_indices(len(corner))] *= factor

    def copy_from(self, other: Triangle) -> None:
        """Set the matrix to ``other``, of the same size."""
        sum_triangles(self, [other])

    def add_gram(self, Z: NDArray[np.float64], factor: float = 1.0) -> None:
        """Add factor·ZᵀZ; Z is (rows, p), float64, rows or columns contiguous."""
        self.add_gram_strip(Z, 0, self.p, factor)

    def add_gram_strip(self, Z: NDArray[np.float64], start: int, stop: int, factor: float = 1.0) -> None:
        """Add only the rows ``start``…``stop``−1 of factor·ZᵀZ, up to the diagonal; Z as in ``add_gram``.

        Strips that cover 0…p are the whole update. Threads: as many as numba's, each with its tiles of the strip, the
        largest first.
        """
        by_rows = Z.shape[1] == 1 or Z.strides[1] == 8
        if (
            Z.shape[1] != self.p or Z.dtype != np.float64
            or not (by_rows or len(Z) == 1 or Z.strides[0] == 8)
        ):  # fmt: skip
            raise ValueError(f"Z must be float64 with {self.p} columns, contiguous, got {Z.dtype} {Z.shape}")
        if not len(Z) or stop <= start:
            return
        tiles = -(-(stop - start) // GRAM_TILE)
        edges = [start + (stop - start) * tile // tiles for tile in range(tiles + 1)]
        tasks = [partial(self._add_gram_rows, Z, *rows, factor, by_rows) for rows in pairwise(edges)]
        enough = len(Z) * (stop - start) * stop > GRAM_WORTH_A_THREAD
        side_by_side(tasks[::-1], None if enough else 1)

    def _add_gram_rows(self, Z: NDArray[np.float64], start: int, stop: int, factor: float, by_rows: bool) -> None:
        """Rows start…stop−1 of factor·ZᵀZ: a symmetric rank-k update, and the block left of it."""
        stride = max(Z.strides[0] // 8, self.p) if by_rows else max(Z.strides[1] // 8, len(Z))
        symmetric, plain, transposed = (b"N", b"N", b"T") if by_rows else (b"T", b"T", b"N")
        corner = self._element(start, start)
        new, old = (address(Z[:, start:]), stop - start), (address(Z), start)
        call(
            "dsyrk", self._uplo, symmetric, stop - start, len(Z), factor, new[0], stride,
            1.0, corner, self._leading_dimension,
        )  # fmt: skip
        if start:
            # The block left of the diagonal, or its transpose if the triangle is row-ordered.
            (left, m), (right, n) = (new, old) if self.row_step == 1 else (old, new)
            call(
                "dgemm", plain, transposed, m, n, len(Z), factor, left, stride, right, stride,
                1.0, self._element(start, 0), self._leading_dimension,
            )  # fmt: skip

    def cholesky(self) -> None:
        """Replace the matrix by its Cholesky factor L (A = L·Lᵀ). LinAlgError if it is not positive definite.

        A large matrix is factored by strips of columns: the corner of a strip, the rows below it, and what these rows
        take off the rest of the matrix.
        """
        step = self.p if self.p <= CHOLESKY_AT_ONCE else CHOLESKY_STEP
        for start in range(0, self.p, max(step, 1)):
            stop = min(start + step, self.p)
            self._factor_corner(start, stop)
            if stop < self.p:
                self._divide_by_corner(start, stop)
                tasks = [
                    partial(self._subtract_strip, start, stop, first, min(first + GRAM_TILE, self.p))
                    for first in range(stop, self.p, GRAM_TILE)
                ]
                side_by_side(tasks[::-1])

    def _factor_corner(self, start: int, stop: int) -> None:
        """L of the rows and columns start…stop−1."""
        rows = stop - start
        info = interruptibly(
            lambda: call("dpotrf", self._uplo, rows, self._element(start, start), self._leading_dimension, 0),
            rows**3 / 3,
        )
        if info:
            raise LinAlgError(f"not positive definite: the leading minor of order {start + info} is not positive")

    def _divide_by_corner(self, start: int, stop: int) -> None:
        """The rows below the corner, times L⁻ᵀ of the corner; transposed, L⁻¹ times these, if the rows are columns."""
        strip, below = stop - start, self.p - stop
        side, m, n = (b"R", below, strip) if self.row_step == 1 else (b"L", strip, below)
        interruptibly(
            lambda: call(
                "dtrsm", side, self._uplo, b"T", b"N", m, n, 1.0, self._element(start, start),
                self._leading_dimension, self._element(stop, start), self._leading_dimension,
            ),
            strip**2 * below / 2,
        )  # fmt: skip

    def _subtract_strip(self, start: int, stop: int, first: int, last: int) -> None:
        """P·Pᵀ off the rows first…last−1 from column ``stop`` on; P: the strip's rows below its corner."""
        strip, step = stop - start, self._leading_dimension
        plain, transposed = (b"N", b"T") if self.row_step == 1 else (b"T", b"N")
        new, old = (self._element(first, start), last - first), (self._element(stop, start), first - stop)
        call(
            "dsyrk", self._uplo, plain, last - first, strip, -1.0, new[0], step, 1.0, self._element(first, first), step
        )
        if first > stop:
            # As in `_add_gram_rows`: the block left of the diagonal, or its transpose.
            (left, m), (right, n) = (new, old) if self.row_step == 1 else (old, new)
            call(
                "dgemm", plain, transposed, m, n, strip, -1.0, left, step, right, step,
                1.0, self._element(first, stop), step,
            )  # fmt: skip

    def mix(self, R: NDArray[np.float64]) -> None:
        """Replace the matrix A by R⁻¹·A·R⁻ᵀ, R (p, p) lower triangular and invertible."""
        root = np.asfortranarray(R) if self.row_step == 1 else np.ascontiguousarray(R)
        call(
            "dsygst", 1, self._uplo, self.p, self._pointer, self._leading_dimension, address(root), max(1, self.p), 0,
        )  # fmt: skip

    def solve(self, B: NDArray[np.float64]) -> NDArray[np.float64]:
        """A⁻¹B for B (p, t), if this triangle holds the Cholesky factor of A."""
        X = np.array(B, dtype=np.float64, order="F", ndmin=2)
        call(
            "dpotrs", self._uplo, self.p, X.shape[1], self._pointer, self._leading_dimension,
            address(X), self.p, 0,
        )  # fmt: skip
        return X

    def solve_factor(self, B: NDArray[np.float64], *, transposed: bool = False) -> NDArray[np.float64]:
        """L⁻¹B, or ``transposed`` L⁻ᵀB, for B (p, t), if this triangle holds the Cholesky factor L of A."""
        X = np.array(B, dtype=np.float64, order="F", ndmin=2)
        plain = transposed != (self.row_step == 1)
        call(
            "dtrsm", b"L", self._uplo, b"N" if plain else b"T", b"N", self.p, X.shape[1], 1.0, self._pointer,
            self._leading_dimension, address(X), self.p,
        )  # fmt: skip
        return X

    def inverse_diagonal(self) -> NDArray[np.float64]:
        """diag(A⁻¹), if this triangle holds the Cholesky factor L of A, which is overwritten.

        A⁻¹ = L⁻ᵀL⁻¹, so entry j is the squared norm of column j of L⁻¹; the inverse is not formed.
        """
        call("dtrtri", self._uplo, b"N", self.p, self._pointer, self._leading_dimension, 0)
        norms = np.empty(self.p)
        lower = self.lower
        for j in range(0, self.p, BLOCK):
            corner = np.tril(lower[j : j + BLOCK, j : j + BLOCK])
            below = lower[j + BLOCK :, j : j + BLOCK]
            norms[j : j + BLOCK] = np.einsum("ij,ij->j", corner, corner) + np.einsum("ij,ij->j", below, below)
        return norms

    def multiply(self, B: NDArray[np.float64]) -> NDArray[np.float64]:
        """A·B for B (p, t)."""
        B = np.asfortranarray(B, dtype=np.float64)
        product = np.empty_like(B, order="F")

        def multiply_columns(first: int, last: int) -> None:
            for t in range(first, last):
                call(
                    "dsymv", self._uplo, self.p, 1.0, self._pointer, self._leading_dimension,
                    address(B[:, t]), 1, 0.0, address(product[:, t]), 1,
                )  # fmt: skip

        in_threads(multiply_columns, B.shape[1], worthwhile=self.p * self.p > SYMV_WORTH_A_THREAD)
        return product


class TriangleStack:
    """``count`` symmetric p×p matrices, all zero at first, in one allocation of ⌈count/2⌉·p·(p+1) numbers."""

    def __init__(self, count: int, p: int) -> None:
        self.p = p
        self.storage = np.zeros((count + 1) // 2 * p * (p + 1))
        self._triangles = [self._triangle(index) for index in range(count)]
        self.unused = self._triangle(count) if count % 2 else None

    def _triangle(self, index: int) -> Triangle:
        start = index // 2 * self.p * (self.p + 1)
        if index % 2:
            return Triangle(self.storage, start, self.p, row_step=self.p + 1, column_step=1)
        return Triangle(self.storage, start + 1, self.p, row_step=1, column_step=self.p + 1)

    def __getitem__(self, index: int) -> Triangle:
        return self._triangles[index]

    def __iter__(self) -> Iterator[Triangle]:
        return iter(self._triangles)

    def __len__(self) -> int:
        return len(self._triangles)

    @staticmethod
    def bytes_needed(count: int, p: int) -> int:
        return 8 * ((count + 1) // 2) * p * (p + 1)


def packed_length(p: int) -> int:
    """Numbers in the lower triangle of a p×p matrix."""
    return p * (p + 1) // 2


def blas_bytes(p: int) -> int:
    """The bytes of BLAS's own buffers after p×p matrices were summed and factored."""
    return BLAS_BYTES_A_COLUMN * p * thread_count()


def _geometry(triangles: list[Triangle]) -> tuple[NDArray, NDArray]:
    """The shared storage of ``triangles`` and their (start, row step, column step) rows."""
    storage = triangles[0].storage
    if any(triangle.storage is not storage for triangle in triangles):
        raise ValueError("triangles can be summed only if they are of one stack")
    return storage, np.array([(t.start, t.row_step, t.column_step) for t in triangles], dtype=np.int64)


def sum_triangles(out: Triangle, triangles: list[Triangle]) -> None:
    """out ← the sum of ``triangles`` (of one stack, of out's size)."""
    from rffbench.linalg.triangle_kernels import TILE, sum_tiles

    storage, geometry = _geometry(triangles)
    target = np.array([out.start, out.row_step, out.column_step], dtype=np.int64)
    tiles = -(-out.p // TILE)
    in_threads(
        lambda first, last: sum_tiles(out.storage, target, storage, geometry, out.p, first, last),
        tiles * (tiles + 1) // 2,
        worthwhile=out.p * out.p // 2 * len(triangles) > 1 << 17,
    )


def recombine_triangles(
    out: Triangle, triangles: list[Triangle], first: NDArray[np.int64], second: NDArray[np.int64],
    a: NDArray[np.float64], b: NDArray[np.float64],
) -> None:  # fmt: skip
    """out ← Tᵀ(Σ triangles)T, where column j of T is a_j·e_first[j] + b_j·e_second[j].

    That is the Gram matrix of the columns a_j·Z[:, first_j] + b_j·Z[:, second_j], from those of Z.
    """
    from rffbench.linalg.triangle_kernels import recombine_columns

    storage, geometry = _geometry(triangles)
    target = np.array([out.start, out.row_step, out.column_step], dtype=np.int64)
    # Neighbouring source columns share cache lines of the strided half, so they follow one another.
    order = np.argsort(first, kind="stable")
    in_threads(
        lambda begin, end: recombine_columns(
            out.storage, target, storage, geometry, triangles[0].p, first, second, a, b, order[begin:end]
        ),
        len(first),
        worthwhile=len(first) * triangles[0].p > 1 << 14,
    )


@cache
def warm_up() -> None:
    """Compile the kernels, or load them from numba's cache, and look up LAPACK's routines, before timing; once per
    process."""
    grams, (out,) = TriangleStack(3, 2), TriangleStack(1, 2)
    columns = np.arange(2)
    for gram in grams:
        gram.add_gram(np.eye(2))
        gram.add_gram_strip(np.eye(2), 1, 2)
    sum_triangles(out, list(grams))
    for writeable in (True, False):  # numba compiles separate code for read-only arrays
        factor = np.ones(2)
        factor.setflags(write=writeable)
        recombine_triangles(out, list(grams), columns, columns, factor, factor)
    out.multiply(np.ones((2, 1)))
    out.cholesky()
    out.solve(np.ones((2, 1)))
    out.solve_factor(np.ones((2, 1)))
    out.inverse_diagonal()
