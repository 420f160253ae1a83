"""The nearest of many points for each row, and the sums of the rows that are nearest to the same point."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from rffbench.kernels.base import squared_lengths
from rffbench.linalg.threads import side_by_side

TILE_NUMBERS = 1 << 18  # products of a tile, which stay in a level-2 cache


def nearest(X: NDArray, points: NDArray) -> tuple[NDArray[np.int64], NDArray]:
    """For each row of X (n, d) the number of the nearest of the ``points`` (m, d), (n,), and the squared
    distance to it, (n,), 0 or more; all of one dtype, float64 or float32.

    min_j ‖c_j‖² − 2·xᵀc_j is taken of tiles of a product while they are in the cache; a distance has a rounding error
    of about ε·‖x‖². Tiles do not depend on the number of threads, so neither does what is found.
    """
    from rffbench.linalg.nearest_kernels import least_of_rows

    n, m = len(X), len(points)
    W, squares = np.ascontiguousarray(-2 * points.T), squared_lengths(points)
    labels, least = np.empty(n, np.int64), np.empty(n, X.dtype)
    height = max(1, TILE_NUMBERS // m)

    def tile(first: int) -> None:
        rows = slice(first, min(first + height, n))
        least_of_rows(X[rows] @ W, squares, labels[rows], least[rows])

    side_by_side([partial(tile, first) for first in range(0, n, height)])
    least += squared_lengths(X)
    return labels, np.maximum(least, 0, out=least)


def sums_by_point(X: NDArray, labels: NDArray[np.int64], count: int) -> tuple[NDArray, NDArray[np.int64]]:
    """The sums (count, d), float64, of the rows of X (n, d) with each label, and how many they are, (count,)."""
    from rffbench.linalg.nearest_kernels import add_rows

    sums, counts = np.zeros((count, X.shape[1])), np.zeros(count, np.int64)
    add_rows(X, labels, sums, counts)
    return sums, counts
