"""Attempts to refute the advice: ratios of errors in many views, columns, and seconds, of made-up rows."""

import numpy as np
import pandas as pd
import pytest

from studies.board import refuting

EVERY_MEASURE = ("test", "squared", "auc")


def trial(dataset, method, score, number=0, columns=512, **others):
    """A row: the score is an accuracy in %, or of a dataset whose name begins with "r" an RMSE."""
    metric = "rmse" if dataset.startswith("r") else "accuracy"
    row = {"dataset": dataset, "trial": number, "method": method, "n_features": columns, metric: score}
    of_classes = {"balanced_accuracy": score, "auc": score / 100} if metric == "accuracy" else {}
    return {**row, **of_classes, "times_median": 1.0, "lambda": 1e-5, **others}


def of_each_measure(trials):
    return {each: refuting.errors(pd.DataFrame(trials), each) for each in EVERY_MEASURE}


def test_errors_are_those_of_the_measure():
    rows = [trial("eeg", "RFF", 90, balanced_accuracy=80, auc=0.95), trial("w8a", "RFF", 90, balanced_accuracy=60),
            trial("r", "RFF", 3.0)]  # fmt: skip
    found = {
        name: each.set_index("dataset")["error"].round(9).to_dict() for name, each in of_each_measure(rows).items()
    }
    assert found == {
        "test": {"eeg": 0.1, "w8a": 0.4, "r": 3.0}, "squared": {"eeg": 0.2, "w8a": 0.4, "r": 9.0},
        "auc": {"eeg": 0.05, "w8a": 0.1},
    }  # fmt: skip


def test_a_choice_has_the_error_of_the_least_cross_validation_error_and_the_mean_of_those_that_share_it():
    rows = [
        trial("eeg", "a", 90, cv_error=0.2),
        trial("eeg", "b", 80, cv_error=0.1),
        trial("eeg", "c", 60, cv_error=0.1),
    ]
    found = refuting.errors(pd.DataFrame(rows))
    assert refuting.picked(found, ["a", "b"], 512)["error"].tolist() == pytest.approx([0.2])
    assert refuting.picked(found, ["a", "b", "c"], 512)["error"].tolist() == pytest.approx([0.3])
    assert refuting.at_random(found, ["a", "b", "c"], 512).tolist() == pytest.approx([0.7 / 3])


def test_a_choice_in_two_steps_is_among_what_the_first_step_leaves():
    """The kernel k2 has the least cross-validation error by its first map; its second map then has less than this one.
    The second map of k1 would have the least of all."""
    of = {"k1": (0.3, 70), "k1 other": (0.1, 90), "k2": (0.25, 75), "k2 other": (0.2, 80)}
    rows = [trial(name, method, score, cv_error=cv) for name in ("eeg", "pol") for method, (cv, score) in of.items()]
    found = refuting.errors(pd.DataFrame(rows))
    then = {"k1": ("k1", "k1 other"), "k2": ("k2", "k2 other")}
    assert refuting.picked_in_order(found, then, 512)["error"].tolist() == pytest.approx([0.2, 0.2])
    assert refuting.picked(found, list(of), 512)["error"].tolist() == pytest.approx([0.1, 0.1])


def test_the_spread_of_errors_is_among_the_better_methods_of_each_level_without_the_worst():
    levels = [("a", "a other"), ("b",), ("c",)]
    of = {"a": (0.1, 90), "a other": (0.2, 10), "b": (0.1, 80), "c": (0.1, 40)}
    rows = [trial("eeg", method, score, cv_error=cv) for method, (cv, score) in of.items()]
    rows += [trial("pol", method, 50) for method in ("a", "b")]  # c is to come
    found = refuting.errors(pd.DataFrame(rows))
    all_levels, but_one = (refuting.spread(found, levels, 512, but)["error"].to_dict() for but in (0, 1))
    assert all_levels == pytest.approx({("eeg", 0): np.std([0.1, 0.2, 0.6], ddof=1)})
    assert but_one == pytest.approx({("eeg", 0): np.std([0.1, 0.2], ddof=1)})


