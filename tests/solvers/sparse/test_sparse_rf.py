"""Sparse random features: Algorithm 1, what a model consists of, and what is refused."""

import json
import pickle

import numpy as np
import pytest

from rffbench import (
    PerceptronFeatures,
    RandomFourierFeatures,
    SparseRandomFeaturesClassifier,
    SparseRandomFeaturesRegressor,
)
from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.solvers import make_solver
from rffbench.solvers.sparse.basis import Basis, with_ones
from rffbench.solvers.sparse.l1 import SquaredHinge
from rffbench.solvers.sparse.working_set import WorkingSet
from tests.helpers.l1_solutions import solve, solve_lasso

KERNELS = ["gaussian", "laplacian", "cauchy", "perceptron"]
SMALL = {"features_per_step": 20, "steps": 6, "random_state": 0}


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=300)


@pytest.fixture(scope="module")
def classes(regression):
    X, y = regression
    return X, np.where(y > np.median(y), "yes", "no")


class Lazy:
    """Rows on demand."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        return self.X[rows].copy()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_basis_is_that_of_the_feature_maps_without_their_scale(regression, kernel, dtype):
    X = regression[0].astype(dtype)
    basis = Basis(kernel, 0.7)
    out = np.empty((50, len(X)), basis.column_dtype(X.dtype))
    basis.evaluate(basis.draw(50, 3, np.random.SeedSequence(5)), with_ones(X), out)
    if kernel == "perceptron":
        assert out.dtype == np.int8
        expected = PerceptronFeatures(50, gamma=0.7, random_state=5).fit_transform(X) * np.sqrt(50)
    else:
        features = RandomFourierFeatures(50, form="offset", kernel=kernel, gamma=0.7, random_state=5)
        expected = features.fit_transform(X) * np.sqrt(25)
    np.testing.assert_allclose(out.T, expected, atol={"float64": 1e-9, "float32": 1e-3}[dtype])


@pytest.mark.parametrize("kernel", KERNELS)
def test_after_every_step_the_weights_are_optimal_on_the_working_set(regression, kernel):
    X, y = regression
    model = SparseRandomFeaturesRegressor(kernel, 0.5, alpha=0.3, tol=1e-9, record=True, **SMALL).fit(X, y)
    Z = _values(model, X)
    w, minimum = solve_lasso(Z, y, 0.3 / len(y), tol=1e-10, random_state=1)
    assert model.metrics_["objective"] == pytest.approx(minimum.objective, rel=1e-6)
    np.testing.assert_allclose(model.predict(X), Z @ w, atol=1e-3)
    assert (np.diff(model.curves_["objective"]) <= 0).all()


def test_liblinear_afresh_each_step_comes_to_the_same(classes):
    X, labels = classes
    options = {"gamma": 20.0, "alpha": 5.0, "features_per_step": 6, "steps": 3, "random_state": 0}
    ours = SparseRandomFeaturesClassifier(tol=1e-8, **options).fit(X, labels)
    peer = SparseRandomFeaturesClassifier(tol=1e-5, subproblem="liblinear", **options).fit(X, labels)
    assert peer.metrics_["objective"] == pytest.approx(ours.metrics_["objective"], rel=1e-3)
    np.testing.assert_array_equal(peer.indices_, ours.indices_)


def test_after_every_step_the_svm_s_weights_are_optimal_on_the_working_set(classes):
    X, labels = classes
    y = np.where(labels == "yes", 1.0, -1.0)
    model = SparseRandomFeaturesClassifier(gamma=2.0, alpha=0.3, tol=1e-9, record=True, **SMALL).fit(X, labels)
    problem = SquaredHinge(np.array(y, dtype=np.float64), 0.3 / len(y))
    minimum = solve(problem, _values(model, X), tol=1e-10, random_state=1)[1]
    assert model.metrics_["objective"] == pytest.approx(minimum.objective, rel=1e-6)
    assert (np.diff(model.curves_["objective"]) <= 0).all()
    assert model.score(X, labels) > 0.9
    assert set(model.predict(X)) == {"yes", "no"}


def _values(model, X):
    """The model's own features, by another way than its own."""
    phases = X @ model.directions_.T + model.offsets_
    return np.where(phases >= 0, 1.0, -1.0) if model.kernel == "perceptron" else np.cos(phases)


def test_one_step_of_all_features_is_the_lasso_on_random_features(regression):
    X, y = regression
    model = SparseRandomFeaturesRegressor(
        gamma=2.0, alpha=0.5, features_per_step=120, steps=1, tol=1e-10, random_state=3
    ).fit(X, y)
    Z = RandomFourierFeatures(120, form="offset", gamma=2.0, random_state=3).fit_transform(X) * np.sqrt(60)
    w, minimum = solve_lasso(Z, y, 0.5 / len(y), tol=1e-10, random_state=0)
    assert model.metrics_["objective"] == pytest.approx(minimum.objective, rel=1e-8)
    np.testing.assert_allclose(model.predict(X), Z @ w, atol=1e-4)


