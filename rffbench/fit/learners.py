"""The estimators that candidates stand for, with settings: in the search, and in the model that is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench import CalibratedRidgeClassifier, LogisticClassifierCV, StreamedRidge
from rffbench.fit.candidates import SEED, Candidate
from rffbench.fit.metrics import Metric


def learner(
    candidate: Candidate, settings: dict[str, Any], metric: Metric, class_weight: str | None, share: float, targets: int
) -> Any:
    """The unfitted estimator. ``share`` is that of the second of two classes among the rows, 0 for more."""
    if candidate.kind == "constant":
        return _constant(metric)
    if candidate.kind == "trees":
        return _trees(settings, metric, class_weight, share, targets)
    if candidate.kind == "linear" and metric.of_classes:
        return _logistic(settings, class_weight, share)
    features = None if candidate.kind == "linear" else candidate.features(settings["columns"], settings["gamma"])
    if metric.of_classes:
        return CalibratedRidgeClassifier(
            settings["lambda"], lambda_scale="trace", features=features, class_weight=class_weight
        )
    return StreamedRidge(settings["lambda"], lambda_scale="trace", center="both", features=features)


def _constant(metric: Metric) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if metric.of_classes:
        return DummyClassifier(strategy="prior")
    return DummyRegressor(strategy="median" if metric.name == "mae" else "mean")


def _trees(settings: dict[str, Any], metric: Metric, class_weight: str | None, share: float, targets: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.multioutput import MultiOutputRegressor

    common = {"early_stopping": False, **settings, "random_state": SEED}
    if not metric.of_classes:
        loss = {"loss": "absolute_error"} if metric.name == "mae" else {}
        one = HistGradientBoostingRegressor(**common, **loss)
        return one if targets == 1 else MultiOutputRegressor(one)
    return _weighted(HistGradientBoostingClassifier(**common), class_weight, share)


def _logistic(settings: dict[str, Any], class_weight: str | None, share: float) -> Any:
    return _weighted(LogisticClassifierCV([settings["lambda"]]), class_weight, share)


def _weighted(classifier: Any, class_weight: str | None, share: float) -> Any:
    """With weights, of two classes the label is the one that is more frequent than among all rows, so that
    probabilities stay those of the rows; more classes are weighted."""
    from sklearn.model_selection import FixedThresholdClassifier

    if class_weight and share:
        return FixedThresholdClassifier(classifier, threshold=share)
    return classifier.set_params(class_weight=class_weight)


def trees_grown(model: Any) -> int:
    """The number of trees, of several targets the mean."""
    inner = getattr(model, "estimators_", None) or [getattr(model, "estimator_", model)]
    return round(float(np.mean([each.n_iter_ for each in inner])))


SMALL_WORK = 1e9  # multiply-adds of a Gram matrix


@contextmanager
def few_threads(multiply_adds: float) -> Iterator[None]:
    """In the block all libraries have one thread if the work is small: more are hardly faster, and many times slower
    where other programs use the processors."""
    if multiply_adds > SMALL_WORK:
        yield
        return
    import numba
    from threadpoolctl import threadpool_limits

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(before)


def predictions(model: Any, X: Any, metric: Metric) -> NDArray:
    """What the metric scores: labels, probabilities, or values (n, targets)."""
    if metric.needs == "labels":
        return np.asarray(model.predict(X))
    if metric.of_classes:
        return np.asarray(model.predict_proba(X))
    return np.asarray(model.predict(X)).reshape(len(X), -1)
