"""What flaws of released protocols are worth: every row of the file is of a flaw that can be measured again."""

import csv
from functools import partial

import pytest

from studies.papers.flaw import Flaw, measured
from studies.papers.flaws import FILE, FLAWS


def test_the_file_has_a_row_for_every_flaw():
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["source"], row["flaw"], row["dataset"], row["metric"]) for row in rows] == [
        (source, flaw.flaw, flaw.dataset, flaw.metric) for source, flaw in FLAWS
    ]


@pytest.mark.parametrize(("metric", "unit", "effect"), [("accuracy", "points", "2"), ("mse", "%", "4")])
def test_accuracies_differ_in_points_and_errors_in_percent_of_the_error_without_the_flaw(metric, unit, effect):
    row = measured(Flaw("a flaw", "eeg", metric, partial(iter, [(50.0, 52.0)] * 3)), "a paper")
    assert (row["effect"], row["low"], row["high"], row["unit"], row["runs"]) == (effect, effect, effect, unit, 3)
