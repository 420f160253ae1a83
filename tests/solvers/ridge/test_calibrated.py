"""Ridge with probabilities: held-out outputs are those of separate fits, and the sigmoids are Platt's."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import make_classification

from rffbench import (
    CalibratedRidgeClassifier,
    NystroemFeatures,
    RandomBinningFeatures,
    RandomFourierFeatures,
    StreamedRidge,
)
from rffbench.solvers.base import class_targets
from rffbench.solvers.ridge.held_out import cross_validated_outputs, dealt
from tests.helpers.contract import keeps_the_contract

WEIGHTED = "folds are of rows, whatever their weights"


@pytest.mark.slow
def test_scikit_learn_s_contract_is_kept():
    weighted = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    keeps_the_contract(CalibratedRidgeClassifier(), dict.fromkeys(weighted, WEIGHTED))


@pytest.fixture(scope="module", params=[2, 3])
def problem(request):
    X, y = make_classification(
        400,
        6,
        n_informative=4,
        n_classes=request.param,
        weights=[0.6] + [0.4 / (request.param - 1)] * (request.param - 1),
        flip_y=0.1,
        random_state=0,
    )
    return X, y


@pytest.mark.parametrize(
    "features", [None, RandomFourierFeatures(40, gamma=0.1, random_state=0), NystroemFeatures(30, gamma=0.1)]
)
def test_held_out_outputs_are_those_of_a_fit_without_the_fold(problem, features):
    X, y = problem
    Y, alphas = class_targets(y, np.unique(y)), [1e-3, 1e-1]
    features = features and features.set_params(random_state=1).fit(X)  # one map for all folds
    fold, weights = dealt(Y, 4), np.random.default_rng(0).uniform(0.5, 2, len(Y))
    found = cross_validated_outputs(features, X, Y, fold, alphas, weights)
    Z = X if features is None else features.transform(X)
    for at, alpha in enumerate(alphas):
        for each in range(4):
            rest = fold != each
            alone = StreamedRidge(alpha, lambda_scale="trace", center="both").fit(Z[rest], Y[rest], weights[rest])
            expected = alone.predict(Z[~rest]).reshape(-1, Y.shape[1])
            np.testing.assert_allclose(found[at][~rest], expected, atol=1e-7)


def test_each_fold_has_each_class_s_share_of_sorted_rows():
    Y = class_targets(np.repeat([0, 1, 2], [50, 30, 20]), np.arange(3))
    fold = dealt(Y, 5)
    assert [[int((Y[fold == each, k] > 0).sum()) for k in range(3)] for each in range(5)] == [[10, 6, 4]] * 5


def test_the_sigmoid_is_platt_s_of_held_out_outputs():
    X, y = make_classification(300, 5, flip_y=0.2, random_state=1)
    model = CalibratedRidgeClassifier(0.01, folds=3).fit(X, y)
    Y = class_targets(y, np.arange(2))
    fold = dealt(Y, 3)
    scores = np.empty(len(y))
    for each in range(3):
        alone = StreamedRidge(0.01, center="both").fit(X[fold != each], Y[fold != each, 0])
        scores[fold == each] = alone.predict(X[fold == each])
    counts = np.bincount(y)
    targets = np.where(y, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))

    def loss(ab):
        p = expit(ab[0] * scores + ab[1])
        return -(targets * np.log(p) + (1 - targets) * np.log(1 - p)).sum()

    a, b = minimize(loss, [1.0, 0.0], tol=1e-10).x
    ridge = StreamedRidge(0.01, center="both").fit(X, Y[:, 0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(a * ridge.predict(X) + b), atol=1e-3)


def test_weights_of_classes_change_labels_and_leave_probabilities_those_of_the_rows():
    X, y = make_classification(3000, 5, weights=[0.93], flip_y=0.02, class_sep=0.5, random_state=0)
    plain = CalibratedRidgeClassifier(1e-3).fit(X, y)
    balanced = CalibratedRidgeClassifier(1e-3, class_weight="balanced").fit(X, y)
    for model in (plain, balanced):
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)
    assert (plain.predict(X) == 1).mean() < 0.5 * y.mean()
    share = balanced.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(balanced.predict(X), (share > y.mean()).astype(int))


def test_text_labels_and_their_order_change_nothing():
    X, y = make_classification(200, 5, random_state=0)
    names = np.array(["yes", "no"])
    plain, named = CalibratedRidgeClassifier().fit(X, y), CalibratedRidgeClassifier().fit(X, names[y])
    assert named.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(named.predict_proba(X)[:, ::-1], plain.predict_proba(X), atol=1e-8)


def test_sparse_features_are_refused():
    features = RandomBinningFeatures(10, kernel="laplacian")
    with pytest.raises(ValueError, match="features must not be sparse"):
        CalibratedRidgeClassifier(features=features).fit([[0.0], [1.0]], [0, 1])
