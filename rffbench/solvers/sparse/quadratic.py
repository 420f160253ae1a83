"""The quadratic subproblem of ℓ1-penalised least squares: its Gram matrix, updated step by step, and its minimum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rffbench.linalg.compiled import compiled

BLOCK_ELEMENTS = 1 << 21  # features are gathered in float64 blocks of about this many numbers (16 MB)
SWEEPS_A_SUPPORT_STEP = 10
MOST_SUPPORT_STEPS = 50
JITTER = 1e-12  # share of the diagonal that is added to it, because columns may be equal


class RowGram:
    """ZZᵀ for some features (rows of Z) over some of the N points, updated when either set changes.

    Between two steps of a descent, few points and features change. Only these are multiplied, by BLAS, in float64 for
    every dtype of Z.
    """

    def __init__(self, n: int) -> None:
        self.features = np.empty(0, dtype=np.int64)
        self.points = np.zeros(n, dtype=bool)
        self.matrix = np.empty((0, 0))

    @staticmethod
    def bytes_needed(features: int) -> int:
        """The most bytes in use for this number of features: the old and the new matrix, a factor, and blocks."""
        return 8 * (3 * features**2 + 2 * BLOCK_ELEMENTS)

    def update(self, Z: NDArray, features: NDArray[np.int64], points: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The Gram matrix (m, m) of the rows ``features`` (sorted) of Z over the ``points`` (a mask)."""
        come, gone = points & ~self.points, self.points & ~points
        if 2 * (np.count_nonzero(come) + np.count_nonzero(gone)) > np.count_nonzero(points):
            self.features = self.features[:0]  # starting afresh is less work
        kept, before, now = np.intersect1d(self.features, features, assume_unique=True, return_indices=True)
        matrix = np.empty((len(features), len(features)))
        if len(kept):
            common = self.matrix[np.ix_(before, before)]
            for changed, sign in ((come, 1), (gone, -1)):
                for block in _gathered(Z, kept, np.flatnonzero(changed)):
                    common += sign * (block @ block.T)
            matrix[np.ix_(now, now)] = common
        added = np.setdiff1d(np.arange(len(features)), now, assume_unique=True)
        if len(added):
            products = np.zeros((len(added), len(features)))
            for block in _gathered(Z, features, np.flatnonzero(points)):
                products += block[added] @ block.T
            matrix[added] = products
            matrix[:, added] = products.T
        self.features, self.points, self.matrix = features, points, matrix
        return matrix

    def renumber(self, kept: NDArray[np.int64]) -> None:
        """Adapt to a Z of which only the rows ``kept`` (sorted) are left, as rows 0, 1, …"""
        here = np.isin(self.features, kept)
        self.matrix = self.matrix[np.ix_(here, here)]
        self.features = np.searchsorted(kept, self.features[here])


def minimise_quadratic(
    H: NDArray[np.float64], gradient: NDArray[np.float64], w: NDArray[np.float64], penalty: float,
    tol: float, rng: Generator,
) -> NDArray[np.float64]:  # fmt: skip
    """The v that minimises gᵀ(v − w) + ½(v − w)ᵀH(v − w) + λ‖v‖₁, starting at w; a new array (m,).

    Sweeps minimise exactly over one coordinate after another, in a new random order each, until the largest change of
    slope in a sweep is at most ``tol``. Random features are so similar that sweeps alone would take 1e4: after every
    few sweeps there is a Newton step on the support, along which weights that reach 0 stay 0 (as in the feature-sign
    search of H. Lee et al., "Efficient sparse coding algorithms", NIPS 2006).
    """
    v, slope = w.copy(), gradient.copy()
    curvature = H.diagonal() * (1 + JITTER) + np.finfo(float).tiny
    for _ in range(MOST_SUPPORT_STEPS):
        for _ in range(SWEEPS_A_SUPPORT_STEP):
            if _sweep(H, curvature, slope, v, rng.permutation(len(v)), penalty) <= tol:
                return v
        change = _support_step(H, curvature, slope, v, penalty)
        v += change
        slope += H @ change
    return v


def _support_step(H: NDArray, curvature: NDArray, slope: NDArray, v: NDArray, penalty: float) -> NDArray[np.float64]:
    """The change (m,) of v along the Newton step on its support, with signs kept, up to the first minimum."""
    change = np.zeros_like(v)
    support = np.flatnonzero(v)
    within = H[np.ix_(support, support)]
    within[np.diag_indices(len(support))] = curvature[support]
    ascent = slope[support] + penalty * np.sign(v[support])
    try:
        factor = cho_factor(within, check_finite=False)
    except LinAlgError:  # equal features and rounding; sweeps continue
        return change
    step = -cho_solve(factor, ascent, check_finite=False)
    change[support] = _bent(within, within @ step, v[support], ascent, step)
    return change


@compiled()
def _bent(H, bend, v, gradient, step):
    """The change of v along ``step`` up to the first minimum; weights that reach 0 stay 0.

    ``gradient`` is the model's at v, and ``bend`` = H·step is its change along the step; both are overwritten.
    """
    m = len(v)
    until_zero = np.full(m, np.inf)
    for j in range(m):
        if v[j] * step[j] < 0:
            until_zero[j] = -v[j] / step[j]
    order = np.argsort(until_zero)
    change = np.zeros(m)
    here = 0.0
    for k in range(m + 1):
        slope, curvature = 0.0, 0.0
        for j in range(m):
            slope += gradient[j] * step[j]
            curvature += bend[j] * step[j]
        if slope >= 0 or curvature <= 0:
            break
        stretch = until_zero[order[k]] - here if k < m else np.inf
        if -slope / curvature <= stretch:
            for j in range(m):
                change[j] -= slope / curvature * step[j]
            break
        for j in range(m):
            change[j] += stretch * step[j]
            gradient[j] += stretch * bend[j]
        gone = order[k]
        here = until_zero[gone]
        change[gone] = -v[gone]
        for j in range(m):
            bend[j] -= step[gone] * H[gone, j]
        step[gone] = 0.0
    return change


def _gathered(Z: NDArray, features: NDArray, points: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    """Blocks of Z[features][:, points] as float64; each overwrites the one before."""
    size = max(64, BLOCK_ELEMENTS // max(1, len(features)))
    buffer = np.empty((len(features), min(size, len(points))))
    for start in range(0, len(points), size):
        block = buffer[:, : min(size, len(points) - start)]
        _gather(Z, features, points[start : start + size], block)
        yield block


@compiled()
def _gather(Z, features, points, block):
    for row in range(len(features)):
        z, out = Z[features[row]], block[row]
        for k in range(len(points)):
            out[k] = z[points[k]]


@compiled()
def _sweep(H, curvature, slope, v, order, penalty):
    """Minimise over each coordinate in turn. Returns the largest change of slope."""
    largest = 0.0
    for j in order:
        target = v[j] - slope[j] / curvature[j]
        after = np.sign(target) * max(0.0, abs(target) - penalty / curvature[j])
        change = after - v[j]
        if change != 0.0:
            largest = max(largest, abs(change) * curvature[j])
            v[j] = after
            row = H[j]
            for k in range(len(slope)):
                slope[k] += change * row[k]
    return largest
