"""The ratio of test errors, the unit that people know."""

import pytest

from rffbench.stats.gain import Reference
from studies.board.ratios import error_ratios, ratio_table
from studies.board.standing import Board
from tests.helpers import report_log as log
from tests.helpers.of_study import of_study

ACCURACY = {"RFF": (80.0, 90.0), "SORF": (85.0, 91.0)}  # of the trials: errors 20 and 10 %, 15 and 9 %
RMSE = {"RFF": (2.0, 4.0), "SORF": (1.0, 3.0)}


@pytest.fixture
def board(tmp_path):
    methods = {"RFF": {"features": "fourier"}, "SORF": {"features": "sorf"}}
    config = log.config(
        datasets=["eeg", "kin8nm"], n_features=[512], methods=methods, kernel={"name": "gaussian", "sigma": 1.0}
    )
    rows = [(dataset, 512, name, trial, {metric: values[name][trial]})
            for dataset, metric, values in (("eeg", "accuracy", ACCURACY), ("kin8nm", "rmse", RMSE))
            for name in methods for trial in range(2)]  # fmt: skip
    known = {name: Reference(name, 0.5, 0.1, 0.001, 3) for name in ("eeg", "kin8nm")}
    return Board({"board": of_study(log.results(rows, config, tmp_path))}, known)


def test_a_ratio_is_of_error_rates_and_of_root_mean_squared_errors_on_one_split(board):
    found = error_ratios(board).set_index(["dataset", "method", "trial"])["ratio"]
    assert found["eeg", "SORF"].tolist() == pytest.approx([15 / 20, 9 / 10])
    assert found["kin8nm", "SORF"].tolist() == pytest.approx([1 / 2, 3 / 4])
    assert (found.xs("RFF", level="method") == 1).all()


def test_the_table_has_the_tasks_apart_and_the_better_map_first(board):
    sorf, rff = ratio_table(board).records()
    assert (sorf["map"], rff["map"]) == ("SORF †", "RFF")
    assert (sorf["classification, 512"], sorf["regression, 512"]) == ("0.825", "0.625")
    assert sorf["2,048"] == "–"  # which has not run
    assert "Over 1 classifications, by the error rate, and over 1 regressions" in ratio_table(board).notes[0]
