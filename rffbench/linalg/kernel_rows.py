"""Rows of an exact kernel matrix K on demand, and products with K, for K that does not fit in memory. Compiled.

Points are columns, X′ (d, n), so that loops over points run along memory and vectorise. A tile of them and its kernel
values stay in a level-2 cache. Values have the precision of X′.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import factorial, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffbench.kernels import Form, Kernel
from rffbench.linalg.compiled import compiled
from rffbench.linalg.threads import in_threads

TILE = 1024  # columns at a time
GROUP = 4  # points at a time
BLOCK_NUMBERS = 1 << 21  # values at a time if the kernel is not compiled: 17 MB
WORTH_A_THREAD = 1 << 20  # coordinates of differences: about a millisecond
FARTHEST = 1e18  # largest coordinate, so that squared differences are finite in single precision
ABSOLUTES, PRODUCT, ROOT = int(Form.EXP_ABSOLUTES), int(Form.INVERSE_PRODUCT), int(Form.LINEAR_IN_ROOT)


class _Exponential(NamedTuple):
    """exp(x) = 2ⁿ·exp(r), n = round(x/ln 2), |r| ≤ ln(2)/2, by a power series to working precision."""

    one: np.floating
    per_ln2: np.floating
    rounder: np.floating  # adding it leaves the nearest integer in the low bits
    lowest: np.floating  # its exp is about the smallest normal number
    ln2: tuple[np.floating, np.floating]  # the first part is short, so that n·part is exact
    series: tuple[np.floating, ...]
    bias: np.signedinteger
    shift: np.signedinteger


@cache
def _exponential(dtype: str) -> _Exponential:
    double = dtype == "float64"
    number, integer = np.dtype(dtype).type, np.int64 if double else np.int32
    mantissa, most, lowest, terms = (52, 1023, -708.0, 14) if double else (23, 127, -87.0, 9)
    ln2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10) if double else (0.693359375, -2.12194440e-4)
    return _Exponential(
        number(1), number(1 / log(2)), number(1.5 * 2**mantissa), number(lowest), (number(ln2[0]), number(ln2[1])),
        tuple(number(1 / factorial(k)) for k in range(terms)), integer(most), integer(mantissa),
    )  # fmt: skip


def unit_columns(kernel: Kernel, X: NDArray[np.float64]) -> tuple[Kernel, NDArray[np.float32]]:
    """A kernel without ``lengths`` and points X′ (d, n), float32, on which it equals ``kernel`` on X (n, d).

    If the kernel depends on differences, X′ is centred and the kernel has γ = 1: values of k have errors of about 1e-7.
    """
    if not kernel.of_differences:
        return kernel.without_lengths(), np.ascontiguousarray(kernel.scaled(X).T, np.float32)
    scale = kernel.unit_scale
    columns = np.empty((X.shape[1], len(X)), np.float32)
    for j, column in enumerate(kernel.scaled(X).T):
        columns[j] = np.clip((column - column.mean()) * scale, -FARTHEST, FARTHEST)
    return kernel.without_lengths().with_gamma(1.0), columns


def kernel_rows(kernel: Kernel, columns: NDArray, points: NDArray, out: NDArray) -> None:
    """Write k(pᵢ, xⱼ) into ``out`` (m, n), float32 or float64, for ``points`` (m, d) and ``columns``, X′ (d, n)."""
    if not _is_compiled(kernel, columns):
        for block, values in _blocks(kernel, columns, points):
            out[:, block] = values
        return
    form, factor, exp = _compiled_form(kernel, columns)
    n = columns.shape[1]

    def fill(first: int, last: int) -> None:
        _fill_rows(form, factor, exp, *_tile_space(columns), columns, points, first * TILE, min(n, last * TILE), out)

    in_threads(fill, -(-n // TILE), worthwhile=columns.size * len(points) > WORTH_A_THREAD)


def fill_points(kernel: Kernel, columns: NDArray, points: NDArray, out: NDArray) -> None:
    """`kernel_rows` of a compiled kernel in one thread, for callers that divide the points among threads."""
    form, factor, exp = _compiled_form(kernel, columns)
    _fill_rows(form, factor, exp, *_tile_space(columns), columns, points, 0, columns.shape[1], out)


def add_kernel_rows(
    kernel: Kernel, columns: NDArray, points: NDArray, weights: NDArray[np.float64], rows: NDArray,
    slots: NDArray[np.int64], sums: NDArray[np.float64],
) -> None:  # fmt: skip
    """``sums`` (n,) += Σᵢ wᵢk(pᵢ, ·), for ``points`` (m, d) and ``columns``, X′ (d, n).

    Row i is also written into ``rows[slots[i]]`` unless ``slots[i]`` is negative. Sums do not depend on the number of
    threads.
    """
    if not _is_compiled(kernel, columns):
        for block, values in _blocks(kernel, columns, points):
            sums[block] += weights @ values
            rows[slots[slots >= 0], block] = values[slots >= 0]
        return
    form, factor, exp = _compiled_form(kernel, columns)
    n = columns.shape[1]

    def add(first: int, last: int) -> None:
        space, end = _tile_space(columns), min(n, last * TILE)
        _add_rows(form, factor, exp, *space, columns, points, weights, first * TILE, end, rows, slots, sums)

    in_threads(add, -(-n // TILE), worthwhile=columns.size * len(points) > WORTH_A_THREAD)


def add_known_rows(
    rows: NDArray, slots: NDArray[np.int64], weights: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """``sums`` (n,) += Σᵢ wᵢ·``rows[slots[i]]``."""
    n = len(sums)

    def add(first: int, last: int) -> None:
        _add_known_rows(rows, slots, weights, first * TILE, min(n, last * TILE), sums)

    in_threads(add, -(-n // TILE), worthwhile=n * len(slots) > WORTH_A_THREAD)


def kernel_product(
    kernel: Kernel, columns: NDArray, coefficients: NDArray[np.float64], points: NDArray
) -> NDArray[np.float64]:
    """Σⱼ k(pᵢ, xⱼ)·cⱼ, (m, t), for ``points`` (m, d), ``columns``, X′ (d, n), and ``coefficients`` (n, t). ``kernel``
    may have ``lengths``."""
    if kernel.lengths is not None:
        columns, points = kernel.fold(columns.copy()), kernel.scaled(points)
        kernel = kernel.without_lengths()
    if not _is_compiled(kernel, columns):
        return sum(
            (values @ coefficients[block] for block, values in _blocks(kernel, columns, points)),
            start=np.zeros((len(points), coefficients.shape[1])),
        )
    form, factor, exp = _compiled_form(kernel, columns)
    transposed = np.ascontiguousarray(coefficients.T)
    out = np.zeros((len(points), len(transposed)))

    def add(first: int, last: int) -> None:
        _add_products(form, factor, exp, *_tile_space(columns), columns, transposed, points, first, last, out)

    in_threads(add, len(points), worthwhile=columns.size * len(points) > WORTH_A_THREAD)
    return out


def _is_compiled(kernel: Kernel, columns: NDArray) -> bool:
    return kernel.compiled_form(len(columns)) is not None


def _blocks(kernel: Kernel, columns: NDArray, points: NDArray) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """k(pᵢ, xⱼ) by the kernel's ``matrix``, float64, in blocks of columns with at most BLOCK_NUMBERS numbers."""
    n = columns.shape[1]
    width = max(1, BLOCK_NUMBERS // max(1, len(points)))
    for start in range(0, n, width):
        block = slice(start, min(n, start + width))
        yield block, kernel(points, columns[:, block].T)


def _compiled_form(kernel: Kernel, columns: NDArray) -> tuple[int, np.floating, _Exponential]:
    """The number of the form, the factor of the distance in it, and the constants of exp."""
    compiled = kernel.compiled_form(len(columns))
    assert compiled is not None, f"{kernel} has no compiled rows"
    assert kernel.lengths is None, "rows must be in units of the kernel's lengths"
    return int(compiled.form), columns.dtype.type(compiled.factor), _exponential(columns.dtype.name)


def _tile_space(columns: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Arrays for a tile's values and for 2ⁿ, and the bits of the latter."""
    values, powers = np.empty((GROUP, TILE), columns.dtype), np.empty(TILE, columns.dtype)
    return values, powers, powers.view(f"i{columns.itemsize}")


@compiled(fastmath={"contract", "nsz", "nnan"})
def _tile(form, factor, exp, values, powers, bits, columns, start, size, points, first):
    """values[m] ← k(points[first + m], x_j) for GROUP points (the last one repeated at the end) and columns from
    ``start`` on. Several points and coordinates at a time, because loads and stores take longer than arithmetic."""
    d, end, stop = points.shape[1], len(points) - 1, start + size
    p, q, r, s = points[first], points[min(first + 1, end)], points[min(first + 2, end)], points[min(first + 3, end)]
    at_p, at_q, at_r, at_s = values[0, :size], values[1, :size], values[2, :size], values[3, :size]
    for m in range(GROUP):
        for k in range(size):
            values[m, k] = exp.one if form == PRODUCT else 0
    done = 0
    if form != PRODUCT:
        for j in range(0, d - 2, 3):
            x, y, z = columns[j, start:stop], columns[j + 1, start:stop], columns[j + 2, start:stop]
            p0, p1, p2, q0, q1, q2 = p[j], p[j + 1], p[j + 2], q[j], q[j + 1], q[j + 2]
            r0, r1, r2, s0, s1, s2 = r[j], r[j + 1], r[j + 2], s[j], s[j + 1], s[j + 2]
            if form == ABSOLUTES:
                for k in range(size):
                    a, b, c = x[k], y[k], z[k]
                    at_p[k] += abs(a - p0) + abs(b - p1) + abs(c - p2)
                    at_q[k] += abs(a - q0) + abs(b - q1) + abs(c - q2)
                    at_r[k] += abs(a - r0) + abs(b - r1) + abs(c - r2)
                    at_s[k] += abs(a - s0) + abs(b - s1) + abs(c - s2)
            else:
                for k in range(size):
                    a, b, c = x[k], y[k], z[k]
                    at_p[k] += (a - p0) * (a - p0) + (b - p1) * (b - p1) + (c - p2) * (c - p2)
                    at_q[k] += (a - q0) * (a - q0) + (b - q1) * (b - q1) + (c - q2) * (c - q2)
                    at_r[k] += (a - r0) * (a - r0) + (b - r1) * (b - r1) + (c - r2) * (c - r2)
                    at_s[k] += (a - s0) * (a - s0) + (b - s1) * (b - s1) + (c - s2) * (c - s2)
            done = j + 3
    for j in range(done, d):
        x = columns[j, start:stop]
        for m in range(GROUP):
            y, at = points[min(first + m, end), j], values[m, :size]
            for k in range(size):
                u = x[k] - y
                if form == ABSOLUTES:
                    at[k] += abs(u)
                elif form == PRODUCT:
                    at[k] *= exp.one + factor * (u * u)
                else:
                    at[k] += u * u
    for m in range(GROUP):
        _finish(form, factor, exp, values[m], powers, bits, size)


@compiled(fastmath={"contract", "nsz", "nnan"})
def _finish(form, factor, exp, values, powers, bits, size):
    """Kernel values from distances."""
    if form == PRODUCT:
        for k in range(size):
            values[k] = exp.one / values[k]
    elif form == ROOT:
        for k in range(size):
            values[k] = exp.one + factor * np.sqrt(values[k])
    else:
        for k in range(size):
            x = max(factor * values[k], exp.lowest)
            shifted = x * exp.per_ln2 + exp.rounder
            n = shifted - exp.rounder
            r = (x - n * exp.ln2[0]) - n * exp.ln2[1]
            p = exp.series[-1]
            for term in range(len(exp.series) - 2, -1, -1):
                p = p * r + exp.series[term]
            values[k] = p
            powers[k] = shifted
        for k in range(size):
            bits[k] = (bits[k] + exp.bias) << exp.shift  # the number 2ⁿ
        for k in range(size):
            values[k] *= powers[k]


@compiled()
def _fill_rows(form, factor, exp, values, powers, bits, columns, points, first, last, out):
    """Columns first…last−1 of ``out``."""
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        for i in range(0, len(points), GROUP):
            _tile(form, factor, exp, values, powers, bits, columns, start, size, points, i)
            for m in range(min(GROUP, len(points) - i)):
                row = out[i + m, start : start + size]
                for k in range(size):
                    row[k] = values[m, k]


@compiled(fastmath={"contract"})
def _add_rows(form, factor, exp, values, powers, bits, columns, points, weights, first, last, rows, slots, sums):
    """Columns first…last−1 of the rows, and of ``sums``."""
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        total = sums[start : start + size]
        for i in range(0, len(points), GROUP):
            _tile(form, factor, exp, values, powers, bits, columns, start, size, points, i)
            for m in range(min(GROUP, len(points) - i)):
                weight, slot, row = weights[i + m], slots[i + m], values[m, :size]
                for k in range(size):
                    total[k] += weight * row[k]
                if slot >= 0:
                    for k in range(size):  # a slice takes numba 1.5 s more to compile, for the words of its error
                        rows[slot, start + k] = row[k]


@compiled(fastmath={"contract"})
def _add_known_rows(rows, slots, weights, first, last, sums):
    """Columns first…last−1 of ``sums``."""
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        total = sums[start : start + size]
        for i in range(len(slots)):
            weight, row = weights[i], rows[slots[i], start : start + size]
            for k in range(size):
                total[k] += weight * row[k]


@compiled(fastmath={"contract", "reassoc"})
def _add_products(form, factor, exp, values, powers, bits, columns, coefficients, points, first, last, out):
    """Rows first…last−1 of ``out``."""
    n = columns.shape[1]
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for i in range(first, last, GROUP):
            _tile(form, factor, exp, values, powers, bits, columns, start, size, points, i)
            for m in range(min(GROUP, last - i)):
                row = values[m]
                for t in range(len(coefficients)):
                    weights = coefficients[t, start : start + size]
                    total = 0.0
                    for k in range(size):
                        total += row[k] * weights[k]
                    out[i + m, t] += total
