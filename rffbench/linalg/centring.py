"""Columns of numbers far from 0: a point of theirs to subtract before anything is summed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def origin_of(rows: NDArray[np.float64], far: float = 0.0) -> NDArray[np.float64]:
    """The number of each column of ``rows`` (n, t) that is nearest to the column's mean, (t,); 0 for one no more than
    ``far`` standard deviations from 0.

    Differences from a number of the column lose no digit that the column has, unlike differences from its mean: at 10⁹
    float64 has seven decimals. So a column and the same column moved by an offset have the same differences.
    """
    moved = rows - rows[:1]
    mean = moved.mean(axis=0)
    at = np.abs(moved - mean).argmin(axis=0)
    nearest = rows[at, np.arange(rows.shape[1])]
    return np.where(np.abs(nearest) > far * moved.std(axis=0), nearest, 0.0)
