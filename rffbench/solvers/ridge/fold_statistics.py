"""The statistics of the rows for ridge regression, a Gram triangle and right side per fold, and the solution."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, solve_triangular

from rffbench.arguments.rowsource import Stopwatch
from rffbench.errors import Fallback
from rffbench.linalg.threads import in_threads, side_by_side, thread_count
from rffbench.linalg.triangles import Triangle, TriangleStack, recombine_triangles, sum_triangles
from rffbench.linalg.trigonometric import WORTH_A_THREAD
from rffbench.solvers.ridge.settings import CHOLESKY_FLOOR, Center, Method, RidgeScale, Scoring

Solution: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"
"""(coef (p, t), intercept (t,))"""
Solutions: TypeAlias = "list[Solution | None]"
"""A solution for each alpha; None if the matrix is singular."""
HeldOut: TypeAlias = Callable[[int, Solutions], Sequence[float]]
"""A function of fold k and the solutions without it: their errors on its rows, infinite for None."""

WORTH_A_FACTOR = 256  # from this number of columns on, several matrices are factored at a time

COLUMNS_A_STEP = 32
"""A Cholesky factor of p columns takes p³/3 operations, and as long as p/64 steps of conjugate gradients for one
target, each of which reads some p² numbers."""
FEWEST_STEPS = 32  # if fewer steps take as long, they gain little

LOST = 1e-3  # the share of the target's variance above which rounding of held-out errors is said

SINGULAR = "ZᵀZ plus the penalty of lambda={:g} is not positive definite; take a larger lambda"


@dataclass
class Moments:
    """For rows Z (n, p) and targets y (n, t), the sums that are linear in the columns of Z. With weights, a row counts
    as its weight, and n is their sum."""

    n: float
    right: NDArray[np.float64]  # Zᵀy (p, t)
    sums: NDArray[np.float64]  # Zᵀ1 (p,)
    y_sums: NDArray[np.float64]  # yᵀ1 (t,)
    y_squares: NDArray[np.float64]  # Σ y² (t,)

    @classmethod
    def total(cls, parts: Iterable[Moments]) -> Moments:
        parts = list(parts)
        return cls(
            sum(part.n for part in parts),
            np.sum([part.right for part in parts], axis=0),
            np.sum([part.sums for part in parts], axis=0),
            np.sum([part.y_sums for part in parts], axis=0),
            np.sum([part.y_squares for part in parts], axis=0),
        )


class Statistics(Protocol):
    """The statistics of ``folds`` groups of rows that a solution needs. The matrices of ``work`` and ``gram`` have the
    interface of `rffbench.linalg.triangles.Triangle`."""

    @property
    def folds(self) -> int: ...

    def moments(self, folds: Sequence[int]) -> Moments:
        """The moments of all rows of ``folds``."""
        ...

    def gram(self, folds: Sequence[int], out: Any) -> None:
        """out ← ZᵀZ over the rows of ``folds``."""
        ...

    def multiply(self, fold: int, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z_kᵀZ_k·coef for coef (columns, t), Z_k the rows of ``fold``."""
        ...

    def trace(self, fold: int) -> float:
        """A bound of ‖Z_k‖², the sum of squares of all features of ``fold``."""
        ...

    @property
    def most_steps(self) -> int:
        """The steps of conjugate gradients on all folds that take as long as the folds' Cholesky factors; 0 if they are
        too few to gain."""
        ...

    def work(self, penalties: int, memory: int | None = None) -> Work:
        """The working matrices for this number of penalties, within ``memory`` bytes."""
        ...


