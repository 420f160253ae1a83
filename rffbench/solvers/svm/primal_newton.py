"""The linear squared-hinge machine by truncated Newton steps in the primal; Z is held, or mapped again in each pass.

min over w of ½‖w‖² + C·Σ max(0, 1 − yᵢzᵢᵀw)² has the gradient w + 2C·Σ_I (zᵢᵀw − yᵢ)zᵢ and the generalised Hessian 1 +
2C·Σ_I zᵢzᵢᵀ, where I are the rows with yᵢzᵢᵀw < 1 (Lin, Weng & Keerthi, JMLR 9, 2008). Conjugate gradients solve for a
step, with passes over the rows of I only, and an exact search finds its length. If passes are expensive, the Hessian of
a sample of the rows preconditions them.

For a row of weight c, √c·zᵢ and √c·yᵢ replace zᵢ and yᵢ. Then c·max(0, 1 − yᵢzᵢᵀw)² is the square of the gap between
label and decision, with and without weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from rffbench.features.base import not_finite
from rffbench.linalg.compiled import compiled
from rffbench.linalg.threads import in_threads
from rffbench.linalg.triangles import Triangle, TriangleStack
from rffbench.solvers.feature_rows import FeatureRows

PARTS = 8  # sums over rows have this many parts for any number of threads, so that results do not depend on it
WORTH_A_THREAD = 1 << 20  # numbers of Z
MOST_STEPS = 1000
MOST_PRODUCTS = 200  # conjugate-gradient products per Newton step
SAMPLED = 4  # rows per column in the sample that preconditions; with 2, there are half as many passes again


class Minimum(NamedTuple):
    """w (p,), Zw (n,), the objective, and the numbers of Newton steps and of conjugate-gradient products."""

    w: NDArray[np.float64]
    decision: NDArray[np.float64]
    objective: float
    steps: int
    products: int


def sampled_hessian(Z: FeatureRows, C: float) -> Triangle:
    """The Cholesky factor of 1 + 2C·(n/m)·Σ zᵢzᵢᵀ over a sample of m rows, an estimate of the Hessian at w = 0.

    With this preconditioner conjugate gradients need about a fifth of the passes over all rows. It costs a pass over
    the sample and `sampled_bytes` of memory. It does not depend on labels, so several classes share it.
    """
    hessian = TriangleStack(1, Z.p)[0]
    rows = Z.sample(SAMPLED * Z.p)
    for _, block, local in Z.visit(rows):
        part = block if len(local) == len(block) else block[local]
        hessian.add_gram(part.astype(np.float64, copy=False), 2 * C * Z.n / len(rows))
    if not np.isfinite(hessian.diagonal).all():
        raise ValueError(not_finite(Z.features))
    hessian.diagonal[:] += 1
    hessian.cholesky()
    return hessian


def sampled_bytes(p: int, block_rows: int, dtype: np.dtype) -> int:
    """The bytes that `sampled_hessian` needs besides a block of a streamed Z: the factor, and a float64 block."""
    return TriangleStack.bytes_needed(1, p) + (8 * block_rows * p if dtype != np.float64 else 0)


def minimise_squared_hinge(
    Z: FeatureRows, y: NDArray[np.float64], C: float, tolerance: float, preconditioner: Triangle | None = None
) -> Minimum:
    """Minimise ½‖w‖² + C·Σ max(0, |yᵢ| − sign(yᵢ)·zᵢᵀw)² for labels y (n,) −1 and 1. For a row of weight c, its label
    and its row of Z are multiplied by √c.

    Like LIBLINEAR's ``-s 2``, it stops when the gradient's norm is at most ``tolerance``·(the smaller class's share of
    the weights) times that at w = 0. ``preconditioner``: the Cholesky factor of an approximate Hessian.
    """
    w, decision = np.zeros(Z.p), np.zeros(Z.n)
    products = 0
    first_norm = goal = 0.0
    for step in range(MOST_STEPS):
        active = np.flatnonzero(_short(decision - y, y))
        gradient = w + 2 * C * _weighted_sum(Z, active, decision[active] - y[active])
        norm = float(np.linalg.norm(gradient))
        if step == 0:
            weights = np.square(y)
            least = weights[weights > 0].min()  # for a single class
            share = max(min(weights[y > 0].sum(), weights[y < 0].sum()), least) / weights.sum()
            first_norm, goal = norm, tolerance * share * norm
            if not np.isfinite(norm):  # it sums over every row
                raise ValueError(not_finite(Z.features))
        if norm <= goal:
            break
        accuracy = min(0.5, np.sqrt(norm / first_norm))
        direction, taken = _conjugate_gradients(
            partial(_hessian_product, Z, active, C), -gradient, accuracy * norm, preconditioner
        )
        products += taken
        change = _products(Z, direction)
        length = _exact_length(w, direction, decision, change, y, C)
        if length == 0:  # no descent left in this precision
            break
        w += length * direction
        decision += length * change
    else:
        warnings.warn(f"the linear machine has not converged in {MOST_STEPS} steps", ConvergenceWarning, stacklevel=2)
    slack = np.where(_short(decision - y, y), decision - y, 0.0)
    return Minimum(w, decision, 0.5 * float(w @ w) + C * float(slack @ slack), step, products)


def _short(residual: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The mask of rows with a loss, for the ``residual`` decision − y: their decision falls short of y."""
    return y * residual < 0


