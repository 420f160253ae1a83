"""Linear machines: LIBLINEAR's optimum, whether Z is held, streamed or LIBLINEAR's own, within the memory told."""

import multiprocessing
import tracemalloc

import numba
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.svm import LinearSVC

from rffbench import PerceptronFeatures, RandomFourierFeatures
from rffbench.arguments import rowsource
from rffbench.errors import ConfigError, MemoryBudgetError
from rffbench.io.process import peak_memory, reset_peak
from rffbench.solvers import make_solver
from rffbench.solvers.base import default_block_rows
from rffbench.solvers.feature_rows import FeatureRows
from rffbench.solvers.svm import linear as linear_svm
from rffbench.solvers.svm import primal_newton
from rffbench.solvers.svm.linear import LinearSVM
from rffbench.solvers.svm.primal_newton import sampled_hessian

MAP = RandomFourierFeatures(120, form="offset", gamma=1.0, random_state=0)
TIGHT = 1e-7


def problem(n=700, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    y = np.where(np.sin(3 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return X, y


def objective(w, intercept, Z, y, C, bias, loss="squared-hinge"):
    slack = np.maximum(0, 1 - y * (Z @ w + intercept))
    b = intercept / bias if bias else 0.0
    losses = slack if loss == "hinge" else slack**2
    return (w @ w + b * b) / (2 * C * len(y)) + losses.mean()


class Rows:
    """Rows served on demand; how many at a time, and in all."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.longest, self.served, self.seconds = X, X.shape, X.dtype, 0, 0, 0.0

    def __getitem__(self, rows):
        part = self.X[rows]
        self.longest, self.served = max(self.longest, len(part)), self.served + len(part)
        return part


# --- The optimum ---


@pytest.mark.parametrize("method", ["held", "streamed"])
@pytest.mark.parametrize(("C", "bias"), [(1.0, 1.0), (20.0, 0.0), (0.01, 3.0)])
def test_newton_reaches_liblinear_s_objective(method, C, bias, monkeypatch):
    monkeypatch.setattr("rffbench.solvers.svm.linear.default_block_rows", lambda columns: 100)
    X, y = problem()
    ours = LinearSVM(MAP, C=C, bias=bias, method=method, tolerance=TIGHT).fit(X, y)
    Z = MAP.fit_transform(X)
    peer = LinearSVM(MAP, C=C, bias=bias, method="liblinear", tolerance=TIGHT).fit(X, y)
    found = objective(ours.coef_, ours.intercept_, Z, y, C, bias)
    expected = objective(peer.coef_, peer.intercept_, Z, y, C, bias)
    assert found == pytest.approx(expected, rel=1e-6)
    assert ours.metrics_["objective"] == pytest.approx(found, rel=1e-9)
    assert peer.metrics_["objective"] == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), Z @ ours.coef_ + ours.intercept_, atol=1e-12)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4 * np.abs(peer.coef_).max())


@pytest.mark.parametrize(
    ("loss", "method", "dual"),
    [
        ("squared-hinge", "liblinear", False),
        ("squared-hinge", "liblinear-dual", True),
        ("hinge", "liblinear-dual", True),
    ],
)
def test_liblinear_is_called_for_the_problem_that_is_meant(loss, method, dual):
    X, y = problem()
    for rows in (slice(None), slice(None, None, -1)):  # whichever label comes first
        ours = LinearSVM(None, loss, 2.0, bias=1.5, method=method, tolerance=1e-5).fit(X[rows], y[rows])
        peer = LinearSVC(
            C=2.0, loss=loss.replace("-", "_"), dual=dual, intercept_scaling=1.5, tol=1e-6, max_iter=10**6
        ).fit(X, y)
        np.testing.assert_allclose(ours.coef_, peer.coef_[0], atol=3e-2)
        assert ours.intercept_ == pytest.approx(peer.intercept_[0], abs=3e-2)
        told = objective(ours.coef_, ours.intercept_, X, y, 2.0, 1.5, loss)
        assert ours.metrics_["objective"] == pytest.approx(told, rel=1e-9)


@pytest.mark.parametrize("method", ["held", "streamed", "liblinear"])
def test_a_looser_tolerance_stops_earlier_and_near(method):
    X, y = problem()
    loose, tight = (LinearSVM(MAP, method=method, tolerance=t).fit(X, y) for t in (0.1, TIGHT))
    assert tight.metrics_["objective"] < loose.metrics_["objective"] < 1.02 * tight.metrics_["objective"]


@pytest.mark.parametrize("features", [MAP, PerceptronFeatures(90, gamma=0.5, random_state=1), None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_held_and_streamed_are_the_same_machine(features, dtype, monkeypatch):
    X, y = problem()
    X = X.astype(dtype)
    held = LinearSVM(features, method="held", tolerance=1e-9).fit(X, y)
    monkeypatch.setattr("rffbench.solvers.svm.linear.default_block_rows", lambda columns: 33)
    rows = Rows(X)
    streamed = LinearSVM(features, method="streamed", tolerance=1e-9).fit(rows, y)
    assert rows.longest == 33
    np.testing.assert_allclose(streamed.coef_, held.coef_, atol=1e-6)
    np.testing.assert_allclose(streamed.decision_function(rows), held.decision_function(X), atol=1e-4)


def test_a_map_that_cannot_fill_is_applied_too():
    X, y = problem()
    for method in ("held", "streamed", "liblinear"):
        model = LinearSVM(PCA(3), method=method, tolerance=TIGHT).fit(X, y)
        expected = LinearSVM(None, method="held", tolerance=TIGHT).fit(PCA(3).fit_transform(X), y)
        assert model.metrics_["objective"] == pytest.approx(expected.metrics_["objective"], rel=1e-6)
        assert model.metrics_["model_size"] == 3


def test_threads_change_no_digit(monkeypatch):
    monkeypatch.setattr(primal_newton, "WORTH_A_THREAD", 0)
    X, y = problem()
    many = LinearSVM(MAP, method="held").fit(X, y)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        np.testing.assert_array_equal(LinearSVM(MAP, method="held").fit(X, y).coef_, many.coef_)
    finally:
        numba.set_num_threads(threads)


# --- Passes, time, memory ---


def test_passes_are_counted_and_a_hessian_product_visits_only_rows_within_the_margin(monkeypatch):
    monkeypatch.setattr("rffbench.solvers.svm.linear.default_block_rows", lambda columns: 50)
    X, y = problem()
    mapped = []
    fill = RandomFourierFeatures.fill
    monkeypatch.setattr(
        RandomFourierFeatures, "fill", lambda map_, rows, out: (mapped.append(len(rows)), fill(map_, rows, out))
    )
    monkeypatch.setattr("rffbench.solvers.svm.linear.SAMPLED", 10)  # more rows than there are: no preconditioner
    streamed = LinearSVM(MAP, method="streamed").fit(Rows(X), y)
    passes = streamed.metrics_["passes"]
    assert passes >= 2 * streamed.metrics_["newton_steps"]
    assert 700 < sum(mapped) < 0.95 * passes * 700
    mapped.clear()
    held = LinearSVM(MAP, method="held").fit(Rows(X), y)
    assert sum(mapped) == 700 + 1  # and a row to count the columns
    assert held.metrics_["passes"] == passes


def test_the_hessian_of_a_sample_halves_the_passes_where_memory_allows_it():
    X, y = problem(3000)
    wide = RandomFourierFeatures(200, form="offset", gamma=2.0, random_state=0)
    free = LinearSVM(wide, C=10.0, method="streamed", tolerance=1e-4).fit(X, y)
    budget = int(free.metrics_["training_bytes"])
    tight = LinearSVM(wide, C=10.0, method="streamed", tolerance=1e-4, memory=budget - 1).fit(X, y)
    assert free.metrics_["training_bytes"] - tight.metrics_["training_bytes"] > 8 * 201**2
    assert free.metrics_["passes"] < 0.5 * tight.metrics_["passes"]
    assert free.metrics_["objective"] == pytest.approx(tight.metrics_["objective"], rel=1e-5)


def test_several_classes_share_one_sample(monkeypatch):
    X, _ = problem(1500)
    y = np.digitize(X[:, 0], [-0.4, 0.3])
    drawn = []
    sampled = linear_svm.sampled_hessian
    monkeypatch.setattr(linear_svm, "sampled_hessian", lambda Z, C: drawn.append(C) or sampled(Z, C))
    streamed = LinearSVM(MAP, method="streamed", tolerance=TIGHT).fit(X, y)
    assert drawn == [1.0]
    held = LinearSVM(MAP, method="held", tolerance=TIGHT).fit(X, y)
    np.testing.assert_allclose(streamed.coef_, held.coef_, atol=1e-4)


def test_a_sample_is_of_whole_blocks_spread_over_all_rows():
    def sample(size, n=1000):
        return FeatureRows(np.zeros((n, 2)), None, 2, 0.0, hold=False, block_rows=50).sample(size)

    starts = sample(180)[::50]
    np.testing.assert_array_equal(sample(180), (starts[:, None] + np.arange(50)).ravel())
    np.testing.assert_array_equal(starts, [0, 250, 500, 750])
    np.testing.assert_array_equal(sample(990, n=990), np.arange(990))


def test_a_sample_of_all_rows_gives_the_hessian_itself(monkeypatch):
    monkeypatch.setattr(primal_newton, "SAMPLED", 60)
    X, _ = problem(300)
    Z = FeatureRows(X, None, 4, 0.7, hold=False, block_rows=64)
    right = np.arange(5.0)
    whole = np.column_stack([X, np.full(300, 0.7)])
    expected = np.linalg.solve(np.eye(5) + 2 * 3.0 * whole.T @ whole, right)
    np.testing.assert_allclose(sampled_hessian(Z, 3.0).solve(right[:, None])[:, 0], expected)


@pytest.mark.parametrize("method", ["held", "streamed", "liblinear"])
def test_timing_tells_mapping_each_row_once_from_solving_and_leaves_out_fetching(method, monkeypatch):
    """A clock that goes on by one for every row mapped, and by ten for every slice fetched."""
    mapped, waited = 0, 0

    class Waiting(Rows):
        def __getitem__(self, rows):
            nonlocal waited
            waited += 10
            self.seconds += 10
            return super().__getitem__(rows)

    def fill(self, X, out, original=RandomFourierFeatures.fill):
        nonlocal mapped
        mapped += len(X)
        original(self, X, out)

    monkeypatch.setattr(RandomFourierFeatures, "fill", fill)
    monkeypatch.setattr(rowsource, "perf_counter", lambda: float(mapped + waited))
    X, y = problem()
    timing = LinearSVM(MAP, method=method).fit(Waiting(X), y).timing_
    assert set(timing) == {"feature_s", "gram_s", "solve_s"}
    assert timing["feature_s"] == pytest.approx(len(X), abs=1)
    assert sum(timing.values()) == pytest.approx(mapped, abs=2)
    assert (mapped > 2 * len(X)) == (method == "streamed")


# The last with the Hessian of a sample, the one before it without: too few rows.
SIZES = [("liblinear", 2000, 3000), ("held", 2000, 4000), ("streamed", 3000, 9000), ("streamed", 9000, 2200)]


def grow(sending):
    """Tell of each case the predicted bytes, and those that the resident set grew by."""
    for method, n, columns in SIZES:
        X, y = problem(n)
        model = LinearSVM(MAP, method=method, tolerance=0.9).set_params(features__n_components=columns)
        clone(model).fit(X[:50], y[:50])  # what is loaded and compiled once
        reset_peak()
        before = peak_memory()
        model.fit(X, y)
        sending.send((model.metrics_["training_bytes"], peak_memory() - before))


@pytest.mark.slow
def test_memory_is_what_was_told_before():
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=grow, args=(sending,))
    process.start()
    for case in SIZES:
        assert receiving.poll(60), case
        predicted, measured = receiving.recv()
        assert measured > 25e6, case
        assert measured == pytest.approx(predicted, rel=0.2), case
    process.join()


def test_auto_holds_z_where_it_fits_and_streams_it_where_not():
    X, y = problem(9000)
    needs = {m: LinearSVM(MAP, method=m).fit(X, y).metrics_["training_bytes"] for m in ("held", "streamed")}
    assert needs["streamed"] < needs["held"]
    for memory, taken in ((None, "held"), (int(needs["held"]), "held"), (int(needs["held"]) - 1, "streamed")):
        model = LinearSVM(MAP, memory=memory).fit(X, y)
        assert model.metrics_["training_bytes"] == needs[taken]
    tracemalloc.start()
    LinearSVM(MAP, memory=int(needs["held"]) - 1).fit(X, y)
    assert tracemalloc.get_traced_memory()[1] < 1.2 * needs["streamed"]
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("liblinear", r"LIBLINEAR on 9000 rows of 1000 features needs 178 MB, more than the budget of 10 MB"),
        ("liblinear-dual", "LIBLINEAR on 9000 rows"),
        ("held", r"a linear machine on 9000 rows of 1000 features needs 7\d MB"),
        ("streamed", "a linear machine on 9000 rows"),
        ("auto", "a linear machine on 9000 rows"),
    ],
)
def test_what_cannot_fit_is_refused_with_the_figure_before_the_map_is_fitted(method, message):
    rows = Rows(problem(9000)[0])
    model = LinearSVM(RandomFourierFeatures(1000), method=method, memory=10_000_000)
    with pytest.raises(MemoryBudgetError, match=message):
        model.fit(rows, problem(9000)[1])
    assert rows.served == 0


# --- The estimator ---


@pytest.mark.parametrize("method", ["held", "streamed", "liblinear", "liblinear-dual"])
def test_more_classes_are_one_against_the_rest(method):
    X, y = problem(300)
    labels = np.where(y > 0, "b", np.where(X[:, 2] > 0, "c", "a"))
    model = LinearSVM(MAP, method=method, tolerance=1e-6).fit(X, labels)
    for column, label in enumerate("abc"):
        one = clone(model).fit(X, labels == label)
        np.testing.assert_allclose(model.decision_function(X)[:, column], one.decision_function(X), atol=1e-4)
    assert model.score(X, labels) > 0.7


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "squared"}, "loss must be one of 'squared-hinge', 'hinge'"),
        ({"C": 0}, "C must be a positive number, got 0"),
        ({"C": "1"}, "C must be a positive number, got '1'"),
        ({"bias": -1}, "bias must be a positive number, got -1"),
        ({"tolerance": 0}, "tolerance must be a positive number"),
        ({"method": "tron"}, "method must be one of 'auto', 'held', 'streamed', 'liblinear'"),
        (
            {"loss": "hinge", "method": "held"},
            "method must be 'auto' or 'liblinear-dual' with loss='hinge', got 'held'",
        ),
    ],
)
def test_wrong_parameters_are_refused_with_what_would_be_right(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearSVM(**parameters).check_parameters()
    with pytest.raises(ValueError, match=message):
        LinearSVM(**parameters).fit(*problem(20))


@pytest.mark.parametrize("method", ["held", "streamed", "liblinear"])
def test_bad_data_is_refused(method):
    X, y = problem(20)
    bad = X.copy()
    bad[3, 1] = np.inf
    for rows in (bad, Rows(bad)):
        with pytest.raises(ValueError, match="infinity"):
            LinearSVM(method=method).fit(rows, y)
    with pytest.raises(ValueError, match="only one class is present"):
        LinearSVM(method=method).fit(X, np.ones(20))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        LinearSVM(method=method).fit(X, X[:, 0])


def test_a_config_makes_it_for_classification_alone():
    config = {"name": "linear-svm", "C": 2.0, "method": "streamed"}
    made = make_solver(config, task="classification", features=MAP, memory=10**9)
    assert (made.features, made.C, made.method, made.memory) == (MAP, 2.0, "streamed", 10**9)
    with pytest.raises(ConfigError, match="'linear-svm' is for classification; for regression use 'ridge'"):
        make_solver(config, task="regression", features=MAP)


def test_blocks_are_of_ridge_s_size():
    rows = Rows(problem(3000)[0])
    LinearSVM(RandomFourierFeatures(4000), method="streamed", tolerance=0.5).fit(rows, problem(3000)[1])
    assert rows.longest == default_block_rows(4001)


def test_of_the_hinge_auto_is_the_only_method_that_minimises_it():
    X = np.random.default_rng(3).normal(size=(80, 4))
    y = X[:, 0] > 0.2 * X[:, 1]
    auto, named = (LinearSVM(loss="hinge", method=method, class_weight={False: 1, True: 2}).fit(X, y)
                   for method in ("auto", "liblinear-dual"))  # fmt: skip
    np.testing.assert_array_equal(auto.coef_, named.coef_)
