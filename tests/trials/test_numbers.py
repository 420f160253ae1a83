"""What a trial's row says of numbers that no kernel can tell apart, and of a solver that did the next best."""

from dataclasses import replace

import numpy as np
import pytest

from rffbench.data import Rows, train_test
from rffbench.errors import DataError
from rffbench.execution.row import check_row
from rffbench.solvers import SOLVERS
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_trial
from rffbench.trials.tasks import run_group
from tests.helpers.small_trials import Heard, spec

pytestmark = pytest.mark.usefixtures("embedded", "one_thread")

NONE = {"name": "none"}
SOLVER_SPECS = [
    {"features": {"name": "fourier"}, "solver": {"name": "ridge"}},
    {"features": {"name": "surrogate-leverage"}, "solver": {"name": "linear-svm"}},
    {"features": {"name": "fourier"}, "solver": {"name": "logistic"}},
    {"features": {"name": "fourier"}, "solver": {"name": "pcg"}},
    {"features": {"name": "fourier"}, "solver": {"name": "gp"}},
    {"features": NONE, "solver": {"name": "falkon"}, "count": "columns", "n_features": 16},
    *({"features": NONE, "solver": {"name": name}} for name in (
        "kernel-ridge", "kernel-svm", "sparse-rf", "boosting", "eigenpro", "askotch", "linear", "gradient-boosting")),
]  # fmt: skip


def measured(**asked):
    """A trial of 40 rows."""
    if asked["solver"]["name"] == "ridge":
        asked["solver"] = {"lambda_scale": "n", **asked["solver"]}
    return replace(spec(train_rows=40, n_features=100), **asked)


def with_numbers(monkeypatch, change, preprocess=None):
    """From here on the rows of a dataset are what ``change`` makes of them."""

    def changed(*names, **settings):
        split = train_test(*names, **settings)
        parts = [np.array(part[:], dtype=np.float64) for part in (split.X_train, split.X_test)]
        change(*parts)
        rows = [Rows(part, np.arange(len(part)), preprocess, settings["dtype"]) for part in parts]
        return replace(split, X_train=rows[0], X_test=rows[1])

    monkeypatch.setattr("rffbench.trials.problem.data.train_test", changed)


@pytest.mark.slow
@pytest.mark.parametrize("asked", SOLVER_SPECS, ids=lambda asked: asked["solver"]["name"])
def test_test_rows_that_the_kernel_cannot_tell_apart_are_refused_by_every_solver(monkeypatch, asked):
    with_numbers(monkeypatch, lambda train, test: np.copyto(test[3, 1:2], 1e300))
    with pytest.raises(DataError, match=r"numbers beyond \de\+\d\d, where those of float32 are .* scale"):
        run_trial(measured(**asked, dtype="float32"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("part", [0, 1], ids=["training rows", "test rows"])
def test_numbers_that_the_kernel_cannot_tell_apart_are_refused_wherever_they_are(monkeypatch, dtype, part):
    with_numbers(monkeypatch, lambda *parts: np.copyto(parts[part][3, 1:2], 1e300))
    with pytest.raises(DataError, match=rf"numbers beyond \de\+\d\d, where those of {dtype} are .* scale"):
        run_trial(measured(**SOLVER_SPECS[0], dtype=dtype))


def test_there_is_a_test_of_every_solver():
    assert {asked["solver"]["name"] for asked in SOLVER_SPECS} == {name for name in SOLVERS.names() if name != "none"}


@pytest.mark.slow
@pytest.mark.parametrize("asked", SOLVER_SPECS, ids=lambda asked: asked["solver"]["name"])
def test_constant_and_repeated_columns_and_rows_are_measured(monkeypatch, asked):
    def degenerate(train, test):
        train[:, :10] = test[:, :10] = 0.5
        train[:, 10:20], test[:, 10:20] = train[:, 20:30], test[:, 20:30]
        train[20:] = train[:20]

    with_numbers(monkeypatch, degenerate)
    result = run_trial(measured(**asked))
    check_row(result.to_row())
    assert result.metrics["accuracy"] > 50


@pytest.mark.parametrize("methods", [["RFF"], ["RFF", "QMC"]], ids=["alone", "shared"])
def test_a_row_says_which_lambda_was_passed_over_as_too_small(monkeypatch, methods):
    with_numbers(monkeypatch, lambda train, test: np.copyto(train, np.resize(train[:20], train.shape)))
    specs = [spec(name, n_features=40, solver={"lambda": [1e-300, 1e-3]}) for name in methods]
    heard = Heard()
    run_group(specs, heard)
    for each in specs:
        result = heard.results[each.key]
        assert (result.status, result.lambda_) == ("ok", 1e-3), result.error
        row = result.to_row()
        check_row(row)
        assert row["warnings"] == [
            "passed over: ZᵀZ plus the penalty of lambda=1e-300 is not positive definite; take a larger lambda"
        ]


def test_a_row_without_warnings_has_no_entry_of_them():
    assert "warnings" not in run_trial(spec()).to_row()


def test_the_widest_rows_of_the_perceptron_kernel_are_told_of(monkeypatch):
    with_numbers(monkeypatch, lambda train, test: np.copyto(train[3, 1:2], 1e300))
    with pytest.raises(DataError, match="training rows: the squares of some numbers overflow"):
        Problem.of(replace(spec(), kernel={"name": "perceptron", "gamma": None}))
