"""Products with ZZᵀ for a sparse matrix Z of many columns, in tiles of columns."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.linalg.threads import side_by_side

WORTH_TILES = 1 << 22  # bytes of ZᵀV from which on tiles are faster: it leaves the cache of a processor
TILE_BYTES = 1 << 17  # of ZᵀV for a tile
PARTS = 4  # sums of tiles that are added at the end; fixed, so that results do not depend on the threads


class RowGram:
    """ZZᵀ (n, n) for a sparse Z (n, p), for many products in float64. If ZᵀV is large, it takes 8 bytes for each entry
    of Z, or 16 if they are not all the same number; else it keeps Z.

    A tile Z_k is some columns of Z, and ZZᵀV is the sum of Z_k(Z_kᵀV). All of ZᵀV (p, t) would be much larger than V
    (n, t), and moved between memory and cache in each product. A tile's entries are sorted by row. The columns of
    random binning are in the order of its grids, so a tile reads V and writes the product from the first row to the
    last.
    """

    def __init__(self, Z: Any, vectors: int = 1) -> None:
        """Z is a CSR matrix; ``vectors``: the usual number of columns of V."""
        self.shape = Z.shape
        self._small = Z if 8 * Z.shape[1] * vectors < WORTH_TILES else None
        if self._small is not None:
            return
        from rffbench.linalg.row_gram_kernels import sort_by_tile

        entries, same = Z.nnz, Z.nnz > 0 and bool((Z.data == Z.data[0]).all())
        self._width = max(1, TILE_BYTES // (8 * vectors))
        self._tiles = -(-Z.shape[1] // self._width)
        ends = np.cumsum(np.bincount(Z.indices // self._width, minlength=self._tiles))
        self._bounds, places = np.append(0, ends), np.append(0, ends[:-1])
        self._rows, self._columns = np.empty(entries, np.int32), np.empty(entries, np.int32)
        self._values = np.empty(0 if same else entries)
        sort_by_tile(
            Z.indptr, Z.indices, Z.data, self._width, places, self._rows, self._columns, self._values
        )  # fmt: skip
        if same:
            self._values = np.broadcast_to(np.float64(Z.data[0]), entries)

    def times(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """ZZᵀV for V (n, t)."""
        if self._small is not None:
            product: NDArray[np.float64] = self._small @ self.transposed_times(V)
            return product
        from rffbench.linalg.row_gram_kernels import add_product

        V = np.ascontiguousarray(V, dtype=np.float64)
        totals = np.zeros((max(1, min(PARTS, self._tiles)), *V.shape))

        def add(part: int, first: int, last: int) -> None:
            sums = np.empty((self._width, V.shape[1]))
            for tile in range(first, last):
                self._transposed_times(tile, V, sums)
                some = self._entries(tile)
                add_product(self._rows[some], self._columns[some], self._values[some], sums, totals[part])

        shares = pairwise(np.linspace(0, self._tiles, len(totals) + 1).astype(int).tolist())
        side_by_side([partial(add, part, *share) for part, share in enumerate(shares)])
        total: NDArray[np.float64] = totals.sum(axis=0)
        return total

    def transposed_times(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """ZᵀV (p, t) for V (n, t)."""
        if self._small is not None:
            product: NDArray[np.float64] = self._small.T @ V
            return product
        V = np.ascontiguousarray(V, dtype=np.float64)
        out = np.empty((self.shape[1], V.shape[1]))
        for tile in range(self._tiles):  # in one thread: new memory takes most of the time
            self._transposed_times(tile, V, out[tile * self._width : (tile + 1) * self._width])
        return out

    def _transposed_times(self, tile: int, V: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """out ← Z_kᵀV."""
        from rffbench.linalg.row_gram_kernels import add_product

        out[:] = 0
        some = self._entries(tile)
        add_product(self._columns[some], self._rows[some], self._values[some], V, out)

    def _entries(self, tile: int) -> slice:
        return slice(self._bounds[tile], self._bounds[tile + 1])
