"""One trial: load, split, preprocess, map, solve, score. A pure function of its spec; no I/O but the data cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sklearn.base import clone

from rffbench import data, linalg, metrics
from rffbench.data import Split
from rffbench.errors import DataError
from rffbench.execution.measure import Contention, OwnMemory, private_memory, touch_memory
from rffbench.features import make_features
from rffbench.features.base import row_blocks
from rffbench.kernels import gamma_from_sigma, make_kernel, median_distance
from rffbench.measures import MEASURES, MapOnPoints, Points
from rffbench.plan import Channel
from rffbench.seeds import feature_stream, generator, split_stream
from rffbench.solvers import NONE, check_solver, make_solver
from rffbench.solvers.ridge import default_block_rows
from rffbench.spec import MEDIAN, TrialResult, TrialSpec
from rffbench.triangles import TriangleStack

MEDIAN_ROWS = 1000  # training rows whose median distance is the bandwidth, where a config asks for that
EFFECTIVE_ROWS = 1000  # training rows, in their random order, whose mean ‖z(x)‖² scales the effective λ


@dataclass
class Problem:
    """What all trials of one dataset, preprocessing, kernel and trial number have in common."""

    split: Split
    kernel_name: str
    gamma: float
    subsample: NDArray[np.int64]  # the training rows on which the kernel matrix is measured, sorted

    @classmethod
    def of(cls, spec: TrialSpec) -> Problem:
        split = data.train_test(
            spec.dataset, seed=spec.seed, trial=spec.trial, preprocess=spec.preprocess,
            preprocess_fit=spec.preprocess_fit, dtype=spec.dtype, train_rows=spec.train_rows,
        )  # fmt: skip
        n_train = len(split.X_train)
        stream = split_stream(spec.seed, spec.dataset, spec.trial)
        rng = generator(stream, "kernel error")
        points = min(spec.kernel_error_points, n_train)
        linalg.warm_up(spec.dtype)  # compiling, or loading what was compiled, is no part of what is timed
        subsample = np.sort(rng.choice(n_train, size=points, replace=False))
        name, gamma = spec.kernel["name"], spec.kernel["gamma"]
        if gamma is None:
            gamma = 1 / _radius(split.X_train)
        elif gamma == MEDIAN:
            gamma = gamma_from_sigma(name, _median_distance(name, split.X_train, stream))
        return cls(split, name, gamma, subsample)

    @property
    def n_classes(self) -> int:
        """Classes of a classification task as it is learnt, 0 of a regression."""
        return len(np.unique(self.split.y_train)) if self.split.task == "classification" else 0

    def features(self, spec: TrialSpec) -> Any:
        """The spec's feature map, not yet fitted, on the random stream that pairs the methods; None without one."""
        return make_features(
            spec.features, kernel=self.kernel_name, gamma=self.gamma,
            n_features=spec.n_features, count=spec.count, random_state=_stream(spec),
        )  # fmt: skip

    def solver(self, spec: TrialSpec, features: Any, memory: int | None = None) -> Any:
        """The spec's solver on ``features``, not yet fitted, within ``memory`` bytes."""
        return make_solver(
            spec.solver, task=self.split.task, features=features, memory=memory, kernel=self.kernel_name,
            gamma=self.gamma, n_features=spec.n_features, random_state=_stream(spec),
        )  # fmt: skip

    def predict(self, solver: Any) -> tuple[NDArray, float]:
        """Predictions for the test rows and the seconds they took, fetching and scaling the rows left out."""
        X = self.split.X_test
        started, waited = perf_counter(), X.seconds
        predicted = solver.predict(X)
        return predicted, perf_counter() - started - (X.seconds - waited)

    def score(self, predicted: NDArray) -> dict[str, float]:
        """The test metrics of the task."""
        y = self.split.y_test
        if self.split.task == "classification":
            return {"accuracy": metrics.accuracy(y, predicted)}
        return {"rmse": metrics.rmse(y, predicted), "relative_rmse": metrics.relative_rmse(y, predicted)}

    def result(
        self, spec: TrialSpec, solver: Any, scores: dict[str, float], timing: dict[str, Any]
    ) -> TrialResult:
        """What a fitted solver comes to: ``scores``, what it says of itself, and what is measured of its map."""
        features, alpha = getattr(solver, "features_", None), getattr(solver, "alpha_", None)
        scores = scores | getattr(solver, "metrics_", {}) | self.measures(spec, features)
        if len(cv_error := getattr(solver, "cv_results_", {}).get("mean_test_error", [])):
            scores["cv_error"] = float(min(cv_error))
        if spec.kernel["gamma"] == MEDIAN:
            scores["gamma"] = self.gamma
        if (scale := self._effective(spec, features)) and alpha is not None:
            scores["effective_lambda"] = alpha * scale
        curves = getattr(solver, "curves_", {})
        if getattr(solver, "path_", []):
            curves = self._path_curves(solver, scale)
        return TrialResult(spec, "ok", scores, timing, chosen_lambda=alpha, curves=curves)

    def measures(self, spec: TrialSpec, features: Any) -> dict[str, float]:
        """What is measured of the fitted map on the subsample, where there is a map and a subsample."""
        if features is None or not len(self.subsample):
            return {}
        mapped = MapOnPoints(features, self._points)
        return {name: MEASURES[name](mapped) for name in spec.measures}

    def _effective(self, spec: TrialSpec, features: Any) -> float | None:
        """What λ is multiplied by to give the effective λ: that of features scaled to k̃(x, x) = 1 on average.

        It is the penalty, n·λ or λ, over n times the mean of ‖z(x)‖², which is the sum over the columns of their mean
        squares. A map whose columns are c times as large has the same effective λ at a λ that is c² times as large.
        """
        if features is None or "lambda_scale" not in spec.solver:
            return None
        Z = features.transform(self.split.X_train[: min(EFFECTIVE_ROWS, len(self.split.X_train))])
        norm = float(np.einsum("ij,ij->", Z, Z, dtype=np.float64)) / len(Z)
        return 1 / norm if spec.solver["lambda_scale"] == "n" else 1 / (norm * len(self.split.X_train))

    def _path_curves(self, solver: Any, scale: float | None) -> dict[str, list[float]]:
        """The test score at every λ."""
        alphas, outputs = solver.predict_path(self.split.X_test)
        classes = getattr(solver, "classes_", None)
        scores = [
            self.score(output if classes is None else classes[(output > 0).astype(int)]) for output in outputs.T
        ]
        curves = {"lambda": alphas, "effective_lambda": [alpha * (scale or 1.0) for alpha in alphas]}
        return curves | {name: [score[name] for score in scores] for name in scores[0]}

    @cached_property
    def _points(self) -> Points:
        return Points(self.split.X_train[self.subsample], make_kernel(self.kernel_name, self.gamma))


