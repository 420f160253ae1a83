"""A choice by cross-validation, and what its test error is beside that of RFF."""

import numpy as np
import pandas as pd
import pytest

from studies.board import choosing


def trials(dataset, of_methods, status="ok"):
    """Rows of one dataset: (accuracy or RMSE, cross-validation error) of each method and trial."""
    score = "rmse" if dataset == "kin8nm" else "accuracy"
    return [
        {
            "dataset": dataset, "n_features": 512, "method": method, "trial": trial, "status": status,
            score: value, "cv_error": cv,
        }
        for method, each in of_methods.items() for trial, (value, cv) in enumerate(each)
    ]  # fmt: skip


def test_the_ratio_is_that_of_the_method_with_the_least_cross_validation_error_of_the_same_trial():
    rows = trials("eeg", {"RFF": [(90, 0.4), (80, 0.4)], "Nyström": [(95, 0.3), (70, 0.5)]})
    rows += trials("kin8nm", {"RFF": [(0.2, 0.04)], "Nyström": [(0.1, 0.01)]})
    measured = choosing.measured(pd.DataFrame(rows))
    found = choosing.ratios(measured, ["RFF", "Nyström"]).set_index(["dataset", "trial"])["ratio"]
    assert found.to_dict() == pytest.approx({("eeg", 0): 0.5, ("eeg", 1): 1.0, ("kin8nm", 0): 0.5})
    assert set(choosing.ratios(measured, ["Nyström"])["ratio"].round(9)) == {0.5, 1.5}


def test_trials_without_all_methods_and_other_sizes_are_left_out():
    rows = trials("eeg", {"RFF": [(90, 0.4), (80, 0.4)], "Nyström": [(95, 0.3)]})
    other = [{**row, "n_features": 128} for row in rows]
    found = choosing.ratios(choosing.measured(pd.DataFrame(rows + other)), ["RFF", "Nyström"])
    assert found["trial"].tolist() == [0]


def test_a_failure_has_the_worst_error_of_its_split():
    rows = trials("eeg", {"RFF": [(90, 0.4)], "Nyström": [(60, 0.3)]})
    rows += trials("eeg", {"SORF": [(np.nan, 0.1)]}, status="error")
    [ratio] = choosing.ratios(choosing.measured(pd.DataFrame(rows)), ["RFF", "Nyström", "SORF"])["ratio"]
    assert ratio == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.9, 0.98, "less error"),
        (0.9, 0.995, "undecided"),
        (0.995, 1.005, "same"),
        (1.02, 1.5, "more error"),
    ],
)
def test_an_interval_decides_by_the_registered_region(low, high, said):
    assert choosing.verdict(low, high) == said


def test_a_failure_without_a_cross_validation_error_is_not_chosen():
    rows = trials("eeg", {"RFF": [(90, 0.4)], "Nyström": [(95, 0.3)]})
    rows += trials("eeg", {"SORF": [(np.nan, np.nan)]}, status="error")
    [ratio] = choosing.ratios(choosing.measured(pd.DataFrame(rows)), ["RFF", "Nyström", "SORF"])["ratio"]
    assert ratio == pytest.approx(0.5)


def test_a_choice_is_compared_with_another_of_the_same_trial():
    rows = trials("eeg", {"RFF": [(90, 0.4)], "Nyström": [(95, 0.3)], "SORF": [(80, 0.35)]})
    [ratio] = choosing.ratios(choosing.measured(pd.DataFrame(rows)), ["RFF", "Nyström"], ["RFF", "SORF"])["ratio"]
    assert ratio == pytest.approx(0.25)
