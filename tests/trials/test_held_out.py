"""A bandwidth is chosen for every learner that has one, by held-out rows and the config's metric."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from rffbench.config.costs import group_operations, operations
from rffbench.config.experiment import Experiment
from rffbench.data.cards import add_card
from rffbench.data.userfile import look
from rffbench.solvers import spec as solver_spec
from rffbench.trials.problem import Problem
from rffbench.trials.tasks import run_group
from tests.helpers.cases import others_slow
from tests.helpers.small_trials import Heard, spec

GAMMAS = [0.01, 0.1, 0.3, 1.0, 3.0, 10.0]
KERNEL = {"name": "gaussian", "gamma": GAMMAS}
SOLVERS = {
    "ridge": {"lambda": [1e-3]}, "linear-svm": {}, "logistic": {}, "gp": {}, "pcg": {}, "kernel-svm": {},
    "kernel-ridge": {}, "falkon": {}, "eigenpro": {}, "askotch": {}, "sparse-rf": {"lambda": [0.1], "steps": 4},
    "boosting": {"lambda": [0.1], "steps": 4},
}  # fmt: skip
ON_FEATURES = ("ridge", "linear-svm", "logistic", "gp")


@pytest.fixture(autouse=True)
def _no_network(embedded, one_thread):
    """Embedded and generated data; many small matrices."""


def machine(solver, **changes):
    """A trial of a learner on the kernel itself, or on Fourier features."""
    features = {"name": "fourier" if solver["name"] in ON_FEATURES else "none"}
    fields = {"dataset": "synthetic", "train_rows": 90, "kernel": KERNEL, "count": "columns", **changes}
    return replace(spec("RFF", **fields), features=features, solver=solver_spec(solver))


def run(*specs):
    heard = Heard()
    run_group(list(specs), heard)
    found = [heard.results[each.key] for each in specs]
    assert {each.status for each in found} == {"ok"}, found[0].error
    return found


def rows(one):
    split = Problem.of(replace(one, kernel={"name": "gaussian", "gamma": 1.0})).split
    return split.X_train[:], np.asarray(split.y_train)


@pytest.mark.parametrize(("scores", "scoring"), [
    ([], "accuracy"), (["balanced_accuracy", "auc"], "balanced_accuracy"),
    pytest.param(["mae", "auc"], "roc_auc", marks=pytest.mark.slow),
    pytest.param(["average_precision"], "average_precision", marks=pytest.mark.slow),
])  # fmt: skip
def test_of_classes_the_bandwidth_has_the_best_score_on_stratified_folds_as_by_scikit_learn(scores, scoring):
    chosen = []
    for trial in (1, 3):
        one = machine({"name": "kernel-svm", "loss": "hinge"}, trial=trial, scores=scores)
        X, y = rows(one)
        means = [
            cross_val_score(SVC(gamma=gamma), X, y, cv=StratifiedKFold(5), scoring=scoring).mean() for gamma in GAMMAS
        ]
        (result,) = run(one)
        assert result.metrics["gamma"] == GAMMAS[int(np.argmax(means))]
        assert result.metrics["cv_error"] == pytest.approx(1 - max(means), abs=1e-12)
        assert np.sum(np.isclose(means, max(means))) == 1, "another bandwidth would do as well"
        chosen.append(result.metrics["gamma"])
    assert len(set(chosen)) == 2


@pytest.mark.parametrize(("scores", "scoring"), [
    ([], "neg_root_mean_squared_error"), (["mae"], "neg_mean_absolute_error"), (["auc", "r2"], "r2"),
])  # fmt: skip
def test_of_values_the_bandwidth_has_the_best_score_on_the_folds_as_by_scikit_learn(scores, scoring):
    solver = {"name": "kernel-ridge", "lambda": [0.01], "lambda_scale": 1, "center": False, "folds": 4}
    one = machine(solver, dataset="synthetic-regression", scores=scores)
    X, y = rows(one)
    means = [
        cross_val_score(KernelRidge(alpha=0.01, kernel="rbf", gamma=gamma), X, y, cv=KFold(4), scoring=scoring).mean()
        for gamma in GAMMAS
    ]
    (result,) = run(one)
    assert result.metrics["gamma"] == GAMMAS[int(np.argmax(means))]
    assert result.metrics["cv_error"] == pytest.approx((1 if scoring == "r2" else 0) - max(means), rel=1e-6)
    assert 0.1 <= result.metrics["gamma"] <= 3.0, "a larger bandwidth, or a smaller one, is not always better"


@pytest.mark.parametrize("name", others_slow(SOLVERS, ["ridge", "pcg", "kernel-svm", "sparse-rf"]))
def test_every_learner_on_a_kernel_has_its_bandwidth_chosen_from_a_list_or_once_for_all_sizes(name):
    solver = {"name": name, **SOLVERS[name]}
    gammas = [0.3, 3000.0]  # with the second the rows are all alike, so that nothing is learnt
    (from_list,) = run(machine(solver, kernel={"name": "gaussian", "gamma": gammas}))
    assert from_list.metrics["gamma"] == 0.3
    once = {"times_median": [0.001, 1.0], "columns": 20, "rows": 60}
    sizes = [machine(solver, kernel={"name": "gaussian", "gamma": once}, n_features=n) for n in (20, 40)]
    found = run(*sizes)
    assert [each.metrics["times_median"] for each in found] == [1.0, 1.0]
    X, _ = rows(replace(sizes[0], train_rows=60))
    assert found[0].metrics["gamma"] == pytest.approx(1 / (2 * np.median(pdist(X)) ** 2))
    given = replace(sizes[1], kernel={"name": "gaussian", "gamma": found[1].metrics["gamma"]})
    assert found[1].metrics["accuracy"] == run(given)[0].metrics["accuracy"]


@pytest.mark.parametrize("gamma", [GAMMAS, {"times_median": [0.5, 1.0], "columns": 20, "rows": 60}])
@pytest.mark.parametrize("name", ["linear", "gradient-boosting"])
def test_a_learner_without_a_kernel_ignores_the_choice(name, gamma):
    one = machine({"name": name}, kernel={"name": "gaussian", "gamma": gamma})
    (result,) = run(one)
    (given,) = run(replace(one, kernel={"name": "gaussian", "gamma": 2.0}))
    assert result.metrics == given.metrics
    assert result.spec == one
    assert "bandwidth_s" not in result.seconds
    both = [replace(one, n_features=n) for n in (10, 20)]
    plain = [replace(each, kernel={"name": "gaussian", "gamma": 2.0}) for each in both]
    assert group_operations(both) == group_operations(plain)


def test_a_choice_once_for_all_sizes_is_that_of_a_list_on_the_same_rows_and_columns():
    times = [0.25, 0.5, 1.0, 2.0]
    once = {"times_median": times, "columns": 20, "rows": 90}
    one = machine({"name": "linear-svm"}, kernel={"name": "gaussian", "gamma": once}, n_features=20)
    X, _ = rows(one)
    gammas = [1 / (2 * (each * np.median(pdist(X))) ** 2) for each in times]
    of_list = replace(one, kernel={"name": "gaussian", "gamma": gammas})
    first, second = run(one)[0], run(of_list)[0]
    assert first.metrics["gamma"] == pytest.approx(second.metrics["gamma"], rel=1e-12)
    assert first.metrics["accuracy"] == second.metrics["accuracy"]
    assert {"times_median"} == first.metrics.keys() ^ second.metrics.keys()
    assert first.metrics["cv_error"] == pytest.approx(second.metrics["cv_error"], rel=1e-12)


@pytest.mark.parametrize("scores", [[], ["auc"]])
def test_a_rare_class_is_in_every_fold_that_can_have_it(scores, few_positive):
    """So few rows of a class that folds of neighbours would not all have one."""
    (result,) = run(machine({"name": "linear-svm"}, dataset=few_positive, train_rows=None, scores=scores))
    assert result.metrics["gamma"] in GAMMAS


@pytest.fixture
def few_positive(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], [54, 6])
    X[y == 1] += 2
    path = tmp_path / "rare.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.6g")
    card = look(path).card()
    return add_card(card)


def test_a_row_of_a_class_that_the_other_rows_lack_is_no_error(tmp_path):
    """Two classes far apart, and one row of a third: nobody can learn that one without having seen it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(scale=0.1, size=(61, 2)), np.repeat([0, 1, 2], [30, 30, 1])
    X += np.array([[0, 0], [5, 0], [0, 5]])[y]
    path = tmp_path / "lone.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.6g")
    name = add_card(look(path).card())
    halves = [machine({"name": "linear-svm"}, dataset=name, train_rows=None, trial=trial) for trial in range(4)]
    one = next(each for each in halves if 2 in rows(each)[1])
    assert run(one)[0].metrics["cv_error"] == 0


