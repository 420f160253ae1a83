"""Scaled cosines, sines, signs and activations of X·W, fused over tiles that fit a cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  loads scipy's own BLAS, so that it is limited to one thread too
from numpy.typing import NDArray

from rffbench.linalg.threads import in_threads, side_by_side, thread_count

TILE_COLUMNS, TILE_BYTES = 512, 1 << 19  # a tile of phases that stays in a level-2 cache
WORTH_A_THREAD = 1 << 23  # bytes: fewer take less time than starting a second thread
FAR = 1e5  # larger arguments go to the mathematical library

# π is the sum of these; the first ones are so short that n·part is exact for |n·π| ≤ FAR (Cody and Waite).
_PI = {
    "float64": (3.1415926534682512, 1.2154201012607932e-10, 4.044532497591901e-21),
    "float32": (3.140625, 0.000965118408203125, 2.5331974029541016e-06, 1.984187159361081e-09),
}
# For |r| ≤ π/2, z = r²: sin r = r + r·z·S(z) and cos r = 1 − z/2 + z²·C(z), interpolated at Chebyshev nodes;
# the largest error is 1e-18 in float64, 3e-9 in float32.
_SIN = {
    "float64": (
        -0.16666666666666666, 0.008333333333333316, -0.00019841269841254955, 2.755731921915843e-06,
        -2.5052107616384595e-08, 1.6058977272815506e-10, -7.643969031052769e-13, 2.731428986122616e-15,
    ),
    "float32": (
        -0.16666666663878466, 0.008333332768305049, -0.00019841086452506194, 2.753645532390914e-06,
        -2.407999973210464e-08,
    ),
}  # fmt: skip
_COS = {
    "float64": (
        0.041666666666666664, -0.001388888888888888, 2.4801587301579844e-05, -2.7557319221567154e-07,
        2.0876756602568905e-09, -1.1470712252875163e-11, 4.777877290768691e-14, -1.521855926409455e-16,
    ),
    "float32": (
        0.04166666607783871, -0.0013888812505840143, 2.4786076312589558e-05, -2.654586729434113e-07,
    ),
}  # fmt: skip
# Adding and subtracting this rounds to the nearest integer.
_ROUNDER = {"float64": 1.5 * 2**52, "float32": 1.5 * 2**23}

Tiles = Callable[[slice, slice, NDArray], None]
"""A function of (rows, columns, out) that writes these rows and columns of a product into ``out``."""


def _over_tiles(work: Callable[[int, int], object], count: int, size: int) -> None:
    """`in_threads` if phases of ``size`` bytes are worth it. Else this thread does all; BLAS still has one thread,
    because a second is no faster on a tile."""
    if size > WORTH_A_THREAD and thread_count() > 1:
        in_threads(work, count)
    else:
        side_by_side([partial(work, 0, count)])


@cache
def _constants(dtype: str) -> tuple[tuple[np.floating, ...], ...]:
    """The constants of the compiled code, in its precision, because a plain 0.5 would promote float32."""
    number = np.dtype(dtype).type
    plain = (1.0, 0.5, 1 / np.pi, _ROUNDER[dtype], FAR)
    groups = (plain, _PI[dtype], _SIN[dtype], _COS[dtype])
    return tuple(tuple(number(value) for value in values) for values in groups)


def products(X: Any, W: NDArray) -> Tiles:
    """Tiles of X·W, for X an array or a CSR matrix, whose rows are not made dense."""

    def dense(rows: slice, columns: slice, out: NDArray) -> None:
        np.matmul(X[rows], W[:, columns], out=out)

    def sparse(rows: slice, columns: slice, out: NDArray) -> None:
        starts = X.indptr[rows.start : rows.stop + 1]
        sparse_product(X.data, X.indices, starts, by_rows, columns.start, out)

    if isinstance(X, np.ndarray):
        return dense
    from rffbench.linalg.trigonometric_kernels import sparse_product

    by_rows = np.ascontiguousarray(W)
    return sparse


def fourier_columns(
    X: Any, W: NDArray, cos: NDArray | None = None, sin: NDArray | None = None, *, offset: NDArray | None = None,
    scale: NDArray | float = 1.0,
) -> None:  # fmt: skip
    """Write ``scale_j·cos(x_iᵀw_j + b_j)`` into ``cos`` and ``scale_j·sin(x_iᵀw_j + b_j)`` into ``sin``.

    X is (n, d), an array or a CSR matrix, W is (d, s), offset (s,) or None, scale a number or (s,); cos and sin are
    (n, s) arrays to fill, views with a row stride allowed, either of them None. All of one dtype, float32 or float64.

    Cosine and sine of a tile are computed while it is in the cache. Their error is below 5e-16 (float64) or 3e-7
    (float32) for arguments up to 1e5, and that of the mathematical library beyond. Threads: as many as numba's, each
    with its tiles.
    """
    n, s = X.shape[0], W.shape[1]
    dtype = X.dtype
    if dtype.name not in _PI:
        raise ValueError(f"X must be float32 or float64, got {dtype}")
    if W.dtype != dtype or W.shape[0] != X.shape[1]:
        raise ValueError(f"W must be {dtype} with {X.shape[1]} rows, got {W.dtype} {W.shape}")
    for name, out in (("cos", cos), ("sin", sin)):
        if out is not None and (out.dtype != dtype or out.shape != (n, s)):
            raise ValueError(f"{name} must be {dtype} {(n, s)}, got {out.dtype} {out.shape}")
        if out is not None and n and s > 1 and out.strides[1] != out.itemsize:
            raise ValueError(f"the columns of {name} must be contiguous, its strides are {out.strides}")

    cos_sin_columns(products(X, W), cos, sin, n=n, s=s, dtype=dtype, offset=offset, scale=scale)


def cos_sin_columns(
    phases: Tiles, cos: NDArray | None, sin: NDArray | None, *, n: int, s: int, dtype: np.dtype,
    offset: NDArray | None = None, scale: NDArray | float = 1.0, width: int = TILE_COLUMNS,
) -> None:  # fmt: skip
    """`fourier_columns` for phases (n, s) that ``phases(rows, columns, out)`` writes tile by tile.

    A tile has ``width`` columns, from a multiple of ``width`` on; the last tile may have fewer. ``phases`` is called
    from several threads.
    """
    if not n or not s:
        return
    from rffbench.linalg.trigonometric_kernels import cos_sin

    offset = np.zeros(s, dtype) if offset is None else np.ascontiguousarray(offset, dtype)
    scale = np.ascontiguousarray(np.broadcast_to(np.asarray(scale, dtype), (s,)))
    constants = _constants(dtype.name)
    width = min(s, width)
    height = max(1, min(n, TILE_BYTES // (width * dtype.itemsize)))

    def fill_rows(begin: int, end: int) -> None:
        scratch = np.empty(height * width, dtype)
        unwanted = np.empty(width, dtype)  # receives cosines or sines that the caller does not want
        for first in range(0, s, width):
            block = slice(first, min(s, first + width))
            columns = block.stop - first
            offset_block, scale_block = offset[block], scale[block]
            cosines, cos_step = _flat(cos, first, unwanted)
            sines, sin_step = _flat(sin, first, unwanted)
            for row in range(begin, end, height):
                rows = min(end, row + height) - row
                phase = scratch[: rows * columns]
                phases(slice(row, row + rows), block, phase.reshape(rows, columns))
                cos_sin(
                    phase, cosines[row * cos_step :], cos_step, sines[row * sin_step :], sin_step,
                    offset_block, scale_block, rows, columns, *constants,
                )  # fmt: skip

    _over_tiles(fill_rows, n, n * s * dtype.itemsize)


def fourier_products(X: Any, W: NDArray, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """cos(XW)ᵀy and sin(XW)ᵀy, (s,) each, to single precision, without storing the cosines and sines.

    X is (n, d), an array or a CSR matrix, W is (d, s), both float32 or float64, y is (n,). With h = XW/2, cosᵀy =
    Σy − 2·yᵀsin²h and sinᵀy = 2·yᵀ(sin h·cos h). XW has the precision of X. Its sines and cosines, and their sums over
    some hundred rows, are float32; the sums of these are float64. So the error is at most a few 1e-7 of ‖y‖·√n, and the
    result does not depend on the number of threads. `fourier_columns` gives the columns in full precision.
    """
    from rffbench.linalg.trigonometric_kernels import half_products

    n, s = X.shape[0], W.shape[1]
    unit = np.abs(y).max(initial=0) or 1.0  # y may be out of the range of float32
    y_single = (y / unit).astype(np.float32)
    plain, _, _, _ = _constants("float64")
    (one, half, *_), _, sin_series, cos_series = _constants("float32")
    width = min(s, TILE_COLUMNS)
    height = max(1, min(n, TILE_BYTES // (width * X.dtype.itemsize)))
    product = products(X, W)
    sums = np.zeros((-(-n // height), 2, s), np.float32)  # one for each tile's rows

    def add_tiles(begin: int, end: int) -> None:
        scratch = np.empty(height * width, X.dtype)
        for first in range(0, s, width):
            block = slice(first, min(s, first + width))
            for tile in range(begin, end):
                rows = slice(tile * height, min(n, (tile + 1) * height))
                y_block = y_single[rows]
                phase = scratch[: len(y_block) * (block.stop - first)]
                product(rows, block, phase.reshape(len(y_block), -1))
                squares, mixed = sums[tile, :, block]
                half_products(phase, y_block, squares, mixed, plain, (one, half), sin_series, cos_series)

    _over_tiles(add_tiles, len(sums), n * s * X.dtype.itemsize)
    squares, mixed = sums.sum(axis=0, dtype=np.float64)
    return y.sum() - 2 * unit * squares, 2 * unit * mixed


def sign_columns(X: Any, W: NDArray, thresholds: NDArray, out: NDArray, *, scale: float = 1.0) -> None:
    """Write ``scale·sign(x_iᵀw_j − t_j)`` into ``out``; sign(0) is 1.

    X is (n, d), an array or a CSR matrix, W is (d, s), thresholds (s,), out (n, s), a view with a row stride allowed;
    all of one dtype, float32 or float64. Threads as in ``fourier_columns``.
    """
    n, s = X.shape[0], W.shape[1]
    dtype = X.dtype
    if W.dtype != dtype or W.shape[0] != X.shape[1]:
        raise ValueError(f"W must be {dtype} with {X.shape[1]} rows, got {W.dtype} {W.shape}")
    if out.dtype != dtype or out.shape != (n, s) or (n and s > 1 and out.strides[1] != out.itemsize):
        raise ValueError(f"out must be {dtype} {(n, s)} with contiguous rows, got {out.dtype} {out.shape}")
    if not n or not s:
        return
    from rffbench.linalg.trigonometric_kernels import signs

    thresholds = np.ascontiguousarray(thresholds, dtype)
    width = min(s, TILE_COLUMNS)
    height = max(1, min(n, TILE_BYTES // (width * dtype.itemsize)))
    product = products(X, W)

    def fill_rows(begin: int, end: int) -> None:
        for first in range(0, s, width):
            block = slice(first, min(s, first + width))
            here, step = _flat(out, first, thresholds)
            for row in range(begin, end, height):
                rows = slice(row, min(end, row + height))
                product(rows, block, out[rows, block])
                signs(here[row * step :], step, thresholds[block], dtype.type(scale), rows.stop - row)

    _over_tiles(fill_rows, n, n * s * dtype.itemsize)


def activation_columns(
    phases: Tiles, activation: Callable[[NDArray], NDArray], out: NDArray, *, scale: NDArray, width: int = TILE_COLUMNS
) -> None:
    """Write ``scale_j·a(t_ij)`` into ``out`` (n, s); ``phases(rows, columns, out)`` writes the phases t tile by tile.

    ``activation`` writes a(t) over a tile of ``out``'s dtype, and returns it; scale is (s,). Tiles and threads are as
    in `cos_sin_columns`; both functions are called from several threads.
    """
    n, s = out.shape
    if not n or not s:
        return
    factors, width = scale.astype(out.dtype), min(s, width)
    height = max(1, min(n, TILE_BYTES // (width * out.itemsize)))

    def fill_rows(begin: int, end: int) -> None:
        scratch = np.empty(height * width, out.dtype)
        for first in range(0, s, width):
            block = slice(first, min(s, first + width))
            for row in range(begin, end, height):
                rows = slice(row, min(end, row + height))
                tile = scratch[: (rows.stop - row) * (block.stop - first)].reshape(rows.stop - row, -1)
                phases(rows, block, tile)
                np.multiply(activation(tile), factors[block], out=out[rows, block])

    _over_tiles(fill_rows, n, n * s * out.itemsize)


def _flat(out: NDArray | None, first: int, unwanted: NDArray) -> tuple[NDArray, int]:
    """The memory of ``out`` from column ``first`` on as a contiguous array, and the step between rows."""
    if out is None:
        return unwanted, 0
    step = out.strides[0] // out.itemsize
    length = (len(out) - 1) * step + out.shape[1] - first
    return np.lib.stride_tricks.as_strided(out[:, first:], (length,), (out.itemsize,)), step


@cache
def warm_up(dtype: str | np.dtype) -> None:
    """Compile the kernels, or load them from numba's cache, and allocate BLAS's buffers, before timing; once per
    process."""
    X, W = np.zeros((512, 64), dtype), np.zeros((64, 256), dtype)
    cos, sin = np.empty((512, 256), dtype), np.empty((512, 256), dtype)
    fourier_columns(X, W, cos=cos, sin=sin)
    fourier_columns(X, W, cos=cos, offset=W[0], scale=W[0])
    fourier_columns(X, W, sin=sin, offset=W[0], scale=W[0])
    fourier_products(X, W, np.zeros(len(X)))
    sign_columns(X, W, W[0], cos)
