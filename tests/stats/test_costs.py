"""Curves of loss over cost, read where a map was not measured, and where it comes to a loss."""

import numpy as np
import pandas as pd
import pytest

from rffbench.stats.costs import at_cost, between, cost, cost_ratios, cost_to_reach, first_below, with_cost
from rffbench.stats.datasets import REGION
from rffbench.stats.gain import Reference


@pytest.mark.parametrize("power", [0.3, 0.5, 1.0])
def test_a_curve_is_read_between_its_points_with_less_bias_than_by_straight_lines(power):
    costs, at = np.log([1.0, 4.0, 16.0, 64.0]), np.log(np.geomspace(1, 64, 50))
    losses = 0.1 + np.exp(-power * costs)
    found = np.array([between(costs, losses, each) for each in at])
    bias, of_lines = found - 0.1 - np.exp(-power * at), np.interp(at, costs, losses) - 0.1 - np.exp(-power * at)
    assert abs(bias.mean()) < 0.5 * of_lines.mean()
    assert (np.diff(found) <= 0).all()


def test_a_curve_is_known_where_it_was_measured_and_nowhere_outside():
    places, values = np.array([0.0, 1.0, 1.0, 2.0]), np.array([3.0, 2.0, 1.0, 1.2])
    assert [between(places, values, at) for at in (0.0, 1.0, 2.0)] == pytest.approx([3.0, 1.5, 1.2])
    assert np.isnan([between(places, values, at) for at in (-0.1, 2.1)]).all()
    assert between(np.zeros(2), np.array([1.0, 2.0]), 0.0) == 1.5


def test_a_curve_comes_down_to_a_value_at_its_first_place():
    places, values = np.array([0.0, 1.0, 2.0, 3.0]), np.array([4.0, 2.0, 3.0, 1.0])
    assert first_below(places, values, 5.0) == 0.0
    assert first_below(places, values, 2.0) == 1.0
    assert first_below(places, values, 1.0) == pytest.approx(3.0)
    at = first_below(places, values, 2.5)
    assert 0 < at < 1
    assert between(places, values, at) == pytest.approx(2.5)
    assert first_below(places, values, 0.5) == np.inf


def test_the_cost_to_come_to_the_baselines_loss_is_a_ratio_to_its_own():
    """On one dataset: a map as good as RFF at half its cost, one that never comes there, one that is 1 % short."""
    losses = {"RFF": (0.3, 0.2), "cheap": (0.3, 0.2), "poor": (0.4, 0.35), "near": (0.3, 0.203)}
    costs = {"RFF": (1.0, 2.0), "cheap": (0.5, 1.0), "poor": (1.0, 2.0), "near": (1.0, 2.0)}
    rows = pd.DataFrame([
        {"dataset": "d", "n_features": size, "method": method, "trial": trial, "loss": losses[method][at],
         "failed": False, "cost": costs[method][at]}
        for method in losses for at, size in enumerate((512, 1024)) for trial in range(2)
    ])  # fmt: skip
    found = cost_to_reach(rows, rows, {"d": Reference("d", 0.5, 0.1, 0.001, 3)}, 1024).loc["d"]
    assert found["cheap"] == pytest.approx(found["RFF"] / 2)
    assert 0.9 < found["RFF"] < 1  # to within 1 % of the unit
    assert found["poor"] == np.inf
    assert found["near"] == pytest.approx(1, abs=0.01)


def test_a_map_that_is_as_good_with_a_quarter_of_the_columns_needs_a_quarter():
    cells = [(method, size, trial) for method in ("RFF", "quick") for size in (64, 128, 256, 512) for trial in range(2)]
    rows = pd.DataFrame(cells, columns=["method", "n_features", "trial"]).assign(dataset="d", failed=False)
    rows["loss"] = 0.1 + 10 / (rows["n_features"] * np.where(rows["method"] == "quick", 4, 1))
    found = cost_to_reach(rows, with_cost(rows, "columns"), {"d": Reference("d", 0.5, 0.1, 1e-9, 3)}, 512).loc["d"]
    enough = 10 / (10 / 512 + REGION * 0.4) / 512  # of RFF's columns, for a loss within REGION of that of 512
    assert (found["RFF"], found["quick"]) == pytest.approx((enough, enough / 4), rel=0.03)


