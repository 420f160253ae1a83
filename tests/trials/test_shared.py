"""Trials done together are the trials done alone: the same choice of λ, the same scores."""

import itertools
import random
import time

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rffbench.data.cards import add_card
from rffbench.data.userfile import look
from rffbench.io.process import Contention
from rffbench.linalg.triangles import blas_bytes
from rffbench.solvers.base import default_block_rows
from rffbench.solvers.ridge.cross_validation import solve_ridge_cv
from rffbench.solvers.ridge.fold_statistics import FoldStatistics
from rffbench.solvers.ridge.streamed import StreamedRidgeCV
from rffbench.trials import memory as trial_memory
from rffbench.trials import shared as shared
from rffbench.trials import single
from rffbench.trials import tasks as plan
from rffbench.trials.problem import Problem
from rffbench.trials.results import FittedTrial
from rffbench.trials.shared import SharedPool, pool_size, run_shared
from rffbench.trials.single import run_trial
from tests.helpers.cases import slow
from tests.helpers.small_trials import METHODS, Heard, spec

pytestmark = pytest.mark.usefixtures("embedded")

SIZES = (6, 20, 33)
PAIRED = [label for label in METHODS if label != "offset"]


def grid(methods=tuple(METHODS), sizes=SIZES, **changes):
    return [spec(method, n_features=s, **changes) for s, method in itertools.product(sizes, methods)]


def together(specs, memory=None):
    """Every trial's result, done as one task."""
    heard = Heard(memory)
    plan.run_group(specs, heard)
    assert set(heard.results) == {one.key for one in specs}
    return heard.results


def same(result, other, rounding=None):
    label = result.spec.label
    if rounding is None:  # alone, the surrogate as written is scored in single precision
        rounding = 1e-5 if result.spec.method in ("Ours", "Ours pool") else 1e-9
    assert (result.status, result.error) == ("ok", None), label
    assert result.lambda_ == other.lambda_, label
    assert result.metrics.keys() == other.metrics.keys(), label
    for name, value in result.metrics.items():
        exact = 0 if name == "accuracy" else rounding
        assert value == pytest.approx(other.metrics[name], rel=exact, abs=0), f"{label}: {name}"
    assert result.curves.keys() == other.curves.keys(), label
    for name, values in result.curves.items():
        assert values == pytest.approx(other.curves[name], rel=rounding), f"{label}: {name}"


# ---- The same results --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"dataset": "synthetic-regression", "solver": {"folds": 4}},  # an even number: no spare triangle
        *slow(
            {"dataset": "synthetic-regression", "solver": {"center": False, "lambda_scale": 1}},
            {"dataset": "synthetic-regression", "solver": {"center": "both"}, "trial": 2, "seed": 9},
            {"solver": {"lambda": [0.01]}, "preprocess": ["sample-standard"]},
            {"solver": {"scoring": "accuracy", "path": True}},
        ),
        {"kernel": {"name": "laplacian", "gamma": 0.1}, "preprocess_fit": "all"},
        *slow({"kernel": {"name": "cauchy", "gamma": 0.1}, "dataset": "synthetic"}),
    ],
    ids=["plain", "even folds", "uncentred", "intercept", "one lambda", "by accuracy", "laplacian", "cauchy"],
)
def test_trials_done_together_are_the_trials_done_alone(changes):
    specs = grid(sizes=(6, 33) if changes else SIZES, **changes)
    problem = Problem.of(specs[0])
    for key, result in together(specs).items():
        alone = run_trial(result.spec, problem)
        assert (key, alone.seconds["shared"]) == (result.spec.key, False)
        assert result.seconds["shared"] == (result.spec.method != "offset")
        same(result, alone)


def test_trials_of_weighted_rows_are_done_alone_by_what_the_maps_choose_without_weights():
    specs = grid(sizes=(6,), solver={"class_weight": "balanced"})
    problem = Problem.of(specs[0])
    for result in together(specs).values():
        assert not result.seconds["shared"]
        same(result, run_trial(result.spec, problem))
        assert result.metrics != run_trial(spec(result.spec.method, n_features=6), problem).metrics


