"""Learners on sparse features, as random binning makes: they give what they give on the same features made dense, and
hold no dense matrix of them."""

import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rffbench import (
    LinearSVM,
    LogisticClassifierCV,
    RandomBinningFeatures,
    StreamedRidge,
    StreamedRidgeClassifierCV,
    StreamedRidgeCV,
)
from rffbench.cli import cli
from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.features.base import FeatureMap
from rffbench.features.hooks import columns_of
from rffbench.linalg import row_gram
from rffbench.solvers import BUILT_IN, make_solver, served
from rffbench.solvers.iterative.pcg import PCGRidgeClassifierCV, PCGRidgeCV
from tests.helpers import plug_ins
from tests.helpers.cases import slow
from tests.helpers.tiny_config import TINY

rng = np.random.default_rng(0)
X, NEW = rng.uniform(size=(300, 3)), rng.uniform(size=(40, 3))
TARGET = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 - 0.6
LABELS = {2: np.sign(TARGET), 3: np.digitize(TARGET, [-0.5, 0.3])}
BINNING = RandomBinningFeatures(30, kernel="laplacian", gamma=2.0, random_state=0)


class DenseBinning(FeatureMap):
    """The same features as an array."""

    def __init__(self, n_components=30, *, kernel="laplacian", gamma=2.0, random_state=0):
        self.n_components, self.kernel, self.gamma, self.random_state = n_components, kernel, gamma, random_state

    def fit(self, X, y=None):
        self.sparse_ = RandomBinningFeatures(
            self.n_components, kernel=self.kernel, gamma=self.gamma, random_state=self.random_state
        ).fit(X)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return self.sparse_.transform(X).toarray()

    fill = None


SAME = [
    LinearSVM(C=0.5, tolerance=1e-9), LinearSVM(C=0.5, tolerance=1e-9, bias=0), LogisticClassifierCV([0.01, 0.1]),
    LinearSVM(C=0.5, tolerance=1e-9, class_weight="balanced"), LogisticClassifierCV([0.05], intercept=False),
]  # fmt: skip


@pytest.mark.parametrize("classes", LABELS)
@pytest.mark.parametrize("estimator", SAME, ids=str)
def test_a_learner_gives_what_it_gives_on_the_same_features_made_dense(estimator, classes):
    y = LABELS[classes]
    weights = 1.0 + (np.arange(len(y)) % 3 == 0)
    wanted = clone(estimator).set_params(features=DenseBinning()).fit(X, y, weights)
    found = clone(estimator).set_params(features=BINNING).fit(X, y, weights)
    np.testing.assert_allclose(found.decision_function(NEW), wanted.decision_function(NEW), atol=1e-6)
    np.testing.assert_array_equal(found.predict(X), wanted.predict(X))


ALPHAS = [1e-6, 1e-4, 1e-2, 1.0]


@pytest.mark.parametrize(
    ("method", "center", "scale"),
    [
        ("cg", "both", "trace"), ("cholesky", "both", 1),
        *slow(("cg", True, "n"), ("cg", False, 1), ("cg", "both", "n"), (None, True, "n")),
    ],
)  # fmt: skip
def test_ridge_is_the_direct_solution_and_chooses_lambda_by_the_same_errors(method, center, scale):
    y = np.stack([TARGET, np.cos(5 * X[:, 2]), np.ones(300)], axis=1) + 0.1 * rng.normal(size=(300, 3)) * [1, 1, 0]
    weights = 1.0 + (np.arange(300) % 3 == 0)
    settings = {"center": center, "lambda_scale": scale}
    wanted = StreamedRidgeCV(ALPHAS, features=DenseBinning(), **settings).fit(X, y, weights)
    found = StreamedRidgeCV(ALPHAS, features=BINNING, method=method, **settings).fit(X, y, weights)
    assert found.accuracy_.method == (method or "cg")  # of so many columns
    assert found.alpha_ == wanted.alpha_
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-6)
    np.testing.assert_allclose(found.predict(NEW), wanted.predict(NEW), atol=1e-6)
    errors = [each.cv_results_["fold_test_error"] for each in (found, wanted)]
    np.testing.assert_allclose(*errors, rtol=1e-9 if method == "cholesky" else 2e-3)
    few = StreamedRidge(0.1, features=clone(BINNING).set_params(gamma=0.05)).fit(X, y)
    assert few.accuracy_.method == "cholesky"
    assert found.accuracy_.smallest_alpha == pytest.approx(wanted.accuracy_.smallest_alpha)


