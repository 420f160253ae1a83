"""What trials of one dataset, kernel and trial number share: their rows, and how maps and predictions are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, cast

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from sklearn.base import clone

from rffbench import data
from rffbench.arguments.parameters import is_rule
from rffbench.arguments.rowsource import Stopwatch, row_blocks
from rffbench.arguments.seeds import generator, split_stream, watching_global_generators
from rffbench.data import Split
from rffbench.data.split import held_out_rows
from rffbench.errors import DataError, is_ctrl_c
from rffbench.features import build_map
from rffbench.features.base import check_finite, fitted, mapped
from rffbench.features.hooks import columns_of, hook, makes_sparse
from rffbench.kernels import Kernel, kernel_argument, make_kernel
from rffbench.kernels.bandwidth import gamma_of_ball, gamma_of_rows
from rffbench.linalg import triangles, trigonometric
from rffbench.linalg.triangles import TriangleStack
from rffbench.plugins import ownfile
from rffbench.plugins.parts import declared
from rffbench.solvers import NONE, build_solver
from rffbench.solvers.base import class_targets, default_block_rows
from rffbench.solvers.platt import by_class
from rffbench.solvers.ridge.fold_statistics import Accuracy, penalty
from rffbench.solvers.ridge.settings import CHOLESKY_FLOOR
from rffbench.trials import flaws, metrics
from rffbench.trials.edges import chosen_fold_errors, edges_of_solver
from rffbench.trials.guards import (
    GuardedRows,
    check_map,
    check_predictions,
    guarded,
    read_only,
)
from rffbench.trials.measuring import MapOnPoints, Points
from rffbench.trials.memory import EFFECTIVE_ROWS
from rffbench.trials.metrics import CURVES, MEASURES, described, metrics_of
from rffbench.trials.scores import Predictions, Score, computed, described_scores, further_scores, platt
from rffbench.trials.seconds import Timer, either
from rffbench.trials.spec import TrialResult, TrialSpec

LEAST_LENGTH = 1e-100  # the mean of ‖z‖² over some rows, below which all rows count
CALIBRATED_ON = 0.2  # the share of the training rows, the last of them, to which a sigmoid is fitted


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
        split, points = self.split, self._points if len(self.subsample) else None
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
        predicted, seconds = self._unchecked(solver)
        check_predictions(predicted, solver, self.split.y_test.shape, self.labels)
        return predicted, seconds

    def _unchecked(self, solver: Any) -> tuple[NDArray, float]:
        with Stopwatch(self.split.X_test) as watch:
            predicted = solver.predict(self.split.X_test)
        return predicted, watch.seconds

    def predicts_alone(self, spec: TrialSpec, features: Any) -> bool:
        """Whether a trial predicts only where that is timed, in `seconds_alone`."""
        return spec.timing == "features" and features is not None

    def generate(self, spec: TrialSpec, buffers: dict[tuple[int, int], NDArray]) -> float:
        """Generate the training features without keeping them; return the seconds to draw, weigh and map all rows.

        ``buffers`` are for `mapping_seconds`.
        """
        X, features, targets = self.split.X_train, self.features(spec), self.targets
        with Stopwatch(X) as fitting:
            made = fitted(features, X, targets)
        distinct = None if hook(made, "distinct") is None else made.distinct()
        return fitting.seconds + mapping_seconds(made if distinct is None else distinct.features, X, buffers)

    def seconds_alone(self, spec: TrialSpec, solver: Any) -> tuple[dict[str, Any], NDArray | None]:
        """For ``timing: features``, measured while the rest of the run is paused: the seconds to generate the features,
        and to predict with the fitted ``solver``; and its predictions."""
        X, features, predicted = self.split.X_train, solver.features_, None

        def predict() -> float:
            nonlocal predicted
            predicted, seconds = self._unchecked(solver)
            return seconds

        buffers: dict[tuple[int, int], NDArray] = {}
        warm_up(features, X.dtype)
        with self.alone() as timer:
            works = {"feature_s": lambda: self.generate(spec, buffers)}
            if spec.solver["name"] != NONE:
                works["predict_s"] = predict
            parts = dict(zip(works, timer.timed(*works.values()), strict=True))
        if predicted is not None:
            check_predictions(predicted, solver, self.split.y_test.shape, self.labels)
        seconds = {
            **{name: part.seconds for name, part in parts.items()},
            "contended": either(*(part.contended for part in parts.values())),
            "repeats": {name: part.repeats for name, part in parts.items()},
            "spread": {name: part.spread for name, part in parts.items()},
        }
        return seconds, predicted

    def score(self, predicted: NDArray) -> dict[str, float]:
        """The test metrics of the task."""
        return metrics.scored(self.split.task, self.split.y_test, predicted)

    def more_scores(
        self, spec: TrialSpec, wanted: Mapping[str, Score], solver: Any, predicted: NDArray
    ) -> dict[str, float]:
        """The ``wanted`` scores, by name, of the predictions of the spec's ``solver``."""
        needs = {each.needs for each in wanted.values()}
        found = Predictions(np.asarray(self.split.y_test), predicted, self.labels)
        if declared(solver, "predict_proba") and needs - {"labels"}:
            found.scores = found.probabilities = solver.predict_proba(self.split.X_test)
        elif needs - {"labels"}:
            found.scores = by_class(solver.decision_function(self.split.X_test))
            if "probabilities" in needs:
                found.probabilities = self._calibrated(spec, solver)(found.scores)
        return {each.metric.name: computed(name, each, found) for name, each in wanted.items()}

    def _calibrated(self, spec: TrialSpec, solver: Any) -> Callable[[NDArray], NDArray[np.float64]]:
        """Platt's sigmoid for the solver's scores. The solver is fitted again, with the λ that it chose, without the
        last fifth of the training rows, and the sigmoid to its scores of these. The row's seconds do not include
        this."""
        X, y = self.split.X_train, np.asarray(self.split.y_train)
        kept = len(y) - held_out_rows(CALIBRATED_ON, len(y))
        chosen = replace(spec, solver={**spec.solver, "lambda": [solver.alpha_]})
        again = self.solver(chosen, self.features(spec)).fit(X.part(slice(0, kept)), y[:kept])
        return platt(by_class(again.decision_function(X.part(slice(kept, len(y))))), y[kept:, None] == self.labels)

    def result(self, spec: TrialSpec, solver: Any, predicted: NDArray | None, seconds: dict[str, Any]) -> TrialResult:
        """The result of a fitted solver: the scores of its predictions, its own metrics, and the measures of its
        map."""
        features, lambda_ = declared(solver, "features_"), declared(solver, "alpha_")
        if features is not None:
            check_map(features, self.split.X_train)
        own = metrics_of(features) | metrics_of(solver)
        numbers, measured_curves = self.measures(spec, features)
        if self.predicts_alone(spec, features):
            alone, predicted = self.seconds_alone(spec, solver)
            seconds = seconds | alone
        if predicted is not None and set(spec.flaws) & set(flaws.OF_SCORES):
            found = by_class(solver.decision_function(self.split.X_test))
            predicted = flaws.with_flawed_scores(spec.flaws, predicted, found, np.asarray(self.labels))
        wanted = further_scores(spec.scores, spec.score_sources, self.split.task)
        scores = {} if predicted is None else self.score(predicted) | self.more_scores(spec, wanted, solver, predicted)
        scores = scores | own | numbers
        if len(cv_error := declared(solver, "cv_results_", {}).get("mean_test_error", [])):
            scores["cv_error"] = float(min(cv_error))
        if is_rule(spec.kernel["gamma"]):
            scores["gamma"] = self.gamma
        if (scale := self._effective(spec, solver)) and lambda_ is not None:
            scores["effective_lambda"] = lambda_ * scale
        curves = declared(solver, "curves_", {}) or measured_curves
        if declared(solver, "path_", []):
            curves = self._path_curves(spec, solver, scale)
        return TrialResult(
            spec, "ok", scores, seconds, lambda_=lambda_, curves=curves,
            own_metrics=described(features) | described(solver) | described_scores(wanted, scores),
            solved=_how_solved(solver),
            edges=edges_of_solver(solver), fold_errors=chosen_fold_errors(solver),
            columns=None if features is None else columns_of(features),
        )  # fmt: skip

    def measures(self, spec: TrialSpec, features: Any) -> tuple[dict[str, float], dict[str, list[float]]]:
        """(numbers, curves) of the spec's measures of the fitted map on the subsample; empty without map or
        measures."""
        if features is None or not len(self.subsample):
            return {}, {}
        mapped = MapOnPoints(features, self._points)
        curves: dict[str, list[float]] = {}
        for name in spec.measures:
            curves |= CURVES[name](mapped) if name in CURVES else {}
        return {name: MEASURES[name](mapped) for name in spec.measures if name in MEASURES}, curves

    def _effective(self, spec: TrialSpec, solver: Any) -> float | None:
        """The factor from λ to the effective λ, the λ of features that are scaled to k̃(x, x) = 1 on average.

        The effective λ is the penalty, n·λ or λ, over n times the mean of ‖z(x)‖², which is the sum of the columns'
        mean squares. A map whose columns are c times as large has the same effective λ at a λ that is c² times as
        large.
        """
        features = declared(solver, "features_")
        if features is None or "lambda_scale" not in spec.solver:
            return None
        length = float(self._mean_squares(features).sum())
        if length < LEAST_LENGTH:  # of a narrow kernel, for rows that are no landmarks
            blocks = [self.split.X_train[rows] for rows in row_blocks(len(self.split.X_train))]
            lengths = [float(self._mean_squares(features, block).sum()) for block in blocks]
            length = float(np.average(lengths, weights=[len(block) for block in blocks]))
        if not length:
            raise ValueError(f"the features of {type(features).__name__} are 0, or too small to be squared")
        return self._penalty(spec, solver, 1.0) / (len(self.split.X_train) * length)

    def _mean_squares(self, features: Any, X: Any = None) -> NDArray[np.float64]:
        """The mean square of each column of the features over X, by default EFFECTIVE_ROWS training rows, (p,)."""
        X = self.split.X_train[: min(EFFECTIVE_ROWS, len(self.split.X_train))] if X is None else X
        Z = mapped(features, X, columns_of(features))
        if makes_sparse(features):
            return np.asarray(Z.power(2).sum(axis=0), dtype=np.float64).ravel() / Z.shape[0]
        return np.einsum("ij,ij->j", Z, Z, dtype=np.float64) / len(Z)

    def _penalty(self, spec: TrialSpec, solver: Any, lambda_: float) -> float:
        scale = spec.solver["lambda_scale"]
        return lambda_ * solver.accuracy_.unit if scale == "trace" else penalty(lambda_, len(self.split.X_train), scale)

    def _path_curves(self, spec: TrialSpec, solver: Any, scale: float | None) -> dict[str, list[Any]]:
        """The test score at every λ, and other scales of λ: over the mean ‖z(x)‖², over p times the median of the
        columns' mean squares, and the effective dimension of the training rows' features."""
        lambdas, outputs = solver.predict_path(self.split.X_test)
        classes = declared(solver, "classes_")
        scores = [self.score(output if classes is None else classes[(output > 0).astype(int)]) for output in outputs.T]
        curves = {"lambda": lambdas, "effective_lambda": [lambda_ * (scale or 1.0) for lambda_ in lambdas]}
        if (features := declared(solver, "features_")) is not None:
            squares = self._mean_squares(features)
            median = len(squares) * float(np.median(squares)) * len(self.split.X_train)
            penalties = [self._penalty(spec, solver, lambda_) for lambda_ in lambdas]
            curves["median_lambda"] = [each / median for each in penalties]
            curves["effective_dimension"] = self._effective_dimensions(features, penalties, solver.accuracy_)
        return curves | {name: [score[name] for score in scores] for name in scores[0]}

    def _effective_dimensions(self, features: Any, penalties: list[float], accuracy: Accuracy) -> list[float | None]:
        """tr(K̃(K̃ + cI)⁻¹) for each penalty c, K̃ = ZZᵀ over all training rows. None if rounding makes ZᵀZ + cI not
        positive definite, or if a solution by singular values depends on a c that is lost in the rounding of ZᵀZ.

        It is p − c·tr((ZᵀZ + cI)⁻¹), by one Cholesky factorisation per c, with an error of about p times machine
        epsilon, even if columns differ by orders of magnitude. The eigenvalues of ZᵀZ would not be that exact.
        """
        X, found = self.split.X_train, list[float | None]()
        gram, work = TriangleStack(2, features.n_components)
        for rows in row_blocks(len(X)):
            gram.add_gram(features.transform(X[rows]).astype(np.float64, copy=False))
        least = CHOLESKY_FLOOR * float(gram.diagonal.sum()) if accuracy.method == "svd" else 0.0
        for each in penalties:
            if each < least:
                found.append(None)
                continue
            work.copy_from(gram)
            work.diagonal[:] += each
            try:
                work.cholesky()
                found.append(features.n_components - each * float(work.inverse_diagonal().sum()))
            except LinAlgError:
                found.append(None)
        return found

    @cached_property
    def _points(self) -> Points:
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


def _how_solved(solver: Any) -> dict[str, Any]:
    accuracy = declared(solver, "accuracy_")
    return {"method": accuracy.method, "smallest_lambda": accuracy.smallest_alpha} if accuracy else {}


def mapping_seconds(features: Any, X: Any, buffers: dict[tuple[int, int], NDArray] | None = None) -> float:
    """The seconds to map all rows of X, block by block, into one buffer if the map can fill it. ``buffers`` keeps
    buffers by shape for later calls."""
    fill = hook(features, "fill")
    rows = default_block_rows(features.n_components)
    shape, buffers = (min(rows, X.shape[0]), features.n_components), {} if buffers is None else buffers
    if fill is not None and shape not in buffers:
        buffers[shape] = np.empty(shape, dtype=X.dtype)
        buffers[shape].fill(0)  # the first touch of memory is not part of mapping
    watch = Stopwatch()
    for start in range(0, X.shape[0], rows):
        block = X[start : start + rows]
        with watch:
            if fill is None:
                mapped(features, block, columns_of(features))
            else:
                fill(block, buffers[shape][: len(block)])
    return watch.seconds


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
