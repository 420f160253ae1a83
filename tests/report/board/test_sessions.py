"""Seconds of a session without RFF count for no ratio: the machine may have been slower then."""

from rffbench.report.board.run_tables import progress
from rffbench.report.board.sessions import beside_baseline, sessions
from rffbench.report.board.standing import load_board
from rffbench.report.frame import load_results
from tests.helpers import report_log as log

METHODS = {"RFF": {"features": "fourier"}, "QMC": {"features": "qmc", "sequence": "halton"}}
DATASETS = ["eeg", "magic04"]


def folder(path, later=()):
    """Two maps on two datasets, measured within the hour; a minute later, or ten days, those that are named."""
    rows = []
    for dataset in DATASETS:
        for method in METHODS:
            for trial in range(2):
                row = log.ok(log.spec(dataset=dataset, method=method, n_features=512, multiple=None, trial=trial), 80.0)
                day = "11" if (dataset, method) in later else "01"
                rows.append({**row, "finished": f"2026-11-{day}T12:{len(rows):02}:00+00:00"})
    return log.write(path, log.config(datasets=DATASETS, methods=METHODS, n_features=[512], trials=2), rows)


def test_an_hour_without_a_trial_begins_another_session():
    times = ["2026-11-01T12:00:00+00:00", "2026-11-01T12:59:00+00:00", "2026-11-01T14:00:00+00:00", ""]
    assert sessions(times).tolist() == [1, 1, 2, 0]
    assert sessions([]).tolist() == []


def test_a_map_counts_where_rff_was_measured_in_the_same_session(tmp_path):
    whole = load_results(folder(tmp_path / "a"))
    assert len(beside_baseline(whole).trials) == len(whole.trials) == 8
    later = load_results(folder(tmp_path / "b", later=[("eeg", "QMC"), ("magic04", "RFF"), ("magic04", "QMC")]))
    found = beside_baseline(later)
    kept = found.trials.groupby(["dataset", "method"]).size().to_dict()
    assert kept == {("eeg", "RFF"): 2, ("magic04", "RFF"): 2, ("magic04", "QMC"): 2}
    assert len(found.finished) == 6


def test_the_board_leaves_the_others_out_and_says_so(tmp_path):
    folder(tmp_path / "board")
    folder(tmp_path / "board-seconds", later=[("eeg", "QMC")])
    board = load_board(tmp_path)
    assert len(board.costs("fit")) == 6
    assert board.missing(["QMC"], 512, "board-seconds") == 2
    (note,) = progress(board).notes
    assert note.startswith("2 trials of board-seconds are left out: they were measured at another time than RFF")
