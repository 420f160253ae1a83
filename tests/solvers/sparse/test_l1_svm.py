"""The ℓ1-penalised squared-hinge SVM on fixed features: LIBLINEAR's optimum, reached by steps that never go up."""

import numpy as np
import pytest

from rffbench import RandomFourierFeatures
from rffbench.arguments.seeds import generator, seed_sequence
from rffbench.solvers.sparse.l1 import SquaredHinge, minimise, solve_by_liblinear
from tests.helpers.cases import slow
from tests.helpers.l1_solutions import solve


def solve_l1_svm(Z, y, penalty, *, start=None, tol=1e-6, random_state=0):
    problem = SquaredHinge(np.array(y, dtype=np.float64), penalty)
    return solve(problem, Z, start=start, tol=tol, random_state=random_state)


def objective(Z, y, w, penalty):
    return penalty * np.abs(w).sum() + np.mean(np.maximum(0, 1 - y * (Z @ w)) ** 2)


@pytest.fixture(scope="module")
def independent():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 30))
    return Z, np.sign(Z[:, 0] - Z[:, 1] + 0.7 * rng.normal(size=300))


@pytest.fixture(scope="module")
def alike():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(500, 3))
    Z = RandomFourierFeatures(120, form="offset", gamma=0.5, random_state=0).fit_transform(X) * np.sqrt(60)
    return Z, np.sign(np.sin(7 * X[:, 0]) - X[:, 1] + 0.3 * rng.normal(size=500) + 0.2)


@pytest.mark.parametrize("penalty", [0.3, 0.03, 0.001])
def test_the_optimum_is_liblinear_s(independent, penalty):
    Z, y = independent
    expected = solve_by_liblinear(Z, y, penalty, tol=1e-9, most_iterations=100_000)
    w, minimum = solve_l1_svm(Z, y, penalty, tol=1e-10, random_state=0)
    assert minimum.objective == pytest.approx(objective(Z, y, expected, penalty), rel=1e-6)
    assert minimum.objective == pytest.approx(objective(Z, y, w, penalty), rel=1e-10)
    np.testing.assert_allclose(w, expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the peer, which is not there yet
@pytest.mark.parametrize("penalty", [1e-2, *slow(1e-4)])
def test_features_that_are_nearly_dependent_are_no_harder(alike, penalty):
    Z, y = alike
    w, minimum = solve_l1_svm(Z, y, penalty, tol=1e-9, random_state=0)
    assert minimum.gap <= 1e-9 * minimum.objective
    assert minimum.objective == pytest.approx(objective(Z, y, w, penalty), rel=1e-9)
    assert minimum.objective <= objective(Z, y, solve_by_liblinear(Z, y, penalty), penalty) * (1 + 1e-6)


def test_the_gap_bounds_the_distance_from_the_optimum(alike):
    Z, y = alike
    best = solve_l1_svm(Z, y, 1e-3, tol=1e-12, random_state=0)[1].objective
    for tol in (0.3, 0.1, 1e-2, 1e-3):
        minimum = solve_l1_svm(Z, y, 1e-3, tol=tol, random_state=0)[1]
        assert minimum.objective - best <= minimum.gap <= tol * minimum.objective


def test_the_objective_never_increases(alike):
    Z, y = alike
    problem, w, seen = SquaredHinge(y, 1e-4), np.zeros(Z.shape[1]), []
    features = np.ascontiguousarray(Z.T)
    rng = generator(seed_sequence(0), "descent")
    for _ in range(15):
        seen.append(minimise(problem, features, w, tol=1e-12, rng=rng, most_steps=1).objective)
        np.testing.assert_allclose(problem.residual, y - Z @ w, atol=1e-9)
    assert (np.diff(seen) <= 0).all()
    assert seen[-1] < 0.8 * seen[0]


def test_a_start_at_the_optimum_takes_no_step(alike):
    Z, y = alike
    w, _ = solve_l1_svm(Z, y, 1e-3, tol=1e-8, random_state=0)
    assert solve_l1_svm(Z, y, 1e-3, start=w, tol=1e-7, random_state=0)[1].steps == 0


def test_the_loss_s_gradient_is_its_slope(independent):
    Z, y = independent
    rng = np.random.default_rng(2)
    w, direction, h = rng.normal(size=30), rng.normal(size=30), 1e-6
    problem = SquaredHinge(y, 0.0)
    problem.shift(np.ascontiguousarray(Z.T), w)
    numeric = (objective(Z, y, w + h * direction, 0) - objective(Z, y, w - h * direction, 0)) / (2 * h)
    assert problem.loss_gradient() @ (Z @ direction) == pytest.approx(numeric, rel=1e-6)


def test_a_step_that_would_bring_back_cleared_points_is_cut_short():
    """The model of a step knows the points that have a loss; here the many others would have had more of it."""
    Z = np.array([[1.0]] * 100 + [[-0.1]])
    y = np.ones(101)
    start = np.array([1.5])
    before = objective(Z, y, start, 1e-4)
    problem, w = SquaredHinge(y, 1e-4), start.copy()
    features = np.ascontiguousarray(Z.T)
    problem.shift(features, w)
    minimise(problem, features, w, tol=1e-9, rng=np.random.default_rng(0), most_steps=1)
    assert w[0] < 1.5
    assert objective(Z, y, w, 1e-4) < before
    assert solve_l1_svm(Z, y, 1e-4, start=start, tol=1e-9)[1].objective < before
