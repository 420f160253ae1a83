"""Streamed ridge is scikit-learn's ridge, whatever the blocks, the memory and the way it was computed."""

import threading
import tracemalloc

import numba
import numpy as np
import pytest
from scipy.linalg import LinAlgError
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from rffbench import LeverageScoreFeatures, PerceptronFeatures, RandomFourierFeatures
from rffbench.arguments import rowsource
from rffbench.data import train_test
from rffbench.errors import MemoryBudgetError
from rffbench.features.weighted import pool
from rffbench.linalg.trigonometric import fourier_columns
from rffbench.solvers import make_solver
from rffbench.solvers.ridge import fold_statistics as solver_statistics
from rffbench.solvers.ridge.cross_validation import solve_ridge_cv
from rffbench.solvers.ridge.fold_statistics import FoldStatistics, fold_bounds
from rffbench.solvers.ridge.streamed import (
    StreamedRidge,
    StreamedRidgeClassifier,
    StreamedRidgeClassifierCV,
    StreamedRidgeCV,
)
from tests.helpers.cases import slow
from tests.helpers.contract import keeps_the_contract

ALPHAS = [1e-3, 0.05, 0.1, 0.5, 1.0, 20.0]


@pytest.fixture(scope="module")
def problem():
    """Columns with large means, a target with one too: what centring must get right."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(403, 37)) + 4
    return X, X @ rng.normal(size=37) + 30 * rng.normal(size=403) + 100


class Rows:
    """A lazy array: slices only, and a clock."""

    def __init__(self, X):
        self.X, self.seconds, self.longest = X, 0.0, 0
        self.shape, self.dtype, self.ndim = X.shape, X.dtype, 2

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.seconds += 1.0
        self.longest = max(self.longest, rows.stop - rows.start if rows.start is not None else 1)
        return self.X[rows]


class Cosines(RBFSampler):
    """A feature map with ``fill``, as this package's have."""

    def fill(self, X, out):
        W, b = (np.ascontiguousarray(a, X.dtype) for a in (self.random_weights_, self.random_offset_))
        fourier_columns(X, W, out, offset=b, scale=(2 / out.shape[1]) ** 0.5)


@pytest.mark.parametrize("cls", [StreamedRidge, StreamedRidgeClassifier])  # the others are a registered solver
def test_scikit_learn_s_contract_is_kept(cls):
    keeps_the_contract(cls())


@pytest.mark.parametrize("rows", [403, 25])  # primal, and dual: fewer rows than columns
@pytest.mark.parametrize("lambda_scale", ["n", 1])
@pytest.mark.parametrize("center", [True, "target", "both", False])
def test_fit_equals_scikit_learn_s_ridge(problem, rows, lambda_scale, center):
    X, y = problem[0][:rows], problem[1][:rows]
    alpha = 0.07
    shift = y.mean() if center in (True, "target") else 0.0
    penalty = alpha * (rows if lambda_scale == "n" else 1)
    peer = Ridge(penalty, fit_intercept=center == "both", solver="svd").fit(X, y - shift)
    ours = StreamedRidge(alpha, lambda_scale=lambda_scale, center=center).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X) + shift, rtol=0, atol=1e-8)


