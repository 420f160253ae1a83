"""Exact kernels where K doesn't fit: rows of it on demand, and products with it that never store it. Compiled.

The points lie column-wise, X′ (d, n), so that the loop over points runs along memory and vectorises; a tile of
them and what is computed from it stay in a level-1 cache.
"""

from __future__ import annotations

from math import factorial, log

import numba
import numpy as np
from numpy.typing import NDArray

from rffbench.kernels import (
    CauchyKernel,
    GaussianKernel,
    Kernel,
    LaplacianKernel,
    PerceptronKernel,
    mean_abs_coordinate,
)
from rffbench.linalg import in_threads

TILE = 512  # points at a time
WORTH_A_THREAD = 1 << 20  # coordinates of differences: about a millisecond

# exp(x) = 2ⁿ·exp(r), n = round(x/ln 2), |r| ≤ ln(2)/2, by its power series; the first omitted term is below 1e-17.
_SERIES = tuple(1 / factorial(k) for k in range(14))
_PER_LN2 = 1 / log(2)
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # the first part short: n·part is exact
_ROUNDER = 1.5 * 2**52  # adding it leaves the nearest integer in the low bits
_LOWEST = -708.0  # exp of it is about the smallest normal number
_FORMS: dict[type[Kernel], int] = {GaussianKernel: 0, LaplacianKernel: 1, CauchyKernel: 2, PerceptronKernel: 3}


def kernel_rows(kernel: Kernel, columns: NDArray[np.float64], points: NDArray[np.float64], out: NDArray) -> None:
    """Write k(pᵢ, xⱼ) into ``out`` (m, n), float32 or float64, of ``points`` (m, d) and ``columns``, X′ (d, n)."""
    form, factor = _FORMS[type(kernel)], _factor(kernel, len(columns))
    n = columns.shape[1]
    tiles = -(-n // TILE)

    def fill(first: int, last: int) -> None:
        _fill_rows(form, factor, columns, points, first * TILE, min(n, last * TILE), out)

    in_threads(fill, tiles, worthwhile=columns.size * len(points) > WORTH_A_THREAD)


def kernel_product(
    kernel: Kernel, columns: NDArray[np.float64], coefficients: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σⱼ k(pᵢ, xⱼ)·cⱼ, (m, t), of ``points`` (m, d), ``columns``, X′ (d, n), and ``coefficients`` (n, t)."""
    form, factor = _FORMS[type(kernel)], _factor(kernel, len(columns))
    transposed = np.ascontiguousarray(coefficients.T)
    out = np.zeros((len(points), len(transposed)))

    def add(first: int, last: int) -> None:
        _add_products(form, factor, columns, transposed, points, first, last, out)

    in_threads(add, len(points), worthwhile=columns.size * len(points) > WORTH_A_THREAD)
    return out


def _factor(kernel: Kernel, d: int) -> float:
    """What a distance (its square, for cauchy a coordinate's) is multiplied by."""
    if isinstance(kernel, PerceptronKernel):
        return -mean_abs_coordinate(d) * kernel.gamma
    return kernel.gamma if isinstance(kernel, CauchyKernel) else -kernel.gamma


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "nnan"})
def _tile(form, factor, columns, start, size, point, values, scratch):
    """values ← k(point, x_j) for the ``size`` columns from ``start`` on."""
    for k in range(size):
        values[k] = 1.0 if form == 2 else 0.0
    for j in range(len(point)):
        x = point[j]
        column = columns[j, start : start + size]
        if form == 1:
            for k in range(size):
                values[k] += abs(column[k] - x)
        elif form == 2:
            for k in range(size):
                difference = column[k] - x
                values[k] *= 1.0 + factor * (difference * difference)
        else:
            for k in range(size):
                difference = column[k] - x
                values[k] += difference * difference
    if form == 2:
        for k in range(size):
            values[k] = 1.0 / values[k]
    elif form == 3:
        for k in range(size):
            values[k] = 1.0 + factor * np.sqrt(values[k])
    else:
        for k in range(size):
            x = max(factor * values[k], _LOWEST)
            shifted = x * _PER_LN2 + _ROUNDER
            n = shifted - _ROUNDER
            r = (x - n * _LN2[0]) - n * _LN2[1]
            p = _SERIES[13]
            for term in range(12, -1, -1):
                p = p * r + _SERIES[term]
            values[k] = p
            scratch[k] = shifted
        bits = scratch.view(np.int64)
        for k in range(size):
            bits[k] = (bits[k] + 1023) << 52  # the number 2ⁿ
        for k in range(size):
            values[k] *= scratch[k]


@numba.njit(nogil=True, cache=True)
def _fill_rows(form, factor, columns, points, first, last, out):
    """Columns first…last−1 of ``out``."""
    values, scratch = np.empty(TILE), np.empty(TILE)
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        for i in range(len(points)):
            _tile(form, factor, columns, start, size, points[i], values, scratch)
            row = out[i, start : start + size]
            for k in range(size):
                row[k] = values[k]


@numba.njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def _add_products(form, factor, columns, coefficients, points, first, last, out):
    """Rows first…last−1 of ``out``."""
    n = columns.shape[1]
    values, scratch = np.empty(TILE), np.empty(TILE)
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for i in range(first, last):
            _tile(form, factor, columns, start, size, points[i], values, scratch)
            for t in range(len(coefficients)):
                weights = coefficients[t, start : start + size]
                total = 0.0
                for k in range(size):
                    total += values[k] * weights[k]
                out[i, t] += total
