"""Logistic regression is scikit-learn's, held or streamed, with λ by the loss on rows held out."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

from rffbench import LogisticClassifierCV, RandomFourierFeatures
from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.features.base import held_bytes
from rffbench.solvers import make_solver
from tests.helpers.cases import slow
from tests.helpers.kernel_rates import ServedRows

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 4))
SCORE = X[:, 0] - X[:, 1] ** 2 + rng.normal(size=240)
TWO = np.where(SCORE > 0, "yes", "no")
THREE = np.array(["low", "middle", "high"])[np.digitize(SCORE, [-1.5, 0.3])]
FEATURES = RandomFourierFeatures(30, gamma=0.2, random_state=0)
Z = FEATURES.fit_transform(X)
WEIGHTS = rng.integers(0, 4, 240)
ALPHAS = [1e-3, 1e-2, 1.0]


def peer(alpha, n, **options):
    return LogisticRegression(C=1 / (alpha * n), tol=1e-8, max_iter=5000, **options)


@pytest.mark.parametrize("y", [TWO, THREE])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("method", ["held", "streamed"])
def test_probabilities_are_scikit_learn_s(y, intercept, method):
    model = LogisticClassifierCV([0.01], features=FEATURES, intercept=intercept, method=method, tolerance=1e-8)
    model.fit(X, y)
    expected = peer(0.01, 240, fit_intercept=intercept).fit(Z, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(Z), atol=1e-5)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), atol=1e-9)
    assert (model.predict(X) == model.classes_[model.predict_proba(X).argmax(axis=1)]).all()
    penalty = 0.005 * np.square(model.coef_).sum()
    assert model.metrics_["objective"] == pytest.approx(log_loss(y, model.predict_proba(X)) + penalty)


@pytest.mark.parametrize("y", [TWO, THREE])
def test_lambda_has_the_smallest_loss_on_rows_held_out(y):
    model = LogisticClassifierCV(ALPHAS, features=FEATURES, folds=4, tolerance=1e-7).fit(X, y)
    expected = np.empty((3, 4))
    for fold, (training, held_out) in enumerate(KFold(4).split(X)):
        for index, alpha in enumerate(ALPHAS):
            fitted = peer(alpha, len(training)).fit(Z[training], y[training])
            expected[index, fold] = log_loss(y[held_out], fitted.predict_proba(Z[held_out]), labels=fitted.classes_)
    np.testing.assert_allclose(model.cv_results_["fold_test_error"], expected, rtol=1e-4)
    assert model.alpha_ == ALPHAS[int(np.argmin(expected.mean(axis=1)))]


@pytest.mark.parametrize("y", [TWO, THREE])
def test_a_row_of_weight_w_is_w_rows(y):
    model = LogisticClassifierCV([0.01], tolerance=1e-8)
    weighted = model.fit(X, y, WEIGHTS).predict_proba(X)
    repeated = model.fit(np.repeat(X, WEIGHTS, axis=0), np.repeat(y, WEIGHTS)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def objective(Z, y, alpha, B, c, weights):
    F = Z @ B.T + c
    F = F if F.ndim == 2 else np.column_stack([np.zeros(len(F)), F])
    losses = logsumexp(F, axis=1) - F[np.arange(len(F)), np.searchsorted(np.unique(y), y)]
    return np.average(losses, weights=weights) + alpha / 2 * np.square(B).sum()


UNSCALED = X * [1.0, 1e4, 1e-2, 100.0] + [0, 1e4, 0, 0]
COLLINEAR = np.hstack([X, X[:, :2] + X[:, 2:], X])
SEPARABLE = np.where((5 * X).round() @ [1, 2, 3, 4] > 0, "yes", "no")
ROWS = {  # Z, labels, weights, λ
    "two classes": (Z, TWO, None, 1e-3), "three classes": (Z, THREE, None, 1e-3), "weights": (Z, THREE, WEIGHTS, 1e-2),
    "hardly any penalty": (Z, TWO, None, 1e-8), "separable": (X, SEPARABLE, None, 1e-7),
    "unscaled": (UNSCALED, TWO, None, 1e-3), "unscaled, three": (UNSCALED, THREE, None, 1e-3),
    "collinear": (COLLINEAR, THREE, None, 1e-9), "few of a class": (X, np.where(X[:, 0] > 2, "yes", "no"), None, 1e-4),
    "more columns than rows": (np.hstack([Z, np.sin(X @ X[:220].T)]), THREE, None, 1e-2),
}  # fmt: skip


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("case", ROWS)
def test_the_objective_is_within_a_millionth_of_its_minimum(case, form):
    Z, y, weights, alpha = ROWS[case]
    model = LogisticClassifierCV([alpha]).fit(form(Z), y, weights)
    total = len(y) if weights is None else weights.sum()
    peer = LogisticRegression(C=1 / (alpha * total), tol=1e-12, max_iter=1000, solver="newton-cholesky")
    peer.fit(Z, y, sample_weight=weights)
    coef, intercept = (peer.coef_[0], peer.intercept_[0]) if len(peer.coef_) == 1 else (peer.coef_, peer.intercept_)
    ours = objective(Z, y, alpha, model.coef_, model.intercept_, weights)
    assert model.metrics_["objective"] == pytest.approx(ours, rel=1e-9)
    assert ours <= objective(Z, y, alpha, coef, intercept, weights) * (1 + 1e-6)


@pytest.mark.parametrize("y", [TWO, THREE])
@pytest.mark.parametrize("columns", [4, 30, 100])
def test_no_entry_of_the_gradient_exceeds_the_tolerance(y, columns):
    Z = RandomFourierFeatures(columns, gamma=0.2, random_state=0).fit_transform(X)
    for tolerance in (1e-3, 1e-6):
        model = LogisticClassifierCV([1e-4], tolerance=tolerance).fit(Z, y)
        R = model.predict_proba(Z) - (y[:, None] == model.classes_)
        R = R[:, 1:] if len(model.classes_) == 2 else R
        assert np.abs(R.T @ Z / len(Z) + 1e-4 * model.coef_).max() < 1.001 * tolerance
        assert np.abs(R.mean(axis=0)).max() < 1.001 * tolerance


@pytest.mark.parametrize("y", [TWO, THREE])
@pytest.mark.parametrize("method", ["held", *slow("streamed")])
def test_fits_made_together_are_those_made_one_by_one(y, method):
    one_by_one = LogisticClassifierCV(ALPHAS, features=FEATURES, method=method, tolerance=1e-8)
    together = clone(one_by_one).fit(X, y)
    classes = 1 if y is TWO else 3
    least = one_by_one.bytes_by_method(240, 4, 30, classes, X.dtype)[method]
    one_by_one.set_params(memory=least + held_bytes(FEATURES)).fit(X, y)
    assert one_by_one.metrics_["passes"] > 3 * together.metrics_["passes"]
    np.testing.assert_allclose(one_by_one.coef_, together.coef_, atol=1e-4)
    errors = (model.cv_results_["fold_test_error"] for model in (one_by_one, together))
    np.testing.assert_allclose(*errors, rtol=1e-5)


@pytest.mark.parametrize("y", [TWO, THREE])
def test_a_fold_may_lack_a_class(y):
    by_class = np.argsort(y)
    model = LogisticClassifierCV([1e-2, 1.0], features=FEATURES, folds=3).fit(X[by_class], y[by_class])
    assert np.isfinite(model.cv_results_["fold_test_error"]).all()
    alone = LogisticClassifierCV([model.alpha_], features=FEATURES).fit(X[by_class], y[by_class])
    assert model.metrics_["objective"] == pytest.approx(alone.metrics_["objective"], rel=1e-6)


def test_float32_rows_have_the_loss_of_float64_rows():
    single, double = (LogisticClassifierCV([1e-3], features=FEATURES).fit(X.astype(dtype), THREE) for dtype in "fd")
    assert single.metrics_["objective"] == pytest.approx(double.metrics_["objective"], rel=1e-5)


@pytest.mark.parametrize("class_weight", ["balanced", {"yes": 3.0}])
def test_class_weights_are_scikit_learn_s(class_weight):
    model = LogisticClassifierCV([2.0], lambda_scale=1, class_weight=class_weight, tolerance=1e-8).fit(X, TWO)
    expected = peer(2.0, 1, class_weight=class_weight).fit(X, TWO)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("features", [None, FEATURES])
def test_sparse_and_served_rows_give_the_same(features):
    holes = np.where(rng.uniform(size=X.shape) < 0.5, 0, X)
    model = LogisticClassifierCV(ALPHAS, features=features, tolerance=1e-7)
    expected = model.fit(holes, THREE).predict_proba(holes)
    for rows in (csr_array(holes), ServedRows(holes)):
        np.testing.assert_allclose(model.fit(rows, THREE).predict_proba(rows), expected, atol=1e-6)


def test_memory_decides_whether_features_are_held(monkeypatch):
    wide = RandomFourierFeatures(500, gamma=0.2, random_state=0)
    many = np.tile(X, (20, 1))
    held = 8 * 501 * len(many)
    fill, rows = RandomFourierFeatures.fill, []
    monkeypatch.setattr(RandomFourierFeatures, "fill", lambda self, X, out: rows.append(len(X)) or fill(self, X, out))
    for memory, once in ((2 * held, True), (held, False)):
        rows.clear()
        model = LogisticClassifierCV([0.01], features=wide, memory=memory).fit(many, np.tile(TWO, 20))
        assert (sum(rows) < 2 * len(many)) is once
    model.set_params(method="held")
    with pytest.raises(MemoryBudgetError):
        model.fit(many, np.tile(TWO, 20))


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="has not converged after 2 steps: raise max_iter or tolerance"):
        LogisticClassifierCV([1e-3], max_iter=2).fit(X, TWO)


@pytest.mark.parametrize(("parameters", "message"), [
    ({"alphas": [0.0]}, "alphas must be a positive number"),
    ({"method": "newton"}, "method must be one of 'auto', 'held', 'streamed'"),
    ({"tolerance": -1}, "tolerance must be a positive number"),
    ({"max_iter": 0}, "max_iter must be a whole number, 1 or more"),
    ({"folds": 1}, "folds must be a whole number, 2 or more"),
    ({"class_weight": "even"}, "class_weight must be None, 'balanced'"),
    ({"intercept": "yes"}, "intercept must be one of True, False"),
])  # fmt: skip
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        LogisticClassifierCV().set_params(**parameters).fit(X, TWO)


def test_a_config_s_regression_is_refused():
    with pytest.raises(ConfigError, match="'logistic' is for classification; for regression use 'ridge'"):
        make_solver({"name": "logistic"}, task="regression", features=FEATURES)