@pytest.fixture(scope="module")
def wines(tmp_path_factory):
    """The name of a dataset of three classes."""
    X, y = load_wine(return_X_y=True)
    path = tmp_path_factory.mktemp("wines") / "wines.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.10g")
    return add_card(look(path).card())


@pytest.mark.parametrize("changes", [
    {"solver": {"folds": 4, "center": "both"}},
    pytest.param({}, marks=pytest.mark.slow),
    pytest.param({"solver": {"scoring": "accuracy", "center": False}}, marks=pytest.mark.slow),
    pytest.param({"solver": {"lambda": [0.01]}, "kernel": {"name": "cauchy", "gamma": 0.1}}, marks=pytest.mark.slow),
], ids=["intercept", "plain", "by accuracy", "one lambda"])  # fmt: skip
def test_trials_of_several_classes_share_as_those_of_two_do(wines, changes):
    specs = grid(sizes=(6, 20), dataset=wines, **changes)
    problem = Problem.of(specs[0])
    assert problem.learnt.shape == (len(problem.split.y_train), 3)
    for result in together(specs).values():
        assert result.seconds["shared"] == (result.spec.method != "offset")
        # Sums over classes are in double precision alone too.
        same(result, run_trial(result.spec, problem), rounding=1e-9)


def test_several_classes_in_float32_agree_to_their_rounding(wines):
    for result in together(grid(("RFF", "Ours"), sizes=(20,), dataset=wines, dtype="float32")).values():
        same(result, run_trial(result.spec), rounding=1e-4)


def test_a_path_over_lambda_is_refused_for_several_classes_as_it_is_alone(wines):
    results = together(grid(("RFF", "QMC"), sizes=(6,), dataset=wines, solver={"path": True}))
    assert [result.error["message"] for result in results.values()] == [
        "path=True is for a single target or two classes, got 3 targets"
    ] * 2


def test_more_columns_than_rows_agree_too():
    for result in together(grid(("RFF", "leverage", "Ours released"), sizes=(20, 150))).values():
        assert result.seconds["shared"] == (result.spec.n_features == 20)  # more columns are solved in the rows
        same(result, run_trial(result.spec))


def test_float32_features_agree_to_their_rounding():
    specs = grid(("RFF", "QMC", "leverage", "Ours"), dataset="synthetic-regression", dtype="float32")
    for result in together(specs).values():
        same(result, run_trial(result.spec), rounding=1e-4)


def test_the_order_of_trials_changes_nothing():
    specs = grid(("RFF", "QMC", "leverage", "Ours pool", "offset"))
    first = together(specs)
    random.Random(0).shuffle(specs)
    for key, result in together(specs).items():
        same(result, first[key], rounding=1e-12)


def test_which_other_trials_share_changes_nothing():
    specs = grid(("RFF", "leverage", "Ours"))
    whole = together(specs)
    for part in (specs[:4], specs[4:], [one for one in specs if one.method == "Ours"]):
        for key, result in together(part).items():
            same(result, whole[key])


def test_a_choice_of_few_from_a_large_pool_is_done_alone_unless_another_trial_needs_the_pools_gram(monkeypatch):
    monkeypatch.setitem(METHODS, "Ours from many", {"name": "surrogate-leverage", "pool": 50})
    monkeypatch.setitem(METHODS, "leverage from many", {"name": "leverage", "pool": 50})
    for others, shares in [(("RFF",), False), (("RFF", "leverage from many"), True)]:
        for result in together(grid((*others, "Ours from many"), sizes=(20,))).values():
            assert result.seconds["shared"] == (shares or result.spec.method == "RFF"), result.spec.label
            same(result, run_trial(result.spec), rounding=1e-5)


def test_frequencies_chosen_by_the_targets_are_those_of_a_trial_alone(monkeypatch):
    for name in ("eerf", "kernel-alignment"):
        monkeypatch.setitem(METHODS, name, {"name": name, "pool": 3})
    for result in together(grid(("RFF", "Ours", "eerf", "kernel-alignment"), sizes=(6, 20))).values():
        assert result.seconds["shared"]
        same(result, run_trial(result.spec), rounding=1e-5)


