"""Promises of what is noise and what is a change: no false alarms, and what was asked for is found."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rffbench.report.diff import CELL_COLUMNS, WORSE, judge
from rffbench.report.settled import MOST_TRIALS, POWER, Change, change_of

CELLS, NOISE, TOLERANCE = 8, 1.0, 0.5  # of docs/ci.md: 8 cells; points of accuracy


def alarms(drop, trials, repeats, noise=NOISE, paired=True):
    """The share of comparisons with a cell that is worse, where the first of their cells has dropped: scores without a
    seed, whose noise differs from run to run."""
    draw = np.random.default_rng(7)
    found = 0
    for _ in range(repeats):
        rows = []
        for number in range(CELLS):
            split = draw.normal(0, 2.0, trials)  # what both runs of a trial have in common
            old, new = (pd.Series(80 + split + draw.normal(0, noise / np.sqrt(2), trials)) for _ in range(2))
            change = change_of(old, new - drop * (number == 0), paired)
            rows.append(dict.fromkeys(CELL_COLUMNS) | {"verdict": change, "better": "greater"})
        (judged,) = judge([pd.DataFrame(rows)], TOLERANCE)
        found += WORSE in set(judged["verdict"])
    return found / repeats


def settling():
    """How many trials would settle it, where the noise is known."""
    return Change(0.0, NOISE / np.sqrt(10_000), 9_999, 10_000).settling_trials(TOLERANCE, CELLS)


def test_within_the_tolerance_is_an_interval_both_of_whose_ends_are():
    change = change_of(pd.Series([70.0, 71.0, 72.0]), pd.Series([70.2, 71.5, 72.8]), paired=True)
    low, high = change.interval
    assert abs(low) < 0.5 < high < 1.5
    assert not change.within(0.5)
    assert change.within(1.5)


@pytest.mark.parametrize("trials", [5, 20])
def test_unchanged_noise_makes_no_alarm(trials):
    assert alarms(0.0, trials, 60) <= 0.05


def test_a_drop_of_twice_the_tolerance_is_found_with_the_trials_that_would_settle_it():
    assert alarms(2 * TOLERANCE, settling(), 60) >= 0.7  # 80 %, less two standard errors of 60 comparisons


@pytest.mark.slow
@pytest.mark.parametrize(("trials", "noise"), [(3, 1.0), (5, 1.0), (20, 1.0)])
def test_of_1000_comparisons_of_unchanged_noise_at_most_1_in_20_has_an_alarm(trials, noise):
    assert alarms(0.0, trials, 1000, noise=noise) <= 0.05


@pytest.mark.slow
def test_of_1000_comparisons_without_pairs_at_most_1_in_20_has_an_alarm():
    assert alarms(0.0, 5, 1000, paired=False) <= 0.05


@pytest.mark.slow
def test_of_1000_drops_of_twice_the_tolerance_4_in_5_are_found():
    assert alarms(2 * TOLERANCE, settling(), 1000) >= 0.8


def test_the_trials_that_a_first_comparison_asks_for_are_enough():
    """The noise is then known from five trials."""
    draw, found = np.random.default_rng(3), []
    for _ in range(200):
        first = pd.Series(draw.normal(0, NOISE, 5))
        asked = change_of(first * 0, first, True).settling_trials(TOLERANCE, CELLS)
        threshold = stats.t.isf(0.05 / CELLS / 2, asked - 1)
        found.append(stats.nct.sf(threshold, asked - 1, TOLERANCE * np.sqrt(asked) / NOISE))
    assert np.mean(found) >= POWER


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_p_is_below_a_level_where_the_interval_at_that_level_is_beyond_the_tolerance(tolerance):
    old, new = pd.Series([70.0, 72.0, 71.0, 74.0]), pd.Series([69.0, 71.5, 70.2, 73.4])
    p = change_of(old, new, True).p_beyond(tolerance)
    interval = stats.ttest_rel(new, old).confidence_interval(1 - p)
    assert interval.high == pytest.approx(-tolerance, abs=1e-9)


def test_unpaired_trials_have_welchs_p():
    old, new = pd.Series([70.0, 72.0, 71.0, 74.0]), pd.Series([69.0, 60.5, 70.2])
    p = change_of(old, new, False).p_beyond(0.0)
    assert p == pytest.approx(stats.ttest_ind(new, old, equal_var=False).pvalue)


def test_what_is_constant_needs_no_test():
    old = pd.Series([70.1, 72.3, 71.7])
    assert change_of(old, old - 0.3, True).p_beyond(0.25) == 0.0
    assert change_of(old, old - 0.25, True).p_beyond(0.25) == 1.0
    assert change_of(old, old - 0.25, True).within(0.25)


def test_an_error_that_was_zero_and_is_not_any_more_is_beyond_every_tolerance():
    change = change_of(pd.Series([0.0, 0.0]), pd.Series([0.1, 0.2]), True).scaled(np.inf)
    assert change.p_beyond(10.0) == 0.0


def test_no_number_of_trials_is_named_where_none_is_known_or_it_is_out_of_reach():
    assert change_of(pd.Series([70.0]), pd.Series([60.0]), True).settling_trials(0.5, 8) is None
    assert Change(0.001, 1.0, 4, 5).settling_trials(0.0, 8) is None
    assert Change(0.3, 0.5, 4, 5).settling_trials(0.5, 8) < MOST_TRIALS
