"""Base of the estimators that solve ridge by preconditioned conjugate gradients.

The problems of a cross-validation, for each held-out fold and for all rows, at each λ and target, are columns of one
block. A step multiplies all that are not solved yet in one pass over the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rffbench.arguments.parameters import WrongParameter, check_choice, check_count, check_memory, check_positive
from rffbench.arguments.rowsource import InDouble, Stopwatch
from rffbench.arguments.seeds import RandomState
from rffbench.errors import Fallback, MemoryBudgetError
from rffbench.features.hooks import makes_sparse
from rffbench.linalg.conjugate_gradients import NotPositive, conjugate_gradients
from rffbench.linalg.threads import blas_for
from rffbench.solvers.base import Classifier, LambdaScale, less_origin, mean_test_error, no_singular
from rffbench.solvers.iterative.blocks import BlockedTiles
from rffbench.solvers.iterative.budget import FEWEST_PASSES, Budget, Clock
from rffbench.solvers.iterative.features import FeatureSystem
from rffbench.solvers.iterative.problems import Columns, Problems
from rffbench.solvers.iterative.system import System
from rffbench.solvers.iterative.tiles import SparseTiles, Tiles
from rffbench.solvers.ridge.fold_statistics import cv_results
from rffbench.solvers.ridge.settings import (
    Blocks,
    Center,
    Scoring,
    check_blocks,
    check_folds,
    check_penalties,
    check_scoring,
)

Numbers = NDArray[np.float64]
CHOOSING = 1e-5  # the tolerance of fits that only choose λ
RANK = 1000  # of a preconditioner, by default
READ_BYTES = {8: 16, 4: 24}
"""What a number of a row takes while a tile is mapped, by the bytes of a number: float32 rows are converted too."""
VECTORS = 8  # conjugate gradients hold this many arrays of the size of the right sides
ROUND = 1e-3  # of the residual is what a round of refinement leaves: less would be rounding in float32
STALLED = 0.25  # a round of refinement that leaves more of the residual is the last one with products in float32
SLACK = 2.0  # the residual, computed again at the end, may be this many times the tolerance


class Refined(NamedTuple):
    """The solutions X; the held-out errors (alphas, folds); of each column the relative residual in the norm of the
    preconditioner, and in the Euclidean one; the number of steps; whether the budget ended them."""

    X: Numbers
    errors: Numbers
    left: Numbers
    plain: Numbers
    steps: int
    early: bool


def power_of_two(V: Numbers) -> Numbers:
    """Of each column of V (n, t) a power of 2, (t,), above its numbers by a factor of 2 at most; of zeros, 1. Divided
    by it, a column is in the range of float32, with the same digits."""
    return np.ldexp(1.0, np.frexp(np.abs(V).max(axis=0, initial=0))[1])


class IterativeRidge:
    """Base of the estimators. A subclass implements ``_begin``, which makes the `System`, and ``_map``, the map to the
    columns of ``coef_``."""

    blocks: Blocks = None
    reorthogonalize: bool = False
    timing_: dict[str, float]
    _eval_set: tuple[Any, Any] | None = None
    _passes: int
    _y_origin: Numbers  # subtracted from the targets

    def __init__(
        self, alphas: Sequence[float], *, folds: int, lambda_scale: LambdaScale, center: Center, scoring: Scoring,
        budget: Mapping[str, Any] | None, record: bool, memory: int | None, random_state: RandomState,
    ) -> None:  # fmt: skip
        self.alphas = alphas
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.center = center
        self.scoring = scoring
        self.budget = budget
        self.record = record
        self.memory = memory
        self.random_state = random_state

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_penalties(self.alphas, self.lambda_scale, self.center)
        for alpha in self.alphas:
            check_positive("alphas", alpha)
        check_count("folds", self.folds, least=2)
        check_scoring(self.scoring, "classification" if isinstance(self, Classifier) else "regression")
        check_choice("record", self.record, (True, False))
        check_choice("reorthogonalize", self.reorthogonalize, (True, False))
        check_blocks(self.blocks)
        check_memory(self.memory)
        Budget.of(self.budget)

    def fit(self, X: Any, y: Any, eval_set: tuple[Any, Any] | None = None) -> Any:
        """Fit to y, values (n,) or (n, t), or labels (n,). X: (n, d) array, or a lazy array with shape, dtype and row
        slices. With ``record``, 'test_error' of ``curves_`` is measured on ``eval_set``, rows and targets."""
        self._eval_set = eval_set
        try:
            self._fit_targets(*self._targets(X, y))  # type: ignore[attr-defined]
        finally:
            del self._eval_set
        return self

    @property
    def _problems(self) -> int:
        """The number of systems that a fit to one target solves: each held-out fold, and all rows, at each λ."""
        return (self.folds + 1) * len(self.alphas) if len(self.alphas) > 1 else 1

    def _count(self) -> None:
        """Count a pass over the rows."""
        self._passes += 1

    def _begin(self, X: Any, Y: Numbers, y: NDArray, problems: Problems) -> System:
        raise NotImplementedError

    def _map(self, dtype: Any) -> Any:
        raise NotImplementedError

    def _tiles(self, X: Any, columns: int) -> Tiles:
        """The features of X, with passes in this process or by workers."""
        features = self._map(X.dtype)
        of = SparseTiles if makes_sparse(features) else BlockedTiles if self.blocks else Tiles
        return of(X, features, columns)

    def _in_double(self, system: System, X: Any) -> System:
        """``system`` with products in float64, if they are in float32, for residuals; else ``system`` itself."""
        if not isinstance(system, FeatureSystem) or isinstance(system.tiles, SparseTiles):
            return system
        if system.tiles.dtype == np.float64:
            return system
        return system.with_tiles(self._tiles(InDouble(X), system.tiles.p))

    def _fit_targets(self, X: Any, Y: Numbers, y: NDArray) -> None:
        self.check_parameters()
        check_folds(self.folds, self.alphas, X.shape[0])
        budget, elapsed = Budget.of(self.budget), Clock()
        tolerance, warning = budget.within(X.dtype)
        if warning:
            warnings.warn(warning, Fallback, stacklevel=3)
        self._y_origin = self._target_origin(Y)  # type: ignore[attr-defined]
        problems = Problems(less_origin(Y, self._y_origin), self.alphas, self.folds, self.lambda_scale, self.center)
        self.timing_, self._passes = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}, 0
        for name in ("features_", "curves_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        with Stopwatch(X) as whole, no_singular():
            system = self._begin(X, Y, y, problems)
            fewest = self._passes + system.passes_before + FEWEST_PASSES
            exact = self._in_double(system, X) if fewest <= budget.passes else system
            self._solve(system, exact, problems, budget, tolerance, elapsed, single=y.ndim == 1 and Y.shape[1] == 1)
        self.timing_["feature_s"] += system.feature_s
        self.timing_["gram_s"] += system.precondition_s
        self.timing_["solve_s"] = max(0.0, whole.seconds - sum(self.timing_.values()))

    def _solve(
        self, system: System, exact: System, problems: Problems, budget: Budget, tolerance: float, elapsed: Clock, *,
        single: bool,
    ) -> None:  # fmt: skip
        last = problems.fold == problems.folds
        wanted = np.where(last, tolerance, max(tolerance, CHOOSING))
        history: list[dict[str, Any]] = []
        X, errors, left, plain, steps, early = self._refined(system, exact, problems, wanted, budget, elapsed, history)
        best = int(np.argmin(errors.mean(axis=1))) if problems.folds else 0
        columns = problems.of_all_rows(best)
        relevant = np.append(columns, np.flatnonzero(~last))
        if (left[relevant] > SLACK * wanted[relevant]).any():
            self._warn(problems, left, wanted, relevant, early=early)
        coef, intercept = exact.solution(X, columns)
        intercept = intercept + self._y_origin
        self.coef_ = coef[:, 0] if single else coef.T
        self.intercept_ = float(intercept[0]) if single else intercept
        self.alpha_ = problems.alphas[best]
        self.cv_results_ = cv_results(problems.alphas, errors)
        self.n_iter_ = max(1, steps)
        self.metrics_ = {
            "model_size": float(len(coef)), "passes": float(self._passes), "residual": float(left[columns].max()),
            "residual_norm": float(plain[columns].max()),
        }  # fmt: skip
        if self.record:
            self.curves_ = {name: [_of(row[name], best) for row in history] for name in (history or [{}])[0]}

    def _refined(
        self, system: System, exact: System, problems: Problems, wanted: Numbers, budget: Budget, elapsed: Clock,
        history: list[dict[str, Any]],
    ) -> Refined:  # fmt: skip
        """Solve the equations of ``exact`` by conjugate gradients with the products of ``system``. If these are less
        precise, the residual is computed with those of ``exact``, and solved for in the same way, until it is small
        enough: iterative refinement. Where ``system`` is too far from ``exact`` for that, ``exact`` goes on alone."""
        stopped = [elapsed.seconds, 0.0]  # when the last step ended, and how long it took

        def late(now: float) -> bool:  # the budget includes a last pass, which computes the residual again
            return budget.seconds is not None and now + 2 * stopped[1] > budget.seconds

        def after_step(step: Numbers, part: Numbers) -> bool:
            now = elapsed.seconds
            stopped[:] = now, now - stopped[0]
            with elapsed:
                self._record(exact, problems, X + scale * step[0], left * part[0], now, history)
            return late(now)

        rest, X, steps, multiply = exact.right, np.zeros(()), 0, system.multiply
        left = np.ones(len(problems))
        while True:
            least, before = self._passes + system.passes_before, left
            scale = 1.0 if exact is system else power_of_two(rest)
            target = wanted if multiply == exact.multiply else np.maximum(wanted, ROUND * left)
            try:
                with blas_for(float(rest.size) * RANK):
                    found = conjugate_gradients(
                        multiply, rest / scale, tolerance=target / np.maximum(left, target),
                        most_steps=max(1, budget.passes - least - 1), precondition=system.precondition,
                        dots=system.dots, after_step=after_step, reorthogonalize=self.reorthogonalize,
                    )  # fmt: skip
            except NotPositive as error:
                if multiply != exact.multiply:  # rounding in float32 may be the cause
                    multiply = exact.multiply
                    continue
                raise ValueError(self._not_positive(error, problems)) from error
            X, steps = X + scale * found.X[0], steps + found.steps
            product, errors = exact.judge(X, self.scoring)
            rest = exact.right - product
            left, plain = (
                np.divide(size, whole, out=np.zeros(len(size)), where=whole > 0)
                for size, whole in zip(exact.norms(rest), exact.norms(exact.right), strict=True)
            )
            early, far = bool((before * found.left[0] > target).any()), left > SLACK * wanted
            spent = late(elapsed.seconds) or self._passes + 2 > budget.passes
            stalled = (left[far] > STALLED * before[far]).any()
            if exact is system or early or spent or not far.any() or (stalled and multiply == exact.multiply):
                return Refined(X, errors, left, plain, steps, early)
            if stalled:
                multiply = exact.multiply

    def _record(
        self, system: System, problems: Problems, X: Numbers, left: Numbers, now: float, history: list[dict[str, Any]]
    ) -> None:
        """Add a step to ``history``, with the numbers of every λ."""
        if not self.record:
            return
        of = [problems.of_all_rows(alpha) for alpha in range(len(problems.alphas))]
        row: dict[str, Any] = {"passes": float(self._passes), "time": now}
        row["residual"] = [float(left[columns].max()) for columns in of]
        if self._eval_set is not None:
            rows, y = self._eval_set
            rows = self._validated(rows)  # type: ignore[attr-defined]
            solutions = [system.solution(X, columns) for columns in of]
            outputs = self._apply(rows, np.hstack([coef for coef, _ in solutions]))
            outputs += np.hstack([intercept + self._y_origin for _, intercept in solutions])
            row["test_error"] = [
                mean_test_error(self, y, outputs[:, at * problems.targets : (at + 1) * problems.targets])
                for at in range(len(of))
            ]
        history.append(row)

    def _warn(self, problems: Problems, left: Numbers, wanted: Numbers, columns: Columns, *, early: bool) -> None:
        worst = columns[np.argmax(left[columns] / wanted[columns])]
        alpha = problems.alphas[problems.alpha[worst]]
        text = f"ridge at lambda={alpha:g} has not converged: the relative residual is {left[worst]:.0e} after "
        text += f"{self._passes} passes, not {wanted[worst]:.0e}; "
        if early:
            text += "give the budget more passes or seconds, or take a larger lambda"
        else:
            text += "rounding prevents a smaller one: take a larger tolerance or lambda"
        warnings.warn(text, ConvergenceWarning, stacklevel=4)

    def _not_positive(self, error: NotPositive, problems: Problems) -> str:
        return f"{error}; take a larger lambda than {min(problems.alphas):g}"

    def _residuals_kept(self, size: int, problems: int) -> int:
        """The bytes of the residuals (size, problems) that ``reorthogonalize`` keeps, if all steps are taken."""
        return 16 * size * problems * min(Budget.of(self.budget).passes, size) if self.reorthogonalize else 0

    def _check_budget(self, what: str, needed: float) -> None:
        if self.memory is not None and needed > self.memory:
            raise MemoryBudgetError(what, int(needed), self.memory)

    def _apply(self, X: Any, coef: Numbers) -> Numbers:
        """The map's features times coef (columns, t), (n, t), block by block."""
        return self._tiles(X, len(coef)).times(coef)

    def _linear(self, X: Any) -> Numbers:
        outputs = self._apply(X, np.atleast_2d(self.coef_).T) + self.intercept_
        return outputs[:, 0] if np.ndim(self.coef_) == 1 else outputs


def check_rank(rank: Any, preconditioner: str) -> None:
    """WrongParameter if the preconditioner cannot have this rank."""
    if rank is None:
        return
    check_count("rank", rank, least=1)
    if preconditioner == "none":
        raise WrongParameter("rank", f"must be null without a preconditioner, got {rank}")


def check_not_sketched(blocks: Blocks, preconditioner: str, others: str) -> None:
    """WrongParameter for a sketch of the rows if workers make the passes, because it is not a sum over their rows."""
    if blocks and preconditioner in ("sketch", "krill"):
        raise WrongParameter("preconditioner", f"must be {others} with blocks: {blocks}, got {preconditioner!r}")


def _of(value: Any, best: int) -> float:
    return float(value[best] if isinstance(value, list) else value)