def _stream(spec: TrialSpec) -> SeedSequence:
    return feature_stream(spec.seed, spec.dataset, spec.trial, spec.kernel["name"])


def _radius(X: Any) -> float:
    """The largest ‖x‖ of the rows X (n, d): R of the perceptron kernel, γ = 1/R (Lin & Li 2008)."""
    largest = max(float(np.square(X[rows]).sum(axis=1).max()) for rows in row_blocks(X.shape[0]))
    return float(np.sqrt(largest)) or 1.0


def _median_distance(kernel: str, X: Any, stream: SeedSequence) -> float:
    """The median distance between MEDIAN_ROWS of the rows X (n, d): σ by the median heuristic."""
    chosen = generator(stream, "median distance").choice(X.shape[0], min(MEDIAN_ROWS, X.shape[0]), replace=False)
    median = median_distance(kernel, X[np.sort(chosen)].astype(np.float64))
    if not median:
        raise DataError("the median distance between training rows is 0: more than half are alike; give sigma a number")
    return median


class _MapAlone:
    """In a solver's place where there is none: fits a map and applies it to the rows, to time it."""

    def __init__(self, features: Any) -> None:
        self.features = features

    def fit(self, X: Any, y: NDArray) -> _MapAlone:
        started, waited = perf_counter(), X.seconds
        self.features_ = self.features.fit(X, y)
        rows = default_block_rows(self.features.n_components)
        for start in range(0, X.shape[0], rows):
            self.features_.transform(X[start : start + rows])
        feature_s = perf_counter() - started - (X.seconds - waited)
        self.timing_ = {"feature_s": feature_s, "gram_s": 0.0, "solve_s": 0.0}
        return self


