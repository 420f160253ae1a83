"""Gains in the board's unit, at equal columns and at equal cost."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem

from rffbench.data import load, train_test
from rffbench.report.frame import load_results
from rffbench.stats import REFERENCES, loss_name, losses, references
from rffbench.stats.costs import at_columns, at_cost, cost, outside
from rffbench.stats.gain import Reference, constant_loss, gains, left_out, reference_of
from tests.helpers import report_log as log

KNOWN = {"eeg": Reference("eeg", 0.5, 0.1, 0.001, 3), "kin8nm": Reference("kin8nm", 4.0, 2.0, 0.3, 3)}


def rows(**methods):
    found = [
        {"dataset": "eeg", "n_features": 128, "method": name, "trial": trial, "loss": loss, "failed": np.isnan(loss)}
        for name, of_trials in methods.items() for trial, loss in enumerate(of_trials)
    ]  # fmt: skip
    return pd.DataFrame(found)


def test_a_gain_is_the_difference_to_rff_over_what_the_reference_gains():
    found = gains(rows(RFF=[0.30, 0.20], ours=[0.26, 0.22]), KNOWN).set_index(["method", "trial"])["gain"]
    assert found["ours"].tolist() == pytest.approx([0.04 / 0.4, -0.02 / 0.4])
    assert found["RFF"].tolist() == [0, 0]


def test_a_failure_counts_as_the_constant_or_is_left_out():
    table = rows(RFF=[0.30, 0.20], ours=[np.nan, 0.10])
    counted = gains(table, KNOWN).set_index(["method", "trial"])["gain"]
    assert counted["ours"].tolist() == pytest.approx([(0.3 - 0.5) / 0.4, 0.1 / 0.4])
    without = gains(table, KNOWN, with_failures=False).set_index(["method", "trial"])["gain"]
    assert np.isnan(without["ours", 0])
    assert without["ours", 1] == pytest.approx(0.25)


def test_no_other_entry_moves_a_gain():
    alone = gains(rows(RFF=[0.3], ours=[0.2]), KNOWN)
    beside = gains(rows(RFF=[0.3], best=[0.01], ours=[0.2], worst=[0.9]), KNOWN)
    assert beside[beside["method"] == "ours"]["gain"].tolist() == alone[alone["method"] == "ours"]["gain"].tolist()


def test_a_dataset_whose_unit_is_not_known_is_named_and_left_out():
    table = pd.concat(
        [rows(RFF=[0.3]), rows(RFF=[0.3]).assign(dataset="kin8nm"), rows(RFF=[0.3]).assign(dataset="pol")]
    )
    assert set(gains(table, KNOWN)["dataset"]) == {"eeg"}
    why = left_out(["eeg", "kin8nm", "pol"], KNOWN)
    assert why == {
        "kin8nm": "its reference gains 2 over a constant, less than 10 standard errors of 0.3",
        "pol": "has no frozen reference",
    }


def test_losses_are_what_the_trials_measured(tmp_path):
    ok = log.ok(log.spec(method="RFF"), 80.0)
    failed = {**log.ok(log.spec(method="QMC"), 0.0), "status": "error", "metrics": {}}
    found = losses(load_results(log.write(tmp_path, log.config(), [ok, failed])).trials).set_index("method")
    assert found.loc["RFF", "loss"] == pytest.approx(0.2)
    assert np.isnan(found.loc["QMC", "loss"])
    assert found["failed"].to_dict() == {"RFF": False, "QMC": True}


def test_what_is_measured_depends_on_the_dataset():
    assert [loss_name(name) for name in ("eeg", "w8a", "kin8nm")] == [
        "test error",
        "balanced error",
        "mean squared error",
    ]


def test_the_constant_is_the_best_of_the_training_rows():
    train, test = np.array([1.0, 2.0, 6.0]), np.array([0.0, 4.0])
    assert constant_loss(train, test, "mean squared error") == np.mean((test - 3) ** 2)
    labels = np.array([-1.0, 1.0, 1.0])
    assert constant_loss(labels, np.array([-1.0, -1.0, -1.0, 1.0]), "test error") == 0.75
    assert constant_loss(labels, np.array([-1.0, 1.0]), "balanced error") == 0.5


def test_a_reference_s_error_is_that_of_the_paired_difference():
    found = reference_of("eeg", [0.5, 0.6, 0.7], [0.1, 0.2, 0.3])
    assert (found.constant, found.reference) == (pytest.approx(0.6), pytest.approx(0.2))
    assert found.standard_error == pytest.approx(0, abs=1e-12)


def test_a_reference_s_error_is_the_standard_error_that_scipy_gives_of_the_differences():
    constants, losses = [0.52, 0.61, 0.70, 0.49], [0.10, 0.27, 0.22, 0.18]
    found = reference_of("eeg", constants, losses)
    assert found.standard_error == pytest.approx(sem(np.subtract(constants, losses)))
    assert found.trials == 4


@pytest.mark.parametrize("factor", [1.2, 1.001, 2.5, 30.0])
def test_a_map_is_dearer_or_cheaper_where_all_its_sizes_are_by_however_little(factor):
    losses = [0.4, 0.3, 0.2]
    dear, cheap = [factor, 2 * factor, 4 * factor], [factor**-3, factor**-2, factor**-1]
    table = pd.concat([curve("RFF", losses, [1, 2, 4]), curve("dear", losses, dear), curve("cheap", losses, cheap)])
    found = at_cost(table, table, KNOWN, 128)
    assert {name: outside(found.trials, name) for name in ("RFF", "dear", "cheap")} == {
        "RFF": "", "dear": "1 dearer", "cheap": "1 cheaper"
    }  # fmt: skip


def test_at_equal_columns_no_other_size_counts():
    table = pd.concat([rows(RFF=[0.3], ours=[0.2]), rows(RFF=[0.1], ours=[0.1]).assign(n_features=512)])
    assert set(at_columns(table, KNOWN, 128)["n_features"]) == {128}


def curve(method, losses, costs, sizes=(128, 256, 512)):
    found = [
        {"dataset": "eeg", "n_features": n, "method": method, "trial": 0, "loss": loss, "failed": False, "cost": each}
        for n, loss, each in zip(sizes, losses, costs, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(found)


def test_at_equal_cost_a_map_is_read_from_its_own_curve():
    """A map that is RFF at twice the cost has, at RFF's cost with 256 columns, the loss that it has with 128."""
    table = pd.concat([curve("RFF", [0.4, 0.3, 0.2], [1, 2, 4]), curve("slow", [0.4, 0.3, 0.2], [2, 4, 8]),
                       curve("between", [0.4, 0.3, 0.2], [2**0.5, 2**1.5, 2**2.5])])  # fmt: skip
    found = at_cost(table, table, KNOWN, 256)
    assert found.gains.loc["eeg", "slow"] == pytest.approx((0.3 - 0.4) / 0.4)
    assert found.gains.loc["eeg", "between"] == pytest.approx((0.3 - 0.35) / 0.4)
    assert found.gains.loc["eeg", "RFF"] == pytest.approx(0)
    assert not found.out_of_range.any()


