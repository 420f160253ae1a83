"""A bandwidth that is chosen once for all sizes of a map."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import yaml
from scipy.spatial.distance import pdist
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold

from rffbench.arguments.seeds import split_stream
from rffbench.config.costs import group_operations, operations
from rffbench.config.experiment import Experiment
from rffbench.io.process import Contention
from rffbench.kernels.bandwidth import gamma_of_rows
from rffbench.trials import single, tuning
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_trial
from rffbench.trials.spec import TrialSpec
from rffbench.trials.tasks import run_group
from rffbench.trials.tuning import choose, tuning_spec
from tests.helpers.small_trials import Heard, spec

GRID = [0.05, 1.0, 20.0]
KERNEL = {"name": "gaussian", "gamma": {"times_median": GRID, "columns": 40, "rows": 150}}
CONFIG = {
    "name": "tuned", "datasets": ["breast-cancer"], "n_features": [8, 20], "count": "columns", "trials": 1,
    "kernel": {"name": "gaussian", "sigma": KERNEL["gamma"]},
    "methods": {"RFF": {"features": "fourier"}, "ORF": {"features": "orthogonal"}},
    "solver": {"name": "ridge", "lambda": [1e-4, 1e-2]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_network(embedded):
    """Embedded data only."""


def asked(**changes):
    return spec("RFF", kernel=KERNEL, count="columns", **changes)


def run(specs):
    heard = Heard()
    run_group(specs, heard)
    return [heard.results[each.key] for each in specs]


def test_the_bandwidth_is_that_of_the_least_error_at_so_many_columns_on_so_many_rows():
    one = asked(n_features=10)
    (result,) = run([one])
    errors = []
    base = replace(tuning_spec(one), kernel_error_points=10, measures=["kernel_error"])
    assert (base.n_features, base.train_rows) == (40, 150)
    stream = split_stream(one.seed, one.dataset, one.trial)
    rows = Problem.of(base).split.X_train
    for times in GRID:
        gamma = gamma_of_rows("gaussian", "median", rows, stream, times)
        tried = run_trial(replace(base, kernel={"name": "gaussian", "gamma": gamma}))
        errors.append((tried.metrics["cv_error"], gamma))
    assert result.metrics["gamma"] == min(errors)[1]
    assert result.metrics["times_median"] == GRID[int(np.argmin([error for error, _ in errors]))]
    known = run_trial(replace(one, kernel={"name": "gaussian", "gamma": min(errors)[1]}))
    assert result.metrics["accuracy"] == known.metrics["accuracy"]
    assert result.lambda_ == known.lambda_
    assert result.spec == one
    assert result.seconds["bandwidth_s"] > 0


def held_out_by_scikit_learn(one):
    """The error on each fold of each multiple at its best λ, (multiples, folds): a ridge with the targets centred."""
    problem = Problem.of(tuning_spec(one))
    X, y = problem.split.X_train[:], np.asarray(problem.split.y_train)
    found = []
    for times in one.kernel["gamma"]["times_median"]:
        at = replace(problem, gamma=1 / (2 * (times * np.median(pdist(X))) ** 2))
        Z = at.features(tuning_spec(one)).fit(X).transform(X)
        errors = np.empty((len(one.solver["lambda"]), one.solver["folds"]))
        for fold, (there, held) in enumerate(KFold(one.solver["folds"]).split(Z)):
            mean = y[there].mean()
            for place, lambda_ in enumerate(one.solver["lambda"]):
                ridge = Ridge(alpha=lambda_ * len(there), fit_intercept=False).fit(Z[there], y[there] - mean)
                errors[place, fold] = mean_squared_error(y[held], mean + ridge.predict(Z[held]))
        found.append(errors[errors.mean(axis=1).argmin()])
    return np.array(found)


@pytest.mark.parametrize("trial", [1, 8])
def test_the_bandwidth_has_the_least_mean_of_the_folds_errors_as_by_scikit_learn(trial):
    times = [0.25, 0.5, 1.0, 2.0, 4.0]
    kernel = {"name": "gaussian", "gamma": {"times_median": times, "columns": 40, "rows": 150}}
    solver = {"lambda": [1e-4, 1e-2], "folds": 5}
    one = spec("RFF", dataset="synthetic-regression", trial=trial, count="columns", kernel=kernel, solver=solver)
    errors = held_out_by_scikit_learn(one)
    best = times[errors.mean(axis=1).argmin()]
    assert best != times[np.median(errors, axis=1).argmin()], "a fold that is off would not matter here"
    assert run([one])[0].metrics["times_median"] == best


@pytest.mark.parametrize(("rows", "train_rows", "used"), [(150, None, 150), (150, 90, 90), (90, 150, 90)])
def test_the_choice_is_on_the_first_of_the_training_rows_as_many_as_are_asked_for(rows, train_rows, used):
    kernel = {"name": "gaussian", "gamma": {**KERNEL["gamma"], "rows": rows}}
    one = replace(asked(), kernel=kernel, train_rows=train_rows)
    every = Problem.of(replace(one, train_rows=None, kernel={"name": "gaussian", "gamma": 1.0}, preprocess=["none"]))
    X = every.split.X_train[:][:used]
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)  # minmax, by those rows alone
    (result,) = run([one])
    sigma = result.metrics["times_median"] * np.median(pdist(X))
    assert result.metrics["gamma"] == pytest.approx(1 / (2 * sigma**2), rel=1e-9)


def played(others):
    """The contention of sections that last a second each, in which others use the processors for so many seconds."""
    busy = itertools.count(0.0, others).__next__ if others is not None else lambda: None
    return lambda: Contention(busy=busy, own=lambda: 0.0, clock=itertools.count(0.0, 1.0).__next__)


@pytest.mark.parametrize(("choice", "trial", "contended"), [
    (0.0, 0.0, False), (1.0, 0.0, True), (0.0, 1.0, True), (1.0, 1.0, True), (1.0, None, True), (None, 1.0, True),
    (None, 0.0, None), (0.0, None, None), (None, None, None),
])  # fmt: skip
def test_seconds_are_undisturbed_only_where_the_choice_and_the_trial_are(monkeypatch, choice, trial, contended):
    monkeypatch.setattr(tuning, "Contention", played(choice))
    monkeypatch.setattr(single, "Contention", played(trial))
    assert run([asked()])[0].seconds["contended"] is contended


def test_all_sizes_have_the_same_bandwidth_whichever_of_them_are_run_together():
    sizes = [asked(n_features=n) for n in (8, 20)]
    both = run(sizes)
    (alone,) = run(sizes[1:])
    assert both[0].metrics["gamma"] == both[1].metrics["gamma"] == alone.metrics["gamma"]
    assert both[1].metrics["accuracy"] == alone.metrics["accuracy"]
    assert len({each.seconds["bandwidth_s"] for each in both}) == 1


def test_a_multiple_at_the_end_of_its_grid_is_flagged():
    narrow = {"name": "gaussian", "gamma": {**KERNEL["gamma"], "times_median": [0.02, 0.3]}}
    (result,) = run([replace(asked(), kernel=narrow)])
    assert result.metrics["times_median"] == 0.3
    assert result.edges["times_median"]["gain"] > 0


def test_what_was_tried_and_not_chosen_warns_of_nothing(recwarn):
    """200 landmarks of 150 rows: a fallback at every bandwidth, of which the trial with the chosen one tells."""
    kernel = {"name": "gaussian", "gamma": {"times_median": GRID, "columns": 200, "rows": 150}}
    (result,) = run([replace(asked(n_features=200), kernel=kernel, features={"name": "nystroem"})])
    assert len(result.warnings) <= 1
    assert not [each for each in recwarn if "landmarks" in str(each.message)]


def test_the_chosen_lambda_can_be_kept():
    kernel = {"name": "gaussian", "gamma": {**KERNEL["gamma"], "and_lambda": True}}
    one = replace(asked(), kernel=kernel)
    (result,) = run([one])
    chosen = choose(one, Problem.of(tuning_spec(one)))
    assert result.lambda_ == chosen.lambda_
    assert "cv_error" not in result.metrics


def test_all_methods_can_have_the_bandwidth_that_one_map_chooses():
    of_all = {"name": "gaussian", "gamma": {**KERNEL["gamma"], "features": "fourier"}}
    ours = spec("Ours", kernel=of_all, count="columns", n_features=20)
    heard = Heard()
    run_group([ours, replace(asked(n_features=20), kernel=of_all)], heard)
    (alone,) = run([asked(n_features=20)])
    both = list(heard.results.values())
    assert [each.metrics["gamma"] for each in both] == [alone.metrics["gamma"]] * 2
    rff = next(each for each in both if each.spec.method == "RFF")
    assert rff.metrics["accuracy"] == alone.metrics["accuracy"]
    own = [replace(ours, kernel=KERNEL), asked()]
    common = [replace(each, kernel=of_all) for each in own]
    assert group_operations(common) < group_operations(own)  # it is chosen once


def test_a_method_for_which_it_fails_fails_alone():
    broken = asked(n_features=8, solver={"lambda": [1e-3, 1e-2], "folds": 200})
    broken = replace(broken, method="broken")
    heard = Heard()
    run_group([broken, replace(broken, n_features=20)], heard)
    assert {result.status for result in heard.results.values()} == {"error"}
    assert len(heard.results) == 2


def test_a_config_that_asks_for_it_is_read_back_from_what_a_run_writes():
    experiment = Experiment.model_validate(CONFIG)
    assert [each.kernel for each in experiment.grid()] == [KERNEL] * 4
    again = Experiment.model_validate(yaml.safe_load(experiment.to_yaml()))
    assert again.grid() == experiment.grid()
    assert TrialSpec.from_row(experiment.grid()[0].to_dict()) == experiment.grid()[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": {"sigma": {"times_median": [1, 2], "columns": 8, "rows": 0}}}, "rows"),
        ({"kernel": {"sigma": {"times_median": [1, 1], "columns": 8, "rows": 9}}}, "1.0 is given twice"),
        ({"kernel": {"sigma": {"times_median": [1, 2], "columns": 9, "rows": 9}}}, "even"),
        ({"kernel": {"name": "arc-cosine", "gamma": KERNEL["gamma"]}}, "has no bandwidth"),
        ({"kernel": {"sigma": {**KERNEL["gamma"], "features": "fouirer"}}}, "did you mean fourier|fourier"),
        ({"kernel": {"sigma": {**KERNEL["gamma"], "features": "none"}}}, "unknown feature map 'none'"),
        ({"kernel": {"name": "laplacian", "sigma": {**KERNEL["gamma"], "features": "sorf"}}}, "laplacian"),
    ],
)
def test_what_cannot_be_chosen_so_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Experiment.model_validate(CONFIG | changes)


def test_the_dry_run_counts_the_choice_once_for_each_method():
    one = [asked(n_features=8), asked(n_features=20)]
    given = [replace(each, kernel={"name": "gaussian", "gamma": 1.0}) for each in one]
    tuning = replace(tuning_spec(one[0]), kernel={"name": "gaussian", "gamma": 1.0})
    assert group_operations(one) - group_operations(given) == pytest.approx(3 * operations(tuning))
