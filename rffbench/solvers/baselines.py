"""Learners on the inputs, as baselines for feature maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.class_weight import compute_sample_weight

from rffbench.arguments.parameters import WrongParameter, check_choice, check_count, check_positive
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, Regressor, less_origin, read_rows
from rffbench.solvers.ridge.make import make_ridge
from rffbench.solvers.ridge.settings import ALPHAS, Center, RidgeScale
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.solvers.weights import Balanced, ClassWeight, check_balanced, check_class_weight


@serves(SolverServes(uses="inputs", sums="n*d*min(n, d)/2", cost="f*min(n, d)**3/6", cross_validates=True))
def make_linear(
    *, task: str, memory: int | None = None,
    lambda_: float | Sequence[float] = ALPHAS, folds: int = 5, lambda_scale: RidgeScale = "n", center: Center = True,
    class_weight: Balanced = None,
) -> StreamedRidgeCV | StreamedRidgeClassifierCV:  # fmt: skip
    """Ridge regression on the inputs themselves; lambda by k-fold cross-validation.

    Parameters
    ----------
    lambda_ : λ, or values for cross-validation to choose from.
    folds : folds of the cross-validation.
    lambda_scale : the penalty: n·λ, or λ itself; trace, λ·tr(XᵀX).
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    class_weight : null; or balanced: all classes have the same total weight.
    """
    return make_ridge(
        task=task, features=None, memory=memory, lambda_=lambda_, folds=folds, lambda_scale=lambda_scale, center=center,
        class_weight=class_weight,
    )  # fmt: skip


class _Grown(NamedTuple):
    """Settings of scikit-learn's boosting that were tried, the mean held-out loss over folds, and the mean number of
    trees at which the fits stopped."""

    settings: dict[str, Any]
    loss: float
    trees: float


class _GradientBoosting:
    class_weight: ClassWeight = None
    _divided: ClassVar[type[KFold] | type[StratifiedKFold]] = KFold

    def __init__(
        self, trees: int = 100, *, learning_rate: float | Sequence[float] = 0.1, leaves: int | Sequence[int] = 31,
        early_stopping: bool = False, folds: int = 5, rows: int = 10_000, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.trees = trees
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.early_stopping = early_stopping
        self.folds = folds
        self.rows = rows
        self.random_state = random_state

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_count("trees", self.trees, least=1)
        rates, leaves = np.atleast_1d(self.learning_rate), np.atleast_1d(self.leaves)
        for name, values in (("learning_rate", rates), ("leaves", leaves)):
            if not len(values):
                raise WrongParameter(name, "must be a value or a list of values, got an empty list")
        for rate in rates:
            check_positive("learning_rate", rate.item())
        for count in leaves:
            check_count("leaves", count.item(), least=2)
        check_choice("early_stopping", self.early_stopping, (True, False))
        check_count("folds", self.folds, least=2)
        check_count("rows", self.rows, least=2)

    def _fitted(self, X: NDArray, targets: Iterable[NDArray]) -> list[Any]:
        """A model of scikit-learn for each of the targets (n,), with settings that were chosen for it."""
        self.check_parameters()
        for name in ("chosen_", "metrics_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        models, fits, trees = [], 0, 0
        for y in targets:
            settings, fits_of_choice = self._chosen(X, y)
            models.append(self._made(settings).fit(X, y))
            fits, trees = fits + fits_of_choice, trees + settings["max_iter"]
        if fits:
            self.metrics_ = {"choice_fits": float(fits), "trees": float(trees)}
        return models

    def _chosen(self, X: NDArray, y: NDArray) -> tuple[dict[str, Any], int]:
        """scikit-learn's settings of the final fit to X (n, d) and y (n,), and the fits that chose them: if there are
        several, or the number of trees is to be found, those with the least held-out loss."""
        sequence = seed_sequence(self.random_state)
        seed = int(generator(sequence, "trees").integers(2**32))
        rates, leaves = np.atleast_1d(self.learning_rate).tolist(), np.atleast_1d(self.leaves).tolist()
        tried = [{"learning_rate": rate, "max_leaf_nodes": most} for rate in rates for most in leaves]
        common = {"max_iter": self.trees, "random_state": seed, "early_stopping": "auto"}
        if len(tried) == 1 and not self.early_stopping:
            return {**common, **tried[0]}, 0
        few = np.sort(generator(sequence, "rows to choose on").permutation(len(X))[: self.rows])
        common["early_stopping"] = self.early_stopping
        grown = [self._held_out({**common, **each}, X[few], y[few]) for each in tried]
        best = min(grown, key=lambda each: each.loss)
        trees = max(1, round(best.trees)) if self.early_stopping else self.trees
        self.chosen_ = {name: best.settings[name] for name in tried[0]}
        return {**best.settings, "max_iter": trees, "early_stopping": False}, len(tried) * self.folds

    def _held_out(self, settings: dict[str, Any], X: NDArray, y: NDArray) -> _Grown:
        """The settings tried in folds of these rows."""
        losses, trees = [], []
        for train, held in self._divided(self.folds).split(X, y):
            model = self._made(settings).fit(X[train], y[train])
            losses.append(self._loss(model, X[held], y[held]))
            trees.append(model.n_iter_)
        return _Grown(settings, float(np.mean(losses)), float(np.mean(trees)))

    def _made(self, settings: dict[str, Any]) -> Any:
        """scikit-learn's model with these settings, not fitted."""
        raise NotImplementedError

    def _loss(self, model: Any, X: NDArray, y: NDArray) -> float:
        """The loss of a fitted model on held-out rows."""
        raise NotImplementedError


