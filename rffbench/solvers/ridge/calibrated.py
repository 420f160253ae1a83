"""Ridge regression on features as a classifier with probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import WrongParameter, check_count
from rffbench.features.hooks import makes_sparse
from rffbench.solvers.base import Classifier, no_singular
from rffbench.solvers.platt import Sigmoids, by_class
from rffbench.solvers.ridge.fold_statistics import FoldStatistics
from rffbench.solvers.ridge.held_out import dealt, held_out_outputs
from rffbench.solvers.ridge.plan import check_budget
from rffbench.solvers.ridge.settings import Center, RidgeScale
from rffbench.solvers.ridge.streaming import Streaming
from rffbench.solvers.weights import ClassWeight, check_class_weight, check_counted, class_row_weights, row_weights


class CalibratedRidgeClassifier(Streaming, Classifier):
    """Streamed ridge regression on targets −1/+1, as `StreamedRidgeClassifier`, with probabilities of the classes.

    p(x) = 1/(1 + exp(−(a·f(x) + b))) for the ridge regression f; a and b are fitted by Platt's method to outputs for
    rows that were held out. With more than two classes there is a sigmoid for each, and the probabilities are divided
    by their sum. Two passes over the rows serve all folds and the fit to all rows: it costs little more than ridge
    alone. Rows are dealt to the folds class by class, in the order that they have.

    Parameters
    ----------
    alpha, lambda_scale, center, features, block_rows, memory : as in `StreamedRidge`. ``features`` must be dense.
    folds : int
        Held-out folds for the sigmoids.
    class_weight : None, 'balanced' or a dictionary from label to weight
        The weights of the ridge regression, as in `StreamedRidgeClassifier`. Probabilities are those of the rows
        without weights. A label is that of the largest probability times weight: with 'balanced' a rare
        class is predicted where it is more frequent than on average.

    Attributes
    ----------
    classes_ : the labels, sorted.
    class_weights_ : (classes,) the factor of each class's probability in the choice of a label.
    sigmoids_ : `rffbench.solvers.platt.Sigmoids`.
    coef_, intercept_, alpha_, accuracy_, features_, timing_ : as in `StreamedRidgeClassifier`.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines", 1999.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> model = CalibratedRidgeClassifier(1e-3, folds=3).fit(X, ["no", "no", "no", "yes", "yes", "yes"])
    >>> model.predict([[1.0], [4.0]]).tolist()
    ['no', 'yes']
    >>> bool(model.predict_proba([[4.0]])[0, 1] > 0.5)
    True
    """

    coef_: NDArray[np.float64]
    intercept_: float | NDArray[np.float64]

    def __init__(
        self, alpha: float = 1e-3, *, folds: int = 5, lambda_scale: RidgeScale = "n", center: Center = "both",
        features: Any = None, block_rows: int | None = None, memory: int | None = None,
        class_weight: ClassWeight = None,
    ) -> None:  # fmt: skip
        self.alpha = alpha
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.center = center
        self.features = features
        self.block_rows = block_rows
        self.memory = memory
        self.class_weight = class_weight

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        super().check_parameters()
        check_count("folds", self.folds, least=2)
        check_class_weight(self.class_weight)
        if makes_sparse(self.features):
            raise WrongParameter("features", "must not be sparse: ZᵀZ is computed for each fold")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CalibratedRidgeClassifier:
        """Fit to the labels y (n,), of any type. X: (n, d) array, CSR matrix, or a lazy array with shape, dtype and row
        slices. ``sample_weight`` (n,): a row of weight w counts as w equal rows, but for the folds."""
        check_class_weight(self.class_weight)
        X, Y, y = self._targets(X, y)
        given = row_weights(sample_weight, X)
        weights = class_row_weights(self.class_weight, self.classes_, Y, given)
        check_counted(Y, weights, self.classes_)
        self.class_weights_ = np.ones(len(self.classes_))
        if weights is not None:
            each = np.ones(len(Y)) if given is None else given
            self.class_weights_ = (weights @ _right(Y)) / (each @ _right(Y))
        self._given = given
        self._with_weights(weights, (X, Y, y), self._fit_targets)
        del self._given
        return self

    def _grid(self) -> tuple[list[float], int]:
        return [self.alpha], 1

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        alphas, _ = self._begin(X, Y)
        self._fit_map(X, Y, y)
        self._unmix(X, alphas, self.folds)
        needed = FoldStatistics.bytes_needed(self._columns, self.folds + 2, Y.shape[1])
        check_budget(f"ridge on {self._columns} columns with {self.folds} folds", needed, self.memory)
        fold = dealt(Y, min(self.folds, len(Y)))
        with no_singular():
            (outputs,), statistics = held_out_outputs(self, X, Y, fold, alphas)
            solution = self._solve(statistics, alphas, self.memory)
        self._become(alphas, self._restore_origin(solution), single=Y.shape[1] == 1)
        scores = by_class(outputs[:, 0]) if Y.shape[1] == 1 else outputs
        if not np.isfinite(scores).all():
            raise ValueError(f"ZᵀZ plus the penalty of alpha={self.alpha:g} is singular without a fold; take a larger "
                             "alpha")  # fmt: skip
        self.sigmoids_ = Sigmoids.fit(scores, _right(Y), self._given)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of ``classes_``: (n, classes), rows sum to 1."""
        scores = by_class(self._outputs(X))
        return self.sigmoids_.probabilities(scores)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of probability times class weight, (n, classes); for two classes that of the second less that
        of the first, (n,)."""
        scores = by_class(self._outputs(X))
        weight = np.log(np.maximum(self.class_weights_, np.finfo(float).tiny))
        if len(self.classes_) == 2:
            return scores[:, 1] * self.sigmoids_.slopes[0] + self.sigmoids_.intercepts[0] + (weight[1] - weight[0])
        P = self.sigmoids_.probabilities(scores)
        return np.log(np.maximum(P, np.finfo(float).tiny)) + weight


def _right(Y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each row belongs to each class, (n, classes), for targets −1/+1."""
    return np.hstack([Y < 0, Y > 0]) if Y.shape[1] == 1 else Y > 0
