"""Configs name solvers; what is wrong in one is told before anything is built."""

import numpy as np
import pytest

from rffbench.errors import ConfigError
from rffbench.solvers import check_solver, describe, make_solver, parameters, solver_names
from rffbench.solvers.ridge import StreamedRidgeClassifierCV, StreamedRidgeCV


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
        ({"name": "ridge", "lambda": []}, "lambda must be a positive number"),
        ({"name": "ridge", "lambda": [0.1, -1]}, "lambda must be a positive number"),
        ({"name": "ridge", "lambda": "0.1"}, "lambda must be a positive number"),
        ({"name": "ridge", "folds": 1}, "folds must be an integer of at least 2"),
        ({"name": "ridge", "lambda_scale": "s"}, "lambda_scale must be 'n'"),
        ({"name": "ridge", "center": "mean"}, "center must be"),
    ],
)
def test_a_wrong_config_is_refused_with_what_would_be_right(config, message):
    with pytest.raises(ConfigError, match=message):
        make_solver(config, task="regression")


def test_every_solver_is_listed():
    assert [name for name, _, _ in describe()] == solver_names()
    assert {"ridge", "kernel-ridge"} <= set(solver_names())


def test_a_package_s_own_solver_is_found(monkeypatch):
    import importlib.metadata

    def factory(**given):
        return given

    factory.parameters = {"depth": 3}

    class Point:
        name, value = "tree", "somewhere:factory"

        def load(self):
            return factory

    broken = importlib.metadata.EntryPoint("broken", "no_such_module:factory", "rffbench.solvers")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Point(), broken])
    assert parameters("tree") == {"depth": 3}
    assert make_solver({"name": "tree", "depth": 4}, task="regression")["depth"] == 4
    with pytest.raises(ConfigError, match="'broken' cannot be loaded from no_such_module:factory"):
        parameters("broken")
