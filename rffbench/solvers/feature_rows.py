"""The features of the training rows for solvers that pass over them many times, held or mapped again in each pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse

from rffbench.arguments.rowsource import Stopwatch
from rffbench.features.base import check_finite, mapped
from rffbench.features.hooks import hook, makes_sparse
from rffbench.solvers.base import checked_rows


class FeatureRows:
    """The rows of Z (n, p): the features of X and, if ``bias`` is not 0, a constant column of that value.

    With ``hold``, Z is mapped once and kept, in X's dtype; else ``block_rows`` rows are mapped at a time, again in each
    pass. Sparse features, and a CSR matrix X without features, are always held. Row i of Z, constant included, is
    multiplied by ``factors`` (n,). ``feature_s`` is the time of mapping each row once, the mean over passes, without
    the time in which a lazy X fetched its rows. Further passes count as the solver's time.
    """

    def __init__(
        self, X: Any, features: Any, columns: int, bias: float, *, hold: bool, block_rows: int,
        factors: NDArray[np.float64] | None = None,
    ) -> None:  # fmt: skip
        self.n, self.p = X.shape[0], columns + (bias != 0)
        self._X, self.features, self._columns = X, features, columns
        self._block_rows = min(self.n, block_rows)
        self._mapping, self._mapped, self.passes = Stopwatch(X), 0, 0
        self._held: Any = None
        self._bias, self._factors = bias, None if factors is None else factors.astype(X.dtype)
        if makes_sparse(features) or (features is None and issparse(X)):
            Z = self._sparse()
            constant = csr_array(np.full((self.n, self.p - columns), bias, dtype=X.dtype))
            self._held = hstack([Z, constant], format="csr") if bias else Z
            if self._factors is not None:
                self._held = self._held if bias else Z.copy()
                self._held.data *= np.repeat(self._factors, np.diff(self._held.indptr))
            return
        buffer = np.empty((self.n if hold else self._block_rows, self.p), dtype=X.dtype)
        buffer[:, columns:] = bias
        if hold:
            for start in range(0, self.n, self._block_rows):
                block = slice(start, min(self.n, start + self._block_rows))
                self._map(block, slice(None), buffer[block])
            self._held = buffer
        self._buffer = buffer

    def _sparse(self) -> Any:
        if self.features is None:
            return self._X
        self._mapped += self.n
        with self._mapping:
            Z = mapped(self.features, self._X, self._columns)
        check_finite(self.features, Z)
        return Z

    def _map(self, block: slice, chosen: Any, out: NDArray) -> None:
        self._mapped += len(out)
        with self._mapping:
            rows = checked_rows(self._X, block)[chosen]
            target = out[:, : self._columns]
            if self.features is None:
                target[:] = rows
            elif hook(self.features, "fill") is not None:
                self.features.fill(rows if issparse(rows) else np.ascontiguousarray(rows), target)
            else:
                target[:] = mapped(self.features, rows, self._columns)
            if self._factors is not None:
                out[:, self._columns :] = self._bias
                out *= self._factors[block][chosen][:, None]
        check_finite(self.features, target)

    @property
    def sparse(self) -> bool:
        """Whether Z is a CSR matrix."""
        return issparse(self._held)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of Z."""
        return np.dtype((self._buffer if self._held is None else self._held).dtype)

    @property
    def feature_s(self) -> float:
        return self._mapping.seconds * min(1.0, self.n / max(self._mapped, 1))

    def visit(self, rows: NDArray[np.int64]) -> Iterator[tuple[slice, Any, NDArray[np.int64]]]:
        """One pass over ``rows`` (sorted). Yields for each part its slice of ``rows``, a block of Z, an array or a CSR
        matrix, and the places of these rows in the block."""
        self.passes += 1
        if self._held is not None:
            yield slice(0, len(rows)), self._held, rows
            return
        for start in range(0, self.n, self._block_rows):
            stop = min(self.n, start + self._block_rows)
            first, last = np.searchsorted(rows, (start, stop))
            if first < last:
                Z = self._buffer[: last - first]
                self._map(slice(start, stop), rows[first:last] - start, Z)
                yield slice(first, last), Z, np.arange(last - first)

    def sample(self, size: int) -> NDArray[np.int64]:
        """At least ``size`` row numbers, in whole blocks spread evenly over all rows."""
        blocks = -(-self.n // self._block_rows)
        chosen = min(blocks, -(-size // self._block_rows))
        starts = np.arange(chosen) * blocks // chosen * self._block_rows
        rows = (starts[:, None] + np.arange(self._block_rows)).ravel()
        return rows[rows < self.n]