def test_solvers_that_share_nothing_are_left_to_be_done_alone():
    specs = grid(("RFF", "Ours"), sizes=(6,), solver={"name": "kernel-ridge"})
    heard = Heard()
    assert run_shared(specs, Problem.of(specs[0]), heard) == specs
    assert not heard.results
    for result in together(specs).values():
        same(result, run_trial(result.spec))


# ---- Memory ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_within_a_memory_budget_the_small_sizes_share_and_the_large_are_done_alone(monkeypatch):
    for module in (shared, trial_memory):
        monkeypatch.setattr(module, "free_memory", lambda limit: limit)
    specs = grid(("RFF", "Ours", "QMC"), sizes=(6, 120, 140))  # at most as many columns as rows, 284
    columns, folds = 240, 3
    block = default_block_rows(columns) * (2 * columns + 3 * 30) * 8
    memory = FoldStatistics.bytes_needed(columns, folds) + block + blas_bytes(columns)
    results = together(specs, memory)
    for result in results.values():
        assert result.error is None, result.error
        assert result.seconds["shared"] == (result.spec.n_features <= 120), result.spec.label
        same(result, run_trial(result.spec))
    for result in together(specs, memory - 1).values():
        assert result.seconds["shared"] == (result.spec.n_features <= 6), result.spec.label


def test_what_cannot_fit_alone_either_costs_itself_only(monkeypatch):
    for module in (shared, trial_memory):
        monkeypatch.setattr(module, "free_memory", lambda limit: limit)
    results = together(grid(("RFF",), sizes=(6, 440), dataset="digits"), memory=5_000_000)
    assert [result.status for result in results.values()] == ["ok", "error"]
    assert list(results.values())[1].error["type"] == "MemoryBudgetError"


# ---- Failures ----------------------------------------------------------------------------------------------


def test_one_trials_failure_costs_no_other(monkeypatch):
    specs = grid(("RFF", "Ours", "offset"))
    bad = {specs[1].key, specs[2].key}  # one that shares, one that doesn't

    def measures(self):
        features = self.features
        if features.n_components == specs[1].n_features * 2 and hasattr(features, "variant"):
            raise FloatingPointError("the map is purple")
        if features.n_components == specs[2].n_features and not hasattr(features, "variant"):
            raise FloatingPointError("the map is purple")
        return before(self)

    before = FittedTrial.measures
    monkeypatch.setattr(FittedTrial, "measures", measures)
    results = together(specs)
    assert {key for key, result in results.items() if result.status == "error"} == bad
    assert all("purple" in results[key].error["message"] for key in bad)


# ---- Equal columns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["Ours", "leverage", "Ours pool"])
@pytest.mark.parametrize("center", [True, "both"])
def test_merging_a_frequency_drawn_twice_leaves_the_function_as_it_was(method, center):
    solver = {"lambda": [1e-3], "center": center}
    one = spec(method, n_features=33, dataset="synthetic-regression", solver=solver)
    problem = Problem.of(one)
    features = problem.features(one)
    pool = SharedPool(problem, [(one, features)])
    size = pool_size(features)
    selection = pool.select(features, size, len(problem.split.X_train))
    view, spread = pool.view(selection, size)
    assert view.columns < 66  # some were drawn twice
    assert view.columns == 2 * len(np.unique(selection.index))

    plain = problem.features(one).fit(np.asarray(problem.split.X_train), problem.split.y_train)
    Z = plain.transform(np.asarray(problem.split.X_train))
    reference = StreamedRidgeCV(alphas=[1e-3], folds=3, center=center).fit(Z, problem.split.y_train)
    solution = solve_ridge_cv(view, [1e-3], center=center).for_targets_at(pool.y_origin)
    single = 1e-5 if method.startswith("Ours") else 0.0  # what that method is scored in alone
    scale = np.abs(reference.coef_).max()
    np.testing.assert_allclose(spread(solution.coef)[:, 0], reference.coef_, rtol=1e-6, atol=1e-9 + single * scale)
    np.testing.assert_allclose(solution.intercept, reference.intercept_, rtol=1e-9 + single)