@pytest.mark.parametrize("rows", [403, 25])
@pytest.mark.parametrize("center", ["both", False])
def test_cross_validation_equals_grid_search_on_the_same_folds(problem, rows, center):
    X, y = problem[0][:rows], problem[1][:rows]
    search = GridSearchCV(
        Ridge(fit_intercept=center == "both", solver="svd"), {"alpha": ALPHAS}, cv=KFold(5),
        scoring="neg_mean_squared_error",
    ).fit(X, y)  # fmt: skip
    ours = StreamedRidgeCV(ALPHAS, lambda_scale=1, center=center).fit(X, y)
    by_fold = np.transpose([search.cv_results_[f"split{fold}_test_score"] for fold in range(5)])
    np.testing.assert_allclose(ours.cv_results_["fold_test_error"], -by_fold, rtol=1e-8)
    assert ours.alpha_ == search.best_params_["alpha"]
    np.testing.assert_allclose(ours.predict(X), search.predict(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("center", [True, "both"])
@pytest.mark.parametrize("strategy", ["one pass", "passes", "dual"])
def test_lambda_by_accuracy_is_what_grid_search_by_accuracy_takes(problem, strategy, center):
    X, y = problem[0], np.sign(problem[1] - np.median(problem[1]) + 0.1)
    rows = 25 if strategy == "dual" else len(X)
    X, y = X[:rows], y[:rows]
    tight = {"memory": one_pass_bytes(X.shape[1]) - 1, "block_rows": 7} if strategy == "passes" else {}
    model = StreamedRidgeClassifierCV(ALPHAS, lambda_scale=1, center=center, scoring="accuracy", **tight)
    ours = model.fit(X, y)
    for index, alpha in enumerate(ALPHAS):
        wrong = []
        for training, held in KFold(5).split(X):
            mean = 0.0 if center == "both" else y[training].mean()
            plain = Ridge(alpha, fit_intercept=center == "both", solver="svd").fit(X[training], y[training] - mean)
            wrong.append(np.mean(np.where(plain.predict(X[held]) + mean > 0, 1, -1) != y[held]))
        np.testing.assert_allclose(ours.cv_results_["fold_test_error"][index], wrong, atol=1e-12)
    errors = ours.cv_results_["mean_test_error"]
    assert ours.alpha_ == ALPHAS[int(np.argmin(errors))]
    by_squares = StreamedRidgeClassifierCV(ALPHAS, lambda_scale=1, center=center).fit(X, y)
    assert not np.allclose(by_squares.cv_results_["mean_test_error"], errors)


@pytest.mark.parametrize("center", [True, "both"])
@pytest.mark.parametrize("strategy", ["one pass", "passes", "dual"])
def test_a_path_holds_the_fit_at_every_lambda(problem, strategy, center):
    rows = 25 if strategy == "dual" else 403
    X, y = problem[0][:rows], problem[1][:rows]
    tight = {"memory": one_pass_bytes(X.shape[1]) - 1, "block_rows": 7} if strategy == "passes" else {}
    model = StreamedRidgeCV(ALPHAS, center=center, path=True, **tight).fit(X, y)
    alphas, outputs = model.predict_path(X)
    assert alphas == ALPHAS
    for index, alpha in enumerate(ALPHAS):
        plain = StreamedRidge(alpha, center=center).fit(X, y)
        np.testing.assert_allclose(outputs[:, index], plain.predict(X), rtol=0, atol=1e-8)
    np.testing.assert_allclose(outputs[:, ALPHAS.index(model.alpha_)], model.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("path", [False, True])
def test_a_lambda_too_small_for_all_rows_gives_way_to_the_next_best(problem, path):
    X, y = problem
    statistics = gathered(np.hstack([X, X]), y, 2)  # ZᵀZ alone is singular

    def held_out(fold, solutions):
        return [0.0, 2.0, 1.0]  # the smallest λ is said to be the best

    solution = solve_ridge_cv(statistics, [0.0, 1.0, 2.0], lambda_scale=1, held_out=held_out, path=path)
    assert solution.alpha == 2.0
    with pytest.raises(LinAlgError, match="take a larger lambda"):
        solve_ridge_cv(statistics, [0.0], path=path)


def test_centring_and_scaling_use_each_training_set_s_own_mean_and_size(problem):
    X, y = problem
    folds = KFold(5)
    ours = StreamedRidgeCV(ALPHAS).fit(X, y)
    for index, alpha in enumerate(ALPHAS):
        errors = []
        for training, held in folds.split(X):
            mean = y[training].mean()
            model = Ridge(alpha * len(training), fit_intercept=False).fit(X[training], y[training] - mean)
            errors.append(np.mean((model.predict(X[held]) + mean - y[held]) ** 2))
        np.testing.assert_allclose(ours.cv_results_["fold_test_error"][index], errors, rtol=1e-8)


@pytest.mark.parametrize("center", [True, "both", False])
def test_neither_blocks_nor_the_memory_budget_change_the_result(problem, center):
    X, y = problem
    reference = StreamedRidgeCV(ALPHAS, center=center).fit(X, y)
    p = X.shape[1]
    least = least_bytes(StreamedRidgeCV(ALPHAS, center=center, block_rows=7), X)
    tight = [one_pass_bytes(p) + 16 * p * 7, least]
    assert least < one_pass_bytes(p)
    budgets = [{"block_rows": 1}, {"block_rows": 64}, *({"block_rows": 7, "memory": int(m)} for m in tight)]
    for budget in budgets:
        other = StreamedRidgeCV(ALPHAS, center=center, **budget).fit(X, y)
        assert other.alpha_ == reference.alpha_
        np.testing.assert_allclose(other.coef_, reference.coef_, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(
            other.cv_results_["mean_test_error"], reference.cv_results_["mean_test_error"], rtol=1e-9
        )


def least_bytes(model, X):
    """The smallest budget in which ``model`` is not refused."""
    with pytest.raises(MemoryBudgetError) as caught:
        clone(model).set_params(memory=0).bytes_to_fit(*X.shape)
    return caught.value.needed


def one_pass_bytes(p):
    return FoldStatistics.bytes_needed(p, 5)


def test_a_roomy_budget_takes_one_pass_and_a_tight_one_a_pass_for_each_fold_and_the_fit(problem):
    X, y = problem
    p = X.shape[1]
    for budget, passes in ((10**9, 1), (one_pass_bytes(p) - 1, 5 + 1)):
        rows = Rows(X)
        StreamedRidgeCV(block_rows=1, memory=budget).fit(rows, y)
        assert rows.seconds == pytest.approx(passes * len(X), abs=2)


def test_what_cannot_fit_the_budget_is_refused_with_both_figures_before_it_starts(problem):
    X, y = problem
    rows = Rows(X)
    with pytest.raises(MemoryBudgetError, match=r"37 columns.* needs \d+ kB, more than the budget of 5 kB") as caught:
        StreamedRidgeCV(memory=5000).fit(rows, y)
    assert caught.value.needed > caught.value.budget == 5000
    assert rows.seconds == 0


@pytest.mark.parametrize("memory", [None, *slow(1_700_000)])
def test_peak_memory_does_not_grow_with_rows_and_keeps_within_the_budget(memory):
    peaks = []
    for n in (2000, 8000):
        X, y = np.random.default_rng(0).normal(size=(n, 6)), np.arange(float(n))
        features = Cosines(n_components=256, random_state=0)
        model = StreamedRidgeCV(features=features, memory=memory, block_rows=64)
        model.fit(X[:300], y[:300])  # compile and import first
        tracemalloc.start()
        model.fit(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1] - 2 * y.nbytes)
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < (memory or 8 * FoldStatistics.bytes_needed(256, 1)) + 300_000


def test_features_are_applied_block_by_block_and_only_to_training_rows():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(500, 4)), rng.normal(size=500)
    for features in (Cosines(n_components=60, random_state=0), PCA(3), None):
        rows = Rows(X)
        if isinstance(features, PCA):
            rows = X  # PCA wants the whole array to fit on
        ours = StreamedRidgeCV(ALPHAS, features=features, block_rows=37)
        if isinstance(features, Cosines):
            ours.set_params(features=PrefittedOnFirstRow(features))
        ours.fit(rows, y)
        Z = X if features is None else ours.features_.transform(X)
        plain = StreamedRidgeCV(ALPHAS).fit(Z, y)
        np.testing.assert_allclose(ours.predict(rows), plain.predict(Z), rtol=0, atol=1e-9)
        if isinstance(rows, Rows):
            assert rows.longest <= 37


class PrefittedOnFirstRow(Cosines):
    """RBFSampler needs of the data only its dimension, but wants an array: the first row will do."""

    def __init__(self, map=None):
        super().__init__(n_components=map.n_components, random_state=0)
        self.map = map

    def fit(self, X, y=None):
        return super().fit(X[:1])


@pytest.mark.parametrize("center", [True, "both"])
def test_float32_features_are_accumulated_in_float64(center):
    rng = np.random.default_rng(0)
    X32 = (rng.normal(size=(3000, 40)) + 1).astype(np.float32)
    y = X32 @ rng.normal(size=40) + rng.normal(size=3000)
    ours = StreamedRidge(1e-9, center=center).fit(X32, y)
    exact = StreamedRidge(1e-9, center=center).fit(X32.astype(np.float64), y)
    np.testing.assert_allclose(ours.coef_, exact.coef_, rtol=0, atol=1e-12)


def test_features_in_single_precision_predict_as_those_in_double_to_five_digits():  # docs/scaling.md
    split = train_test("generated", seed=0, trial=0, train_rows=6000)
    X, y, rows = split.X_train[:], split.y_train[:], split.X_test[:2000]
    predicted = {}
    for dtype in ["float64", "float32"]:
        features = RandomFourierFeatures(256, gamma=0.2, random_state=0)
        model = StreamedRidge(1e-7, features=features).fit(X.astype(dtype), y)
        predicted[dtype] = model.predict(rows.astype(dtype))
    apart = np.abs(predicted["float32"] - predicted["float64"]).max()
    assert 0 < apart < 1e-5


@pytest.mark.parametrize("columns", [60, 500])  # fewer and more than rows: from ZᵀZ, from ZZᵀ
@pytest.mark.parametrize(
    "features",
    [
        RandomFourierFeatures(form="offset", random_state=0),
        RandomFourierFeatures(form="offset", kernel="laplacian", random_state=0),
        PerceptronFeatures(gamma=0.2, random_state=0),
    ],
    ids=["gaussian", "laplacian", "perceptron"],
)
def test_one_lambda_on_single_column_features_is_the_closed_form_without_cross_validation(features, columns):
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(300, 4))
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    features = clone(features).set_params(n_components=columns)
    config = {"name": "ridge", "lambda": 1, "lambda_scale": 1, "center": False}
    model = make_solver(config, task="regression", features=features).fit(X, y)
    Z = features.fit_transform(X)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(Z.T @ Z + np.eye(columns), Z.T @ y), atol=1e-10)
    assert (model.alpha_, model.intercept_) == (1.0, 0.0)
    assert not len(model.cv_results_["mean_test_error"])


