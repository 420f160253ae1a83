"""Conjugate gradients on float32 rows: products in float32, and the residual, predictions and choices of float64."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rffbench import RandomFourierFeatures
from rffbench.errors import MemoryBudgetError
from rffbench.features.data_dependent.landmarks import RULES
from rffbench.kernels import make_kernel
from rffbench.linalg import kernel_blocks
from rffbench.solvers.iterative import blocks
from rffbench.solvers.iterative.falkon import FalkonCV
from rffbench.solvers.iterative.kernel import PCGKernelRidgeCV
from rffbench.solvers.iterative.pcg import PCGRidgeCV
from rffbench.solvers.iterative.tiles import Tiles
from rffbench.solvers.ridge import tree
from tests.helpers.played_workers import Played

rng = np.random.default_rng(0)
X, NEW = (rng.normal(size=(n, 6)).astype(np.float32) for n in (500, 60))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=500)
SMOOTH = 0.05  # γ at which K has a condition number of 1e9 or more
FEATURES = RandomFourierFeatures(120, gamma=SMOOTH, random_state=0)
SOLVERS = {
    "falkon": lambda alphas, **more: FalkonCV(
        alphas, **{"gamma": SMOOTH, "n_landmarks": 120, "random_state": 0, "folds": 3, **more}
    ),
    "pcg": lambda alphas, **more: PCGRidgeCV(
        alphas, **{"features": FEATURES, "rank": 40, "random_state": 0, "folds": 3, **more}
    ),
    "kernel": lambda alphas, **more: PCGKernelRidgeCV(
        alphas, **{"gamma": SMOOTH, "rank": 60, "random_state": 0, "folds": 3, **more}
    ),
}


def both(make, rows=X, new=NEW):
    """Fits to ``rows`` and to the same in float64, and what they predict for float64; a fit must converge."""
    fits = []
    for dtype in (np.float32, np.float64):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model = make().fit(rows.astype(dtype), Y)
        np.testing.assert_allclose(model.predict(new), model.predict(new.astype(float)), atol=1e-3)
        fits.append((model, model.predict(new.astype(float))))
    return fits


@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("center", [True, "both"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_residual_is_as_small_as_in_double_precision(solver, center, alpha):
    (single, found), (double, wanted) = both(lambda: SOLVERS[solver]([alpha], center=center))
    assert single.metrics_["residual"] <= 2e-6
    assert single.metrics_["model_size"] == double.metrics_["model_size"]
    np.testing.assert_allclose(found, wanted, atol=2e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_penalty_is_chosen_by_the_same_errors(solver):
    (single, _), (double, _) = both(lambda: SOLVERS[solver]([1e-5, 1e-3, 1e-1]))
    assert single.alpha_ == double.alpha_
    errors, wanted = (each.cv_results_["fold_test_error"] for each in (single, double))
    np.testing.assert_allclose(errors, wanted, rtol=1e-3)


@pytest.mark.parametrize("rule", RULES)
def test_landmarks_of_every_rule_keep_the_rank_of_double_precision(rule):
    (single, found), (double, wanted) = both(lambda: SOLVERS["falkon"]([1e-4], landmarks=rule))
    assert single.rank_ == double.rank_
    np.testing.assert_allclose(found, wanted, atol=2e-4)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("solver", ["falkon", "kernel"])
def test_tiny_and_huge_rows_and_equal_ones_do_no_harm(solver, scale):
    rows = np.repeat(X[::2], 2, axis=0) * np.float32(scale)
    make = lambda: SOLVERS[solver]([1e-3], gamma=SMOOTH / scale**2)  # noqa: E731
    (single, found), (_, wanted) = both(make, rows, NEW * np.float32(scale))
    assert single.metrics_["residual"] <= 2e-6
    np.testing.assert_allclose(found, wanted, atol=2e-4)


@pytest.mark.parametrize("size", [1e-150, 1e-40, 1e-32, 1e30])
@pytest.mark.parametrize("solver", SOLVERS)
def test_targets_of_any_size_are_served_as_in_double_precision(solver, size):
    targets = size * np.stack([Y, 1e3 * Y, 0 * Y], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, wanted = (
            SOLVERS[solver]([1e-3]).fit(X.astype(each), targets).predict(NEW * 1.0) for each in ("f4", "f8")
        )
    np.testing.assert_allclose(found / size, wanted / size, atol=2e-4 * 1e3)
    np.testing.assert_allclose(found[:, 0] / size, wanted[:, 0] / size, atol=2e-4)


@pytest.mark.parametrize("solver", ["falkon", "pcg"])
def test_a_fit_to_long_rows_keeps_within_the_memory_that_it_asks_for(solver):
    rows = rng.normal(size=(4000, 600)).astype(np.float32)
    settings = {"budget": {"passes": 12, "tolerance": 0.1}}
    SOLVERS[solver]([1e-3], **settings).fit(rows[:200], rows[:200, 0])  # compiles
    asked, peak = 10**7, None
    while peak is None:
        tracemalloc.start()
        try:
            SOLVERS[solver]([1e-3], memory=asked, **settings).fit(rows, rows[:, 0])
            peak = tracemalloc.get_traced_memory()[1]
        except MemoryBudgetError as refused:
            asked = refused.needed + 1
        finally:
            tracemalloc.stop()
    assert 0.3 * asked < peak <= asked


@pytest.mark.parametrize("center", [True, "both", False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["falkon", "kernel"])
def test_where_the_kernel_is_0_the_mean_is_predicted(solver, dtype, center):
    """Of the polynomial kernel without a constant, if all rows are 0: no landmark has a direction of its own."""
    kernel = make_kernel("polynomial", 1.0, degree=2, c=0.0)
    model = SOLVERS[solver]([1e-3], kernel=kernel, gamma=1.0, center=center).fit(np.zeros((500, 6), dtype), Y)
    np.testing.assert_allclose(model.predict(np.zeros((3, 6), dtype)), Y.mean() if center else 0, atol=1e-6)


@pytest.mark.parametrize("solver", ["falkon", "kernel"])
def test_a_penalty_below_the_rounding_of_single_precision_is_served_in_double(solver):
    settings = {"budget": {"tolerance": 1e-3, "passes": 40}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        single, double = (SOLVERS[solver]([1e-11], **settings).fit(X.astype(each), Y) for each in ("f4", "f8"))
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-6, atol=1e-6 * np.abs(double.coef_).max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_steps_are_in_single_precision_and_residuals_in_double(solver, monkeypatch):
    dtypes = []
    fill, visit = kernel_blocks.KernelBlocks.fill, Tiles.visit
    monkeypatch.setattr(
        kernel_blocks.KernelBlocks, "fill", lambda self, X, out: (dtypes.append(out.dtype), fill(self, X, out))[1]
    )
    monkeypatch.setattr(Tiles, "visit", lambda self, work: (dtypes.append(self.dtype), visit(self, work))[1])
    SOLVERS[solver]([1e-3], gamma=1.0).fit(X, Y) if solver != "pcg" else SOLVERS[solver]([1e-3]).fit(X, Y)
    assert np.float32 in dtypes
    assert dtypes[-1] == np.float64
    assert dtypes.count(np.float32) > dtypes.count(np.float64) if solver != "kernel" else True


@pytest.mark.parametrize("passes", [3, 4, 5, 7, 12])
@pytest.mark.parametrize("solver", SOLVERS)
def test_refinement_stays_within_the_budget(solver, passes):
    with pytest.warns(ConvergenceWarning, match=f"after {passes} passes"):
        SOLVERS[solver]([1e-6], budget={"passes": passes}).fit(X, Y)


def test_curves_go_on_through_the_rounds_of_refinement():
    model = SOLVERS["falkon"]([1e-4], record=True).fit(X, Y, eval_set=(NEW, np.sin(2 * NEW[:, 0])))
    residuals = model.curves_["residual"]
    assert len(residuals) == model.n_iter_
    assert residuals[-1] == pytest.approx(model.metrics_["residual"], rel=1)
    assert np.all(np.diff(model.curves_["passes"]) > 0)


def test_workers_refine_as_passes_here_do(monkeypatch):
    played = Played()
    monkeypatch.setattr(blocks, "workers", lambda: played)
    monkeypatch.setattr(blocks, "leaves", lambda start, stop, most=60: tree.leaves(start, stop, most))
    for solver in ("falkon", "pcg"):
        here, there = (SOLVERS[solver]([1e-4], blocks=each).fit(X, Y) for each in (None, "dask"))
        assert there.metrics_["residual"] <= 2e-6
        np.testing.assert_allclose(there.predict(NEW), here.predict(NEW), atol=2e-4)
