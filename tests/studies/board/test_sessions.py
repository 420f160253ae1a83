"""Seconds of a session without RFF count for no ratio: the machine may have been slower then."""

import json
import warnings

import pytest

from rffbench.errors import LeftOut
from rffbench.stats.costs import cost_ratios
from rffbench.stats.session import sessions
from studies.board.run_tables import progress
from studies.board.sessions import beside_baseline, joined
from studies.board.standing import load, load_board
from studies.board.tables import by_cost
from tests.helpers import report_log as log

METHODS = {"RFF": {"features": "fourier"}, "QMC": {"features": "qmc", "sequence": "halton"}}
MORE = METHODS | {"leverage-RFF": {"features": "leverage", "variant": "as-written"}}
DATASETS = ["eeg", "magic04"]


def folder(path, later=(), seconds=None, wide=(), bandwidth_s=0.0, again=(), **config):
    """Two maps on two datasets, measured within the hour, or ten days later where they are named; or those that
    ``seconds`` names, with what their fits took, beside ``bandwidth_s`` for σ. They have 512 columns, or 1,024
    where they are ``wide``. Then, from ten days later on, a day for each, sessions that measured some ``again``."""
    rows = measured("01", later, seconds, wide, bandwidth_s, **config)
    for day, session in enumerate(again, 11):
        rows += measured(str(day), bandwidth_s=bandwidth_s, **session)
    sizes = [512, 1024][: 1 + any("wide" in session for session in ({"wide": wide} if wide else {}, *again))]
    methods = MORE if seconds else METHODS
    return log.write(path, log.config(datasets=DATASETS, methods=methods, n_features=sizes, trials=2) | config, rows)


def measured(today, later=(), seconds=None, wide=(), bandwidth_s=0.0, **config):
    rows = []
    for dataset in DATASETS:
        for method in seconds or METHODS:
            for trial in range(2):
                size = 1024 if method in wide else 512
                spec = log.spec(dataset=dataset, method=method, n_features=size, multiple=None, trial=trial, **config)
                row = log.ok(spec, 80.0, feature_s=(seconds or {}).get(method, 1.0) - 0.3)  # the rest takes 0.3
                row["timing"]["bandwidth_s"] = bandwidth_s
                day = "11" if (dataset, method) in later else today
                rows.append({**row, "finished": f"2026-11-{day}T12:{len(rows):02}:00+00:00"})
    return rows


def test_an_hour_without_a_trial_begins_another_session():
    times = ["2026-11-01T12:00:00+00:00", "2026-11-01T12:59:00+00:00", "2026-11-01T14:00:00+00:00", ""]
    assert sessions(times).tolist() == [1, 1, 2, 0]
    assert sessions([]).tolist() == []


def test_a_map_counts_where_rff_was_measured_in_the_same_session(tmp_path):
    whole = joined([load(folder(tmp_path / "a"))])
    assert len(beside_baseline(whole).trials) == len(whole.trials) == 8
    moved = [("eeg", "QMC"), ("magic04", "RFF"), ("magic04", "QMC")]
    later = joined([load(folder(tmp_path / "b", later=moved))])
    found = beside_baseline(later)
    kept = found.trials.groupby(["dataset", "method"]).size().to_dict()
    assert kept == {("eeg", "RFF"): 2, ("magic04", "RFF"): 2, ("magic04", "QMC"): 2}


def test_rff_of_another_size_in_a_session_is_none_to_compare_with(tmp_path):
    """Ratios are to RFF's seconds with 512 columns: a session in which it was measured with 1,024 has none."""
    now = folder(tmp_path / "a", seconds={"RFF": 1.0, "QMC": 4.0}, wide=["QMC"])
    everything = [(dataset, method) for dataset in DATASETS for method in METHODS]
    later = folder(tmp_path / "b", everything, seconds={"RFF": 2.0, "QMC": 5.0}, wide=["RFF", "QMC"])
    parts = joined([load(now), load(later)])
    assert (parts.trials["n_features"] == 1024).sum() == 8  # QMC's of the later session, and RFF's
    kept = beside_baseline(parts).trials
    assert kept.groupby(["method", "n_features"]).size().to_dict() == {("RFF", 512): 4}


def test_the_board_leaves_the_others_out_and_says_so(tmp_path):
    folder(tmp_path / "board")
    folder(tmp_path / "board-seconds", later=[("eeg", "QMC")])
    board = load_board(tmp_path)
    assert len(board.costs("fit")) == 6
    assert board.missing(["QMC"], 512, "board-seconds") == 2
    (note,) = progress(board).notes
    assert note.startswith("2 trials of board-seconds are left out: they were measured at another time than RFF")


