"""A map or solver of another package cannot make a number wrong: not another method's, nor its own in silence."""

import pickle
import random
from dataclasses import replace
from operator import itemgetter
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from rffbench import RandomFourierFeatures
from rffbench.arguments.rowsource import Stopwatch
from rffbench.plugins.registry import Registry
from rffbench.solvers.svm.linear import LinearSVM
from rffbench.trials.guards import check_predictions, seconds_of
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_single, run_trial
from rffbench.trials.tasks import run_group
from tests.helpers.small_trials import RIDGE, Heard, spec

LIBLINEAR = {"name": "linear-svm", "method": "liblinear"}

pytestmark = pytest.mark.usefixtures("embedded", "one_thread")


class Foreign(BaseEstimator):
    """A map of another package, without ``fill``; the subclasses do one thing wrong."""

    def __init__(self, n_components=40, gamma=0.3, random_state=0):
        self.n_components, self.gamma, self.random_state = n_components, gamma, random_state

    def fit(self, X, y=None):
        self.map_ = RandomFourierFeatures(self.n_components, gamma=self.gamma, random_state=self.random_state).fit(X)
        return self

    def transform(self, X):
        return self.map_.transform(np.asarray(X))


class Scales(Foreign):
    def transform(self, X):
        X *= 2
        return super().transform(X)


class ScalesInFit(Foreign):
    def fit(self, X, y=None):
        X = np.asarray(X)
        np.multiply(X, 2, out=X)
        return super().fit(X)


class ScalesTargets(Foreign):
    def fit(self, X, y=None):
        y += 1
        return super().fit(X)


class ScalesACopy(Foreign):
    def transform(self, X):
        X = np.array(X)
        X *= 1
        return super().transform(X)


