"""Ridge regression on features, streamed over row blocks: the feature matrix Z is never whole in memory.

β = (ZᵀZ + nλI)⁻¹Zᵀy (Liu et al. 2020, Eq. 8) needs of Z only its Gram matrix and right side. One pass over
the rows gathers them for each cross-validation fold; a fold's training Gram matrix is the sum of the others,
and its held-out error follows from its own, so that the whole (λ, fold) grid needs no second pass.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from rffbench.errors import MemoryBudgetError
from rffbench.solvers.statistics import (
    SINGULAR,
    Center,
    FoldStatistics,
    LambdaScale,
    RidgeSolution,
    Work,
    choose_alpha,
    fold_bounds,
    solve_folds,
    solve_ridge_cv,
)
from rffbench.triangles import TriangleStack

BLOCK_ELEMENTS = 1 << 22  # a block of features is about this many numbers (32 MB)
FEWEST_BLOCK_ROWS = 64  # thinner blocks make the rank-k update slow
MOST_BLOCK_ROWS = 4096


def default_block_rows(columns: int) -> int:
    """Rows a block such that the block stays small and the rank-k update fast."""
    return max(256, min(MOST_BLOCK_ROWS, BLOCK_ELEMENTS // columns))


def is_row_source(X: Any) -> bool:
    """Whether X is a lazy array (``shape``, ``dtype``, row slices) to be streamed as it is, unchecked."""
    return (
        not isinstance(X, np.ndarray)
        and not hasattr(X, "toarray")
        and not hasattr(X, "iloc")
        and all(hasattr(X, name) for name in ("shape", "dtype", "ndim", "__getitem__"))
    )


def _waited(X: Any) -> float:
    """Seconds a lazy X says it has spent on fetching rows."""
    return float(getattr(X, "seconds", 0.0))


class _StreamedRidge(BaseEstimator):
    """What the four estimators share: streaming, the choice of strategy, the fit, the linear predictor."""

    lambda_scale: LambdaScale
    center: Center
    features: Any
    block_rows: int | None
    memory: int | None

    def _penalties(self) -> tuple[list[float], int]:
        """The alphas to try and the number of folds to choose among them by."""
        given = self.alphas if hasattr(self, "alphas") else [self.alpha]
        alphas = np.asarray(given, dtype=float)
        if alphas.ndim != 1 or not len(alphas) or not (np.isfinite(alphas) & (alphas >= 0)).all():
            raise ValueError(f"every alpha must be a finite number, 0 or more, got {alphas.tolist()}")
        return alphas.tolist(), getattr(self, "folds", 1) if len(alphas) > 1 else 1

    def _check_parameters(self) -> None:
        if self.lambda_scale not in ("n", 1):
            raise ValueError(f"lambda_scale must be 'n' or 1, got {self.lambda_scale!r}")
        if self.center not in (True, False, "target", "both"):
            raise ValueError(f"center must be True, False, 'target' or 'both', got {self.center!r}")
        if self.block_rows is not None and not (
            isinstance(self.block_rows, numbers.Integral) and self.block_rows >= 1
        ):
            raise ValueError(f"block_rows must be a positive integer or None, got {self.block_rows!r}")

    def _validate(self, X: Any, *, reset: bool) -> Any:
        if is_row_source(X):
            if reset:
                self.n_features_in_ = X.shape[1]
            elif X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input"
                )
            return X
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], order="C")

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        """Fit to the targets Y (n, t); ``y`` is what a supervised feature map gets to see."""
        self._check_parameters()
        alphas, folds = self._penalties()
        n = X.shape[0]
        if folds < 1 or (len(alphas) > 1 and not 2 <= folds <= n):
            raise ValueError(f"folds must lie between 2 and the rows (n_samples = {n}), got {folds}")
        self.timing_ = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}
        if self.features is not None:
            started, waited = perf_counter(), _waited(X)
            self.features_ = clone(self.features).fit(X, y)
            self.timing_["feature_s"] += perf_counter() - started - (_waited(X) - waited)
        self._columns = self._count_columns(X)
        one_pass, block_rows, budget = self._plan(n, self._columns, Y.shape[1], folds, len(alphas))
        try:
            fit = self._fit_in_one_pass if one_pass else self._fit_in_passes
            solution = fit(X, Y, alphas, folds, block_rows, budget)
        except LinAlgError as error:
            raise ValueError(str(error)) from error
        self.coef_ = solution.coef.T if Y.shape[1] > 1 else solution.coef[:, 0]
        self.intercept_ = solution.intercept if Y.shape[1] > 1 else float(solution.intercept[0])
        self.alpha_ = solution.alpha
        if hasattr(self, "folds"):
            self.cv_results_ = {
                "alpha": np.asarray(alphas),
                "fold_test_mse": solution.fold_mse,
                "mean_test_mse": solution.cv_mse,
            }

    def set_solution(self, features: Any, solution: RidgeSolution, y: NDArray) -> None:
        """Become fitted with a solution found elsewhere for the fitted map ``features`` and single targets y (n,)."""
        self.features_, self.n_features_in_ = features, features.n_features_in_
        self._columns = len(solution.coef)
        self.coef_, self.intercept_ = solution.coef[:, 0], float(solution.intercept[0])
        self.alpha_ = solution.alpha
        self.timing_ = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}
        if isinstance(self, ClassifierMixin):
            self.classes_ = np.unique(y)

    def _count_columns(self, X: Any) -> int:
        return int(X.shape[1] if self.features is None else self.features_.transform(X[:1]).shape[1])

    # --- Memory: which strategy fits ---

    def _plan(self, n: int, p: int, targets: int, folds: int, alphas: int) -> tuple[bool, int, int | None]:
        """(whether all folds' statistics are kept, rows a block, bytes for the working triangles)."""
        block_rows = min(n, self.block_rows or default_block_rows(p))
        if self.memory is None:
            return True, block_rows, None
        fewest = min(n, self.block_rows or FEWEST_BLOCK_ROWS)
        one_pass = FoldStatistics.bytes_needed(p, folds, targets)
        least_work = 0 if folds % 2 else TriangleStack.bytes_needed(2, p)
        in_passes = FoldStatistics.bytes_needed(p, 1, targets) + 8 * alphas * p * targets
        for keep_folds, needed in ((True, one_pass + least_work), (False, in_passes)):
            left = self.memory - needed - self._block_bytes(fewest, p)
            if left >= 0:
                rows = min(block_rows, fewest + left // self._block_bytes(1, p))
                return keep_folds, rows, left + least_work - self._block_bytes(rows - fewest, p)
        raise MemoryBudgetError(
            f"ridge on {p} columns with {folds} folds", in_passes + self._block_bytes(fewest, p), self.memory
        )

    def _block_bytes(self, rows: int, p: int) -> int:
        """Upper bound of what a block needs: features, and their float64 copy where they are float32."""
        return rows * 16 * p

    # --- Streaming ---

    def _blocks(self, X: Any, start: int, stop: int, rows: int) -> Iterator[tuple[slice, NDArray]]:
        """The features of rows start…stop−1, block by block, in a buffer that is used again."""
        fill: Callable[[NDArray, NDArray], object] | None = getattr(
            getattr(self, "features_", None), "fill", None
        )
        buffer: NDArray | None = None
        for first in range(start, stop, rows):
            block = slice(first, min(stop, first + rows))
            started, waited = perf_counter(), _waited(X)
            Z = np.asarray(X[block])
            if self.features is not None and fill is not None:
                if buffer is None:
                    buffer = np.empty((min(rows, stop - start), self._columns), dtype=Z.dtype)
                fill(Z, buffer[: len(Z)])
                Z = buffer[: len(Z)]
            elif self.features is not None:
                Z = self.features_.transform(Z)
            self.timing_["feature_s"] += perf_counter() - started - (_waited(X) - waited)
            yield block, Z

    def _gather(
        self, statistics: FoldStatistics, X: Any, Y: NDArray, parts: Sequence[tuple[int, int, int]], rows: int
    ) -> None:
        """Add rows start…stop−1 to fold k for each (k, start, stop)."""
        for fold, start, stop in parts:
            for block, Z in self._blocks(X, start, stop, rows):
                started = perf_counter()
                statistics.add(fold, Z - self._origin if self.center == "both" else Z, Y[block])
                self.timing_["gram_s"] += perf_counter() - started

    def _set_origin(self, X: Any, rows: int) -> None:
        """A point near the columns' means: taken off first, so that an intercept loses no digits."""
        if self.center == "both":
            _, Z = next(self._blocks(X, 0, min(rows, X.shape[0]), rows))
            self._origin = np.mean(Z, axis=0, dtype=np.float64)

    def _restore_origin(self, solution: RidgeSolution) -> RidgeSolution:
        if self.center == "both":
            solution.intercept = solution.intercept - self._origin @ solution.coef
            del self._origin
        return solution

    def _fit_in_one_pass(
        self, X: Any, Y: NDArray, alphas: list[float], folds: int, rows: int, budget: int | None
    ) -> RidgeSolution:
        bounds = fold_bounds(X.shape[0], folds)
        self._set_origin(X, rows)
        statistics = FoldStatistics(self._columns, folds, Y.shape[1])
        parts = zip(range(folds), bounds[:-1], bounds[1:], strict=True)
        self._gather(statistics, X, Y, list(parts), rows)
        started = perf_counter()
        solution = solve_ridge_cv(
            statistics, alphas, lambda_scale=self.lambda_scale, center=self.center, memory=budget
        )
        self.timing_["solve_s"] += perf_counter() - started
        return self._restore_origin(solution)

    def _fit_in_passes(
        self, X: Any, Y: NDArray, alphas: list[float], folds: int, rows: int, budget: int | None
    ) -> RidgeSolution:
        """The same with one Gram matrix in memory: a pass for each fold, held-out errors from predictions."""
        n = X.shape[0]
        bounds = fold_bounds(n, folds)
        self._set_origin(X, rows)
        fold_mse = np.full((len(alphas), folds), np.inf)
        for fold in range(folds):
            training = [(0, 0, bounds[fold]), (0, bounds[fold + 1], n)]
            solutions = self._solve_rows(X, Y, alphas, training, rows)
            solved = [(index, solution) for index, solution in enumerate(solutions) if solution is not None]
            errors = np.zeros(len(alphas))
            for block, Z in self._blocks(X, bounds[fold], bounds[fold + 1], rows):
                started = perf_counter()
                Z = Z - self._origin if self.center == "both" else Z
                for index, (coef, intercept) in solved:
                    errors[index] += np.square(Z @ coef + intercept - Y[block]).sum()
                self.timing_["solve_s"] += perf_counter() - started
            kept = [index for index, _ in solved]
            fold_mse[kept, fold] = errors[kept] / ((bounds[fold + 1] - bounds[fold]) * Y.shape[1])
        alpha = choose_alpha(alphas, fold_mse)
        [solution] = self._solve_rows(X, Y, [alpha], [(0, 0, n)], rows)
        if solution is None:
            raise LinAlgError(SINGULAR.format(alpha))
        return self._restore_origin(RidgeSolution(*solution, alpha, fold_mse))

    def _solve_rows(
        self, X: Any, Y: NDArray, alphas: list[float], bounds: list[tuple[int, int, int]], rows: int
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]] | None]:
        statistics = FoldStatistics(self._columns, 1, Y.shape[1])
        self._gather(statistics, X, Y, bounds, rows)
        started = perf_counter()
        # One fold leaves a spare triangle in its square: no further memory.
        work = Work(statistics, memory=0)
        solutions = solve_folds(
            statistics, [0], alphas, lambda_scale=self.lambda_scale, center=self.center, work=work
        )
        self.timing_["solve_s"] += perf_counter() - started
        return solutions

    def _linear(self, X: Any) -> NDArray[np.float64]:
        """Zβ + c, block by block: (n,) or (n, t)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        n, coef = X.shape[0], np.asarray(self.coef_).T
        output = np.empty((n, *coef.shape[1:]))
        rows = min(n, self.block_rows or default_block_rows(self._columns))
        timing, self.timing_ = self.timing_, dict(self.timing_)  # predicting does not count as fitting
        try:
            for block, Z in self._blocks(X, 0, n, rows):
                output[block] = Z @ coef
        finally:
            self.timing_ = timing
        output += self.intercept_
        return output


class _Regressor(RegressorMixin, _StreamedRidge):
    def fit(self, X: Any, y: Any) -> Any:
        """Fit to y (n,) or (n, t). X: (n, d) array, or a lazy array with shape, dtype and row slices."""
        if is_row_source(X):
            X, y = self._validate(X, reset=True), np.asarray(y, dtype=np.float64)
        else:
            X, y = validate_data(
                self, X, y, dtype=[np.float64, np.float32], order="C", multi_output=True, y_numeric=True
            )
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        self._fit_targets(X, Y, np.asarray(y))
        if np.ndim(y) == 2 and Y.shape[1] == 1:
            self.coef_, self.intercept_ = self.coef_[None, :], np.array([self.intercept_])
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Zβ + c: (n,) or (n, t), float64."""
        return self._linear(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = tags.target_tags.multi_output = True
        return tags


class _Classifier(ClassifierMixin, _StreamedRidge):
    def fit(self, X: Any, y: Any) -> Any:
        """Fit to the labels y (n,), as targets −1/+1. X as for the regressor."""
        if is_row_source(X):
            X, y = self._validate(X, reset=True), np.asarray(y)
        else:
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: {self.classes_[0]!r}")
        Y = LabelBinarizer(neg_label=-1).fit_transform(y).astype(np.float64)
        self._fit_targets(X, Y, Y[:, 0] if Y.shape[1] == 1 else y)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Zβ + c: (n,) for two classes (positive: the second), (n, classes) one against the rest for more."""
        return self._linear(X)

    def predict(self, X: Any) -> NDArray:
        """The class of the sign, or of the largest decision value."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]


class StreamedRidge(_Regressor):
    """Ridge regression min ‖y − Zβ − c‖² + nλ‖β‖², streamed over row blocks.

    Peak memory is about p² numbers and a block, p the columns of Z, whatever the number of rows n.

    Parameters
    ----------
    alpha : float
        λ ≥ 0.
    lambda_scale : 'n' or 1
        'n': the penalty on ‖β‖² is n·λ, n the training rows of that fit (Liu et al. 2020, Eq. 8); 1: it is λ.
    center : True, 'target', 'both' or False
        True or 'target': the targets' training mean is taken off and added back to predictions, as
        ``Ridge(fit_intercept=False)`` on y − ȳ; 'both': an unpenalised intercept, as
        ``Ridge(fit_intercept=True)``; False: neither.
    features : transformer or None
        A feature map, cloned, fitted on the training rows and applied block by block; None: Z is X.
    block_rows : int or None
        Rows a block; None chooses by the number of columns.
    memory : int or None
        Bytes the fit may use besides X. The statistics of all folds are kept where they fit (one pass over
        the rows), else of one training set at a time (a pass each); MemoryBudgetError, before anything is
        computed, where neither fits.

    Attributes
    ----------
    coef_ : (p,) or (t, p) float64
    intercept_ : float or (t,) float64
    alpha_ : float
        The λ of the fit.
    features_ : the fitted feature map, where there is one.
    timing_ : dict
        Seconds in 'feature_s' (fitting and applying the feature map), 'gram_s' and 'solve_s'; the time a lazy
        X says it spent on fetching rows (its ``seconds``) is not counted.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = StreamedRidge(alpha=1e-12, center="both").fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(6)
    array([9.])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        lambda_scale: LambdaScale = "n",
        center: Center = True,
        features: Any = None,
        block_rows: int | None = None,
        memory: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.lambda_scale = lambda_scale
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory


class StreamedRidgeCV(_Regressor):
    """Streamed ridge regression with λ from ``alphas`` by cross-validation on mean squared error.

    Folds are contiguous blocks of the training rows, sized as scikit-learn's ``KFold(folds)``; the λ of the
    smallest mean over folds of the held-out mean squared error is refitted on all rows. Peak memory is about
    (folds + 1)/2·p² numbers and a block. Other parameters and attributes as in `StreamedRidge`.

    Attributes
    ----------
    alpha_ : float
        The λ chosen.
    cv_results_ : dict
        'alpha' (a,), 'fold_test_mse' (a, folds), 'mean_test_mse' (a,); with one alpha nothing is
        cross-validated and the latter two are empty.
    """

    def __init__(
        self,
        alphas: Sequence[float] = (0.05, 0.1, 0.5, 1.0),
        *,
        folds: int = 5,
        lambda_scale: LambdaScale = "n",
        center: Center = True,
        features: Any = None,
        block_rows: int | None = None,
        memory: int | None = None,
    ) -> None:
        self.alphas = alphas
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory


class StreamedRidgeClassifier(_Classifier):
    """The sign of a streamed ridge regression on targets −1/+1; one against the rest for more classes.

    Parameters and attributes as in `StreamedRidge`.

    Attributes
    ----------
    classes_ : the labels, sorted; the second is the positive one where there are two.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        lambda_scale: LambdaScale = "n",
        center: Center = True,
        features: Any = None,
        block_rows: int | None = None,
        memory: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.lambda_scale = lambda_scale
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory


class StreamedRidgeClassifierCV(_Classifier):
    """`StreamedRidgeClassifier` with λ from ``alphas`` by cross-validation, as in `StreamedRidgeCV`.

    λ is chosen by mean squared error on the −1/+1 targets, not by accuracy.
    """

    def __init__(
        self,
        alphas: Sequence[float] = (0.05, 0.1, 0.5, 1.0),
        *,
        folds: int = 5,
        lambda_scale: LambdaScale = "n",
        center: Center = True,
        features: Any = None,
        block_rows: int | None = None,
        memory: int | None = None,
    ) -> None:
        self.alphas = alphas
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory


def make_ridge(
    *, task: str, features: Any, kernel: str, gamma: float, memory: int | None, **config: Any
) -> StreamedRidgeCV | StreamedRidgeClassifierCV:
    """The streamed ridge a config describes; ``kernel`` and ``gamma`` are the feature map's business."""
    estimator = StreamedRidgeClassifierCV if task == "classification" else StreamedRidgeCV
    return estimator(
        np.atleast_1d(config["lambda"]).tolist(),
        folds=config["folds"],
        lambda_scale=config["lambda_scale"],
        center=config["center"],
        features=features,
        memory=memory,
    )
