"""Every second of a trial is counted once, as what it was spent on: drawing and mapping, fitting, predicting."""

import sys

import pytest

from rffbench.arguments import rowsource
from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.features.weighted.leverage import LeverageScoreFeatures
from rffbench.linalg.triangles import Triangle
from rffbench.solvers.ridge import streaming
from rffbench.solvers.ridge.fold_statistics import FoldStatistics
from rffbench.trials import shared, tasks
from rffbench.trials.single import run_trial
from tests.helpers.small_trials import Heard, spec

pytestmark = pytest.mark.usefixtures("embedded")

FOLDS = 3  # of one block each


class Clock:
    """Time passes only in what is made slow."""

    def __init__(self, monkeypatch):
        self.now, self.patch = 0.0, monkeypatch.setattr

    def __call__(self):
        return self.now

    def slow(self, owner, name, seconds):
        """A call of ``owner.name`` takes so many seconds."""
        real = getattr(owner, name)

        def slowed(*arguments, **options):
            self.now += seconds
            return real(*arguments, **options)

        self.patch(owner, name, slowed)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock(monkeypatch)
    for name, module in list(sys.modules.items()):
        if name.startswith("rffbench.") and hasattr(module, "perf_counter"):
            monkeypatch.setattr(module, "perf_counter", clock)
    return clock


def seconds(result):
    assert result.error is None
    return {part: result.seconds.get(part) for part in ("feature_s", "fit_s", "predict_s")}


def test_alone_fitting_the_map_and_mapping_are_feature_time_and_the_gram_matrix_is_fitting_time(clock):
    clock.slow(RandomFourierFeatures, "fit", 1)
    clock.slow(RandomFourierFeatures, "fill", 10)
    clock.slow(FoldStatistics, "add", 100)
    clock.slow(streaming, "solve_ridge_cv", 1000)
    taken = seconds(run_trial(spec("RFF", solver={"folds": FOLDS})))
    assert taken == {"feature_s": 1 + 10 * FOLDS, "fit_s": 100 * FOLDS + 1000, "predict_s": 10}


def test_a_map_without_a_solver_is_fitted_and_applied_once(clock):
    clock.slow(RandomFourierFeatures, "fit", 1)
    clock.slow(RandomFourierFeatures, "fill", 10)
    one = spec("RFF", kernel_error_points=0)
    result = run_trial(type(one)(**{**vars(one), "solver": {"name": "none"}}))
    assert seconds(result) == {"feature_s": 11, "fit_s": 0, "predict_s": None}


def test_together_each_trial_is_told_what_it_would_have_taken_alone(clock):
    for features in (RandomFourierFeatures, LeverageScoreFeatures):
        clock.slow(features, "draw", 1)
        clock.slow(features, "fill", 1e4)
    clock.slow(shared, "fourier_columns", 10)
    clock.slow(Triangle, "add_gram_strip", 100)
    clock.slow(shared.SharedPool, "select", 1000)
    clock.slow(shared, "solve_ridge_cv", 1e5)
    heard = Heard()
    tasks.run_group([spec(method, solver={"folds": FOLDS}) for method in ("RFF", "leverage")], heard)
    plain, leverage = (seconds(result) for result in heard.results.values())
    mapped, gram, solved = 10 * FOLDS, 100 * FOLDS, 1e5
    assert plain == {"feature_s": 1 + mapped, "fit_s": gram + solved, "predict_s": 1e4}
    # Its scores take the Gram matrix of the pool; then it chooses, and maps what it chose.
    assert leverage == {"feature_s": 1 + mapped + gram + 1000 + 1e4, "fit_s": gram + solved, "predict_s": 1e4}


def test_no_seconds_are_negative_where_a_stop_is_told_for_longer_than_it_was():
    paused = [0.0]
    rowsource.subtract_pauses(paused)
    with rowsource.Stopwatch() as watch:
        paused[0] += 1.0
    rowsource.subtract_pauses([0.0])
    assert watch.seconds == 0
