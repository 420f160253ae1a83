"""Sketches: random n×k matrices Θ with E[ΘΘᵀ] = I that are cheap to multiply by.

Sizes and seed determine a sketch, which is never stored as a dense matrix. ``columns(A)`` is A·Θ, ``rows(A)`` is Θᵀ·A,
and ``row_blocks`` is Θᵀ·A for A in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.linalg.hadamard import next_power_of_two, walsh_hadamard

_CHUNK = 1024  # rows of a Gaussian Θ that are drawn at a time
_TILE_BYTES = 1 << 19  # columns that are transformed together stay in a level-2 cache


class Sketch:
    """A random n×k matrix Θ, E[ΘΘᵀ] = I; n, k and the seed determine it."""

    def __init__(self, n: int, k: int, random_state: RandomState = None) -> None:
        if n < 1 or k < 1:
            raise ValueError(f"a sketch must have at least a row and a column, got n={n}, k={k}")
        self.n, self.k = n, k
        self.sequence = seed_sequence(random_state)

    def rows(self, A: NDArray) -> NDArray:
        """Θᵀ·A (k, m) for A (n, m), in A's dtype."""
        return self.row_blocks([A], A.shape[1]).astype(A.dtype, copy=False)

    def columns(self, A: NDArray) -> NDArray:
        """A·Θ (rows, k) for A (rows, n), in A's dtype."""
        return np.ascontiguousarray(self.rows(A.T).T)

    def row_blocks(self, blocks: Iterable[NDArray], m: int) -> NDArray[np.float64]:
        """Θᵀ·A (k, m), float64, for A (n, m) in blocks of rows, from the first row on. The blocks are not changed.

        One block is needed at a time, so a generator may write them all into one buffer.
        """
        total, start = np.zeros((self.k, m)), 0
        for block in blocks:
            if start + len(block) <= self.n:
                self._add(block, start, total)
            start += len(block)
        self._check(start)
        return total

    def _check(self, count: int) -> None:
        if count != self.n:
            raise ValueError(f"the sketch is for {self.n} numbers, got {count}")

    def _add(self, block: NDArray, start: int, total: NDArray[np.float64]) -> None:
        """total (k, m) += Θᵢᵀ·Aᵢ for the block Aᵢ (rows, m), the rows of A from ``start`` on, and the same rows of
        Θ."""
        raise NotImplementedError