@pytest.mark.parametrize("classes", LABELS)
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_a_ridge_classifier_on_many_columns_is_the_direct_one(scoring, classes):
    many, rows, y = {"gamma": 6.0, "n_components": 8}, X[:150], LABELS[classes][:150]
    settings = {"scoring": scoring, "class_weight": "balanced", "folds": 4}
    wanted = StreamedRidgeClassifierCV(ALPHAS, features=DenseBinning(**many), **settings).fit(rows, y)
    found = StreamedRidgeClassifierCV(ALPHAS, features=clone(BINNING).set_params(**many), **settings)
    found.fit(rows, y)
    assert columns_of(found.features_) ** 2 > 150 * 8
    assert found.accuracy_.method == "cg"
    assert found.alpha_ == wanted.alpha_
    np.testing.assert_allclose(found.decision_function(NEW), wanted.decision_function(NEW), atol=1e-6)


def test_ridge_that_stops_early_says_so_with_what_is_left(monkeypatch):
    monkeypatch.setattr("rffbench.solvers.ridge.cg.MOST_STEPS", 3)
    with pytest.warns(
        ConvergenceWarning, match=r"lambda=1e-06 has not converged after 3 steps .* take a larger lambda"
    ):
        StreamedRidge(1e-6, features=BINNING, method="cg").fit(X, TARGET)


@pytest.mark.parametrize(("center", "scale"), [(True, "n"), (False, 1), ("both", "n")])
def test_pcg_is_the_direct_solution_and_chooses_lambda_by_the_same_errors(center, scale):
    y = np.stack([TARGET, np.cos(5 * X[:, 2])], axis=1)
    settings = {"center": center, "lambda_scale": scale}
    wanted = StreamedRidgeCV(ALPHAS, features=DenseBinning(), **settings).fit(X, y)
    found = PCGRidgeCV(ALPHAS, features=BINNING, budget={"tolerance": 1e-10}, **settings).fit(X, y)
    assert found.alpha_ == wanted.alpha_
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-6)
    np.testing.assert_allclose(found.predict(NEW), wanted.predict(NEW), atol=1e-6)
    errors = [each.cv_results_["fold_test_error"] for each in (found, wanted)]
    np.testing.assert_allclose(*errors, rtol=2e-3)