def test_more_steps_come_closer_to_the_lasso_on_all_draws(regression):
    X, y = regression
    few, many = (
        SparseRandomFeaturesRegressor("laplacian", 1.0, alpha=0.1, features_per_step=20, steps=steps, random_state=0)
        .fit(X, y).metrics_["objective"] for steps in (3, 30)
    )  # fmt: skip
    assert many < 0.9 * few


@pytest.mark.parametrize("scale", [1, "n"])
def test_lambda_scale_says_what_alpha_is(regression, scale):
    X, y = regression
    alpha = 0.5 if scale == 1 else 0.5 / len(y)
    model = SparseRandomFeaturesRegressor(alpha=alpha, lambda_scale=scale, **SMALL).fit(X, y)
    expected = SparseRandomFeaturesRegressor(alpha=0.5, **SMALL).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)


def test_a_larger_penalty_leaves_fewer_features(regression):
    X, y = regression
    sizes = [
        SparseRandomFeaturesRegressor("laplacian", alpha=alpha, tol=1e-6, **SMALL).fit(X, y).metrics_["model_size"]
        for alpha in (0.01, 1.0, 100.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", [0, np.random.SeedSequence([3, 4], spawn_key=(7,))])
def test_a_saved_model_is_its_weights_draws_and_seed(classes, kernel, seed, tmp_path):
    X, labels = classes
    model = SparseRandomFeaturesClassifier(kernel, 0.4, alpha=0.2, **SMALL | {"random_state": seed}).fit(X, labels)
    path = tmp_path / "model.npz"
    model.save(path)
    again = SparseRandomFeaturesClassifier.load(path)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with np.load(path, allow_pickle=False) as file:
        assert set(file) == {"header", "coef", "indices", "classes"}
        assert json.loads(str(file["header"]))["format"] == 1
        assert len(file["coef"]) == len(file["indices"]) == model.metrics_["model_size"]


def test_a_file_of_something_else_is_refused(regression, tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match="is not a saved model"):
        SparseRandomFeaturesRegressor.load(tmp_path / "other.npz")
    SparseRandomFeaturesRegressor(**SMALL).fit(*regression).save(tmp_path / "regressor.npz")
    with pytest.raises(ValueError, match="Regressor, not format 1 of SparseRandomFeaturesClassifier"):
        SparseRandomFeaturesClassifier.load(tmp_path / "regressor.npz")


def test_every_step_is_recorded_and_told(classes):
    X, labels = classes
    told = []
    model = SparseRandomFeaturesClassifier(alpha=0.2, record=True, callback=told.append, **SMALL)
    model.fit(X[:200], labels[:200], eval_set=(X[200:], labels[200:]))
    assert set(model.curves_) == {"time", "objective", "nonzeros", "test_error"}
    assert all(len(column) == 6 for column in model.curves_.values())
    assert [row["objective"] for row in told] == model.curves_["objective"]
    assert model.curves_["test_error"][-1] == pytest.approx(1 - model.score(X[200:], labels[200:]))
    assert model.curves_["objective"][-1] == model.metrics_["objective"]
    assert model.curves_["nonzeros"][-1] == len(model.coef_) == model.metrics_["model_size"]
    assert (np.diff(model.curves_["time"]) > 0).all()
    assert not hasattr(SparseRandomFeaturesClassifier(alpha=0.2, **SMALL).fit(X, labels), "curves_")


def test_rows_on_demand_and_arrays_are_one(regression):
    X, y = regression
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        arrays, lazy = (SparseRandomFeaturesRegressor(alpha=0.2, **SMALL).fit(given, y) for given in (rows, Lazy(rows)))
        np.testing.assert_array_equal(lazy.predict(Lazy(rows)), arrays.predict(rows))


def test_float32_comes_near_float64(regression):
    X, y = regression
    doubles, singles = (
        SparseRandomFeaturesRegressor(alpha=0.2, tol=1e-6, **SMALL).fit(X.astype(dtype), y) for dtype in ("f8", "f4")
    )
    assert singles.metrics_["objective"] == pytest.approx(doubles.metrics_["objective"], rel=1e-3)
    assert singles.predict(X.astype("f4")).dtype == np.float64


def test_the_path_chooses_by_held_out_rows_and_then_fits_all(regression):
    X, y = regression
    options = {"kernel": "laplacian", "validation": 0.3, **SMALL}
    model = SparseRandomFeaturesRegressor(alpha=[0.03, 300.0, 3.0], **options).fit(X, y)
    assert model.path_["alpha"] == [300.0, 3.0, 0.03]
    assert model.alpha_ == model.path_["alpha"][int(np.argmax(model.path_["score"]))] == 0.03
    alone = SparseRandomFeaturesRegressor(alpha=0.03, **options).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    target = model.path_["score"][1]
    nearest = SparseRandomFeaturesRegressor(alpha=[0.03, 300.0, 3.0], target_score=target, **options).fit(X, y)
    assert nearest.alpha_ == 3.0


def test_the_path_keeps_what_the_larger_penalty_found(regression, monkeypatch):
    begun = []
    add = WorkingSet.add

    def spy(self, functions, names, weights=None):
        if not len(self):
            begun.append(None if weights is None else len(names))
        add(self, functions, names, weights)

    monkeypatch.setattr(WorkingSet, "add", spy)
    model = SparseRandomFeaturesRegressor(alpha=[3.0, 0.3], **SMALL).fit(*regression)
    assert begun == [None, model.path_["nonzeros"][0], None]


@pytest.mark.parametrize("kernel", ["gaussian", "perceptron"])
def test_what_cannot_fit_is_refused_before_and_while_the_set_grows(regression, kernel):
    X, y = regression
    with pytest.raises(MemoryBudgetError, match="working set of 20 features on 300 rows, at the start, needs"):
        SparseRandomFeaturesRegressor(kernel, memory=1000, **SMALL).fit(X, y)
    tight = SparseRandomFeaturesRegressor(kernel, alpha=1e-4, memory=0, **SMALL)
    tight.memory = 1
    with pytest.raises(MemoryBudgetError) as refused:
        tight.fit(X, y)
    tight.memory = refused.value.needed
    with pytest.raises(MemoryBudgetError, match="at step 2"):
        tight.fit(X, y)


def test_the_features_are_dropped_so_that_memory_follows_the_model(regression):
    """A working set never holds more than the last model's features and a step's."""
    X, y = regression
    sizes = []
    model = SparseRandomFeaturesRegressor(alpha=0.5, callback=lambda row: sizes.append(row["nonzeros"]), **SMALL)
    model.fit(X, y)
    assert max(sizes) < 60 < 6 * 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a positive number"),
        ({"alpha": [1.0, 0]}, "alpha must be a positive number"),
        ({"alpha": []}, "alpha must be a positive number or a list"),
        ({"alpha": "1"}, "alpha must be a positive number"),
        ({"steps": 0}, "steps must be a whole number, 1 or more"),
        ({"features_per_step": 0}, "features_per_step must be a whole number, 1 or more"),
        ({"tol": -1}, "tol must be a positive number"),
        ({"validation": 1.0}, "validation must lie between 0 and 1"),
        ({"lambda_scale": 2}, "lambda_scale must be one of"),
        ({"kernel": "gausian"}, "did you mean 'gaussian'"),
        ({"gamma": 0}, "gamma must be a positive number"),
    ],
)
def test_a_wrong_parameter_is_named(regression, options, message):
    with pytest.raises(ValueError, match=message):
        SparseRandomFeaturesRegressor(**SMALL | options).fit(*regression)


