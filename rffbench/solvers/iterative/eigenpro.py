"""The solver ``eigenpro``: kernel ridge by stochastic gradient steps with steep directions damped (EigenPro 2)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rffbench.arguments.parameters import WrongParameter, check_choice, check_count, check_memory
from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.errors import Fallback, MemoryBudgetError
from rffbench.features.data_dependent.landmarks import diagonal_of, not_positive
from rffbench.kernels import Kernel, check_squares
from rffbench.kernels.bandwidth import Bandwidth
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.linalg.lapack import eigh
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, LambdaScale, Regressor, checked_rows, less_origin, mean_test_error
from rffbench.solvers.iterative.budget import Budget, Clock, passes_of_a_fit
from rffbench.solvers.iterative.kernel import KernelMatrix
from rffbench.solvers.iterative.tiles import Tiles
from rffbench.solvers.ridge.fold_statistics import penalty
from rffbench.solvers.ridge.settings import Center, check_penalties

Numbers = NDArray[np.float64]
SAMPLE = 2000  # rows whose kernel matrix is decomposed
BATCH = 256  # rows of a step
FEWEST_PASSES = 2  # one of steps, and one for the residual
GROWN = 3.0  # steps are too long if the residual is this many times the least one so far
SLACK = 2.0  # the residual, computed again at the end, may be this many times the tolerance


class Damping(NamedTuple):
    """The q leading eigenvectors, ``vectors`` (s, q), of the kernel matrix of a sample of rows, ``rows``; ``factors``
    (q,) = (1 − σ_{q+1}/σ_i)/σ_i from its eigenvalues σ; and the length of a step, per row."""

    rows: NDArray[np.int64]
    vectors: Numbers
    factors: Numbers
    step: float


class _EigenPro(Bandwidth):
    def __init__(
        self, alpha: float = 1e-3, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        lambda_scale: LambdaScale = "n", center: Center = True, batch: int = BATCH, sample: int = SAMPLE,
        budget: Mapping[str, Any] | None = None, record: bool = False, memory: int | None = None,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.lambda_scale = lambda_scale
        self.center = center
        self.batch = batch
        self.sample = sample
        self.budget = budget
        self.record = record
        self.memory = memory
        self.random_state = random_state

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_penalties([self.alpha], self.lambda_scale, self.center)
        self._check_kernel()
        check_count("batch", self.batch, least=1)
        check_count("sample", self.sample, least=2)
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
            raise MemoryBudgetError(f"eigenpro on {n} rows", needed, self.memory)
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
        added = penalty(float(self.alpha), n, self.lambda_scale)
        with Stopwatch() as damping_s:
            damping = self._damping(added)
        with Stopwatch() as solving:
            targets = self._with_ones(Y - y_mean)
            coef, left, passes = self._descend(targets, added, damping, budget, tolerance, elapsed)
        coef, shift = self._without_ones(coef)
        self.intercept_ = self.intercept_ + shift
        if left > SLACK * tolerance:
            warnings.warn(
                f"eigenpro at lambda={self.alpha:g} has not converged: the relative residual is {left:.0e} after "
                f"{passes} passes, not {tolerance:.0e}; give the budget more passes or seconds, or take a larger "
                "lambda",
                ConvergenceWarning, stacklevel=3,
            )  # fmt: skip
        if y.ndim == 1 and Y.shape[1] == 1:
            coef, self.intercept_ = coef[:, 0], float(self.intercept_[0])
        self.coef_ = coef
        self.alpha_, self.n_iter_ = float(self.alpha), passes
        self.timing_ = {"feature_s": 0.0, "gram_s": damping_s.seconds, "solve_s": solving.seconds}
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

    def _damping(self, added: float) -> Damping:
        """Ma and Belkin's choice: the fewest damped directions for which a whole batch can be one long step.

        A batch of m rows makes the step 1/β per row, as in the released code. β is the largest k(x, x); σ, the largest
        eigenvalue of the damped operator, is at most β/m. Steps of less than 2/(β_G + (m − 1)·σ) converge, with β_G ≤ β
        the largest k_G(x, x) of the damped kernel. If the sample has too few directions to damp, σ shortens the step.
        """
        n, rng = len(self.X_fit_), generator(seed_sequence(self.random_state), "eigenpro")
        size, m = min(n, self.sample), min(self.batch, n)
        index = np.sort(rng.choice(n, size, replace=False))
        kernel, rows = self.kernel_, self.X_fit_[index].astype(np.float64, copy=False)
        K = kernel(rows, rows)
        K[np.diag_indices(size)] += added
        values, Q = eigh(K)
        if values[0] < -size * np.finfo(np.float64).eps * values[-1]:
            raise ValueError(not_positive(float(values[0] - added)))
        values, Q = values[::-1], Q[:, ::-1]
        beta = float(diagonal_of(kernel, rows).max()) + added
        q = min(int(np.count_nonzero(values > beta * size / m)), size - 1)
        kept, left = values[:q], float(values[q])
        return Damping(index, Q[:, :q], (1 - left / kept) / kept, 2 / max(2 * beta, beta + (m - 1) * left / size))

    def _descend(
        self, Y: Numbers, added: float, damping: Damping, budget: Budget, tolerance: float, elapsed: Clock,
    ) -> tuple[Numbers, float, int]:  # fmt: skip
        """The coefficients (n, t), the relative residual, and the number of passes."""
        X, n = self.X_fit_, len(Y)
        rng = generator(seed_sequence(self.random_state), "batches")
        norm, step, blocks = float(np.linalg.norm(Y)) or 1.0, damping.step, KernelBlocks(self.kernel_, X, X.dtype)
        coef, least, passes, last = np.zeros_like(Y), np.inf, 0, elapsed.seconds
        place = np.full(n, -1)
        place[damping.rows] = np.arange(len(damping.rows))
        rows: list[dict[str, float]] = []
        buffer = np.empty((min(self.batch, n), n), X.dtype)
        while passes < budget.passes - 1:
            squares, order = 0.0, rng.permutation(n)
            for first in range(0, n, self.batch):
                at = order[first : first + self.batch]
                K = buffer[: len(at)]
                blocks.fill(X[at], K)
                gradient = K @ coef.astype(X.dtype, copy=False) + added * coef[at] - Y[at]
                squares += float(np.einsum("ij,ij->", gradient, gradient))
                sampled = K[:, damping.rows].T.astype(np.float64)
                mine = place[at] >= 0  # the interpolating kernel is k + added·1[x = x′]
                sampled[place[at][mine], np.flatnonzero(mine)] += added
                coef[at] -= step * gradient
                damped = damping.vectors.T @ (sampled @ gradient)
                coef[damping.rows] += step * (damping.vectors @ (damping.factors[:, None] * damped))
            passes += 1
            residual, now = np.sqrt(squares) / norm, elapsed.seconds
            with elapsed:
                self._note(rows, coef, passes, now, residual)
            if not residual <= GROWN * least:  # or NaN
                coef, step, least = np.zeros_like(Y), step / 2, np.inf
                continue
            least = min(least, residual)
            if residual <= tolerance or (budget.seconds is not None and 2 * now - last > budget.seconds):
                break
            last = now
        if self.record:
            self.curves_ = {name: [row[name] for row in rows] for name in (rows or [{}])[0]}
        found = KernelMatrix(self.kernel_, X).times(coef) + added * coef
        return coef, float(np.linalg.norm(found - Y)) / norm, passes + 1

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

    def _bytes(self, n: int, d: int, t: int) -> int:
        size = min(n, self.sample)
        return 8 * (4 * size**2 + 2 * min(self.batch, n) * n + 2 * n * d + 8 * n * t)

    def bytes_to_fit(self, n: int, d: int) -> int:
        """About the bytes that a fit to (n, d) float64 rows and one target needs besides the rows."""
        return self._bytes(n, d, 1)


class EigenProRegressor(_EigenPro, Regressor):
    """Exact kernel ridge (K + nλI)a = y − ȳ by preconditioned stochastic gradient descent (S. Ma and M. Belkin, "Kernel
    machines that adapt to GPUs for effective large batch training", MLSys 2019: EigenPro 2).

    A step takes a batch of rows b: a_b ← a_b − η·g, g = k(b, X)a + nλa_b − y_b. A correction along the q leading
    eigenvectors of the kernel matrix of a sample of rows damps the step where it is too long. This is interpolation
    with the kernel k + nλ·1[x = x′]; the paper has λ = 0. q is the smallest number for which a whole batch may be one
    long step. K is not stored: an epoch is a pass, which computes each row once.

    Parameters
    ----------
    alpha : λ ≥ 0; 0 interpolates, if there are enough passes.
    kernel, gamma, lambda_scale, center : as in `ExactKernelRidgeCV`; with 'both' a target of ones is solved for, too.
    batch : rows of a step.
    sample : rows whose kernel matrix is decomposed.
    budget, record, memory : as in `PCGRidgeCV`; the tolerance is for ‖y − ȳ − (K + nλI)a‖/‖y − ȳ‖.
    random_state : the stream that draws the sample and the order of the rows.

    Attributes
    ----------
    coef_ : a, (n,) or (n, t); intercept_ : ȳ, and with ``center='both'`` the intercept.
    gamma_, alpha_, timing_, n_iter_, metrics_, curves_ : as in `PCGKernelRidgeCV`.
    """


class EigenProClassifier(_EigenPro, Classifier):
    """The sign of `EigenProRegressor` on targets −1/+1; one against the rest for more classes."""


@serves(SolverServes(
    uses="kernel rows", iterative=True, cost="i*n*n*(d/2 + t + c)", letters=passes_of_a_fit(30),
    source="Ma and Belkin, MLSys 2019",
))  # fmt: skip
def make_eigenpro(
    *, task: str, kernel: str, gamma: float, memory: int | None = None, random_state: RandomState = None,
    lambda_: float | Sequence[float] = 1e-3, lambda_scale: LambdaScale = "n", center: Center = True,
    batch: int = BATCH, sample: int = SAMPLE, budget: dict[str, Any] | None = None, record: bool = False,
) -> EigenProRegressor | EigenProClassifier:  # fmt: skip
    """Exact kernel ridge by stochastic gradient steps with the steepest directions damped (EigenPro 2).

    Parameters
    ----------
    lambda_ : λ, one number.
    lambda_scale : the penalty: n·λ, or λ itself.
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    batch : rows of a step.
    sample : rows whose kernel matrix is decomposed.
    budget : limits {passes, seconds, tolerance}; by default 1000 passes, no limit of seconds, and 1e-6.
    record : whether the residual and the test error after each pass are kept.
    """
    values = np.atleast_1d(lambda_).tolist()
    if len(values) > 1:
        raise WrongParameter("lambda", f"must be one number for eigenpro, got {values}")
    made = EigenProClassifier if task == "classification" else EigenProRegressor
    return made(
        values[0], kernel=kernel, gamma=gamma, lambda_scale=lambda_scale, center=center, batch=batch, sample=sample,
        budget=budget, record=record, memory=memory, random_state=random_state,
    )  # fmt: skip
