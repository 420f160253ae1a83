"""Random grids, and numbers for the cells that contain points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from rffbench.linalg.threads import in_threads

FEWEST_SLOTS = 16
MANY_GRIDS = 32  # an array with a smaller share of non-zeros than WORTH_STORING is then hashed faster by these alone
WORTH_STORING = 0.2
GROUP = 16  # grids whose cells are written together: 16 numbers of a row share a line of the cache
WORTH_A_THREAD = 1 << 16  # coordinates times grids: about a tenth of a millisecond


def table_bytes(count: int) -> int:
    """The bytes of the table of a grid with ``count`` known cells: a hash and a number per slot, and a power of two of
    slots, at least twice the cells."""
    return (8 + 4) * max(FEWEST_SLOTS, 1 << (2 * count - 1).bit_length())


class Grids:
    """D grids with ``pitches`` δ (d, D) and ``shifts`` u (d, D), and the cells of each that contained points.

    A point's cell in a grid is c, cⱼ = ⌊(xⱼ − uⱼ)/δⱼ⌋, computed in float64 for all dtypes. Its hash Σⱼ rⱼcⱼ mod 2⁶⁴,
    with random odd ``multipliers`` r (d,), identifies it. Two different cells whose coordinates do not all differ by
    multiples of 2ᵇ⁺¹ have the same hash with probability 2ᵇ⁻⁶³ at most, and then count as one. The sum is linear, so a
    CSR row needs only its stored numbers.
    """

    def __init__(
        self, pitches: NDArray[np.float64], shifts: NDArray[np.float64], multipliers: NDArray[np.uint64]
    ) -> None:
        self._per_pitch = np.ascontiguousarray((1 / pitches).T)
        self._offsets = np.ascontiguousarray(shifts.T) * self._per_pitch
        self._multipliers = multipliers
        self.count = pitches.shape[1]
        self._keys = [np.empty(FEWEST_SLOTS, np.uint64) for _ in range(self.count)]
        self._numbers = [np.full(FEWEST_SLOTS, -1, np.int32) for _ in range(self.count)]
        self._sizes = np.zeros(self.count, np.int64)

    @property
    def n_cells(self) -> int:
        """The number of known cells of all grids."""
        return int(self._sizes.sum())

    @property
    def nbytes(self) -> int:
        """The bytes of grids and tables."""
        tables = sum(keys.nbytes + numbers.nbytes for keys, numbers in zip(self._keys, self._numbers, strict=True))
        return self._per_pitch.nbytes + self._offsets.nbytes + tables

    def add(self, X: Any) -> None:
        """Number the new cells of the points X (m, d), an array or a CSR matrix."""
        from rffbench.linalg.bin_kernels import number_keys

        def add(first: int, hashes: NDArray[np.uint64]) -> None:
            for grid, found in enumerate(hashes, first):
                table = number_keys(found, self._keys[grid], self._numbers[grid], self._sizes[grid])
                self._keys[grid], self._numbers[grid], self._sizes[grid] = table

        self._each_group(X, add)

    def cells(self, X: Any, out: NDArray) -> None:
        """out (m, D) ← the number of each point's cell in each grid; −1 for a cell that `add` has not numbered.

        The cells of the first grid have the first numbers, in the order of their first points; then those of the
        second.
        """
        from rffbench.linalg.bin_kernels import look_up

        firsts = np.cumsum(self._sizes) - self._sizes

        def find(first: int, hashes: NDArray[np.uint64]) -> None:
            cells = hashes.view(np.int64)  # in place of the hashes
            for grid, (found, into) in enumerate(zip(hashes, cells, strict=True), first):
                look_up(found, self._keys[grid], self._numbers[grid], firsts[grid], into)
            out[:, first : first + len(cells)] = cells.T

        self._each_group(X, find)

    def _each_group(self, X: Any, work: Any) -> None:
        """``work(first, hashes of the cells of X)`` for each group of grids, in threads: (grids, m), of the grids from
        ``first`` on."""
        from rffbench.linalg.bin_kernels import hash_rows, hash_sparse_rows

        sparse = issparse(X)
        if sparse and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        if not sparse and self.count >= MANY_GRIDS and np.count_nonzero(X) < WORTH_STORING * X.size:
            X, sparse = csr_array(X), True
        columns = None if sparse else np.array(X.T, order="C")

        def some(begin: int, end: int) -> None:
            hashes = np.empty((GROUP, X.shape[0]), np.uint64)
            for first in range(begin, end, GROUP):
                group = slice(first, min(first + GROUP, end))
                found = hashes[: group.stop - first]
                for grid, into in enumerate(found, first):
                    of_grid = self._per_pitch[grid], self._offsets[grid], self._multipliers
                    if sparse:
                        hash_sparse_rows(X.indptr, X.indices, X.data, *of_grid, into)
                    else:
                        hash_rows(columns, *of_grid, into)
                work(first, found)

        numbers = X.nnz + X.shape[1] if sparse else X.size
        in_threads(some, self.count, worthwhile=numbers * self.count > WORTH_A_THREAD)
