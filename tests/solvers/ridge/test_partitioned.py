"""Divide-and-conquer ridge is the plain average of ridge on each part."""

from itertools import pairwise

import numpy as np
import pytest

from rffbench import RandomFourierFeatures
from rffbench.errors import ConfigError
from rffbench.solvers import make_solver
from rffbench.solvers.ridge.fold_statistics import fold_bounds
from rffbench.solvers.ridge.partitioned import PartitionedRidgeClassifierCV, PartitionedRidgeCV

FEATURES = RandomFourierFeatures(40, gamma=0.5, random_state=0)
rng = np.random.default_rng(0)
X = rng.uniform(size=(203, 3))
y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=203)


def made(task="regression", **parameters):
    config = {"name": "ridge", "lambda": 0.1, "lambda_scale": 1, "center": False, **parameters}
    return make_solver(config, task=task, features=FEATURES)


def averaged(Z, targets, parts, alpha, scale, center):
    """What the parts' own solutions come to on average: coefficients and intercept."""
    coef, intercept = np.zeros(Z.shape[1]), 0.0
    for start, stop in pairwise(fold_bounds(len(Z), parts)):
        z, t = Z[start:stop], targets[start:stop]
        origin = z.mean(axis=0) if center == "both" else np.zeros(Z.shape[1])
        mean = t.mean() if center else 0.0
        penalty = alpha * (len(t) if scale == "n" else 1) * np.eye(Z.shape[1])
        own = np.linalg.solve((z - origin).T @ (z - origin) + penalty, (z - origin).T @ (t - mean))
        coef += own / parts
        intercept += (mean - origin @ own) / parts
    return coef, intercept


@pytest.mark.parametrize("parts", [1, 3, 7, 40])  # of more rows than columns, and of fewer
@pytest.mark.parametrize("center", [False, True, "both"])
@pytest.mark.parametrize("scale", ["n", 1])
def test_it_is_the_average_of_ridge_on_each_part(parts, center, scale):
    model = made(partitions=parts, center=center, lambda_scale=scale).fit(X, y)
    coef, intercept = averaged(FEATURES.fit_transform(X), y, parts, 0.1, scale, center)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-7, atol=1e-9)
    assert model.intercept_ == pytest.approx(intercept, abs=1e-9)


def test_one_part_is_ridge():
    whole = made().fit(X, y)
    np.testing.assert_allclose(made(partitions=1).fit(X, y).predict(X), whole.predict(X), rtol=1e-9)


def test_classes_are_decided_by_the_averaged_weights():
    labels = np.array(["low", "high"])[(y > 1).astype(int)]
    model = made("classification", partitions=4).fit(X, labels)
    signs = np.where(labels == model.classes_[1], 1.0, -1.0)
    coef, _ = averaged(FEATURES.fit_transform(X), signs, 4, 0.1, 1, False)
    np.testing.assert_allclose(model.decision_function(X), FEATURES.fit_transform(X) @ coef, rtol=1e-7, atol=1e-9)


def test_several_targets_are_each_as_alone():
    both = PartitionedRidgeCV([0.1], partitions=5, features=FEATURES).fit(X, np.column_stack([y, -2 * y]))
    alone = PartitionedRidgeCV([0.1], partitions=5, features=FEATURES).fit(X, y)
    np.testing.assert_allclose(both.predict(X), np.column_stack([alone.predict(X), -2 * alone.predict(X)]), rtol=1e-8)


def test_a_weight_is_as_many_equal_rows_of_the_same_part():
    weights = np.r_[np.full(101, 2.0), np.ones(101)]
    model = PartitionedRidgeCV([0.1], partitions=2, features=FEATURES).fit(X[:202], y[:202], weights)
    first = PartitionedRidgeCV([0.1], features=FEATURES).fit(np.repeat(X[:101], 2, axis=0), np.repeat(y[:101], 2))
    second = PartitionedRidgeCV([0.1], features=FEATURES).fit(X[101:202], y[101:202])
    np.testing.assert_allclose(model.coef_, (first.coef_ + second.coef_) / 2, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"partitions": 0}, "partitions must be a whole number, 1 or more, got 0"),
        ({"partitions": 2, "lambda": [0.1, 1.0]}, r"must be one number with partitions, got \[0.1, 1.0\]"),
        ({"partitions": 2, "blocks": "dask"}, "blocks must be null with partitions"),
        ({"partitions": 2, "path": True}, "path must be false with partitions"),
    ],
)
def test_what_it_has_not_is_refused_with_what_would_be_right(parameters, said):
    with pytest.raises(ConfigError, match=said):
        made(**parameters)


def test_more_parts_than_rows_are_refused():
    with pytest.raises(ValueError, match="partitions must be at most the rows, 203, got 204"):
        made(partitions=204).fit(X, y)


def test_rows_cannot_be_added_in_parts():
    with pytest.raises(ValueError, match="need all rows at once"):
        PartitionedRidgeClassifierCV(partitions=2).partial_fit(X, y > 1)
