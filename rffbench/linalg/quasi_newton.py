"""Several smooth convex functions minimised together by L-BFGS: one call evaluates all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

PAIRS = 8  # steps, with the changes of the gradient, that a direction takes into account
VECTORS = 2 * PAIRS + 8  # arrays of the size of X that `minimise_together` holds
SUFFICIENT = 1e-4  # Armijo's constant: the share of the slope by which a step must lower the function
SHORTEST = 1e-12  # of a direction: a step that is not even then lower is lost in rounding


class Minima(NamedTuple):
    """The points X (m, q), the functions' values (m,), the steps taken (m,), and whether each has converged (m,)."""

    X: Array
    values: Array
    steps: Numbers
    converged: NDArray[np.bool_]

    @classmethod
    def empty(cls, m: int, q: int) -> Minima:
        """Room for those of m functions of q numbers, all at 0."""
        return cls(np.zeros((m, q)), np.full(m, np.inf), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool))

    def put(self, numbers: Numbers, found: Minima) -> None:
        """Set those of the functions ``numbers``."""
        for each, of_some in zip(self, found, strict=True):
            each[numbers] = of_some


def minimise_together(
    evaluate: Callable[[Numbers, Array], tuple[Array, Array]], start: Array,
    precondition: Callable[[Numbers, Array], Array], *,
    tolerance: float, promise: float, most_steps: int, rounding: float,
) -> Minima:  # fmt: skip
    """Minimise m functions of q numbers each, from the rows of ``start`` (m, q).

    ``evaluate(numbers, X)`` is the values and the gradients of the functions of these ``numbers`` at the rows of X;
    ``precondition(numbers, G)`` multiplies each row of G by an approximate inverse of its function's Hessian. A
    function is done if no entry of its gradient exceeds ``tolerance`` and its next step promises, by its slope, to
    lower it by at most ``promise`` of its value; or if it promises less than ``rounding`` of it. Each call evaluates
    one trial of every function that is not done: after one that is not low enough its step is shortened, without
    waiting for the others.

    The directions are those of L-BFGS (J. Nocedal, "Updating quasi-Newton matrices with limited storage", 1980), which
    begins with the preconditioner, scaled to the last change of the gradient.
    """
    m = len(start)
    X, D, length, slope = start.copy(), np.empty_like(start), np.ones(m), np.zeros(m)
    history = _History(start.shape)
    steps, converged, running = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool), np.ones(m, dtype=bool)
    fresh = np.arange(m)  # at a new point, without a direction
    values, G = evaluate(fresh, X)
    while True:
        D[fresh] = -history.times_inverse(fresh, G[fresh], precondition)
        slope[fresh], length[fresh] = _dots(D[fresh], G[fresh]), 1.0
        promised = -0.5 * slope[fresh]
        small = np.abs(G[fresh]).max(axis=1) <= tolerance
        converged[fresh] = (small & (promised <= promise * values[fresh])) | (promised <= rounding * values[fresh])
        running[fresh] = ~converged[fresh] & (steps[fresh] < most_steps)
        at = np.flatnonzero(running)
        if not len(at):
            return Minima(X, values, steps, converged)
        trial = X[at] + length[at, None] * D[at]
        found, gradients = evaluate(at, trial)
        lower = found <= values[at] + SUFFICIENT * length[at] * slope[at] + rounding * values[at]
        fresh = at[lower]
        history.add(fresh, trial[lower] - X[fresh], gradients[lower] - G[fresh], rounding)
        short = at[~lower]
        length[short] *= _shorter(values[short], found[~lower], length[short] * slope[short])
        lost = short[length[short] < SHORTEST]
        running[lost], converged[lost] = False, np.abs(G[lost]).max(axis=1, initial=0.0) <= tolerance
        X[fresh], values[fresh], G[fresh] = trial[lower], found[lower], gradients[lower]
        steps[fresh] += 1


class _History:
    """The last steps s and changes y of the gradient of each of m functions of q numbers, and 1/sᵀy."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._S, self._Y = np.zeros((PAIRS, *shape)), np.zeros((PAIRS, *shape))
        self._rho = np.zeros((PAIRS, shape[0]))  # 0: no such step yet, which changes nothing
        self._added = np.zeros(shape[0], dtype=np.int64)

    def add(self, numbers: Numbers, S: Array, Y: Array, rounding: float) -> None:
        """Add a step of each of the functions ``numbers``, unless rounding decides the sign of sᵀy."""
        along = _dots(S, Y)
        sure = along > rounding * np.sqrt(_dots(S, S) * _dots(Y, Y))
        kept = numbers[sure]
        place = self._added[kept] % PAIRS, kept
        self._S[place], self._Y[place], self._rho[place] = S[sure], Y[sure], 1 / along[sure]
        self._added[kept] += 1

    def times_inverse(self, numbers: Numbers, G: Array, precondition: Callable[[Numbers, Array], Array]) -> Array:
        """The approximate inverse Hessian of each of the functions ``numbers``, times its row of G."""
        Q, shares = G.copy(), []
        most = min(PAIRS, int(self._added[numbers].max(initial=0)))
        places = [((self._added[numbers] - 1 - back) % PAIRS, numbers) for back in range(most)]
        for place in places:
            share = self._rho[place] * _dots(self._S[place], Q)
            Q -= share[:, None] * self._Y[place]
            shares.append(share)
        Q = precondition(numbers, Q)
        if most:
            Y, rho = self._Y[places[0]], self._rho[places[0]]
            Q /= np.where(rho > 0, rho * _dots(Y, precondition(numbers, Y)), 1.0)[:, None]
        for place, share in zip(places[::-1], shares[::-1], strict=True):
            Q += (share - self._rho[place] * _dots(self._Y[place], Q))[:, None] * self._S[place]
        return Q


def _shorter(values: Array, found: Array, slope: Array) -> Array:
    """The factor of the step to the minimum of the parabola through ``values``, of this ``slope``, and ``found``."""
    with np.errstate(over="ignore", invalid="ignore"):
        factor = -slope / (2 * (found - values - slope))
    return np.clip(np.nan_to_num(factor, nan=0.1), 0.1, 0.5)


def _dots(A: Array, B: Array) -> Array:
    """The products of the rows of A with those of B."""
    return np.asarray(np.einsum("ij,ij->i", A, B))