class GradientBoostingRegressor(_GradientBoosting, Regressor):
    """scikit-learn's `HistGradientBoostingRegressor`, one model per target.

    Parameters
    ----------
    trees : the number of trees, per target; with ``early_stopping`` the most.
    learning_rate : the factor of each tree's values, or several to choose from.
    leaves : the most leaves of a tree, or several to choose from.
    early_stopping : whether the number of trees is chosen: in each fold a fit stops when a tenth of its rows, which it
        does not learn from, gains nothing by ten more trees; the final fit has the mean number.
    folds : of the cross-validation on the mean squared error, or the log-loss of classes.
    rows : the most rows on which settings are chosen.

    Attributes
    ----------
    models_ : the fitted models of scikit-learn, of the targets less ``origin_`` (targets,), which is near their means.
    chosen_ : scikit-learn's learning rate and leaves that were chosen.
    metrics_ : 'choice_fits', the fits of the choice; 'trees', of the final fit; both of all targets. Only of a choice.
    """

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        X = read_rows(X)
        self.origin_ = self._target_origin(Y)
        self.models_ = self._fitted(X, less_origin(Y, self.origin_).T)
        self._single = y.ndim == 1

    def _made(self, settings: dict[str, Any]) -> HistGradientBoostingRegressor:
        return HistGradientBoostingRegressor(**settings)

    def _loss(self, model: Any, X: NDArray, y: NDArray) -> float:
        return float(np.mean(np.square(y - model.predict(X))))

    def _linear(self, X: Any) -> NDArray[np.float64]:
        rows = read_rows(X)
        outputs = np.stack([model.predict(rows) for model in self.models_], axis=1) + self.origin_
        return outputs[:, 0] if self._single else outputs