@pytest.mark.parametrize("known", [{}, {"d": Reference("d", 0.2, 0.3, 0.001, 3)}])
def test_without_a_dataset_that_has_a_unit_nothing_is_known_at_any_cost(known):
    cells = [("RFF", size, trial) for size in (512, 1024) for trial in range(2)]
    rows = pd.DataFrame(cells, columns=["method", "n_features", "trial"])
    rows = rows.assign(dataset="d", loss=0.3, failed=False, cost=rows["n_features"])
    for trials in (rows, rows.iloc[:0]):
        found = at_cost(trials, trials, known, 512)
        assert len(found.trials) == len(found.columns) == len(found.out_of_range) == 0
        assert set(found.trials) >= {"dataset", "method", "trial", "gain", "outside"}
        assert cost_to_reach(trials, trials, known, 512).empty


def test_a_learner_whose_training_is_timed_as_a_whole_costs_that_and_prediction():
    trials = pd.DataFrame({
        "feature_s": [1.0, np.nan, np.nan], "fit_s": [2.0, np.nan, np.nan], "train_s": [3.0, 5.0, np.nan],
        "predict_s": [0.5, 0.5, 0.5], "contended": False,
    })  # fmt: skip
    np.testing.assert_equal(cost(trials, "fit").to_numpy(), [3.5, 5.5, np.nan])
    np.testing.assert_equal(cost(trials, "map").to_numpy(), [1.5, np.nan, np.nan])


def test_a_failure_counts_as_the_constant_where_it_is_why_a_map_has_no_gain_at_a_cost():
    """RFF and a map of 128, 256 and 512 columns that costs half as much; a failed trial has no cost."""
    known = {"d": Reference("d", 0.5, 0.1, 0.001, 3)}
    cells = [("RFF", size, trial, False) for size in (128, 256, 512) for trial in range(4)]
    failed = {0: (128, 256, 512), 1: (512,), 2: (128,), 3: ()}
    cells += [("map", size, trial, size in failed[trial]) for size in (128, 256, 512) for trial in range(4)]
    found = pd.DataFrame(cells, columns=["method", "n_features", "trial", "failed"]).assign(dataset="d", loss=0.3)
    found.loc[found["failed"], "loss"] = np.nan
    costs = found.assign(cost=found["n_features"] / np.where(found["method"] == "map", 2, 1))
    costs = costs[~((costs["method"] == "map") & (costs["n_features"] == 512))]  # that size could not be timed

    def gains_at(columns):
        mine = at_cost(found, costs, known, columns).trials.query("method == 'map'").sort_values("trial")
        return [None if np.isnan(each) else round(each, 3) for each in mine["gain"]], list(mine["outside"])

    assert gains_at(256) == ([-0.5, -0.5, None, None], ["", "", "cheaper", "cheaper"])
    assert gains_at(128) == ([-0.5, 0.0, 0.0, 0.0], ["", "", "", ""])


def test_a_failure_at_more_columns_is_not_why_a_map_is_too_dear():
    """At four times RFF's cost, trial 0 failed with 512 columns, and trial 1 with 128, which could not be timed."""
    known = {"d": Reference("d", 0.5, 0.1, 0.001, 3)}
    cells = [(method, size, trial) for method in ("RFF", "map") for size in (128, 256, 512) for trial in range(2)]
    found = pd.DataFrame(cells, columns=["method", "n_features", "trial"]).assign(dataset="d", loss=0.3)
    is_map = found["method"] == "map"
    found["failed"] = is_map & (found["n_features"] == np.where(found["trial"] == 0, 512, 128))
    costs = found.assign(cost=found["n_features"] * np.where(is_map, 4, 1))[~is_map | (found["n_features"] > 128)]
    mine = at_cost(found, costs, known, 128).trials.query("method == 'map'").sort_values("trial")
    np.testing.assert_allclose(mine["gain"], [np.nan, (0.3 - 0.5) / 0.4])
    assert list(mine["outside"]) == ["dearer", ""]


def test_a_maps_cost_is_the_median_over_trials_of_its_ratio_to_the_baseline_in_the_same_trial():
    costs = {"RFF": (1.0, 2.0, 10.0), "map": (3.0, 2.0, 900.0)}  # ratios 3, 1 and 90
    rows = pd.DataFrame([
        {"dataset": "d", "n_features": 512, "method": method, "trial": trial, "cost": each}
        for method, of_trials in costs.items() for trial, each in enumerate(of_trials)
    ])  # fmt: skip
    assert cost_ratios(rows, 512).to_dict() == {("d", "RFF", 512): 1.0, ("d", "map", 512): 3.0}
