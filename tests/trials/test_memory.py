"""More memory never turns a trial that is done into one that is not: plans count what is held."""

import tracemalloc

import numpy as np
import pytest

from rffbench import RandomFourierFeatures, StreamedRidgeCV
from rffbench.data import Rows
from rffbench.errors import MemoryBudgetError
from rffbench.features.data_dependent.nystroem import NystroemFeatures
from rffbench.features.data_dependent.tefm import TrainingEfficientFeatureMap
from rffbench.features.structured.compact import CompactFeatures
from rffbench.features.structured.orthogonal import OrthogonalRandomFeatures
from rffbench.io.process import RESERVE_BYTES, private_memory
from rffbench.linalg.triangles import blas_bytes
from rffbench.trials import single
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_single, run_trial
from tests.helpers.small_trials import Heard, spec

pytestmark = pytest.mark.usefixtures("embedded", "one_thread")

UNCOUNTED = 1_500_000  # bytes that no plan counts: threads' tiles, Python's objects


class WithoutFill:
    """A map of another package: each block of features is made anew."""

    def __init__(self, n_components):
        self.n_components = n_components

    def get_params(self, deep=True):
        return {"n_components": self.n_components}

    def fit(self, X, y=None):
        self.map_ = RandomFourierFeatures(self.n_components, random_state=0).fit(X[:1])
        return self

    def transform(self, X):
        return self.map_.transform(X)


MAPS = {
    "orthogonal": OrthogonalRandomFeatures(400, random_state=0),
    "of another package": WithoutFill(400),
    "compact": CompactFeatures(300, random_state=0),
    "tefm": TrainingEfficientFeatureMap(150, random_state=0),
    "nystroem": NystroemFeatures(300, random_state=0),
}


def rows(n, d, dtype=np.float64):
    X = np.random.default_rng(0).uniform(size=(n, d))
    return Rows(X, np.arange(n), dtype=dtype), X[:, 0] - 0.5


def peak(model, X, y):
    """The most that a fit allocates at a time; None where it is refused."""
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    except MemoryBudgetError:
        return None
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize(("folds", "center", "dtype"), [(5, True, np.float64), (4, "both", np.float32)])
@pytest.mark.parametrize("name", MAPS)
def test_a_fit_holds_no_more_than_its_budget_whatever_that_is_and_from_some_budget_on_it_is_done(
    name, folds, center, dtype
):
    X, y = rows(900, 10, dtype)
    done = []
    settings = {"alphas": [1e-3, 1e-2], "folds": folds, "center": center, "features": MAPS[name]}
    StreamedRidgeCV(**settings).fit(X, y)  # what is allocated once in a process is none of a fit's
    everything = StreamedRidgeCV(**settings).bytes_to_fit(*X.shape)
    for budget in np.linspace(0.1, 1.5, 8) * everything:
        held = peak(StreamedRidgeCV(**settings, memory=int(budget)), X, y)
        assert held is None or held < budget + UNCOUNTED, budget
        done.append(held is not None)
    assert done == sorted(done)
    assert done[-1]


@pytest.mark.parametrize("seed", range(100))
def test_more_memory_never_turns_a_fit_that_is_planned_into_one_that_is_refused(seed):
    rng = np.random.default_rng(seed)
    n, d, p = (int(10 ** rng.uniform(1, most)) for most in (6, 2.9, 3.6))
    folds, alphas = rng.integers(2, 12, size=2).tolist()
    budgets = np.sort(10 ** rng.uniform(4, 10, size=20)).astype(int).tolist()

    def planned(memory):
        features = RandomFourierFeatures(2 * p)
        try:
            return StreamedRidgeCV([0.1] * alphas, folds=folds, features=features, memory=memory).bytes_to_fit(n, d)
        except MemoryBudgetError:
            return None

    plans = [planned(memory) for memory in budgets]
    fit = [plan is not None for plan in plans]
    assert fit == sorted(fit)
    assert all(plan is None or plan <= memory for plan, memory in zip(plans, budgets, strict=True))


def test_what_a_trial_is_refused_for_it_would_have_got_with_what_the_message_says():
    one = spec(features={"name": "orthogonal"}, n_features=300)
    problem = Problem.of(one)
    tight = (private_memory() or 0) + RESERVE_BYTES + 1_000_000
    with pytest.raises(MemoryBudgetError, match=r"with all that its process holds, needs .* more than") as caught:
        run_trial(one, problem, memory=tight)
    assert caught.value.budget == tight
    roomy = caught.value.needed + UNCOUNTED  # the process has grown a little meanwhile
    for _ in range(3):  # one part after another may be what is refused
        try:
            assert run_trial(one, problem, memory=roomy).status == "ok"
        except MemoryBudgetError as error:
            roomy = error.needed + UNCOUNTED


def test_no_more_is_touched_beforehand_than_the_trial_plans_to_hold(monkeypatch):
    touched = []
    monkeypatch.setattr(single, "touch_memory", touched.append)
    one = spec(features={"name": "orthogonal"}, n_features=600)
    problem = Problem.of(one)
    run_single(one, problem, Heard())
    run_single(one, problem, Heard(memory_limit=(private_memory() or 0) + RESERVE_BYTES + 1_000_000))
    roomy = (private_memory() or 0) + RESERVE_BYTES + blas_bytes(1200) + touched[0]
    run_single(one, problem, Heard(memory_limit=roomy))
    assert touched[1] == 0
    assert 0 < touched[2] <= touched[0]
