"""Exact kernel ridge is scikit-learn's, with this package's λ and centring."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold

from rffbench.errors import MemoryBudgetError
from rffbench.kernels import KERNELS, make_kernel
from rffbench.solvers import make_solver
from rffbench.solvers.ridge import exact as kernel_ridge
from rffbench.solvers.ridge.exact import ExactKernelRidgeClassifierCV, ExactKernelRidgeCV

ALPHAS = [1e-3, 0.05, 0.5, 3.0]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(173, 3))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] + 2 + 0.2 * rng.normal(size=173)


@pytest.mark.parametrize(("kernel", "peer"), [("gaussian", "rbf"), ("laplacian", "laplacian")])
def test_cross_validation_equals_grid_search_on_the_same_folds(problem, kernel, peer, monkeypatch):
    monkeypatch.setattr(kernel_ridge, "BLOCK_ROWS", 50)
    X, y = problem
    search = GridSearchCV(
        KernelRidge(kernel=peer, gamma=0.7), {"alpha": ALPHAS}, cv=KFold(4), scoring="neg_mean_squared_error"
    ).fit(X, y)
    ours = ExactKernelRidgeCV(ALPHAS, kernel=kernel, gamma=0.7, folds=4, lambda_scale=1, center=False)
    ours.fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_error"], -search.cv_results_["mean_test_score"], rtol=1e-8)
    assert ours.alpha_ == search.best_params_["alpha"]
    np.testing.assert_allclose(ours.predict(X + 0.1), search.predict(X + 0.1), atol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_one_lambda_of_1_solves_k_plus_i_for_every_kernel_without_cross_validation(problem, name):
    X, y = problem
    gamma = 0.5 if KERNELS[name].has_bandwidth else 1.0
    K = make_kernel(name, gamma)(X)
    config = {"name": "kernel-ridge", "lambda": 1, "lambda_scale": 1, "center": False}
    model = make_solver(config, task="regression", kernel=name, gamma=gamma).fit(X, y)
    np.testing.assert_allclose((K + np.eye(len(y))) @ model.dual_coef_, y, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), K @ model.dual_coef_, atol=1e-9)
    assert (model.alpha_, model.intercept_, model.metrics_) == (1.0, 0.0, {"model_size": 173})
    assert not len(model.cv_results_["mean_test_error"])
    labels = np.where(y > np.median(y), "b", "a")
    classifier = make_solver(config, task="classification", kernel=name, gamma=gamma).fit(X, labels)
    expected = K @ np.linalg.solve(K + np.eye(len(y)), np.where(labels == "b", 1.0, -1.0))
    np.testing.assert_allclose(classifier.decision_function(X), expected, atol=1e-9)


@pytest.mark.parametrize("lambda_scale", ["n", 1])
def test_target_centring_is_ridge_on_centred_targets(problem, lambda_scale):
    X, y = problem
    alpha = 0.01 * (len(y) if lambda_scale == "n" else 1)
    peer = KernelRidge(alpha=alpha, kernel="rbf", gamma=1.0).fit(X, y - y.mean())
    ours = ExactKernelRidgeCV([0.01], lambda_scale=lambda_scale).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X) + y.mean(), atol=1e-9)


def test_an_unpenalised_intercept_solves_the_bordered_system(problem):
    X, y = problem
    n, alpha = len(y), 0.3
    K = make_kernel("gaussian", 1.0)(X)
    bordered = np.block([[K + alpha * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    expected = np.linalg.solve(bordered, np.append(y, 0))
    ours = ExactKernelRidgeCV([alpha], lambda_scale=1, center="both").fit(X, y)
    np.testing.assert_allclose(ours.dual_coef_, expected[:n], atol=1e-9)
    assert ours.intercept_ == pytest.approx(expected[n], abs=1e-9)


def test_classes_are_told_by_the_sign(problem):
    X, y = problem
    labels = np.where(y > np.median(y), 1, -1)
    model = ExactKernelRidgeClassifierCV(ALPHAS, gamma=2.0).fit(X, labels)
    assert model.score(X, labels) > 0.8
    regression = ExactKernelRidgeCV(ALPHAS, gamma=2.0).fit(X, labels)
    np.testing.assert_allclose(model.decision_function(X), regression.predict(X), atol=1e-12)


def test_too_many_rows_for_the_budget_are_refused(problem):
    with pytest.raises(MemoryBudgetError, match="exact kernel ridge on 173 rows needs"):
        ExactKernelRidgeCV(memory=100_000).fit(*problem)
