"""A row of weight w is w equal rows to a linear machine too, whoever solves it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from rffbench import LinearSVM, RandomFourierFeatures
from rffbench.solvers.svm import linear as linear_svm

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(240, 5)) * (rng.uniform(size=(240, 5)) < 0.7)
Y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=240) > 0.35, "few", "many")
LABELS = np.where(X[:, 3] > 0.5, "some", Y)
WEIGHTS = rng.integers(0, 4, 240)
FEATURES = RandomFourierFeatures(30, gamma=0.7, random_state=0)
METHODS = [("squared-hinge", "held"), ("squared-hinge", "streamed"), ("squared-hinge", "liblinear"),
           ("squared-hinge", "liblinear-dual"), ("hinge", "liblinear-dual")]  # fmt: skip


def machine(loss="squared-hinge", method="auto", features=FEATURES, **parameters):
    tolerance = 1e-4 if "dual" in method else 1e-9  # coordinate descent comes near, and no nearer
    C = 0.1 if loss == "hinge" else 3.0
    return LinearSVM(features, loss, method=method, tolerance=tolerance, **{"C": C, "bias": 1.5, **parameters})


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks, the last one short, and so a sample of blocks for the preconditioner."""
    monkeypatch.setattr(linear_svm, "default_block_rows", lambda columns: 100)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("loss", "method"), METHODS)
@pytest.mark.parametrize("labels", [Y, LABELS])
def test_a_row_of_weight_w_is_w_equal_rows_and_one_of_weight_0_is_none(loss, method, labels):
    weighted = machine(loss, method).fit(X, labels, WEIGHTS)
    repeated = machine(loss, method).fit(np.repeat(X, WEIGHTS, axis=0), np.repeat(labels, WEIGHTS))
    descent = "dual" in method
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=2e-2 if descent else 1e-6
    )
    told, expected = weighted.metrics_["objective"], repeated.metrics_["objective"]
    assert told == pytest.approx(expected, rel=1e-4 if descent else 1e-9)


@pytest.mark.parametrize("rows", [X, csr_array(X), X.astype(np.float32)], ids=["dense", "sparse", "float32"])
@pytest.mark.parametrize("features", [FEATURES, None])
@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_weights_are_scikit_learn_s(rows, features, bias):
    weights = WEIGHTS * 0.37 + 0.1
    ours = machine(features=features, bias=bias).fit(rows, Y, weights)
    Z = X if features is None else features.fit_transform(X)
    theirs = LinearSVC(
        C=3.0, dual=False, tol=1e-10, fit_intercept=bool(bias), intercept_scaling=bias or 1, max_iter=100_000
    ).fit(Z, Y, weights)
    tolerance = 1e-3 if rows.dtype == np.float32 else 1e-5
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], atol=tolerance * np.abs(theirs.coef_).max())
    assert ours.intercept_ == pytest.approx(float(np.squeeze(theirs.intercept_)), abs=tolerance)


@pytest.mark.parametrize("labels", [Y, LABELS])
@pytest.mark.parametrize("class_weight", ["balanced", {"few": 3.0, "many": 0.5}])
def test_class_weights_are_scikit_learn_s(labels, class_weight):
    ours = machine(bias=1.0, class_weight=class_weight).fit(X, labels)
    theirs = LinearSVC(C=3.0, dual=False, tol=1e-10, class_weight=class_weight, max_iter=100_000)
    Z = FEATURES.fit_transform(X)
    if len(ours.classes_) == 2:
        expected = theirs.fit(Z, labels).decision_function(Z)
    else:  # where it weighs the class alone against the rest, whose rows keep weight 1
        codes = np.where(labels[:, None] == ours.classes_, 1.0, -1.0)
        weights = linear_svm.class_row_weights(class_weight, ours.classes_, codes, None)
        plain = theirs.set_params(class_weight=None)
        expected = np.column_stack(
            [plain.fit(Z, labels == label, weights).decision_function(Z) for label in ours.classes_]
        )
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-4)


def test_equal_weights_of_one_change_no_digit():
    for method in ("held", "streamed"):
        plain, ones = machine(method=method).fit(X, LABELS), machine(method=method).fit(X, LABELS, np.ones(240))
        np.testing.assert_array_equal(plain.coef_, ones.coef_)
        assert plain.metrics_["objective"] == ones.metrics_["objective"]


def test_the_rows_that_are_given_stay_as_they_are():
    for rows in (X.copy(), csr_array(X)):
        before = rows.copy()
        for bias in (0.0, 1.0):
            machine(features=None, bias=bias).fit(rows, Y, WEIGHTS)
        assert (rows != before).sum() == 0


@pytest.mark.parametrize(("weights", "message"), [
    (np.ones(7), "sample_weight.shape"),
    (-np.ones(240), "[Nn]egative"),
    (np.zeros(240), "at least one non-zero"),
    (np.where(Y == "few", 0, 1), "all rows but those of class many all have weight 0"),
    (np.where(Y == "few", 1, 0), "the rows of class many all have weight 0"),
])  # fmt: skip
def test_weights_that_leave_nothing_to_learn_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        machine().fit(X, Y, weights)
