"""The median bandwidth, and fewer training rows."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from scipy.spatial.distance import pdist
from sklearn.base import clone

import rffbench
from rffbench.arguments.seeds import generator, split_stream
from rffbench.config.experiment import Experiment
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError, DataError, ResultsError
from rffbench.kernels import kernel_class, make_kernel
from rffbench.kernels.bandwidth import MEDIAN_ROWS
from rffbench.solvers import spec as solver_spec
from rffbench.trials.measuring import MapOnPoints, Points
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_trial
from tests.helpers.small_trials import spec

GAMMA = 0.8
CONFIG = {
    "name": "maps", "datasets": ["synthetic-regression"], "n_features": [8],
    "methods": {"RFF": {"features": "fourier"}}, "solver": {"name": "none"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_network(embedded):
    """Embedded and synthetic data only."""


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).random((n, d))


def measured(features, X, gamma=GAMMA):
    return MapOnPoints(clone(features).fit(X), Points(X, make_kernel("gaussian", gamma)))


def test_the_median_distance_is_in_the_kernels_norm():
    X = rows(20)
    pairs = [X[i] - X[j] for i in range(20) for j in range(i)]
    assert kernel_class("gaussian").median_distance(X) == pytest.approx(
        np.median([np.linalg.norm(pair) for pair in pairs])
    )
    assert kernel_class("laplacian").median_distance(X) == pytest.approx(
        np.median([np.abs(pair).sum() for pair in pairs])
    )


def test_the_median_bandwidth_is_taken_from_the_training_rows_and_told():
    one = spec("RFF", dataset="digits", kernel={"name": "gaussian", "gamma": "median"})
    result = run_trial(one)
    problem = Problem.of(one)
    X = problem.split.X_train[:]
    rng = generator(split_stream(one.seed, one.dataset, one.trial), "median distance")
    chosen = rng.choice(len(X), min(MEDIAN_ROWS, len(X)), replace=False)
    assert result.metrics["gamma"] == pytest.approx(1 / (2 * np.median(pdist(X[chosen])) ** 2))
    known = run_trial(replace(one, kernel={"name": "gaussian", "gamma": result.metrics["gamma"]}))
    assert known.metrics["accuracy"] == result.metrics["accuracy"]
    assert known.metrics["kernel_error"] == result.metrics["kernel_error"]
    assert "gamma" not in known.metrics


def test_a_config_asks_for_the_median_as_sigma_and_reads_its_resolved_form_again():
    experiment = Experiment.model_validate({**CONFIG, "kernel": {"sigma": "median"}})
    assert {one.kernel["gamma"] for one in experiment.grid()} == {"median"}
    again = Experiment.model_validate(yaml.safe_load(experiment.to_yaml()))
    assert [one.key for one in again.grid()] == [one.key for one in experiment.grid()]


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_maps_and_kernel_machines_of_a_trial_have_the_same_bandwidth_by_rule(rule):
    of_map = spec("RFF", kernel={"name": "laplacian", "gamma": rule}, train_rows=90)
    expected = run_trial(of_map).metrics["gamma"]
    for solver in ({"name": "kernel-ridge"}, {"name": "kernel-svm"}):
        machine = replace(of_map, features={"name": "none"}, solver=solver_spec(solver))
        problem = Problem.of(machine)
        assert run_trial(machine, problem).metrics["gamma"] == problem.gamma == expected
    assert Problem.of(replace(of_map, train_rows=None)).gamma != expected  # of other rows


def test_scale_is_of_the_training_rows_and_told_in_the_rows_of_a_config():
    one = spec("RFF", dataset="digits", kernel={"name": "gaussian", "gamma": "scale"})
    X = Problem.of(one).split.X_train[:]
    assert run_trial(one).metrics["gamma"] == pytest.approx(1 / (X.shape[1] * X.var()))
    experiment = Experiment.model_validate({**CONFIG, "kernel": {"gamma": "scale"}})
    assert {each.kernel["gamma"] for each in experiment.grid()} == {"scale"}
    again = Experiment.model_validate(yaml.safe_load(experiment.to_yaml()))
    assert [each.key for each in again.grid()] == [each.key for each in experiment.grid()]


def test_alike_rows_have_no_median_bandwidth(monkeypatch):
    monkeypatch.setattr("rffbench.kernels.Kernel.median_distance", lambda self, X: 0.0)
    with pytest.raises(DataError, match=r"training rows: .* median distance .* is 0; give a number in its place"):
        Problem.of(spec("RFF", kernel={"name": "gaussian", "gamma": "median"}))


@pytest.mark.parametrize(("kernel", "message"), [
    ({"name": "perceptron", "sigma": "median"}, "sigma must be a number, 1/R of the ball that holds the data"),
    ({"name": "perceptron", "gamma": "scale"}, "gamma must be a number, 1/R of the ball that holds the data"),
    ({"sigma": "mean"}, "must be a positive number, or a list of them, or median, not 'mean'"),
    ({"sigma": "scale"}, "must be a positive number, or a list of them, or median, not 'scale'"),
    ({"gamma": "auto"}, "must be a positive number, or a list of them, or scale or median, not 'auto'"),
])  # fmt: skip
def test_wrong_bandwidths_by_name_are_refused(tmp_path, kernel, message):
    path = tmp_path / "maps.yaml"
    path.write_text(yaml.safe_dump({**CONFIG, "kernel": kernel}))
    with pytest.raises(ConfigError, match=message):
        load_experiment(path)


def test_fewer_training_rows_are_the_first_of_a_trials_and_tested_alike():
    one = spec("RFF", dataset="digits", preprocess=["standard"])
    whole, part = Problem.of(one).split, Problem.of(replace(one, train_rows=100)).split
    assert part.X_train.shape == (100, whole.X_train.shape[1])
    assert np.array_equal(part.X_train.index, whole.X_train.index[:100])
    assert np.array_equal(part.X_test.index, whole.X_test.index)
    np.testing.assert_allclose(part.X_train[:].mean(axis=0), 0, atol=1e-9)  # scaled by its own rows
    more = Problem.of(replace(one, train_rows=10**6)).split
    assert len(more.X_train) == len(whole.X_train)


def test_train_rows_go_by_dataset_and_leave_the_keys_of_others_alone():
    base = {**CONFIG, "datasets": ["digits", "synthetic-regression"]}
    plain, fewer = (Experiment.model_validate({**base, **more})
                    for more in ({}, {"train_rows": {"default": None, "digits": 50}}))  # fmt: skip
    keys = [[one.key for one in each.grid()] for each in (plain, fewer)]
    same = [one.dataset for one, key in zip(fewer.grid(), keys[1], strict=True) if key in keys[0]]
    assert set(same) == {"synthetic-regression"}
    assert Experiment.model_validate(yaml.safe_load(fewer.to_yaml())).grid() == fewer.grid()
    with pytest.raises(ValueError, match="greater than 0"):
        Experiment.model_validate({**base, "train_rows": 0})


def test_held_out_rows_are_the_last_of_the_training_rows_in_place_of_the_test_rows():
    one = spec("RFF", dataset="digits", preprocess=["standard"])
    whole, part = Problem.of(one).split, Problem.of(replace(one, held_out=0.1)).split
    held = round(0.1 * len(whole.X_train))
    assert np.array_equal(part.X_train.index, whole.X_train.index[:-held])
    assert np.array_equal(part.X_test.index, np.sort(whole.X_train.index[-held:]))
    assert not set(part.X_test.index) & set(whole.X_test.index)
    assert np.array_equal(part.y_test, whole.y_train[-held:][np.argsort(whole.X_train.index[-held:])])
    np.testing.assert_allclose(part.X_train[:].mean(axis=0), 0, atol=1e-9)  # scaled without the rows held out


def test_a_config_may_hold_rows_out():
    held = Experiment.model_validate({**CONFIG, "held_out": 0.1})
    assert Experiment.model_validate(yaml.safe_load(held.to_yaml())).grid() == held.grid()
    with pytest.raises(ValueError, match="less than 1"):
        Experiment.model_validate({**CONFIG, "held_out": 1})


@pytest.mark.parametrize(("name", "value"), [("train_rows", 200), ("held_out", 0.1)])
def test_results_of_other_rows_are_not_taken_for_these(tmp_path, name, value):
    def run(folder, **changes):
        config = {**CONFIG, "solver": {"name": "ridge"}, "trials": 2, **changes}
        return rffbench.run(config, results=tmp_path / folder, executor="serial", progress=False)

    both = run("all"), run("other", **{name: value})
    scores = [results.trials["relative_rmse"].tolist() for results in both]
    with pytest.raises(ResultsError, match=f"2 of these trials .* with {name} null instead of {value}"):
        run("all", **{name: value})
    rows = b"".join((results.folder / "trials.jsonl").read_bytes() for results in both)
    for results, own in zip(both, scores, strict=True):
        (results.folder / "trials.jsonl").write_bytes(rows)
        assert rffbench.load(results.folder).trials["relative_rmse"].tolist() == own
    assert not set(scores[0]) & set(scores[1])