# ---- Seconds -----------------------------------------------------------------------------------------------


def test_seconds_are_the_shared_parts_up_to_the_trials_size_and_its_own():
    specs = grid(("RFF", "leverage"), sizes=(8, 40), dataset="digits")
    problem = Problem.of(specs[0])
    pool = SharedPool(problem, [(one, problem.features(one)) for one in specs])
    assert (pool.map_s > 0).all()
    assert (pool.gram_s > 0).all()
    pool.map_s[:], pool.gram_s[:] = [1e5, 2e5], [1e7, 2e7]  # far more than the own parts take
    expected = {  # mapping up to the size; scoring takes a Gram matrix too
        ("RFF", 8): (1e5, 1e7), ("RFF", 40): (3e5, 3e7),
        ("leverage", 8): (1e5 + 1e7, 1e7), ("leverage", 40): (3e5 + 3e7, 3e7),
    }  # fmt: skip
    for one in specs:
        timing = pool.measure(one, problem.features(one), None).seconds
        feature_s, fit_s = expected[one.method, one.n_features]
        assert feature_s < timing["feature_s"] < feature_s + 1e4, one.label
        assert fit_s < timing["fit_s"] < fit_s + 1e4, one.label
        assert timing["predict_s"] > 0
        assert timing["shared"]


# ---- Tasks -------------------------------------------------------------------------------------------------


def test_a_task_is_the_trials_alike_in_all_but_method_and_size():
    specs = [
        spec(method, n_features=s, multiple=s, **changes)
        for changes in (
            {}, {"trial": 1}, {"seed": 1}, {"dataset": "digits"}, {"dtype": "float32"}, {"device": "cuda"},
            {"kernel": {"name": "gaussian", "gamma": 0.4}}, {"preprocess": ["none"]},
            {"preprocess_fit": "all"}, {"solver": {"folds": 4}}, {"count": "columns"},
            {"kernel_error_points": 0}, {"timing": "exclusive"},
        )
        for s, method in itertools.product((4, 8), ("RFF", "Ours"))
    ]  # fmt: skip
    tasks = plan.tasks(specs)
    assert [len(task) for task in tasks] == [4] * 13
    assert [one for task in tasks for one in task] == specs
    assert plan.tasks([]) == []


def test_a_short_exclusive_trial_says_whether_others_were_at_work(monkeypatch):
    """Its timed parts are too short to tell; the time around them is not."""
    monkeypatch.setattr(single, "Contention", lambda: Contention(busy=time.process_time))  # nobody else is
    for timing, contended in (("shared", None), ("exclusive", False)):
        (result,) = together(grid(("RFF",), sizes=(6,), timing=timing, solver={"name": "none"})).values()
        assert result.seconds["contended"] is contended


@pytest.mark.parametrize(("usual", "fits"), [(0.01, 5), (0.06, 3), (0.3, 2), (0.6, 1)])
def test_a_short_exclusive_trial_is_repeated_and_the_median_counts(monkeypatch, usual, fits):
    """Fits take the ``usual`` seconds, and every third ten times that; five, or half a second of fits, are enough."""
    taken = []

    def seconds_of(solver, whole):
        taken.append(usual * (10 if len(taken) == 2 else 1))
        return {"feature_s": 0.0, "fit_s": taken[-1]}

    monkeypatch.setattr(single, "seconds_of", seconds_of)
    (result,) = together(grid(("RFF",), sizes=(6,), timing="exclusive")).values()
    assert len(taken) == fits
    assert result.seconds["fit_s"] == usual
    assert result.seconds.get("repeats", {}).get("fit_s", 1) == fits


def test_exclusive_trials_are_measured_alone():
    for result in together(grid(("RFF", "Ours"), sizes=(6, 20), timing="exclusive")).values():
        assert result.seconds["shared"] is False
        result.metrics.pop("own_memory_bytes")  # which those that share have not
        same(result, run_trial(result.spec))
