"""The working set of a fully corrective method: functions, weights, and their values at the training points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rffbench.solvers.sparse.basis import Basis, Functions


class WorkingSet:
    """Functions of ``basis`` with their weights, and their values at the points of ``inputs``, [X | 1]ᵀ.

    The array of values has one row per function. It grows in place if the system can do that (realloc), so the peak of
    memory is the largest working set.
    """

    def __init__(self, basis: Basis, inputs: NDArray) -> None:
        self.basis, self.inputs = basis, inputs
        self.n = inputs.shape[1]
        self.functions = Functions(np.empty((0, len(inputs) - 1)), np.empty(0))
        self.names = np.empty(0, dtype=np.int64)
        self.weights = np.empty(0)
        self._values = np.empty((0, self.n), dtype=basis.column_dtype(inputs.dtype))

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def values(self) -> NDArray:
        """φ_j(x_i), (m, N): a view, invalid once the set changes."""
        return self._values[: len(self)]

    def add(self, functions: Functions, names: NDArray[np.int64], weights: NDArray[np.float64] | None = None) -> None:
        """Add ``functions``, with weight 0 unless ``weights`` are given; ``names`` identify them. ValueError if their
        values are not finite."""
        before, after = len(self), len(self) + len(names)
        if after > len(self._values):
            self._values.resize((after, self.n), refcheck=False)
        values = self._values[before:after]
        self.basis.evaluate(functions, self.inputs, values)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("numbers in X are so large that values of the drawn functions overflow; scale X first")
        self.functions = Functions.joined([self.functions, functions])
        self.names = np.concatenate([self.names, names])
        self.weights = np.concatenate([self.weights, np.zeros(len(names)) if weights is None else weights])

    def drop_zeros(self) -> NDArray[np.int64]:
        """Remove the functions with weight 0. Returns the positions of the others, sorted."""
        kept = np.flatnonzero(self.weights)
        for position, old in enumerate(kept):
            if position != old:
                self._values[position] = self._values[old]
        self.functions, self.names = self.functions.part(kept), self.names[kept]
        self.weights = self.weights[kept]
        return kept
