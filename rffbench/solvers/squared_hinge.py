"""The squared-hinge kernel machine by pairwise coordinate descent in the dual, without ever holding K. Compiled.

In β = y∘α the dual of min ½‖f‖² + C·Σ max(0, 1 − yᵢ(f(xᵢ) + b))² is

    min ½βᵀ(K + I/(2C))β − yᵀβ,   yᵢβᵢ ≥ 0,   and Σβ = 0 where there is a bias b.

There is no upper bound on β, so that this is what LIBSVM solves on K + I/(2C) with its C infinite (its FAQ's
recipe for the squared hinge). With the gradient F = (K + I/(2C))β − y kept up to date, a step moves two
coordinates: with a bias the pair of Fan, Chen & Lin (JMLR 6, 2005), the one that violates optimality most and
the one that then decreases the objective most to second order; without one the same pair unconstrained
(Steinwart, Hush & Scovel, JMLR 12, 2011), moved to its exact optimum.

Rows of K come from a bounded cache that drops the least recently used. Coordinates at 0 whose gradient says they
will stay are left out: the problem is compacted, so that rows get shorter and more of them fit the cache. Their
gradients are computed anew before the end.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rffbench.kernels import Kernel
from rffbench.solvers.kernel_rows import kernel_product, kernel_rows

UP, DOWN = 1, 2  # β may grow; β may fall
TILE = 256  # coordinates whose scores are computed together before their maximum is looked for
SHRINK_EVERY = 1000  # steps
WORTH_COMPACTING = 0.1  # of the coordinates
MOST_REVIVALS = 5  # times that shrunk coordinates come back before shrinking stops
DONE, NEEDS_ROW, PAUSED = 0, 1, 2


class DualSolution(NamedTuple):
    """β (n,), the bias b, f(x) + b at the training points (n,), the dual objective, and the steps taken."""

    coefficients: NDArray[np.float64]
    bias: float
    decision: NDArray[np.float64]
    objective: float
    steps: int


def solve_squared_hinge(
    X: NDArray[np.float64], y: NDArray[np.float64], kernel: Kernel, *, C: float, bias: bool, tolerance: float,
    cache_bytes: int,
) -> DualSolution:  # fmt: skip
    """Solve for the points X (n, d) and labels y (n,) of −1 and 1, both present.

    ``tolerance``: the violation of optimality that is left, as LIBSVM's: with a bias the largest difference of
    −F between a coordinate that may grow and one that may fall, else the largest |F| of one that may move so.
    Needs besides X about ``cache_bytes`` (two rows at least), 24nd and some 80n bytes.
    """
    n = len(y)
    whole = _Problem(
        np.arange(n), np.array(X.T, order="C"), y, np.zeros(n), -y, np.where(y > 0, UP, DOWN).astype(np.uint8)
    )
    cache = RowCache(kernel, whole.columns, cache_bytes)
    ridge = 1 / (2 * C)
    active, revivals, steps = whole, 0, 0
    most_steps = max(10_000_000, 100 * n)
    shrinking = True
    while True:
        pause = SHRINK_EVERY if shrinking else most_steps
        gap_up, gap_down, taken = _descend(active, cache, ridge, bias, tolerance, min(pause, most_steps - steps))
        steps += taken
        if _gap(gap_up, gap_down, bias) < tolerance:
            if active is whole:
                break
            _write_back(whole, active)
            _revive(whole, active, kernel, ridge)
            active, revivals = whole, revivals + 1
            cache = RowCache(kernel, whole.columns, cache_bytes, cache.storage)
            shrinking = revivals < MOST_REVIVALS
        elif steps >= most_steps:
            warnings.warn(f"the kernel machine has not converged in {steps} steps", ConvergenceWarning, stacklevel=2)
            _write_back(whole, active)
            _revive(whole, active, kernel, ridge)
            break
        elif shrinking:
            keep = _may_still_move(active, gap_up, gap_down, bias)
            if keep.sum() < (1 - WORTH_COMPACTING) * len(keep):
                if active is not whole:
                    _write_back(whole, active)
                active = active.part(np.flatnonzero(keep))
                cache.compact(np.flatnonzero(keep), active.columns)
    return _solution(whole, ridge, bias, steps)


@dataclass
class _Problem:
    """The coordinates still worked on: where they are in the whole problem, and their part of every array."""

    index: NDArray[np.int64]
    columns: NDArray[np.float64]
    y: NDArray[np.float64]
    beta: NDArray[np.float64]
    gradient: NDArray[np.float64]
    moves: NDArray[np.uint8]

    def part(self, keep: NDArray[np.int64]) -> _Problem:
        return _Problem(
            self.index[keep], np.ascontiguousarray(self.columns[:, keep]), self.y[keep], self.beta[keep],
            self.gradient[keep], self.moves[keep],
        )  # fmt: skip


class RowCache:
    """Rows of K, float32, in a fixed amount of memory; the least recently used makes room."""

    def __init__(
        self, kernel: Kernel, columns: NDArray[np.float64], size: int, storage: NDArray[np.float32] | None = None
    ) -> None:
        n = columns.shape[1]
        # Untouched pages of it take no memory.
        self.storage = np.empty(max(2 * n, min(size // 4, n * n)), np.float32) if storage is None else storage
        self._kernel = kernel
        self._set_width(columns)

    def _set_width(self, columns: NDArray[np.float64]) -> None:
        n = columns.shape[1]
        slots = max(min(len(self.storage) // n, n), 2)
        self._columns = columns
        self.rows = self.storage[: slots * n].reshape(slots, n)
        self.slot_of = np.full(n, -1, np.int64)
        self._owner = np.full(slots, -1, np.int64)
        self.used = np.zeros(slots, np.int64)  # when, in steps; 0 for a slot that is free

    def fetch(self, i: int) -> None:
        """Compute row i, in the place of the one that was not used for longest."""
        slot = int(self.used.argmin())
        if self._owner[slot] >= 0:
            self.slot_of[self._owner[slot]] = -1
        kernel_rows(self._kernel, self._columns, self._columns[:, i : i + 1].T.copy(), self.rows[slot : slot + 1])
        self._owner[slot], self.slot_of[i] = i, slot

    def compact(self, keep: NDArray[np.int64], columns: NDArray[np.float64]) -> None:
        """Leave out all points but ``keep``, whose X′ is ``columns``: the cached rows become shorter."""
        owner, used, old = self._owner, self.used, self.rows
        new_index = np.full(len(self.slot_of), -1)
        new_index[keep] = np.arange(len(keep))
        survivors = np.flatnonzero((owner >= 0) & (new_index[owner] >= 0))
        self._set_width(columns)
        _shorten(old, survivors, keep, self.storage)
        self._owner[: len(survivors)] = new_index[owner[survivors]]
        self.used[: len(survivors)] = used[survivors]
        self.slot_of[self._owner[: len(survivors)]] = np.arange(len(survivors))


def _descend(
    problem: _Problem, cache: RowCache, ridge: float, bias: bool, tolerance: float, most_steps: int
) -> tuple[float, float, int]:
    """Steps until the violation is below the tolerance, at most ``most_steps``: both parts of it, steps taken."""
    gaps, state = np.empty(2), np.array([-1, -1, 0, cache.used.max() + 1])
    while True:
        status, wanted = _run(
            problem.gradient, problem.beta, problem.y, problem.moves, cache.rows, cache.slot_of, cache.used, ridge,
            bias, tolerance, most_steps, gaps, state,
        )  # fmt: skip
        if status != NEEDS_ROW:
            return gaps[0], gaps[1], int(state[2])
        cache.fetch(wanted)


@numba.njit(nogil=True, cache=True)
def _gap(up, down, bias):
    """How far from optimal, from the largest −F of what may grow and the largest F of what may fall."""
    return up + down if bias else max(up, down)


def _may_still_move(problem: _Problem, up: float, down: float, bias: bool) -> NDArray[np.bool_]:
    """Not those at 0 that no present violator would form a pair with."""
    only_up, only_down = problem.moves == UP, problem.moves == DOWN
    highest, lowest = (down, -up) if bias else (max(up, down), -max(up, down))
    return ~((only_up & (problem.gradient > highest)) | (only_down & (problem.gradient < lowest)))


def _write_back(whole: _Problem, active: _Problem) -> None:
    for name in ("beta", "gradient", "moves"):
        getattr(whole, name)[active.index] = getattr(active, name)


def _revive(whole: _Problem, active: _Problem, kernel: Kernel, ridge: float) -> None:
    """Compute the gradients of the coordinates, all 0, that are not active."""
    left_out = np.ones(len(whole.y), bool)
    left_out[active.index] = False
    points, support = np.flatnonzero(left_out), np.flatnonzero(whole.beta)
    values = kernel_product(
        kernel, np.ascontiguousarray(whole.columns[:, support]), whole.beta[support, None],
        np.ascontiguousarray(whole.columns[:, points].T),
    )  # fmt: skip
    whole.gradient[points] = values[:, 0] - whole.y[points]


def _solution(problem: _Problem, ridge: float, bias: bool, steps: int) -> DualSolution:
    beta, F, y = problem.beta, problem.gradient, problem.y
    b = 0.0
    if bias:  # at the optimum F = −b where β ≠ 0, and on the right side of it elsewhere
        support = beta != 0
        b = -float(F[support].mean()) if support.any() else 0.0
    objective = 0.5 * float(beta @ (F - y))
    return DualSolution(beta, b, F + y - ridge * beta + b, objective, steps)


@numba.njit(nogil=True, cache=True)
def _shorten(rows, survivors, keep, storage):
    """Write rows[survivors][:, keep] to the front of ``storage``, which ``rows`` lies in: never ahead of reading."""
    m = len(keep)
    buffer = np.empty(m, np.float32)
    for place in range(len(survivors)):
        row = rows[survivors[place]]
        for k in range(m):
            buffer[k] = row[keep[k]]
        storage[place * m : place * m + m] = buffer


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nnan", "nsz"})
def _run(F, beta, y, moves, rows, slot_of, used, ridge, bias, tolerance, most_steps, gaps, state):
    """Take steps; (DONE | PAUSED | NEEDS_ROW, the row needed).

    ``state``: the pair that is being moved, −1 where not chosen yet; the steps taken; the cache's clock.
    """
    q = 1.0 + ridge
    while True:
        if state[0] < 0:
            first_up, first_down = _largest_violations(F, moves, gaps)
            if _gap(gaps[0], gaps[1], bias) < tolerance:
                return DONE, -1
            if state[2] >= most_steps:
                return PAUSED, -1
            state[0] = first_up if bias or gaps[0] >= gaps[1] else first_down
        i = state[0]
        if slot_of[i] < 0:
            return NEEDS_ROW, i
        used[slot_of[i]] = state[3]
        row_i = rows[slot_of[i]]
        if state[1] < 0:
            state[1] = _best_partner(F, moves, row_i, i, q, bias)
        j = state[1]
        if slot_of[j] < 0:
            return NEEDS_ROW, j
        used[slot_of[j]] = state[3]
        row_j = rows[slot_of[j]]
        if bias:
            step = (F[j] - F[i]) / (2.0 * (q - row_i[j]))
            if y[i] < 0.0:
                step = min(step, -beta[i])
            if y[j] > 0.0:
                step = min(step, beta[j])
            new_i, new_j = beta[i] + step, beta[j] - step
        else:
            new_i, new_j = _pair_optimum(y[i], y[j], beta[i], beta[j], F[i], F[j], q, row_i[j])
        delta_i, delta_j = new_i - beta[i], new_j - beta[j]
        beta[i], beta[j] = new_i, new_j
        for k in (i, j):
            moves[k] = UP | DOWN if beta[k] != 0.0 else (UP if y[k] > 0.0 else DOWN)
        for k in range(len(F)):
            F[k] += delta_i * row_i[k] + delta_j * row_j[k]
        F[i] += ridge * delta_i
        F[j] += ridge * delta_j
        state[0] = state[1] = -1
        state[2] += 1
        state[3] += 1


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nnan", "nsz"})
def _largest_violations(F, moves, gaps):
    """gaps ← the largest −F of what may grow and the largest F of what may fall; where these are."""
    n = len(F)
    best_up = best_down = -1e300
    tile_up = tile_down = 0
    for start in range(0, n, TILE):
        stop = min(n, start + TILE)
        up = down = -1e300
        for k in range(start, stop):
            value = F[k]
            up = max(up, -value if moves[k] & UP else -1e300)
            down = max(down, value if moves[k] & DOWN else -1e300)
        if up > best_up:
            best_up, tile_up = up, start
        if down > best_down:
            best_down, tile_down = down, start
    gaps[0], gaps[1] = best_up, best_down
    while tile_up < n - 1 and not (moves[tile_up] & UP and -F[tile_up] == best_up):
        tile_up += 1
    while tile_down < n - 1 and not (moves[tile_down] & DOWN and F[tile_down] == best_down):
        tile_down += 1
    return tile_up, tile_down


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nnan", "nsz"})
def _best_partner(F, moves, row, i, q, bias):
    """The coordinate with which i decreases the objective most, to second order."""
    n = len(F)
    g = F[i]
    values = np.empty(TILE)
    best, partner = -1.0, -1
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        gradients, allowed, kernel = F[start : start + size], moves[start : start + size], row[start : start + size]
        highest = -1.0
        if bias:
            for k in range(size):
                b = gradients[k] - g
                gain = b * b / (q - kernel[k])
                values[k] = gain if (allowed[k] & DOWN) and b > 0.0 else -1.0
                highest = max(highest, values[k])
        else:
            for k in range(size):
                h, c = gradients[k], float(kernel[k])
                determinant = q * q - c * c
                direction = c * g - q * h
                gain = (q * (g * g + h * h) - 2.0 * c * g * h) / determinant
                values[k] = gain if allowed[k] & (UP if direction > 0.0 else DOWN) else -1.0
                highest = max(highest, values[k])
        if highest > best:
            for k in range(size):
                if values[k] > best and start + k != i:
                    best, partner = values[k], start + k
    # Where no other fits (a lone coordinate), any will do: it does not move.
    return partner if partner >= 0 else (i + 1) % n


@numba.njit(nogil=True, cache=True)
def _pair_optimum(y_i, y_j, beta_i, beta_j, F_i, F_j, q, c):
    """The optimum of the objective over βᵢ and βⱼ, with the signs of yᵢ and yⱼ or 0."""
    s = y_i * y_j * c
    a, b, G, H = y_i * beta_i, y_j * beta_j, y_i * F_i, y_j * F_j
    determinant = q * q - s * s
    best_a, best_b = a - (q * G - s * H) / determinant, b - (q * H - s * G) / determinant
    if best_a < 0.0 or best_b < 0.0:
        lone_b = max(0.0, b - (H - s * a) / q)  # with a = 0
        lone_a = max(0.0, a - (G - s * b) / q)  # with b = 0
        if _change(-a, lone_b - b, G, H, q, s) < _change(lone_a - a, -b, G, H, q, s):
            best_a, best_b = 0.0, lone_b
        else:
            best_a, best_b = lone_a, 0.0
    return y_i * best_a, y_j * best_b


@numba.njit(nogil=True, cache=True)
def _change(da, db, G, H, q, s):
    return G * da + H * db + 0.5 * q * (da * da + db * db) + s * da * db


def warm_up(kernel: Kernel) -> None:
    """Have everything compiled, or loaded from numba's cache, before anything is timed."""
    X, y = np.array([[0.0], [0.1], [0.2]]), np.array([1.0, -1.0, 1.0])
    solution = solve_squared_hinge(X, y, kernel, C=1.0, bias=True, tolerance=0.1, cache_bytes=0)
    RowCache(kernel, X.T.copy(), 0).compact(np.arange(2), X[:2].T.copy())
    kernel_product(kernel, X.T.copy(), solution.coefficients[:, None], X)
