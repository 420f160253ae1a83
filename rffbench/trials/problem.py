"""What trials of one dataset, kernel and trial number share: their rows, and how maps and predictions are measured."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, cast

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sklearn.base import clone

from rffbench import data
from rffbench.arguments.parameters import is_rule
from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import generator, split_stream, watching_global_generators
from rffbench.data import Split
from rffbench.errors import DataError, is_ctrl_c
from rffbench.features import build_map
from rffbench.features.base import check_finite, fitted, mapped
from rffbench.features.hooks import columns_of
from rffbench.kernels import Kernel, kernel_argument, make_kernel
from rffbench.kernels.bandwidth import gamma_of_ball, gamma_of_rows
from rffbench.linalg import triangles, trigonometric
from rffbench.plugins import ownfile
from rffbench.solvers import build_solver
from rffbench.solvers.base import class_targets, default_block_rows
from rffbench.trials.guards import (
    GuardedRows,
    check_predictions,
    guarded,
    read_only,
)
from rffbench.trials.measuring import Points
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import TrialSpec


@dataclass
class Problem:
    """The rows and the kernel that all trials of one dataset, preprocessing, kernel and trial number share."""

    split: Split
    kernel: str | Kernel  # as maps and solvers are given it, beside gamma
    gamma: float
    subsample: NDArray[np.int64]  # the rows on which the kernel matrix is measured, sorted
    measured: Literal["train", "test"] = "train"  # which rows they are among
    second: Callable[[], NDArray[np.int64]] | None = None  # as many, for measures of two samples
    # Nothing else of the run is at work in the block.
    alone: Callable[[], AbstractContextManager[Timer]] = lambda: nullcontext(Timer())

    @classmethod
    def of(cls, spec: TrialSpec) -> Problem:
        split = data.train_test(
            spec.dataset, data_hash=spec.data_hash, seed=spec.seed, trial=spec.trial, preprocess=spec.preprocess,
            preprocess_fit=spec.preprocess_fit, dtype=spec.dtype, train_rows=spec.train_rows,
            held_out=spec.held_out, split=spec.split, target=spec.target, flaws=spec.flaws,
        )  # fmt: skip
        measured = split.X_test if spec.kernel_error_rows == "test" else split.X_train
        stream = split_stream(spec.seed, spec.dataset, spec.trial)
        trigonometric.warm_up(spec.dtype)  # compiling, or loading what was compiled, is not timed
        triangles.warm_up()
        subsample, second = (partial(_points_of, spec, measured.index, stream, name) for name in SAMPLES)
        ownfile.check_unedited(str(spec.kernel["name"]), [spec.kernel_source])
        kernel, gamma = kernel_argument(spec.kernel), spec.kernel["gamma"]
        try:
            if gamma is None:
                gamma = gamma_of_ball(split.X_train, make_kernel(kernel))
            elif is_rule(gamma):
                gamma = gamma_of_rows(kernel, gamma, split.X_train, stream)
        except ValueError as error:
            raise DataError(f"the training rows: {error}") from None
        split = guarded(split, make_kernel(kernel, gamma))
        return cls(split, kernel, gamma, subsample(), spec.kernel_error_rows, second)

    @cached_property
    def labels(self) -> NDArray | None:
        """The classes as in y, sorted; None for a regression."""
        y = self.split.y_train
        if self.split.task != "classification":
            return None
        return np.unique(y) if isinstance(y, np.ndarray) else y.labels

    @property
    def n_classes(self) -> int:
        """The number of classes in y; 0 for a regression."""
        return 0 if self.labels is None else len(self.labels)

    @cached_property
    def learnt(self) -> NDArray[np.float64]:
        """The training targets in the form that ridge learns: values, (n, targets); −1/+1, (n, 1), or (n, classes) for
        more than two classes."""
        return _learnt(np.asarray(self.split.y_train), self.labels)

    def targets_of(self, spec: TrialSpec) -> Any:
        """What the trial is fitted to: y, or `targets` without a solver."""
        return self.targets if spec.learner is None else self.split.y_train

    @property
    def targets(self) -> Any:
        """The targets for a map that is fitted without a solver: y, with more than two classes as integers, so that
        they are not taken for values."""
        y = self.split.y_train
        return y.astype(np.int64) if isinstance(y, np.ndarray) and self.n_classes > 2 else y

    def kept(self) -> list[NDArray]:
        """The arrays that trials have in common, in memory. Those that are made when they are needed are made now."""
        split, points = self.split, self.points if len(self.subsample) else None
        of_points = [] if points is None else [points.X, points.y, points.learnt]
        targets = [split.y_train, self.learnt] if isinstance(split.y_train, np.ndarray) else []
        rows = [each for part in (split.X_train, split.X_test) for each in cast(GuardedRows, part).kept()]
        arrays = [*rows, *targets, split.y_test, self.subsample, *of_points]
        return [each for each in arrays if each is not None]

    def features(self, spec: TrialSpec) -> Any:
        """The spec's feature map, not yet fitted, on the random stream that pairs the methods; None without one."""
        return build_map(
            spec.map, kernel=self.kernel, gamma=self.gamma, n_features=spec.n_features, count=spec.count,
            random_state=spec.stream,
        )  # fmt: skip

    def solver(self, spec: TrialSpec, features: Any, memory: int | None = None) -> Any:
        """The spec's solver on ``features``, not yet fitted, within ``memory`` bytes; `MapAlone` if it has none."""
        if spec.learner is None:
            return MapAlone(features)
        return build_solver(
            spec.learner, task=self.split.task, features=features, memory=memory, kernel=self.kernel,
            gamma=self.gamma, n_features=spec.n_features, random_state=spec.stream, device=spec.device,
        )  # fmt: skip

    def predict(self, solver: Any) -> tuple[NDArray, float]:
        """Predictions for the test rows and the seconds they took, fetching and scaling the rows left out."""
        predicted, seconds = self.unchecked(solver)
        check_predictions(predicted, solver, self.split.y_test.shape, self.labels)
        return predicted, seconds

    def unchecked(self, solver: Any) -> tuple[NDArray, float]:
        """The same, of whatever shape and values."""
        with Stopwatch(self.split.X_test) as watch:
            predicted = solver.predict(self.split.X_test)
        return predicted, watch.seconds

    @cached_property
    def points(self) -> Points:
        test, split = self.measured == "test", self.split
        rows, second = split.X_test if test else split.X_train, self.second
        X = rows[self.subsample]
        y = (split.y_test if test else split.y_train)[self.subsample]
        y = read_only(y)
        learnt = _learnt(y, self.labels)
        return Points(X, make_kernel(self.kernel, self.gamma), y, learnt, second and (lambda: rows[second()]))


