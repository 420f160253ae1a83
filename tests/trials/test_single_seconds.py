"""``timing: features``: seconds of the features and of predicting taken alone, all else shared, the same scores."""

import pickle
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import sleep
from typing import get_args

import numpy as np
import pytest

from rffbench import RandomFourierFeatures
from rffbench.io.process import Contention
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV
from rffbench.trials import seconds
from rffbench.trials.problem import Problem
from rffbench.trials.seconds import BRIEF_S, FEWEST, MOST, Timer, either
from rffbench.trials.shared import run_shared
from rffbench.trials.single import run_trial
from rffbench.trials.spec import Timing
from rffbench.trials.tasks import run_group, tasks
from tests.helpers.small_trials import METHODS, Heard, spec

pytestmark = pytest.mark.usefixtures("embedded", "one_thread")


class Quiet:
    """Contention that says what it is told, one attempt after another."""

    age = 0.0

    def __init__(self, *said):
        self.said, self.attempts = list(said), 0

    def __call__(self):
        self.attempts += 1
        self.contended = self.said[min(self.attempts, len(self.said)) - 1]
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def with_those_of(self, others):
        return self


@pytest.mark.parametrize(
    ("length", "repeats"),
    [(0.2, 1), (0.07, 2), (0.049, FEWEST), (0.011, 11), (1e-5, MOST)],
)
def test_short_work_is_timed_until_its_spread_is_known(length, repeats):
    (found,) = Timer(Quiet(False)).timed(lambda: length)
    assert (found.seconds, found.repeats) == (length, repeats)
    assert found.spread is None if repeats == 1 else found.spread == 0


def test_the_median_counts_and_the_spread_is_told():
    series = iter([0.03, 0.02, 0.04, 0.02, 0.1])
    (found,) = Timer(Quiet(False)).timed(lambda: next(series))
    assert found.seconds == 0.03
    assert found.spread == pytest.approx((0.04 - 0.02) / 0.03)


def test_disturbed_work_is_timed_anew_three_times_at_most():
    calm_at_last = Quiet(True, True, False)
    assert Timer(calm_at_last).timed(lambda: 0.1)[0].contended is False
    assert calm_at_last.attempts == 3
    unknown = Quiet(None, False)
    assert Timer(unknown).timed(lambda: 0.1)[0].contended is False
    assert unknown.attempts == 2
    never = Quiet(True)
    assert Timer(never).timed(lambda: 0.1)[0].contended is True
    assert never.attempts == 3


class Machine:
    """A clock, and the seconds that others were busy, who take a share of what is worked."""

    def __init__(self):
        self.now = self.busy = self.share = 0.0

    def work(self):
        self.now += 0.008
        self.busy += self.share * 0.008
        return 0.008

    def contention(self):
        return Contention(busy=lambda: self.busy, own=lambda: 0.0, clock=lambda: self.now)


def test_after_undisturbed_work_a_brief_time_is_enough_and_after_a_disturbance_it_is_timed_in_full():
    machine = Machine()
    timer = Timer(machine.contention)
    in_full, brief, until_known = round(0.12 / 0.008), FEWEST, 7
    assert brief * 0.008 > BRIEF_S
    for repeats in (in_full, brief, brief, brief, brief):
        (found,) = timer.timed(machine.work)
        assert (found.repeats, found.contended) == (repeats, False)
    machine.share = 1.0
    (found,) = timer.timed(machine.work)
    assert (found.repeats, found.contended) == (until_known, True)
    machine.share = 0.0
    (found,) = timer.timed(machine.work)
    assert (found.repeats, found.contended) == (in_full, False)


def test_after_a_trial_that_never_was_undisturbed_one_is_timed_once():
    others = Quiet(True, True, True, True, True, False, True, False)
    timer = Timer(others)
    found = []
    for _ in range(5):
        before = others.attempts
        (timed,) = timer.timed(lambda: 0.1)
        found.append((others.attempts - before, timed.contended))
    assert found == [(3, True), (1, True), (1, True), (1, False), (2, False)]


def test_what_was_timed_long_ago_tells_nothing():
    machine = Machine()
    timer = Timer(machine.contention)
    repeats = []
    for pause in (0.0, 4.9, 5.1):
        machine.now += pause
        repeats.append(timer.timed(machine.work)[0].repeats)
    assert repeats == [round(0.12 / 0.008), FEWEST, round(0.12 / 0.008)]


def test_a_timer_goes_from_process_to_process_with_what_it_knows():
    timer = Timer(partial(Contention, busy=float))  # nobody is busy, ever
    (first,) = timer.timed(partial(work, 0.008))
    (second,) = pickle.loads(pickle.dumps(timer)).timed(partial(work, 0.008))
    assert first.seconds * first.repeats > BRIEF_S * 3
    assert second.repeats == FEWEST


def work(seconds):
    sleep(seconds)
    return seconds


def test_a_disturbance_is_found_however_long_nothing_was_before():
    machine = Machine()
    timer = Timer(machine.contention)
    for _ in range(1000):
        timer.timed(machine.work)
    machine.share = 1.0
    (found,) = timer.timed(machine.work)
    assert found.contended is True