class FoldStatistics:
    """The Gram matrices ZᵀZ and right sides Zᵀy of ``folds`` groups of rows, gathered block by block.

    Memory is folds/2·p² numbers, for any number of rows. Sums over folds are computed on demand.
    """

    def __init__(self, columns: int, folds: int, targets: int = 1) -> None:
        self.columns, self.folds, self.targets = columns, folds, targets
        self._grams = TriangleStack(folds, columns)
        self._moments = [
            Moments(0, np.zeros((columns, targets)), np.zeros(columns), np.zeros(targets), np.zeros(targets))
            for _ in range(folds)
        ]

    def add(
        self, fold: int, Z: NDArray, y: NDArray, edges: Sequence[int] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:  # fmt: skip
        """Add the rows Z (rows, columns) with targets y (rows,) or (rows, targets) and ``weights`` to ``fold``.

        float32 features are accumulated in float64. ``edges`` 0, …, columns divides the columns into strips, which are
        added one after another. Returns the seconds of each strip's part of the Gram matrix: the sum up to a strip is
        the time for the columns so far.
        """
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64).reshape(len(Z), self.targets)
        moments = self._moments[fold]
        ones = np.ones(len(y))
        if weights is not None:  # √w in both factors of each product
            ones = np.sqrt(weights)
            Z, y = Z * ones[:, None], y * ones[:, None]
        edges = [0, self.columns] if edges is None else edges
        seconds = np.zeros(len(edges) - 1)
        for index, (start, stop) in enumerate(pairwise(edges)):
            with Stopwatch() as watch:
                self._grams[fold].add_gram_strip(Z, start, stop)
            seconds[index] = watch.seconds
        moments.n += len(Z) if weights is None else float(weights.sum())
        y1 = np.column_stack([y, ones])

        def add_columns(first: int, last: int) -> None:
            products = Z[:, first:last].T @ y1
            moments.right[first:last] += products[:, :-1]
            moments.sums[first:last] += products[:, -1]

        in_threads(add_columns, self.columns, worthwhile=Z.nbytes > WORTH_A_THREAD)
        moments.y_sums += y.sum(axis=0) if weights is None else ones @ y
        moments.y_squares += np.einsum("ij,ij->j", y, y)
        return seconds

    def mix(self, R: NDArray[np.float64]) -> None:
        """Change to the statistics of the columns Z·R⁻ᵀ, R (p, p) lower triangular."""
        for gram, moments in zip(self._grams, self._moments, strict=True):
            gram.mix(R)
            moments.right = solve_triangular(R, moments.right, lower=True)
            moments.sums = solve_triangular(R, moments.sums, lower=True)

    def packed(self, fold: int) -> tuple[NDArray[np.float64], Moments]:
        """A fold's packed Gram triangle and its moments, for another process."""
        return self._grams[fold].packed(), self._moments[fold]

    def set_packed(self, fold: int, gram: NDArray[np.float64], moments: Moments) -> None:
        """Set a fold's Gram triangle and moments, from another process."""
        self._grams[fold].set_packed(gram)
        self._moments[fold] = moments

    def moments(self, folds: Sequence[int]) -> Moments:
        """The moments of all rows of ``folds``."""
        return Moments.total(self._moments[fold] for fold in folds)

    def gram(self, folds: Sequence[int], out: Triangle) -> None:
        """out ← ZᵀZ over the rows of ``folds``."""
        sum_triangles(out, [self._grams[fold] for fold in folds])

    def multiply(self, fold: int, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z_kᵀZ_k·coef for coef (columns, t), Z_k the rows of ``fold``."""
        return self._grams[fold].multiply(coef)

    def trace(self, fold: int) -> float:
        """‖Z_k‖², Z_k the rows of ``fold``."""
        return float(self._grams[fold].diagonal.sum())

    @property
    def most_steps(self) -> int:
        return most_steps(self.columns, self.folds, self.targets)

    @property
    def finite(self) -> bool:
        """Whether all features so far, and the sums of their squares, are finite."""
        return all(np.isfinite(gram.diagonal).all() for gram in self._grams)

    def recombined(
        self, first: ArrayLike, second: ArrayLike | None = None, a: ArrayLike = 1.0, b: ArrayLike = 0.0
    ) -> RecombinedStatistics:
        """The statistics of the columns a_j·Z[:, first_j] + b_j·Z[:, second_j], without another pass."""
        first = np.ascontiguousarray(first, dtype=np.int64)
        second = first if second is None else np.ascontiguousarray(second, dtype=np.int64)
        a, b = (np.ascontiguousarray(np.broadcast_to(np.asarray(c, np.float64), first.shape)) for c in (a, b))
        return RecombinedStatistics(self, first, second, a, b)

    def spare(self) -> Triangle | None:
        """The unused triangle of the last square, if the number of folds is odd."""
        return self._grams.unused

    def work(self, penalties: int, memory: int | None = None) -> Work:
        """The working triangles for this number of penalties, within ``memory`` bytes."""
        return Work.of_triangles(self.columns, penalties, self.spare(), memory)

    @staticmethod
    def bytes_needed(columns: int, folds: int, targets: int = 1) -> int:
        return TriangleStack.bytes_needed(folds, columns) + 8 * folds * columns * (targets + 1)


@dataclass(frozen=True)
class RecombinedStatistics:
    """A view of ``base`` for new columns Z·T, with at most two non-zeros per column of T."""

    base: FoldStatistics
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    a: NDArray[np.float64]
    b: NDArray[np.float64]

    @property
    def columns(self) -> int:
        return len(self.first)

    @property
    def folds(self) -> int:
        return self.base.folds

    @property
    def targets(self) -> int:
        return self.base.targets

    def spare(self) -> Triangle | None:
        spare = self.base.spare()
        return spare.leading(self.columns) if spare is not None and self.columns <= spare.p else None

    def work(self, penalties: int, memory: int | None = None) -> Work:
        return Work.of_triangles(self.columns, penalties, self.spare(), memory)

    def moments(self, folds: Sequence[int]) -> Moments:
        base = self.base.moments(folds)
        right = self.a[:, None] * base.right[self.first] + self.b[:, None] * base.right[self.second]
        sums = self.a * base.sums[self.first] + self.b * base.sums[self.second]
        return Moments(base.n, right, sums, base.y_sums, base.y_squares)

    def gram(self, folds: Sequence[int], out: Triangle) -> None:
        triangles = [self.base._grams[fold] for fold in folds]
        p = self.columns
        if np.array_equal(self.first, np.arange(p)) and not self.b.any() and np.all(self.a == self.a[0]):
            # The first columns with one factor: no need to look columns up.
            sum_triangles(out, [triangle.leading(p) for triangle in triangles])
            out.scale(float(self.a[0] ** 2))
            return
        recombine_triangles(out, triangles, self.first, self.second, self.a, self.b)

    @property
    def _used(self) -> int:
        """Columns of ``base`` up to the last one that is used."""
        return 1 + int(max(self.first.max(), self.second.max()))

    def multiply(self, fold: int, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z_kᵀZ_k·coef for coef (columns, t), Z_k the rows of ``fold``."""
        lifted = np.zeros((self._used, coef.shape[1]))
        np.add.at(lifted, self.first, self.a[:, None] * coef)
        np.add.at(lifted, self.second, self.b[:, None] * coef)
        product = self.base._grams[fold].leading(self._used).multiply(lifted)
        return self.a[:, None] * product[self.first] + self.b[:, None] * product[self.second]

    def trace(self, fold: int) -> float:
        """A bound of ‖Z_kT‖², Z_k the rows of ``fold``."""
        lengths = np.sqrt(self.base._grams[fold].diagonal)
        return float(np.square(np.abs(self.a) * lengths[self.first] + np.abs(self.b) * lengths[self.second]).sum())

    @property
    def most_steps(self) -> int:
        share = (self.columns / self._used) ** 2  # a step reads the Gram matrices of ``base``
        return most_steps(share * self.columns, self.folds, self.targets)


class Accuracy(NamedTuple):
    """The method of a solution, the smallest alpha that rounding does not hide, and the penalty of alpha = 1."""

    method: Method
    smallest_alpha: float
    unit: float

    @classmethod
    def of(cls, method: Method, least: float, unit: float) -> Accuracy:
        """The accuracy if ``least`` is the smallest penalty that rounding does not hide."""
        return cls(method, float(least / unit) if unit else 0.0, float(unit))


@dataclass
class Solved:
    """The solutions on some rows at several alphas, and their accuracy."""

    solutions: Solutions
    accuracy: Accuracy


@dataclass
class RidgeSolution:
    """Coefficients (p, t) and intercepts (t,) at the chosen ``alpha``; the held-out ``fold_error`` (alphas, folds); the
    accuracy; ``path``: the solutions at every alpha, if requested."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    alpha: float
    fold_error: NDArray[np.float64]
    accuracy: Accuracy
    path: Solutions = field(default_factory=list)

    def for_targets_at(self, origin: NDArray[np.float64]) -> RidgeSolution:
        """The same function for targets that are larger by ``origin`` (t,)."""
        path = [each and (each[0], each[1] + origin) for each in self.path]
        return replace(self, intercept=self.intercept + origin, path=path)


def most_steps(columns: float, folds: int, targets: int) -> int:
    """See `Statistics.most_steps`."""
    steps = int(columns / (COLUMNS_A_STEP * (1 + targets)))
    return steps if folds > 1 and steps >= FEWEST_STEPS else 0


def fold_bounds(n: int, folds: int) -> list[int]:
    """The first row of each fold of n rows, and n. Folds are contiguous, with the sizes of scikit-learn's KFold."""
    sizes = [n // folds + (fold < n % folds) for fold in range(folds)]
    return [0, *np.cumsum(sizes).tolist()]


def penalty(alpha: float, n: float, lambda_scale: RidgeScale, trace: float = np.nan) -> float:
    """The number added to the diagonal: n·λ (Eq. 8 of Liu et al. 2020), λ, or λ times the matrix's ``trace``."""
    return alpha * (n if lambda_scale == "n" else trace if lambda_scale == "trace" else 1.0)


@dataclass
class Work:
    """Working matrices (p, p): ``factors`` for penalties at a time, and ``kept`` for the sum over the training folds,
    which is then computed once for all penalties."""

    factors: list[Any]
    kept: Any | None

    @classmethod
    def of_triangles(cls, p: int, penalties: int, spare: Triangle | None, memory: int | None = None) -> Work:
        """Triangles, one of them ``spare`` if that is given: a factor per thread if there are enough penalties, else
        one for all threads; without ``kept`` if there is no memory for it."""
        threads = thread_count()
        most = threads if threads <= penalties and p >= WORTH_A_FACTOR else 1
        for factors in (most, 1):
            own = factors + (spare is None)
            if memory is None or TriangleStack.bytes_needed(own, p) <= memory:
                stack = TriangleStack(own, p)
                return cls(list(stack)[:factors], spare or stack[factors])
        return cls([spare or TriangleStack(1, p)[0]], None)

    def share_out(self, tasks: Sequence[Callable[[Any], object]], p: int) -> None:
        """Call each task with a factor that no other task uses: several side by side if there are enough tasks, else
        one after another, each in all threads."""
        free = list(self.factors)

        def do(task: Callable[[Any], object]) -> None:
            factor = free.pop()
            task(factor)
            free.append(factor)

        if len(tasks) >= len(free) > 1 or p < WORTH_A_FACTOR:
            side_by_side([partial(do, task) for task in tasks], len(free))
        else:  # all threads work on one matrix
            for task in tasks:
                do(task)


@dataclass(frozen=True)
class Equations:
    """(C + cI)β = b of ridge on the rows of ``folds``: C = ZᵀZ, or with ``center='both'`` ZᵀZ − n·z̄z̄ᵀ."""

    statistics: Statistics
    folds: Sequence[int]
    center: Center
    moments: Moments
    y_mean: NDArray[np.float64]  # (t,), zeros if y is not centred
    z_mean: NDArray[np.float64]  # (p,)
    right: NDArray[np.float64]  # b (p, t)

    @classmethod
    def of(cls, statistics: Statistics, folds: Sequence[int], center: Center) -> Equations:
        moments = statistics.moments(folds)
        y_mean = moments.y_sums / moments.n if center else np.zeros_like(moments.y_sums)
        right = moments.right - np.outer(moments.sums, y_mean)
        return cls(statistics, folds, center, moments, y_mean, moments.sums / moments.n, right)

    def gather(self, out: Any) -> float:
        """out ← C. Returns its trace."""
        self.statistics.gram(self.folds, out)
        if self.center == "both":
            out.add_gram(self.z_mean[None, :], -float(self.moments.n))
        return float(out.diagonal.sum())

    def factor(self, c: float, out: Any) -> None:
        """out, which is C, ← the Cholesky factor of C + cI. LinAlgError if this is singular."""
        out.diagonal[:] += c
        out.cholesky()

    def mean_part(self, V: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """(ZᵀZ − C)V for V (p, t): n·z̄z̄ᵀV, or 0."""
        if self.center != "both":
            return 0.0
        return np.outer(self.moments.n * self.z_mean, self.z_mean @ V)

    def penalty(self, alpha: float, lambda_scale: RidgeScale, trace: float) -> float:
        """c, with the ``trace`` of C."""
        return penalty(alpha, self.moments.n, lambda_scale, trace)

    def accuracy(self, trace: float, lambda_scale: RidgeScale) -> Accuracy:
        return Accuracy.of("cholesky", CHOLESKY_FLOOR * trace, self.penalty(1.0, lambda_scale, trace))

    def solution(self, coef: NDArray[np.float64]) -> Solution:
        """The coefficients with their intercept."""
        return coef, self.y_mean - self.z_mean @ coef if self.center == "both" else self.y_mean


def solve_folds(
    statistics: Statistics, folds: Sequence[int], alphas: Sequence[float], *, lambda_scale: RidgeScale,
    center: Center, work: Work,
) -> Solved:  # fmt: skip
    """(coef, intercept) of ridge on the rows of ``folds`` for each alpha; None if the matrix is singular."""
    equations = Equations.of(statistics, folds, center)
    kept = work.kept if len(alphas) > 1 else None
    trace = np.nan if kept is None else equations.gather(kept)
    solutions: Solutions = [None] * len(alphas)

    def solve(index: int, factor: Any) -> None:
        nonlocal trace
        if kept is None:
            trace = equations.gather(factor)
        else:
            factor.copy_from(kept)
        try:
            equations.factor(equations.penalty(alphas[index], lambda_scale, trace), factor)
        except LinAlgError:
            return
        solutions[index] = equations.solution(factor.solve(equations.right))

    work.share_out([partial(solve, index) for index in range(len(alphas))], len(equations.right))
    return Solved(solutions, equations.accuracy(trace, lambda_scale))


def held_out_mse(statistics: Statistics, fold: int, solutions: Solutions) -> list[float]:
    """Each solution's mean squared error on the rows of ``fold``, from their statistics:
    (y′y − 2β′Z′y + β′Z′Zβ − 2c(y′1 − β′Z′1) + nc²)/n; infinite for None.

    Rounding may make the sum of a nearly perfect solution negative. Then it is the bound of that rounding, which the
    error is below; a `Fallback` warning says so if that is no small part of the target's variance.
    """
    held = statistics.moments([fold])
    results = [np.inf] * len(solutions)
    solved = [(index, solution) for index, solution in enumerate(solutions) if solution is not None]
    if not solved:
        return results
    coefs = np.hstack([coef for _, (coef, _) in solved])
    quadratics = np.einsum("ij,ij->j", coefs, statistics.multiply(fold, coefs))
    for (index, (coef, intercept)), quadratic in zip(solved, np.split(quadratics, len(solved)), strict=True):
        errors = held.y_squares - 2 * np.einsum("ij,ij->j", coef, held.right) + quadratic
        errors += intercept * (held.n * intercept - 2 * (held.y_sums - held.sums @ coef))
        if (errors < 0).any():
            # |β|′|Z′Z||β| is at most ‖Z‖²‖β‖², with ‖Z‖² the trace of Z′Z.
            terms = held.y_squares + held.n * intercept**2 + statistics.trace(fold) * np.square(coef).sum(axis=0)
            bound = np.finfo(np.float64).eps * np.sqrt(len(coef)) * terms
            varies = held.y_squares - held.y_sums**2 / held.n
            if (lost := (errors < 0) & (bound > LOST * varies)).any():
                warnings.warn(
                    f"a held-out error is lost in rounding of up to {(bound / held.n)[lost].max():.0e}, and lambda "
                    "is chosen as if it were that large; center: true, a larger lambda or method: svd keep its digits",
                    Fallback, stacklevel=2,
                )  # fmt: skip
            errors = np.where(errors < 0, bound, errors)
        results[index] = float(errors.mean() / held.n)
    return results


def wrong_rows(outputs: NDArray, Y: NDArray) -> NDArray[np.bool_]:
    """The mask of rows whose label is wrong: the sign of the output, or the largest of several, differs from that of
    the targets Y (rows, t)."""
    if Y.shape[1] == 1:
        return ((outputs > 0) != (Y > 0))[:, 0]
    return outputs.argmax(axis=1) != Y.argmax(axis=1)


def wrong_share(outputs: NDArray, Y: NDArray) -> float:
    """The share of wrong rows."""
    return float(np.mean(wrong_rows(outputs, Y)))


def mean_error(
    outputs: NDArray, Y: NDArray, scoring: Scoring, weights: NDArray[np.float64] | None = None,
) -> float:  # fmt: skip
    """The error that chooses λ, for outputs and targets (rows, t): the mean square, or with ``scoring='accuracy'`` the
    share of wrong labels, weighted by ``weights``."""
    errors = wrong_rows(outputs, Y) if scoring else np.square(outputs - Y).mean(axis=1)
    return float(np.average(errors, weights=weights))


def cross_validate(
    folds: int, alphas: Sequence[float], solve: Callable[[Sequence[int], Sequence[float]], Solved], held_out: HeldOut
) -> NDArray[np.float64]:
    """The held-out error at each alpha on each fold (alphas, folds); (alphas, 0) for one alpha or one fold."""
    if len(alphas) == 1 or folds == 1:
        return np.empty((len(alphas), 0))
    fold_error = np.empty((len(alphas), folds))
    for fold in range(folds):
        solved = solve([other for other in range(folds) if other != fold], alphas)
        fold_error[:, fold] = held_out(fold, solved.solutions)
    return fold_error


def best_solution(
    alphas: Sequence[float], fold_error: NDArray[np.float64], solve: Callable[[Sequence[float]], Solved], *,
    path: bool, at_once: bool = False,
) -> RidgeSolution:  # fmt: skip
    """The solution on all rows, ``solve([alpha])``, at the alpha with the smallest mean held-out error, the first of
    equals; or at the next best alpha, if that one is large enough for every fold, but not for all rows. Without
    held-out errors, at the first alpha. All alphas are solved together for a ``path``, or ``at_once`` if that costs no
    more.

    A `Fallback` warning names each alpha that is passed over because it is too small, and each that rounding hides.
    LinAlgError if no alpha has a solution.
    """
    all_solved = solve(alphas) if path or at_once else None
    order, singular = [0], list[float]()
    if fold_error.shape[1]:
        mean = fold_error.mean(axis=1)
        order = [int(index) for index in np.argsort(mean, kind="stable") if np.isfinite(mean[index])] or [0]
        singular = [alpha for alpha, error in zip(alphas, mean, strict=True) if not np.isfinite(error)]
    for index in order:
        solved = solve([alphas[index]]) if all_solved is None else all_solved
        if (solution := solved.solutions[0 if all_solved is None else index]) is not None:
            for alpha in singular:
                warnings.warn(f"passed over: {SINGULAR.format(alpha)}", Fallback, stacklevel=2)
            for alpha in alphas:
                if alpha < solved.accuracy.smallest_alpha and alpha not in singular:
                    _warn_too_small(alpha, solved.accuracy)
            kept = solved.solutions if path else []
            return RidgeSolution(*solution, float(alphas[index]), fold_error, solved.accuracy, kept)
        singular.append(alphas[index])
    raise LinAlgError(SINGULAR.format(alphas[order[0]]))


def _warn_too_small(alpha: float, accuracy: Accuracy) -> None:
    if accuracy.method == "cholesky":
        effect = f"lost in the rounding of ZᵀZ, below {accuracy.smallest_alpha:.1g}; use method: svd for it"
    elif alpha:
        effect = f"below {accuracy.smallest_alpha:.1g}, where rounding makes it the same as lambda=0"
    else:
        return  # the solution of minimum norm
    warnings.warn(f"lambda={alpha:g} is {effect}", Fallback, stacklevel=3)


def cv_results(alphas: Sequence[float], fold_error: NDArray[np.float64]) -> dict[str, NDArray]:
    """The estimators' ``cv_results_``: 'alpha' (a,), 'fold_test_error' (a, folds), 'mean_test_error' (a,): mean squared
    errors, or shares of wrong labels if these choose."""
    mean = fold_error.mean(axis=1) if fold_error.shape[1] else np.empty(0)
    return {"alpha": np.asarray(alphas), "fold_test_error": fold_error, "mean_test_error": mean}
