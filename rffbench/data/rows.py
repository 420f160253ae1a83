"""A view of chosen rows of a memory-mapped matrix, scaled as they are fetched."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from rffbench.data.preprocess import Preprocessor

BLOCK_ROWS = 8192


class Rows:
    """The rows ``index`` of ``base`` (N, d), scaled block by block: an (n, d) array that is never in memory as a whole.

    ``rows[a:b]`` (step 1) and ``rows[integers]`` give ndarrays in C order and of ``dtype``; scaling is done
    in float64. ``shape``, ``dtype``, ``ndim`` and ``len`` are an array's. ``numpy.asarray(rows)`` makes the
    whole matrix, which is only for small ones. ``seconds`` is the time spent fetching and scaling so far,
    for a stopwatch to leave out.
    """

    ndim = 2

    def __init__(
        self,
        base: np.ndarray,
        index: np.ndarray,
        preprocess: Preprocessor | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self.base, self.index, self.preprocess = base, index, preprocess
        self.dtype = np.dtype(dtype)
        self.shape = (len(index), base.shape[1])
        self.seconds = 0.0

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        if isinstance(rows, slice):
            if rows.step not in (None, 1):
                raise IndexError(f"Rows gives slices of step 1 only, got step {rows.step}")
        else:
            rows = np.asarray(rows)
            if rows.ndim != 1 or rows.dtype.kind not in "iu":
                raise IndexError("Rows takes slices and 1-D arrays of integers; numpy.asarray(rows) takes the rest")
        start = perf_counter()
        # Indexing by integers copies, so the block may be scaled in place.
        block = np.ascontiguousarray(self.base[self.index[rows]], dtype=np.float64)
        if self.preprocess is not None:
            self.preprocess.apply(block)
        block = block.astype(self.dtype, copy=False)
        self.seconds += perf_counter() - start
        return block

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[np.ndarray]:
        """All rows in order, in blocks of at most ``size``."""
        for start in range(0, len(self), size):
            yield self[start : start + size]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("Rows is a view of scaled rows; an array of it is always a copy")
        return self[:].astype(dtype or self.dtype, copy=False)

    def __repr__(self) -> str:
        return f"Rows(shape={self.shape}, dtype={self.dtype})"