def test_a_map_measured_again_is_compared_with_rff_of_that_time(tmp_path):
    """The machine takes twice the seconds then, and the map's new code half of what its old code would."""
    folder(tmp_path / "board")
    again = [{"seconds": {"RFF": 2.0, "QMC": 4.0}}]
    folder(tmp_path / "board-seconds", seconds={"RFF": 1.0, "QMC": 4.0, "leverage-RFF": 0.5}, again=again)
    board = load_board(tmp_path)
    ratios = cost_ratios(board.costs("fit"), 512).xs("eeg").droplevel("n_features").round(2).to_dict()
    assert ratios == {"RFF": 1.0, "QMC": 2.0, "leverage-RFF": 0.5}
    assert board.progress("board-seconds").done == 12
    assert len(board.results["board-seconds"].trials) == 16  # RFF's of both times
    first, last = load(tmp_path / "board-seconds").sessions
    assert (len(first.trials), len(last.trials), set(last.trials["method"])) == (12, 8, {"RFF", "QMC"})


def test_when_and_where_the_seconds_of_a_map_were_measured_is_said_under_the_tables(tmp_path):
    folder(tmp_path / "board")
    again = [{"seconds": {"RFF": 2.0, "QMC": 4.0}}]
    folder(tmp_path / "board-seconds", seconds={"RFF": 1.0, "QMC": 4.0, "leverage-RFF": 0.5}, again=again)
    first, last = (
        {"started": f"2026-11-{day}T11:59:00+00:00", "cpu": f"processor {processor}"}
        for processor, day in (("A", "01"), ("B", "11"))
    )
    manifest = {"format": 2, **last, "earlier_runs": [first]}
    (tmp_path / "board-seconds" / "manifest.json").write_text(json.dumps(manifest))
    board = load_board(tmp_path)
    ratios = cost_ratios(board.before.costs("fit"), 512).xs("eeg").droplevel("n_features").round(2).to_dict()
    assert ratios == {"RFF": 1.0, "QMC": 4.0, "leverage-RFF": 0.5}
    assert {name: each.processor for each in board.before.timings["board-seconds"] for name in each.maps} == {
        "QMC": "processor A", "leverage-RFF": "processor A"
    }  # fmt: skip
    assert board.before.before is None
    (note,) = by_cost(board, "fit").notes
    assert "2026-11-01, processor A, 512 columns: leverage-RFF; 2026-11-11, processor B, 512 columns: QMC." in note
    assert by_cost(board.before, "fit").notes == []


def test_so_it_is_of_the_seconds_with_tuning(tmp_path):
    folder(tmp_path / "board")
    again = [{"seconds": {"RFF": 2.0, "QMC": 4.0}}]
    folder(tmp_path / "board-tuning", seconds={"RFF": 1.0, "leverage-RFF": 0.5}, bandwidth_s=1.0, again=again)
    board = load_board(tmp_path)
    ratios = cost_ratios(board.costs("tuning"), 512).xs("eeg").droplevel("n_features").round(3).to_dict()
    assert ratios == {"RFF": 1.0, "leverage-RFF": 0.75, "QMC": 1.667}
    _, note = by_cost(board, "tuning").notes
    assert "512 columns: leverage-RFF; 2026-11-11, an unknown processor, 512 columns: QMC." in note
    assert board.before is None


def test_a_session_of_another_size_is_no_measuring_again(tmp_path):
    """The seconds of before are those without the session that measured QMC again with 512 columns, also when wider
    ones come last, of which one measured the other again."""
    folder(tmp_path / "board")
    again = [{"seconds": {"RFF": 1.0, "QMC": 3.0}}]
    again += [{"seconds": {"RFF": 1.0, "QMC": seconds}, "wide": ["QMC"]} for seconds in (8.0, 9.0)]
    folder(tmp_path / "board-seconds", seconds={"RFF": 1.0, "QMC": 4.0, "leverage-RFF": 0.5}, again=again)
    board = load_board(tmp_path)
    of_qmc = [each.costs("fit").query("method == 'QMC'") for each in (board, board.before)]
    found = [dict(zip(each["n_features"], each["cost"].round(2), strict=True)) for each in of_qmc]
    assert found == [{512: 3.0, 1024: 9.0}, {512: 4.0, 1024: 9.0}]
    counts = [each.results["board-seconds"].trials["session"].nunique() for each in (board, board.before)]
    assert counts == [4, 3]


def test_a_part_that_cannot_be_read_is_told_by_name_and_the_rest_goes_on(tmp_path):
    folder(tmp_path / "board")
    (folder(tmp_path / "board-tuning") / "trials.jsonl").write_text("no row\nand no other\n")
    (folder(tmp_path / "board-kernels") / "config.yaml").write_text("datasets: [")
    (folder(tmp_path / "board-solvers") / "manifest.json").write_text('{"format": 99}')
    folder(tmp_path / "board-seconds", seconds={"RFF": 1.0, "QMC": 4.0})
    with pytest.warns(LeftOut) as told:
        board = load_board(tmp_path)
    assert list(board.results) == ["board", "board-seconds"]
    names = ["board-tuning/trials.jsonl", "board-kernels/config.yaml", "board-solvers/manifest.json"]
    assert [name in why for name, why in zip(names, board.unread, strict=True)] == [True] * 3
    messages = [str(each.message) for each in told]
    assert all(f"left out: {why}" in messages for why in board.unread)
    assert len(board.unread) == 3


def test_a_part_that_has_not_begun_is_no_matter(tmp_path):
    folder(tmp_path / "board")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not load_board(tmp_path).unread