def test_two_classes_are_told_by_the_sign_of_the_regression(problem):
    X, y = problem
    labels = np.where(y > np.median(y), "up", "down")
    ours = StreamedRidgeClassifierCV(ALPHAS).fit(X, labels)
    plain = StreamedRidgeCV(ALPHAS).fit(X, np.where(labels == "up", 1.0, -1.0))
    assert ours.classes_.tolist() == ["down", "up"]
    np.testing.assert_allclose(ours.decision_function(X), plain.predict(X), atol=1e-12)
    assert (ours.predict(X) == np.where(plain.predict(X) > 0, "up", "down")).all()
    assert ours.score(X, labels) > 0.6


def test_more_classes_are_one_against_the_rest():
    rng = np.random.default_rng(5)
    labels = rng.integers(3, size=300)
    X = rng.normal(size=(300, 5)) + 3 * np.eye(5)[labels]
    ours = StreamedRidgeClassifierCV(ALPHAS).fit(X, labels)
    for column in range(3):
        one = StreamedRidge(ours.alpha_).fit(X, np.where(labels == column, 1.0, -1.0))
        np.testing.assert_allclose(ours.decision_function(X)[:, column], one.predict(X), atol=1e-9)
    assert ours.score(X, labels) > 0.9


def test_several_targets_are_fitted_as_each_would_be_at_the_same_lambda(problem):
    X, y = problem
    Y = np.column_stack([y, -2 * y, y**2])
    ours = StreamedRidgeCV(ALPHAS).fit(X, Y)
    assert ours.predict(X).shape == Y.shape
    for column in range(3):
        alone = StreamedRidge(ours.alpha_).fit(X, Y[:, column])
        np.testing.assert_allclose(ours.predict(X)[:, column], alone.predict(X), rtol=1e-9)