def test_what_is_timed_together_shares_the_time_that_is_enough():
    features, predicting = Timer(Quiet(False)).timed(lambda: 0.01, lambda: 0.06)
    assert (features.seconds, features.repeats) == (0.01, 6)
    assert (predicting.seconds, predicting.repeats) == (0.06, 1)


def test_what_cannot_be_told_is_not_called_undisturbed():
    assert [either(False, None), either(True, None), either(False, False)] == [None, True, False]


def grid(timing):
    methods = ("RFF", "QMC", "leverage", "leverage released", "Ours", "Ours released", "offset")
    return [replace(spec(method, n_features=n), timing=timing) for method in methods for n in (6, 20)]


def done(specs):
    heard = Heard()
    for group in tasks(specs):
        run_group(group, heard)
    assert all(result.status == "ok" for result in heard.results.values())
    return {(key.method, key.n_features): result for key, result in ((r.spec, r) for r in heard.results.values())}


def test_scores_and_lambda_are_those_of_shared_trials_to_the_last_digit(monkeypatch):
    monkeypatch.setattr(seconds, "ENOUGH_S", 0.0)  # few repeats
    shared, alone = done(grid("shared")), done(grid("features"))
    for cell, result in shared.items():
        assert alone[cell].metrics == result.metrics
        assert alone[cell].lambda_ == result.lambda_
        assert alone[cell].seconds["shared"] == result.seconds["shared"]


def test_seconds_are_of_generating_the_features_and_predicting_alone_with_repeats_and_spread(monkeypatch):
    monkeypatch.setattr(seconds, "ENOUGH_S", 0.0)
    monkeypatch.setattr(seconds, "SHORT_S", 60.0)  # on a busy machine, too
    for (method, _), result in done(grid("features")).items():
        timing = result.seconds
        assert set(timing["repeats"]) == set(timing["spread"]) == {"feature_s", "predict_s"}, method
        assert min(timing["repeats"].values()) >= FEWEST
        assert timing["feature_s"] > 0
        assert timing["predict_s"] > 0


@pytest.mark.parametrize("method", ["RFF", "offset"])  # one that shares, one that does not
def test_what_is_timed_alone_is_not_done_before(method, monkeypatch):
    monkeypatch.setattr(seconds, "ENOUGH_S", 0.0)
    held = []

    @contextmanager
    def alone():
        held.append(True)
        yield Timer()
        held.pop()

    def predict(self, X, original=StreamedRidgeClassifierCV.predict):
        assert held
        return original(self, X)

    monkeypatch.setattr(StreamedRidgeClassifierCV, "predict", predict)
    monkeypatch.setattr(Heard, "alone", staticmethod(alone))
    assert done([replace(spec(method, n_features=n), timing="features") for n in (6, 20)])


def test_the_mode_is_part_of_a_trial_s_key_and_leaves_those_of_the_others():
    assert len({replace(spec(), timing=timing).key for timing in get_args(Timing)}) == 3
    assert replace(spec(), timing="shared").key == spec().key


@pytest.mark.parametrize("memory", [None, 70_000])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_generating_features_is_mapping_every_row_once_whatever_the_solver_maps_again(memory, scoring, monkeypatch):
    """A clock that goes on by one for every row mapped: feature_s counts the rows."""
    from rffbench.arguments import rowsource

    rows = 0

    def fill(self, X, out, original=RandomFourierFeatures.fill):
        nonlocal rows
        rows += len(X)
        original(self, X, out)

    monkeypatch.setattr(RandomFourierFeatures, "fill", fill)
    monkeypatch.setattr(rowsource, "perf_counter", lambda: float(rows))
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 3))
    model = StreamedRidgeClassifierCV(
        [1e-3, 1e-2], features=RandomFourierFeatures(40, random_state=0), folds=3, memory=memory, scoring=scoring
    )
    model.fit(X, X[:, 0] > 0.5)
    assert model.timing_["feature_s"] == pytest.approx(300, abs=1)
    assert (rows > 2 * 300) == (memory is not None or scoring is not None)
    assert sum(model.timing_.values()) == pytest.approx(rows, abs=2)


def test_a_map_derived_from_one_that_shares_is_fitted_by_its_own_fit(monkeypatch):
    class Twice(RandomFourierFeatures):
        def fit(self, X, y=None):
            super().fit(X, y)
            self.frequencies_ = 2 * self.frequencies_
            return self

    monkeypatch.setitem(METHODS, "twice", {"name": "fourier"})
    specs = [spec("RFF"), spec("twice")]
    problem = Problem.of(specs[0])
    original = Problem.features
    monkeypatch.setattr(
        Problem, "features",
        lambda self, one: Twice(**original(self, one).get_params()) if one.method == "twice" else original(self, one),
    )  # fmt: skip
    heard = Heard()
    assert [one.method for one in run_shared(specs, problem, heard)] == ["twice"]
    result = run_trial(specs[1], problem)
    assert result.metrics["kernel_error"] != heard.results[specs[0].key].metrics["kernel_error"]


def test_a_section_too_short_for_the_ticks_is_neither_contended_nor_not():
    contention = Contention(busy=lambda: 0.0, own=lambda: 0.0, clock=iter([0.0, 0.09]).__next__)
    with contention:
        pass
    assert contention.contended is None
