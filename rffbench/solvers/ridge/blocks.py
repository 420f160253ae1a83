"""A fit over many machines: workers compute ridge's sums over the rows, block by block; this process solves.

Workers get the fitted map and the places of their rows (`rffbench.arguments.rowsource.part`). They return Gram
triangles and right sides, which a fixed tree adds (`rffbench.solvers.ridge.tree`). Workers also make predictions. Dask
runs these functions on the workers (`rffbench.solvers.ridge.dask_blocks`); it is loaded when a fit begins.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.rowsource import Stopwatch, float_rows, is_row_source, part
from rffbench.errors import MemoryBudgetError
from rffbench.features.base import not_finite
from rffbench.features.hooks import makes_sparse
from rffbench.linalg.triangles import TriangleStack, packed_length
from rffbench.solvers.base import default_block_rows
from rffbench.solvers.ridge.fold_statistics import (
    FoldStatistics,
    HeldOut,
    Moments,
    RidgeSolution,
    Solutions,
    fold_bounds,
    wrong_share,
)
from rffbench.solvers.ridge.plan import Plan
from rffbench.solvers.ridge.settings import ALPHAS, Center, RidgeScale, Scoring, check_blocks, chosen_method
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.solvers.ridge.streaming import Streaming
from rffbench.solvers.ridge.tree import Engine, leaves


@dataclass(frozen=True)
class Gathered:
    """The packed Gram triangle and the moments of some rows, and the seconds of mapping and of multiplying."""

    gram: NDArray[np.float64]
    moments: Moments
    seconds: tuple[float, float]

    def __sizeof__(self) -> int:
        """About its bytes, by which dask decides where to add: nearly all are the triangle's."""
        return object.__sizeof__(self) + self.gram.nbytes


def gather(ridge: Streaming, X: Any, Y: Any) -> Gathered:
    """The sums over these rows for ``ridge``, whose map is fitted."""
    ridge = _own(ridge)
    statistics = FoldStatistics(ridge._columns, 1, Y.shape[1])
    ridge._gather(statistics, X, Y, [(0, 0, X.shape[0])], _rows_at_a_time(ridge))
    return Gathered(*statistics.packed(0), (ridge._again_s, ridge.timing_["gram_s"]))


def add(left: Gathered, right: Gathered) -> Gathered:
    """The sum of both, which are not changed, because they are needed again if a worker is lost."""
    seconds = (left.seconds[0] + right.seconds[0], left.seconds[1] + right.seconds[1])
    return Gathered(left.gram + right.gram, Moments.total([left.moments, right.moments]), seconds)


def apply(ridge: Streaming, coef: NDArray[np.float64], X: Any) -> NDArray[np.float64]:
    """Z·coef for these rows."""
    return Streaming._apply(_own(ridge), X, coef)


def count_wrong(ridge: Streaming, solutions: Solutions, X: Any, Y: Any) -> NDArray[np.float64]:
    """The number of these rows that each solution labels wrongly."""
    ridge = _own(ridge)
    wrong = np.zeros(len(solutions))
    for block, Z in ridge._blocks(X, 0, X.shape[0], _rows_at_a_time(ridge)):
        Z = Z - ridge._origin if ridge.center == "both" else Z
        for index, each in enumerate(solutions):
            wrong[index] += np.inf if each is None else wrong_share(Z @ each[0] + each[1], Y[block]) * len(Z)
    return wrong


def _own(ridge: Streaming) -> Streaming:
    """A copy with its own seconds, because several threads of a worker may share ``ridge``."""
    ridge = copy.copy(ridge)
    ridge.timing_ = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}
    ridge._unmapped, ridge._again_s = 0, 0.0
    return ridge


def _rows_at_a_time(ridge: Streaming) -> int:
    return ridge.block_rows or default_block_rows(ridge._columns)