def _conjugate_gradients(
    product: Callable[[NDArray[np.float64]], NDArray[np.float64]], right: NDArray[np.float64], goal: float,
    preconditioner: Triangle | None,
) -> tuple[NDArray[np.float64], int]:  # fmt: skip
    """x with ‖Hx − right‖ ≤ ``goal``, and the number of products with H."""

    def conditioned(residual: NDArray[np.float64]) -> NDArray[np.float64]:
        return residual if preconditioner is None else preconditioner.solve(residual[:, None])[:, 0]

    x, residual = np.zeros_like(right), right.copy()
    direction = conditioned(residual).copy()
    square = float(residual @ direction)
    taken = 0
    while taken < MOST_PRODUCTS:
        taken += 1
        image = product(direction)
        step = square / float(direction @ image)
        x += step * direction
        residual -= step * image
        if np.linalg.norm(residual) <= goal:
            break
        upward = conditioned(residual)
        new_square = float(residual @ upward)
        direction *= new_square / square
        direction += upward
        square = new_square
    return x, taken


def _exact_length(
    w: NDArray[np.float64], direction: NDArray[np.float64], decision: NDArray[np.float64], change: NDArray[np.float64],
    y: NDArray[np.float64], C: float,
) -> float:  # fmt: skip
    """The minimum of the objective along ``direction``: the root of its increasing, piecewise linear derivative, by
    Newton steps in a bracket, which prevents cycles."""
    linear, square = float(w @ direction), float(direction @ direction)

    def slope_and_curvature(t: float) -> tuple[float, float]:
        residual = decision + t * change - y
        moved = np.where(_short(residual, y), change, 0.0)
        return linear + t * square + 2 * C * float(residual @ moved), square + 2 * C * float(moved @ moved)

    low, high, t = 0.0, np.inf, 1.0
    for _ in range(100):
        slope, curvature = slope_and_curvature(t)
        low, high = (t, high) if slope < 0 else (low, t)
        following = t - slope / curvature
        if not low <= following <= high:
            following = (low + high) / 2 if high < np.inf else 2 * t
        if abs(following - t) <= 1e-12 * t:
            break
        t = following
    return t


