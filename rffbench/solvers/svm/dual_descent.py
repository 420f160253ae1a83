"""The squared-hinge kernel machine by coordinate descent in the dual, without storing K. Compiled.

In β = y∘α the dual of min ½‖f‖² + C·Σ max(0, 1 − yᵢ(f(xᵢ) + b))² is

    min ½βᵀ(K + I/(2C))β − yᵀβ,   yᵢβᵢ ≥ 0,   and Σβ = 0 if there is a bias b.

β has no upper bound, so this is LIBSVM's problem on K + I/(2C) with an infinite C (its FAQ's recipe for the squared
hinge). The gradient F = (K + I/(2C))β − y is updated in every step.

A block of coordinates is worked on at a time. It is drawn at random from those that violate optimality by more than a
fifth of the worst, because the worst ones are often neighbours, and one step resolves the violations of several. A step
in a block moves two coordinates. With a bias it is the pair of Fan, Chen & Lin (JMLR 6, 2005): the coordinate with the
largest violation, and the one that then decreases the objective most, to second order. Without a bias it is the same
pair without the constraint (Steinwart, Hush & Scovel, JMLR 12, 2011), moved to its exact optimum. Then the rows of K of
the moved coordinates update all of F together, so that the points pass through the processor's cache once; threads
share this work.

A cache of fixed size keeps rows of K while there is room. Coordinates at 0 that, by their gradient, will stay there are
left out: the problem is compacted, rows become shorter, and more of them fit the cache. Their gradients are computed
again before the end.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rffbench.kernels import Kernel
from rffbench.linalg.compiled import compiled
from rffbench.linalg.kernel_rows import add_kernel_rows, add_known_rows, kernel_product, kernel_rows, unit_columns

UP, DOWN = 1, 2  # β may grow; β may fall
TILE = 256  # scores of this many coordinates are computed before their maximum is sought
BLOCKS = 32  # in a pass over all coordinates
SMALLEST_BLOCK, LARGEST_BLOCK = 64, 2048
VIOLATORS = 0.2  # coordinates with at least this share of the largest violation may be drawn
LEFT_IN_BLOCK = 0.3  # a block is done at this share of the largest violation before it
STEPS_A_COORDINATE = 100  # the most steps in a block, per coordinate
SHRINK_EVERY = 10  # blocks
WORTH_COMPACTING = 0.1  # share of the coordinates that must be left out for it
MOST_REVIVALS = 5  # shrinking stops after coordinates that were left out have come back this many times


class DualSolution(NamedTuple):
    """β (n,), the bias b, f(x) + b at the training points (n,), the dual objective, and the number of steps."""

    coefficients: NDArray[np.float64]
    bias: float
    decision: NDArray[np.float64]
    objective: float
    steps: int


def solve_squared_hinge(
    X: NDArray[np.float64], y: NDArray[np.float64], kernel: Kernel, *, C: float, bias: bool, tolerance: float,
    cache_bytes: int,
) -> DualSolution:  # fmt: skip
    """Solve for the points X (n, d) and labels y (n,) −1 and 1, both present.

    ``tolerance``: the remaining violation of optimality, as LIBSVM's: with a bias the largest difference of −F between
    a coordinate that may grow and one that may fall, else the largest |F| of a coordinate that may move against it. K
    is computed in single precision, sums with it in double. It needs about ``cache_bytes`` and `working_bytes` besides
    X.
    """
    n = len(y)
    kernel, columns = unit_columns(kernel, X)
    whole = _Problem(np.arange(n), columns, y, np.zeros(n), -y, np.where(y > 0, UP, DOWN).astype(np.uint8))
    cache = RowCache(kernel, columns, cache_bytes)
    ridge, rng = 1 / (2 * C), np.random.default_rng(0)
    active, blocks, revivals, steps = whole, 0, 0, 0
    most_steps = max(10_000_000, 100 * n)
    while True:
        violation = _violation(active, bias)
        if violation.gap < tolerance:
            if active is whole:
                break
            _revive(whole, active, kernel)
            active, revivals = whole, revivals + 1
            cache = RowCache(kernel, whole.columns, cache_bytes, cache.storage)
            continue
        if steps >= most_steps:
            warnings.warn(f"the kernel machine has not converged in {steps} steps", ConvergenceWarning, stacklevel=2)
            if active is not whole:
                _revive(whole, active, kernel)
            break
        if blocks % SHRINK_EVERY == SHRINK_EVERY - 1 and revivals < MOST_REVIVALS:
            keep = np.flatnonzero(_may_still_move(active, violation, bias))
            if len(keep) < (1 - WORTH_COMPACTING) * len(active.y):
                if active is not whole:
                    _write_back(whole, active)
                active = active.part(keep)
                cache.compact(keep, active.columns)
                violation = _violation(active, bias)
        block = _draw_block(active, violation, bias, rng)
        enough = max(tolerance / 2, LEFT_IN_BLOCK * violation.gap)  # the worst coordinates are in the block
        steps += _descend(active, block, cache, kernel, ridge, bias, enough)
        blocks += 1
    return _solution(whole, ridge, bias, steps)


def working_bytes(n: int, d: int) -> int:
    """About the bytes that `solve_squared_hinge` needs besides X and the cache: X′ three times, vectors, and a
    block."""
    block = _block_size(n)
    return (3 * 4 * d + 120) * n + 4 * block * (block + 2 * d)


@dataclass
class _Problem:
    """The coordinates that are still worked on: their ``index`` in the whole problem, and their part of every array."""

    index: NDArray[np.int64]
    columns: NDArray[np.float32]
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
    """Rows of K, float32, in a fixed amount of memory: the first ones that are computed, until it is full.

    Rows are not replaced: blocks are drawn at random, so all rows are equally likely to be needed again. `compact`
    makes room for more.
    """

    def __init__(
        self, kernel: Kernel, columns: NDArray[np.float32], size: int, storage: NDArray[np.float32] | None = None
    ) -> None:
        n = columns.shape[1]
        # Pages that are never written take no memory.
        self.storage = np.empty(min(size // 4, n * n), np.float32) if storage is None else storage
        self._kernel = kernel
        self._set_width(columns)

    def _set_width(self, columns: NDArray[np.float32]) -> None:
        n = columns.shape[1]
        slots = min(len(self.storage) // n, n)
        self._columns = columns
        self.rows = self.storage[: slots * n].reshape(slots, n)
        self.slot_of = np.full(n, -1, np.int64)  # −1 for rows that are not in the cache
        self.owner = np.empty(0, np.int64)

    def add_rows(self, indices: NDArray[np.int64], weights: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
        """``sums`` += Σᵢ wᵢKᵢ over the different rows ``indices``."""
        known = self.slot_of[indices] >= 0
        add_known_rows(self.rows, self.slot_of[indices[known]], weights[known], sums)
        new, weights = indices[~known], weights[~known]
        kept = new[: len(self.rows) - len(self.owner)]
        self.slot_of[kept] = np.arange(len(self.owner), len(self.owner) + len(kept))
        self.owner = np.append(self.owner, kept)
        points = np.ascontiguousarray(self._columns[:, new].T)
        add_kernel_rows(self._kernel, self._columns, points, weights, self.rows, self.slot_of[new], sums)

    def compact(self, keep: NDArray[np.int64], columns: NDArray[np.float32]) -> None:
        """Keep only the points ``keep``, with ``columns`` as their X′: the cached rows become shorter."""
        owner, old = self.owner, self.rows
        new_index = np.full(len(self.slot_of), -1)
        new_index[keep] = np.arange(len(keep))
        survivors = np.flatnonzero(new_index[owner] >= 0)
        self._set_width(columns)
        _shorten(old, survivors, keep, self.storage)
        self.owner = new_index[owner[survivors]]
        self.slot_of[self.owner] = np.arange(len(survivors))


class _Violation(NamedTuple):
    """The largest −F of coordinates that may grow, the largest F of those that may fall, the places of both, and the
    violation of optimality."""

    up: float
    down: float
    most_up: int
    most_down: int
    gap: float


def _violation(problem: _Problem, bias: bool) -> _Violation:
    up, down, most_up, most_down = _largest_violations(problem.gradient, problem.moves)
    return _Violation(up, down, most_up, most_down, _gap(up, down, bias))


def _block_size(n: int) -> int:
    return min(n, LARGEST_BLOCK, max(SMALLEST_BLOCK, n // BLOCKS))


def _draw_block(problem: _Problem, violation: _Violation, bias: bool, rng: Generator) -> NDArray[np.int64]:
    """The worst coordinate that may grow, the worst that may fall, and a random choice of other violators; sorted."""
    gradient, moves = problem.gradient, problem.moves
    centre = (violation.down - violation.up) / 2 if bias else 0.0  # both sides approach it
    least = VIOLATORS * (violation.gap / 2 if bias else violation.gap)
    growing = np.flatnonzero((moves & UP > 0) & (gradient < centre - least))
    falling = np.flatnonzero((moves & DOWN > 0) & (gradient > centre + least))
    half = _block_size(len(gradient)) // 2
    drawn = [rng.choice(some, half, replace=False) if len(some) > half else some for some in (growing, falling)]
    return np.unique(np.concatenate([*drawn, [violation.most_up, violation.most_down]]))


def _descend(
    problem: _Problem, block: NDArray[np.int64], cache: RowCache, kernel: Kernel, ridge: float, bias: bool,
    enough: float,
) -> int:  # fmt: skip
    """Take steps in the block until its violation is ``enough``, and update all of F. Returns the number of steps."""
    points = np.ascontiguousarray(problem.columns[:, block].T)
    K = np.empty((len(block), len(block)), np.float32)
    kernel_rows(kernel, np.ascontiguousarray(points.T), points, K)
    F, beta, moves = problem.gradient[block], problem.beta[block], problem.moves[block]
    alike = kernel.unit_diagonal
    Q = (np.ones(len(block)) if alike else K.diagonal().astype(np.float64)) + ridge
    steps = _run(F, beta, problem.y[block], moves, K, Q, alike, ridge, bias, enough, STEPS_A_COORDINATE * len(block))
    change = beta - problem.beta[block]
    problem.beta[block], problem.moves[block] = beta, moves
    problem.gradient[block] += ridge * change
    moved = np.flatnonzero(change)
    cache.add_rows(block[moved], change[moved], problem.gradient)
    return steps


@compiled()
def _gap(up, down, bias):
    """The violation of optimality, from the largest −F of coordinates that may grow, and the largest F of those that
    may fall."""
    return up + down if bias else max(up, down)


def _may_still_move(problem: _Problem, violation: _Violation, bias: bool) -> NDArray[np.bool_]:
    """The mask of coordinates without those at 0 that would form a pair with no violator."""
    only_up, only_down = problem.moves == UP, problem.moves == DOWN
    highest, lowest = (violation.down, -violation.up) if bias else (violation.gap, -violation.gap)
    return ~((only_up & (problem.gradient > highest)) | (only_down & (problem.gradient < lowest)))


def _write_back(whole: _Problem, active: _Problem) -> None:
    for name in ("beta", "gradient", "moves"):
        getattr(whole, name)[active.index] = getattr(active, name)


def _revive(whole: _Problem, active: _Problem, kernel: Kernel) -> None:
    """Write back the active coordinates, and compute the gradients of the others, which are 0."""
    _write_back(whole, active)
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
    if bias:  # at the optimum F = −b if β ≠ 0
        support = beta != 0
        b = -float(F[support].mean()) if support.any() else 0.0
    objective = 0.5 * float(beta @ (F - y))
    return DualSolution(beta, b, F + y - ridge * beta + b, objective, steps)


@compiled()
def _shorten(rows, survivors, keep, storage):
    """Write rows[survivors][:, keep] to the front of ``storage``, which contains ``rows``; writes never pass reads."""
    m = len(keep)
    buffer = np.empty(m, np.float32)
    for place in range(len(survivors)):
        row = rows[survivors[place]]
        for k in range(m):
            buffer[k] = row[keep[k]]
        for k in range(m):  # a slice takes numba 1.5 s more to compile, for the words of its error
            storage[place * m + k] = buffer[k]


@compiled(fastmath={"contract", "nnan", "nsz"})
def _run(F, beta, y, moves, K, Q, alike, ridge, bias, enough, most_steps):
    """Take steps until the violation is ``enough``, and return their number. Q is the diagonal of K + I/(2C), ``alike``
    whether its entries are equal."""
    for step_number in range(most_steps):
        up, down, i, most_down = _largest_violations(F, moves)
        if _gap(up, down, bias) < enough:
            return step_number
        if not bias and down > up:
            i = most_down
        row_i = K[i]
        j = _best_partner(F, moves, row_i, i, Q, alike, bias)
        row_j = K[j]
        if bias:
            step = (F[j] - F[i]) / (Q[i] + Q[j] - 2.0 * row_i[j])
            if y[i] < 0.0:
                step = min(step, -beta[i])
            if y[j] > 0.0:
                step = min(step, beta[j])
            new_i, new_j = beta[i] + step, beta[j] - step
        else:
            new_i, new_j = _pair_optimum(y[i], y[j], beta[i], beta[j], F[i], F[j], Q[i], Q[j], row_i[j])
        delta_i, delta_j = new_i - beta[i], new_j - beta[j]
        beta[i], beta[j] = new_i, new_j
        for k in (i, j):
            moves[k] = UP | DOWN if beta[k] != 0.0 else (UP if y[k] > 0.0 else DOWN)
        for k in range(len(F)):
            F[k] += delta_i * row_i[k] + delta_j * row_j[k]
        F[i] += ridge * delta_i
        F[j] += ridge * delta_j
    return most_steps


@compiled(fastmath={"contract", "nnan", "nsz"})
def _largest_violations(F, moves):
    """The largest −F of coordinates that may grow, the largest F of those that may fall, and their places."""
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
    while tile_up < n - 1 and not (moves[tile_up] & UP and -F[tile_up] == best_up):
        tile_up += 1
    while tile_down < n - 1 and not (moves[tile_down] & DOWN and F[tile_down] == best_down):
        tile_down += 1
    return best_up, best_down, tile_up, tile_down


@compiled(fastmath={"contract", "nnan", "nsz"})
def _best_partner(F, moves, row, i, Q, alike, bias):
    """The coordinate that, moved together with i, decreases the objective most, to second order."""
    n = len(F)
    g, q = F[i], Q[i]
    values = np.empty(TILE)
    best, partner = -1.0, -1
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        gradients, allowed, kernel = F[start : start + size], moves[start : start + size], row[start : start + size]
        diagonal = Q[start : start + size]
        highest = -1.0
        if bias:
            for k in range(size):
                b = gradients[k] - g
                gain = b * b / (0.5 * (q + diagonal[k]) - kernel[k])
                values[k] = gain if (allowed[k] & DOWN) and b > 0.0 else -1.0
                highest = max(highest, values[k])
        elif alike:
            for k in range(size):
                h, c = gradients[k], float(kernel[k])
                determinant = q * q - c * c
                direction = c * g - q * h
                gain = (q * (g * g + h * h) - 2.0 * c * g * h) / determinant
                values[k] = gain if allowed[k] & (UP if direction > 0.0 else DOWN) else -1.0
                highest = max(highest, values[k])
        else:
            for k in range(size):
                h, c, r = gradients[k], float(kernel[k]), diagonal[k]
                determinant = q * r - c * c
                direction = c * g - q * h
                gain = (r * g * g + q * h * h - 2.0 * c * g * h) / determinant
                values[k] = gain if allowed[k] & (UP if direction > 0.0 else DOWN) else -1.0
                highest = max(highest, values[k])
        if highest > best:
            for k in range(size):
                if values[k] > best and start + k != i:
                    best, partner = values[k], start + k
    # If no other coordinate may move, any one serves as the partner, and does not move.
    return partner if partner >= 0 else (i + 1) % n


@compiled()
def _pair_optimum(y_i, y_j, beta_i, beta_j, F_i, F_j, q, r, c):
    """The optimum of the objective over βᵢ and βⱼ, with the signs of yᵢ and yⱼ or 0; q and r are their diagonal
    entries."""
    s = y_i * y_j * c
    a, b, G, H = y_i * beta_i, y_j * beta_j, y_i * F_i, y_j * F_j
    determinant = q * r - s * s
    best_a, best_b = a - (r * G - s * H) / determinant, b - (q * H - s * G) / determinant
    if best_a < 0.0 or best_b < 0.0:
        lone_b = max(0.0, b - (H - s * a) / r)  # with a = 0
        lone_a = max(0.0, a - (G - s * b) / q)  # with b = 0
        if _change(-a, lone_b - b, G, H, q, r, s) < _change(lone_a - a, -b, G, H, q, r, s):
            best_a, best_b = 0.0, lone_b
        else:
            best_a, best_b = lone_a, 0.0
    return y_i * best_a, y_j * best_b


@compiled()
def _change(da, db, G, H, q, r, s):
    return G * da + H * db + 0.5 * (q * da * da + r * db * db) + s * da * db


def warm_up(kernel: Kernel) -> None:
    """Compile the kernels, or load them from numba's cache, before timing."""
    X, y = np.array([[0.0], [0.1], [0.2]]), np.array([1.0, -1.0, 1.0])
    kernel = kernel.without_lengths()
    solution = solve_squared_hinge(X, y, kernel, C=1.0, bias=True, tolerance=0.1, cache_bytes=0)
    single = X.astype(np.float32)
    RowCache(kernel, single.T.copy(), 0).compact(np.arange(2), single[:2].T.copy())
    for points in (X, single):
        kernel_product(kernel, points.T.copy(), solution.coefficients[:, None], points)