def test_outside_what_was_measured_a_map_is_counted_and_not_extrapolated():
    table = pd.concat([curve("RFF", [0.4, 0.3, 0.2], [1, 2, 4]), curve("dear", [0.3, 0.2, 0.1], [20, 40, 80])])
    found = at_cost(table, table, KNOWN, 512)
    assert np.isnan(found.gains.loc["eeg", "dear"])
    assert found.out_of_range.to_dict() == {"RFF": 0, "dear": 1}
    assert [outside(found.trials, name) for name in ("RFF", "dear")] == ["", "1 dearer"]


def test_a_cost_that_was_not_measured_is_read_between_the_sizes_that_were():
    """The seconds of 'coarse' are known at the ends alone; they grow as the size does, so that 256 columns cost 2."""
    table = pd.concat([curve("RFF", [0.4, 0.3, 0.2], [1, 2, 4]), curve("coarse", [0.4, 0.25, 0.2], [1, 2, 4])])
    costs = table[(table["method"] == "RFF") | (table["n_features"] != 256)]
    found = at_cost(table, costs, KNOWN, 256)
    assert found.gains.loc["eeg", "coarse"] == pytest.approx((0.3 - 0.25) / 0.4)
    alone = at_cost(table, costs[costs["method"] == "RFF"], KNOWN, 256)
    assert set(alone.gains) == {"RFF"}


def test_another_machine_s_seconds_give_the_same_gains():
    table = pd.concat([curve("RFF", [0.4, 0.3, 0.2], [1, 2, 4]), curve("slow", [0.4, 0.3, 0.2], [1.5, 3, 7])])
    slower = table.assign(cost=table["cost"] * 7)
    pd.testing.assert_frame_equal(at_cost(table, table, KNOWN, 256).gains, at_cost(table, slower, KNOWN, 256).gains)


def test_each_clock_counts_its_own_seconds_and_none_that_were_disturbed():
    trials = pd.DataFrame({"feature_s": [1.0, 1.0], "fit_s": [2.0, 2.0], "predict_s": [4.0, 4.0],
                           "bandwidth_s": [8.0, 8.0], "contended": [False, True]})  # fmt: skip
    assert [cost(trials, clock)[0] for clock in ("map", "fit", "tuning")] == [5, 7, 15]
    assert cost(trials, "map").isna().tolist() == [False, True]


@pytest.mark.skipif(not REFERENCES.exists(), reason="not frozen yet")
def test_the_frozen_references_are_of_datasets_of_the_board():
    from rffbench.config.loading import load_experiment

    found = references()
    assert set(found) <= set(load_experiment("board-reference").datasets)
    assert all(each.reference < each.constant for each in found.values())


def test_the_constant_of_embedded_data(embedded):
    split, data = train_test("digits", seed=0, trial=0), load("digits")
    assert constant_loss(split.y_train, split.y_test, "test error") == pytest.approx(0.5, abs=0.05)
    assert len(split.y_train) + len(split.y_test) <= len(data.y)
