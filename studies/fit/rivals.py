"""What a careful person would do with scikit-learn alone: random Fourier features, and boosted trees.

Both are tuned by GridSearchCV, in the same five folds and by the same metric. No choice is left at an end of its grid:
the grid grows there as long as the score does. A large table is searched on a sample, and what was chosen is fitted to
all rows.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

COLUMNS = 512
FOLDS = 5
MOST_SEARCHED = 50_000
MOST_GROWN = 6  # times that a grid grows
FLAT = 1e-4  # a score that grows by a smaller share of itself is flat
SCORING = {
    "accuracy": "accuracy",
    "auc": "roc_auc",
    "rmse": "neg_root_mean_squared_error",
    "mae": "neg_mean_absolute_error",
    "r2": "r2",
}


@dataclass(frozen=True)
class Axis:
    """The values of a setting in the grid, ascending. Beyond an end come values by ``factor``, down to ``least``."""

    values: tuple[float, ...]
    factor: float
    least: float = 1e-15

    def beyond(self, value: float) -> float | None:
        """The next value where ``value`` is at an end; None inside, and where no value is left."""
        whole = all(isinstance(each, int) for each in self.values)
        for end, factor in ((self.values[0], 1 / self.factor), (self.values[-1], self.factor)):
            further = round(end * factor) if whole else end * factor
            if value == end and further >= self.least and further != end:
                return further
        return None

    def inside(self, value: float) -> float:
        """The neighbour of the value at an end."""
        return self.values[1] if value == self.values[0] else self.values[-2]

    def grown(self, value: float) -> Axis:
        return Axis(tuple(sorted((*self.values, value))), self.factor, self.least)


TIMES_GAMMA = Axis((0.0625, 0.25, 1.0, 4.0, 16.0), 4)  # of γ with the median distance as σ
RIDGE = {"last__alpha": Axis((1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0), 10)}
LOGISTIC = {"last__C": Axis((0.1, 1.0, 10.0, 100.0, 1e3, 1e4), 10)}
TREES = {
    "learning_rate": Axis((0.03, 0.1, 0.3), 3),
    "max_leaf_nodes": Axis((7, 15, 31, 63), 2, least=2),
    "l2_regularization": Axis((0.1, 1.0, 10.0), 10, least=1e-4),
}


@dataclass(frozen=True)
class Tuned:
    """The fitted model, what was chosen, and the settings whose choice is at an end of the grid all the same."""

    model: Any
    settings: dict[str, float]
    at_end: list[str]


def fourier(X: pd.DataFrame, y: pd.DataFrame, metric: str, seed: int) -> Tuned:
    """512 random Fourier features, and ridge or logistic regression: the bandwidth, as a multiple of the median
    distance, and the penalty."""
    encode = _encoding()
    Z = encode.fit_transform(X)
    some = np.random.default_rng(seed).permutation(len(Z))[:1000]
    distances = euclidean_distances(Z[some])
    gamma = 0.5 / float(np.median(distances[np.triu_indices(len(some), 1)])) ** 2  # k = exp(-γ‖Δ‖²), σ the median
    features = RBFSampler(n_components=COLUMNS, random_state=seed)
    if _of_classes(metric):
        last: Any = LogisticRegression(max_iter=500)
        axes = dict(LOGISTIC)
    else:
        last = Ridge()
        axes = dict(RIDGE)
    axes["features__gamma"] = Axis(tuple(gamma * times for times in TIMES_GAMMA.values), TIMES_GAMMA.factor)
    found = _tuned(Pipeline([("features", features), ("last", last)]), axes, Z, _answers(y), metric, seed)
    return Tuned(make_pipeline(encode, found.model), found.settings, found.at_end)


def trees(X: pd.DataFrame, y: pd.DataFrame, metric: str, seed: int) -> Tuned:
    """Gradient-boosted trees with early stopping: the learning rate, the leaves and the L2 penalty."""
    words = [*X.select_dtypes(exclude="number").columns]
    kinds = {name: pd.CategoricalDtype(sorted(X[name].dropna().unique())) for name in words}
    common: dict[str, Any] = {"max_iter": 1000, "early_stopping": True, "categorical_features": "from_dtype"}
    prefix = ""
    if _of_classes(metric):
        model: Any = HistGradientBoostingClassifier(**common, random_state=seed)
    else:
        model = HistGradientBoostingRegressor(**common, random_state=seed)
        if y.shape[1] > 1:
            model, prefix = MultiOutputRegressor(model), "estimator__"
    axes = {prefix + name: axis for name, axis in TREES.items()}
    found = _tuned(model, axes, X.astype(kinds), _answers(y), metric, seed)
    return Tuned(_Typed(found.model, kinds), found.settings, found.at_end)


class _Typed:
    """A model of columns with these kinds."""

    def __init__(self, model: Any, kinds: dict[str, pd.CategoricalDtype]) -> None:
        self._model, self._kinds = model, kinds

    @property
    def classes_(self) -> np.ndarray:
        classes: np.ndarray = self._model.classes_
        return classes

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self._model.predict(X.astype(self._kinds)))

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self._model.predict_proba(X.astype(self._kinds)))


def _encoding() -> Any:
    """Numbers standardised, gaps the median; a column for each word."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )


def _of_classes(metric: str) -> bool:
    return metric in ("accuracy", "auc")


def _answers(y: pd.DataFrame) -> np.ndarray:
    return y.to_numpy() if y.shape[1] > 1 else y.iloc[:, 0].to_numpy()


def _tuned(model: Any, axes: dict[str, Axis], X: Any, y: np.ndarray, metric: str, seed: int) -> Tuned:
    """The settings with the best mean over the folds, fitted to all rows."""
    kind = StratifiedKFold if _of_classes(metric) else KFold
    folds = kind(FOLDS, shuffle=True, random_state=seed)
    some = np.random.default_rng(seed).permutation(len(y))[:MOST_SEARCHED]
    X_some, y_some = (X.iloc[some] if isinstance(X, pd.DataFrame) else X[some]), y[some]
    scores: dict[tuple[float, ...], float] = {}
    names = [*axes]

    def search() -> dict[str, float]:
        """The best settings, after those that are new are tried."""
        new = [each for each in itertools.product(*(axes[name].values for name in names)) if each not in scores]
        grid = [{name: [value] for name, value in zip(names, each, strict=True)} for each in new]
        if grid:
            tried = GridSearchCV(model, grid, scoring=SCORING[metric], cv=folds, refit=False).fit(X_some, y_some)
            scores.update(zip(new, np.nan_to_num(tried.cv_results_["mean_test_score"], nan=-np.inf), strict=True))
        top = max(scores, key=scores.__getitem__)
        return dict(zip(names, top, strict=True))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = search()
        for _ in range(MOST_GROWN):
            ends = _ends(axes, best, scores)
            if not ends:
                break
            for name, further in ends.items():
                axes[name] = axes[name].grown(further)
            best = search()
        fitted = model.set_params(**best).fit(X, y)
    settings = {name.rpartition("__")[2]: value for name, value in best.items()}
    return Tuned(fitted, settings, [name.rpartition("__")[2] for name in _ends(axes, best, scores)])


def _ends(axes: dict[str, Axis], best: dict[str, float], scores: dict[tuple[float, ...], float]) -> dict[str, float]:
    """The settings that are best at an end of the grid, with the value beyond; not those where the score is flat."""
    top = scores[tuple(best.values())]
    found = {}
    for name, axis in axes.items():
        further = axis.beyond(best[name])
        inside = scores[tuple((best | {name: axis.inside(best[name])}).values())] if further is not None else top
        if further is not None and top - inside > FLAT * abs(top):
            found[name] = further
    return found
