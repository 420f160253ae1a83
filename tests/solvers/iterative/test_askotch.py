"""ASkotch: scikit-learn's kernel ridge where it converges, in fewer passes for the acceleration."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.kernels import GaussianKernel, Kernel
from rffbench.solvers import make_solver
from rffbench.solvers.iterative.askotch import ASkotchClassifier, ASkotchRegressor, ASkotchSteps
from rffbench.solvers.ridge.exact import ExactKernelRidgeClassifierCV, ExactKernelRidgeCV
from tests.helpers.cases import slow

rng = np.random.default_rng(0)
X, NEW = rng.uniform(size=(300, 3)), rng.uniform(size=(40, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=300)
BUDGET = {"tolerance": 1e-8}


@pytest.mark.parametrize(("block", "rank"), [(None, 100), (10, 3), *slow((60, 60), (60, 15), (300, 40), (500, 500))])
@pytest.mark.parametrize(("kernel", "theirs", "gamma"), [("laplacian", "laplacian", 1.0), ("gaussian", "rbf", 5.0)])
def test_it_is_scikit_learn_s_kernel_ridge(kernel, theirs, gamma, block, rank):
    model = ASkotchRegressor(
        0.5, kernel=kernel, gamma=gamma, lambda_scale=1, center=False, block=block, rank=rank, budget=BUDGET,
        random_state=0,
    ).fit(X, Y)  # fmt: skip
    exact = KernelRidge(alpha=0.5, kernel=theirs, gamma=gamma).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), atol=1e-6)
    np.testing.assert_allclose(model.coef_, exact.dual_coef_, atol=1e-6)
    assert model.metrics_["residual"] < 2e-8


@pytest.mark.parametrize("targets", [1, 2])
def test_a_small_penalty_and_an_intercept_agree_with_the_direct_solve(targets):
    Y2 = np.column_stack([Y + 3, 50 * X[:, 1]])[:, :targets]
    y = Y2[:, 0] if targets == 1 else Y2
    for center in (True, "both"):
        exact = ExactKernelRidgeCV([1e-4], kernel="laplacian", center=center).fit(X, y)
        model = ASkotchRegressor(1e-4, kernel="laplacian", center=center, budget=BUDGET, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), rtol=1e-5)


def test_acceleration_takes_fewer_passes():
    """ν so large that z is w is the solver without it."""

    def residual(nu):
        steps = ASkotchSteps(GaussianKernel(5.0), X, Y[:, None] - Y.mean(), 1e-2, 60, 20, np.random.default_rng(0))
        if nu is not None:
            steps.nu = nu / 4
            steps.restart()
        return [np.sqrt(steps.one_pass()) for _ in range(100)][-1]

    assert residual(None) < 0.2 * residual(4e12)


def test_it_begins_again_with_less_acceleration_where_the_residual_grows(monkeypatch):
    passes, taken = ASkotchSteps.one_pass, []

    def growing(steps):
        taken.append((steps.nu, np.abs(steps.coef).max()))
        return passes(steps) * (100 if len(taken) == 3 else 1)

    monkeypatch.setattr(ASkotchSteps, "one_pass", growing)
    model = ASkotchRegressor(1e-2, kernel="laplacian", budget=BUDGET, random_state=0).fit(X, Y)
    assert [nu for nu, _ in taken[:4]] == [3, 3, 3, 12]
    assert [largest == 0 for _, largest in taken[:5]] == [True, False, False, True, False]
    assert model.metrics_["residual"] < 2e-8


@pytest.mark.slow
def test_too_strong_an_acceleration_is_left_behind():
    """With ν = 10 of 1,000 rows and the whole of each block, the residual would grow for ever."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 3))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=1000)
    model = ASkotchRegressor(1e-3, gamma=5.0, lambda_scale=1, budget={"passes": 220, "tolerance": 1e-4}, random_state=0)
    assert model.fit(X, y).metrics_["residual"] < 2e-4


def test_a_step_moves_a_block_to_its_minimum_where_its_approximation_is_whole():
    steps = ASkotchSteps(GaussianKernel(5.0), X, Y[:, None], 1e-1, 300, 300, np.random.default_rng(0))
    steps.one_pass()
    exact = KernelRidge(alpha=0.1, kernel="rbf", gamma=5.0).fit(X, Y)
    np.testing.assert_allclose(steps.coef[:, 0], exact.dual_coef_, rtol=1e-3, atol=1e-3)


def test_classes_stand_side_by_side_and_curves_run_to_what_was_found():
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [0.2, 0.8])]
    exact = ExactKernelRidgeClassifierCV([1e-2], kernel="laplacian").fit(X, labels)
    model = ASkotchClassifier(1e-2, kernel="laplacian", budget=BUDGET, record=True, random_state=0)
    model.fit(X, labels, eval_set=(NEW, exact.predict(NEW)))
    np.testing.assert_allclose(model.decision_function(NEW), exact.decision_function(NEW), atol=1e-6)
    assert set(model.curves_) == {"passes", "time", "residual", "test_error"}
    assert len(model.curves_["passes"]) == model.metrics_["passes"] - 1
    assert model.curves_["test_error"][-1] == 0


def test_float32_rows_give_nearly_the_same():
    exact = ExactKernelRidgeCV([1e-2], gamma=5.0).fit(X, Y)
    model = ASkotchRegressor(1e-2, gamma=5.0, budget={"tolerance": 1e-5}, random_state=0).fit(X.astype(np.float32), Y)
    np.testing.assert_allclose(model.predict(NEW.astype(np.float32)), exact.predict(NEW), atol=1e-3)


@dataclass(frozen=True)
class Negative(Kernel):
    """tanh, which is no kernel."""

    name: ClassVar[str] = "negative"

    def matrix(self, X, Y):
        return np.tanh(5 * X @ (X if Y is None else Y).T - 2)


def test_what_goes_wrong_is_named():
    with pytest.warns(ConvergenceWarning, match=r"askotch at lambda=1e-08 has not converged: .* after 6 passes"):
        ASkotchRegressor(1e-8, budget={"passes": 6}, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"is not positive semi-definite: its smallest eigenvalue is -\d"):
        ASkotchRegressor(1e-6, kernel=Negative(), random_state=0).fit(X, Y)
    with pytest.raises(MemoryBudgetError, match="askotch on 300 rows needs"):
        ASkotchRegressor(memory=10**4).fit(X, Y)
    with pytest.raises(ConfigError, match=r"lambda must be one number for askotch, got \[0.1, 1.0\]"):
        make_solver({"name": "askotch", "lambda": [0.1, 1.0]}, task="regression")
    with pytest.raises(ConfigError, match="block must be a whole number, 1 or more, got 0"):
        make_solver({"name": "askotch", "block": 0}, task="regression", kernel="gaussian", gamma=1.0)