class Holes(Foreign):
    def transform(self, X):
        Z = super().transform(X)
        Z[len(X) // 2, 3] = np.nan
        return Z


class Huge(Foreign):
    def transform(self, X):
        return 1e200 * super().transform(X)


class Zeros(Foreign):
    def transform(self, X):
        return 0 * super().transform(X)


class Vanishing(Foreign):  # as a narrow kernel is at rows between the landmarks
    def transform(self, X):
        return 1e-120 * super().transform(X)


class SetsSeeds(Foreign):
    def fit(self, X, y=None):
        np.random.seed(0)  # noqa: NPY002
        return super().fit(X)


class DrawsInTransform(Foreign):
    def transform(self, X):
        random.random()
        return super().transform(X)


class Narrow(Foreign):
    def transform(self, X):
        return super().transform(X)[:, :7]


class OneRow(Foreign):
    def transform(self, X):
        return super().transform(X)[:1]


class Lists(Foreign):
    def transform(self, X):
        return super().transform(X).tolist()


def measured(monkeypatch, cls, **changes):
    """A trial of the map ``cls``."""
    monkeypatch.setattr(Problem, "features", lambda self, spec: cls())
    return run_trial(spec(**changes))


@pytest.mark.parametrize("solver", [RIDGE, {"name": "linear-svm"}, {"name": "none"}], ids=itemgetter("name"))
@pytest.mark.parametrize("cls", [Scales, ScalesInFit, ScalesTargets])
def test_a_map_that_changes_what_it_is_given_is_told_to_copy(monkeypatch, cls, solver):
    one = replace(spec(), solver=solver)
    problem = Problem.of(one)
    before = np.array(problem.split.X_train), problem.split.y_train.copy()
    monkeypatch.setattr(Problem, "features", lambda self, spec: cls())
    with pytest.raises(ValueError, match=rf"^{cls.__name__} writes to an array of its input.*X = X\.copy\(\)"):
        run_trial(one, problem)
    np.testing.assert_array_equal(problem.split.X_train, before[0])
    np.testing.assert_array_equal(problem.split.y_train, before[1])


def test_a_map_that_changes_its_rows_spoils_no_other_method(monkeypatch):
    one, other = spec(), spec("Ours", n_features=8)
    problem, heard = Problem.of(one), Heard()
    alone = run_trial(other)
    original = Problem.features
    monkeypatch.setattr(Problem, "features", lambda self, it: Scales() if it == one else original(self, it))
    run_single(one, problem, heard)
    run_single(other, problem, heard)
    assert heard.results[one.key].status == "error"
    assert heard.results[other.key].metrics["kernel_error"] == alone.metrics["kernel_error"]


def test_a_map_that_copies_first_may_do_as_it_likes(monkeypatch):
    assert measured(monkeypatch, ScalesACopy).metrics == measured(monkeypatch, Foreign).metrics


@pytest.mark.parametrize(
    ("cls", "solver", "points", "message"),
    [
        (Holes, {}, 0, "the features of Holes hold NaN, infinity"),
        (Holes, {"name": "none"}, 60, "the features of Holes hold NaN, infinity"),
        (Holes, {"name": "none"}, 0, "the features of Holes hold NaN, infinity"),
        (Holes, {"name": "linear-svm"}, 0, "the features of Holes hold NaN, infinity"),
        (Huge, {"name": "linear-svm"}, 0, "the features of Huge hold .* numbers too large to be squared"),
        (Huge, LIBLINEAR, 0, "the features of Huge hold .* numbers too large to be squared"),
        (Huge, {"name": "none"}, 60, "the features of Huge hold .* numbers too large to be squared"),
        (Zeros, {}, 0, "the features of Zeros are 0, or too small to be squared"),
        (Vanishing, {}, 0, "the features of Vanishing are 0, or too small to be squared: a wider kernel"),
        (Huge, {}, 0, "the features of Huge hold .* numbers too large to be squared"),
        (Narrow, {}, 0, r"Narrow.transform must give an array of numbers \(1, 40\), got float64 \(1, 7\)"),
        (OneRow, {}, 0, r"OneRow.transform must give an array of numbers \(\d+, 40\), got float64 \(1, 40\)"),
        (OneRow, {"name": "linear-svm"}, 0, r"OneRow.transform must give .* got float64 \(1, 40\)"),
        (OneRow, {"name": "none"}, 0, r"OneRow.transform must give .* got float64 \(1, 40\)"),
        (Lists, {}, 0, r"Lists.transform must give an array of numbers .* got list"),
    ],
)
def test_features_that_are_none_are_an_error_that_names_the_map(monkeypatch, cls, solver, points, message):
    one = replace(spec(kernel_error_points=points), solver=solver or RIDGE)
    monkeypatch.setattr(Problem, "features", lambda self, spec: cls())
    with pytest.raises(ValueError, match=message):
        run_trial(one)


@pytest.mark.parametrize("solver", [RIDGE, {"name": "linear-svm"}, {"name": "none"}], ids=itemgetter("name"))
@pytest.mark.parametrize(("cls", "whose"), [(SetsSeeds, "numpy's"), (DrawsInTransform, "Python's")])
def test_a_map_that_uses_a_global_generator_is_an_error_that_names_it(monkeypatch, cls, whose, solver):
    one = replace(spec(), solver=solver)
    monkeypatch.setattr(Problem, "features", lambda self, spec: cls())
    before = pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002
    with pytest.raises(ValueError, match=f"^{cls.__name__} sets or draws from {whose} global generator"):
        run_trial(one)
    assert pickle.dumps((random.getstate(), np.random.get_state())) == before  # noqa: NPY002


def test_a_solver_that_draws_from_a_global_generator_is_not_laid_to_the_map(monkeypatch):
    monkeypatch.setattr(Problem, "features", lambda self, spec: Foreign())
    fit = LinearSVM.fit

    def draws(self, X, y):
        random.random()
        return fit(self, X, y)

    monkeypatch.setattr(LinearSVM, "fit", draws)
    assert run_trial(replace(spec(), solver={"name": "linear-svm"})).status == "ok"


def test_training_rows_of_one_class_are_an_error_of_every_trial_before_any_is_done(monkeypatch):
    specs, heard = [spec(), spec("Ours", n_features=8)], Heard()
    problem = Problem.of(specs[0])
    alike = replace(problem, split=replace(problem.split, y_train=np.ones_like(problem.split.y_train)))
    monkeypatch.setattr(Problem, "of", lambda spec: alike)
    run_group(specs, heard)
    messages = {each.error["message"] for each in heard.results.values()}
    assert messages == {"the training rows of breast-cancer are all of one class, 1"}
    assert len(heard.results) == 2


class Solver:
    """Predicts what it is told."""

    def __init__(self, predicts):
        self.predicts, self.timing_ = predicts, {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.predicts(np.where(np.asarray(X)[:, 0] > 0.5, 1.0, -1.0))


def with_nan(y):
    y[3] = np.nan
    return y


@pytest.mark.parametrize(
    ("predicts", "dataset", "message"),
    [
        (
            lambda y: y[:, None],
            "breast-cancer",
            r"one number per row, shape \(\d+,\), got shape \(\d+, 1\); predi",
        ),
        (lambda y: y[:-1], "breast-cancer", r"one number per row, shape \(\d+,\), got shape"),
        (lambda y: 1.0, "breast-cancer", "one number per row, .* got float"),
        (lambda y: y.astype(str), "breast-cancer", "must give real numbers, got dtype <U"),
        (lambda y: y + 0j, "synthetic-regression", "must give real numbers, got dtype complex128"),
        (with_nan, "breast-cancer", "gives nan for row 3 of the test rows"),
        (with_nan, "synthetic-regression", "gives nan for row 3 of the test rows"),
        (lambda y: y * np.inf, "synthetic-regression", "gives -?inf for row 0 of the test rows"),
        (lambda y: y > 0, "breast-cancer", r"gives 0, which is not a label of the training rows \(-1, 1\)"),
        (lambda y: 0.3 * y, "breast-cancer", r"gives -?0.3, which is not a label of the training rows \(-1, 1\)"),
    ],
)
def test_predictions_that_are_none_are_an_error_and_no_score(monkeypatch, predicts, dataset, message):
    monkeypatch.setattr(Problem, "solver", lambda self, spec, features, memory=None: Solver(predicts))
    with pytest.raises(ValueError, match=rf"^Solver.predict.*{message}"):
        run_trial(spec(dataset=dataset))


def test_labels_may_have_any_real_type(monkeypatch):
    scores = []
    for dtype in (np.float64, np.float32, np.int64, np.int8):
        solver = Solver(lambda y, dtype=dtype: y.astype(dtype))
        monkeypatch.setattr(Problem, "solver", lambda self, spec, features, memory=None, solver=solver: solver)
        scores.append(run_trial(spec()).metrics["accuracy"])
    assert len(set(scores)) == 1


def test_a_message_lists_a_few_labels_of_many():
    with pytest.raises(ValueError, match=r"gives -1, which is not a label of the training rows \(0, 1, 2, 3, 4, …\)"):
        check_predictions(np.array([-1.0]), SimpleNamespace(), (1,), np.arange(30.0))


def test_checking_predictions_is_no_part_of_their_time(monkeypatch):
    inside = []
    monkeypatch.setattr(Stopwatch, "__exit__", lambda self, *_: inside.append(False))
    monkeypatch.setattr(Stopwatch, "__enter__", lambda self: inside.append(True) or self)
    monkeypatch.setattr("rffbench.trials.problem.check_predictions", lambda *_: inside.append("checked"))
    Problem.of(spec()).predict(Solver(lambda y: y))
    assert inside == [True, False, "checked"]


def test_a_solver_that_times_nothing_is_timed_as_a_whole():
    assert seconds_of(SimpleNamespace(), 0.5) == {"train_s": 0.5}
    parts = {"feature_s": np.float32(0.25), "gram_s": 1.0, "solve_s": 2}
    assert seconds_of(SimpleNamespace(timing_=parts), 9.0) == {"feature_s": 0.25, "fit_s": 3.0}


@pytest.mark.parametrize("said", [3, {}, {"feature_s": 0.1, "gram_s": 0.1, "solve_s": "0.1"}, {"feature_s": -1.0}])
def test_seconds_that_are_none_are_refused_by_the_solver_s_name(said):
    with pytest.raises(ValueError, match="timing_ of SimpleNamespace must have seconds, 0 or more, in feature_s, gram"):
        seconds_of(SimpleNamespace(timing_=said), 1.0)


# ---- What a trial is built of --------------------------------------------------------------------------------


@pytest.mark.parametrize("timing", ["shared", "features"])  # with features, the map is built again to be timed
def test_the_parts_of_a_trial_are_looked_up_once(monkeypatch, timing):
    asked, factory = [], Registry.factory
    monkeypatch.setattr(Registry, "factory", lambda self, name: asked.append(name) or factory(self, name))
    mine = spec(timing=timing, scores=["auc"])
    first = run_trial(mine)
    assert {"fourier", "ridge"} <= set(asked)
    asked.clear()
    assert run_trial(mine).metrics == first.metrics
    assert asked == []


def test_a_trial_that_is_sent_to_a_process_takes_no_code_along():
    mine = spec(scores=["auc"])
    run_trial(mine)
    there = pickle.loads(pickle.dumps(mine))
    assert (there, there.key) == (mine, mine.key)
    assert not {"map", "learner", "_scores"} & vars(there).keys()
