"""A row of weight w is w equal rows, however the ridge is computed."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from rffbench import (
    RandomFourierFeatures,
    StreamedRidge,
    StreamedRidgeClassifier,
    StreamedRidgeClassifierCV,
    StreamedRidgeCV,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6)) + 2
Y = X[:, 0] - X[:, 1] ** 2 + rng.normal(size=120)
LABELS = np.array(["few", "many", "some"])[np.digitize(X[:, 0], [1, 3.2])]
WEIGHTS = rng.integers(0, 4, 120)
FEATURES = RandomFourierFeatures(20, gamma=0.1, random_state=0)


def repeated(array, weights=WEIGHTS):
    return np.repeat(array, weights, axis=0)


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("center", [True, "both", False])
@pytest.mark.parametrize("lambda_scale", ["n", 1])
def test_a_weighted_fit_is_the_fit_to_repeated_rows(features, center, lambda_scale):
    model = StreamedRidge(0.05, center=center, lambda_scale=lambda_scale, features=features, block_rows=50)
    weighted = model.fit(X, Y, WEIGHTS).predict(X)
    np.testing.assert_allclose(weighted, model.fit(repeated(X), repeated(Y)).predict(X), rtol=1e-10)


def test_fewer_rows_than_columns_may_have_weights():
    wide = RandomFourierFeatures(400, gamma=0.1, random_state=0)
    model = StreamedRidge(0.05, features=wide)
    weighted = model.fit(X, Y, WEIGHTS).predict(X)
    np.testing.assert_allclose(weighted, model.fit(repeated(X), repeated(Y)).predict(X), rtol=1e-8)


@pytest.mark.parametrize("memory", [None, 190_000])  # one pass over the rows, and one for each fold
@pytest.mark.parametrize(("cls", "y", "options"), [
    (StreamedRidgeCV, Y, {}),
    (StreamedRidgeClassifierCV, LABELS, {}),
    (StreamedRidgeClassifierCV, LABELS, {"scoring": "accuracy"}),
])  # fmt: skip
def test_weights_choose_lambda_as_repeated_rows_do(cls, y, options, memory, planning):
    weights = np.tile([2, 1, 3, 0], 30)  # so that the folds of the repeated rows end where those of the rows do
    model = cls([1e-3, 0.1, 10.0], folds=3, block_rows=16, **options, memory=memory)
    if memory is not None:
        model.set_params(features=RandomFourierFeatures(100, gamma=0.1, random_state=0))
    weighted = model.fit(X, y, weights)
    assert memory is None or planning.last.way == "in_passes"
    errors, outputs = weighted.cv_results_["fold_test_error"], weighted.predict(X)
    plain = model.fit(repeated(X, weights), repeated(y, weights))
    np.testing.assert_allclose(errors, plain.cv_results_["fold_test_error"], rtol=1e-9)
    assert (
        (outputs == plain.predict(X)).all()
        if cls is StreamedRidgeClassifierCV
        else np.allclose(outputs, plain.predict(X), rtol=1e-9)
    )


def test_several_targets_may_have_weights():
    both = np.column_stack([Y, -2 * Y + X[:, 2]])
    found = StreamedRidge(3.0, lambda_scale=1, center="both").fit(X, both, WEIGHTS).predict(X)
    np.testing.assert_allclose(found, Ridge(3.0).fit(X, both, WEIGHTS).predict(X), rtol=1e-9)


@pytest.mark.parametrize("labels", [LABELS, LABELS == "few"])
@pytest.mark.parametrize("class_weight", ["balanced", "a dictionary"])
def test_class_weights_are_scikit_learn_s(labels, class_weight):
    if class_weight != "balanced":
        class_weight = {label: 1.0 + index for index, label in enumerate(np.unique(labels))}
    ours = StreamedRidgeClassifier(2.0, lambda_scale=1, center="both", class_weight=class_weight).fit(X, labels)
    theirs = RidgeClassifier(2.0, class_weight=class_weight).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-8)
    by_rows = StreamedRidgeClassifier(2.0, lambda_scale=1, center="both")
    by_rows.fit(X, labels, compute_sample_weight(class_weight, labels))
    np.testing.assert_allclose(ours.coef_, by_rows.coef_, rtol=1e-10)


def test_balanced_counts_rows_by_their_weights():
    model = StreamedRidgeClassifier(0.1, class_weight="balanced")
    weighted = model.fit(X, LABELS, WEIGHTS).coef_
    np.testing.assert_allclose(weighted, model.fit(repeated(X), repeated(LABELS)).coef_, rtol=1e-9)


@pytest.mark.parametrize(("weights", "message"), [
    (np.ones(7), "sample_weight.shape"),
    (-np.ones(120), "[Nn]egative"),
    (np.zeros(120), "at least one non-zero"),
    (np.arange(120) >= 24, "fold 1 of 5, 0 to 23, all have weight 0"),
])  # fmt: skip
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        StreamedRidgeCV().fit(X, Y, weights)


def test_wrong_class_weights_are_refused():
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or label: weight, got 'even'"):
        StreamedRidgeClassifier(class_weight="even").fit(X, LABELS)