def run_trial(spec: TrialSpec, problem: Problem | None = None, *, memory: int | None = None) -> TrialResult:
    """Measure one trial alone: nothing shared with another but the rows, every second its own.

    ``problem`` is the spec's, made where it isn't given. ``memory`` bounds in bytes what the process may hold;
    MemoryBudgetError, before the solver starts, where it cannot do.
    """
    problem = problem or Problem.of(spec)
    split = problem.split
    solver = _make_solver(spec, problem, memory)
    timing: dict[str, Any] = {"shared": False}
    scores: dict[str, float] = {}
    watched = {"eval_set": (split.X_test, split.y_test)} if spec.solver.get("record") else {}
    with Contention() as contention:
        solver.fit(split.X_train, split.y_train, **watched)
        if spec.solver["name"] != NONE:
            predicted, timing["predict_s"] = problem.predict(solver)
            scores = problem.score(predicted)
    timing |= {
        "feature_s": solver.timing_["feature_s"],
        "fit_s": solver.timing_["gram_s"] + solver.timing_["solve_s"],
        "contended": contention.contended,
    }
    return problem.result(spec, solver, scores, timing)


_warm: set[tuple[type, str]] = set()


def _warm_up(features: Any, dtype: np.dtype) -> None:
    """Have what the map's class calls compiled, or loaded from numba's cache, by a tiny fit once a process: that is no
    part of what is timed."""
    if (key := (type(features), dtype.name)) not in _warm:
        X = np.eye(2, dtype=dtype)
        clone(features).set_params(n_components=2).fit(X, np.array([-1.0, 1.0])).transform(X)
        _warm.add(key)


def _make_solver(spec: TrialSpec, problem: Problem, memory: int | None) -> Any:
    features = problem.features(spec)
    if features is not None:
        _warm_up(features, problem.split.X_train.dtype)
    if spec.solver["name"] == NONE:
        return _MapAlone(features)
    if spec.device != "cpu":
        from rffbench.solvers.torch_ridge import make_torch_ridge  # PyTorch is an extra, and slow to import

        settings = check_solver(spec.solver)
        return make_torch_ridge(task=problem.split.task, features=features, device=spec.device, **settings)
    return problem.solver(spec, features, None if memory is None else memory - (private_memory() or 0))


def _expected_bytes(spec: TrialSpec, problem: Problem) -> int:
    """About what ridge will hold at once: triangles of the folds and to work in, and a few blocks of features."""
    if spec.solver["name"] != "ridge":
        return 0
    columns = getattr(problem.features(spec), "n_components", 1)
    folds = spec.solver.get("folds", 1)
    return TriangleStack.bytes_needed(folds + 2, columns) + 4 * 8 * default_block_rows(columns) * columns


def run_alone(spec: TrialSpec, problem: Problem, channel: Channel) -> None:
    """Do one trial and tell ``channel``."""
    if spec.device == "cpu":
        free = None if channel.memory_limit is None else channel.memory_limit - (private_memory() or 0)
        expected = _expected_bytes(spec, problem)
        touch_memory(expected if free is None else min(expected, free))
    with OwnMemory() as own:
        channel.begin(spec)
        try:
            result = run_trial(spec, problem, memory=channel.memory_limit)
        except Exception as error:
            channel.fail(spec, error)
            return
    if own.bytes is not None:
        result.metrics["own_memory_bytes"] = float(own.bytes)
    channel.result(result)
