"""Ridge by row blocks elsewhere is ridge here, to rounding; its digits do not depend on who adds what and when."""

import random

import numpy as np
import pytest
from sklearn.datasets import make_classification

from rffbench import LeverageScoreFeatures, RandomFourierFeatures
from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.solvers import check_on_device, make_solver
from rffbench.solvers.ridge import blocks, settings, tree
from rffbench.solvers.ridge.blocks import BlockedRidgeClassifierCV, BlockedRidgeCV
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV, StreamedRidgeCV
from tests.helpers.played_workers import Lazy, Played

ALPHAS = [1e-6, 1e-3, 0.1]
MAP = RandomFourierFeatures(32, gamma=0.1, random_state=0)


@pytest.fixture
def workers(monkeypatch):
    """Small leaves, on played workers."""
    played = Played()
    for kind in (BlockedRidgeCV, BlockedRidgeClassifierCV):
        monkeypatch.setattr(kind, "engine", lambda self: played)
    monkeypatch.setattr(blocks, "leaves", lambda start, stop: tree.leaves(start, stop, 60))
    return played


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(701, 7, n_informative=5, n_classes=3, random_state=0)
    return X, y.astype(float), X @ np.arange(7.0) + np.random.default_rng(0).normal(size=701) + 50


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("center", [True, False, "both"])
@pytest.mark.parametrize("folds", [2, 5])
def test_a_regression_is_that_of_the_streamed_ridge(workers, problem, center, folds, lazy):
    X, _, y = problem
    settings = {"folds": folds, "center": center, "features": MAP}
    given = (Lazy(X), Lazy(y)) if lazy else (X, y)
    ours, theirs = BlockedRidgeCV(ALPHAS, **settings).fit(*given), StreamedRidgeCV(ALPHAS, **settings).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.cv_results_["fold_test_error"], theirs.cv_results_["fold_test_error"], rtol=1e-8)
    np.testing.assert_allclose(ours.predict(given[0]), theirs.predict(X), rtol=1e-8)
    assert len(workers.sent) >= 2 * 701 // 60
    assert set(ours.timing_) == set(theirs.timing_)
    assert ours.timing_["gram_s"] > 0 < ours.timing_["feature_s"]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classification_is_that_of_the_streamed_ridge(workers, problem, classes, scoring, lazy):
    X, y, _ = problem
    X, y = (X, y) if classes == 3 else (X[y < 2], y[y < 2])
    settings = {"folds": 3, "features": MAP, "scoring": scoring, "center": "both", "path": classes == 2}
    given = (Lazy(X), Lazy(y, np.unique(y))) if lazy else (X, y)
    ours = BlockedRidgeClassifierCV(ALPHAS, **settings).fit(*given)
    theirs = StreamedRidgeClassifierCV(ALPHAS, **settings).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.cv_results_["fold_test_error"], theirs.cv_results_["fold_test_error"], rtol=1e-6)
    np.testing.assert_array_equal(ours.predict(given[0]), theirs.predict(X))
    if classes == 2:
        np.testing.assert_allclose(ours.predict_path(given[0])[1], theirs.predict_path(X)[1], rtol=1e-6, atol=1e-8)


def test_no_digit_depends_on_the_order_in_which_workers_are_done(workers, problem):
    X, _, y = problem
    first = BlockedRidgeCV(ALPHAS, features=MAP).fit(X, y)
    for seed in range(3):
        workers.order = random.Random(seed)
        again = BlockedRidgeCV(ALPHAS, features=MAP).fit(X, y)
        np.testing.assert_array_equal(again.coef_, first.coef_)
        np.testing.assert_array_equal(again.cv_results_["fold_test_error"], first.cv_results_["fold_test_error"])


def test_a_map_that_looks_at_the_rows_is_fitted_here_and_equal_columns_are_sent_once(workers, problem):
    X, _, y = problem
    features = LeverageScoreFeatures(16, gamma=0.1, random_state=0)
    ours = BlockedRidgeCV(ALPHAS, features=features).fit(X, y)
    theirs = StreamedRidgeCV(ALPHAS, features=features).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


def test_what_is_sent_of_lazy_rows_does_not_grow_with_the_fit_that_was_before(workers, problem):
    X, _, y = problem
    model = BlockedRidgeCV(ALPHAS, features=MAP).fit(X, y)
    before = max(workers.sent)
    workers.sent.clear()
    model.fit(X, y)
    assert max(workers.sent) == before


def test_features_that_are_not_finite_are_told(workers, problem):
    X, _, y = problem
    wrong = X.copy()
    wrong[300, 2] = np.inf
    with pytest.raises(ValueError, match="holds NaN, infinity"):
        BlockedRidgeCV(ALPHAS).fit(Lazy(wrong), Lazy(y))


def test_the_client_needs_the_folds_and_no_more_and_says_so_beforehand(problem):
    X, _, y = problem
    needed = BlockedRidgeCV(ALPHAS, features=MAP).bytes_to_fit(10**9, 7)
    assert needed == BlockedRidgeCV(ALPHAS, features=MAP).bytes_to_fit(10**4, 7) < 10**5
    with pytest.raises(MemoryBudgetError, match="with blocks on workers"):
        BlockedRidgeCV(ALPHAS, features=MAP, memory=needed - 1).fit(X, y)


def test_a_config_asks_for_it_by_name(monkeypatch):
    config = {"name": "ridge", "blocks": "dask", "lambda": [0.1]}
    made = make_solver(config, task="classification", features=MAP)
    assert type(made) is BlockedRidgeClassifierCV
    assert type(make_solver(config, task="regression", features=MAP)) is BlockedRidgeCV
    with pytest.raises(ConfigError, match="blocks must be"):
        make_solver({**config, "blocks": "spark"}, task="regression", features=MAP)
    with pytest.raises(ConfigError, match="cuda runs ridge without blocks"):
        check_on_device(config, "cuda", MAP)
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs the library distributed; pip install 'rffbench\[dask\]'"):
        make_solver(config, task="regression", features=MAP)
