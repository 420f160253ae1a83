"""Kernel machines: the optimum of their objective, as LIBSVM and a bound-constrained solver find it, within memory."""

from typing import get_args

import numpy as np
import pytest
from libsvm.svm import libsvm, svm_parameter, svm_problem, toPyModel
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.svm import SVC

from rffbench.arguments.rowsource import BLOCK_ROWS
from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.kernels import KERNELS, make_kernel
from rffbench.linalg import kernel_rows as kernel_rows_module
from rffbench.linalg import trigonometric as linalg
from rffbench.linalg.kernel_rows import TILE, kernel_product, kernel_rows, unit_columns
from rffbench.solvers import make_solver
from rffbench.solvers.svm import dual_descent as squared_hinge
from rffbench.solvers.svm import kernel as kernel_svm
from rffbench.solvers.svm.dual_descent import RowCache, solve_squared_hinge
from rffbench.solvers.svm.kernel import KernelSVM

GAMMA = 0.6
NOTHING_KEPT = 0  # bytes of the cache


def problem(n, d=3, seed=0):
    """Overlapping classes in a ball within which every kernel, the perceptron's too, is positive definite."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d)) / np.sqrt(d)
    y = np.where(np.sin(5 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0.1, 1.0, -1.0)
    return X, y


def solve(X, y, kernel, *, C=1.0, bias=True, tolerance=1e-3, cache_bytes=10**8):
    return solve_squared_hinge(X, y, kernel, C=C, bias=bias, tolerance=tolerance, cache_bytes=cache_bytes)


def any_kernel(name):
    return make_kernel(name, GAMMA if KERNELS[name].has_bandwidth else 1.0)


def dual_objective(beta, K, y, C):
    return 0.5 * beta @ K @ beta + beta @ beta / (4 * C) - y @ beta


# --- Rows of the kernel ---


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", [1, TILE, TILE + 1, 5 * TILE // 2])
def test_rows_and_products_are_those_of_the_exact_kernel(name, n):
    kernel = any_kernel(name)
    X, P = problem(n, 5)[0], problem(7, 5, seed=1)[0]
    columns = np.ascontiguousarray(X.T)
    exact = kernel(P, X)
    double, single = np.empty((7, n)), np.empty((7, n), np.float32)
    kernel_rows(kernel, columns, P, double)
    kernel_rows(kernel, columns, P, single)
    np.testing.assert_allclose(double, exact, rtol=0, atol=4e-15)
    np.testing.assert_allclose(single, exact, rtol=2e-7, atol=1e-7)
    coefficients = np.random.default_rng(2).normal(size=(n, 2))
    product = kernel_product(kernel, columns, coefficients, P)
    np.testing.assert_allclose(product, exact @ coefficients, rtol=0, atol=1e-13 * n * exact.max())


def test_far_points_have_a_kernel_of_nought_not_of_rubbish():
    x = np.array([[0.0, 1.0, 20.0, 26.0, 30.0, 1e3, 1e160]])
    out = np.empty((1, x.shape[1]))
    kernel_rows(make_kernel("gaussian", 1.0), x, np.zeros((1, 1)), out)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(out[0], np.exp(-(x[0] ** 2)), rtol=1e-12, atol=1e-300)


# --- The optimum ---


def by_libsvm(K, y, C):
    """The dual objective that LIBSVM reaches on K + I/(2C) with its C infinite, its β, and b."""
    n = len(y)
    numbered = csr_matrix(np.column_stack([np.arange(1, n + 1), K + np.eye(n) / (2 * C)]))
    parameter = svm_parameter("-q -s 0 -t 4 -c 1e12 -e 1e-5")
    model = toPyModel(libsvm.svm_train(svm_problem(y, numbered, isKernel=True), parameter))
    beta = np.zeros(n)
    beta[np.array(model.get_sv_indices()) - 1] = np.array(model.get_sv_coef())[:, 0]
    return dual_objective(beta, K, y, C), beta, -model.rho[0]


def by_bounds(K, y, C):
    """The optimum without a bias, by L-BFGS-B on the bound-constrained dual."""
    Q = K + np.eye(len(y)) / (2 * C)
    found = minimize(
        lambda beta: (0.5 * beta @ Q @ beta - y @ beta, Q @ beta - y), np.zeros(len(y)), jac=True, method="L-BFGS-B",
        bounds=[(0, None) if label > 0 else (None, 0) for label in y],
        options={"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-14, "gtol": 1e-8},
    )  # fmt: skip
    return found.fun, found.x


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "gamma", "n"), [("gaussian", 4.0, 800), ("laplacian", 1.0, 600), ("perceptron", 1.0, 600)]
)
def test_with_a_bias_it_is_libsvm_on_the_shifted_kernel_matrix_with_no_upper_bound(name, gamma, n):
    X, y = problem(n)
    kernel = make_kernel(name, gamma)
    K = kernel(X)
    expected, beta, b = by_libsvm(K, y, 1.0)
    ours = solve(X, y, kernel)
    assert ours.objective == pytest.approx(expected, rel=1e-4)
    assert dual_objective(ours.coefficients, K, y, 1.0) == pytest.approx(ours.objective, rel=1e-6)
    close = solve(X, y, kernel, tolerance=1e-6)
    assert close.objective == pytest.approx(expected, rel=1e-7)
    assert close.bias == pytest.approx(b, abs=1e-4)
    np.testing.assert_allclose(close.decision, K @ beta + b, atol=1e-3)
    assert (close.coefficients != 0).sum() == pytest.approx((beta != 0).sum(), rel=0.01)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_without_a_bias_it_is_the_bound_constrained_optimum(name, C):
    X, y = problem(300)
    kernel = any_kernel(name)
    expected, beta = by_bounds(kernel(X), y, C)
    ours = solve(X, y, kernel, C=C, bias=False)
    assert ours.objective == pytest.approx(expected, rel=1e-4)
    close = solve(X, y, kernel, C=C, bias=False, tolerance=1e-6)
    np.testing.assert_allclose(close.decision, kernel(X) @ beta, atol=2e-3)
    assert close.bias == 0


@pytest.mark.parametrize("bias", [True, False])
def test_primal_and_dual_objectives_meet(bias):
    X, y = problem(500)
    kernel, C = make_kernel("gaussian", 2.0), 3.0
    ours = solve(X, y, kernel, C=C, bias=bias, tolerance=1e-6)
    K, beta = kernel(X), ours.coefficients
    decision = K @ beta + ours.bias
    np.testing.assert_allclose(ours.decision, decision, atol=1e-5)
    primal = 0.5 * beta @ K @ beta + C * (np.maximum(0, 1 - y * decision) ** 2).sum()
    assert primal == pytest.approx(-ours.objective, rel=1e-5)
    assert (y * beta >= 0).all()
    assert abs(beta.sum()) < 1e-9 or not bias


@pytest.mark.parametrize("bias", [True, False])
def test_neither_the_cache_s_size_nor_shrinking_changes_the_optimum(bias, monkeypatch):
    X, y = problem(900)
    kernel = make_kernel("laplacian", 3.0)
    monkeypatch.setattr(squared_hinge, "SHRINK_EVERY", 10**9)
    expected = solve(X, y, kernel, bias=bias, tolerance=1e-5)
    monkeypatch.setattr(squared_hinge, "SHRINK_EVERY", 2)
    widths, compact = [], RowCache.compact

    def compact_and_tell(cache, keep, columns):
        widths.append(len(keep))
        compact(cache, keep, columns)

    monkeypatch.setattr(RowCache, "compact", compact_and_tell)
    for cache_bytes in (NOTHING_KEPT, 4 * 900 * 50, 10**8):
        widths.clear()
        ours = solve(X, y, kernel, bias=bias, tolerance=1e-5, cache_bytes=cache_bytes)
        assert widths
        assert min(widths) < 700
        assert ours.objective == pytest.approx(expected.objective, rel=1e-8)
        np.testing.assert_allclose(ours.decision, expected.decision, atol=1e-3)


@pytest.mark.parametrize("slots", [0, 7, 60])
def test_sums_of_rows_are_those_of_the_kernel_however_many_are_kept_and_compacted(slots):
    X, _ = problem(60)
    kernel, columns = unit_columns(make_kernel("gaussian", 1.7), X)
    cache, rng, index = RowCache(kernel, columns, 4 * 60 * slots), np.random.default_rng(0), np.arange(60)
    exact = make_kernel("gaussian", 1.7)(X)
    assert len(cache.rows) == slots
    for turn in range(1, 40):
        wanted = rng.choice(len(index), size=5, replace=False)
        weights, sums = rng.normal(size=5), np.ones(len(index))
        cache.add_rows(wanted, weights, sums)
        np.testing.assert_allclose(sums, 1 + weights @ exact[np.ix_(index[wanted], index)], atol=1e-6)
        if turn % 10 == 0:
            keep = np.sort(rng.choice(len(index), size=len(index) * 3 // 4, replace=False))
            index, columns = index[keep], np.ascontiguousarray(columns[:, keep])
            cache.compact(keep, columns)
        cached = np.flatnonzero(cache.slot_of >= 0)
        assert len(cached) == len(cache.owner) <= len(cache.rows)
        np.testing.assert_allclose(cache.rows[cache.slot_of[cached]], exact[np.ix_(index[cached], index)], atol=1e-7)
    assert cache.rows.size <= 60 * slots
    assert len(cached) > slots or slots in (0, 60)  # rows that became shorter made room


def test_points_far_from_the_origin_and_of_any_scale_are_told_apart_in_single_precision():
    X, P = problem(300, 5)[0], problem(7, 5, seed=1)[0]
    for name in (name for name, kernel in KERNELS.items() if kernel.of_differences):
        for scale, shift in ((1e-30, 0.0), (1e30, 0.0), (1.0, 1e6)):
            gamma = GAMMA / scale ** KERNELS[name].power
            kernel, columns = unit_columns(make_kernel(name, gamma), np.concatenate([P, X]) * scale + shift)
            rows = np.empty((7, 307), np.float32)
            kernel_rows(kernel, columns, np.ascontiguousarray(columns[:, :7].T), rows)
            np.testing.assert_allclose(rows[:, 7:], make_kernel(name, GAMMA)(P, X), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("bias", [True, False])
def test_threads_and_blocks_do_not_change_the_optimum(bias, monkeypatch):
    X, y = problem(1500)
    kernel = make_kernel("gaussian", 3.0)
    monkeypatch.setattr(kernel_rows_module, "WORTH_A_THREAD", 0)
    expected = solve(X, y, kernel, bias=bias, tolerance=1e-5)
    with monkeypatch.context() as alone_only:
        alone_only.setattr(linalg, "thread_count", lambda: 1)
        alone = solve(X, y, kernel, bias=bias, tolerance=1e-5)
    np.testing.assert_array_equal(alone.coefficients, expected.coefficients)
    for size in (2, 300, 1500):
        monkeypatch.setattr(squared_hinge, "SMALLEST_BLOCK", size)
        monkeypatch.setattr(squared_hinge, "LARGEST_BLOCK", size)
        ours = solve(X, y, kernel, bias=bias, tolerance=1e-5)
        assert ours.objective == pytest.approx(expected.objective, rel=1e-8)


def test_equal_points_of_opposite_labels_are_no_trouble():
    X = np.repeat(problem(20)[0], 2, axis=0)
    y = np.tile([1.0, -1.0], 20)
    for bias in (True, False):
        np.testing.assert_allclose(solve(X, y, make_kernel("gaussian", 1.0), bias=bias).decision, 0, atol=1e-2)


# --- The estimator ---


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "perceptron"])
def test_the_hinge_is_libsvm_s(name):
    X, y = problem(300)
    labels = np.where(y > 0, "a", "b")  # the positive one is met second, or first
    for rows in (slice(None), slice(None, None, -1)):
        ours = KernelSVM("hinge", 2.0, kernel=name, gamma=GAMMA, tolerance=1e-6).fit(X[rows], labels[rows])
        kernel = make_kernel(name, GAMMA)
        peer = SVC(C=2.0, kernel=lambda A, B: kernel(A, B), tol=1e-6).fit(X[rows], labels[rows])  # noqa: B023
        np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)
        assert ours.metrics_["model_size"] == len(peer.support_)
        f = ours.decision_function(X)
        slack = np.maximum(0, 1 + y * f)  # 'b' is the second, positive class
        norm = ours.dual_coef_ @ kernel(ours.X_fit_) @ ours.dual_coef_
        assert ours.metrics_["objective"] == pytest.approx(norm / (2 * 2.0 * 300) + slack.mean(), rel=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_the_objective_is_the_paper_s_and_minimal(bias):
    X, y = problem(200)
    model = KernelSVM(C=1.0, kernel="laplacian", gamma=1.0, bias=bias, tolerance=1e-7).fit(X, y)
    K = make_kernel("laplacian", 1.0)(X)
    beta = np.zeros(200)
    beta[[np.flatnonzero(np.equal(X, row).all(axis=1))[0] for row in model.X_fit_]] = model.dual_coef_

    def objective(beta, b):  # λN = 1
        f = K @ beta
        return beta @ f / (2 * 200) + np.mean(np.maximum(0, 1 - y * (f + b)) ** 2)

    assert model.metrics_["objective"] == pytest.approx(objective(beta, model.intercept_), rel=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = objective(beta + 0.1 * rng.normal(size=200), model.intercept_ + bias * 0.1 * rng.normal())
        assert other > model.metrics_["objective"]


def test_prediction_uses_the_support_vectors_alone_a_block_of_rows_at_a_time():
    X, y = problem(700)
    model = KernelSVM(gamma=4.0).fit(X, y)
    assert model.metrics_["model_size"] == len(model.X_fit_) == len(model.dual_coef_) < 650
    rows = Rows(problem(BLOCK_ROWS + 30, seed=5)[0])
    decision = model.decision_function(rows)
    assert rows.longest == BLOCK_ROWS
    exact = make_kernel("gaussian", 4.0)(rows.X, model.X_fit_) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(decision, exact, atol=1e-10)


class Rows:
    """Rows served on demand."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.longest, self.seconds = X, X.shape, X.dtype, 0, 0.0

    def __getitem__(self, rows):
        part = self.X[rows]
        self.longest = max(self.longest, len(part))
        return part


