"""Logistic regression: the mean losses of several fits in one pass over the rows, and what preconditions them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.sparse import issparse

from rffbench.features.base import not_finite
from rffbench.linalg.quasi_newton import VECTORS, Minima, minimise_together
from rffbench.linalg.threads import in_threads
from rffbench.linalg.triangles import TriangleStack, blas_bytes
from rffbench.linalg.trigonometric import WORTH_A_THREAD
from rffbench.solvers.feature_rows import FeatureRows

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

PARTS = 8  # sums over rows have this many parts for any number of threads, so that results do not depend on it
CHUNK = 1 << 15  # decision values at a time, which stay in a level-2 cache
SPARSE_CHUNK = 1 << 22  # more for a CSR matrix, each part of which is a copy
SAMPLED = 16  # rows per column in the sample that preconditions; with 4, there are half as many passes again
ROWS = 512  # of a sample at a time, enough for products at full speed
ROUNDING = 4  # units in the last place of a loss that decide nothing


class Fits(NamedTuple):
    """Several fits to the same rows: fit i has the penalty (strength_i/2)‖B‖² beside its mean loss, the number of its
    penalty, and leaves out the rows first_i…last_i−1. All are (m,)."""

    strengths: Array
    penalties: Numbers
    first: Numbers
    last: Numbers

    def chosen(self, numbers: Numbers) -> Fits:
        """The fits of these numbers."""
        return Fits(self.strengths[numbers], self.penalties[numbers], self.first[numbers], self.last[numbers])


class LogisticFits:
    """The fits of logistic regression to the rows of Z (n, p), with k columns of B: one for two classes, of which
    ``labels`` (n,) are −1 and 1; else one a class, and ``labels`` are their numbers. The last ``free`` rows of B, those
    of intercepts, have no penalty."""

    def __init__(self, rows: FeatureRows, labels: NDArray, weights: Array, k: int, free: int) -> None:
        self.rows, self.labels, self.weights, self.k = rows, labels, weights, k
        self.penalised = np.ones(rows.p)
        self.penalised[rows.p - free :] = 0

    @staticmethod
    def bytes_of_one(p: int, k: int) -> int:
        """The bytes that each of the fits that are made together needs."""
        return 8 * (VECTORS + PARTS + 2) * p * k

    def minimise(
        self, fits: Fits, start: Array, hessian: HessianAtZero, *, tolerance: float, promise: float, max_iter: int
    ) -> Minima:
        """The minima over B of all ``fits``, from ``start`` (m, k·p), a row of Bᵀ after the other."""

        def evaluate(numbers: Numbers, B: Array) -> tuple[Array, Array]:
            some = fits.chosen(numbers)
            losses, gradients = self.losses(some, B)
            shrunk = some.strengths[:, None] * np.tile(self.penalised, self.k) * B
            return losses + 0.5 * np.einsum("ij,ij->i", shrunk, B), gradients + shrunk

        return minimise_together(
            evaluate, start, lambda numbers, G: hessian.divide(fits.penalties[numbers], G), tolerance=tolerance,
            promise=promise, most_steps=max_iter, rounding=ROUNDING * float(np.finfo(self.rows.dtype).eps),
        )  # fmt: skip

    def losses(self, fits: Fits, B: Array) -> tuple[Array, Array]:
        """Σ wᵢ·lossᵢ/Σ wᵢ of each fit, over all rows but those it leaves out, at its B, a row of (m, k·p), and the
        gradients (m, k·p), in one pass."""
        sums, gradients = self._pass(fits, B, left_out=False, gradient=True)
        with np.errstate(over="ignore"):
            finite = np.isfinite(np.einsum("ij,ij->", gradients, gradients))
        if not finite:
            raise ValueError(not_finite(self.rows.features))
        totals = self.weight(fits, left_out=False)
        return sums / totals, gradients / totals[:, None]

    def left_out_losses(self, fits: Fits, B: Array) -> Array:
        """The mean losses (m,) over the rows that each fit leaves out, in one pass."""
        return self._pass(fits, B, left_out=True, gradient=False)[0] / self.weight(fits, left_out=True)

    def weight(self, fits: Fits, *, left_out: bool) -> Array:
        """The weight of the rows that each fit leaves out, or of those that it is fitted to."""
        out = np.array([self.weights[a:b].sum() for a, b in zip(fits.first, fits.last, strict=True)])
        return out if left_out else self.weights.sum() - out

    def _pass(self, fits: Fits, B: Array, *, left_out: bool, gradient: bool) -> tuple[Array, Array]:
        m, k, p = len(B), self.k, self.rows.p
        parts = 1 if self.rows.sparse else PARTS
        step = max(1, (SPARSE_CHUNK if self.rows.sparse else CHUNK) // (m * k))
        sums, gradients = np.zeros((parts, m)), np.zeros((parts, m * k, p))
        rows_of_B = B.reshape(m * k, p).astype(self.rows.dtype, copy=False)
        columns_of_B = np.ascontiguousarray(rows_of_B.T) if self.rows.sparse else None
        for block, Z, _ in self.rows.visit(np.arange(self.rows.n)):
            count = block.stop - block.start

            def do(first: int, last: int, block: slice = block, Z: NDArray = Z, count: int = count) -> None:
                for part in range(first, last):
                    end = count * (part + 1) // parts
                    for start in range(count * part // parts, end, step):
                        here = slice(start, min(start + step, end))
                        of_all = slice(block.start + here.start, block.start + here.stop)
                        z = Z[here]
                        F = (z @ columns_of_B).T if issparse(z) else rows_of_B @ z.T
                        F = np.ascontiguousarray(F, dtype=np.float64).reshape(m, k, -1)
                        sums[part] += self._loss(F, of_all, self._weights(fits, of_all, left_out))
                        if gradient:
                            R = F.reshape(m * k, -1).astype(z.dtype, copy=False)
                            gradients[part] += (z.T @ R.T).T if issparse(z) else R @ z

            in_threads(do, parts, worthwhile=count * p * m * k > WORTH_A_THREAD)
        return sums.sum(axis=0), gradients.sum(axis=0).reshape(m, k * p)

    def _weights(self, fits: Fits, rows: slice, left_out: bool) -> Array:
        """The weights (m, rows) of these rows in each fit, 0 where it does not count them."""
        at = np.arange(rows.start, rows.stop)
        out = (at >= fits.first[:, None]) & (at < fits.last[:, None])
        return np.where(out == left_out, self.weights[rows], 0.0)

    def _loss(self, F: Array, rows: slice, weights: Array) -> Array:
        """Σ w·loss of each fit for decision values F (m, k, rows), which become the derivatives by them."""
        labels = self.labels[rows]
        if self.k == 1:
            margins = F[:, 0]
            margins *= labels
            small = np.exp(-np.abs(margins))
            losses = np.log1p(small) - np.minimum(margins, 0)
            wrong = np.where(margins > 0, small, 1.0)  # the probability of the other class, once divided
            wrong /= 1 + small
            np.multiply(wrong, -labels * weights, out=margins)
            return np.asarray(np.einsum("ij,ij->i", weights, losses))
        # Sums over classes run along memory, and each number is exponentiated once.
        at = (np.arange(len(F))[:, None], labels[None, :], np.arange(len(labels))[None, :])
        F -= F.max(axis=1, keepdims=True)
        of_own = F[at]
        np.exp(F, out=F)
        total = F.sum(axis=1)
        losses = np.log(total) - of_own
        F *= (weights / total)[:, None, :]
        F[at] -= weights
        return np.asarray(np.einsum("ij,ij->i", weights, losses))


class HessianAtZero:
    """An approximate Hessian for each fit: that of the mean loss at B = 0, which is v·ZᵀWZ/Σw for each class, plus the
    penalty. v = 1/4 for two classes, where no B has a larger Hessian, and (1 − 1/k)/k for k (D. Böhning and
    B. Lindsay, "Monotonicity of quadratic-approximation algorithms", 1988; Böhning, "Multinomial logistic regression
    algorithm", 1992). The fits of all folds share it. ZᵀWZ/Σw is of a sample of the rows, `SAMPLED` a column.

    With ``factored`` it is a Cholesky factor (p, p) per penalty; else only its diagonal is used.
    """

    def __init__(self, fits: LogisticFits, strengths: Array, *, factored: bool) -> None:
        self._k, p = fits.k, fits.rows.p
        self._factors = TriangleStack(len(strengths), p) if factored else None
        sampled = fits.rows.sample(SAMPLED * p)
        weights = fits.weights[sampled]
        weights = weights if weights.any() else np.ones(len(sampled))
        share = (0.25 if fits.k == 1 else (1 - 1 / fits.k) / fits.k) * weights / weights.sum()
        squares = np.zeros(p)
        for part, block, local in fits.rows.visit(sampled):
            for start in range(0, len(local), ROWS):
                here = slice(start, start + ROWS)
                z, root = block[local[here]], np.sqrt(share[part][here])
                if issparse(z) and not factored:
                    squares += z.multiply(z).T @ root**2
                    continue
                Z = (z.toarray() if issparse(z) else z).astype(np.float64, copy=False)  # a copy already
                Z *= root[:, None]
                squares += np.einsum("ij,ij->j", Z, Z)
                if self._factors is not None:
                    self._factors[0].add_gram(Z)
        if not np.isfinite(squares).all():
            raise ValueError(not_finite(fits.rows.features))
        self._diagonals = squares + strengths[:, None] * fits.penalised
        self._diagonals[self._diagonals == 0] = 1.0
        if self._factors is not None:
            self._factor(squares)

    def _factor(self, squares: Array) -> None:
        factors = list(self._factors or [])
        for each in factors[1:]:
            each.copy_from(factors[0])
        try:
            for factor, diagonal in zip(factors, self._diagonals, strict=True):
                # what rounding may make negative, for columns that depend on others
                factor.diagonal[:] = diagonal * (1 + 64 * len(squares) * np.finfo(np.float64).eps)
                factor.cholesky()
        except LinAlgError:
            self._factors = None

    @staticmethod
    def bytes_needed(p: int, penalties: int) -> int:
        """The bytes of the factors, of the rows that are added to them at a time, and of BLAS."""
        return TriangleStack.bytes_needed(penalties, p) + 12 * ROWS * p + blas_bytes(p)

    def divide(self, penalties: Numbers, G: Array) -> Array:
        """The inverse for the penalty of each row of G (m, k·p), times this row."""
        p = self._diagonals.shape[1]
        if self._factors is None:
            return G / np.tile(self._diagonals[penalties], self._k)
        out = np.empty_like(G)
        for number in np.unique(penalties):
            chosen = penalties == number
            solved = self._factors[number].solve(G[chosen].reshape(-1, p).T)
            out[chosen] = solved.T.reshape(-1, self._k * p)
        return out
