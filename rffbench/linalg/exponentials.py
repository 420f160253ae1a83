"""Exponentials of X·W plus a number per row and per column, fused over tiles that fit a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.linalg.threads import in_threads, side_by_side
from rffbench.linalg.trigonometric import TILE_BYTES, TILE_COLUMNS, WORTH_A_THREAD, products


def exponential_columns(
    X: Any, W: NDArray, center: NDArray, of_rows: Callable[[slice], NDArray[np.float64]],
    of_columns: NDArray[np.float64], out: NDArray, mirrored: NDArray | None = None,
) -> None:  # fmt: skip
    """Write exp(rᵢ + cⱼ + tᵢⱼ) into ``out``, tᵢⱼ = xᵢᵀwⱼ − mⱼ, and exp(rᵢ + cⱼ − tᵢⱼ) into ``mirrored``.

    X is (n, d), an array or a CSR matrix, W (d, s), ``center`` m (s,), ``out`` and ``mirrored`` (n, s), views with a
    row stride allowed; all of one dtype, float32 or float64. ``of_rows(rows)`` gives r of these rows, ``of_columns`` is
    c (s,); these and their sums are float64. Exponentials that overflow are infinite.
    """
    from rffbench.linalg.exponential_kernels import add_exponents

    n, s = X.shape[0], W.shape[1]
    width = max(1, min(s, TILE_COLUMNS))
    height = max(1, min(n, TILE_BYTES // (width * out.itemsize)))
    tiles, into = products(X, W), [out] if mirrored is None else [out, mirrored]

    def fill_rows(begin: int, end: int) -> None:
        scratch, own = np.empty(height * width, out.dtype), of_rows(slice(begin, end))
        for first in range(0, s, width):
            block = slice(first, min(s, first + width))
            for row in range(begin, end, height):
                rows = slice(row, min(end, row + height))
                T = scratch[: (rows.stop - row) * (block.stop - first)].reshape(rows.stop - row, -1)
                tiles(rows, block, T)
                T -= center[block]
                for sign, columns in zip((1, -1), into, strict=False):
                    tile = columns[rows, block]
                    add_exponents(
                        own[row - begin : rows.stop - begin], of_columns[block], out.dtype.type(sign), T, tile
                    )
                    with np.errstate(over="ignore"):
                        np.exp(tile, out=tile)

    if n * s * out.itemsize > WORTH_A_THREAD:
        in_threads(fill_rows, n)
    elif n:
        side_by_side([lambda: fill_rows(0, n)])