def test_of_rows_that_are_read_in_order_the_last_fold_alone_is_held_out():
    """The error is that of ridge on the map's features of the first 80 of 100 rows, by hand."""
    gammas = [0.1, 3.0]
    one = machine({"name": "gp"}, dataset="generated", train_rows=100, preprocess=["none"],
                  kernel={"name": "gaussian", "gamma": gammas})  # fmt: skip
    errors = []
    for gamma in gammas:
        given = replace(one, kernel={"name": "gaussian", "gamma": gamma})
        problem = Problem.of(given)
        X, y = problem.split.X_train[:], np.asarray(problem.split.y_train)
        Z, mean = problem.features(given).fit_transform(X), y[:80].mean()
        K = y[:80].var(ddof=1) * Z @ Z[:80].T
        found = mean + K @ np.linalg.solve(K[:80] + one.solver["noise"] * np.eye(80), y[:80] - mean)
        errors.append(np.sqrt(np.mean((y - found)[80:] ** 2)))
    (result,) = run(one)
    assert result.metrics["cv_error"] == pytest.approx(min(errors), rel=1e-9)


CONFIG = {
    "name": "chosen", "datasets": ["breast-cancer"], "n_features": [8], "count": "columns", "trials": 1,
    "kernel": {"name": "gaussian", "sigma": {"times_median": [0.5, 1]}}, "methods": {"RFF": {"features": "fourier"}},
}  # fmt: skip


