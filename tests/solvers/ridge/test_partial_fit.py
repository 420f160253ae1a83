"""partial_fit, part by part, comes to what fit does with all rows at once."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rffbench import (
    RandomFourierFeatures,
    StreamedRidge,
    StreamedRidgeClassifier,
    StreamedRidgeClassifierCV,
    StreamedRidgeCV,
)
from rffbench.errors import MemoryBudgetError

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 5)) + 3
Y = X[:, 0] - X[:, 1] ** 2 + rng.normal(size=150)
LABELS = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [2.5, 3.4])]
WEIGHTS = rng.uniform(size=150)
PARTS = [slice(0, 40), slice(40, 41), slice(41, 110), slice(110, 150)]


@pytest.mark.parametrize("features", [None, RandomFourierFeatures(30, gamma=0.05, random_state=0)])
@pytest.mark.parametrize("center", [True, "both", False])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_parts_together_are_the_fit(features, center, weights):
    model = StreamedRidge(0.01, center=center, features=features)
    for part in PARTS:
        model.partial_fit(X[part], Y[part], None if weights is None else weights[part])
    found = model.predict(X)
    np.testing.assert_allclose(found, model.fit(X, Y, weights).predict(X), rtol=1e-8)


def test_several_classes_and_targets_come_in_parts():
    model = StreamedRidgeClassifier(0.01)
    model.partial_fit(X[:3], LABELS[:3], classes=["a", "b", "c"])
    found = model.partial_fit(X[3:], LABELS[3:]).decision_function(X)
    np.testing.assert_allclose(found, model.fit(X, LABELS).decision_function(X), rtol=1e-9)
    both = np.column_stack([Y, X[:, 3]])
    model = StreamedRidge(0.01).partial_fit(X[:70], both[:70]).partial_fit(csr_array(X[70:]), both[70:])
    np.testing.assert_allclose(model.predict(X), StreamedRidge(0.01).fit(X, both).predict(X), rtol=1e-9)


@pytest.mark.parametrize(("cls", "y"), [(StreamedRidgeCV, Y), (StreamedRidgeClassifierCV, LABELS)])
def test_one_part_chooses_lambda_as_fit_does(cls, y):
    fitted, part = cls([1e-3, 0.1, 5.0]).fit(X, y), cls([1e-3, 0.1, 5.0]).partial_fit(X, y)
    assert part.alpha_ == fitted.alpha_
    np.testing.assert_allclose(part.cv_results_["fold_test_error"], fitted.cv_results_["fold_test_error"])
    np.testing.assert_allclose(part.coef_, fitted.coef_)


def test_every_fold_gets_a_share_of_parts_of_few_rows():
    model = StreamedRidgeCV([0.1, 1.0], folds=3).partial_fit(X[:6], Y[:6])
    for row in range(6, 12):
        model.partial_fit(X[row : row + 1], Y[row : row + 1])
    order = [0, 1, 8, 11, 2, 3, 6, 9, 4, 5, 7, 10]
    found = StreamedRidgeCV([0.1, 1.0], folds=3).fit(X[order], Y[order]).cv_results_["fold_test_error"]
    np.testing.assert_allclose(model.cv_results_["fold_test_error"], found)


def test_fit_forgets_the_parts():
    model = StreamedRidge(0.1).partial_fit(X[:50], Y[:50] + 100).fit(X[50:], Y[50:])
    np.testing.assert_allclose(model.coef_, StreamedRidge(0.1).fit(X[50:], Y[50:]).coef_)
    again = model.partial_fit(X[:50], Y[:50])
    np.testing.assert_allclose(again.coef_, StreamedRidge(0.1).fit(X[:50], Y[:50]).coef_)


def test_what_does_not_go_with_parts_is_refused():
    with pytest.raises(ValueError, match="class_weight must be None or a dictionary for partial_fit"):
        StreamedRidgeClassifier(class_weight="balanced").partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="scoring must be None for partial_fit"):
        StreamedRidgeClassifierCV(scoring="accuracy").partial_fit(X, LABELS)
    with pytest.raises(ValueError, match=r"label c, which is not among .*; pass .* classes="):
        StreamedRidgeClassifier().partial_fit(X, LABELS, classes=["a", "b"])
    with pytest.raises(ValueError, match="2 targets, and had 1"):
        StreamedRidge().partial_fit(X, Y).partial_fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="expecting 5 features"):
        StreamedRidge().partial_fit(X, Y).partial_fit(X[:, :3], Y)
    with pytest.raises(MemoryBudgetError):
        StreamedRidge(memory=100).partial_fit(X, Y)
