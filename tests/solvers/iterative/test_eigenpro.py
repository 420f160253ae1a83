"""EigenPro 2: the direct solve's answer where it converges, in fewer passes for the directions that it damps."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.kernels import Kernel
from rffbench.solvers import make_solver
from rffbench.solvers.iterative.eigenpro import EigenProClassifier, EigenProRegressor
from rffbench.solvers.ridge.exact import ExactKernelRidgeClassifierCV, ExactKernelRidgeCV

rng = np.random.default_rng(0)
X, NEW = rng.uniform(size=(300, 3)), rng.uniform(size=(40, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=300)
BUDGET = {"tolerance": 1e-8}


@pytest.mark.parametrize("sample", [300, 80])
@pytest.mark.parametrize(("kernel", "gamma"), [("laplacian", 1.0), ("gaussian", 5.0)])
def test_it_agrees_with_the_direct_solve(kernel, gamma, sample):
    exact = ExactKernelRidgeCV([1e-2], kernel=kernel, gamma=gamma).fit(X, Y)
    model = EigenProRegressor(
        1e-2, kernel=kernel, gamma=gamma, batch=64, sample=sample, budget=BUDGET, random_state=0
    ).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), atol=1e-6)
    assert model.metrics_["residual"] < 2e-8


def test_damping_takes_far_fewer_passes():
    def passes(sample):
        model = EigenProRegressor(1e-2, kernel="laplacian", batch=64, sample=sample, random_state=0)
        return model.fit(X, Y).metrics_["passes"]

    assert 3 * passes(200) < passes(2)


def test_at_lambda_0_it_comes_to_interpolate():
    model = EigenProRegressor(
        0.0, kernel="laplacian", gamma=20.0, center=False, batch=64, budget=BUDGET, random_state=0
    )
    np.testing.assert_allclose(model.fit(X, Y).predict(X), Y, atol=1e-6)


def test_classes_stand_side_by_side_and_curves_run_to_what_was_found():
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [0.2, 0.8])]
    exact = ExactKernelRidgeClassifierCV([1e-2], kernel="laplacian").fit(X, labels)
    model = EigenProClassifier(1e-2, kernel="laplacian", batch=64, budget=BUDGET, record=True, random_state=0)
    model.fit(X, labels, eval_set=(NEW, exact.predict(NEW)))
    np.testing.assert_allclose(model.decision_function(NEW), exact.decision_function(NEW), atol=1e-6)
    assert set(model.curves_) == {"passes", "time", "residual", "test_error"}
    assert len(model.curves_["passes"]) == model.metrics_["passes"] - 1
    assert model.curves_["test_error"][-1] == 0
    assert model.curves_["residual"][-1] <= 1e-8


def test_what_has_not_converged_says_so_and_a_budget_is_kept():
    model = EigenProRegressor(1e-8, batch=64, budget={"passes": 6}, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"eigenpro at lambda=1e-08 has not converged: .* after 6 passes"):
        model.fit(X, Y)
    assert model.metrics_["passes"] == 6


@dataclass(frozen=True)
class Negative(Kernel):
    """tanh, which is no kernel."""

    name: ClassVar[str] = "negative"

    def matrix(self, X, Y):
        return np.tanh(5 * X @ (X if Y is None else Y).T - 2)


def test_wrong_input_is_refused_by_name():
    with pytest.raises(ValueError, match=r"is not positive semi-definite: its smallest eigenvalue is -\d"):
        EigenProRegressor(1e-6, kernel=Negative()).fit(X, Y)
    with pytest.raises(MemoryBudgetError, match="eigenpro on 300 rows needs"):
        EigenProRegressor(memory=10**5).fit(X, Y)
    with pytest.raises(ConfigError, match=r"lambda must be one number for eigenpro, got \[0.1, 1.0\]"):
        make_solver({"name": "eigenpro", "lambda": [0.1, 1.0]}, task="regression")


def test_a_config_may_ask_for_no_penalty():
    model = make_solver(
        {"name": "eigenpro", "lambda": 0, "center": False}, task="regression", kernel="gaussian", gamma=1.0
    )
    assert model.alpha == 0
    with pytest.raises(ConfigError, match="lambda must be a positive number"):
        make_solver({"name": "pcg", "lambda": 0}, task="regression")


def test_kernel_rows_that_hardly_touch_are_fitted_in_one_pass_of_steps():
    """There K is nearly I, so that a step longer than 1/k(x, x) would overshoot at every row."""
    model = EigenProRegressor(
        0.0, gamma=1e6, center=False, batch=1, sample=80, budget={"passes": 2, "tolerance": 1e-10}, random_state=0
    )
    np.testing.assert_allclose(model.fit(X, Y).predict(X), Y, atol=1e-6)


def test_a_step_is_shorter_where_the_sample_has_too_few_directions_to_damp():
    """K is nearly I, and one of two directions is damped: the step is 2/(β + (m − 1)·σ) with β = 1 and σ = 1/2."""
    model = EigenProRegressor(0.0, gamma=1e6, center=False, batch=64, sample=2, budget={"passes": 2}, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    assert np.median(model.predict(X) / Y) == pytest.approx(2 / (1 + 63 / 2))


@pytest.mark.parametrize("targets", [1, 2])
def test_with_an_intercept_it_is_kernel_ridge_with_an_intercept(targets):
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(120, 3))
    Y = np.column_stack([np.sin(4 * X[:, 0]) + 3, 50 * X[:, 1]])[:, :targets]
    y = Y[:, 0] if targets == 1 else Y
    exact = ExactKernelRidgeCV([0.05], gamma=0.5, center="both").fit(X, y)
    model = EigenProRegressor(0.05, gamma=0.5, center="both", budget={"tolerance": 1e-9}, record=True, random_state=0)
    model.fit(X, y, eval_set=(X, y))
    np.testing.assert_allclose(model.predict(X), exact.predict(X), rtol=1e-6)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-6 * np.abs(model.coef_).max())
    assert model.curves_["test_error"][-1] == pytest.approx(np.sqrt(np.mean((model.predict(X) - y) ** 2)), rel=1e-4)