def _products(Z: FeatureRows, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Zv (n,)."""
    out = np.empty(Z.n)
    for place, block, rows in Z.visit(np.arange(Z.n)):
        if issparse(block):  # which has all rows of Z
            out[place] = block @ v
        else:
            _in_parts(_dot_rows, block, rows, v, out[place])
    return out


def _weighted_sum(Z: FeatureRows, rows: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ weightᵢ·zᵢ over ``rows``."""
    totals = np.zeros((1 if Z.sparse else PARTS, Z.p))
    for place, block, local in Z.visit(rows):
        if issparse(block):
            totals[0] += block.T @ _spread(weights[place], local, Z.n)
        else:
            _in_parts(_add_rows, block, local, weights[place], totals)
    return totals.sum(axis=0)


def _hessian_product(Z: FeatureRows, rows: NDArray[np.int64], C: float, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """v + 2C·Σ (zᵢᵀv)·zᵢ over ``rows``."""
    totals = np.zeros((1 if Z.sparse else PARTS, Z.p))
    for _, block, local in Z.visit(rows):
        if issparse(block):
            totals[0] += block.T @ _spread((block @ v)[local], local, Z.n)
        else:
            _in_parts(_add_hessian_rows, block, local, v, totals)
    return v + 2 * C * totals.sum(axis=0)


def _spread(values: NDArray[np.float64], rows: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """``values`` at ``rows``, 0 at the other of n rows, to multiply all of a CSR matrix without copying rows."""
    all_rows = np.zeros(n)
    all_rows[rows] = values
    return all_rows


def _in_parts(work: Callable[..., object], block: NDArray, rows: NDArray[np.int64], *arrays: NDArray) -> None:
    """``work(block, rows, first, last, k, *arrays)`` for each of PARTS parts k of the rows, first…last−1, in
    threads."""
    bounds = [len(rows) * part // PARTS for part in range(PARTS + 1)]

    def do(first: int, last: int) -> None:
        for k in range(first, last):
            work(block, rows, bounds[k], bounds[k + 1], k, *arrays)

    in_threads(do, PARTS, worthwhile=len(rows) * block.shape[1] > WORTH_A_THREAD)


# Four rows at a time: vectors that all rows use are then read and written a quarter as often.
@compiled(fastmath={"contract", "reassoc", "nsz"})
def _dot_rows(Z, rows, first, last, part, v, out):
    """out ← Z[rows]·v, entries first…last−1."""
    k = first
    while k + 4 <= last:
        out[k], out[k + 1], out[k + 2], out[k + 3] = _four_dots(
            Z[rows[k]], Z[rows[k + 1]], Z[rows[k + 2]], Z[rows[k + 3]], v
        )
        k += 4
    for rest in range(k, last):
        out[rest] = _dot(Z[rows[rest]], v)


@compiled(fastmath={"contract", "reassoc", "nsz"})
def _add_rows(Z, rows, first, last, part, weights, totals):
    """totals[part] ← totals[part] + Z[rows]′·weights, rows first…last−1."""
    total = totals[part]
    k = first
    while k + 4 <= last:
        _add_four(
            Z[rows[k]], Z[rows[k + 1]], Z[rows[k + 2]], Z[rows[k + 3]],
            weights[k], weights[k + 1], weights[k + 2], weights[k + 3], total,
        )  # fmt: skip
        k += 4
    for rest in range(k, last):
        _add(Z[rows[rest]], weights[rest], total)


@compiled(fastmath={"contract", "reassoc", "nsz"})
def _add_hessian_rows(Z, rows, first, last, part, v, totals):
    """totals[part] ← totals[part] + Z[rows]′·(Z[rows]·v), rows first…last−1, each read from memory once."""
    total = totals[part]
    k = first
    while k + 4 <= last:
        one, two, three, four = Z[rows[k]], Z[rows[k + 1]], Z[rows[k + 2]], Z[rows[k + 3]]
        a, b, c, d = _four_dots(one, two, three, four, v)
        _add_four(one, two, three, four, a, b, c, d, total)
        k += 4
    for rest in range(k, last):
        row = Z[rows[rest]]
        _add(row, _dot(row, v), total)


@compiled(fastmath={"contract", "reassoc", "nsz"})
def _four_dots(first, second, third, fourth, v):
    a = b = c = d = 0.0
    for j in range(len(v)):
        x = v[j]
        a += first[j] * x
        b += second[j] * x
        c += third[j] * x
        d += fourth[j] * x
    return a, b, c, d


@compiled(fastmath={"contract", "reassoc", "nsz"})
def _add_four(first, second, third, fourth, a, b, c, d, total):
    for j in range(len(total)):
        total[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])


@compiled(fastmath={"contract", "reassoc", "nsz"})
def _dot(row, v):
    total = 0.0
    for j in range(len(v)):
        total += row[j] * v[j]
    return total


@compiled(fastmath={"contract", "reassoc", "nsz"})
def _add(row, weight, total):
    for j in range(len(total)):
        total[j] += weight * row[j]


def warm_up(dtype: np.dtype) -> None:
    """Compile the kernels, or load them from numba's cache, before timing."""
    Z = FeatureRows(np.eye(5, dtype=dtype), None, 5, 0.0, hold=True, block_rows=5)
    minimise_squared_hinge(Z, np.array([1.0, -1.0, 1.0, -1.0, 1.0]), 1.0, 0.01)
