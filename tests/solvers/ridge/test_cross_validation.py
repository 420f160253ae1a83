"""A Cholesky factor for each λ serves all folds: the solutions are those of a factor for each fold."""

from unittest.mock import patch

import numba
import numpy as np
import pytest

from rffbench import StreamedRidgeCV
from rffbench.linalg.triangles import Triangle
from rffbench.solvers.ridge import fold_statistics
from rffbench.solvers.ridge.calibrated import CalibratedRidgeClassifier
from rffbench.solvers.ridge.cross_validation import TOLERANCE, FoldSolver, solve_ridge_cv
from rffbench.solvers.ridge.fold_statistics import FoldStatistics, fold_bounds, most_steps
from rffbench.solvers.ridge.svd import FoldFactors, solve_svd_cv

ALPHAS = [1e-6, 1e-4, 1e-2, 1.0]
COLUMNS = 90


def gathered(Z, Y, folds=5, weights=None, of=FoldStatistics):
    statistics = of(Z.shape[1], folds, Y.shape[1])
    bounds = fold_bounds(len(Z), folds)
    for fold in range(folds):
        rows = slice(bounds[fold], bounds[fold + 1])
        statistics.add(fold, Z[rows], Y[rows], weights=None if weights is None else weights[rows])
    return statistics


