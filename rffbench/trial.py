"""One trial: load, split, preprocess, map, solve, score. A pure function of its spec; no I/O but the data cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench import data, linalg, metrics
from rffbench.data import Split
from rffbench.execution.measure import Contention, private_memory, touch_memory
from rffbench.features import make_features
from rffbench.kernels import Kernel, make_kernel
from rffbench.plan import Channel
from rffbench.seeds import feature_stream, generator, split_stream
from rffbench.solvers import check_solver, make_solver
from rffbench.solvers.ridge import default_block_rows
from rffbench.spec import TrialResult, TrialSpec
from rffbench.triangles import TriangleStack


@dataclass
class Problem:
    """What all trials of one dataset, preprocessing, kernel and trial number have in common."""

    split: Split
    kernel: Kernel
    subsample: NDArray[np.int64]  # the training rows on which the kernel error is measured, sorted

    @classmethod
    def of(cls, spec: TrialSpec) -> Problem:
        split = data.train_test(
            spec.dataset, seed=spec.seed, trial=spec.trial, preprocess=spec.preprocess,
            preprocess_fit=spec.preprocess_fit, dtype=spec.dtype,
        )  # fmt: skip
        n_train = len(split.X_train)
        rng = generator(split_stream(spec.seed, spec.dataset, spec.trial), "kernel error")
        points = min(spec.kernel_error_points, n_train)
        linalg.warm_up(spec.dtype)  # compiling, or loading what was compiled, is no part of what is timed
        return cls(split, make_kernel(**spec.kernel), np.sort(rng.choice(n_train, size=points, replace=False)))

    @property
    def n_classes(self) -> int:
        """Classes of a classification task as it is learnt, 0 of a regression."""
        return len(np.unique(self.split.y_train)) if self.split.task == "classification" else 0

    def features(self, spec: TrialSpec) -> Any:
        """The spec's feature map, not yet fitted, on the random stream that pairs the methods."""
        return make_features(
            spec.features, kernel=spec.kernel["name"], gamma=spec.kernel["gamma"],
            n_features=spec.n_features, count=spec.count,
            random_state=feature_stream(spec.seed, spec.dataset, spec.trial, spec.kernel["name"]),
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

    def kernel_error(self, features: Any) -> dict[str, float]:
        """The relative error of the kernel matrix of the subsample, where there is a subsample and a map."""
        if features is None or not len(self.subsample):
            return {}
        return {"kernel_error": metrics.kernel_error(self._kernel_matrix, features.transform(self._points))}

    @cached_property
    def _points(self) -> NDArray:
        return self.split.X_train[self.subsample]

    @cached_property
    def _kernel_matrix(self) -> NDArray[np.float64]:
        return self.kernel(self._points.astype(np.float64))


def run_trial(spec: TrialSpec, problem: Problem | None = None, *, memory: int | None = None) -> TrialResult:
    """Measure one trial alone: nothing shared with another but the rows, every second its own.

    ``problem`` is the spec's, made where it isn't given. ``memory`` bounds in bytes what the process may hold;
    MemoryBudgetError, before the solver starts, where it cannot do.
    """
    problem = problem or Problem.of(spec)
    split = problem.split
    solver = _make_solver(spec, problem, memory)
    with Contention() as contention:
        solver.fit(split.X_train, split.y_train)
        predicted, predict_s = problem.predict(solver)
    timing = {
        "feature_s": solver.timing_["feature_s"],
        "fit_s": solver.timing_["gram_s"] + solver.timing_["solve_s"],
        "predict_s": predict_s,
        "contended": contention.contended,
        "shared": False,
    }
    scores = {**problem.score(predicted), **problem.kernel_error(getattr(solver, "features_", None))}
    return TrialResult(spec, "ok", scores, timing, chosen_lambda=getattr(solver, "alpha_", None))


def _make_solver(spec: TrialSpec, problem: Problem, memory: int | None) -> Any:
    features = problem.features(spec)
    if spec.device != "cpu":
        from rffbench.solvers.torch_ridge import make_torch_ridge  # PyTorch is an extra, and slow to import

        settings = check_solver(spec.solver)
        return make_torch_ridge(task=problem.split.task, features=features, device=spec.device, **settings)
    free = None if memory is None else memory - (private_memory() or 0)
    return make_solver(
        spec.solver, task=problem.split.task, features=features, memory=free,
        kernel=spec.kernel["name"], gamma=spec.kernel["gamma"],
    )  # fmt: skip


def _expected_bytes(spec: TrialSpec, problem: Problem) -> int:
    """About what ridge will hold at once: triangles of the folds and to work in, and a few blocks of features."""
    columns = getattr(problem.features(spec), "n_components", 1)
    folds = spec.solver.get("folds", 1)
    return TriangleStack.bytes_needed(folds + 2, columns) + 4 * 8 * default_block_rows(columns) * columns


def run_alone(spec: TrialSpec, problem: Problem, channel: Channel) -> None:
    """Do one trial and tell ``channel``."""
    if spec.device == "cpu":
        free = None if channel.memory_limit is None else channel.memory_limit - (private_memory() or 0)
        expected = _expected_bytes(spec, problem)
        touch_memory(expected if free is None else min(expected, free))
    channel.begin(spec)
    try:
        channel.result(run_trial(spec, problem, memory=channel.memory_limit))
    except Exception as error:
        channel.fail(spec, error)
