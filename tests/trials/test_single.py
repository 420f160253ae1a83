"""A trial is what a slow transcription of it says: map, ridge by cross-validation, score."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, root_mean_squared_error
from sklearn.model_selection import KFold

from rffbench import data
from rffbench.arguments.seeds import feature_stream
from rffbench.features import make_features
from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.kernels import make_kernel
from rffbench.trials import measuring, metrics
from rffbench.trials import tasks as plan
from rffbench.trials.measuring import MapOnPoints, Points, kernel_error
from rffbench.trials.memory import EFFECTIVE_ROWS
from rffbench.trials.metrics import Metric, metrics_of
from rffbench.trials.problem import Problem
from rffbench.trials.results import FittedTrial
from rffbench.trials.single import run_trial
from tests.helpers.small_trials import METHODS, Heard, spec

pytestmark = pytest.mark.usefixtures("embedded")


# ---- The transcription -------------------------------------------------------------------------------------


class Transcription:
    """A trial by whole matrices, of the map's frequencies, phases and importance weights only."""

    def __init__(self, spec):
        split = data.train_test(
            spec.dataset, seed=spec.seed, trial=spec.trial, preprocess=spec.preprocess,
            preprocess_fit=spec.preprocess_fit, dtype=spec.dtype,
        )  # fmt: skip
        self.spec, self.split = spec, split
        self.X, self.X_test = np.asarray(split.X_train), np.asarray(split.X_test)
        stream = feature_stream(spec.seed, spec.dataset, spec.trial, spec.kernel["name"])
        self.features = make_features(
            spec.features, kernel=spec.kernel["name"], gamma=spec.kernel["gamma"],
            n_features=spec.n_features, count=spec.count, random_state=stream,
        ).fit(self.X, split.y_train)  # fmt: skip

    def map(self, X):
        features, s = self.features, self.spec.n_features
        argument = X @ features.frequencies_ + (0 if features.offset_ is None else features.offset_)
        if self.spec.features.get("form") == "offset":
            return np.sqrt(2 / s) * np.cos(argument)
        pairs = argument.shape[1] == s
        cos, sin = (argument, argument) if pairs else np.split(argument, 2, axis=1)
        weights = np.tile(features.weights_, 2 if pairs else 1)
        return np.hstack([np.cos(cos), np.sin(sin)]) * np.sqrt(weights / s)

    def ridge(self, alpha):
        return Ridge(alpha, fit_intercept=False, solver="cholesky")

    def predictor(self, Z, y, alpha):
        """Ridge on rows Z, by the solver's own settings: a function of new rows."""
        solver = self.spec.solver
        penalty = alpha * (len(y) if solver["lambda_scale"] == "n" else 1)
        if solver["center"] == "both":
            return Ridge(penalty, solver="cholesky").fit(Z, y).predict
        mean = y.mean() if solver["center"] else 0.0
        model = self.ridge(penalty).fit(Z, y - mean)
        return lambda rows: model.predict(rows) + mean

    def run(self):
        """(predictions for the test rows, the chosen λ)"""
        Z, y = self.map(self.X), self.split.y_train
        held_out = {}
        for alpha in self.spec.solver["lambda"]:
            errors = []
            for train, test in KFold(self.spec.solver["folds"]).split(Z):
                predict = self.predictor(Z[train], y[train], alpha)
                errors.append(np.mean((predict(Z[test]) - y[test]) ** 2))
            held_out[alpha] = np.mean(errors)
        best = min(held_out, key=held_out.get)
        self.cv_error = held_out[best]
        return self.predictor(Z, y, best)(self.map(self.X_test)), best


def agrees(result, predicted, best, y_test):
    assert result.status == "ok"
    assert result.lambda_ == best
    if "accuracy" in result.metrics:
        assert result.metrics["accuracy"] == pytest.approx(100 * accuracy_score(y_test, np.sign(predicted)))
    else:
        error = root_mean_squared_error(y_test, predicted)
        assert result.metrics["rmse"] == pytest.approx(error, rel=1e-8)
        relative = error / np.sqrt(np.mean(y_test**2))
        assert result.metrics["relative_rmse"] == pytest.approx(relative, rel=1e-8)


