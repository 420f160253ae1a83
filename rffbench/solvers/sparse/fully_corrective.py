"""Algorithm 1 of Yen et al. 2014: propose functions (in any way), minimise over all weights, drop zeros.

f(x) = Σ_h w(h)·φ_h(x) over a basis (`rffbench.solvers.sparse.basis`), without an intercept. The objective is
λ‖w‖₁ + (1/N) Σ L(f(xₙ), yₙ) (their Eq. 8), with L = ½(z − y)² for regression and max(0, 1 − yz)² for two classes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from rffbench.arguments.parameters import (
    WrongParameter,
    check_choice,
    check_count,
    check_memory,
    check_positive,
    is_number,
)
from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.errors import MemoryBudgetError
from rffbench.kernels import KERNELS, Kernel, check_squares, make_kernel
from rffbench.kernels.bandwidth import Bandwidth
from rffbench.solvers.base import Classifier, LambdaScale, Regressor, checked_rows
from rffbench.solvers.sparse.basis import Basis, Functions, with_ones
from rffbench.solvers.sparse.l1 import L1Problem, Lasso, SquaredHinge, minimise
from rffbench.solvers.sparse.quadratic import RowGram
from rffbench.solvers.sparse.working_set import WorkingSet

FILE_FORMAT = 1  # of saved models
PREDICTED_ELEMENTS = 1 << 20  # values per block of predictions
VECTORS = 8  # arrays of N float64 numbers that a step needs besides the values

Listener = Callable[[WorkingSet, float], object]


class Proposal(NamedTuple):
    """Functions that join the working set, and the numbers that name them there."""

    functions: Functions
    names: NDArray[np.int64]


class FullyCorrective(Bandwidth):
    """Base of the estimators. Subclasses implement ``_propose``, and ``_stored`` and ``_restored`` for saved models."""

    loss: ClassVar[type[L1Problem]]
    n_features_in_: int

    def __init__(
        self, kernel: str | Kernel, gamma: float | str, *, alpha: float | Sequence[float], lambda_scale: LambdaScale,
        steps: int, tol: float, validation: float, target_score: float | None, record: bool,
        callback: Callable[[Mapping[str, float]], object] | None, random_state: RandomState, memory: int | None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.lambda_scale = lambda_scale
        self.steps = steps
        self.tol = tol
        self.validation = validation
        self.target_score = target_score
        self.record = record
        self.callback = callback
        self.random_state = random_state
        self.memory = memory

    @property
    def _basis(self) -> Basis:
        return Basis(self.kernel, self.bandwidth)

    def _begin(self, d: int) -> None:
        """Prepare to propose functions of d inputs."""

    def _propose(self, step: int, working: WorkingSet, problem: L1Problem) -> Proposal | None:
        """The functions that join at a step. None ends the descent; step 0 may not return None."""
        raise NotImplementedError

    @property
    def _proposed_at_once(self) -> int:
        """The most functions of a proposal."""
        raise NotImplementedError

    def _minimise(self, problem: L1Problem, working: WorkingSet, rng: np.random.Generator) -> None:
        """Minimise over the weights of the working set, starting at the present ones."""
        minimise(problem, working.values, working.weights, tol=self.tol, rng=rng)

    # --- Parameters ---

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        self._check_kernel()
        for alpha in self._alphas():
            check_positive("alpha", alpha)
        check_choice("lambda_scale", self.lambda_scale, get_args(LambdaScale))
        check_count("steps", self.steps, least=1)
        check_memory(self.memory)
        check_positive("tol", self.tol)
        check_positive("validation", self.validation)
        if self.validation >= 1:
            problem = f"must lie between 0 and 1, a share of the rows, got {self.validation!r}"
            raise WrongParameter("validation", problem)
        if self.target_score is not None and not is_number(self.target_score):
            raise WrongParameter("target_score", f"must be a number or null, got {self.target_score!r}")
        check_choice("record", self.record, (True, False))

    def _alphas(self) -> list[Any]:
        """``alpha`` as a list, not yet checked."""
        alphas = list(self.alpha) if isinstance(self.alpha, (list, tuple, np.ndarray)) else [self.alpha]
        if not alphas:
            raise WrongParameter("alpha", "must be a positive number or a list of them, got an empty list")
        return alphas

    def _check_budget(self, when: str, inputs: tuple[int, int], dtype: np.dtype, features: int) -> None:
        """MemoryBudgetError if a working set of ``features`` functions on (n, d) ``inputs`` does not fit."""
        n, d = inputs
        a_value = self._basis.column_dtype(dtype).itemsize
        needed = n * (features * a_value + 2 * (d + 1) * dtype.itemsize + 8 * VECTORS) + RowGram.bytes_needed(features)
        if self.memory is not None and needed > self.memory:
            raise MemoryBudgetError(f"a working set of {features} features on {n} rows, {when},", needed, self.memory)

    # --- The fit ---

    def fit(self, X: Any, y: Any, eval_set: tuple[Any, Any] | None = None) -> Any:
        """Fit to y (n,). X: (n, d) array, or a lazy array with shape, dtype and row slices.

        ``eval_set``, rows and targets, gives 'test_error' in ``curves_`` and for the callback.
        """
        self._eval_set = eval_set
        try:
            return super().fit(X, y)  # type: ignore[misc]
        finally:
            del self._eval_set

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        self.check_parameters()
        self._learn_gamma(X)
        target = self._single_target(Y, y)
        dtype = np.dtype(X.dtype)
        self._check_budget("at the start", X.shape, dtype, self._proposed_at_once)
        inputs = self._inputs(X, slice(0, len(target)))
        warm_up(self.kernel, dtype)
        self.timing_ = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}
        self.seed_ = seed_sequence(self.random_state)
        with self._timed("feature_s"):
            self._begin(X.shape[1])
        alphas = sorted((float(alpha) for alpha in self._alphas()), reverse=True)
        self.alpha_ = alphas[0] if len(alphas) == 1 else self._choose(inputs, target, alphas)
        curves: list[dict[str, float]] = []
        best = self._descend(inputs, target, self.alpha_, listener=self._recorder(curves))
        self._install(best)
        self.metrics_ = {"model_size": float(len(best)), "objective": curves[-1]["objective"]}
        if self.record:
            self.curves_ = {name: [row[name] for row in curves] for name in curves[0]}

    def _single_target(self, Y: NDArray[np.float64], y: NDArray) -> NDArray[np.float64]:
        if isinstance(self, Regressor):
            return column_or_1d(y, warn=True)
        if Y.shape[1] > 1:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: it has "
                f"{Y.shape[1]} classes"
            )
        return Y[:, 0].copy()

    def _descend(
        self, inputs: NDArray, target: NDArray[np.float64], alpha: float, *, start: WorkingSet | None = None,
        listener: Listener = lambda *_: None,
    ) -> WorkingSet:  # fmt: skip
        """The working set after ``steps`` steps, starting with the functions and weights of ``start``."""
        n, d = len(target), len(inputs) - 1
        problem = self.loss(target, alpha if self.lambda_scale == "n" else alpha / n)
        working = WorkingSet(self._basis, inputs)
        rng = generator(self.seed_, "descent")
        if start is not None:
            with self._timed("feature_s"):
                working.add(start.functions, start.names, start.weights)
                problem.shift(working.values, working.weights)
        for step in range(self.steps):
            with self._timed("feature_s"):
                proposal = self._propose(step, working, problem)
            if proposal is None:
                break
            self._check_budget(f"at step {step + 1}", (n, d), inputs.dtype, len(working) + len(proposal.names))
            with self._timed("feature_s"):
                working.add(*proposal)
            with self._timed("solve_s"):
                self._minimise(problem, working, rng)
                problem.gram.renumber(working.drop_zeros())
            listener(working, problem.objective(working.weights))
        return working

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        with Stopwatch() as watch:
            yield
        self.timing_[part] += watch.seconds

    def _recorder(self, rows: list[dict[str, float]]) -> Listener:
        """A listener that appends each step to ``rows`` and calls the callback. 'time' excludes the time for that."""
        before = self.timing_["solve_s"]  # 'time' also excludes choosing alpha
        spent = sum(self.timing_.values()) if before else 0.0

        def listen(working: WorkingSet, objective: float) -> None:
            seconds = sum(self.timing_.values()) - spent
            row = {"time": seconds, "objective": objective, "nonzeros": float(len(working))}
            if self._eval_set is not None:
                X, y = self._eval_set
                self._install(working)
                row["test_error"] = self._error(y, self.predict(X))  # type: ignore[attr-defined]
            rows.append(row)
            if self.callback is not None:
                self.callback(row)

        return listen

    def _error(self, y: NDArray, predicted: NDArray) -> float:
        """The share of wrong labels, or the root mean square error."""
        if isinstance(self, Classifier):
            return float(np.mean(np.asarray(y) != predicted))
        return float(np.sqrt(np.mean((np.asarray(y) - predicted) ** 2)))

    def _choose(self, inputs: NDArray, target: NDArray[np.float64], alphas: list[float]) -> float:
        """The alpha with the best score on held-out rows, or with the one nearest to ``target_score``; the larger of
        equals. Each fit starts with the functions and weights of the next larger alpha."""
        n = len(target)
        held = max(1, round(self.validation * n))
        if held >= n:
            raise ValueError(f"choosing among {len(alphas)} alphas needs 2 rows or more, got n_samples = {n}")
        order = generator(self.seed_, "validation").permutation(n)
        training, validating = np.sort(order[held:]), np.sort(order[:held])
        inside, outside, right = inputs[:, training], inputs[:, validating], target[validating]
        working: WorkingSet | None = None
        path: dict[str, list[float]] = {"alpha": alphas, "score": [], "nonzeros": []}
        for alpha in alphas:
            working = self._descend(inside, target[training], alpha, start=working)
            self._install(working)
            found = self._combination(outside)
            if isinstance(self, Classifier):
                path["score"].append(float(np.mean((found > 0) == (right > 0))))
            else:
                path["score"].append(-self._error(right, found))
            path["nonzeros"].append(float(len(working)))
        self.path_ = path
        scores = np.array(path["score"])
        merit = scores if self.target_score is None else -np.abs(scores - self.target_score)
        return alphas[int(merit.argmax())]

    # --- The fitted function ---

    def _install(self, working: WorkingSet) -> None:
        self.coef_, self.indices_ = working.weights.copy(), working.names
        self.directions_, self.offsets_ = working.functions

    def _linear(self, X: Any) -> NDArray[np.float64]:
        size = max(256, PREDICTED_ELEMENTS // max(1, len(self.coef_)))
        out = np.empty(X.shape[0])
        for start in range(0, len(out), size):
            rows = slice(start, min(start + size, len(out)))
            out[rows] = self._combination(self._inputs(X, rows))
        return out

    def _inputs(self, X: Any, rows: slice) -> NDArray:
        """[X[rows] | 1]ᵀ; ValueError if numbers are not finite, or so large that values of functions overflow."""
        part = checked_rows(X, rows)
        if self._basis.signs:  # for cosines, NaN shows an overflow later
            check_squares(part)
        return with_ones(part)

    def _combination(self, inputs: NDArray) -> NDArray[np.float64]:
        """Σ_h w(h)·φ_h at the points of ``inputs``, [X | 1]ᵀ."""
        values = np.empty((len(self.coef_), inputs.shape[1]), dtype=inputs.dtype)
        self._basis.evaluate(Functions(self.directions_, self.offsets_), inputs, values)
        return (self.coef_.astype(inputs.dtype) @ values).astype(np.float64)

    # --- Files ---

    def _stored(self) -> dict[str, NDArray]:
        """The arrays from which ``_restored`` makes the functions."""
        raise NotImplementedError

    def _restored(self, arrays: Mapping[str, NDArray]) -> Functions:
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an .npz file, without pickles, and only the parts that predictions need.

        'header' is a JSON object as a string: 'format', 'estimator', 'parameters' (kernel and gamma), 'seed' (entropy
        and spawn key of the random stream), 'n_features_in' and 'alpha'. 'coef' (m,) are the weights, 'classes' the
        two labels of a classifier. Other arrays, which depend on the estimator, identify the functions.
        """
        check_is_fitted(self)
        header = {
            "format": FILE_FORMAT,
            "estimator": type(self).__name__,
            "parameters": {"kernel": _written(self.kernel), "gamma": float(self.bandwidth)},
            "seed": {"entropy": self.seed_.entropy, "spawn_key": list(self.seed_.spawn_key)},
            "n_features_in": self.n_features_in_,
            "alpha": self.alpha_,
        }
        arrays = {"header": np.array(json.dumps(header, default=int)), "coef": self.coef_, **self._stored()}
        if isinstance(self, Classifier):
            arrays["classes"] = self.classes_
        if any(array.dtype.hasobject for array in arrays.values()):
            raise ValueError("labels that are Python objects cannot be saved; use an array of numbers or strings")
        with open(path, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls: Any, path: str | os.PathLike[str]) -> Any:
        """The model that ``save`` wrote; ValueError if the file has none of this class."""
        with np.load(path, allow_pickle=False) as file:
            if "header" not in file:
                raise ValueError(f"{os.fspath(path)} is not a saved model: it has no 'header'")
            header = json.loads(str(file["header"]))
            if (header.get("format"), header.get("estimator")) != (FILE_FORMAT, cls.__name__):
                raise ValueError(
                    f"{os.fspath(path)} has format {header.get('format')} of {header.get('estimator')}, "
                    f"not format {FILE_FORMAT} of {cls.__name__}"
                )
            seed = SeedSequence(header["seed"]["entropy"], spawn_key=header["seed"]["spawn_key"])
            parameters = {**header["parameters"], "alpha": header["alpha"], "random_state": seed}
            if isinstance(kernel := parameters["kernel"], dict):
                parameters["kernel"] = make_kernel(kernel.pop("name"), **kernel)
            model: Any = cls(**parameters)
            model.seed_, model.alpha_, model.n_features_in_ = seed, header["alpha"], header["n_features_in"]
            model.coef_ = file["coef"]
            if "classes" in file:
                model.classes_ = file["classes"]
            model.directions_, model.offsets_ = model._restored(file)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        return tags


def _written(kernel: str | Kernel) -> str | dict[str, Any]:
    """The kernel for JSON: its name, with its parameters if it was given as a Kernel."""
    if isinstance(kernel, str):
        return kernel
    if type(kernel) is not KERNELS.get(kernel.name):
        raise ValueError(f"a model of the kernel {kernel.called()} cannot be saved: the kernel is not built in")
    return {"name": kernel.name, **kernel.parameters}


@cache
def warm_up(kernel: str | Kernel, dtype: np.dtype) -> None:
    """Compile the kernels, or load them from numba's cache, before timing."""
    rng = np.random.default_rng(0)
    inputs = with_ones(rng.uniform(size=(32, 2)).astype(dtype))
    working = WorkingSet(Basis(make_kernel(kernel).without_lengths(), 1.0), inputs)
    working.add(working.basis.draw(8, 2, SeedSequence(0)), np.arange(8))
    target = np.where(inputs[0] > 0.5, 1.0, -1.0)
    for loss in (Lasso, SquaredHinge):
        minimise(loss(target, 1e-3), working.values, np.zeros(8), tol=1e-3, rng=rng)
