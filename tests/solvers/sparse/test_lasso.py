"""The LASSO on fixed features: scikit-learn's optimum, reached by steps that never go up."""

import numpy as np
import pytest
import sklearn.linear_model

from rffbench import RandomFourierFeatures
from rffbench.arguments.seeds import generator, seed_sequence
from rffbench.solvers.sparse import l1
from rffbench.solvers.sparse import quadratic as l1_quadratic
from rffbench.solvers.sparse.l1 import Lasso, minimise
from rffbench.solvers.sparse.quadratic import RowGram, minimise_quadratic
from tests.helpers.l1_solutions import solve_lasso


def objective(Z, y, w, penalty):
    return penalty * np.abs(w).sum() + 0.5 * np.mean((Z.astype(float) @ w - y) ** 2)


def peer(Z, y, penalty, most=1_000_000):
    machine = sklearn.linear_model.Lasso(alpha=penalty, fit_intercept=False, tol=1e-12, max_iter=most)
    return machine.fit(Z, y).coef_


@pytest.fixture(scope="module")
def independent():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 40))
    return Z, Z[:, :5] @ rng.normal(size=5) + rng.normal(size=300)


@pytest.fixture(scope="module")
def alike():
    """Cosines of low frequencies: columns that are nearly dependent."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(400, 3))
    Z = RandomFourierFeatures(150, form="offset", gamma=0.5, random_state=0).fit_transform(X) * np.sqrt(75)
    return Z, np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=400)


@pytest.mark.parametrize("penalty", [0.5, 0.05, 0.002])
def test_the_optimum_is_scikit_learn_s(independent, penalty):
    Z, y = independent
    w, minimum = solve_lasso(Z, y, penalty, tol=1e-12, random_state=0)
    expected = peer(Z, y, penalty)
    np.testing.assert_allclose(w, expected, atol=1e-6)
    assert minimum.objective == pytest.approx(objective(Z, y, expected, penalty), rel=1e-6)
    assert minimum.objective == pytest.approx(objective(Z, y, w, penalty), rel=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the peer, which is not there yet
@pytest.mark.parametrize("penalty", [1e-2, 1e-4])
def test_features_that_are_nearly_dependent_are_no_harder(alike, penalty):
    Z, y = alike
    w, minimum = solve_lasso(Z, y, penalty, tol=1e-9, random_state=0)
    assert minimum.gap <= 1e-9 * minimum.objective
    assert minimum.objective == pytest.approx(objective(Z, y, w, penalty), rel=1e-9)
    assert minimum.objective <= objective(Z, y, peer(Z, y, penalty, 1000), penalty) * (1 + 1e-6)


def test_the_gap_bounds_the_distance_from_the_optimum(alike):
    Z, y = alike
    best = solve_lasso(Z, y, 1e-3, tol=1e-12, random_state=0)[1].objective
    for tol in (0.3, 0.1, 1e-2, 1e-3):
        minimum = solve_lasso(Z, y, 1e-3, tol=tol, random_state=0)[1]
        assert minimum.objective - best <= minimum.gap <= tol * minimum.objective


def test_the_objective_never_increases(alike):
    Z, y = alike
    problem, w, seen = Lasso(y, 1e-4), np.zeros(Z.shape[1]), []
    features = np.ascontiguousarray(Z.T)
    rng = generator(seed_sequence(0), "descent")
    for _ in range(12):
        seen.append(minimise(problem, features, w, tol=1e-12, rng=rng, most_steps=1).objective)
        np.testing.assert_allclose(problem.residual, y - Z @ w, atol=1e-9)
    assert (np.diff(seen) <= 0).all()
    assert seen[-1] < 0.5 * seen[0]


def test_a_start_at_the_optimum_takes_no_step(alike):
    Z, y = alike
    w, _ = solve_lasso(Z, y, 1e-3, tol=1e-8, random_state=0)
    again, minimum = solve_lasso(Z, y, 1e-3, start=w, tol=1e-7, random_state=0)
    assert minimum.steps == 0
    np.testing.assert_array_equal(again, w)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_columns_of_fewer_bytes_have_the_same_optimum(dtype):
    rng = np.random.default_rng(2)
    Z = np.sign(rng.normal(size=(200, 30)))
    y = Z[:, 0] - Z[:, 1] + rng.normal(size=200)
    w, _ = solve_lasso(Z.astype(dtype), y, 0.05, tol=1e-12, random_state=0)
    np.testing.assert_allclose(w, solve_lasso(Z, y, 0.05, tol=1e-12, random_state=0)[0], atol=1e-9)


def test_equal_and_empty_columns_do_no_harm(independent):
    Z, y = independent
    twice = np.hstack([Z, Z, np.zeros((len(y), 2))])
    w, minimum = solve_lasso(twice, y, 0.01, tol=1e-8, random_state=0)
    assert np.isfinite(w).all()
    assert minimum.objective == pytest.approx(solve_lasso(Z, y, 0.01, tol=1e-8, random_state=0)[1].objective, rel=1e-6)


def test_a_penalty_above_the_steepest_gradient_leaves_nothing(independent):
    Z, y = independent
    steepest = np.abs(Z.T @ y).max() / len(y)
    assert not solve_lasso(Z, y, 1.001 * steepest)[0].any()
    assert solve_lasso(Z, y, 0.999 * steepest, tol=1e-9)[0].any()


def test_threads_change_nothing(alike):
    import numba

    Z, y = alike
    before = numba.get_num_threads()
    results = []
    for threads in sorted({1, before}):
        numba.set_num_threads(threads)
        results.append(solve_lasso(Z, y, 1e-3, random_state=0)[0])
    numba.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[-1])


def test_the_gram_matrix_follows_its_points_and_features(monkeypatch):
    monkeypatch.setattr(l1_quadratic, "BLOCK_ELEMENTS", 100)
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(30, 500)).astype(np.float32)
    gram, points = RowGram(500), rng.uniform(size=500) < 0.6
    for _ in range(12):
        points = points ^ (rng.uniform(size=500) < rng.choice([0, 0.05, 0.7]))
        features = np.sort(rng.choice(len(Z), size=rng.integers(1, len(Z)), replace=False))
        part = Z[np.ix_(features, points)].astype(float)
        np.testing.assert_allclose(gram.update(Z, features, points), part @ part.T, atol=1e-10)
        kept = np.sort(rng.choice(len(Z), size=20, replace=False))
        gram.renumber(kept)
        Z[:20] = Z[kept]


def test_the_quadratic_s_minimum_is_where_no_coordinate_wants_to_move():
    rng = np.random.default_rng(4)
    for rank in (5, 40):
        A = rng.normal(size=(rank, 25))
        H, gradient, w = A.T @ A / rank, rng.normal(size=25), rng.normal(size=25) * (rng.uniform(size=25) < 0.5)
        gradient = A.T @ rng.normal(size=rank) / rank  # in H's range, so that there is a minimum
        v = minimise_quadratic(H, gradient, w, 0.05, 1e-12, rng)
        slope = gradient + H @ (v - w)
        np.testing.assert_allclose(slope[v != 0], -0.05 * np.sign(v[v != 0]), atol=1e-8)
        assert (np.abs(slope[v == 0]) <= 0.05 + 1e-8).all()


def test_the_model_takes_the_steepest_features_first(monkeypatch):
    monkeypatch.setattr(l1, "ADDED_AT_ONCE", 2)
    chosen = l1.working_set(np.array([0.5, -3.0, 2.0, 0.0, 4.0]), np.array([0.0, 0, 0, 1, 0]), 1.0)
    np.testing.assert_array_equal(chosen, [1, 3, 4])