class GaussianSketch(Sketch):
    """Θ with independent N(0, 1/k) entries, drawn again, chunk by chunk, each time it is applied. O(nk) per column."""

    def _add(self, block: NDArray, start: int, total: NDArray[np.float64]) -> None:
        stop = start + len(block)
        for chunk in range(start // _CHUNK, -(-stop // _CHUNK)):
            first, last = chunk * _CHUNK, min(self.n, (chunk + 1) * _CHUNK)
            entries = generator(self.sequence, f"chunk {chunk}").standard_normal((last - first, self.k))
            begin, end = max(start, first), min(stop, last)
            entries = entries[begin - first : end - first] / np.sqrt(self.k)
            total += entries.T @ block[begin - start : end - start].astype(np.float64, copy=False)


class SRHT(Sketch):
    """The subsampled randomised Hadamard transform Θ = √(N/k)·D·H·R: signs, Walsh–Hadamard, a sample of k.

    H is orthonormal, of the next power of two N ≥ n; A is padded with zeros. R samples k ≤ N of N coordinates without
    replacement. O(n log n) per column. (J. Tropp, "Improved analysis of the subsampled randomized Hadamard transform",
    2011.)

    The length of a block of rows must be a power of two, except for the last block.
    """

    def __init__(self, n: int, k: int, random_state: RandomState = None) -> None:
        super().__init__(n, k, random_state)
        self.padded = next_power_of_two(n)
        if k > self.padded:
            raise ValueError(f"k must be at most {self.padded}, the length that n = {n} is padded to, got {k}")
        self.signs = generator(self.sequence, "signs").choice(np.array([-1, 1], np.int8), n)
        self.sampled = np.sort(generator(self.sequence, "sampled").choice(self.padded, k, replace=False))

    def _add(self, block: NDArray, start: int, total: NDArray[np.float64]) -> None:
        # H_N = H_{N/b} ⊗ H_b, b a power of two: block i adds H_{N/b}[p, i]·(H_b·D_i·A_i)[q] to the coordinate
        # p·b + q. So only vectors of length b, the block's rows padded, are transformed.
        rows, m = block.shape
        length = next_power_of_two(rows)
        index, rest = divmod(start, length)
        if rest:
            raise ValueError(f"a block must have a power of two of rows, got {rows} rows from row {start} on")
        p, q = np.divmod(self.sampled, length)
        factors = np.array([(-1) ** int(bits).bit_count() for bits in p & index]) / np.sqrt(self.k)
        signs = self.signs[start : start + rows].astype(block.dtype)
        width = max(1, _TILE_BYTES // (length * block.itemsize))
        for first in range(0, m, width):
            columns = slice(first, min(m, first + width))
            transformed = np.zeros((columns.stop - first, length), block.dtype)
            np.multiply(block[:, columns].T, signs, out=transformed[:, :rows])
            total[:, columns] += (walsh_hadamard(transformed)[:, q] * factors).T

    def columns(self, A: NDArray) -> NDArray:
        self._check(A.shape[1])
        padded, out = np.empty((len(A), self.padded), A.dtype), np.empty((len(A), self.k), A.dtype)
        padded[:, : self.n] = A
        self.project(padded, out)
        return out

    def project(self, padded: NDArray, out: NDArray) -> None:
        """Write A·Θ into ``out`` (rows, k) for A (rows, n), the first columns of ``padded`` (rows, N), C-contiguous,
        which is overwritten."""
        padded[:, : self.n] *= self.signs.astype(padded.dtype)
        padded[:, self.n :] = 0
        np.take(walsh_hadamard(padded), self.sampled, axis=1, out=out, mode="clip")
        out /= out.dtype.type(np.sqrt(self.k))


class CountSketch(Sketch):
    """Θ with one ±1 per row, in a random column. O(n) per column. (Charikar, Chen, Farach-Colton, 2002.)"""

    def __init__(self, n: int, k: int, random_state: RandomState = None) -> None:
        super().__init__(n, k, random_state)
        self.signs = generator(self.sequence, "signs").choice([-1.0, 1.0], n)
        self.buckets = generator(self.sequence, "buckets").integers(k, size=n)

    def _add(self, block: NDArray, start: int, total: NDArray[np.float64]) -> None:
        from rffbench.linalg.sketch_kernels import add_to_buckets

        part = slice(start, start + len(block))
        add_to_buckets(block, self.signs[part], self.buckets[part], total)

    def columns(self, A: Any) -> NDArray:
        self._check(A.shape[1])
        if issparse(A):
            n, entries = self.n, (self.signs.astype(A.dtype), self.buckets, np.arange(self.n + 1))
            return (A @ csr_array(entries, shape=(n, self.k))).toarray()
        from rffbench.linalg.sketch_kernels import add_columns_to_buckets

        out = np.zeros((len(A), self.k), A.dtype)
        add_columns_to_buckets(A, self.signs.astype(A.dtype), self.buckets, out)
        return out


class CountSketchGaussian(Sketch):
    """A CountSketch to ``buckets`` columns, then a Gaussian sketch to k, in place of a Gaussian sketch of many rows.

    O(n + buckets·k) per column. For m columns and about m²√k buckets, the distribution of the product is close to that
    of a Gaussian sketch in total variation. (M. Kapralov, V. Potluru, D. Woodruff, "How to fake multiply by a Gaussian
    matrix", ICML 2016.)
    """

    def __init__(self, n: int, k: int, buckets: int, random_state: RandomState = None) -> None:
        super().__init__(n, k, random_state)
        self.count = CountSketch(n, buckets, self.sequence)
        self.gaussian = GaussianSketch(buckets, k, self.sequence)

    def row_blocks(self, blocks: Iterable[NDArray], m: int) -> NDArray[np.float64]:
        return self.gaussian.rows(self.count.row_blocks(blocks, m))
