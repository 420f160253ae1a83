"""Learners on the inputs, as baselines for feature maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from rffbench.arguments.parameters import check_count, check_positive
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, Regressor, less_origin, read_rows
from rffbench.solvers.ridge.make import make_ridge
from rffbench.solvers.ridge.settings import ALPHAS, Center, RidgeScale
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV, StreamedRidgeCV


@serves(SolverServes(uses="inputs", sums="n*d*min(n, d)/2", cost="f*min(n, d)**3/6", cross_validates=True))
def make_linear(
    *, task: str, memory: int | None = None,
    lambda_: float | Sequence[float] = ALPHAS, folds: int = 5, lambda_scale: RidgeScale = "n", center: Center = True,
) -> StreamedRidgeCV | StreamedRidgeClassifierCV:  # fmt: skip
    """Ridge regression on the inputs themselves; lambda by k-fold cross-validation.

    Parameters
    ----------
    lambda_ : λ, or values for cross-validation to choose from.
    folds : folds of the cross-validation.
    lambda_scale : the penalty: n·λ, or λ itself; trace, λ·tr(XᵀX).
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    """
    return make_ridge(
        task=task, features=None, memory=memory, lambda_=lambda_, folds=folds, lambda_scale=lambda_scale, center=center
    )


class _GradientBoosting:
    trees: int
    learning_rate: float
    random_state: RandomState

    def __init__(
        self, trees: int = 100, *, learning_rate: float = 0.1, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.trees = trees
        self.learning_rate = learning_rate
        self.random_state = random_state

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_count("trees", self.trees, least=1)
        check_positive("learning_rate", self.learning_rate)

    def _settings(self) -> dict[str, Any]:
        self.check_parameters()
        seed = int(generator(seed_sequence(self.random_state), "trees").integers(2**32))
        return {"max_iter": self.trees, "learning_rate": self.learning_rate, "random_state": seed}


class GradientBoostingRegressor(_GradientBoosting, Regressor):
    """scikit-learn's `HistGradientBoostingRegressor`, one model per target.

    Parameters
    ----------
    trees : the number of trees, per target.
    learning_rate : the factor of each tree's values.

    Attributes
    ----------
    models_ : the fitted models of scikit-learn, of the targets less ``origin_`` (targets,), which is near their means.
    """

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        X, settings = read_rows(X), self._settings()
        self.origin_ = self._target_origin(Y)
        Y = less_origin(Y, self.origin_)
        self.models_ = [HistGradientBoostingRegressor(**settings).fit(X, target) for target in Y.T]
        self._single = y.ndim == 1

    def _linear(self, X: Any) -> NDArray[np.float64]:
        rows = read_rows(X)
        outputs = np.stack([model.predict(rows) for model in self.models_], axis=1) + self.origin_
        return outputs[:, 0] if self._single else outputs


class GradientBoostingClassifier(_GradientBoosting, Classifier):
    """scikit-learn's `HistGradientBoostingClassifier`.

    Parameters
    ----------
    trees : the number of trees, per class if there are more than two.
    learning_rate : the factor of each tree's values.

    Attributes
    ----------
    model_ : the fitted model of scikit-learn.
    """

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        labels = Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(int)
        self.model_ = HistGradientBoostingClassifier(**self._settings()).fit(read_rows(X), labels)

    def _linear(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.model_.decision_function(read_rows(X)), dtype=np.float64)


def _letters(config: Mapping[str, Any]) -> dict[str, float]:
    return {"i": float(config.get("trees", 100))}


@serves(SolverServes(uses="inputs", iterative=True, cost="2*i*c*n*d", letters=_letters))
def make_gradient_boosting(
    *, task: str, random_state: RandomState = None, trees: int = 100, learning_rate: float = 0.1
) -> GradientBoostingRegressor | GradientBoostingClassifier:
    """Gradient boosting of trees on the inputs themselves: scikit-learn's HistGradientBoosting.

    Parameters
    ----------
    trees : the number of trees, per class if there are more than two.
    learning_rate : the factor of each tree's values.
    """
    estimator = GradientBoostingClassifier if task == "classification" else GradientBoostingRegressor
    return estimator(trees, learning_rate=learning_rate, random_state=random_state)