def test_wrong_data_are_refused(regression):
    X, y = regression
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    for given in (spoilt, Lazy(spoilt)):
        with pytest.raises(ValueError, match="NaN"):
            SparseRandomFeaturesRegressor(**SMALL).fit(given, y)
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*3 classes"):
        SparseRandomFeaturesClassifier(**SMALL).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="only one class"):
        SparseRandomFeaturesClassifier(**SMALL).fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="subproblem must be one of"):
        SparseRandomFeaturesClassifier(subproblem="libsvm", **SMALL).fit(X, y > 0.5)


CONFIG = {"name": "sparse-rf", "lambda": 10, "steps": 4, "record": True}


def test_a_config_s_n_features_are_drawn_in_equal_steps():
    solver = make_solver(CONFIG, task="classification", n_features=80, gamma=0.5)
    assert isinstance(solver, SparseRandomFeaturesClassifier)
    assert (solver.features_per_step, solver.steps, solver.alpha, solver.gamma) == (20, 4, [10.0], 0.5)
    solver = make_solver(CONFIG, task="regression", n_features=80)
    assert isinstance(solver, SparseRandomFeaturesRegressor)
    with pytest.raises(ConfigError, match="'sparse-rf': steps must divide n_features, 81, got 4"):
        make_solver(CONFIG, task="regression", n_features=81)


def test_an_estimator_can_be_pickled(regression):
    model = SparseRandomFeaturesRegressor(**SMALL).fit(*regression)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(regression[0]), model.predict(regression[0]))
