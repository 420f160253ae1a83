"""Kernel ridge by steps that each compute the kernel of a few rows with all: what such solvers have in common."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rffbench.arguments.parameters import WrongParameter, check_choice, check_memory
from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import RandomState
from rffbench.errors import Fallback, MemoryBudgetError
from rffbench.kernels import Kernel, check_squares
from rffbench.kernels.bandwidth import Bandwidth
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.solvers.base import LambdaScale, checked_rows, less_origin, mean_test_error
from rffbench.solvers.iterative.budget import Budget, Clock
from rffbench.solvers.iterative.kernel import KernelMatrix
from rffbench.solvers.iterative.tiles import Tiles
from rffbench.solvers.ridge.fold_statistics import penalty
from rffbench.solvers.ridge.settings import Center, check_penalties

Numbers = NDArray[np.float64]
FEWEST_PASSES = 2  # one of steps, and one for the residual
GROWN = 3.0  # steps are too long if the residual is this many times the least one so far
SLACK = 2.0  # the residual, computed again at the end, may be this many times the tolerance


def one_lambda(lambda_: float | Sequence[float], solver: str) -> float:
    """A config's λ, of a solver that chooses none; WrongParameter where it is a list of several."""
    values = np.atleast_1d(lambda_).tolist()
    if len(values) > 1:
        raise WrongParameter("lambda", f"must be one number for {solver}, got {values}")
    return values[0]


class Steps(Protocol):
    """The steps of a solver towards (K + cI)a = y, from a = 0."""

    coef: Numbers
    """a, (n, t)."""

    def one_pass(self) -> float:
        """Steps that compute n rows of K. Returns the sum of the squares of their gradients, ‖Ka + ca − y‖² of a as it
        was when each row was computed."""
        ...

    def restart(self) -> None:
        """Begin again, with shorter steps."""
        ...