class LazyTargets:
    """Targets (n, t) of a lazy y (n,): y itself, or −1/+1 for ``classes``, one against the rest if there are more than
    two. Values are less ``origin`` (1,)."""

    def __init__(self, y: Any, classes: NDArray | None = None, origin: NDArray[np.float64] | float = 0.0) -> None:
        self.y, self.classes, self.origin = y, classes, origin
        self.shape = (len(y), 1 if classes is None or len(classes) == 2 else len(classes))

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        y = np.asarray(self.y[rows], dtype=np.float64)[:, None]
        if self.classes is None:
            return y - self.origin
        return np.where(y == (self.classes[1:] if len(self.classes) == 2 else self.classes), 1.0, -1.0)

    def part(self, rows: slice) -> LazyTargets:
        return LazyTargets(part(self.y, rows), self.classes, self.origin)

    def less(self, origin: NDArray[np.float64]) -> LazyTargets:
        """The targets less ``origin`` (1,)."""
        return LazyTargets(self.y, self.classes, self.origin + origin)


class _BlockedRidge(Streaming):
    """Base of both estimators: one pass over the rows, by workers."""

    blocks: str
    _unmixes = False

    def check_parameters(self) -> None:
        super().check_parameters()
        if makes_sparse(self.features):
            raise WrongParameter("blocks", f"must be null for sparse features, got {self.blocks!r}")
        if chosen_method(self.method, self._grid()[0], self.lambda_scale) == "svd":
            least = min(self._grid()[0])
            problem = f"{least:g} needs the singular values of Z, which blocks: {self.blocks} lacks; take a larger one"
            raise WrongParameter("lambda", problem)
        check_blocks(self.blocks)

    def engine(self) -> AbstractContextManager[Engine]:
        """The workers, for a ``with`` block."""
        from rffbench.solvers.ridge.dask_blocks import engine

        return engine()

    def _plan(self, shape: tuple[int, int], p: int, targets: int, folds: int, alphas: int, kept: int = 0) -> Plan:
        """As for one pass in this process: the folds' triangles, working matrices, and a sum that arrives."""
        work = 0 if folds % 2 else TriangleStack.bytes_needed(2, p)
        needed = kept + FoldStatistics.bytes_needed(p, folds, targets) + work + 8 * packed_length(p)
        if self.memory is not None and needed > self.memory:
            raise MemoryBudgetError(
                f"ridge on {p} columns with {folds} folds, with blocks on workers,", needed, self.memory
            )
        left = None if self.memory is None else self.memory - needed + work
        return Plan("by_blocks", min(shape[0], self.block_rows or default_block_rows(p)), left, needed)

    def _fit_part(self, X: Any, Y: Any, y: Any) -> None:
        raise ValueError(
            "partial_fit: a fit over many machines needs all rows at once; StreamedRidgeCV adds rows in parts"
        )

    def _fit_by_blocks(
        self, X: Any, Y: Any, alphas: list[float], folds: int, rows: int, budget: int | None
    ) -> RidgeSolution:
        bounds = fold_bounds(X.shape[0], folds)
        self._set_origin(X, rows)
        statistics = FoldStatistics(self._columns, folds, Y.shape[1])
        seconds = np.zeros(2)
        with self.engine() as engine:
            with Stopwatch() as gathering:
                groups = [[(part(X, leaf), part(Y, leaf)) for leaf in leaves(*rows)] for rows in pairwise(bounds)]
                for fold, found in enumerate(engine.sums(gather, add, self._for_workers(), groups)):
                    statistics.set_packed(fold, found.gram, found.moments)
                    seconds += found.seconds
            # The time that passed here, divided by the workers' shares of mapping and multiplying.
            mapping = gathering.seconds * seconds[0] / max(float(seconds.sum()), 1e-9)
            self.timing_["feature_s"] += mapping
            self.timing_["gram_s"] += gathering.seconds - mapping
            if not statistics.finite:
                raise ValueError(not_finite(self.features))
            with Stopwatch() as solving:
                solution = self._solve(statistics, alphas, budget, self._held_out(engine, X, Y, bounds))
            self.timing_["solve_s"] += solving.seconds
        return self._restore_origin(solution)

    def _held_out(self, engine: Engine, X: Any, Y: Any, bounds: list[int]) -> HeldOut | None:
        if self.scoring is None:
            return None

        def errors(fold: int, solutions: Solutions) -> list[float]:
            start, stop = bounds[fold], bounds[fold + 1]
            parts = [(solutions, part(X, leaf), part(Y, leaf)) for leaf in leaves(start, stop)]
            wrong = sum(engine.each(count_wrong, self._for_workers(), parts), start=np.zeros(len(solutions)))
            return (wrong / (stop - start)).tolist()

        return errors

    def _for_workers(self) -> Streaming:
        """A copy of this estimator with the fitted map, without other large attributes."""
        small = copy.copy(self)
        for name in [name for name in vars(small) if name.endswith("_")]:  # learnt attributes, maybe of an earlier fit
            del small.__dict__[name]
        small.features = None if self.features is None else "fitted"
        small._distinct = None
        return small

    def _apply(self, X: Any, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z·coef by workers: (n,) or (n, t)."""
        coef = self.collapse(coef)
        parts = [(coef, part(X, leaf)) for leaf in leaves(0, X.shape[0])]
        with self.engine() as engine:
            return np.concatenate(list(engine.each(apply, self._for_workers(), parts)))


class BlockedRidgeCV(_BlockedRidge, StreamedRidgeCV):
    """`StreamedRidgeCV` with passes over the rows by the workers of a dask cluster.

    X (n, d) may be an array, whose rows are sent to the workers, or a row source whose ``part(slice)`` says where the
    rows are, as that of a dataset; y may also be lazy, with ``part``. The map is fitted in this process. The order in
    which Gram triangles are added depends only on the number of rows, so results are the same for any number of
    workers. This process holds (folds + 1)/2·p² numbers and one more triangle; a worker holds a triangle, a block of
    features, and the sums that wait.

    Parameters
    ----------
    blocks : 'dask'
        The workers of the scheduler in dask's configuration (``DASK_SCHEDULER_ADDRESS``); without one, workers are
        started on this machine, on 127.0.0.1 only.
    alphas, folds, … : as in `StreamedRidgeCV`.

    Attributes
    ----------
    timing_ : dict
        As in `StreamedRidgeCV`: the time in this process, divided into 'feature_s' and 'gram_s' by the workers' shares.
    """

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, blocks: str = "dask", folds: int = 5,
        lambda_scale: RidgeScale = "n", center: Center = True, features: Any = None, block_rows: int | None = None,
        memory: int | None = None, path: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            alphas, folds=folds, lambda_scale=lambda_scale, center=center, features=features, block_rows=block_rows,
            memory=memory, path=path,
        )  # fmt: skip
        self.blocks = blocks

    def fit(self, X: Any, y: Any, sample_weight: None = None) -> Any:
        """Fit to y (n,) or (n, t), possibly lazy."""
        _refuse_weights(sample_weight)
        if not _is_lazy(y):
            return super().fit(X, y)
        X = float_rows(X) if is_row_source(X) else X
        self.n_features_in_ = X.shape[1]
        self._fit_targets(X, LazyTargets(y), y)  # type: ignore[arg-type]
        return self


class BlockedRidgeClassifierCV(_BlockedRidge, StreamedRidgeClassifierCV):
    """The sign of `BlockedRidgeCV` on targets −1/+1; one against the rest for more classes. A lazy y has the attribute
    ``labels``, its classes."""

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, blocks: str = "dask", folds: int = 5,
        lambda_scale: RidgeScale = "n", center: Center = True, features: Any = None, block_rows: int | None = None,
        memory: int | None = None, scoring: Scoring = None, path: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            alphas, folds=folds, lambda_scale=lambda_scale, center=center, features=features, block_rows=block_rows,
            memory=memory, scoring=scoring, path=path,
        )  # fmt: skip
        self.blocks = blocks

    def fit(self, X: Any, y: Any, sample_weight: None = None) -> Any:
        """Fit to the labels y (n,), possibly lazy."""
        _refuse_weights(sample_weight)
        if not _is_lazy(y):
            return super().fit(X, y)
        X = float_rows(X) if is_row_source(X) else X
        self.n_features_in_ = X.shape[1]
        self.classes_ = y.labels
        self._fit_targets(X, LazyTargets(y, y.labels), y)  # type: ignore[arg-type]
        return self


def _refuse_weights(sample_weight: Any) -> None:
    if sample_weight is not None:
        raise ValueError("sample_weight: a fit over many machines takes no weights; StreamedRidgeCV does")


def _is_lazy(y: Any) -> bool:
    return is_row_source(y) and hasattr(y, "part")