def test_each_view_has_its_own_datasets_and_trials():
    """The map halves the error of classifications in trials of even number, and that of one regression is at an end."""
    rows = []
    for name in ("eeg", "letter", "pol", "r1", "r2"):
        for number in (0, 1):
            of_rff = 4.0 if name[0] == "r" else 80
            own = {"r1": 4.0, "r2": 2.0}.get(name, 90 if number == 0 else 80)
            rows += [trial(name, "RFF", of_rff, number),
                     trial(name, "own", own, number, times_median=8.0 if name == "r2" else 1.0)]  # fmt: skip
    found = refuting.views(of_each_measure(rows), ["own"], ["RFF"], 512)
    assert found.on.to_dict() == pytest.approx({"eeg": 0.75, "letter": 0.75, "pol": 0.75, "r1": 1.0, "r2": 0.5})
    wanted = {
        "test": 0.75, "classification": 0.75, "regression": 0.75, "even trials": 0.5, "odd trials": 1.0, "auc": 0.75,
        "without r1": 0.75, "without eeg": 0.75, "inside the grids": 0.75,
    }  # fmt: skip
    assert {name: found.medians[name] for name in wanted} == pytest.approx(wanted)
    assert (found.less, found.more, found.worst, found.least, found.most) == (4, 0, "r1", 0.5, 1.0)
    assert found.medians["squared"] == pytest.approx(0.75)
    assert found.said == "0.75 (0.50 to 1.00), less on 4, more on 0"


def test_datasets_of_one_origin_are_left_out_together():
    rows = [trial(name, method, score) for name, score in (("kin40k", 90), ("kin8nm", 90), ("eeg", 80), ("pol", 60))
            for method, score in (("RFF", 80), ("own", score))]  # fmt: skip
    found = refuting.views(of_each_measure(rows), ["own"], ["RFF"], 512)
    assert found.median == pytest.approx(0.75)
    assert found.medians["without kin40k, kin8nm"] == pytest.approx(1.5)


def test_a_coin():
    assert refuting.coin(2, 3) == pytest.approx(0.5)
    assert refuting.coin(3, 3) == pytest.approx(1 / 8)


def test_a_loss_close_by_gain_may_be_far_by_error():
    loss, reference, constant = (
        pd.Series({"a": 0.02, "b": 0.5}),
        pd.Series({"a": 0.01, "b": 0.49}),
        pd.Series({"a": 1.0, "b": 0.6}),
    )
    assert refuting.close_by_gain(loss, reference, constant) == 1  # a
    assert refuting.close_by_error(loss, reference) == 1  # b


def test_the_next_doubling_gains_a_share_of_the_one_before():
    sizes = [pd.Series({"a": 1 + 8 / n, "b": 4 / n}) for n in (2, 4, 8)]
    assert refuting.next_gain(sizes) == pytest.approx(0.5)


def test_at_equal_cost_the_error_is_read_between_sizes():
    places = ["dataset", "method", "n_features"]
    errors = {("a", "RFF", 512): 0.3, ("a", "own", 128): 0.4, ("a", "own", 512): 0.1, ("b", "RFF", 512): 0.3,
              ("b", "own", 128): 0.4}  # fmt: skip
    cost = {("a", "RFF", 512): 1.0, ("a", "own", 128): 0.5, ("a", "own", 512): 2.0, ("b", "RFF", 512): 1.0,
            ("b", "own", 128): 2.0}  # fmt: skip
    series = [pd.Series(each).rename_axis(places) for each in (errors, cost)]
    found = refuting.at_equal_cost(*series, "own", 512)
    assert found.to_dict() == pytest.approx({"a": 0.2 / 0.3})  # √(0.4 · 0.1); on b it is dearer


def test_seconds_are_compared_within_a_session():
    rows = [("RFF", 512, 0, 1.0), ("RFF", 512, 1, 10.0), ("own", 512, 1, 5.0)]
    costs = pd.DataFrame(rows, columns=["method", "n_features", "session", "cost"]).assign(dataset="a", trial=0)
    assert refuting.over_fourier(costs, 512)["a", "own", 512] == pytest.approx(0.5)


def test_all_candidates_beside_random_fourier_features():
    seconds = {"bandwidth_s": 1.0, "feature_s": 0.5, "fit_s": 0.25, "predict_s": 0.25}
    rows = [trial("a", "RFF", 90, **seconds), trial("a", "b", 90, **seconds), trial("a", "c", 90, **seconds)]
    assert refuting.times_as_long(pd.DataFrame(rows), ["RFF", "b"]).to_dict() == pytest.approx({"a": 2.0})


def test_kernel_errors_and_scales():
    rows = [trial("a", "RFF", 90, kernel_error=0.4, times_median=4.0), trial("a", "own", 90, kernel_error=0.1),
            trial("b", "RFF", 90, kernel_error=0.4, times_median=0.5)]  # fmt: skip
    found = pd.DataFrame(rows)
    assert refuting.kernel_ratio(found, "own").dropna().to_dict() == pytest.approx({"a": 0.25})
    assert refuting.share_of_scales(found, "RFF", 2) == pytest.approx(0.5)