def test_an_unpenalised_intercept_keeps_its_digits_on_columns_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + 1e6
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=200)
    ours = StreamedRidge(0.5, lambda_scale=1, center="both").fit(X, y)
    peer = Ridge(0.5, solver="svd").fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-8)


def test_a_singular_matrix_without_a_penalty_is_an_error_that_says_so():
    X = np.ones((10, 3))
    with pytest.raises(ValueError, match="lambda=0 is not positive definite; take a larger lambda"):
        StreamedRidge(0.0, method="cholesky").fit(X, np.arange(10.0))
    assert StreamedRidgeCV([0.0, 1.0], method="cholesky").fit(X, np.arange(10.0)).alpha_ == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphas": [-1.0]}, "every alpha"),
        ({"alphas": []}, "alphas must have at least one number"),
        ({"alphas": [float("nan")]}, "every alpha"),
        ({"folds": 1}, "folds must be a whole number, 2 or more"),
        ({"folds": 1000}, "folds must lie between 2"),
        ({"lambda_scale": "N"}, "lambda_scale must be"),
        ({"center": "features"}, "center must be"),
        ({"block_rows": 0}, "block_rows must be"),
    ],
)
def test_wrong_parameters_are_refused(problem, parameters, message):
    with pytest.raises(ValueError, match=message):
        StreamedRidgeCV(**parameters).fit(*problem)


