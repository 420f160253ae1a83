"""The engine of streamed ridge regression, which never holds the whole feature matrix Z.

β = (ZᵀZ + nλI)⁻¹Zᵀy (Liu et al. 2020, Eq. 8) needs only ZᵀZ and Zᵀy. One pass over the rows sums them for each
cross-validation fold. The Gram matrix to train without a fold is the sum of the others, and the fold's held-out error
follows from its own, so the whole (λ, fold) grid needs no second pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import issparse

from rffbench.arguments.parameters import WrongParameter, check_choice, check_count, check_map, check_memory
from rffbench.arguments.rowsource import Stopwatch, dense_rows, row_blocks
from rffbench.features.base import check_finite, fitted_map, held_bytes, mapped, not_finite
from rffbench.features.hooks import bears_threads, hook, makes_sparse, most_columns
from rffbench.linalg.threads import side_by_side
from rffbench.linalg.triangles import TriangleStack
from rffbench.solvers.base import (
    Classifier,
    Regressor,
    default_block_rows,
    less_origin,
    no_singular,
    read_numbers,
    rows_of,
)
from rffbench.solvers.ridge.cg import solve_sparse_cv
from rffbench.solvers.ridge.cross_validation import solve_ridge_cv
from rffbench.solvers.ridge.dual import solve_dual_cv
from rffbench.solvers.ridge.fold_statistics import (
    FoldStatistics,
    HeldOut,
    RidgeSolution,
    Solutions,
    Solved,
    best_solution,
    cv_results,
    fold_bounds,
    solve_folds,
    wrong_rows,
    wrong_share,
)
from rffbench.solvers.ridge.plan import Plan, Size, check_budget, sparse_plan, streaming_plan
from rffbench.solvers.ridge.settings import (
    Center,
    Method,
    RidgeScale,
    Scoring,
    check_folds,
    check_for_sparse,
    check_method,
    check_penalties,
    check_scoring,
    chosen_method,
)
from rffbench.solvers.ridge.svd import FoldFactors, solve_svd_cv
from rffbench.solvers.ridge.unmixed import Unmixed, UnmixedColumns
from rffbench.solvers.weights import ClassWeight, check_class_weight, class_row_weights, row_weights

MOST_ROWS_READ, NUMBERS_READ = 1 << 16, 1 << 20  # predictions read at most these rows, or numbers, at a time
TILES = 4  # predictions divide a block into these parts for threads
WORTH_UNMIXING = 2  # from this number of rows on, per fold and column, mixing sums is faster than mixing rows
WORTH_THREADS = 1 << 17  # features: fewer are not divided among threads


class Streaming:
    """Base of the estimators: streaming, the choice of strategy, the fit, the linear predictor."""

    lambda_scale: RidgeScale
    center: Center
    features: Any
    block_rows: int | None
    memory: int | None
    method: Method | None = None
    scoring: Scoring = None
    path: bool = False
    accepts_sparse = True

    _weights: NDArray[np.float64] | None = None  # the rows' weights, during a fit
    _origin: NDArray[np.float64] | float = 0.0  # subtracted from the columns if there is an intercept
    _map: Any  # makes the columns that are solved for: ``features_``, or this without equal columns
    _distinct: Any
    _unmixes = True  # whether sums may be over columns before they are mixed
    _root: NDArray[np.float64] | None = None  # R, if they are
    _unmapped: int  # rows that have not been mapped yet
    _again_s: float  # seconds of mapping rows again
    _y_origin: NDArray[np.float64]  # subtracted from the targets
    _statistics: FoldStatistics | FoldFactors | None = None  # of the rows so far, between calls of partial_fit
    _parts: int  # calls of partial_fit so far

    def _grid(self) -> tuple[list[float], int]:
        """The alphas to try, and the number of folds to choose among them."""
        raise NotImplementedError

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_penalties(self._grid()[0], self.lambda_scale, self.center, get_args(RidgeScale))
        check_method(self.method)
        check_scoring(self.scoring, "classification")
        check_choice("path", self.path, (True, False))
        check_memory(self.memory)
        check_map(self.features)
        check_for_sparse(makes_sparse(self.features), self.method, self._grid()[0], self.path)
        if self.block_rows is not None:
            check_count("block_rows", self.block_rows, least=1)

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        """Fit to the targets Y (n, t); ``y`` is for a supervised feature map."""
        alphas, folds = self._begin(X, Y)
        known = int(X.shape[1]) if self.features is None else getattr(self.features, "n_components", None)
        if known is not None:  # to refuse before the map is fitted
            self._plan(self._size(X), known, Y.shape[1], folds, len(alphas))
        self._fit_map(X, Y, y)
        kept = held_bytes(getattr(self, "features_", None)) + self._unmix(X, alphas, folds)
        plan = self._plan(self._size(X), self._columns, Y.shape[1], folds, len(alphas), kept)
        with no_singular():
            solution = self._follow(plan, X, less_origin(Y, self._y_origin), alphas, folds)
        self.timing_["solve_s"] += self._again_s
        self._become(alphas, solution, single=y.ndim == 1 and Y.shape[1] == 1)

    def _begin(self, X: Any, Y: NDArray[np.float64]) -> tuple[list[float], int]:
        """Check parameters and weights before anything is computed, and forget an earlier fit. Returns the alphas and
        the number of folds."""
        self.check_parameters()
        alphas, folds = self._grid()
        n, alphas = X.shape[0], [float(alpha) for alpha in alphas]
        check_folds(folds, alphas, n)
        folds = folds if len(alphas) > 1 else 1
        if self.path and Y.shape[1] > 1:
            raise ValueError(f"path=True is for a single target or two classes, got {Y.shape[1]} targets")
        if self._weights is not None:
            for fold, (start, stop) in enumerate(pairwise(fold_bounds(n, folds))):
                if not self._weights[start:stop].any():
                    raise ValueError(
                        f"the rows of fold {fold + 1} of {folds}, {start} to {stop - 1}, all have weight 0, so alpha "
                        f"cannot be chosen by them: leave such rows out, or shuffle the rows"
                    )
        self.timing_ = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}
        self._unmapped, self._again_s = n, 0.0
        self._y_origin = self._target_origin(Y)  # type: ignore[attr-defined]
        self._map = self._distinct = self._statistics = self._root = None
        return alphas, folds

    def _fit_map(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        if self.features is not None:
            check_budget("fitting the feature map", hook(self.features, "bytes_to_fit"), self.memory)
            with Stopwatch(X) as watch:
                self._take(fitted_map(self.features, X, y, Y))
            self.timing_["feature_s"] += watch.seconds
        self._columns = self._count_columns(X)

    def _unmix(self, X: Any, alphas: list[float], folds: int) -> int:
        """Sum over a map's columns before they are mixed, `UnmixedColumns`, if that is faster, and accurate enough for
        λ. Returns the bytes that this takes."""
        values = hook(getattr(self, "features_", None), "unmixed")
        if values is None or not self._unmixes or self._by_svd:
            return 0
        found = UnmixedColumns(values, self._map.n_components)
        penalty = min(alphas) * (1.0 if self.lambda_scale == 1 else X.shape[0])
        if X.shape[0] < WORTH_UNMIXING * folds * found.n_components or not found.keeps(penalty, X.shape[0]):
            return 0
        self._map, self._distinct, self._root = found, Unmixed(found, found), found.root
        self._columns = found.n_components
        return int(found.root.nbytes)

    def _raw(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients for the columns of blocks, from those of the columns that are solved for."""
        return coef if self._root is None else solve_triangular(self._root, coef, lower=True, trans="T")

    def _become(self, alphas: list[float], solution: RidgeSolution, *, single: bool) -> None:
        """Set the fitted attributes from a solution on the mapped columns, for a single target or several, which were
        given less their origin."""
        solution = solution.for_targets_at(self._y_origin)
        if self._distinct is not None:
            spread = self._distinct.columns.spread
            solution.coef = spread(solution.coef)
            solution.path = [each and (spread(each[0]), each[1]) for each in solution.path]
        self.coef_ = solution.coef[:, 0] if single else solution.coef.T
        self.intercept_ = float(solution.intercept[0]) if single else solution.intercept
        self._learn(alphas, solution)

    def _learn(self, alphas: Sequence[float], solution: RidgeSolution) -> None:
        self.alpha_ = solution.alpha
        self.accuracy_ = solution.accuracy
        self.path_ = list(zip(alphas, solution.path, strict=True)) if self.path else []
        self.cv_results_ = cv_results(alphas, solution.fold_error)

    def _fit_part(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        """Add a share of these rows to each fold, and solve again."""
        alphas, folds = self._grid()
        if makes_sparse(self.features):
            raise WrongParameter(
                "features", "must not be sparse for partial_fit, which keeps ZᵀZ: fit all rows at once"
            )
        if self._statistics is None:
            alphas, folds = self._begin(X, Y)
            if self.scoring and folds > 1:
                raise WrongParameter("scoring", "must be None for partial_fit: the rows are not kept for a second pass")
            self._fit_map(X, Y, y)
            statistics = self._new_statistics(folds, Y.shape[1])
            needed = statistics.bytes_needed(self._columns, folds + 1)
            check_budget(f"ridge on {self._columns} columns", needed, self.memory)
            self._set_origin(X, default_block_rows(self._columns))
            self._statistics, self._parts = statistics, 0
        elif Y.shape[1] != self._statistics.targets:
            raise ValueError(f"y has {Y.shape[1]} targets, and had {self._statistics.targets} in the first part")
        else:
            self._unmapped += X.shape[0]
        statistics, bounds = self._statistics, fold_bounds(X.shape[0], self._statistics.folds)
        # Each part begins at another fold, so that small parts do not all go to the first.
        at = (np.arange(statistics.folds) + self._parts) % statistics.folds
        parts = zip(at.tolist(), bounds[:-1], bounds[1:], strict=True)
        self._gather(statistics, X, less_origin(Y, self._y_origin), list(parts), default_block_rows(self._columns))
        self._parts += 1
        alphas = [float(alpha) for alpha in alphas]
        with Stopwatch() as watch, no_singular():
            solution = self._solve(statistics, alphas)
        self.timing_["solve_s"] += watch.seconds
        self._become(alphas, self._restore_origin(solution), single=y.ndim == 1 and Y.shape[1] == 1)

    def _with_weights(
        self, weights: NDArray[np.float64] | None, targets: tuple[Any, NDArray, NDArray], fit: Callable[..., None]
    ) -> Any:
        """Call ``fit(*targets)`` with weights of the rows, which are kept during the call."""
        self._weights = weights
        try:
            fit(*targets)
        finally:
            del self._weights
        return self

    def _take(self, features: Any) -> None:
        """Use the fitted map ``features``, without equal columns if it can find them."""
        self.features_, self._root = features, None
        distinct = hook(features, "distinct")
        self._distinct = distinct() if distinct is not None else None
        self._map = features if self._distinct is None else self._distinct.features

    def set_features(self, features: Any) -> None:
        """Use the fitted map ``features``, for a solution that is found elsewhere."""
        self._take(features)
        self.n_features_in_ = features.n_features_in_
        self._columns = self._map.n_components
        self.timing_ = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}
        self._unmapped, self._again_s = 0, 0.0

    def set_solution(self, alphas: Sequence[float], solution: RidgeSolution, y: NDArray) -> None:
        """Set the fitted attributes from a solution that was found elsewhere, on the columns of the map of
        `set_features`; y (n,): labels or values."""
        single = solution.coef.shape[1] == 1
        self.coef_ = solution.coef[:, 0] if single else solution.coef.T
        self.intercept_ = float(solution.intercept[0]) if single else solution.intercept
        self._learn(alphas, solution)
        if isinstance(self, Classifier):
            self.classes_ = np.unique(y)

    def collapse(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients of the mapped columns, without equal ones, from those of the columns of ``features_``."""
        return coef if self._distinct is None else self._distinct.columns.collapse(coef)

    def _count_columns(self, X: Any) -> int:
        return int(X.shape[1] if self.features is None else mapped(self._map, X[:1]).shape[1])

    # --- Memory: which strategy fits ---

    def bytes_to_fit(self, n: int, d: int) -> int:
        """About the bytes that a fit to (n, d) rows and one target needs besides the rows."""
        alphas, folds = self._grid()
        columns = d if self.features is None else most_columns(self.features, n)
        plan = self._plan((n, d), columns, 1, folds if len(alphas) > 1 else 1, len(alphas))
        return max(plan.bytes, hook(self.features, "bytes_to_fit"))

    def _plan(self, shape: tuple[int, int], p: int, targets: int, folds: int, alphas: int, kept: int = 0) -> Plan:
        """The plan of a fit within the memory budget. ``shape``: the rows, and the numbers to read per row; p: the
        columns to solve for; ``kept``: the bytes of the fitted map."""
        size = Size(*shape, p, targets, folds, alphas)
        if makes_sparse(self.features) and self._by_cg(size.rows, p):
            return sparse_plan(size, self.features, kept=kept, memory=self.memory)
        return streaming_plan(
            size, self.features, kept=kept, by_svd=self._by_svd, weighted=self._weights is not None,
            block_rows=self.block_rows, memory=self.memory,
        )  # fmt: skip

    def _follow(self, plan: Plan, X: Any, Y: NDArray[np.float64], alphas: list[float], folds: int) -> RidgeSolution:
        """Fit in the way of the plan."""
        fit: Callable[..., RidgeSolution] = getattr(self, f"_fit_{plan.way}")
        return fit(X, Y, alphas, folds, plan.block_rows, plan.work_bytes)

    def _by_cg(self, n: int, p: int) -> bool:
        """Whether conjugate gradients solve for sparse features of n rows and p columns: if ``method`` says so, or if
        it is None and ZᵀZ would have more numbers than Z."""
        return p * p > most_columns(self.features, n) if self.method is None else self.method == "cg"

    def _size(self, X: Any) -> tuple[int, int]:
        """The number of X's rows, and of the numbers to read per row."""
        return X.shape[0], read_numbers(X)

    # --- Streaming ---

    def _blocks(self, X: Any, start: int, stop: int, rows: int) -> Iterator[tuple[slice, NDArray]]:
        """The features of rows start…stop−1, block by block, in one buffer.

        'feature_s' is the time of mapping each row once. Mapping rows again, to choose λ or to save memory, counts as
        time of the fit.
        """
        fill: Callable[[NDArray, NDArray], object] | None = hook(self._map, "fill")
        buffer: NDArray | None = None
        for first in range(start, stop, rows):
            block = slice(first, min(stop, first + rows))
            with Stopwatch(X) as watch:
                Z = rows_of(X, block)
                if self.features is None:
                    Z = dense_rows(Z) if issparse(Z) else Z
                elif fill is not None:
                    if buffer is None:
                        dtype = Z.dtype if self._root is None else np.float64
                        buffer = np.empty((min(rows, stop - start), self._columns), dtype=dtype)
                    part = buffer[: block.stop - first]
                    fill(Z, part)
                    Z = part
                else:
                    Z = mapped(self._map, Z, self._columns)
            new = min(self._unmapped, Z.shape[0]) / Z.shape[0]
            self._unmapped -= round(new * Z.shape[0])
            self.timing_["feature_s"] += new * watch.seconds
            self._again_s += (1 - new) * watch.seconds
            yield block, Z

    @property
    def _by_svd(self) -> bool:
        if makes_sparse(self.features):
            return False
        return chosen_method(self.method, self._grid()[0], self.lambda_scale) == "svd"

    def _shifted(self, Z: Any) -> NDArray:
        """A block of features as an array, minus the origin if there is an intercept."""
        Z = dense_rows(Z) if issparse(Z) else Z
        return Z - self._origin if self.center == "both" else Z

    def _new_statistics(self, folds: int, targets: int) -> FoldStatistics | FoldFactors:
        """Empty statistics for this number of folds: Gram matrices, or R factors."""
        return (FoldFactors if self._by_svd else FoldStatistics)(self._columns, folds, targets)

    def _gather(
        self, statistics: FoldStatistics | FoldFactors, X: Any, Y: NDArray, parts: Sequence[tuple[int, int, int]],
        rows: int,
    ) -> None:  # fmt: skip
        """Add rows start…stop−1 to fold k for each (k, start, stop)."""
        for fold, start, stop in parts:
            for block, Z in self._blocks(X, start, stop, rows):
                with Stopwatch() as watch:
                    weights = None if self._weights is None else self._weights[block]
                    Z = self._shifted(Z)
                    statistics.add(fold, Z, Y[block], weights=weights)
                self.timing_["gram_s"] += watch.seconds
        if not statistics.finite:
            raise ValueError(not_finite(self.features))
        if self._root is not None and isinstance(statistics, FoldStatistics):
            with Stopwatch() as watch:
                statistics.mix(self._root)
            self.timing_["solve_s"] += watch.seconds

    def held_out(
        self, X: Any, Y: NDArray, folds: int, rows: int, spread: Callable[[NDArray[np.float64]], NDArray[np.float64]]
        = lambda coef: coef,
    ) -> HeldOut | None:  # fmt: skip
        """The function that counts wrong labels in another pass over a fold's rows, if λ is chosen by these; None for
        squared errors. ``spread`` gives the coefficients of the mapped columns for a solution that is found
        elsewhere."""
        if self.scoring is None:
            return None
        bounds = fold_bounds(X.shape[0], folds)

        def errors(fold: int, solutions: Solutions) -> list[float]:
            start, stop = bounds[fold], bounds[fold + 1]
            wrong = np.zeros(len(solutions))
            spreaded = [None if each is None else (self._raw(spread(each[0])), each[1]) for each in solutions]
            for block, Z in self._blocks(X, start, stop, rows):
                Z = self._shifted(Z)
                for index, each in enumerate(spreaded):
                    if each is None:
                        wrong[index] = np.inf
                    elif self._weights is None:
                        share = wrong_share(Z @ each[0] + each[1], Y[block])
                        wrong[index] += share * len(Z) / (stop - start)
                    else:
                        rows_wrong = wrong_rows(Z @ each[0] + each[1], Y[block])
                        wrong[index] += self._weights[block] @ rows_wrong / self._weights[start:stop].sum()
            return wrong.tolist()

        return errors

    def _summed_error(self, outputs: NDArray[np.float64], Y: NDArray[np.float64], block: slice) -> float:
        """The error that chooses λ, summed over a block's outputs (rows, t) with the rows' weights."""
        if self._weights is None:
            return wrong_share(outputs, Y) * outputs.size if self.scoring else float(np.square(outputs - Y).sum())
        errors = wrong_rows(outputs, Y) * Y.shape[1] if self.scoring else np.square(outputs - Y).sum(axis=1)
        return float(self._weights[block] @ errors)

    def _set_origin(self, X: Any, rows: int) -> None:
        """Set the origin, a point near the columns' means. It is subtracted first, so that an intercept is accurate."""
        self._origin = 0.0
        if self.center == "both":
            _, Z = next(self._blocks(X, 0, min(rows, X.shape[0]), rows))
            self._origin = np.mean(dense_rows(Z) if issparse(Z) else Z, axis=0, dtype=np.float64)

    def _restore_origin(self, solution: RidgeSolution) -> RidgeSolution:
        if self.center == "both":
            solution.intercept = solution.intercept - self._origin @ self._raw(solution.coef)
            solution.path = [each and (each[0], each[1] - self._origin @ self._raw(each[0])) for each in solution.path]
        return solution

    def _solve(
        self,
        statistics: FoldStatistics | FoldFactors,
        alphas: list[float],
        memory: int | None = None,
        held_out: HeldOut | None = None,
    ) -> RidgeSolution:
        """The solution from the folds' statistics."""
        if isinstance(statistics, FoldFactors):
            return solve_svd_cv(
                statistics, alphas, lambda_scale=self.lambda_scale, center=self.center, held_out=held_out,
                path=self.path,
            )  # fmt: skip
        return solve_ridge_cv(
            statistics, alphas, lambda_scale=self.lambda_scale, center=self.center, memory=memory, held_out=held_out,
            path=self.path,
        )  # fmt: skip

    def _fit_in_one_pass(
        self, X: Any, Y: NDArray, alphas: list[float], folds: int, rows: int, budget: int | None
    ) -> RidgeSolution:
        bounds = fold_bounds(X.shape[0], folds)
        self._set_origin(X, rows)
        statistics = self._new_statistics(folds, Y.shape[1])
        parts = zip(range(folds), bounds[:-1], bounds[1:], strict=True)
        self._gather(statistics, X, Y, list(parts), rows)
        mapped = self.timing_["feature_s"] + self._again_s
        with Stopwatch(X) as watch:
            solution = self._solve(statistics, alphas, budget, self.held_out(X, Y, folds, rows))
        mapping = self.timing_["feature_s"] + self._again_s - mapped
        self.timing_["solve_s"] += watch.seconds - mapping
        return self._restore_origin(solution)

    def _fit_in_passes(
        self, X: Any, Y: NDArray, alphas: list[float], folds: int, rows: int, budget: int | None
    ) -> RidgeSolution:
        """The same with one Gram matrix, or R factor, in memory: a pass for each fold and one for the fit. Held-out
        errors come from predictions."""
        n = X.shape[0]
        bounds = fold_bounds(n, folds)
        self._set_origin(X, rows)
        fold_error = np.full((len(alphas), folds), np.inf)
        for fold in range(folds):
            training = [(0, 0, bounds[fold]), (0, bounds[fold + 1], n)]
            solutions = self._solve_rows(X, Y, alphas, training, rows).solutions
            solved = [(at, (self._raw(each[0]), each[1])) for at, each in enumerate(solutions) if each is not None]
            errors = np.zeros(len(alphas))
            for block, Z in self._blocks(X, bounds[fold], bounds[fold + 1], rows):
                with Stopwatch() as watch:
                    Z = self._shifted(Z)
                    for index, (coef, intercept) in solved:
                        errors[index] += self._summed_error(Z @ coef + intercept, Y[block], block)
                self.timing_["solve_s"] += watch.seconds
            kept = [index for index, _ in solved]
            held_out = slice(bounds[fold], bounds[fold + 1])
            count = held_out.stop - held_out.start if self._weights is None else self._weights[held_out].sum()
            fold_error[kept, fold] = errors[kept] / (count * Y.shape[1])

        def solve(alphas: Sequence[float]) -> Solved:
            return self._solve_rows(X, Y, list(alphas), [(0, 0, n)], rows)

        return self._restore_origin(best_solution(alphas, fold_error, solve, path=self.path, at_once=self._by_svd))

    def _solve_rows(
        self, X: Any, Y: NDArray, alphas: list[float], bounds: list[tuple[int, int, int]], rows: int
    ) -> Solved:
        statistics = self._new_statistics(1, Y.shape[1])
        self._gather(statistics, X, Y, bounds, rows)
        with Stopwatch() as watch:
            if isinstance(statistics, FoldFactors):
                solved = statistics.solve([0], alphas, lambda_scale=self.lambda_scale, center=self.center)
            else:
                # One fold leaves a spare triangle in its square, so no more memory is needed.
                work = statistics.work(len(alphas), memory=0)
                solved = solve_folds(
                    statistics, [0], alphas, lambda_scale=self.lambda_scale, center=self.center, work=work
                )
        self.timing_["solve_s"] += watch.seconds
        return solved

    def _fit_dual(
        self, X: Any, Y: NDArray, alphas: list[float], folds: int, rows: int, budget: int | None
    ) -> RidgeSolution:
        """The same from ZZᵀ (n, n), with all of Z in memory, for fewer rows than columns."""
        n = X.shape[0]
        kernel, work = TriangleStack(2, n)
        if self.features is None and issparse(X):  # Z is X, which stays sparse, and so is not shifted
            Z, self._origin = X.astype(np.float64, copy=False), np.zeros(self._columns)
            with Stopwatch() as multiplying:
                for start in range(0, n, rows):
                    stop = min(n, start + rows)
                    kernel.set_rows(start, (Z[start:stop] @ Z[:stop].T).toarray())
        else:
            self._set_origin(X, rows)
            Z = np.empty((n, self._columns))
            for block, part in self._blocks(X, 0, n, rows):
                Z[block] = part - self._origin if self.center == "both" else part
            with Stopwatch() as multiplying:
                kernel.add_gram(Z.T)
        self.timing_["gram_s"] += multiplying.seconds
        if not np.isfinite(kernel.diagonal).all():
            raise ValueError(not_finite(self.features))
        with Stopwatch() as solving:
            dual = solve_dual_cv(
                kernel,
                work,
                Y,
                alphas,
                folds=folds,
                lambda_scale=self.lambda_scale,
                center=self.center,
                scoring=self.scoring,
                path=self.path,
            )
            path = [each and (Z.T @ each[0], each[1]) for each in dual.path]
            solution = replace(dual, coef=Z.T @ dual.coef, path=path)
        self.timing_["solve_s"] += solving.seconds
        return self._restore_origin(solution)

    def _fit_by_cg(
        self, X: Any, Y: NDArray, alphas: list[float], folds: int, rows: int, budget: int | None
    ) -> RidgeSolution:
        """The same on sparse features, which are stored, by conjugate gradients."""
        with Stopwatch(X) as mapping:
            Z = mapped(self._map, X, self._columns)
        check_finite(self.features, Z)
        self.timing_["feature_s"] += mapping.seconds
        self._unmapped = 0
        with Stopwatch() as solving:
            solution = solve_sparse_cv(
                Z, Y, alphas, folds=folds, lambda_scale=self.lambda_scale, center=self.center, scoring=self.scoring,
                weights=self._weights,
            )  # fmt: skip
        self.timing_["solve_s"] += solving.seconds
        return solution

    def predict_path(self, X: Any) -> tuple[list[float], NDArray[np.float64]]:
        """Zβ + c at every λ of ``path_`` that has a solution: the λ (a,), and outputs (n, a) of a single target."""
        solved = [(alpha, each) for alpha, each in self.path_ if each is not None]
        coef = np.hstack([coef for _, (coef, _) in solved])
        outputs = self._apply(X, coef) + np.hstack([intercept for _, (_, intercept) in solved])
        return [alpha for alpha, _ in solved], outputs

    def _linear(self, X: Any) -> NDArray[np.float64]:
        """Zβ + c: (n,) or (n, t)."""
        return self._apply(X, np.asarray(self.coef_).T) + self.intercept_

    def _apply(self, X: Any, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z·coef, block by block: (n,) or (n, t).

        Each thread maps some rows and multiplies their features. That is faster than mapping in all threads, and then
        multiplying in all threads.
        """
        (n, d), output = X.shape, np.empty((X.shape[0], *coef.shape[1:]))
        columns, coef = self._columns_for(n, coef)
        fill: Callable[[NDArray, NDArray], object] | None = hook(columns, "fill")
        if self.features is None or fill is None or not bears_threads(columns):
            kept = dict(self.timing_), self._again_s
            in_a_row = self.features.n_components if makes_sparse(self.features) else self._columns
            try:
                for block, Z in self._blocks(X, 0, n, min(n, self.block_rows or default_block_rows(in_a_row))):
                    with np.errstate(invalid="ignore", over="ignore"):  # of infinite numbers; outputs are checked
                        output[block] = Z @ coef
            finally:
                self.timing_, self._again_s = kept  # predicting does not count as fitting
            return output
        # The same tiles for any number of threads, because rounding depends on the number of rows of a product.
        tile = max(1, (self.block_rows or default_block_rows(self._columns)) // TILES)
        buffers: list[NDArray] = []  # those that no thread uses
        for read in row_blocks(n, tile * max(TILES, min(MOST_ROWS_READ, NUMBERS_READ // d) // tile)):
            rows, products = rows_of(X, read), output[read]

            def apply(part: slice, rows: Any = rows, products: NDArray = products) -> None:
                dtype = np.float64 if isinstance(columns, UnmixedColumns) else rows.dtype
                buffer = buffers.pop() if buffers else np.empty((tile, len(coef)), dtype=dtype)
                Z = buffer[: part.stop - part.start]
                fill(rows[part], Z)
                products[part] = Z @ coef
                buffers.append(buffer)

            worthwhile = len(products) * self._columns > WORTH_THREADS
            side_by_side([partial(apply, part) for part in row_blocks(len(products), tile)], None if worthwhile else 1)
        return output

    def _columns_for(self, n: int, coef: NDArray[np.float64]) -> tuple[Any, NDArray[np.float64]]:
        """The map of the columns that outputs of n rows are summed over, and their coefficients. Columns that a map
        mixes, R⁻¹·k(x), are not mixed: βᵀR⁻¹·k(x) = (R⁻ᵀβ)ᵀk(x), to the same rounding, where R is applied to fewer
        coefficients than rows."""
        values = hook(self._map, "unmixed")
        if values is None or n < coef[0].size:
            return self._map, self.collapse(coef)
        plain = UnmixedColumns(values, len(coef))
        return plain, plain.collapse(coef)


class StreamingRegressor(Streaming, Regressor):
    """Base of the regressors: rows are given at once, or in parts."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to y (n,) or (n, t). X: (n, d) array, CSR matrix, or a lazy array with shape, dtype and row slices.

        ``sample_weight`` (n,): a row of weight w counts as w equal rows, also in n·λ.
        """
        return self._fitted(sample_weight, self._targets(X, y), self._fit_targets)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Add these rows to those of earlier calls, and solve again. See `StreamedRidge`."""
        targets = self._targets(X, y, reset=self._statistics is None)
        return self._fitted(sample_weight, targets, self._fit_part)

    def _fitted(self, sample_weight: Any, targets: tuple[Any, NDArray, NDArray], fit: Callable[..., None]) -> Any:
        return self._with_weights(row_weights(sample_weight, targets[0]), targets, fit)


class StreamingClassifier(Streaming, Classifier):
    """Base of the classifiers: rows are given at once, or in parts."""

    class_weight: ClassWeight

    def check_parameters(self) -> None:
        super().check_parameters()
        check_class_weight(self.class_weight)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to the labels y (n,), of any type, as targets −1/+1. X and ``sample_weight`` as for the regressor."""
        return self._fitted(sample_weight, self._targets(X, y), self._fit_targets)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add these rows to those of earlier calls, and solve again. See `StreamedRidge`.

        ``classes``: all labels; the first call needs them if its y does not have every one.
        """
        if self.class_weight == "balanced":
            raise WrongParameter("class_weight", "must be None or a dictionary for partial_fit: balanced weights "
                                                 "would change with each part")  # fmt: skip
        first = self._statistics is None
        targets = self._targets(X, y, reset=first, classes=classes if first else self.classes_)
        return self._fitted(sample_weight, targets, self._fit_part)

    def _fitted(self, sample_weight: Any, targets: tuple[Any, NDArray, NDArray], fit: Callable[..., None]) -> Any:
        check_class_weight(self.class_weight)
        X, Y, _ = targets
        weights = class_row_weights(self.class_weight, self.classes_, Y, row_weights(sample_weight, X))
        return self._with_weights(weights, targets, fit)


class StreamingCV(Streaming):
    """Base of the estimators that choose λ."""

    alphas: Sequence[float]
    folds: int

    def check_parameters(self) -> None:
        check_penalties(
            self.alphas, self.lambda_scale, self.center, get_args(RidgeScale)
        )  # first: what follows goes through the alphas
        super().check_parameters()
        check_count("folds", self.folds, least=2)

    def _grid(self) -> tuple[list[float], int]:
        return list(self.alphas), self.folds