@pytest.mark.parametrize("dataset", ["breast-cancer", "synthetic-regression"])
@pytest.mark.parametrize("method", METHODS)
def test_a_trial_is_the_slow_transcription_of_it(method, dataset):
    one = spec(method, dataset=dataset)
    slow, result = Transcription(one), run_trial(one)
    agrees(result, *slow.run(), slow.split.y_test)
    assert result.metrics["cv_error"] == pytest.approx(slow.cv_error, rel=1e-6)


@pytest.mark.parametrize("center", [True, False, "both"])
@pytest.mark.parametrize("lambda_scale", ["n", 1])
def test_centring_and_the_penaltys_scale_are_the_transcriptions(center, lambda_scale):
    solver = {"center": center, "lambda_scale": lambda_scale, "lambda": [1e-5, 3e-2, 1.0]}
    one = spec("Ours released", dataset="synthetic-regression", solver=solver, preprocess=["standard"],
               preprocess_fit="all", trial=3, seed=5)  # fmt: skip
    slow = Transcription(one)
    agrees(run_trial(one), *slow.run(), slow.split.y_test)


@pytest.mark.parametrize("kernel", ["laplacian", "cauchy"])
def test_other_kernels_are_drawn_and_compared_with(kernel):
    one = spec("RFF", dataset="synthetic", kernel={"name": kernel, "gamma": 0.2}, n_features=400)
    result = run_trial(one)
    slow = Transcription(one)
    agrees(result, *slow.run(), slow.split.y_test)
    assert result.metrics["kernel_error"] < 0.2  # of 800 columns; another kernel's would be twice as far


def test_exact_kernel_ridge_is_scikit_learns():
    one = spec("RFF", dataset="synthetic-regression", solver={"name": "kernel-ridge", "lambda": [1e-3]})
    result = run_trial(one)
    slow = Transcription(one)
    y, gamma = slow.split.y_train, one.kernel["gamma"]
    model = KernelRidge(alpha=1e-3 * len(y), kernel="rbf", gamma=gamma).fit(slow.X, y - y.mean())
    agrees(result, model.predict(slow.X_test) + y.mean(), 1e-3, slow.split.y_test)
    assert "kernel_error" not in result.metrics  # it approximates nothing


def test_of_several_bandwidths_the_one_of_the_least_cross_validation_error_is_taken():
    gammas = [0.003, 0.3, 30.0]
    one = spec("Ours", kernel={"name": "gaussian", "gamma": gammas})
    heard = Heard()
    plan.run_group([one, replace(one, n_features=8)], heard)
    each = [run_trial(replace(one, kernel={"name": "gaussian", "gamma": gamma})) for gamma in gammas]
    best = min(each, key=lambda result: result.metrics["cv_error"])
    chosen = heard.results[one.key]
    assert chosen.metrics["gamma"] == best.spec.kernel["gamma"] != gammas[2]
    assert chosen.metrics["accuracy"] == best.metrics["accuracy"]
    assert chosen.metrics["cv_error"] == pytest.approx(best.metrics["cv_error"], rel=1e-6)
    assert len(heard.results) == 2


def test_a_bandwidth_that_fails_costs_the_trial_and_no_other(monkeypatch):
    def scores(self, predicted, wanted):
        if self.problem.gamma == 0.5:
            raise FloatingPointError("too wide")
        return before(self, predicted, wanted)

    before = FittedTrial.scores
    monkeypatch.setattr(FittedTrial, "scores", scores)
    one = spec("RFF", kernel={"name": "gaussian", "gamma": [0.1, 0.5, 1.0]})
    heard = Heard()
    plan.run_group([one], heard)
    assert (heard.results[one.key].status, heard.results[one.key].error["message"]) == ("error", "too wide")