class MapAlone:
    """Stands in for a missing solver: fits a map and applies it to the rows, to time it."""

    def __init__(self, features: Any) -> None:
        self.features = features

    def fit(self, X: Any, y: NDArray) -> MapAlone:
        with Stopwatch(X) as watch:
            self.features_ = fitted(self.features, X, y)
        rows = default_block_rows(self.features.n_components)
        for start in range(0, X.shape[0], rows):
            with watch:
                Z = mapped(self.features_, X[start : start + rows], columns_of(self.features_))
            check_finite(self.features_, Z)
        self.timing_ = {"feature_s": watch.seconds, "gram_s": 0.0, "solve_s": 0.0}
        return self


def _learnt(y: NDArray, labels: NDArray | None) -> NDArray[np.float64]:
    """Targets as the columns that ridge learns."""
    if labels is not None:
        return class_targets(y, labels)
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1)


SAMPLES = ("kernel error", "kernel error, second sample")


def _points_of(spec: TrialSpec, index: Any, stream: SeedSequence, sample: str) -> NDArray[np.int64]:
    """The sorted positions of a sample's points among the rows ``index`` of the data."""
    count = min(spec.kernel_error_points, len(index))
    if spec.kernel_error_draw == "random":
        return np.sort(generator(stream, sample).choice(len(index), size=count, replace=False))
    rank = rows = np.asarray(index)
    if spec.kernel_error_draw == "fixed":  # one order of all rows of the data for all trials
        order = generator(split_stream(spec.seed, spec.dataset, 0), f"{sample}, fixed")
        rank = order.permutation(int(rows.max(initial=0)) + 1)[rows]
    return np.sort(np.argsort(rank)[:count])


_warm: set[tuple[type, str]] = set()


def warm_up(features: Any, dtype: np.dtype) -> None:
    """Compile the map's code, or load it from numba's cache, by a tiny fit once per process, so that timings do not
    include it. Its errors are ignored: the trial's own fit raises them again, unless they come from the tiny size."""
    if (key := (type(features), dtype.name)) not in _warm:
        _warm.add(key)
        X, y = np.eye(2, dtype=dtype), np.array([-1.0, 1.0])
        X.setflags(write=False)  # like a trial's rows: numba compiles other code for writable arrays
        y.setflags(write=False)
        try:
            with watching_global_generators():
                clone(features).set_params(n_components=2).fit(X, y).transform(X)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if is_ctrl_c(error):
                raise