class KernelDescent(Bandwidth):
    """Base of the solvers of (K + nλI)a = y − ȳ by `Steps`, K (n, n) not stored. A subclass implements ``_steps`` and
    ``_bytes``."""

    called: ClassVar[str]
    """Its name in configs."""

    def __init__(
        self, alpha: float, *, kernel: str | Kernel, gamma: float | str, lambda_scale: LambdaScale, center: Center,
        budget: Mapping[str, Any] | None, record: bool, memory: int | None, random_state: RandomState,
    ) -> None:  # fmt: skip
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.lambda_scale = lambda_scale
        self.center = center
        self.budget = budget
        self.record = record
        self.memory = memory
        self.random_state = random_state

    def _steps(self, Y: Numbers, added: float) -> Steps:
        """The steps for the targets Y (n, t) and c = ``added``."""
        raise NotImplementedError

    def _bytes(self, n: int, d: int, t: int) -> int:
        raise NotImplementedError

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_penalties([self.alpha], self.lambda_scale, self.center)
        self._check_kernel()
        check_choice("record", self.record, (True, False))
        check_memory(self.memory)
        Budget.of(self.budget, FEWEST_PASSES)

    def fit(self, X: Any, y: Any, eval_set: tuple[Any, Any] | None = None) -> Any:
        """Fit to y, values (n,) or (n, t), or labels (n,). X, and ``eval_set``, as in `PCGRidgeCV`."""
        self._eval_set = eval_set
        try:
            self._fit_targets(*self._targets(X, y))  # type: ignore[attr-defined]
        finally:
            del self._eval_set
        return self

    def _fit_targets(self, X: Any, Y: Numbers, y: NDArray) -> None:
        self.check_parameters()
        n, d = X.shape
        if self.memory is not None and (needed := self._bytes(n, d, Y.shape[1])) > self.memory:
            raise MemoryBudgetError(f"{self.called} on {n} rows", needed, self.memory)
        budget, elapsed = Budget.of(self.budget, FEWEST_PASSES), Clock()
        tolerance, warning = budget.within(X.dtype)
        if warning:
            warnings.warn(warning, Fallback, stacklevel=3)
        self._learn_gamma(X)
        self.X_fit_ = np.array(checked_rows(X, slice(0, n)), order="C")
        check_squares(self.X_fit_)
        origin = self._target_origin(Y)  # type: ignore[attr-defined]
        Y = less_origin(Y, origin)
        y_mean = Y.mean(axis=0) if self.center else np.zeros(Y.shape[1])
        self.intercept_ = origin + y_mean
        added, targets = penalty(float(self.alpha), n, self.lambda_scale), self._with_ones(Y - y_mean)
        with Stopwatch() as preparing:
            steps = self._steps(targets, added)
        with Stopwatch() as solving:
            left, passes = self._descend(steps, targets, added, budget, tolerance, elapsed)
        coef, shift = self._without_ones(steps.coef)
        self.intercept_ = self.intercept_ + shift
        if left > SLACK * tolerance:
            warnings.warn(
                f"{self.called} at lambda={self.alpha:g} has not converged: the relative residual is {left:.0e} after "
                f"{passes} passes, not {tolerance:.0e}; give the budget more passes or seconds, or take a larger "
                "lambda",
                ConvergenceWarning, stacklevel=3,
            )  # fmt: skip
        if y.ndim == 1 and Y.shape[1] == 1:
            coef, self.intercept_ = coef[:, 0], float(self.intercept_[0])
        self.coef_ = coef
        self.alpha_, self.n_iter_ = float(self.alpha), passes
        self.timing_ = {"feature_s": 0.0, "gram_s": preparing.seconds, "solve_s": solving.seconds}
        self.metrics_ = {"model_size": float(n), "passes": float(passes), "residual": left}

    def _with_ones(self, Y: Numbers) -> Numbers:
        """With an unpenalised intercept c, a = (K + nλI)⁻¹(y − c·1) has Σa = 0. So the same steps also solve for a
        target of ones, of the size of Y, from which c follows."""
        if self.center != "both":
            return Y
        self._size = float(np.sqrt(np.square(Y).mean())) or 1.0
        return np.column_stack([Y, np.full(len(Y), self._size)])

    def _without_ones(self, coef: Numbers) -> tuple[Numbers, Numbers]:
        """The coefficients (n, t) that sum to 0, and c (t,)."""
        if self.center != "both":
            return coef, np.zeros(coef.shape[1])
        of_ones = coef[:, -1:]
        shares = coef[:, :-1].sum(axis=0) / (of_ones.sum() or 1.0)
        return coef[:, :-1] - of_ones * shares, shares * self._size

    def _descend(
        self, steps: Steps, Y: Numbers, added: float, budget: Budget, tolerance: float, elapsed: Clock
    ) -> tuple[float, int]:
        """Take the steps. Returns the relative residual at their end, and the number of passes."""
        norm, least, passes, last = float(np.linalg.norm(Y)) or 1.0, np.inf, 0, elapsed.seconds
        rows: list[dict[str, float]] = []
        while passes < budget.passes - 1:
            squares = steps.one_pass()
            passes += 1
            residual, now = np.sqrt(squares) / norm, elapsed.seconds
            with elapsed:
                self._note(rows, steps.coef, passes, now, residual)
            if not residual <= GROWN * least:  # or NaN
                steps.restart()
                least = np.inf
                continue
            least = min(least, residual)
            if residual <= tolerance or (budget.seconds is not None and 2 * now - last > budget.seconds):
                break
            last = now
        if self.record:
            self.curves_ = {name: [row[name] for row in rows] for name in (rows or [{}])[0]}
        found = KernelMatrix(self.kernel_, self.X_fit_).times(steps.coef) + added * steps.coef
        return float(np.linalg.norm(found - Y)) / norm, passes + 1

    def _note(self, rows: list[dict[str, float]], coef: Numbers, passes: int, now: float, residual: float) -> None:
        if not self.record:
            return
        row = {"passes": float(passes), "time": now, "residual": float(residual)}
        if self._eval_set is not None:
            X, y = self._eval_set
            self.coef_, shift = self._without_ones(coef)
            outputs = self._linear(self._validated(X)) + shift  # type: ignore[attr-defined]
            row["test_error"] = mean_test_error(self, y, outputs)
        rows.append(row)

    def _linear(self, X: Any) -> Numbers:
        out = np.empty((X.shape[0], *self.coef_.shape[1:]))
        blocks = KernelBlocks(self.kernel_, self.X_fit_, X.dtype)
        for rows, _, outputs in Tiles(X, blocks, len(self.X_fit_)).visit(lambda _, Z: Z @ self.coef_):
            out[rows] = outputs
        return out + self.intercept_

    def bytes_to_fit(self, n: int, d: int) -> int:
        """About the bytes that a fit to (n, d) float64 rows and one target needs besides the rows."""
        return self._bytes(n, d, 1)