def test_the_path_is_the_accuracy_at_every_lambda():
    one = spec("Ours released", solver={"path": True, "lambda_scale": 1})
    result = run_trial(one)
    assert result.curves["lambda"] == one.solver["lambda"]
    for alpha, accuracy in zip(one.solver["lambda"], result.curves["accuracy"], strict=True):
        alone = run_trial(replace(one, solver={**one.solver, "lambda": [alpha], "path": False}))
        assert accuracy == alone.metrics["accuracy"]
        index = result.curves["lambda"].index(alpha)
        assert result.curves["effective_lambda"][index] == pytest.approx(alone.metrics["effective_lambda"])


@pytest.mark.parametrize("lambda_scale", ["n", 1])
@pytest.mark.parametrize("method", ["RFF", "Ours released"])
def test_the_path_tells_the_effective_dimension_of_all_training_rows_at_every_lambda(method, lambda_scale):
    one = spec(method, solver={"path": True, "lambda_scale": lambda_scale})
    curves = run_trial(one).curves
    problem = Problem.of(one)
    X = problem.split.X_train
    Z = problem.features(one).fit(X, problem.split.y_train).transform(X)
    squares = np.linalg.svd(Z, compute_uv=False) ** 2
    for alpha, dimension, median in zip(
        curves["lambda"], curves["effective_dimension"], curves["median_lambda"], strict=True
    ):
        c = alpha * len(X) if lambda_scale == "n" else alpha
        assert dimension == pytest.approx(np.sum(squares / (squares + c)), rel=1e-6)
        columns = np.mean(np.square(Z[:EFFECTIVE_ROWS]), axis=0)
        assert median == pytest.approx(c / (len(X) * Z.shape[1] * np.median(columns)))


def test_the_effective_lambda_of_plain_features_is_lambda_and_scaled_ones_divide_it():
    plain = run_trial(spec("RFF", solver={"lambda": [0.01]}))
    assert plain.metrics["effective_lambda"] == pytest.approx(0.01)
    one = spec("RFF", solver={"lambda": [0.01], "lambda_scale": 1})
    n = len(Problem.of(one).split.X_train)
    assert run_trial(one).metrics["effective_lambda"] == pytest.approx(0.01 / n)
    released = spec("Ours released", solver={"lambda": [0.01]})
    slow = Transcription(released)
    norm = np.sum(slow.map(slow.X[:EFFECTIVE_ROWS]) ** 2, axis=1).mean()
    assert norm > 5  # the released weights are not normalised
    assert run_trial(released).metrics["effective_lambda"] == pytest.approx(0.01 / norm)


def test_the_effective_lambda_of_a_narrow_kernel_counts_landmarks_too():
    """The first rows have features that are nearly 0, or 0 when squared; each landmark has the length 1."""
    narrow = spec("RFF", features={"name": "nystroem"}, kernel={"name": "gaussian", "gamma": 5e5}, n_features=7,
                  solver={"lambda": [0.01]})  # fmt: skip
    n = len(Problem.of(narrow).split.X_train)
    found = run_trial(narrow)
    assert found.status == "ok"
    assert found.metrics["effective_lambda"] == pytest.approx(0.01 * n / 7, rel=0.01)


def test_without_a_solver_a_map_is_measured_by_itself():
    measures = ["kernel_error", "spectral_error", "sup_error", "entry_error"]
    one = replace(spec("RFF"), solver={"name": "none"}, measures=measures)
    result = run_trial(one)
    slow, problem = Transcription(one), Problem.of(one)
    X = slow.X[problem.subsample]
    difference = np.exp(-0.3 * np.sum((X[:, None] - X[None]) ** 2, axis=2)) - slow.map(X) @ slow.map(X).T
    apart = difference[~np.eye(len(X), dtype=bool)]
    assert list(result.metrics) == measures
    assert result.metrics["spectral_error"] == pytest.approx(np.linalg.norm(difference, 2), rel=1e-5)
    assert result.metrics["sup_error"] == pytest.approx(np.abs(difference).max())
    assert result.metrics["entry_error"] == pytest.approx(np.sqrt(np.mean(apart**2)))
    assert result.seconds["feature_s"] > 0
    assert "predict_s" not in result.seconds