def problem(targets=1, decay=2.0, n=600):
    """Columns whose singular values fall by ``decay`` powers of ten."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, COLUMNS)) * np.logspace(0, -decay, COLUMNS) + 0.3
    return Z, Z @ rng.normal(size=(COLUMNS, targets)) + rng.normal(size=(n, targets)) + 2.0


@pytest.fixture
def factored():
    """The number of Cholesky factors."""
    with patch.object(Triangle, "cholesky", autospec=True, side_effect=Triangle.cholesky) as counted:
        yield counted


def both(monkeypatch, statistics, alphas=ALPHAS, steps=200, **settings):
    """The solutions with shared factors, and with a factor for each fold."""
    with monkeypatch.context() as patched:
        patched.setattr(fold_statistics, "most_steps", lambda *_: steps)
        shared = solve_ridge_cv(statistics, alphas, **settings)
        patched.setattr(fold_statistics, "most_steps", lambda *_: 0)
        return shared, solve_ridge_cv(statistics, alphas, **settings)


@pytest.mark.parametrize("lambda_scale", ["n", 1, "trace"])
@pytest.mark.parametrize("center", [True, False, "both"])
@pytest.mark.parametrize(("folds", "targets", "memory"), [(5, 1, None), (2, 3, None), (3, 1, 0)])
def test_shared_factors_give_the_solutions_of_own_ones(monkeypatch, center, lambda_scale, folds, targets, memory):
    Z, Y = problem(targets)
    weights = np.random.default_rng(1).uniform(0.5, 2, size=len(Z))
    statistics = gathered(Z, Y, folds, weights)
    settings = {"center": center, "lambda_scale": lambda_scale, "memory": memory, "path": True}
    shared, own = both(monkeypatch, statistics, **settings)
    assert shared.alpha == own.alpha
    assert 0 < np.abs(shared.fold_error / own.fold_error - 1).max() < 100 * TOLERANCE
    for ours, theirs in zip(shared.path, own.path, strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)
    assert shared.accuracy == pytest.approx(own.accuracy)


@pytest.mark.parametrize("folds", [2, 5])
def test_coefficients_without_a_fold_are_those_of_an_own_factor_to_eight_digits(monkeypatch, folds):
    statistics = gathered(*problem(2), folds)
    monkeypatch.setattr(fold_statistics, "most_steps", lambda *_: 200)
    shared, own = (FoldSolver(statistics, "n", "both", statistics.work(len(ALPHAS))) for _ in range(2))
    shared.share_factors(ALPHAS)
    for left_out in range(folds):
        others = [each for each in range(folds) if each != left_out]
        assert shared.shared[tuple(others)].keys() == set(ALPHAS)
        pairs = zip(shared.solve(others, ALPHAS).solutions, own.solve(others, ALPHAS).solutions, strict=True)
        for (ours, _), (theirs, _) in pairs:
            assert np.linalg.norm(ours - theirs) <= 1e-8 * np.linalg.norm(theirs)


@pytest.mark.parametrize("decay", [5.0, 7.0])
@pytest.mark.parametrize("n", [600, 120])  # 120: without a fold there are hardly more rows than columns
def test_badly_conditioned_matrices_lose_no_more_digits_than_with_own_factors(monkeypatch, decay, n):
    Z, Y = problem(decay=decay, n=n)
    alphas = np.logspace(-15, 0, 16).tolist()
    settings = {"lambda_scale": "trace", "center": "both"}
    shared, own = both(monkeypatch, gathered(Z, Y), alphas, **settings)
    exact = solve_svd_cv(gathered(Z, Y, of=FoldFactors), alphas, **settings)
    assert shared.alpha == own.alpha == exact.alpha
    lost, lost_by_own = (np.abs(each.fold_error / exact.fold_error - 1).max(axis=1) for each in (shared, own))
    assert (lost <= 20 * lost_by_own + 10 * TOLERANCE).all()
    np.testing.assert_allclose(shared.coef, own.coef, rtol=1e-8)


def test_near_rounding_and_at_zero_each_fold_has_its_own_factor(monkeypatch, factored):
    Z, Y = problem()
    Z[:, 3] = Z[:, 4]  # singular
    alphas = [0.0, 1e-17, 1e-2, 1.0]
    with pytest.warns(UserWarning, match="lambda=0|lambda=1e-17"):
        shared, own = both(monkeypatch, gathered(Z, Y), alphas, lambda_scale="trace", center=False)
    assert shared.alpha == own.alpha
    np.testing.assert_array_equal(shared.fold_error[:2], own.fold_error[:2])
    np.testing.assert_allclose(shared.fold_error[2:], own.fold_error[2:], rtol=100 * TOLERANCE)


@pytest.mark.parametrize("threads", [1, 3])
def test_folds_that_are_not_alike_have_their_own_factors_from_some_lambda_down(monkeypatch, factored, threads):
    """Each fold has columns of its own, which the others tell nothing of."""
    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    monkeypatch.setattr(fold_statistics, "WORTH_A_FACTOR", 1)
    rng = np.random.default_rng(2)
    Z = np.zeros((500, COLUMNS))
    for fold in range(5):
        columns = slice(fold * COLUMNS // 5, (fold + 1) * COLUMNS // 5)
        Z[fold * 100 : (fold + 1) * 100, columns] = rng.normal(size=(100, COLUMNS // 5))
    Z += 0.1 * rng.normal(size=Z.shape)
    Y = Z @ rng.normal(size=(COLUMNS, 1))
    statistics, few = gathered(Z, Y), 12
    monkeypatch.setattr(fold_statistics, "most_steps", lambda *_: few)
    solver = FoldSolver(statistics, "n", True, statistics.work(len(ALPHAS)))
    solver.share_factors(ALPHAS)
    assert all(each.keys() == {1.0} for each in solver.shared.values())
    before = factored.call_count
    shared, own = both(monkeypatch, statistics, steps=few)
    assert factored.call_count - before > 5 * len(ALPHAS)
    assert shared.alpha == own.alpha
    np.testing.assert_allclose(shared.fold_error[:3], own.fold_error[:3], rtol=1e-11)


@pytest.mark.parametrize("center", [True, "both"])
def test_recombined_columns_share_factors_too(monkeypatch, center):
    Z, Y = problem()
    rng = np.random.default_rng(3)
    first, second = rng.integers(COLUMNS, size=(2, 60))
    a, b = rng.normal(size=(2, 60))
    shared, own = both(monkeypatch, gathered(Z, Y).recombined(first, second, a, b), center=center)
    assert shared.alpha == own.alpha
    np.testing.assert_allclose(shared.fold_error, own.fold_error, rtol=100 * TOLERANCE)
    np.testing.assert_allclose(shared.coef, own.coef, rtol=1e-8)


def test_factors_are_shared_for_many_columns_and_few_targets(factored):
    assert most_steps(8192, 5, 1) > most_steps(4096, 5, 1) > most_steps(4096, 5, 2) > 0
    assert most_steps(1024, 5, 1) == most_steps(4096, 5, 20) == most_steps(8192, 1, 1) == 0
    rng = np.random.default_rng(4)
    for columns, factors in ((256, 3 * 2 + 1), (2048, 2)):
        factored.reset_mock()
        Z = rng.normal(size=(5000, columns))
        StreamedRidgeCV([0.1, 1.0], folds=3).fit(Z, Z[:, 0] + rng.normal(size=5000))
        assert factored.call_count == factors


def test_calibration_shares_a_factor_between_its_folds(monkeypatch, factored):
    Z, Y = problem()
    y = Y[:, 0] > np.median(Y)
    probabilities = []
    for steps, factors in ((0, 5 + 1), (200, 1 + 1)):
        monkeypatch.setattr(fold_statistics, "most_steps", lambda *_, steps=steps: steps)
        factored.reset_mock()
        probabilities.append(CalibratedRidgeClassifier(1e-3).fit(Z, y).predict_proba(Z))
        assert factored.call_count == factors
    np.testing.assert_allclose(*probabilities, rtol=1e-7)