class GradientBoostingClassifier(_GradientBoosting, Classifier):
    """scikit-learn's `HistGradientBoostingClassifier`.

    Parameters
    ----------
    trees : the number of trees, per class if there are more than two; with ``early_stopping`` the most.
    learning_rate, leaves, early_stopping, folds, rows : as in `GradientBoostingRegressor`, by the log-loss.
    class_weight : None, 'balanced' or a dictionary from label to weight; in the choice too.

    Attributes
    ----------
    model_ : the fitted model of scikit-learn.
    chosen_, metrics_ : as in `GradientBoostingRegressor`.
    """

    _divided: ClassVar[type[KFold] | type[StratifiedKFold]] = StratifiedKFold

    def __init__(
        self, trees: int = 100, *, learning_rate: float | Sequence[float] = 0.1, leaves: int | Sequence[int] = 31,
        early_stopping: bool = False, folds: int = 5, rows: int = 10_000, class_weight: ClassWeight = None,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(
            trees, learning_rate=learning_rate, leaves=leaves, early_stopping=early_stopping, folds=folds, rows=rows,
            random_state=random_state,
        )  # fmt: skip
        self.class_weight = class_weight

    def check_parameters(self) -> None:
        super().check_parameters()
        check_class_weight(self.class_weight)

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        labels = Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(int)
        (self.model_,) = self._fitted(read_rows(X), [labels])

    def _made(self, settings: dict[str, Any]) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(**settings, class_weight=self._weights())

    def _weights(self) -> Any:
        """``class_weight`` for the classes' numbers, by which the trees are fitted."""
        if not isinstance(self.class_weight, Mapping):
            return self.class_weight
        return {number: self.class_weight.get(label, 1) for number, label in enumerate(self.classes_)}

    def _loss(self, model: Any, X: NDArray, y: NDArray) -> float:
        known = np.isin(y, model.classes_)  # a class of one row is in one fold
        weights = compute_sample_weight(self._weights(), y[known])
        return float(log_loss(y[known], model.predict_proba(X[known]), sample_weight=weights, labels=model.classes_))

    def _linear(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.model_.decision_function(read_rows(X)), dtype=np.float64)


def _letters(config: Mapping[str, Any]) -> dict[str, float]:
    """i, e and w of the formula: the trees, half of the most where fits may stop, and the fits and the rows of the
    choice. The formula's numbers are those of the board's rows: a tree takes some milliseconds however few rows there
    are."""
    tried = np.size(config.get("learning_rate", 0.1)) * np.size(config.get("leaves", 31))
    trees = float(config.get("trees", 100))
    if tried == 1 and not config.get("early_stopping"):
        return {"i": trees, "e": 0.0, "w": 0.0}
    return {
        "i": trees / (1 + bool(config.get("early_stopping"))),
        "e": float(tried * config.get("folds", 5)),
        "w": float(config.get("rows", 10_000)),
    }


@serves(
    SolverServes(
        uses="inputs", iterative=True, cost="i*c*(120*d*(n + e*min(n, w)) + 30000000*(1 + e))", letters=_letters
    )
)
def make_gradient_boosting(
    *, task: str, random_state: RandomState = None, trees: int = 100, learning_rate: float | Sequence[float] = 0.1,
    leaves: int | Sequence[int] = 31, early_stopping: bool = False, folds: int = 5, rows: int = 10_000,
    class_weight: Balanced = None,
) -> GradientBoostingRegressor | GradientBoostingClassifier:  # fmt: skip
    """Gradient boosting of trees on the inputs themselves: scikit-learn's HistGradientBoosting.

    Parameters
    ----------
    trees : the number of trees, per class if there are more than two; with early_stopping the most.
    learning_rate : the factor of each tree's values, or values for cross-validation to choose from.
    leaves : the most leaves of a tree, or values for cross-validation to choose from.
    early_stopping : true: the number of trees is the mean of those at which the fits of the folds stop.
    folds : folds of the cross-validation.
    rows : the most rows on which settings are chosen.
    class_weight : null; or balanced: all classes have the same total weight.
    """
    settings: dict[str, Any] = {
        "learning_rate": learning_rate, "leaves": leaves, "early_stopping": early_stopping, "folds": folds,
        "rows": rows, "random_state": random_state,
    }  # fmt: skip
    if task == "classification":
        return GradientBoostingClassifier(trees, **settings, class_weight=class_weight)
    check_balanced(class_weight, task)
    return GradientBoostingRegressor(trees, **settings)