def test_a_trials_seconds_are_told_apart():
    result = run_trial(spec("leverage", dataset="digits", n_features=64))
    assert {name: result.seconds[name] > 0 for name in ("feature_s", "fit_s", "predict_s")} == {
        "feature_s": True, "fit_s": True, "predict_s": True,
    }  # fmt: skip
    assert result.seconds["shared"] is False


# ---- Metrics -----------------------------------------------------------------------------------------------


def test_the_kernel_error_is_of_dense_spectral_norms():
    one = spec("Ours released", n_features=8)
    slow, problem = Transcription(one), Problem.of(one)
    X = slow.X[problem.subsample]
    assert len(np.unique(problem.subsample)) == one.kernel_error_points
    K = np.exp(-one.kernel["gamma"] * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    Z = slow.map(X)
    dense = np.linalg.norm(K - Z @ Z.T, 2) / np.linalg.norm(K, 2)
    assert run_trial(one).metrics["kernel_error"] == pytest.approx(dense, rel=1e-5)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_an_exact_factor_of_the_kernel_has_no_error(n):
    X = np.random.default_rng(0).standard_normal((n, 3))
    points = Points(X, make_kernel("gaussian", 1.0))
    root = np.linalg.cholesky(points.kernel_matrix)

    def error(Z):
        return kernel_error(MapOnPoints(SimpleNamespace(transform=lambda X: Z), points))

    assert error(root) < 1e-12
    assert error(np.zeros((n, 1))) == pytest.approx(1)
    assert error(2 * root) == pytest.approx(3, rel=1e-5)


def test_a_norm_of_two_opposite_eigenvalues_is_found():
    Q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))
    values = np.linspace(-1, 1, 40)
    assert measuring.spectral_norm(Q * values @ Q.T) == pytest.approx(1, rel=1e-6)
    assert measuring.spectral_norm(np.zeros((5, 5))) == 0


def test_scores_are_percent_and_the_targets_unit():
    assert metrics.accuracy(np.array([1, -1, 1, 1]), np.array([1, 1, 1, -1])) == 50
    assert metrics.rmse(np.array([3.0, 4.0]), np.array([0.0, 0.0])) == pytest.approx(np.sqrt(12.5))
    assert metrics.relative_rmse(np.array([3.0, 4.0]), np.array([3.0, 3.0])) == pytest.approx(0.2)


def test_no_points_leave_the_kernel_error_out():
    assert "kernel_error" not in run_trial(spec(kernel_error_points=0)).metrics


# ---- Pairing -----------------------------------------------------------------------------------------------


def drawn(one, count=30):
    problem = Problem.of(one)
    return problem.features(one).draw(count, problem.split.X_train.shape[1])


def test_all_methods_of_a_trial_draw_the_same_frequencies_and_sizes_nest():
    plain = drawn(spec("RFF"))
    for method in METHODS:
        if not method.startswith("QMC"):
            np.testing.assert_array_equal(drawn(spec(method, n_features=25)), plain)
    np.testing.assert_array_equal(drawn(spec("RFF"), 7), plain[:, :7])
    np.testing.assert_array_equal(drawn(spec("QMC"), 7), drawn(spec("QMC"))[:, :7])


def test_what_is_resampled_are_frequencies_of_the_plain_map():
    plain = {tuple(w) for w in Transcription(spec("RFF")).features.frequencies_.T}
    for method in ("leverage", "Ours", "Ours eq12", "Ours released", "leverage released"):
        assert {tuple(w) for w in Transcription(spec(method)).features.frequencies_.T} <= plain


