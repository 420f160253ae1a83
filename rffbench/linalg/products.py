"""Products of several random projections of a row, fused over tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.linalg.threads import in_threads, side_by_side
from rffbench.linalg.trigonometric import TILE_BYTES, TILE_COLUMNS, WORTH_A_THREAD


def projection_products(
    X: Any, W: NDArray, offset: NDArray, degrees: NDArray[np.int64], scale: NDArray, row_factors: NDArray,
    real: NDArray, imaginary: NDArray | None = None,
) -> None:  # fmt: skip
    """Write ``row_factors_i·scale_j·∏ (x_iᵀw + b)`` into ``real``, the product over column j's own ``degrees_j`` w.

    X is (n, d), an array or a CSR matrix, W (d, Σ degrees) has the columns' w one after another, offset is
    (Σ degrees,), real (n, columns), a view with a row stride allowed; all of one dtype. With ``imaginary`` the w and b
    are complex, the real part and the imaginary part side by side in W and offset, and so are the products.

    The projections of a tile of rows and columns are multiplied while they are in the cache.
    """
    from rffbench.linalg.product_kernels import complex_products, real_products

    n, parts = X.shape[0], 1 if imaginary is None else 2
    starts = np.concatenate([[0], np.cumsum(degrees)])
    blocks = _blocks(starts, TILE_COLUMNS // parts)
    widest = max(1, parts * max(int(starts[last] - starts[first]) for first, last in blocks))
    height = max(1, TILE_BYTES // (widest * real.itemsize))

    def fill_rows(begin: int, end: int) -> None:
        for first, last in blocks:
            projected = slice(parts * starts[first], parts * starts[last])
            W_block, offset_block, columns = W[:, projected], offset[projected], slice(first, last)
            own_starts, own_scale = starts[first : last + 1] - starts[first], scale[columns]
            for row in range(begin, end, height):
                rows = slice(row, min(end, row + height))
                T = X[rows] @ W_block
                T += offset_block
                if imaginary is None:
                    real_products(T, own_starts, own_scale, row_factors[rows], real[rows, columns])
                else:
                    into = real[rows, columns], imaginary[rows, columns]
                    complex_products(T, own_starts, own_scale, row_factors[rows], *into)

    if n * int(starts[-1]) * real.itemsize > WORTH_A_THREAD:
        in_threads(fill_rows, n)
    elif n:
        side_by_side([lambda: fill_rows(0, n)])


def _blocks(starts: NDArray[np.int64], width: int) -> list[tuple[int, int]]:
    """Whole columns, from the first to before the last of each pair, that have ``width`` projections, or one column."""
    blocks, first = [], 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + width, side="right")) - 1
        blocks.append((first, max(first + 1, last)))
        first = blocks[-1][1]
    return blocks
