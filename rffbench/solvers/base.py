"""Base classes of the estimators: checks, rows, targets, and labels from real outputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from rffbench.arguments.parameters import checked_labels
from rffbench.arguments.rowsource import BLOCK_ROWS, FiniteRows, float_rows, is_row_source
from rffbench.kernels.own import is_own
from rffbench.linalg.centring import origin_of

LambdaScale = Literal["n", 1]
"""The penalty: n·λ for 'n', λ for 1."""


def rows_of(X: Any, rows: slice) -> Any:
    """X[rows], an array, or a CSR matrix if X is one."""
    return X[rows] if issparse(X) else np.asarray(X[rows])


def read_rows(X: Any) -> NDArray[np.float64]:
    """A float64 copy of all rows of X, which may be lazy; ValueError if one holds NaN or infinity."""
    return np.array(checked_rows(X, slice(0, X.shape[0])), dtype=np.float64, order="C")


def checked_rows(X: Any, rows: slice) -> NDArray:
    """X[rows]; ValueError if X is lazy, and so was not checked before, and these rows hold NaN or infinity."""
    return FiniteRows(X)[rows] if is_row_source(X) else rows_of(X, rows)


@contextmanager
def no_singular() -> Iterator[None]:
    """In the block, a LinAlgError becomes a ValueError, because wrong parameters cause it."""
    try:
        yield
    except LinAlgError as error:
        raise ValueError(str(error)) from error


def target_origin(Y: Any) -> NDArray[np.float64]:
    """A point near the targets Y (n, t), which may be lazy: of each, that of their first rows which is nearest to the
    mean of these, (t,).

    It is subtracted before anything is summed, because squares of targets far from 0 lose the digits of the rest: at an
    offset of 10⁹, rounding in Σy² is as large as the variance of a target that varies by 10.
    """
    return origin_of(np.asarray(Y[: min(Y.shape[0], BLOCK_ROWS)], dtype=np.float64))


def less_origin(Y: Any, origin: NDArray[np.float64]) -> Any:
    """Y − origin (n, t); lazy if Y is."""
    if not origin.any():
        return Y
    return Y - origin if isinstance(Y, np.ndarray) else Y.less(origin)


class _Estimator(BaseEstimator):
    """Subclasses add ``_fit_targets(X, Y, y)``, Y (n, t), and ``_linear(X)``, (n,) or (n, t)."""

    accepts_sparse: ClassVar[bool] = False
    """Whether ``_fit_targets`` and ``_linear`` take a CSR matrix too."""

    n_features_in_: int

    def _target_origin(self, Y: Any) -> NDArray[np.float64]:
        """What a fit subtracts from the targets Y (n, t), and adds to the intercept: (t,). Labels are near 0."""
        return np.zeros(Y.shape[1])

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        raise NotImplementedError

    def _linear(self, X: Any) -> NDArray[np.float64]:
        raise NotImplementedError

    def _checked(self, X: Any, y: Any, *, reset: bool, **targets: bool) -> tuple[Any, NDArray]:
        """X and y of a fit as arrays, X possibly as a CSR matrix; a row source as one of float64 or float32. With a
        kernel of the user's own, X are the numbers of the rows."""
        if self._has_own_kernel:
            X = self._numbered(X)
            y = np.asarray(y)
            check_consistent_length(X, y)
            if isinstance(self, Regressor):
                y = check_array(y, ensure_2d=False, dtype=np.float64)
            return X, y
        if is_row_source(X):
            X, y = float_rows(X), np.asarray(y)
            if len(y) != X.shape[0]:
                raise ValueError(f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(y)]}")
            if reset:
                self.n_features_in_ = X.shape[1]
            return self._same_width(X), y
        sparse = "csr" if self.accepts_sparse else False
        checked: tuple[Any, NDArray] = validate_data(
            self, X, y, dtype=[np.float64, np.float32], order="C", accept_sparse=sparse, reset=reset, **targets
        )
        return checked

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """``_linear`` of the rows; ValueError if an output is not finite, since labels would hide that."""
        outputs = self._linear(self._validated(X))
        if not np.isfinite(outputs).all():
            row = int(np.argwhere(~np.isfinite(outputs))[0][0])
            raise ValueError(
                f"{type(self).__name__} gives {outputs[row]} for row {row}: numbers of the rows, or of their features, "
                "are NaN, infinite or too large to be squared"
            )
        return outputs

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._has_own_kernel:
            return self._own.new_rows(X)
        if is_row_source(X):
            return self._same_width(float_rows(X))
        sparse = "csr" if self.accepts_sparse else False
        return validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C", accept_sparse=sparse)

    @property
    def _has_own_kernel(self) -> bool:
        return bool(getattr(self, "own_kernels", None)) and is_own(self.kernel)

    def _same_width(self, X: Any) -> Any:
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.accepts_sparse
        return tags


