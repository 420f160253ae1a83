"""Products of several random projections of a row, fused over tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.rowsource import dense_rows
from rffbench.linalg.hadamard import walsh_hadamard
from rffbench.linalg.threads import in_threads, side_by_side
from rffbench.linalg.trigonometric import TILE_BYTES, TILE_COLUMNS, WORTH_A_THREAD, Tiles, products


def projection_products(
    X: Any, W: NDArray, offset: NDArray, degrees: NDArray[np.int64], scale: NDArray, row_factors: NDArray,
    real: NDArray, imaginary: NDArray | None = None,
) -> None:  # fmt: skip
    """Write ``row_factors_i·scale_j·∏ (x_iᵀw + b)`` into ``real``, the product over the ``degrees_j`` w of column j.

    X is (n, d), an array or a CSR matrix, W (d, Σ degrees) has the columns' w one after another, offset is
    (Σ degrees,), real (n, columns), a view with a row stride allowed; all of one dtype. With ``imaginary``, w, b and
    the products are complex; real and imaginary parts alternate in W and offset.

    The projections of a tile of rows and columns are multiplied while they are in the cache.
    """
    parts = 1 if imaginary is None else 2
    starts = np.concatenate([[0], np.cumsum(degrees)])

    def project(rows: slice, projected: slice, out: NDArray) -> None:
        tiles(rows, projected, out)
        out += offset[projected]

    tiles, columns = products(X, W), _blocks(starts, TILE_COLUMNS // parts)
    _multiplied(project, columns, 0, X.shape[0], starts, scale, row_factors, real, imaginary)


def transformed_products(
    X: Any, signs: NDArray, constants: NDArray, places: NDArray[np.int64], degrees: NDArray[np.int64], scale: NDArray,
    row_factors: NDArray, real: NDArray, imaginary: NDArray | None = None,
) -> None:  # fmt: skip
    """`projection_products` with w that are rows of matrices H·D, H the Walsh–Hadamard matrix of order N.

    ``signs`` (parts, blocks, N) are the diagonals D, of complex ones real and imaginary parts. ``constants`` (parts,
    blocks) are appended to x if N > d, already times their signs. ``places`` (Σ degrees,) are the places of the
    projections among the blocks·N numbers of all blocks H·D·x. N·log₂N additions make N projections.
    """
    (parts, blocks, N), (n, d) = signs.shape, X.shape
    taken = np.add.outer(places, blocks * N * np.arange(parts)).ravel()
    starts, numbers = np.concatenate([[0], np.cumsum(degrees)]), parts * blocks * N

    def project(rows: slice, projected: slice, out: NDArray) -> None:
        x = dense_rows(X[rows])
        T = np.empty((len(x), parts * blocks, N), x.dtype)
        np.multiply(x[:, None, :], signs.reshape(-1, N)[:, :d], out=T[:, :, :d])
        T[:, :, d : d + 1] = constants.reshape(-1, 1)
        T[:, :, d + 1 :] = 0
        np.take(walsh_hadamard(T).reshape(len(x), numbers), taken, axis=1, out=out, mode="clip")

    _multiplied(project, [(0, len(degrees))], numbers, n, starts, scale, row_factors, real, imaginary)


def _multiplied(
    project: Tiles, blocks: list[tuple[int, int]], numbers: int, n: int, starts: NDArray[np.int64], scale: NDArray,
    row_factors: NDArray, real: NDArray, imaginary: NDArray | None,
) -> None:  # fmt: skip
    """Write the columns of each block: products of the projections that ``project`` writes. ``starts`` are the columns'
    first projections. ``project`` needs room for ``numbers`` more numbers per row."""
    from rffbench.linalg.product_kernels import complex_products, real_products

    parts = 1 if imaginary is None else 2
    widest = max((parts * int(starts[last] - starts[first]) for first, last in blocks), default=0)
    height = max(1, min(n, TILE_BYTES // (max(1, widest + numbers) * real.itemsize)))

    def fill_rows(begin: int, end: int) -> None:
        scratch = np.empty(height * widest, real.dtype)
        for first, last in blocks:
            projected, columns = slice(parts * starts[first], parts * starts[last]), slice(first, last)
            own_starts, width = starts[first : last + 1] - starts[first], projected.stop - projected.start
            for row in range(begin, end, height):
                rows = slice(row, min(end, row + height))
                T = scratch[: (rows.stop - row) * width].reshape(rows.stop - row, width)
                project(rows, projected, T)
                if imaginary is None:
                    real_products(T, own_starts, scale[columns], row_factors[rows], real[rows, columns])
                else:
                    into = real[rows, columns], imaginary[rows, columns]
                    complex_products(T, own_starts, scale[columns], row_factors[rows], *into)

    if n * int(starts[-1]) * real.itemsize > WORTH_A_THREAD:
        in_threads(fill_rows, n)
    elif n:
        side_by_side([lambda: fill_rows(0, n)])


def _blocks(starts: NDArray[np.int64], width: int) -> list[tuple[int, int]]:
    """Ranges (first, last) of columns with at most ``width`` projections together, or of one column."""
    blocks, first = [], 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + width, side="right")) - 1
        blocks.append((first, max(first + 1, last)))
        first = blocks[-1][1]
    return blocks