def test_pcg_stops_after_the_steps_of_its_budget_with_the_solution_of_plain_conjugate_gradients():
    Z = clone(BINNING).fit(X).transform(X).toarray()
    w, residual = np.zeros(Z.shape[1]), Z.T @ TARGET
    direction = residual
    for _ in range(5):
        product = Z.T @ (Z @ direction) + 0.01 * direction
        step = residual @ residual / (direction @ product)
        w, after = w + step * direction, residual - step * product
        direction, residual = after + (after @ after) / (residual @ residual) * direction, after
    found = PCGRidgeCV([0.01], features=BINNING, lambda_scale=1, center=False, budget={"passes": 7})
    with pytest.warns(ConvergenceWarning, match=r"lambda=0.01 has not converged: .* after 7 passes"):
        found.fit(X, TARGET)
    np.testing.assert_allclose(found.coef_, w, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("center", [True, False, "both"])
@pytest.mark.parametrize("reorthogonalize", [False, True])
@pytest.mark.parametrize("in_tiles", [False, True])
def test_pcg_takes_the_same_steps_on_more_columns_than_rows_as_on_the_same_features_made_dense(
    monkeypatch, center, reorthogonalize, in_tiles
):
    monkeypatch.setattr(row_gram, "WORTH_TILES", 0 if in_tiles else np.inf)
    y = np.stack([TARGET, np.cos(5 * X[:, 2])], axis=1)
    settings = {"center": center, "folds": 3, "record": True, "reorthogonalize": reorthogonalize}
    found, wanted = PCGRidgeCV([1e-6, 1e-3], features=BINNING), PCGRidgeCV([1e-6, 1e-3], features=DenseBinning())
    wanted.set_params(preconditioner="none", budget={"passes": 14, "tolerance": 1e-9}, **settings)
    more = int(center == "both")  # a pass for the features' means, which dense features have from the first one
    found.set_params(budget={"passes": 14 + more, "tolerance": 1e-9}, **settings)
    for estimator in (wanted, found):
        with pytest.warns(ConvergenceWarning):
            estimator.fit(X, y, eval_set=(NEW, np.ones((40, 2))))
    rounding = 1e-7 if reorthogonalize else 1e-3  # conjugate gradients multiply rounding errors
    assert columns_of(found.features_) > len(X)
    assert found.n_iter_ == wanted.n_iter_ == 12
    assert found.metrics_["passes"] == wanted.metrics_["passes"] + more
    for name in ("residual", "test_error"):
        np.testing.assert_allclose(found.curves_[name], wanted.curves_[name], rtol=rounding)
    for name in ("residual", "residual_norm"):
        assert found.metrics_[name] == pytest.approx(wanted.metrics_[name], rel=rounding)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=rounding, atol=rounding)
    np.testing.assert_allclose(found.intercept_, wanted.intercept_, rtol=rounding, atol=rounding)
    errors = [each.cv_results_["fold_test_error"] for each in (found, wanted)]
    np.testing.assert_allclose(*errors, rtol=rounding)


