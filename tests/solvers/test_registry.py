"""Configs name solvers; what is wrong in one is told before anything is built."""

import sys
from importlib.metadata import EntryPoint
from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest

from rffbench.errors import ConfigError
from rffbench.features.data_dependent.nystroem import NystroemFeatures
from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.plugins import registry
from rffbench.solvers import SOLVERS, check_solver, describe, make_solver, parameters
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV, StreamedRidgeCV


def test_a_config_s_words_reach_the_estimator():
    config = {"name": "ridge", "lambda": [0.5, 2], "folds": 3, "lambda_scale": 1, "center": "both"}
    model = make_solver(config, task="classification", memory=10**8)
    assert isinstance(model, StreamedRidgeClassifierCV)
    assert (model.alphas, model.folds, model.lambda_scale, model.center) == ([0.5, 2.0], 3, 1, "both")
    assert model.memory == 10**8


def test_one_lambda_and_defaults():
    model = make_solver({"name": "ridge", "lambda": 0.1}, task="regression")
    assert isinstance(model, StreamedRidgeCV)
    assert model.alphas == [0.1]
    assert check_solver({"name": "ridge"}) == parameters("ridge")


def test_kernel_ridge_takes_the_kernel():
    model = make_solver({"name": "kernel-ridge"}, task="regression", kernel="laplacian", gamma=2.0)
    assert (model.kernel, model.gamma) == ("laplacian", 2.0)
    X = np.linspace(0, 1, 30)[:, None]
    assert model.fit(X, X[:, 0]).predict(X).shape == (30,)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"name": "rigde"}, "unknown solver 'rigde'; did you mean 'ridge'"),
        ({"name": "ridge", "lamda": 1}, "of solver 'ridge': 'lamda'; did you mean 'lambda'"),
        ({"name": "ridge", "lambda": []}, "lambda must be a number, 0 or more"),
        ({"name": "kernel-ridge", "lambda": 0}, "lambda must be a positive number, or a list of them, got 0"),
        ({"name": "ridge", "lambda": [0.1, -1]}, "lambda must be a number, 0 or more"),
        ({"name": "ridge", "lambda": "little"}, "lambda must be a number, 0 or more, or a list of them, got 'little'"),
        ({"name": "ridge", "lambda": True}, "lambda must be a number, 0 or more"),
        ({"name": "ridge", "folds": 1}, "'ridge': folds must be a whole number, 2 or more, got 1"),
        ({"name": "ridge", "folds": 1, "lambda": 0.1}, "'ridge': folds must be a whole number, 2 or more, got 1"),
        ({"name": "ridge", "lambda_scale": "s"}, "lambda_scale must be one of 'n', 1, 'trace', got 's'"),
        ({"name": "ridge", "lambda_scale": True}, "lambda_scale must be one of 'n', 1, 'trace', got True"),
        ({"name": "ridge", "center": "mean"}, "center must be one of True, False, 'target', 'both', got 'mean'"),
        ({"name": "ridge", "center": 1}, "center must be one of True, False, 'target', 'both', got 1"),
        ({"name": "ridge", "path": 1}, "path must be one of True, False, got 1"),
        ({"name": "ridge", "scoring": "accuracy"}, "scoring must be null for a regression"),
        ({"name": "kernel-ridge", "scoring": "r2"}, "scoring must be one of None, 'accuracy', got 'r2'"),
        ({"name": "kernel-svm"}, "'kernel-svm' is for classification; for regression use 'kernel-ridge'"),
        ({"name": "sparse-rf", "steps": 0}, "steps must be a whole number, 1 or more, got 0"),
        ({"name": "sparse-rf", "subproblem": "liblinear"}, "subproblem is for classification, got 'liblinear'"),
        ({"name": "boosting", "record": "yes"}, "record must be one of True, False, got 'yes'"),
    ],
)
def test_a_wrong_config_is_refused_with_what_would_be_right(config, message):
    with pytest.raises(ConfigError, match=message):
        make_solver(config, task="regression", n_features=100)


def test_another_device_gets_the_parameters_that_it_takes_and_refuses_the_others(monkeypatch):
    there = SimpleNamespace(TorchRidgeCV=dict, TorchRidgeClassifierCV=lambda alphas, **rest: (alphas, rest))
    monkeypatch.setitem(sys.modules, "rffbench.solvers.ridge.torch", there)  # PyTorch is an extra
    features = RandomFourierFeatures(4)
    asked = {"task": "classification", "features": features, "device": "cuda"}
    rest = {"folds": 5, "lambda_scale": "n", "center": True, "features": features, "device": "cuda"}
    assert make_solver({"name": "ridge", "lambda": 1}, **asked) == ([1.0], rest)
    for key, value in {"scoring": "accuracy", "path": True}.items():
        with pytest.raises(ConfigError, match=f"cuda runs ridge without {key}"):
            make_solver({"name": "ridge", key: value}, **asked)
    with pytest.raises(ConfigError, match="cuda runs Fourier feature maps, not NystroemFeatures"):
        make_solver({"name": "ridge"}, **{**asked, "features": NystroemFeatures(4)})


def test_every_solver_is_listed():
    assert [row["name"] for row in describe()] == SOLVERS.names()
    assert {"ridge", "kernel-ridge"} <= set(SOLVERS.names())


def test_many_lambdas_are_looked_through_once():
    grid = np.linspace(1, 2, 45_000).tolist()
    started = process_time()
    assert len(check_solver({"lambda": grid})["lambda"]) == 45_000
    with pytest.raises(ConfigError, match="lambda gives 1 twice"):
        check_solver({"lambda": [*grid, 1.0]})
    assert process_time() - started < 10  # each with each took minutes


def test_yaml_s_text_for_a_small_number_is_a_lambda():
    assert check_solver({"lambda": ["1e-3", 1]})["lambda"] == [0.001, 1.0]


def test_a_package_s_own_solver_is_found(monkeypatch):
    def factory(**given):
        return given

    factory.parameters = {"depth": 3}

    class Point:
        name, value, group, module = "tree", "somewhere:factory", "rffbench.solvers", "somewhere"

        def load(self):
            return factory

    broken = EntryPoint("broken", "no_such_module:factory", "rffbench.solvers")
    monkeypatch.setattr(registry, "entry_points", lambda group: [Point(), broken])
    assert parameters("tree") == {"depth": 3}
    made = make_solver({"name": "tree", "depth": 4}, task="regression")
    asked = {"task", "features", "kernel", "gamma", "memory", "n_features", "random_state", "depth"}
    assert (set(made), made["depth"]) == (asked, 4)
    with pytest.raises(ConfigError, match="'broken' cannot be loaded from no_such_module:factory"):
        parameters("broken")
    assert "cannot be loaded" in {row["name"]: row["summary"] for row in describe()}["broken"]
