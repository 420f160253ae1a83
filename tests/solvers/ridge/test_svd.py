"""Ridge by singular values is ridge in exact arithmetic, at penalties that the normal equations lose."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

from rffbench import RandomFourierFeatures, StreamedRidge, StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.errors import Fallback, MemoryBudgetError
from rffbench.solvers import make_solver
from rffbench.solvers.ridge.settings import chosen_method
from rffbench.solvers.ridge.svd import FoldFactors, RFactor

EPS = np.finfo(float).eps
TINY = [1e-3, 1e-10, 1e-15, 1e-18, 1e-22, 0.0]  # the normal equations lose all but the first two


def ill_conditioned(n=24, p=6, step=1.5, seed=0):
    """Columns whose singular values fall from 1 by ``step`` orders of magnitude each: to 1e-7.5, squared 1e-15."""
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.normal(size=(n, p)))
    V, _ = np.linalg.qr(rng.normal(size=(p, p)))
    return (U * 10.0 ** (-step * np.arange(p))) @ V.T, rng.normal(size=n) + 2


def exact_ridge(X, y, penalty, center, weights=None):
    """The fitted values of ridge at the rows X, in rational arithmetic: no digit is lost."""
    X = [[Fraction(float(each)) for each in row] for row in X]
    y = [Fraction(float(each)) for each in y]
    w = [Fraction(1)] * len(y) if weights is None else [Fraction(float(each)) for each in weights]
    n, p = sum(w), len(X[0])
    y_mean = sum(a * b for a, b in zip(w, y, strict=True)) / n if center else Fraction(0)
    means = [sum(a * row[j] for a, row in zip(w, X, strict=True)) / n if center == "both" else Fraction(0)
             for j in range(p)]  # fmt: skip
    Z = [[row[j] - means[j] for j in range(p)] for row in X]
    gram = [[sum(a * row[i] * row[j] for a, row in zip(w, Z, strict=True)) for j in range(p)] for i in range(p)]
    c = Fraction(float(penalty))
    rows = [
        [*gram[i][:i], gram[i][i] + c, *gram[i][i + 1 :],
         sum(a * row[i] * (b - y_mean) for a, row, b in zip(w, Z, y, strict=True))]
        for i in range(p)
    ]  # fmt: skip
    for i in range(p):  # Gauss–Jordan
        rows[i] = [each / rows[i][i] for each in rows[i]]
        for k in range(p):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return np.array([float(sum(row[j] * rows[j][p] for j in range(p)) + y_mean) for row in Z])


@pytest.mark.parametrize("center", [False, True, "both"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_penalty_gives_the_ridge_of_exact_arithmetic(center, weighted):
    X, y = ill_conditioned()
    weights = np.arange(24.0) % 3 + 0.5 if weighted else None
    for alpha in TINY:
        model = StreamedRidge(alpha, lambda_scale=1, center=center, method="svd", block_rows=7)
        fitted = model.fit(X, y, weights).predict(X)
        # β is as large as 1/σ of the smallest direction kept, 1e7.5: so are the roundings of Zβ.
        np.testing.assert_allclose(fitted, exact_ridge(X, y, alpha, center, weights), atol=3e-7, err_msg=str(alpha))


def test_the_normal_equations_lose_what_the_singular_values_keep():
    X, y = ill_conditioned()
    exact = exact_ridge(X, y, 1e-17, center=False)
    svd = StreamedRidge(1e-17, lambda_scale=1, center=False, method="svd").fit(X, y).predict(X)
    assert np.abs(svd - exact).max() < 1e-6
    with pytest.warns(Fallback, match="lambda=1e-17 is lost in the rounding of ZᵀZ, below .*; use method: svd for it"):
        plain = StreamedRidge(1e-17, lambda_scale=1, center=False, method="cholesky").fit(X, y).predict(X)
    assert np.abs(plain - exact).max() > 1e-3


def test_a_lambda_too_small_for_the_normal_equations_is_refused_or_marked_never_taken_for_a_larger_one():
    X, y = ill_conditioned(step=3.0)
    with pytest.raises(ValueError, match="lambda=1e-30 is not positive definite"):
        StreamedRidge(1e-30, lambda_scale=1, center=False).fit(X, y)


@pytest.mark.parametrize("rows", [403, 25])  # fewer rows than columns too
@pytest.mark.parametrize("center", [False, True, "both"])
@pytest.mark.parametrize("lambda_scale", ["n", 1, "trace"])
def test_both_methods_agree_where_the_penalty_is_large(rows, center, lambda_scale):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(rows, 37)) + 4, rng.normal(size=(rows, 3)) + 100
    models = [
        StreamedRidgeCV(
            [1e-3, 0.1, 1.0], lambda_scale=lambda_scale, center=center, method=method, block_rows=50, folds=4
        ).fit(X, Y)
        for method in ("cholesky", "svd")
    ]
    plain, ours = models
    np.testing.assert_allclose(ours.predict(X), plain.predict(X), rtol=1e-8)
    np.testing.assert_allclose(ours.cv_results_["fold_test_error"], plain.cv_results_["fold_test_error"], rtol=1e-7)
    assert (ours.alpha_, ours.accuracy_.method) == (plain.alpha_, "svd")


@pytest.mark.parametrize("scoring", [None, "accuracy"])
@pytest.mark.parametrize("center", [False, True, "both"])
def test_classes_labels_and_passes_agree_too(scoring, center, planning):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=300), [0.3, 1.5])
    features = RandomFourierFeatures(60, gamma=0.2, random_state=0)

    def fit(method, memory=None):
        return StreamedRidgeClassifierCV(
            [1e-4, 1e-2, 1.0], folds=3, scoring=scoring, center=center, features=features, method=method,
            memory=memory, block_rows=64,
        ).fit(X, y)  # fmt: skip

    plain, ours = fit("cholesky"), fit("svd")
    tight = fit("svd", memory=planning.last.bytes - RFactor.bytes_needed(64))
    assert planning.last.way == "in_passes"
    for model in (ours, tight):
        np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            model.cv_results_["fold_test_error"], plain.cv_results_["fold_test_error"], rtol=1e-7
        )


@pytest.mark.parametrize("center", [False, True, "both"])
def test_lambda_0_is_the_solution_of_minimum_norm(center):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 9))  # rank 4
    y = rng.normal(size=50) + 3
    model = StreamedRidge(0.0, center=center, block_rows=16).fit(X, y)
    Z = X - X.mean(axis=0) if center == "both" else X
    coef = np.linalg.lstsq(Z, y - (y.mean() if center else 0), rcond=9 * EPS)[0]
    np.testing.assert_allclose(model.coef_, coef, atol=1e-10)
    assert model.accuracy_.method == "svd"


def test_a_penalty_below_what_rounding_leaves_apart_is_that_of_0_and_is_told_of():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 9))
    y = rng.normal(size=50)
    zero = StreamedRidge(0.0).fit(X, y)
    with pytest.warns(Fallback, match="lambda=1e-40 is below .*, where rounding makes it the same as lambda=0"):
        tiny = StreamedRidge(1e-40, method="svd").fit(X, y)
    np.testing.assert_allclose(tiny.coef_, zero.coef_, rtol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Fallback)
        StreamedRidge(2 * zero.accuracy_.smallest_alpha, method="svd").fit(X, y)


@pytest.mark.parametrize("method", ["cholesky", "svd"])
@pytest.mark.parametrize("rows", [200, 20])
def test_relative_to_the_trace_lambda_means_the_same_whatever_the_scale_of_the_columns(method, rows):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(rows, 30)) + 1, rng.normal(size=rows)
    for center in (False, True, "both"):
        small, large = (
            StreamedRidgeCV([1e-6, 1e-3, 0.1], lambda_scale="trace", center=center, method=method).fit(scale * X, y)
            for scale in (1.0, 1000.0)
        )
        np.testing.assert_allclose(large.predict(1000.0 * X), small.predict(X), rtol=1e-6)
        assert large.alpha_ == small.alpha_
        Z = X - X.mean(axis=0) if center == "both" else X
        penalty = 0.01 * np.square(Z).sum()
        alone = StreamedRidge(0.01, lambda_scale="trace", center=center, method=method).fit(X, y)
        same = StreamedRidge(penalty, lambda_scale=1, center=center).fit(X, y)
        np.testing.assert_allclose(alone.coef_, same.coef_, rtol=1e-8)


def test_the_method_is_the_singular_values_where_one_penalty_is_too_small_for_cholesky():
    assert chosen_method(None, [1e-13, 1.0], "n") == chosen_method(None, [1e-15, 1.0], "trace") == "cholesky"
    assert chosen_method(None, [0.0, 1.0], "n") == chosen_method(None, [1e-16, 1.0], "trace") == "svd"
    assert chosen_method("cholesky", [0.0, 1.0], "n") == "cholesky"
    assert chosen_method("svd", [1.0], "n") == "svd"


def test_parts_give_what_the_whole_gives():
    X, y = ill_conditioned(n=90)
    whole = StreamedRidge(0.0, center="both").fit(X, y)
    parts = StreamedRidge(0.0, center="both")
    for start in range(0, 90, 30):
        parts.partial_fit(X[start : start + 30], y[start : start + 30])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-6)


def test_float32_features_are_factored_in_float64():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = np.sin(X[:, 0])
    features = RandomFourierFeatures(40, gamma=0.1, random_state=0)
    model = StreamedRidge(0.0, features=features).fit(X, y)
    Z = features.fit(X).transform(X).astype(float)
    np.testing.assert_allclose(
        model.predict(X), Z @ np.linalg.lstsq(Z, y - y.mean(), rcond=40 * EPS)[0] + y.mean(), atol=1e-5
    )


def test_the_r_factor_of_blocks_is_that_of_all_rows():
    rng = np.random.default_rng(6)
    A = rng.normal(size=(300, 20))
    parts = [RFactor(20), RFactor(20)]
    for factor, rows in zip(parts, np.split(A, [110]), strict=True):
        for block in np.array_split(rows, 5):
            factor.add(np.asfortranarray(block))
    before = parts[1].matrix.copy()
    parts[0].merge(parts[1])
    R = np.linalg.qr(A, mode="r")
    np.testing.assert_allclose(np.abs(parts[0].matrix), np.abs(R), atol=1e-12)
    np.testing.assert_array_equal(parts[1].matrix, before)


def test_what_memory_the_factors_take_is_planned_and_a_budget_too_small_is_refused():
    X, y = np.random.default_rng(7).normal(size=(400, 50)), np.arange(400.0)
    model = StreamedRidgeCV([0.0, 1.0], folds=4)
    assert model.bytes_to_fit(400, 50) >= FoldFactors.bytes_needed(50, 4)
    with pytest.raises(MemoryBudgetError, match="ridge on 50 columns with 4 folds"):
        StreamedRidgeCV([0.0, 1.0], folds=4, memory=100_000).fit(X, y)


@pytest.mark.parametrize(("config", "message"), [
    ({"lambda": -1e-3}, "must be a number, 0 or more, or a list of them, got -0.001"),
    ({"lambda": [0, 1], "method": "qr"}, "method must be one of None, 'cholesky', 'svd', 'cg', got 'qr'"),
    ({"lambda": [0, 1], "blocks": "dask"}, "lambda 0 needs the singular values of Z, which blocks: dask lacks"),
    ({"lambda": [1, 2], "blocks": "dask", "method": "svd"}, "method must be null or cholesky with blocks: dask"),
])  # fmt: skip
def test_what_cannot_be_honoured_is_refused(config, message):
    with pytest.raises(Exception, match=message):
        make_solver({"name": "ridge", **config}, task="regression", features=None)