def test_linear_machine_and_logistic_regression_are_scikit_learns_on_the_csr_matrix():
    y, fitted = LABELS[2], clone(BINNING).fit(X)
    Z, new = csr_matrix(fitted.transform(X)), csr_matrix(fitted.transform(NEW))
    machine = LinearSVC(C=0.5, fit_intercept=False, dual=False, tol=1e-10).fit(Z, y)
    ours = LinearSVM(BINNING, C=0.5, bias=0, tolerance=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(NEW), machine.decision_function(new), atol=1e-5)
    peer = LogisticRegression(C=1 / (len(X) * 0.01), tol=1e-9, max_iter=5000).fit(Z, y)
    ours = LogisticClassifierCV([0.01], features=BINNING, tolerance=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(NEW), peer.decision_function(new), atol=1e-5)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVM(BINNING), LogisticClassifierCV([0.01], features=BINNING),
        StreamedRidgeClassifierCV([0.01, 0.1], features=BINNING), PCGRidgeClassifierCV([0.01], features=BINNING),
    ],
    ids=str,
)  # fmt: skip
def test_memory_is_linear_in_the_numbers_that_are_stored(estimator):
    rows = np.random.default_rng(0).uniform(size=(8000, 3))
    y = np.sign(np.sin(6 * rows[:, 0]) + rows[:, 1] - 0.6)
    estimator = clone(estimator).set_params(features=clone(BINNING).set_params(gamma=8.0))
    estimator.fit(rows[:50], y[:50]).predict(rows[:50])
    tracemalloc.start()
    estimator.fit(rows, y).predict(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    stored, columns = 8000 * 30, columns_of(estimator.features_)
    assert peak < 60 * stored + 8 * 40 * columns + 5e6
    assert 8 * 8000 * columns > 5 * peak  # of Z as a dense matrix


# ---- What is refused -------------------------------------------------------------------------------------------------


def test_the_solvers_that_take_sparse_features_say_so():
    assert [name for name in BUILT_IN if served(name).sparse_cost is not None] == TAKE


TAKE = ["ridge", "linear-svm", "logistic", "pcg"]


def test_a_solver_that_takes_no_sparse_features_is_refused_with_those_that_do():
    wanted = f"solver 'plug-in' takes no sparse features, as RandomBinningFeatures makes; use {' or '.join(TAKE)}"
    with plug_ins.installed(), pytest.raises(ConfigError, match=wanted) as refused:
        make_solver({"name": "plug-in"}, task="regression", features=BINNING)
    assert refused.value.parameter == "features"


@pytest.mark.parametrize(
    ("solver", "wrong"),
    [
        ("name: linear-svm, method: streamed", "method must be 'auto' or 'held' for sparse features, got 'streamed'"),
        ("name: linear-svm, method: liblinear", "method must be 'auto' or 'held' for sparse features, got 'liblinear'"),
        ("name: linear-svm, loss: hinge, method: liblinear-dual", "loss must be 'squared-hinge' for sparse features"),
        ("name: logistic, lambda: 0.1, method: streamed", "method must be 'auto' or 'held' for sparse features"),
        ("name: ridge, lambda: 0.1, method: svd", "method must be None, 'cg' or 'cholesky' for sparse features"),
        ("name: ridge, lambda: 0", "lambda must be above 0 for sparse features, got 0"),
        ("name: ridge, lambda: [0.1, 1], path: true", "path must be False for sparse features"),
        ("name: ridge, lambda: [0.1, 1], blocks: dask", "blocks must be null for sparse features, got 'dask'"),
        ("name: pcg, lambda: 0.1, blocks: dask", "blocks must be null for sparse features, got 'dask'"),
        ("name: pcg, lambda: 0.1, preconditioner: sketch", "preconditioner must be none or null for sparse features"),
    ],
)
def test_a_way_of_solving_that_would_make_them_dense_is_refused_with_its_line_before_anything_runs(
    tmp_path, solver, wrong
):
    config = tmp_path / "tiny.yaml"
    text = TINY.replace("{name: gaussian, sigma: 2.0}", "{name: laplacian, sigma: 2.0}")
    text = text.replace("  Ours: {features: surrogate-leverage}\n", "  RB: {features: random-binning}\n")
    config.write_text(text.replace("name: ridge, lambda: [0.001, 0.01], folds: 3", solver))
    done = CliRunner().invoke(cli, ["run", str(config), "--results", str(tmp_path / "r")])
    assert isinstance(done.exception, ConfigError), done.output
    assert "tiny.yaml, line 9: solver" in str(done.exception)
    assert wrong in str(done.exception)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("estimator", [
    LinearSVM(memory=10**5), LogisticClassifierCV([0.1], memory=10**5), PCGRidgeClassifierCV([0.1], memory=10**5),
], ids=str)  # fmt: skip
def test_too_small_a_budget_is_refused(estimator):
    with pytest.raises(MemoryBudgetError):
        estimator.set_params(features=RandomBinningFeatures(500, gamma=20.0)).fit(X, LABELS[2])


def test_conjugate_gradients_are_for_sparse_features_and_partial_fit_is_not():
    with pytest.raises(ValueError, match="method must be None, 'cholesky' or 'svd' for features that are not sparse"):
        StreamedRidge(method="cg").fit(X, TARGET)
    with pytest.raises(ValueError, match="features must not be sparse for partial_fit"):
        StreamedRidge(features=BINNING).partial_fit(X, TARGET)
    with pytest.raises(MemoryBudgetError):
        StreamedRidge(features=RandomBinningFeatures(500, gamma=20.0), memory=10**6).fit(X, TARGET)


def test_csr_rows_are_mapped_as_they_are():
    rows = csr_array(X * (X > 0.5))
    found = LinearSVM(BINNING, tolerance=1e-9).fit(rows, LABELS[2]).decision_function(rows)
    wanted = LinearSVM(BINNING, tolerance=1e-9).fit(rows.toarray(), LABELS[2]).decision_function(rows.toarray())
    np.testing.assert_allclose(found, wanted, atol=1e-6)