def mean_test_error(classifier: Any, y: Any, outputs: NDArray[np.float64]) -> float:
    """The error of ``outputs`` (n, t) for y: the share of wrong labels if ``classifier`` is a `Classifier`, else the
    root mean square error."""
    if isinstance(classifier, Classifier):
        chosen = (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        return float(np.mean(np.asarray(y) != classifier.classes_[chosen]))
    return float(np.sqrt(np.mean((np.asarray(y).reshape(outputs.shape) - outputs) ** 2)))


class Regressor(RegressorMixin, _Estimator):
    """Base of estimators of real targets."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to y (n,) or (n, t). X: (n, d) array, or a lazy array with shape, dtype and row slices."""
        self._fit_targets(*self._targets(X, y))
        return self

    def _targets(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        """X checked, the targets (n, t), and y for a feature map."""
        X, y = self._checked(X, y, reset=reset, multi_output=True, y_numeric=True)
        y = np.asarray(y, dtype=np.float64).view()
        y.setflags(write=False)
        return X, y.reshape(len(y), -1), y

    def _target_origin(self, Y: Any) -> NDArray[np.float64]:
        """`target_origin`; 0 for a model without an intercept, which depends on the targets' offset."""
        return target_origin(Y) if getattr(self, "center", True) else np.zeros(Y.shape[1])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The fitted function at X: (n,) or (n, t), float64."""
        return self._outputs(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def class_targets(y: NDArray, classes: NDArray) -> NDArray[np.float64]:
    """The labels y (n,) as targets −1/+1: (n, 1), +1 for the second of two classes; (n, classes), +1 for the row's
    class, if there are more."""
    from sklearn.preprocessing import label_binarize  # late, as in kernels/bandwidth.py

    return np.asarray(label_binarize(y, classes=classes, neg_label=-1), dtype=np.float64)


class Classifier(ClassifierMixin, _Estimator):
    """Base of classifiers, which fit targets −1/+1, one against the rest if there are more than two classes."""

    classes_: NDArray

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to the labels y (n,), of any type, as targets −1/+1. X as for the regressor."""
        self._fit_targets(*self._targets(X, y))
        return self

    def _targets(
        self, X: Any, y: Any, *, reset: bool = True, classes: Any = None
    ) -> tuple[Any, NDArray[np.float64], NDArray]:
        """X checked, the targets (n, 1) or (n, classes), and y for a feature map, as targets if there are two classes.
        ``classes`` are all labels, if y may lack some."""
        X, y = self._checked(X, checked_labels(y), reset=reset)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_ = np.unique(y if classes is None else checked_labels(classes, "classes"))
        if len(self.classes_) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: {self.classes_[0]!r}")
        if classes is not None and len(strange := np.setdiff1d(y, self.classes_)):
            raise ValueError(
                f"y holds the label {strange[0]!s}, which is not among the classes {self.classes_.tolist()}; pass all "
                "labels to the first partial_fit, classes=[…]"
            )
        Y = class_targets(y, self.classes_)
        y = y.view()
        Y.setflags(write=False)
        y.setflags(write=False)
        return X, Y, Y[:, 0] if Y.shape[1] == 1 else y

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,) for two classes (positive: the second), (n, classes) one against the rest for more."""
        return self._outputs(X)

    def predict(self, X: Any) -> NDArray:
        """The class of the sign, or of the largest decision value."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]


BLOCK_ELEMENTS = 1 << 22  # a block of features is about this many numbers (32 MB)
MOST_BLOCK_ROWS = 4096


def read_numbers(X: Any) -> int:
    """About the numbers that a row of X holds: its columns, or for a CSR matrix its entries and their indices."""
    return int(-(-2 * X.nnz // max(1, X.shape[0]))) if issparse(X) else int(X.shape[1])


def default_block_rows(columns: int) -> int:
    """Rows per block, so that the block is small and its rank-k update fast."""
    return max(256, min(MOST_BLOCK_ROWS, BLOCK_ELEMENTS // columns))
