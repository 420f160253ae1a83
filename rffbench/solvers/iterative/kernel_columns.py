"""Columns of the kernel matrix, those of landmarks, as if they were features; and which rows are landmarks."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from rffbench.kernels import Kernel
from rffbench.kernels.bandwidth import chosen_rows
from rffbench.linalg.kernel_rows import kernel_rows
from rffbench.seeds import generator

Rule = Literal["uniform"]
RULES: tuple[Rule, ...] = get_args(Rule)


class KernelColumns:
    """k(x, lⱼ) of rows x and ``points`` l (m, d)."""

    def __init__(self, kernel: Kernel, points: NDArray[np.float64]) -> None:
        self._kernel = kernel
        self._columns = np.ascontiguousarray(kernel.scaled(points).T)

    def fill(self, X: NDArray, out: NDArray) -> None:
        """Write k(X, l), (n, m), into ``out``, of X's dtype."""
        rows = np.ascontiguousarray(self._kernel.scaled(X))
        kernel_rows(self._kernel.without_lengths(), self._columns.astype(X.dtype, copy=False), rows, out)


def choose_landmarks(
    rule: Rule, kernel: Kernel, X: Any, count: int, sequence: SeedSequence
) -> NDArray[np.float64]:  # fmt: skip
    """``count`` of the rows X (n, d) by a ``rule``: (count, d) float64. 'uniform': without replacement."""
    index = np.sort(generator(sequence, "landmarks").choice(X.shape[0], count, replace=False))
    return chosen_rows(X, index).astype(np.float64)
