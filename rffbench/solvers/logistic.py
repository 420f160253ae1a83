"""Logistic regression on features, held or streamed, with λ by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from rffbench.arguments.parameters import (
    WrongParameter,
    check_choice,
    check_count,
    check_map,
    check_memory,
    check_positive,
)
from rffbench.arguments.rowsource import Stopwatch
from rffbench.errors import MemoryBudgetError
from rffbench.features.base import fitted_map, held_bytes, mapped
from rffbench.features.hooks import hook, makes_sparse, most_columns
from rffbench.linalg.quasi_newton import Minima
from rffbench.linalg.threads import blas_for
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import (
    Classifier,
    LambdaScale,
    default_block_rows,
    read_numbers,
)
from rffbench.solvers.feature_rows import FeatureRows
from rffbench.solvers.logistic_fits import Fits, HessianAtZero, LogisticFits
from rffbench.solvers.ridge.fold_statistics import cv_results, fold_bounds, penalty
from rffbench.solvers.ridge.settings import check_folds, check_penalties
from rffbench.solvers.weights import (
    Balanced,
    ClassWeight,
    check_balanced,
    check_class_weight,
    class_row_weights,
    row_weights,
)

Method = Literal["auto", "held", "streamed"]
ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2)
SMALL = 1 << 23  # bytes: fits are made together while they need less, or an eighth of what Z needs
ROWS_A_COLUMN = 4  # with fewer, L-BFGS has done before a Hessian is summed and factored
ANY = 1.0  # of the objective: what a further step of a fold's fit may gain
PROMISE = 0.01  # of the objective, for each unit of `tolerance`: what a further step of the last fit may yet gain


class _Plan(NamedTuple):
    """Whether Z is held, whether a Hessian is factored, and how many fits are made together."""

    hold: bool
    factored: bool
    together: int


class LogisticClassifierCV(Classifier):
    """Logistic regression on features z: min over B, c of Σᵢ wᵢ·lossᵢ + (nλ/2)‖B‖², with λ by cross-validation.

    For two classes loss = log(1 + exp(−y(zᵀB + c))), with y = +1 for the second class, else −1; for more it is that of
    the softmax, −log(exp(zᵀB_y + c_y)/Σ_k exp(zᵀB_k + c_k)). n is Σw, the number of rows without weights, as in
    scikit-learn's ``LogisticRegression(C=1/(nλ))``. The intercepts c are not penalised.

    All λ are fitted to all rows, then to the rows of each fold, beginning with the former solutions. L-BFGS makes as
    many fits together as memory allows, with one pass over Z per step for all of them. What begins its directions is
    the inverse Hessian at B = 0, v·ZᵀWZ + nλ with v = 1/4 for two classes and (1 − 1/K)/K for K, one Cholesky factor
    per λ: v = 1/4 bounds every Hessian (Böhning & Lindsay 1988). For more columns than a quarter of the rows, only
    its diagonal is used.

    Parameters
    ----------
    alphas : the λ > 0 to choose from, or the only one.
    features : transformer or None
        A feature map, cloned, fitted on the training rows and applied block by block; None: Z is X.
    folds : folds of the cross-validation: contiguous rows, as in `StreamedRidgeCV`. The λ with the smallest mean
        held-out loss is fitted to all rows.
    lambda_scale : 'n' or 1
        'n': the penalty is nλ/2; 1: it is λ/2.
    intercept : whether there is a c.
    class_weight : None, 'balanced' or a dictionary from label to weight, as in `StreamedRidgeClassifier`.
    method : 'held' keeps Z in X's dtype, 'streamed' maps the rows again in each pass, and 'auto' is 'held' if
        ``memory`` allows, else 'streamed'. A CSR matrix without features, and sparse features, are held.
    tolerance : a fit stops if no entry of the gradient of the objective over n is larger; a fit to all rows also
        needs that its next step promises at most ``tolerance``/100 of the objective.
    max_iter : the most steps of a fit; ConvergenceWarning if they do not suffice for the chosen λ.
    memory : int or None
        Bytes that the fit may use besides X; MemoryBudgetError, before anything is computed, if that is too little.

    Attributes
    ----------
    classes_ : the labels, sorted.
    coef_ : B, (p,), or (classes, p) for more than two classes.
    intercept_ : c, a float or (classes,).
    alpha_ : the chosen λ.
    cv_results_ : 'alpha' (a,), 'fold_test_error' (a, folds), the mean held-out losses, 'mean_test_error' (a,).
    n_iter_ : the steps of the fit to all rows with the chosen λ.
    features_ : the fitted feature map, if there is one.
    metrics_ : 'model_size', p; 'objective', the minimum over n; 'passes', all passes over the rows.
    timing_ : seconds; 'feature_s' for mapping each row once, 'solve_s' for the rest.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LogisticClassifierCV([0.1]).fit(X, ["low", "low", "high", "high"])
    >>> model.predict_proba([[1.5]]).round(3)
    array([[0.5, 0.5]])
    """

    accepts_sparse = True

    coef_: NDArray[np.float64]
    intercept_: float | NDArray[np.float64]

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, features: Any = None, folds: int = 5,
        lambda_scale: LambdaScale = "n", intercept: bool = True, class_weight: ClassWeight = None,
        method: str = "auto", tolerance: float = 1e-5, max_iter: int = 1000, memory: int | None = None,
    ) -> None:  # fmt: skip
        self.alphas = alphas
        self.features = features
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.intercept = intercept
        self.class_weight = class_weight
        self.method = method
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.memory = memory

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_penalties(self.alphas, self.lambda_scale, center=True)
        for alpha in self.alphas:
            check_positive("alphas", alpha)
        check_count("folds", self.folds, least=2)
        check_choice("intercept", self.intercept, (True, False))
        check_memory(self.memory)
        check_map(self.features)
        check_class_weight(self.class_weight)
        check_choice("method", self.method, get_args(Method))
        if makes_sparse(self.features) and self.method == "streamed":
            raise WrongParameter("method", "must be 'auto' or 'held' for sparse features, got 'streamed'")
        check_positive("tolerance", self.tolerance)
        check_count("max_iter", self.max_iter, least=1)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticClassifierCV:
        """Fit to the labels y (n,), of any type. X: (n, d) array, CSR matrix, or a lazy array with shape, dtype and row
        slices. ``sample_weight`` (n,): a row of weight w counts as w equal rows."""
        self.check_parameters()
        X, Y, y = self._targets(X, y)
        weights = class_row_weights(self.class_weight, self.classes_, Y, row_weights(sample_weight, X))
        self._fit_weighted(X, Y, y, np.ones(len(Y)) if weights is None else weights)
        return self

    def _fit_weighted(self, X: Any, Y: NDArray[np.float64], y: NDArray, weights: NDArray[np.float64]) -> None:
        n, alphas = X.shape[0], [float(alpha) for alpha in self.alphas]
        check_folds(self.folds, alphas, n)
        self.__dict__.pop("features_", None)  # of an earlier fit
        columns = int(X.shape[1]) if self.features is None else getattr(self.features, "n_components", None)
        if columns is not None:  # to refuse before the map is fitted
            self._plan(X, columns, Y.shape[1])
        with Stopwatch(X) as fitting:
            if self.features is not None:
                self.features_ = fitted_map(self.features, X, y, Y)
                columns = mapped(self.features_, X[0:1]).shape[1]
        with Stopwatch(X) as solving:
            plan = self._plan(X, columns, Y.shape[1], held_bytes(getattr(self, "features_", None)))
            rows = self._rows(X, columns, float(self.intercept), hold=plan.hold)
            labels = Y[:, 0] if Y.shape[1] == 1 else Y.argmax(axis=1)
            fits = LogisticFits(rows, labels, weights, Y.shape[1], int(self.intercept))
            with blas_for(rows.n * rows.p * Y.shape[1]):
                found, fold_error = self._fitted(fits, alphas, plan)
        chosen = int(np.argmin(fold_error.mean(axis=1))) if len(alphas) > 1 else 0
        steps = max(1, int(found.steps[chosen]))
        if not found.converged[chosen]:
            warnings.warn(
                f"logistic regression at λ = {alphas[chosen]:g} has not converged after {steps} steps: "
                f"raise max_iter or tolerance", ConvergenceWarning, stacklevel=3,
            )  # fmt: skip
        B = found.X[chosen].reshape(Y.shape[1], rows.p)
        coef, intercept = B[:, :columns].copy(), B[:, columns:].sum(axis=1)
        single = Y.shape[1] == 1
        self.coef_, self.intercept_ = (coef[0], float(intercept[0])) if single else (coef, intercept)
        self.alpha_, self.n_iter_ = alphas[chosen], steps
        self.cv_results_ = cv_results(alphas, fold_error)
        self.metrics_ = {
            "model_size": float(columns or 0), "objective": float(found.values[chosen]), "passes": float(rows.passes)
        }  # fmt: skip
        map_s = rows.feature_s
        self.timing_ = {"feature_s": fitting.seconds + map_s, "gram_s": 0.0, "solve_s": solving.seconds - map_s}

    def _rows(self, X: Any, columns: int | None, bias: float, *, hold: bool) -> FeatureRows:
        columns = int(columns or 0)
        return FeatureRows(
            X, getattr(self, "features_", None), columns, bias, hold=hold, block_rows=default_block_rows(columns)
        )

    def bytes_to_fit(self, n: int, d: int) -> int:
        """The fewest bytes that a fit to (n, d) float64 rows and two classes needs besides the rows."""
        columns = d if self.features is None else most_columns(self.features, n)
        needed = self.bytes_by_method(
            n, d, columns, 1, np.dtype(np.float64), columns if makes_sparse(self.features) else None
        )
        return max(min(needed.values()), hook(self.features, "bytes_to_fit"))

    def bytes_by_method(
        self, n: int, numbers: int, columns: int, k: int, dtype: np.dtype, entries: int | None = None
    ) -> dict[str, int]:
        """Bytes by method; the same for both if Z is sparse, with this number of ``entries``."""
        p, block = columns + self.intercept, default_block_rows(columns)
        always = LogisticFits.bytes_of_one(p, k) + 8 * (len(self.alphas) * p + 8 * n) * k + min(n, block) * 8 * numbers
        if entries is not None:  # with the constant column, and without
            return dict.fromkeys(("held", "streamed"), always + 2 * (entries + n) * (dtype.itemsize + 8))
        rows = {"held": n, "streamed": min(n, block)}
        return {method: always + dtype.itemsize * p * count for method, count in rows.items()}

    def _plan(self, X: Any, columns: int | None, k: int, kept: int = 0) -> _Plan:
        """What ``memory`` allows; MemoryBudgetError if it is too little for ``method``."""
        n, p = X.shape[0], int(columns or 0) + self.intercept
        entries = int(X.nnz) if self.features is None and issparse(X) else None
        if makes_sparse(self.features):
            entries = most_columns(self.features, n)
        needed = self.bytes_by_method(n, read_numbers(X), int(columns or 0), k, X.dtype, entries)
        method = self.method
        if method == "auto":
            method = "held" if self.memory is None or kept + needed["held"] <= self.memory else "streamed"
        if self.memory is not None and kept + needed[method] > self.memory:
            what = f"logistic regression on {n} rows of {columns} features"
            raise MemoryBudgetError(what, kept + needed[method], self.memory)
        spare = np.inf if self.memory is None else self.memory - kept - needed[method]
        factors = HessianAtZero.bytes_needed(p, len(self.alphas))
        factored = p * ROWS_A_COLUMN <= n and factors <= spare and (entries is None or p * p <= entries)
        most = min(spare - factors * factored, max(SMALL, needed[method] // 8))
        return _Plan(method == "held", factored, 1 + int(most // LogisticFits.bytes_of_one(p, k)))

    def _fitted(self, fits: LogisticFits, alphas: list[float], plan: _Plan) -> tuple[Minima, NDArray[np.float64]]:
        """The fits to all rows, one for each λ, and the losses on the rows that folds hold out, (alphas, folds)."""
        n, order = fits.rows.n, np.argsort(alphas)[::-1]
        folds = np.arange(self.folds if len(alphas) > 1 else 0)
        bounds = np.array(fold_bounds(n, self.folds))
        for fold in folds:
            held_out = fits.weights[bounds[fold] : bounds[fold + 1]]
            if not held_out.any() or held_out.sum() == fits.weights.sum():
                raise ValueError(
                    f"the rows of fold {fold + 1} of {self.folds}, {bounds[fold]} to {bounds[fold + 1] - 1}, or all "
                    f"others have weight 0, so alpha cannot be chosen by them: leave such rows out, or shuffle the rows"
                )
        whole = self._several(fits, alphas, np.arange(len(alphas)), 0, 0)
        hessian = HessianAtZero(fits, whole.strengths, factored=plan.factored)
        found = Minima.empty(len(alphas), fits.k * fits.rows.p)
        for first in range(0, len(order), plan.together):
            numbers = order[first : first + plan.together]
            start = np.repeat(found.X[order[max(0, first - 1)]][None], len(numbers), axis=0)
            found.put(numbers, self._minima(fits, whole.chosen(numbers), start, hessian, PROMISE * self.tolerance))
        fold_error = np.empty((len(alphas), len(folds)))
        penalties, held = (each.ravel() for each in np.meshgrid(order, folds, indexing="ij"))
        for first in range(0, len(penalties), plan.together):
            numbers, out = penalties[first : first + plan.together], held[first : first + plan.together]
            some = self._several(fits, alphas, numbers, bounds[out], bounds[out + 1])
            minima = self._minima(fits, some, found.X[numbers], hessian, ANY)
            fold_error[numbers, out] = fits.left_out_losses(some, minima.X)
        return found, fold_error

    def _minima(
        self, rows: LogisticFits, fits: Fits, start: NDArray[np.float64], hessian: HessianAtZero, promise: float
    ) -> Minima:
        return rows.minimise(
            fits, start, hessian, tolerance=self.tolerance, promise=promise, max_iter=self.max_iter
        )  # fmt: skip

    def _several(
        self, fits: LogisticFits, alphas: list[float], penalties: NDArray[np.int64], first: Any, last: Any
    ) -> Fits:
        """Fits with these of the ``alphas``, which leave out the rows first…last−1."""
        first, last = (np.broadcast_to(each, len(penalties)) for each in (first, last))
        several = Fits(np.empty(len(penalties)), penalties, first, last)
        weights = fits.weight(several, left_out=False)
        pairs = zip(penalties, weights, strict=True)
        strengths = [penalty(alphas[number], weight, self.lambda_scale) / weight for number, weight in pairs]
        return several._replace(strengths=np.array(strengths))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """zᵀB + c: (n,) for two classes, the log of the odds of the second; (n, classes) for more."""
        return super().decision_function(X)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of `predict_proba`, (n, classes)."""
        decision = self.decision_function(X)
        if decision.ndim == 1:
            decision = np.column_stack([np.zeros(len(decision)), decision])
        return decision - logsumexp(decision, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of ``classes_``: (n, classes), rows sum to 1."""
        return np.exp(self.predict_log_proba(X))

    def _linear(self, X: Any) -> NDArray[np.float64]:
        rows = self._rows(X, self.coef_.shape[-1], 0.0, hold=False)
        out = np.empty((rows.n, *self.coef_.shape[:-1]))
        for part, Z, _ in rows.visit(np.arange(rows.n)):
            out[part] = Z @ self.coef_.T
        return out + self.intercept_


USUAL = 300  # multiply-adds of a fit per number in Z; most of the shipped results have half to twice as many


@serves(
    SolverServes(
        tasks=("classification",),
        iterative=True,
        cost=f"{USUAL}*(k + 1)*c*n*p",
        sparse_cost=f"{4 * USUAL}*(k + 1)*c*n*R",
        cross_validates=True,
    )
)
def make_logistic(
    *, task: str, features: Any, memory: int | None = None, lambda_: float | Sequence[float] = ALPHAS,
    folds: int = 5, lambda_scale: LambdaScale = "n", intercept: bool = True, method: Method = "auto",
    tolerance: float = 1e-5, max_iter: int = 1000, class_weight: Balanced = None,
) -> LogisticClassifierCV:  # fmt: skip
    """Logistic regression on the features, held or streamed; lambda by k-fold cross-validation on the loss.

    Parameters
    ----------
    lambda_ : λ, or values for cross-validation to choose from.
    folds : folds of the cross-validation.
    lambda_scale : the penalty: n·λ/2, or λ/2.
    intercept : whether there is an unpenalised intercept.
    method : whether features are held, or mapped again in each pass; auto: held if memory allows.
    tolerance : a fit stops if no entry of the gradient of the objective over n is larger.
    max_iter : the most steps of a fit.
    class_weight : null; or balanced: all classes have the same total weight.
    """
    check_balanced(class_weight, task)
    return LogisticClassifierCV(
        np.atleast_1d(lambda_).tolist(), features=features, folds=folds, lambda_scale=lambda_scale,
        intercept=intercept, method=method, tolerance=tolerance, max_iter=max_iter, class_weight=class_weight,
        memory=memory,
    )  # fmt: skip
