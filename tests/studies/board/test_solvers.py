"""The board's seconds of solvers to within 1 % of the direct solve."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from studies.board.solvers import over_the_direct_solve, reached, solver_table


def results(trials, curves):
    """Of one dataset the trials (method, trial, error, seconds) and the curves (method, trial, [(time, error)])."""
    columns = {"dataset": "d", "status": "ok", "accuracy": np.nan, "feature_s": 1.0, "contended": False}
    rows = [{"method": method, "trial": trial, "rmse": error, "fit_s": took, **columns}
            for method, trial, error, took in trials]  # fmt: skip
    points = [
        {"dataset": "d", "method": method, "trial": trial, "passes": passes, "time": time, "test_error": error}
        for method, trial, curve in curves
        for passes, (time, error) in enumerate(curve, 1)
    ]
    return SimpleNamespace(trials=pd.DataFrame(rows), curves=pd.DataFrame(points), datasets=["d"])


COME = [(1.0, 3.0), (4.0, 2.01), (9.0, 2.0)]


def test_seconds_are_those_of_the_first_pass_within_a_percent():
    found = results(
        [("RFF ridge", 0, 2.0, 1.0), ("RFF pcg", 0, 2.0, 9.0), ("RFF ridge", 1, 2.0, 3.0), ("RFF pcg", 1, 2.0, 9.0)],
        [("RFF pcg", 0, COME), ("RFF pcg", 1, [(2.0, 2.03), (6.0, 2.02)])],
    )
    direct, pcg = reached(found, "d", "RFF")
    assert (direct.seconds, direct.of, pcg.of) == (3.0, "direct", "direct")  # the median, with the features' second
    assert (pcg.seconds, pcg.passes) == (5.0, 2.0)
    assert over_the_direct_solve([({}, found)]) == {("RFF pcg", "RFF ridge"): [1.75]}  # of 2 and 1.5


def test_a_ratio_is_to_the_direct_solve_of_the_same_trial_as_another_may_be_of_a_slower_machine():
    found = results(
        [("RFF ridge", 0, 2.0, 1.0), ("RFF pcg", 0, 2.0, 9.0), ("RFF ridge", 1, 2.0, 99.0), ("RFF pcg", 1, 2.0, 9.0)],
        [("RFF pcg", 0, [(4.0, 2.0)]), ("RFF pcg", 1, [(200.0, 2.0)])],
    )
    assert reached(found, "d", "RFF")[1].ratio == 2.0
    (_, row) = solver_table([({}, found)]).rows
    assert row[-1] == "2.00"


def test_a_ratio_is_of_the_trials_that_have_a_direct_solve():
    found = results(
        [("RFF ridge", 0, 2.0, 1.0), ("RFF pcg", 0, 2.0, 9.0), ("RFF pcg", 1, 2.0, 9.0)],
        [("RFF pcg", 0, COME), ("RFF pcg", 1, COME)],
    )
    assert reached(found, "d", "RFF")[1].ratio == 2.0


def test_a_solver_that_comes_there_in_half_of_the_trials_does_not_reach_it():
    found = results(
        [(method, trial, 2.0, 1.0) for method in ("RFF ridge", "RFF pcg") for trial in range(2)],
        [("RFF pcg", 0, COME), ("RFF pcg", 1, [(1.0, 3.0)])],
    )
    assert np.isnan(reached(found, "d", "RFF")[1].seconds)


def test_a_solver_that_comes_there_in_no_trial_does_not_reach_it():
    found = results([("RFF ridge", 0, 2.0, 1.0), ("RFF pcg", 0, 2.5, 9.0)], [("RFF pcg", 0, [(1.0, 3.0), (2.0, 2.5)])])
    assert np.isnan(reached(found, "d", "RFF")[1].seconds)
    (_, row) = solver_table([({}, found)]).rows
    assert row[4:] == ["not reached", "", "–"]
    assert np.isnan(over_the_direct_solve([({}, found)])["RFF pcg", "RFF ridge"]).all()


def test_without_a_direct_solve_the_least_error_of_a_solver_is_the_mark():
    found = results(
        [("kernel pcg", 0, 2.2, 9.0), ("kernel eigenpro", 0, 2.0, 9.0)],
        [("kernel pcg", 0, [(1.0, 3.0), (2.0, 2.2)]), ("kernel eigenpro", 0, COME)],
    )
    pcg, eigenpro = reached(found, "d", "whole kernel")
    assert (pcg.error, pcg.of, eigenpro.seconds) == (2.0, "least", 4.0)
    assert np.isnan(pcg.seconds)
    assert over_the_direct_solve([({}, found)]) == {}


def test_a_solver_with_landmarks_of_its_own_is_measured_by_its_own_end():
    found = results([("Nyström ridge", 0, 1.0, 1.0), ("Nyström falkon", 0, 2.0, 9.0)], [("Nyström falkon", 0, COME)])
    _, falkon = reached(found, "d", "Nyström")
    assert (falkon.error, falkon.of, falkon.seconds) == (2.0, "own", 4.0)
    table = solver_table([({"problem": "one"}, found)])
    assert table.rows[1][3] == "2 †"
    assert table.notes[0].startswith("One trial each")
    assert over_the_direct_solve([({"problem": "one"}, found)]) == {("Nyström falkon", "Nyström ridge"): [2.0]}
    assert any(note.startswith("†") for note in table.notes)


def test_no_trials_are_no_table():
    assert solver_table([]) is None
    assert solver_table([({}, results([("RFF ridge", 0, 2.0, 1.0)], []))]) is not None


@pytest.mark.parametrize("trials", [1, 2])
def test_the_note_says_how_many_trials(trials):
    found = results([("RFF ridge", trial, 2.0, 1.0) for trial in range(trials)], [])
    assert (f"Medians over {trials}" in solver_table([({}, found)]).notes[0]) is (trials > 1)


def test_trials_beside_which_other_work_ran_are_named():
    found = results([("RFF ridge", 0, 2.0, 1.0), ("RFF pcg", 0, 2.0, 9.0)], [("RFF pcg", 0, COME)])
    assert not any("Other work" in note for note in solver_table([({"problem": "one"}, found)]).notes)
    found.trials.loc[found.trials["method"] == "RFF pcg", "contended"] = True
    (note,) = [note for note in solver_table([({"problem": "one"}, found)]).notes if "Other work" in note]
    assert "during one (RFF pcg): these seconds" in note