def test_the_columns_and_rows_of_a_choice_have_defaults_that_its_trials_say():
    written = {"times_median": [0.5, 1], "columns": 512, "rows": 10_000}
    both = [
        Experiment.model_validate({**CONFIG, "kernel": {"sigma": each}})
        for each in (written, {"times_median": [0.5, 1]})
    ]
    plain, short = (each.grid() for each in both)
    assert [each.key for each in plain] == [each.key for each in short]
    assert short[0].kernel["gamma"] == {"times_median": [0.5, 1.0], "columns": 512, "rows": 10_000}


@pytest.mark.parametrize(("changes", "message"), [
    ({"solver": {"name": "none"}}, "by the errors of a solver, and solver: none has none"),
    ({"solver": {"name": "linear-svm"}, "kernel": {"sigma": {"times_median": [1, 2], "and_lambda": True}}},
     "and_lambda keeps the best of two λ or more, and linear-svm chooses none here"),
    ({"solver": {"name": "ridge", "lambda": 1.0}, "kernel": {"sigma": {"times_median": [1, 2], "and_lambda": True}}},
     "and_lambda keeps the best of two λ or more, and ridge chooses none here"),
    ({"methods": {"S": {"features": "none"}}, "n_features": [100], "solver": {"name": "sparse-rf", "lambda": 0.1}},
     "steps must divide n_features, 512"),
])  # fmt: skip
def test_a_choice_that_nothing_can_make_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Experiment.model_validate(CONFIG | changes)


def test_the_dry_run_counts_a_fit_for_each_fold_and_bandwidth():
    one = machine({"name": "logistic", "lambda": [1e-3]}, kernel={"name": "gaussian", "gamma": [0.1, 1.0, 3.0]})
    given = replace(one, kernel={"name": "gaussian", "gamma": 1.0})
    assert group_operations([one]) == pytest.approx((1 + 3 * 5) * operations(given))
    assert operations(one) == operations(given)  # what the seconds of its row say beside the choice