@pytest.mark.parametrize("change", [{"trial": 1}, {"seed": 1}, {"dataset": "synthetic"}])
def test_another_trial_seed_or_dataset_draws_anew(change):
    assert not np.isclose(drawn(spec("RFF"))[0, 0], drawn(spec("RFF", **change))[0, 0])


def test_the_split_is_the_trials_and_no_method_changes_it():
    def split(**changes):
        return Problem.of(spec(**changes)).split

    one = split()
    for changes in ({"method": "Ours"}, {"n_features": 64}, {"kernel": {"name": "cauchy", "gamma": 2.0}},
                    {"solver": {"folds": 5}}):  # fmt: skip
        np.testing.assert_array_equal(split(**changes).X_train.index, one.X_train.index)
    assert not np.array_equal(split(trial=1).X_train.index, one.X_train.index)
    assert not np.array_equal(split(seed=1).X_train.index, one.X_train.index)
    assert not set(one.X_train.index) & set(one.X_test.index)


# ---- Metrics of other packages -----------------------------------------------------------------------------


class MapWithMetrics(RandomFourierFeatures):
    """A map as another package may bring it: it measures something of itself, and says what that is."""

    own_metrics = (Metric("spread", "spread of the frequencies", better="less"), Metric("unmeasured"))
    measured: ClassVar[dict] = {}

    def fit(self, X, y=None):
        self.metrics_ = self.measured
        return super().fit(X, y)


def measured_with(monkeypatch, **measured):
    """A trial's row whose map measures ``measured``."""
    made = MapWithMetrics(n_components=40, gamma=0.3, random_state=0)
    monkeypatch.setattr(MapWithMetrics, "measured", measured)
    monkeypatch.setattr(Problem, "features", lambda self, spec: made)
    return run_trial(spec()).to_row()


def test_what_a_map_of_another_package_measures_is_in_the_row_with_what_it_means(monkeypatch):
    row = measured_with(monkeypatch, spread=np.float32(0.5), count=3)
    assert row["metrics"]["spread"] == 0.5
    assert row["metrics"]["count"] == 3
    assert row["own_metrics"] == {"spread": {"title": "spread of the frequencies", "unit": "", "better": "less"}}
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_metrics_that_are_none_are_refused_by_the_name_of_the_map(monkeypatch):
    monkeypatch.setattr(MapWithMetrics, "own_metrics", None)
    with pytest.raises(ValueError, match="own_metrics of MapWithMetrics must be a tuple of"):
        measured_with(monkeypatch, spread=1.0)
    with pytest.raises(ValueError, match="metrics_ of int must be a dictionary, numbers by name, got 5"):
        metrics_of(type("int", (), {"metrics_": 5})())


def test_a_trial_without_metrics_of_another_package_has_no_such_entry():
    assert "own_metrics" not in run_trial(spec()).to_row()


def test_a_map_cannot_put_another_score_in_the_place_of_the_one_that_is_measured(monkeypatch):
    assert measured_with(monkeypatch, accuracy=1000.0)["metrics"]["accuracy"] <= 100


def test_a_map_cannot_put_a_score_where_none_is_measured(monkeypatch):
    row = measured_with(monkeypatch, rmse=0.0, cv_error=0.0, kernel_norm=1.0, gamma=1.0, train_s=0.0, model_size=7.0)
    assert not row["metrics"].keys() & {"rmse", "kernel_norm", "gamma", "train_s"}
    assert row["metrics"]["cv_error"] > 0
    assert row["metrics"]["model_size"] == 7


@pytest.mark.parametrize(("name", "value"), [("spread", float("nan")), ("spread", "wide"), ("trial", 1.0)])
def test_a_metric_that_is_no_number_or_has_the_name_of_something_else_is_refused_by_name(monkeypatch, name, value):
    with pytest.raises(ValueError, match=rf"metrics_\['{name}'\] of MapWithMetrics"):
        measured_with(monkeypatch, **{name: value})