def test_timing_leaves_out_what_fetching_rows_took(problem):
    X, y = problem
    features = PrefittedOnFirstRow(Cosines(n_components=8))
    model = StreamedRidgeCV(features=features, block_rows=100).fit(Rows(X), y)
    assert set(model.timing_) == {"feature_s", "gram_s", "solve_s"}
    before = dict(model.timing_)
    assert before["feature_s"] == 0  # the clock of Rows runs at a second a slice, and no seconds are negative
    model.predict(Rows(X))
    assert model.timing_ == before


def fitted_to_many_columns(features):
    """A model, and rows of which it makes more features than one thread is given."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.normal(size=(200, 2))
    return StreamedRidge(0.1, features=features).fit(X, y), rng.normal(size=(4096, 5))


def test_predictions_are_the_same_digits_in_any_number_of_threads(monkeypatch):
    model, rows = fitted_to_many_columns(RandomFourierFeatures(300, random_state=0))
    alone = model.predict(rows)
    np.testing.assert_allclose(alone, model.features_.transform(rows) @ model.coef_.T + model.intercept_, atol=1e-12)
    both = threading.Barrier(2, timeout=120)

    def fill(self, X, out, original=RandomFourierFeatures.fill):
        both.wait()  # for another thread to come here
        original(self, X, out)

    fill.__module__ = RandomFourierFeatures.__module__
    monkeypatch.setattr(RandomFourierFeatures, "fill", fill)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    many = Rows(rows)
    np.testing.assert_array_equal(model.predict(many), alone)
    assert many.seconds == 1, "they were read once, not tile by tile"


def test_a_map_of_another_package_is_not_called_by_several_threads(monkeypatch):
    threads = set()

    class Own(RandomFourierFeatures):
        def fill(self, X, out):
            threads.add(threading.get_ident())
            super().fill(X, out)

    model, rows = fitted_to_many_columns(Own(300, random_state=0))
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    model.predict(rows)
    assert threads == {threading.get_ident()}


def test_it_is_a_step_like_any_other(problem):
    X, y = problem
    pipeline = make_pipeline(PCA(5), StreamedRidge(0.1))
    assert cross_val_predict(pipeline, X, y, cv=3).shape == y.shape


# --- What a planner builds on ---


def gathered(Z, y, folds=5):
    statistics = FoldStatistics(Z.shape[1], folds)
    bounds = fold_bounds(len(Z), folds)
    for fold in range(folds):
        rows = slice(bounds[fold], bounds[fold + 1])
        statistics.add(fold, Z[rows], y[rows])
    return statistics


def test_fold_bounds_are_scikit_learn_s():
    for n, folds in ((403, 5), (10, 10), (7, 3), (5, 1)):
        bounds = fold_bounds(n, folds)
        if folds > 1:
            assert bounds[:-1] == [held[0] for _, held in KFold(folds).split(np.empty(n))]
        assert bounds[-1] == n


@pytest.mark.parametrize("center", [True, "both", False])
@pytest.mark.parametrize("folds", [2, 3, 5])
@pytest.mark.parametrize("size", [10, 37, 60])  # fewer columns than the base has, as many, more
def test_recombined_statistics_solve_as_the_recombined_columns_would(problem, center, folds, size):
    Z, y = problem
    rng = np.random.default_rng(1)
    first, second = rng.integers(37, size=(2, size))
    a, b = rng.normal(size=(2, size))
    b[: size // 2] = 0
    columns = a * Z[:, first] + b * Z[:, second]
    whole = gathered(Z, y, folds)
    for memory in (None, 0):
        ours = solve_ridge_cv(whole.recombined(first, second, a, b), ALPHAS, center=center, memory=memory)
        plain = solve_ridge_cv(gathered(columns, y, folds), ALPHAS, center=center)
        assert ours.alpha == plain.alpha
        np.testing.assert_allclose(ours.fold_error, plain.fold_error, rtol=1e-7)
        np.testing.assert_allclose(
            columns @ ours.coef + ours.intercept, columns @ plain.coef + plain.intercept, rtol=0, atol=1e-6
        )


def test_selecting_columns_needs_no_second_index(problem):
    Z, y = problem
    ours = solve_ridge_cv(gathered(Z, y).recombined([3, 5, 3], a=0.5), ALPHAS)
    plain = solve_ridge_cv(gathered(0.5 * Z[:, [3, 5, 3]], y), ALPHAS)
    np.testing.assert_allclose(ours.coef, plain.coef, atol=1e-9)


def test_solving_leaves_the_statistics_as_they_were(problem):
    statistics = gathered(*problem)
    first = solve_ridge_cv(statistics, ALPHAS, memory=0)
    second = solve_ridge_cv(statistics, ALPHAS)
    np.testing.assert_allclose(first.coef, second.coef, rtol=0, atol=1e-12)


@pytest.mark.parametrize("folds", [4, 5])
@pytest.mark.parametrize("memory", [None, 25_000, 0])
def test_penalties_solved_side_by_side_give_what_one_after_another_does(problem, monkeypatch, folds, memory):
    """37 columns take 11 kB a square of two triangles; a penalty that has no solution harms no other."""
    monkeypatch.setattr(solver_statistics, "WORTH_A_FACTOR", 1)
    Z, y = problem
    statistics = gathered(Z @ np.diag(np.arange(37) > 0), y, folds)  # one column is all zero
    alphas, results, factors = [1e-3, 0.0, 0.5, 20.0], [], []
    for threads in (1, 3):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        factors.append(len(statistics.work(len(alphas), memory).factors))
        results.append(solve_ridge_cv(statistics, alphas, center="both", memory=memory, path=True))
    assert factors == [1, 1 if memory == 0 else 3]
    one, several = results
    assert one.alpha == several.alpha
    np.testing.assert_allclose(one.fold_error, several.fold_error, rtol=1e-12)
    assert [each is None for each in several.path] == [False, True, False, False]
    for index in (0, 2, 3):
        np.testing.assert_allclose(one.path[index][0], several.path[index][0], rtol=1e-9, atol=1e-12)
    assert np.isinf(several.fold_error[1]).all()


@pytest.mark.parametrize("center", [True, "both"])
@pytest.mark.parametrize("strategy", ["one pass", "passes", "dual"])
def test_frequencies_drawn_twice_are_solved_for_once_and_the_coefficients_are_all_columns(
    problem, monkeypatch, center, strategy, planning
):
    for module in (rowsource, pool):
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)  # so that the map takes less memory than ridge
    X, y = problem
    X = X[:50] if strategy == "dual" else X
    y = y[: len(X)]
    features = LeverageScoreFeatures(120, gamma=0.01, random_state=1)
    settings = {"alphas": [1e-3, 1e-2], "folds": 9, "center": center, "path": True}
    memory = None
    if strategy == "passes":
        memory = least_bytes(StreamedRidgeCV(features=features, **settings), X) + 60_000  # for the frequencies
    model, size = StreamedRidgeCV(features=features, memory=memory, **settings).fit(X, y), planning.size
    Z = features.fit(X, y).transform(X)
    plain = StreamedRidgeCV(**settings).fit(Z, y)
    assert model.coef_.shape == plain.coef_.shape == (120,)
    assert size.columns < 120
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-8 * np.abs(plain.coef_).max())
    np.testing.assert_allclose(model.cv_results_["fold_test_error"], plain.cv_results_["fold_test_error"], rtol=1e-8)
    np.testing.assert_allclose(model.predict(X), plain.predict(Z), rtol=1e-8)
    np.testing.assert_allclose(model.predict_path(X)[1], plain.predict_path(Z)[1], rtol=1e-8)


def test_what_cannot_fit_the_budget_is_refused_before_the_feature_map_is_fitted():
    class Unfittable(RandomFourierFeatures):
        def fit(self, X, y=None):
            raise AssertionError("fitted")

    X, y = np.zeros((5000, 2)), np.arange(5000.0)
    with pytest.raises(MemoryBudgetError, match="ridge on 4000 columns"):
        StreamedRidgeCV(features=Unfittable(4000), memory=10_000_000).fit(X, y)
    with pytest.raises(MemoryBudgetError, match="fitting the feature map"):
        StreamedRidgeCV(features=LeverageScoreFeatures(100, pool=80), memory=50_000_000).fit(X, y)