def test_rows_on_demand_and_any_labels_are_fitted_alike():
    X, y = problem(200)
    model = KernelSVM(gamma=1.0).fit(X, np.where(y > 0, "up", "down"))
    other = KernelSVM(gamma=1.0).fit(Rows(X), y)
    assert (model.predict(X) == np.where(other.predict(X) > 0, "up", "down")).all()
    assert set(model.timing_) == {"feature_s", "gram_s", "solve_s"}


@pytest.mark.parametrize("loss", get_args(kernel_svm.Loss))
def test_more_classes_are_one_against_the_rest(loss):
    X, y = problem(240, 2)
    labels = np.where(y > 0, 2, (X[:, 1] > 0).astype(int))
    model = KernelSVM(loss, gamma=3.0, tolerance=1e-5).fit(X, labels)
    for column in range(3):
        one = clone(model).fit(X, np.where(labels == column, 1, 0))
        np.testing.assert_allclose(model.decision_function(X)[:, column], one.decision_function(X), atol=1e-9)
    assert model.score(X, labels) > 0.7


@pytest.mark.parametrize(
    ("parameters", "memory", "message"),
    [
        (
            {"cache": "8MB"},
            8_000_000,
            r"squared-hinge kernel machine on 400 rows needs \d+ MB, more than the budget of 8 MB",
        ),
        ({"loss": "hinge", "cache": "8MB"}, 8_000_000, "LIBSVM on 400 rows needs"),
        ({"loss": "hinge", "kernel": "laplacian", "cache": "1MB"}, 2_500_000, "the whole laplacian kernel matrix"),
    ],
)
def test_what_cannot_fit_the_budget_is_refused_with_the_figure_before_it_starts(parameters, memory, message):
    rows = Rows(problem(400)[0])
    with pytest.raises(MemoryBudgetError, match=message):
        KernelSVM(**parameters, memory=memory).fit(rows, problem(400)[1])
    assert rows.longest == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "logistic"}, "loss must be one of 'squared-hinge', 'hinge'"),
        ({"C": 0}, "C must be a positive number, got 0"),
        ({"C": float("nan")}, "C must be a positive number"),
        ({"tolerance": -1e-3}, "tolerance must be a positive number"),
        ({"cache": "lots"}, "cache must be such as 200MB"),
        ({"cache": 0}, "cache must be a positive number"),
        ({"bias": "yes"}, "bias must be one of True, False"),
        ({"loss": "hinge", "bias": False}, "bias must be True with loss='hinge'"),
        ({"kernel": "rbf"}, "unknown kernel 'rbf'"),
        ({"gamma": 0}, "gamma must be a positive number"),
    ],
)
def test_wrong_parameters_are_refused_with_what_would_be_right(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelSVM(**parameters).check_parameters()
    with pytest.raises(ValueError, match=message):
        KernelSVM(**parameters).fit(*problem(20))


def test_bad_data_is_refused():
    X, y = problem(20)
    bad = X.copy()
    bad[3, 1] = np.nan
    for rows in (bad, Rows(bad)):
        with pytest.raises(ValueError, match="NaN"):
            KernelSVM().fit(rows, y)
    with pytest.raises(ValueError, match="only one class is present"):
        KernelSVM().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        KernelSVM().fit(X, X[:, 0])


def test_a_config_makes_it_for_classification_alone():
    config = {"name": "kernel-svm", "C": 2.0, "cache": "1GB"}
    made = make_solver(config, task="classification", kernel="laplacian", gamma=2.0, memory=10**9)
    assert (made.kernel, made.gamma, made.C, made.memory, made.cache) == ("laplacian", 2.0, 2.0, 10**9, "1GB")
    with pytest.raises(ConfigError, match="'kernel-svm' is for classification; for regression use 'kernel-ridge'"):
        make_solver(config, task="regression")
