"""Boosting: the steepest function joins, and all the rest is sparse random features'."""

import numpy as np
import pytest

from rffbench import BoostedFeaturesClassifier, BoostedFeaturesRegressor
from rffbench.solvers import make_solver
from rffbench.solvers.sparse.boosting import steepest_perceptron
from tests.helpers.l1_solutions import solve_lasso


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=300)


def slope(function, X, pull):
    return abs(pull @ np.where(X @ function.directions[0] + function.offsets[0] >= 0, 1.0, -1.0))


def test_a_separable_pull_is_found_by_the_surrogate():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    margin = X @ [1.0, -2.0, 0.5] + 0.3
    X, margin = X[abs(margin) > 0.3], margin[abs(margin) > 0.3]
    pull = np.sign(margin) * rng.uniform(0.5, 1.0, size=len(X))
    function = steepest_perceptron(X, pull, "surrogate")
    assert np.linalg.norm(function.directions) == pytest.approx(1)
    assert slope(function, X, pull) == pytest.approx(np.abs(pull).sum())


def test_the_best_threshold_is_the_best_of_all_for_its_direction():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 6, size=(80, 2)).astype(float)  # with ties
    for _ in range(5):
        pull = rng.normal(size=80)
        rough, best = (steepest_perceptron(X, pull, threshold) for threshold in ("surrogate", "best"))
        np.testing.assert_array_equal(rough.directions, best.directions)
        along = X @ best.directions[0]
        every = [abs(pull @ np.where(along >= cut, 1.0, -1.0)) for cut in np.unique(along)[1:]]
        assert slope(best, X, pull) == pytest.approx(max(every))
        assert slope(best, X, pull) >= slope(rough, X, pull) - 1e-9 or slope(rough, X, pull) == abs(pull.sum())


def test_pulls_of_one_sign_want_the_constant(regression):
    function = steepest_perceptron(regression[0], np.full(300, 0.5), "surrogate")
    assert slope(function, regression[0], np.full(300, 0.5)) == pytest.approx(150)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gaussian", "perceptron"])
def test_a_function_joins_a_step_and_all_weights_are_corrected(regression, kernel):
    X, y = regression
    model = BoostedFeaturesRegressor(
        kernel, alpha=0.1, steps=12, threshold="best", tol=1e-8, record=True, random_state=0
    ).fit(X, y)
    assert (np.diff(model.curves_["objective"]) <= 0).all()
    assert (np.diff(model.curves_["nonzeros"]) <= 1).all()
    phases = X @ model.directions_.T + model.offsets_
    Z = np.cos(phases) if kernel == "gaussian" else np.where(phases >= 0, 1.0, -1.0)
    assert model.metrics_["objective"] == pytest.approx(solve_lasso(Z, y, 0.1 / 300, tol=1e-9)[1].objective, rel=1e-6)


def test_the_first_cosine_is_the_steepest_candidate(regression):
    from rffbench import RandomFourierFeatures

    X, y = regression
    model = BoostedFeaturesRegressor("laplacian", alpha=1e-3, steps=1, candidates=30, random_state=4).fit(X, y)
    Z = RandomFourierFeatures(30, form="offset", kernel="laplacian", random_state=4).fit(X)
    best = np.abs(Z.transform(X).T @ y).argmax()
    np.testing.assert_allclose(model.directions_[0], Z.frequencies_[:, best])


def test_steps_end_where_nothing_steep_enough_is_found(regression):
    X, y = regression
    model = BoostedFeaturesRegressor("gaussian", alpha=30.0, steps=50, record=True, random_state=0).fit(X, y)
    assert len(model.curves_["time"]) < 50


def test_two_classes_are_told_apart(regression):
    X, y = regression
    labels = np.where(y > np.median(y), 1, 0)
    model = BoostedFeaturesClassifier(alpha=0.3, steps=60, threshold="best", random_state=0).fit(X, labels)
    assert model.score(X, labels) > 0.9
    with pytest.raises(ValueError, match="Only binary classification"):
        BoostedFeaturesClassifier(steps=2).fit(X, np.arange(300) % 3)


@pytest.mark.parametrize("kernel", ["gaussian", "perceptron"])
def test_a_saved_model_holds_its_functions(regression, kernel, tmp_path):
    X, y = regression
    model = BoostedFeaturesRegressor(kernel, alpha=0.1, steps=10, random_state=0).fit(X, y)
    model.save(tmp_path / "model.npz")
    again = BoostedFeaturesRegressor.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        assert set(file) == {"header", "coef", "directions", "offsets", "indices"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": 0}, "candidates must be a whole number, 1 or more"),
        ({"steps": 0}, "steps must be a whole number, 1 or more"),
        ({"threshold": "exact"}, "threshold must be one of 'surrogate', 'best'"),
        ({"alpha": 0}, "alpha must be a positive number"),
    ],
)
def test_a_wrong_parameter_is_named(regression, options, message):
    with pytest.raises(ValueError, match=message):
        BoostedFeaturesRegressor(**options).fit(*regression)


def test_a_config_makes_the_estimator_of_its_task():
    config = {"name": "boosting", "lambda": 10, "steps": 4, "candidates": 10, "threshold": "best"}
    solver = make_solver(config, task="classification", n_features=100, kernel="perceptron")
    assert isinstance(solver, BoostedFeaturesClassifier)
    assert (solver.steps, solver.alpha, solver.candidates, solver.threshold) == (4, [10.0], 10, "best")
    assert isinstance(make_solver(config, task="regression"), BoostedFeaturesRegressor)
