"""Compiled code that rounds numbers at random to one of the two nearest levels."""

import numpy as np

from rffbench.linalg.compiled import compiled

ADDED = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@compiled()
def _uniform(state):
    """A number in [0, 1) from 64 bits, which are mixed first."""
    mixed = state + ADDED
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    return np.float64((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@compiled()
def round_rows(Z, rows, columns, limit, intervals):
    """Z[i, j] ← one of its two neighbours among the ``intervals`` + 1 levels −limit … limit, with the mean Z[i, j]. The
    uniform number of ``rows``[i] + ``columns``[j] chooses."""
    step = 2 * limit / intervals
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            level = np.floor((Z[i, j] + limit) / step + _uniform(rows[i] + columns[j]))
            Z[i, j] = min(max(level, 0.0), intervals) * step - limit
