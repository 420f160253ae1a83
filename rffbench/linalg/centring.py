"""Columns of numbers far from 0: a point of theirs to subtract before anything is summed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def nearest_to_mean(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each column of ``rows`` (n, t) its number that is nearest to its mean: (t,).

    Differences from a number of the column lose no digit that the column has, unlike differences from its mean: at 10⁹
    float64 has seven decimals. So a column and the same column moved by an offset have the same differences.
    """
    moved = rows - rows[:1]
    at = np.abs(moved - moved.mean(axis=0)).argmin(axis=0)
    return np.asarray(rows[at, np.arange(rows.shape[1])], dtype=np.float64)
