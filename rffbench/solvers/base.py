"""What the estimators share: checks, rows, targets, and the step from real outputs to labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from rffbench.errors import ConfigError
from rffbench.rowsource import is_row_source

LambdaScale = Literal["n", 1]
"""What λ is: 'n', the penalty is n·λ; 1, it is λ."""


def require_classification(solver: str, task: str, instead: str) -> None:
    """ConfigError if a solver that only does classification is asked for another task."""
    if task != "classification":
        raise ConfigError(f"solver {solver!r} is for classification; for {task} use {instead!r}")


def read_rows(X: Any) -> NDArray[np.float64]:
    """A copy of all rows of X, which may be lazy, as float64; ValueError where one holds NaN or infinity."""
    return np.array(checked_rows(X, slice(0, X.shape[0])), dtype=np.float64, order="C")


def checked_rows(X: Any, rows: slice) -> NDArray:
    """X[rows]; ValueError where X is lazy, so that it was not checked before, and they hold NaN or infinity."""
    part = np.asarray(X[rows])
    if is_row_source(X) and not np.isfinite(part).all():
        raise ValueError(f"X contains NaN or infinity in rows {rows.start} to {rows.stop - 1}")
    return part


@contextmanager
def no_singular() -> Iterator[None]:
    """A matrix that cannot be factored is the caller's choice of parameters: a ValueError."""
    try:
        yield
    except LinAlgError as error:
        raise ValueError(str(error)) from error


class _Estimator(BaseEstimator):
    """Subclasses add ``_fit_targets(X, Y, y)``, Y (n, t), and ``_linear(X)``, (n,) or (n, t)."""

    n_features_in_: int

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        raise NotImplementedError

    def _linear(self, X: Any) -> NDArray[np.float64]:
        raise NotImplementedError

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """``_linear`` of the rows; ValueError where it is no number, of which a label could be made all the same."""
        outputs = self._linear(self._validated(X))
        if not np.isfinite(outputs).all():
            row = int(np.argwhere(~np.isfinite(outputs))[0][0])
            raise ValueError(
                f"{type(self).__name__} gives {outputs[row]} for row {row}: numbers in the rows, or those that the "
                "feature map makes of them, are NaN, infinite or too large to be squared"
            )
        return outputs

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        if not is_row_source(X):
            return validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return X


class Regressor(RegressorMixin, _Estimator):
    """Fits real targets."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to y (n,) or (n, t). X: (n, d) array, or a lazy array with shape, dtype and row slices."""
        if is_row_source(X):
            y = np.asarray(y, dtype=np.float64)
            self.n_features_in_ = X.shape[1]
        else:
            X, y = validate_data(
                self, X, y, dtype=[np.float64, np.float32], order="C", multi_output=True, y_numeric=True
            )
        y = np.asarray(y, dtype=np.float64).view()
        y.setflags(write=False)  # a feature map gets to see it
        self._fit_targets(X, y.reshape(len(y), -1), y)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The fitted function at X: (n,) or (n, t), float64."""
        return self._outputs(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class Classifier(ClassifierMixin, _Estimator):
    """Fits targets −1/+1, one against the rest where there are more than two classes."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to the labels y (n,), as targets −1/+1. X as for the regressor."""
        if is_row_source(X):
            y = np.asarray(y)
            self.n_features_in_ = X.shape[1]
        else:
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: {self.classes_[0]!r}")
        Y = LabelBinarizer(neg_label=-1).fit_transform(y).astype(np.float64)
        y = y.view()
        Y.setflags(write=False)  # a feature map gets to see it, or y
        y.setflags(write=False)
        self._fit_targets(X, Y, Y[:, 0] if Y.shape[1] == 1 else y)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,) for two classes (positive: the second), (n, classes) one against the rest for more."""
        return self._outputs(X)

    def predict(self, X: Any) -> NDArray:
        """The class of the sign, or of the largest decision value."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]


BLOCK_ELEMENTS = 1 << 22  # a block of features is about this many numbers (32 MB)
MOST_BLOCK_ROWS = 4096


def default_block_rows(columns: int) -> int:
    """Rows per block, such that the block stays small and the rank-k update fast."""
    return max(256, min(MOST_BLOCK_ROWS, BLOCK_ELEMENTS // columns))
