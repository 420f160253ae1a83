"""The compiled part of `nearest`."""

import numpy as np

from rffbench.linalg.compiled import compiled

LANES = 64  # running minima of a row, each of every 64th number: a compiler makes vector instructions of their loop


@compiled()
def least_of_rows(T, squares, labels, least):
    """least[i] ← min_j of T[i, j] + squares[j], and labels[i] ← such a j. Of a row of NaN it is ∞, and any j."""
    n, m = T.shape
    lows, whole = np.empty(LANES, T.dtype), m - m % LANES
    for i in range(n):
        row = T[i]
        lows[:] = np.inf
        for start in range(0, whole, LANES):
            products, added = row[start : start + LANES], squares[start : start + LANES]
            for lane in range(LANES):
                own = products[lane] + added[lane]
                lows[lane] = own if own < lows[lane] else lows[lane]
        at = int(lows.argmin())
        low = lows[at]
        while at + LANES < whole and row[at] + squares[at] != low:
            at += LANES
        for j in range(whole, m):
            own = row[j] + squares[j]
            if own < low:
                low, at = own, j
        labels[i], least[i] = at, low


@compiled()
def add_rows(X, labels, sums, counts):
    """Add each row X[i] to sums[labels[i]], and 1 to counts[labels[i]]; in the order of the rows."""
    for i in range(len(X)):
        k = labels[i]
        counts[k] += 1
        for j in range(X.shape[1]):
            sums[k, j] += X[i, j]
