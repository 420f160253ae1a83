"""Promises of the table at a budget of training time."""

import numpy as np
import pandas as pd
import pytest

from rffbench.errors import ResultsError
from rffbench.report.table import Shown, folder_table, make_table
from tests.helpers import report_log as log

METHODS = {name: log.METHODS[name] for name in ("RFF", "surrogate-RFF")}
SECONDS = {"RFF": [1.0, 2.0, 4.0], "surrogate-RFF": [2.5, 5.0, 10.0]}  # to train at 10, 20 and 40 features, on average
SIZES = (10, 20, 40)


def results(contended=False, timing="exclusive", timed="train_s"):
    """The accuracy falls with the size, so that the best is never the largest."""
    rows = [
        ("eeg", n, method, trial, {"accuracy": 90.0 - n / 10 + trial, timed: seconds * (0.5 + trial)})
        for method, of_method in SECONDS.items()
        for n, seconds in zip(SIZES, of_method, strict=True)
        for trial in (0, 1)
    ]
    made = log.results(rows, log.config(methods=METHODS, n_features=list(SIZES), trials=2, timing=timing))
    made.trials["contended"] = contended
    return made


def test_a_method_is_at_the_largest_size_whose_mean_time_is_within_the_budget():
    table = make_table(results(), Shown(at_seconds=4.0))
    assert table.header == ["dataset", "RFF", "surrogate-RFF"]
    assert table.rows == [["eeg", "86.50±0.71 (s = 40, 4.00 s)", "89.50±0.71 (s = 10, 2.50 s)"]]
    assert "at most 4 s" in table.title
    assert "map the training rows and to learn is at most 4 s" in table.notes[0]


def test_a_method_that_takes_longer_at_every_size_says_how_long_the_quickest_takes():
    assert make_table(results(), Shown(at_seconds=2.0)).records()[0]["surrogate-RFF"] == "— (quickest: 2.50 s)"


def test_the_best_is_that_of_the_cells_shown():
    assert make_table(results(), Shown(at_seconds=4.0, best=True)).best == {(0, 2)}


def test_times_that_cannot_be_compared_are_marked_and_have_no_best():
    for made in (results(contended=True), results(timing="features")):
        table = make_table(made, Shown(at_seconds=4.0, best=True))
        assert table.rows[0][1] == "86.50±0.71 (s = 40, ~4.00 s)"
        assert not table.best
        assert any(note.startswith("~") for note in table.notes)


def test_of_maps_alone_it_is_the_time_of_the_features():
    table = make_table(results(timed="feature_s"), Shown(at_seconds=4.0))
    assert table.rows[0][1] == "86.50±0.71 (s = 40, 4.00 s)"
    assert "to generate the features is at most 4 s" in table.notes[0]


def test_without_any_seconds_it_is_refused():
    made = results()
    made.trials[["train_s", "feature_s"]] = np.nan
    with pytest.raises(ResultsError, match="no trial has seconds"):
        make_table(made, Shown(at_seconds=4.0))


def test_of_a_sweep_every_protocol_has_its_rows():
    protocols = [({"folds": label}, results()) for label in ("3", "5")]
    table = folder_table(protocols, Shown(at_seconds=4.0))
    assert [row[0] for row in table.rows] == ["3: eeg", "5: eeg"]


def test_a_method_without_a_result_says_why():
    made = results()
    lost = made.trials["method"] == "surrogate-RFF"
    made.trials.loc[lost, "status"] = "timeout"
    made.trials.loc[lost, ["accuracy", "train_s"]] = pd.NA
    assert make_table(made, Shown(at_seconds=4.0)).rows[0][2] == "— (6 timeout)"
