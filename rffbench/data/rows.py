"""A lazy view of some rows of a memory-mapped matrix, or of a stream, which are scaled when they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rffbench.arguments.rowsource import RowSource, clock, since
from rffbench.data import store
from rffbench.data.cards import Card
from rffbench.data.preprocess import Preprocessor
from rffbench.data.streams import Stream, shifted

BLOCK_ROWS = 8192


class Rows(RowSource):
    """The rows ``index`` of ``base`` (N, d), scaled block by block: an (n, d) array that is never in memory as a whole.

    ``rows[a:b]`` (step 1) and ``rows[integers]`` are ndarrays in C order with the ``dtype``; scaling is in float64.
    ``shape``, ``dtype``, ``ndim`` and ``len`` are as of an array. ``numpy.asarray(rows)`` is the whole matrix, for
    small ones. ``rows.part(slice)`` is a lazy view of some of them. ``seconds`` is the time of reading and scaling so
    far, which timings subtract. ``index`` is an array, or a range for a stream.

    With the ``card`` of ``base``, rows are small when they are pickled: the other process opens its own cache. Without
    a card, the whole ``base`` is pickled.
    """

    def __init__(
        self, base: np.ndarray | Stream, index: np.ndarray | range, preprocess: Preprocessor | None = None,
        dtype: Any = np.float64, card: Card | None = None,
    ) -> None:  # fmt: skip
        self.base, self.index, self.preprocess = base, index, preprocess
        self.dtype = np.dtype(dtype)
        columns = base.shape[1] if preprocess is None else preprocess.columns(base.shape[1])
        self.shape = (len(index), columns)
        self.seconds = 0.0
        self.card = card

    def part(self, rows: slice | np.ndarray) -> Rows:
        """A lazy view of some of the rows, in order; of a stream, of neighbours."""
        if not isinstance(self.index, range):
            return type(self)(self.base, self.index[rows], self.preprocess, self.dtype, self.card)
        index = self.index[rows if isinstance(rows, slice) else slice(int(rows[0]), int(rows[-1]) + 1)]
        if isinstance(self.base, Stream):
            base, index = self.base.part(index)
            return type(self)(base, index, self.preprocess, self.dtype, base.card)
        return type(self)(self.base, index, self.preprocess, self.dtype, self.card)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self.card is not None and isinstance(self.base, np.ndarray):
            del state["base"]
        return state

    def __getattr__(self, name: str) -> Any:
        """``base`` in another process, opened when it is needed; DataUnavailable if that process cannot get it."""
        if name != "base" or self.__dict__.get("card") is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        assert self.card is not None
        self.base = store.arrays_of(self.card).X
        return self.base

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
        start = clock()
        # Indexing by integers copies, and so does a stream; so the block may be scaled in place.
        chosen = shifted(self.index, rows) if isinstance(self.index, range) else self.index[rows]
        block = np.ascontiguousarray(self.base[chosen], dtype=np.float64)
        if self.preprocess is not None:
            block = self.preprocess.apply(block)
        block = block.astype(self.dtype, copy=False)
        self.seconds += since(start)
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
