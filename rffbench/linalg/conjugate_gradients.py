"""Conjugate gradients for many right sides together, with one matrix product per step for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

Block = NDArray[np.float64]
Columns = NDArray[np.int64]


class NotPositive(LinAlgError):
    """The matrix has an eigenvalue of at most ``eigenvalue``, which is not positive."""

    def __init__(self, eigenvalue: float) -> None:
        super().__init__(f"the matrix is not positive definite: it has an eigenvalue of {eigenvalue:.2g} or below")
        self.eigenvalue = eigenvalue


class Found(NamedTuple):
    """The solutions X (shifts, n, t); ``left``, the relative residuals √(rᵀP⁻¹r/bᵀP⁻¹b), (shifts, t); the number of
    steps."""

    X: NDArray[np.float64]
    left: NDArray[np.float64]
    steps: int


def column_dots(V: Block, R: Block) -> NDArray[np.float64]:
    """vᵀr for each column of V and R (n, t), (t,)."""
    dots: NDArray[np.float64] = np.einsum("ij,ij->j", V, R)
    return dots


def conjugate_gradients(
    multiply: Callable[[Block, Columns], Block], B: Block, shifts: Sequence[float] | NDArray[np.float64] = (0.0,), *,
    tolerance: float | NDArray[np.float64], most_steps: int,
    precondition: Callable[[Block, Columns], Block] | None = None,
    dots: Callable[[Block, Block], NDArray[np.float64]] = column_dots,
    after_step: Callable[[Block, NDArray[np.float64]], bool] | None = None, reorthogonalize: bool = False,
) -> Found:  # fmt: skip
    """Solve (A + cI)x = b for every column b of B (n, t) and every c ≥ 0 of ``shifts`` (m,), A symmetric and positive
    semi-definite, until √(rᵀP⁻¹r) ≤ ``tolerance``·√(bᵀP⁻¹b), r = b − (A + cI)x.

    ``multiply(V, columns)`` is AV for the ``columns`` of B that are not solved yet: each column may have its own
    matrix. ``precondition(R, columns)`` is P⁻¹R; without it P = I. ``tolerance`` is a number, or one per column, (t,).
    ``dots(V, R)`` is vᵀr for each column; with it P⁻¹r, and so the directions and X, may be in other coordinates than
    r, with as many rows or more. ``after_step(X, left)`` is called after each step, and ends the iteration if it
    returns true. If P is nearly A, the norm √(rᵀP⁻¹r) is nearly the error x − x* in the norm of A, which bounds the
    error of predictions.

    Several shifts need P = I. Conjugate gradients run at the smallest shift; the residuals at the others are multiples
    ζ of its residuals (B. Jegerlehner, "Krylov space solvers for shifted linear systems", 1996, Eq. 2.42 to 2.44).
    NotPositive if a direction shows that A + cI is not positive definite.

    In exact arithmetic the residuals are orthogonal, rᵢᵀP⁻¹rⱼ = 0. Rounding undoes that once a part of the solution has
    converged: more steps are needed, and the residual after a given step depends on rounding. ``reorthogonalize``
    subtracts from each residual its components along all earlier ones, twice. It keeps two blocks (n, t) per step.
    """
    shifts, t = np.asarray(shifts, dtype=np.float64), B.shape[1]
    if precondition is not None and len(shifts) > 1:
        raise ValueError("several shifts cannot be preconditioned")
    if reorthogonalize and len(shifts) > 1:
        raise ValueError("several shifts cannot be reorthogonalized")
    seed, least = int(np.argmin(shifts)), float(shifts.min())
    others = [index for index in range(len(shifts)) if index != seed]
    above = (shifts - least)[:, None]
    at = np.arange(t)  # the columns not yet solved; the other arrays keep only these
    residual = B.copy()
    scaled = residual if precondition is None else precondition(residual, at)
    X = np.zeros((len(shifts), *scaled.shape))
    direction = scaled.copy()
    directions = {index: B.copy() for index in others}
    squared = dots(scaled, residual)
    norm = np.sqrt(squared)
    wanted = np.broadcast_to(tolerance, t) * norm
    zeta, before = np.ones((len(shifts), t)), np.ones((len(shifts), t))
    step_before, turn = np.ones(t), np.zeros(t)
    left = np.where(norm > 0, np.ones((len(shifts), t)), 0.0)
    earlier: list[tuple[Block, Block]] = []  # residuals r and P⁻¹r, with rᵀP⁻¹r = 1
    scratch = np.empty_like(scaled)  # for products of blocks, as new memory takes longer than to multiply
    for steps in range(most_steps + 1):
        live = zeta * np.sqrt(squared) > wanted[at]
        if not (keep := live.any(axis=0)).all():
            at, live, zeta, before = at[keep], live[:, keep], zeta[:, keep], before[:, keep]
            residual, direction, squared = residual[:, keep], direction[:, keep], squared[keep]
            scaled, scratch = scaled[:, keep], np.empty((len(scaled), len(at)))
            step_before, turn = step_before[keep], turn[keep]
            directions = {index: each[:, keep] for index, each in directions.items()}
            earlier = [(each[:, keep], of_it[:, keep]) for each, of_it in earlier]
        if not len(at) or steps == most_steps:
            break
        product = multiply(direction, at)
        if least:
            product += np.multiply(least, direction, out=scratch)
        curvature = dots(direction, product)
        if not (curvature > 0).all():
            worst = int(np.argmin(curvature))
            raise NotPositive(float(curvature[worst] / (direction[:, worst] @ direction[:, worst])))
        step = squared / curvature
        below = step * turn * (before - zeta) + before * step_before * (1 + above * step)
        after = np.divide(zeta * before * step_before, below, out=zeta.copy(), where=live)
        shrinks = np.divide(after, zeta, out=np.zeros_like(zeta), where=live)
        columns = at if len(at) < t else slice(None)  # a slice: no copy
        X[seed][:, columns] += np.multiply(step, direction, out=scratch)
        if reorthogonalize:
            size = np.sqrt(squared)
            earlier.append((residual / size, scaled / size))
        residual -= np.multiply(step, product, out=scratch[: len(product)])
        for each, of_it in 2 * earlier:
            residual -= dots(of_it, residual) * each
        scaled = residual if precondition is None else precondition(residual, at)
        new = dots(scaled, residual)
        turn = new / squared
        for index in others:
            if live[index].any():
                X[index][:, at] += (step * shrinks[index]) * directions[index]
                directions[index] *= turn * shrinks[index] ** 2
                directions[index] += after[index] * residual
        direction *= turn
        direction += scaled
        before, zeta, step_before, squared = zeta, after, step, new
        left[:, at] = zeta * np.sqrt(squared) / norm[at]
        if after_step is not None and after_step(X, left):
            steps += 1
            break
    return Found(X, left, steps)
