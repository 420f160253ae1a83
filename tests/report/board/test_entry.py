"""One's own map, and one's own data, on the board."""

import gzip
import re
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import rffbench
from rffbench.cli import cli
from rffbench.config.grid import Grid
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError, ResultsError, RffbenchError
from rffbench.execution.run import Summary
from rffbench.report.board import entry, own_tables
from rffbench.report.board import shipped as shipped_rows
from rffbench.report.board.entry import Budget, cost_of, forecast, maps_left_out, own_data, own_map, rows_used
from rffbench.report.board.own_tables import data_tables, map_tables
from rffbench.report.board.page import own_sections
from rffbench.report.board.shipped import protocol, read_shipped, read_tables
from rffbench.report.board.submission import save_entry
from rffbench.report.frame import load_results
from rffbench.stats import losses
from rffbench.stats.costs import with_cost
from rffbench.stats.gain import Reference
from studies.board.ship import ship
from tests.helpers import report_log as log
from tests.helpers.own_map import MINE

pytestmark = pytest.mark.slow


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return "./mine.py:Mine"


@pytest.fixture
def board(tmp_path, monkeypatch):
    """Results of a map on two datasets at two sizes, three trials, and a reference for both datasets."""
    known = {name: Reference(name, 0.5, 0.1, 0.001, 3) for name in ("eeg", "magic04")}
    monkeypatch.setattr(own_tables, "references", lambda: known)
    methods = {"RFF": {"features": "fourier"}, "QMC": {"features": "qmc", "sequence": "halton"}}
    config = log.config(datasets=["eeg", "magic04"], n_features=[128, 512], methods=methods)
    rows = [
        log.ok(log.spec(dataset=name, method=method, n_features=n, multiple=None, trial=t), score + t / 10, feature_s=s)
        for name in ("eeg", "magic04")
        for n, more in ((128, 0), (512, 10))
        for method, score, s in (("RFF", 70 + more, n / 128), ("QMC", 74 + more, n / 64))
        for t in range(3)
    ]
    return load_results(log.write(tmp_path / "board", config, rows))


def rows_of(table):
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def test_an_own_map_is_run_beside_rff_by_the_board_s_protocol(mine):
    small, one = load_experiment("board-small"), own_map(mine)
    assert list(one.methods) == ["RFF", "Mine"]
    assert one.datasets == small.datasets
    assert protocol(one.to_dict()) == protocol(small.to_dict())
    same = [each.key for each in small.grid() if each.method == "RFF"]
    assert [each.key for each in one.grid() if each.method == "RFF"] == same  # the very trials that ship


def test_an_own_map_on_some_datasets_or_on_all(mine):
    some = own_map(mine, ["phoneme", "eeg"])
    assert some.datasets == ["phoneme", "eeg"]
    assert len(some.grid()) == 2 * 2 * 2 * 2
    board, full = load_experiment("board"), own_map(mine, full=True)
    assert full.datasets == board.datasets
    assert protocol(full.to_dict()) == protocol(board.to_dict()) == protocol(some.to_dict())
    with pytest.raises(ConfigError, match=r"--datasets: unknown dataset of the board 'phonem'.*phoneme"):
        own_map(mine, ["phonem"])


def test_a_map_s_gain_is_shown_at_every_size(board):
    table, by_dataset = map_tables(board, "QMC")
    assert [(row["columns"], row["map"], row["gain, %"]) for row in rows_of(table)] == [
        ("128", "QMC", "+10.0"), ("512", "QMC", "+10.0"),
    ]  # fmt: skip
    assert [row["gain, %"] for row in rows_of(by_dataset)] == ["+10.0"] * 4
    assert [row["RFF"] for row in rows_of(by_dataset)][:2] == ["0.299", "0.199"]


def test_what_all_rows_have_the_same_is_said_once(board):
    table = map_tables(board, "QMC")[0]
    assert table.header == ["columns", "map", "gain, %", "95 %"]
    assert table.notes[:2] == ["In every row: 2 datasets, 3 trials.", "No trial failed."]


def test_there_are_no_probabilities_below_three_datasets(board, monkeypatch, tmp_path):
    assert "better | same | worse" not in map_tables(board, "QMC")[0].header
    known = own_tables.references()
    monkeypatch.setattr(own_tables, "references", lambda: known | {"letter": Reference("letter", 0.5, 0.1, 0.001, 3)})
    config = {**board.config, "datasets": ["eeg", "magic04", "letter"], "n_features": [128]}
    rows = [
        log.ok(log.spec(dataset=name, method=method, n_features=128, multiple=None), score)
        for name in config["datasets"] for method, score in (("RFF", 70.0), ("QMC", 74.0))
    ]  # fmt: skip
    (row,) = rows_of(map_tables(load_results(log.write(tmp_path / "three", config, rows)), "QMC")[0])
    assert float(row["better | same | worse"][:4]) > 0.9


def test_a_map_of_fewer_trials_says_so_beside_the_maps_that_ship(board, tmp_path, monkeypatch):
    path = tmp_path / "small.csv.gz"
    ship(rffbench.load(board.folder), path)
    monkeypatch.setattr(shipped_rows, "SHIPPED", {"ours": path})
    config = {**board.config, "methods": {"RFF": log.METHODS["RFF"], "leverage-RFF": log.METHODS["leverage-RFF"]}}
    rows = [
        log.ok(log.spec(dataset=name, method=method, n_features=128, multiple=None, trial=t), 70.0)
        for name in ("eeg", "magic04") for method in config["methods"] for t in range(2)
    ]  # fmt: skip
    table = map_tables(load_results(log.write(tmp_path / "mine", config, rows)), "leverage-RFF")[0]
    assert {row["map"]: row["trials"] for row in rows_of(table)} == {"leverage-RFF *": "2", "QMC": "3"}


@pytest.fixture
def timed(board, tmp_path):
    """What one fit of the maps of ``board`` costs: QMC half of RFF's seconds and twice its memory."""
    rows = []
    for name in ("eeg", "magic04"):
        for n in (128, 512):
            for method, share in (("RFF", 1.0), ("QMC", 0.5)):
                row = log.ok(log.spec(dataset=name, method=method, n_features=n, multiple=None), 70.0)
                row["timing"] |= dict.fromkeys(("feature_s", "fit_s", "predict_s"), share * n / 128)
                row["metrics"]["own_memory_bytes"] = n * 1000.0 / share
                rows.append(row)
    return load_results(log.write(tmp_path / "timed", {**board.config, "trials": 1}, rows))


def test_a_map_s_gain_at_rff_s_seconds_and_memory_has_an_interval_and_stands_beside_those_that_ship(
    board, timed, tmp_path, monkeypatch
):
    *_, seconds, memory = map_tables(board, "QMC", timed)
    assert "one fit" in seconds.title
    first, second = rows_of(seconds)
    assert (first["RFF's columns"], first["map"], first["cost"], first["left out"]) == ("128", "QMC", "0.50", "")
    assert float(first["gain, %"]) > 10  # it has more columns than RFF then
    assert " to " in first["95 %"]
    assert (second["cost"], second["gain, %"], second["left out"]) == ("0.50", "–", "2 cheaper")
    assert [(row["cost"], row["left out"]) for row in rows_of(memory)] == [("2.00", "2 dearer"), ("2.00", "")]

    path = tmp_path / "small.csv.gz"
    ship(rffbench.load(board.folder), path, {of: with_cost(timed.trials, of) for of in ("fit", "memory")})
    monkeypatch.setattr(shipped_rows, "SHIPPED", {"ours": path})
    methods = {"RFF": log.METHODS["RFF"], "leverage-RFF": log.METHODS["leverage-RFF"]}
    rows = [
        log.ok(log.spec(dataset=name, method=method, n_features=n, multiple=None, trial=t), 70.0)
        for name in ("eeg", "magic04") for method in methods for n in (128, 512) for t in range(2)
    ]  # fmt: skip
    mine = load_results(log.write(tmp_path / "mine", {**board.config, "methods": methods}, rows))
    *_, seconds, _ = map_tables(mine, "leverage-RFF", mine)
    assert [row["map"] for row in rows_of(seconds)] == ["QMC", "leverage-RFF *", "leverage-RFF *"]


def test_what_the_maps_cost_is_measured_as_the_board_s_seconds_are(mine):
    board, ours = load_experiment("board-seconds"), cost_of(own_map(mine, ["phoneme", "penbased"]))
    assert ours.timing == "exclusive"
    same = {each.key for each in board.grid() if each.method == "RFF"}
    assert {each.key for each in ours.grid() if each.method == "RFF"} <= same
    assert (ours.datasets, list(ours.methods), ours.size()) == (["phoneme", "penbased"], ["RFF", "Mine"], 8)


def test_the_maps_that_ship_stand_beside_it_where_the_protocol_is_the_same(board, tmp_path, monkeypatch):
    path = tmp_path / "small.csv.gz"
    ship(rffbench.load(board.folder), path)
    monkeypatch.setattr(shipped_rows, "SHIPPED", {"ours": path})
    pd.testing.assert_frame_equal(
        read_shipped(path).rows.reset_index(drop=True), losses(board.trials).reset_index(drop=True), check_dtype=False
    )
    methods = {**board.config["methods"], "ours": {"features": "orthogonal"}}
    table = map_tables(board, "QMC")[0]
    assert "QMC *" in [row["map"] for row in rows_of(table)]
    other = {**board.config, "methods": methods, "solver": {**board.config["solver"], "folds": 3}}
    assert protocol(other) != protocol(board.config)
    monkeypatch.setattr(shipped_rows, "SHIPPED", {})
    table = map_tables(board, "QMC")[0]
    assert "measured by another protocol; they are not shown" in " ".join(table.notes)
    assert [row["map"] for row in rows_of(table)] == ["QMC", "QMC"]


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"a,b\n1,2\n", mtime=0), gzip.compress(b"", mtime=0)],
    ids=["empty", "text", "other columns", "no rows"],
)
def test_a_board_s_file_of_another_version_is_told_and_the_rest_goes_on(board, tmp_path, monkeypatch, content):
    path = tmp_path / "small.csv.gz"
    path.write_bytes(content)
    with pytest.raises(ResultsError, match="is no board that this version wrote"):
        read_shipped(path)
    monkeypatch.setattr(shipped_rows, "SHIPPED", {"ours": path})
    table = map_tables(board, "QMC")[0]
    assert len(table.rows) == 2
    assert "is no board that this version wrote" in " ".join(table.notes)


def test_the_best_map_on_own_data_is_named_with_its_size(tmp_path):
    scores = {
        ("RFF", 128): [72, 73, 74], ("RFF", 512): [78, 79, 80.1],
        ("QMC", 128): [75, 76, 77.2], ("QMC", 512): [81, 82, 83],
    }  # fmt: skip
    table = advice(tmp_path / "one", scores)
    shown = [(row["columns"], row["map"], row["better than RFF by"], row["95 %"]) for row in rows_of(table)]
    assert shown == [
        ("128", "QMC", "-2.97", "-3.11 to -2.82"), ("128", "RFF", "-6.03", "-6.18 to -5.89"),
        ("512", "QMC", "+2.97", "+2.82 to +3.11"), ("512", "RFF", "", ""),
    ]  # fmt: skip
    said = " ".join(table.notes)
    assert "Differences are to RFF with 512 columns, the best of its sizes." in said
    assert "QMC with 512 columns has the best mean, and is shown to be better than RFF with 512 columns. Where" in said


def advice(folder, scores, **of_rows):
    """What is said of own data where maps have these scores: for each (map, columns) a list of trials."""
    methods = {name: log.METHODS[name] for name, _ in scores}
    config = log.config(n_features=sorted({columns for _, columns in scores}), methods=methods, **of_rows)
    rows = [
        log.ok(log.spec(method=name, n_features=columns, multiple=None, trial=t, **of_rows), score)
        for (name, columns), each in scores.items() for t, score in enumerate(each)
    ]  # fmt: skip
    return data_tables(load_results(log.write(folder, config, rows)))[0]


def test_a_map_is_held_against_rff_at_its_best_size_and_not_only_at_the_map_s_own(tmp_path):
    scores = {("RFF", 128): [70, 71, 72], ("QMC", 128): [75, 76, 77], ("RFF", 2048): [80, 81, 82.1]}
    said = " ".join(advice(tmp_path / "one", scores).notes)  # QMC is shown to be better than RFF at 128 only
    assert "RFF with 2048 columns has the best mean. Where" in said
    assert "use" not in said


def test_the_best_mean_with_fewer_columns_than_rff_needs_is_advised_though_it_is_not_decided(tmp_path):
    scores = {
        ("RFF", 128): [70, 71, 72], ("RFF", 2048): [78, 83, 80],
        ("QMC", 128): [83, 81, 84], ("QMC", 2048): [82, 81, 83],
    }  # fmt: skip
    said = " ".join(advice(tmp_path / "one", scores).notes)
    assert (
        "QMC with 128 columns has the best mean, but is not shown to be better than RFF with 2048 columns: use it, as "
        "it has fewer columns. Where" in said
    )
    more = scores | {("QMC", 2048): [86, 81, 84]}
    said = " ".join(advice(tmp_path / "more", more).notes)
    assert "QMC with 2048 columns has the best mean, but is not" in said
    assert ": use QMC with 128 columns, which has fewer columns and no worse a mean. Where" in said


def test_of_maps_that_are_shown_to_be_better_one_with_fewer_columns_is_advised_unless_it_is_worse(tmp_path):
    scores = {
        ("RFF", 512): [70, 71, 72], ("QMC", 128): [80, 81, 82.1], ("QMC", 512): [80.5, 80.9, 82.3],
    }  # fmt: skip
    said = " ".join(advice(tmp_path / "one", scores).notes)
    assert "QMC with 512 columns has the best mean, and is shown to be better than RFF with 512 columns" in said
    assert ": use QMC with 128 columns, which is shown to be, too, and has fewer columns. Where" in said
    said = " ".join(advice(tmp_path / "other", scores | {("QMC", 512): [90, 91, 92.3]}).notes)
    assert "RFF with 512 columns. Where" in said


def test_what_is_shown_of_one_map_is_not_shown_of_it_among_three(tmp_path):
    """Differences 1, 1.5 and 2 have p = 0.035 by themselves, two-sided, and by Holm three times that."""
    scores = {("RFF", 512): [70, 71, 72], ("QMC", 512): [71, 72.5, 74]}
    assert "QMC with 512 columns has the best mean, and is shown" in " ".join(advice(tmp_path / "one", scores).notes)
    more = {("RFF", 128): [69, 71.5, 70], ("QMC", 128): [72, 69, 71.5]}
    said = " ".join(advice(tmp_path / "more", scores | more).notes)
    assert "QMC with 512 columns has the best mean, but is not shown to be better than RFF with 512 columns" in said


def test_trials_that_differ_alike_show_nothing(tmp_path):
    """Of two trials on few test rows, some map of twenty has the same difference twice: its spread is not 0."""
    table = advice(tmp_path / "one", {("RFF", 512): [70, 71], ("QMC", 128): [70.4, 71.4], ("QMC", 512): [70.2, 71.3]})
    assert [row["95 %"] for row in rows_of(table)] == ["", "-0.39 to +0.89", ""]
    said = " ".join(table.notes)
    assert "QMC with 128 columns has the best mean, but is not shown to be better than RFF with 512 columns" in said
    assert "Where the difference is the same in all trials, there is no interval: its spread is not known." in said


def test_maps_of_fewer_trials_are_compared_in_the_trials_that_both_have(tmp_path):
    scores = {("RFF", 512): [90, 60, 60], ("QMC", 512): [89]}  # whose mean is better, and who lost
    said = " ".join(advice(tmp_path / "one", scores).notes)
    assert "RFF with 512 columns has the best mean." in said


def test_a_smaller_size_of_the_advised_map_is_named_where_it_is_not_shown_to_be_worse(tmp_path):
    scores = {("RFF", 128): [70, 75, 72], ("RFF", 512): [73, 72, 76]}
    said = " ".join(advice(tmp_path / "one", scores).notes)
    assert "RFF with 512 columns has the best mean. RFF with 128 columns is not shown to be worse than that." in said


def test_landmarks_that_are_all_training_rows_are_shown_once(tmp_path, monkeypatch):
    monkeypatch.setitem(log.METHODS, "Nyström", {"features": "nystroem"})
    scores = {
        (name, columns): [70 + columns / 1024, 71, 72] for name in ("RFF", "Nyström") for columns in (128, 512, 2048)
    }  # fmt: skip
    table = advice(tmp_path / "one", scores, train_rows=300)
    assert [row["columns"] for row in rows_of(table) if row["map"] == "Nyström"] == ["128", "300"]
    assert [row["columns"] for row in rows_of(table) if row["map"] == "RFF"] == ["128", "512", "2048"]
    assert "300 columns: all training rows. With more columns Nyström would be the same." in table.notes


def on_own_data(folder, scores, **row):
    """The table of maps at 128 columns with these scores, a list of trials for each."""
    config = log.config(n_features=[128], methods={name: log.METHODS[name] for name in scores})
    rows = [
        log.ok(log.spec(method=name, n_features=128, multiple=None, trial=t), score, **row)
        for name, each in scores.items() for t, score in enumerate(each)
    ]  # fmt: skip
    results = load_results(log.write(folder, config, rows))
    return data_tables(results, results)[0]


def test_rff_is_named_for_own_data_unless_another_map_is_shown_to_be_better(tmp_path):
    table = on_own_data(tmp_path / "one", {"RFF": [70, 71, 72], "QMC": [75, 71, 72]})
    said = " ".join(table.notes)
    assert (
        "QMC with 128 columns has the best mean, but is not shown to be better than RFF with 128 columns: use RFF with "
        "128 columns. Where an interval includes 0, the map is not shown to differ from RFF with 128 columns." in said
    )
    table = on_own_data(tmp_path / "other", {"RFF": [70, 71, 72], "QMC": [60, 61, 63]})
    assert "RFF with 128 columns has the best mean. Where" in " ".join(table.notes)


def test_a_learner_without_a_map_stands_beside_the_maps_on_own_data_and_is_not_named_as_one(tmp_path, monkeypatch):
    monkeypatch.setitem(log.METHODS, "trees", {"features": "none"})
    config = log.config(n_features=[128], methods={name: log.METHODS[name] for name in ("RFF", "QMC", "trees")})
    config["methods"]["trees"] = {"features": "none", "n_features": [1]}
    scores = {"RFF": [70, 71], "QMC": [71, 71], "trees": [90, 91]}
    rows = [
        log.ok(log.spec(method=name, n_features=1 if name == "trees" else 128, multiple=None, trial=t), score)
        for name, each in scores.items() for t, score in enumerate(each)
    ]  # fmt: skip
    table = data_tables(load_results(log.write(tmp_path / "one", config, rows)))[0]
    last = rows_of(table)[-1]
    assert (last["columns"], last["map"], last["better than RFF by"]) == ("–", "trees", "+20.00")
    said = " ".join(table.notes)
    assert "QMC with 128 columns has the best mean, but" in said
    assert "Differences are to RFF with 128 columns, the best of its sizes." in said
    assert "learners without a map. trees, without a map, has a better mean than every map." in said


def test_of_one_trial_on_own_data_no_interval_is_spoken_of(tmp_path):
    table = on_own_data(tmp_path / "one", {"RFF": [70], "QMC": [75]})
    said = " ".join(table.notes)
    assert "There are no intervals: they need two trials." in said
    assert "Where an interval" not in said


def test_differences_on_own_data_are_rounded_and_costs_stand_beside_them(tmp_path):
    table = on_own_data(tmp_path / "one", {"RFF": [70, 71], "QMC": [70 - 1e-14, 71]}, feature_s=1.0)
    (row,) = [row for row in rows_of(table) if row["map"] == "QMC"]
    assert (row["better than RFF by"], row["seconds"]) == ("+0.00", "1.30")


def test_own_data_gets_what_it_needs(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=60), "word": rng.choice(["x", "y"], 60), "b": rng.normal(size=60)})
    data.loc[3, "b"] = np.nan
    data["target"] = rng.choice(["yes", "no"], 60)
    data.to_csv(tmp_path / "mine.csv", index=False)
    found = own_data(str(tmp_path / "mine.csv"))
    assert found.preprocess["default"] == ["impute-median", "onehot", "clip", "standard"]
    board = load_experiment("board").methods
    assert set(found.methods) == set(board)
    without = {"linear", "boosted trees", "kernel ridge"}
    assert {name for name, each in found.methods.items() if each.features == "none"} == without
    assert {spec.n_features for spec in found.grid() if spec.method == "SORF"} == {128, 512}
    assert not maps_left_out(found)


def test_own_data_has_kernel_ridge_up_to_3000_training_rows(tmp_path):
    for rows, has in ((6_000, True), (6_002, False)):
        pd.DataFrame(np.random.default_rng(0).normal(size=(rows, 2))).to_csv(tmp_path / f"r{rows}.csv", index=False)
        found = own_data(str(tmp_path / f"r{rows}.csv"))
        assert ("kernel ridge" in found.methods) is has
        assert not maps_left_out(found)


def test_minutes_plan_sizes_and_trials(tmp_path, monkeypatch):
    pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3))).to_csv(tmp_path / "mine.csv", index=False)
    seconds = iter([1000.0, 0.0, 200.0, 0.0, 20.0, 10.0])  # of each plan the trials, then those of cost
    monkeypatch.setattr(entry, "run_seconds", lambda specs, workers: next(seconds))
    planned = own_data(str(tmp_path / "mine.csv"), budget=Budget(2))
    assert ([*planned.n_features["default"]], planned.trials) == (list(entry.PLANS[2][0]), {"default": 5})
    monkeypatch.setattr(entry, "run_seconds", lambda specs, workers: 300.0)
    least = (
        "--minutes 1: the least that there is to run takes about 10 min; give --minutes 1[0-9], or a file with fewer"
    )
    with pytest.raises(ConfigError, match=least):
        own_data(str(tmp_path / "mine.csv"), budget=Budget(1))


def test_minutes_leave_out_the_dearest_maps_where_all_do_not_fit(tmp_path, monkeypatch):
    pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3))).to_csv(tmp_path / "mine.csv", index=False)

    def seconds(specs, workers):
        return sum(50.0 if spec.method == "TEFM" else 1.0 for spec in specs)

    monkeypatch.setattr(entry, "run_seconds", seconds)
    planned = own_data(str(tmp_path / "mine.csv"), budget=Budget(1))  # 24 methods at one size, one trial, twice
    assert maps_left_out(planned) == "left out, to take no longer: TEFM"
    assert planned.size() == 24


def test_it_is_said_beforehand_how_long_it_takes_and_for_which_dataset_one_s_own_map_wants_minutes(mine, monkeypatch):
    monkeypatch.setattr(entry, "run_seconds", lambda specs, workers: 2.0 * len(specs))
    experiment = own_map(mine, ["phoneme", "cod-rna"])
    assert forecast(experiment, 1, mine).said("Mine") == ["this takes about 48 s"]  # 16 trials, then 8 of cost
    done = {spec.key for spec in experiment.grid()}
    assert forecast(experiment, 1, mine, done).seconds == 16.0
    takes, wants = forecast(experiment, 1, mine, slow=3e-4).said("Mine")
    assert wants.startswith("warning: Mine wants minutes for cod-rna (about ")
    assert "phoneme" not in wants
    *_, too_long = forecast(experiment, 1, mine, slow=1e-2).said("Mine")
    assert "a trial of Mine may take longer than 10 min on cod-rna" in too_long
    assert "min" in takes or " s" in takes


def test_minutes_count_from_the_start_of_the_command(tmp_path, monkeypatch):
    pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3))).to_csv(tmp_path / "mine.csv", index=False)
    monkeypatch.setattr(entry, "run_seconds", lambda specs, workers: 20.0)
    own_data(str(tmp_path / "mine.csv"), budget=Budget(3))
    with pytest.raises(ConfigError, match=r"--minutes 3: .*; give --minutes 4"):
        own_data(str(tmp_path / "mine.csv"), budget=Budget(3, time.monotonic() - 170))


def test_minutes_plan_a_map_s_datasets_sizes_and_trials(mine, monkeypatch):
    monkeypatch.setattr(entry, "run_seconds", lambda specs, workers: 10.0 * len(specs))  # ten seconds a trial
    planned = own_map(mine, budget=Budget(15))
    assert ([*planned.n_features["default"]], planned.trials["default"]) == ([128, 512], 2)  # 48 trials, and 24 of cost
    assert planned.time_limit == 600
    least = own_map(mine, budget=Budget(2.5))
    assert (len(least.datasets), least.size()) == (entry.FEWEST_DATASETS, 6)
    assert own_map(mine, full=True, budget=Budget(100_000)).size() == 2 * 28 * 5 * 5
    with pytest.raises(ConfigError, match=r"--minutes 0\.5: the least that there is to run takes about 2 min; give"):
        own_map(mine, budget=Budget(0.5))
    slow = "as the map takes 10 ms a row more than RFF; give --minutes [0-9]+, or --datasets with fewer rows"
    with pytest.raises(ConfigError, match=slow):
        own_map(mine, budget=Budget(0.5), slow=1e-2)


def test_how_slow_a_map_is_is_measured(mine, tmp_path):
    slow = MINE.replace("P = X @ self.W_", "__import__('time').sleep(1); P = X @ self.W_")
    (tmp_path / "slow.py").write_text(slow)
    assert entry.seconds_a_row("./slow.py:Mine") >= 0.5 / entry.TIMED_ROWS


def test_the_page_of_a_map_shows_its_gains_what_was_chosen_and_where_it_ran(board, timed):
    gains, chosen, ran = own_sections(map_tables(board, "QMC", timed), board, timed, "QMC")
    assert [each.name for each in gains.pictures] == ["board-gains"]
    (panel,) = own_tables.map_panels(board, "QMC")
    (strip,) = panel.strips
    assert (panel.title, strip.name, strip.values) == ("Gains over RFF at 512 columns", "QMC", (10.0, 10.0))
    assert chosen.tables[0].header == ["dataset", "columns", "map", "σ / median", "λ"]
    assert len(chosen.tables[0].rows) == 8  # two datasets, two sizes, two maps
    assert ran.tables[0].header[:2] == ["part", "runs"]


def test_one_trial_of_a_map_has_ten_minutes(mine):
    assert own_map(mine).time_limit == entry.LONGEST_S == 600


def test_a_map_that_gives_another_number_at_the_second_try_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE.replace("default_rng(self.random_state)", "default_rng()"))
    done = CliRunner().invoke(cli, ["board", "./mine.py:Mine"], standalone_mode=False)
    assert isinstance(done.exception, ConfigError)
    assert "the check seed failed, which scores depend on; nothing was run" in str(done.exception)
    assert not (tmp_path / "results").exists()


def test_a_map_that_fails_a_check_is_not_run_unless_told_so(tmp_path, monkeypatch):
    """A kernel error that does not fall with the columns: its scores mean what they say, and its author should know."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE.replace("np.hstack([np.cos(P), np.sin(P)])", "np.hstack([P, P]) / 9"))
    words = ["board", "./mine.py:Mine", "--minutes", "0.001"]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    assert re.search(r"the check \w+ failed; nothing was run; --anyway runs it", str(done.exception))
    assert not (tmp_path / "results").exists()
    told = CliRunner().invoke(cli, [*words, "--anyway"], standalone_mode=False)
    assert re.search(r"checks passed, .* failed", told.output)
    assert "--minutes 0.001: the least that there is to run takes about" in str(told.exception)
    alone = CliRunner().invoke(cli, ["board", "--anyway"], standalone_mode=False)
    assert "--anyway goes with a map" in str(alone.exception)


def test_a_map_that_fails_on_a_dataset_counts_as_the_constant_there(tmp_path, monkeypatch):
    monkeypatch.setattr(own_tables, "references", lambda: {name: Reference(name, 0.5, 0.1, 0.001, 3)
                                                           for name in ("eeg", "magic04")})  # fmt: skip
    config = log.config(datasets=["eeg", "magic04"], n_features=[128])
    rows = []
    for name in config["datasets"]:
        for trial in range(2):
            spec = {"dataset": name, "n_features": 128, "multiple": None, "trial": trial}
            rows.append(log.ok(log.spec(method="RFF", **spec), 70.0))
            own = log.spec(method="QMC", **spec)
            rows.append(log.ok(own, 74.0) if name == "eeg" else log.lost(own, "timeout"))
    results = load_results(log.write(tmp_path / "run", config, rows))
    table, by_dataset, at_seconds = map_tables(results, "QMC", results)
    (row,) = rows_of(at_seconds)
    assert (row["gain, %"], row["left out"]) == ("-20.0", "")  # as at equal columns, in the middle of +10 and -50
    assert "A failed trial counts as a constant, whatever it would have cost." in at_seconds.notes
    assert "Without its failed trials QMC gains +10.0 % at RFF's seconds with 128 columns." in at_seconds.notes
    assert {"In every row: 2 datasets, 2 trials.", "Failed trials in every row: 2."} <= set(table.notes)
    assert "Without its failed trials QMC gains +10.0 % at 128 columns." in table.notes
    found = {row["dataset"]: (row["QMC"], row["gain, %"]) for row in rows_of(by_dataset)}
    assert found == {"eeg": ("0.26", "+10.0"), "magic04": ("failed", "-50.0")}


def test_of_very_many_rows_some_are_learnt_from(tmp_path, monkeypatch):
    monkeypatch.setattr(entry, "MOST_ROWS", 50)
    pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3))).to_csv(tmp_path / "mine.csv", index=False)
    some = own_data(str(tmp_path / "mine.csv"))
    assert some.train_rows["default"] == 50
    assert cost_of(some).train_rows["default"] == 50
    assert rows_used(Grid(some.to_dict())) == "50 of 100 training rows are used"
    monkeypatch.setattr(entry, "MOST_ROWS", 100)
    assert not rows_used(Grid(own_data(str(tmp_path / "mine.csv")).to_dict()))


def test_own_data_may_be_given_as_a_config_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{i % 7},text {i % 9},{i / 2}" for i in range(60)]
    (tmp_path / "mine.csv").write_text("\n".join(["y,note,a", *lines]))
    found = own_data("{path: mine.csv, target: y, ignore: [note], task: regression}")
    assert found.cards["mine"].columns == 1
    (tmp_path / "mine.csv").rename(tmp_path / "bare")
    found = own_data("{path: bare, target: y, ignore: [note], task: regression}")
    assert cost_of(found).cards["bare"].columns == 1  # the name means the data as it was given, not the file anew
    (tmp_path / "bare").rename(tmp_path / "mine.csv")
    with pytest.raises(ConfigError, match="--data: unknown key 'ignoer'; did you mean 'ignore'"):
        own_data("{path: mine.csv, ignoer: [note]}")
    with pytest.raises(ConfigError, match="--data, line 1: a bracket opened above is not closed"):
        own_data("{path: mine.csv")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,b,y", *["1,2.5,yes", "2,1.5,yes"] * 20], "a second class is needed"),
        (["a,b,y", *["1,2.5,3.5", "2,1.5,3.5"] * 20], "a second value is needed"),
        (["a,b,y", "1,2,0", "3,4,1"], "--data: mine: 2 rows: 1 to learn from, 1 to test on; 50 or more are needed"),
        (["a,b,y", *["1,2,yes", "2,1,no"] * 30, "0,0,perhaps"], "--data: mine: 1 row of class 'perhaps'; 10 or more"),
        (["some text", "and more of it"], "the header, line 1, has 2 values, the rows below it 4"),
    ],
)
def test_data_that_cannot_be_used_is_refused_at_once(tmp_path, lines, message):
    (tmp_path / "mine.csv").write_text("\n".join(lines))
    with pytest.raises((RffbenchError, ValueError), match=message):
        own_data(str(tmp_path / "mine.csv"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--small"], "give a map"),
        (["sorf", "--small", "--full"], "give one of --small, --full"),
        (["--minutes", "3"], "give a map"),
        (["sorf", "--minutes", "0"], "--minutes must be greater than 0, got 0"),
        (["non"], "unknown feature map 'non'; valid: "),
        (["none"], "none means no feature map, so there is nothing to check"),
        (["sorf", "--datasets", "egg"], "--datasets: unknown dataset of the board 'egg'"),
        (["sorf", "--nonce", "x"], "goes with it"),
        (["sorf", "--check", "x"], "the folder has them"),
        (["sorf", "--save", "x"], "keeps a map in a file"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, message):
    done = CliRunner().invoke(cli, ["board", *words], standalone_mode=False)
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)


def test_what_goes_into_a_pull_request_is_saved_and_overwrites_no_other_map(board, mine, tmp_path):
    tables = map_tables(board, "QMC")
    (board.folder / "manifest.json").write_text('{"format": 2}')
    written = save_entry(board.folder, board.folder, mine, tables, tmp_path / "saved")
    assert {path.name for path in written} == {"card.yaml", "mine.py", "trials.jsonl", "manifest.json", "config.yaml"}
    assert (tmp_path / "saved" / "mine.py").read_text() == MINE
    copied = (tmp_path / "saved" / "seconds" / "trials.jsonl").read_text()
    assert copied == (board.folder / "trials.jsonl").read_text()
    save_entry(board.folder, board.folder, mine, tables, tmp_path / "saved")
    (tmp_path / "mine.py").write_text(MINE.replace("Mine", "Other"))
    with pytest.raises(ConfigError, match="holds the map Mine; name another folder"):
        save_entry(board.folder, None, "./mine.py:Other", tables, tmp_path / "saved")


def test_where_all_trials_fail_no_option_is_advised_that_the_board_does_not_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3))).to_csv(tmp_path / "mine.csv", index=False)
    none = Summary(tmp_path, Counter({"error": 60}), 60, 1.0)
    monkeypatch.setattr("rffbench.execution.run.run_experiment", lambda *args, **options: none)
    monkeypatch.setattr("rffbench.cli.running.reasons_of_failures", lambda folder: {})
    done = CliRunner().invoke(cli, ["board", "--data", "mine.csv"], standalone_mode=False)
    assert done.return_value == 1, done.output
    assert "0 trials ok, 60 failed" in done.output
    assert "--retry-failed" not in done.output


def test_own_data_from_the_command_line(tmp_path, mine, monkeypatch):
    monkeypatch.setattr(entry, "USUAL", ((128,), 2))  # of every map a trial or two will do
    monkeypatch.setattr(entry, "WITHOUT_MAP", [name for name in entry.WITHOUT_MAP if name != "boosted trees"])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    data = pd.DataFrame(X).assign(y=np.sin(2 * X[:, 0]) + X[:, 1])
    data.to_csv(tmp_path / "data.csv", index=False)
    done = CliRunner().invoke(cli, ["board", "--data", "data.csv", "--workers", "1"], standalone_mode=False)
    assert done.exception is None, done.output
    assert "has the best mean" in done.output
    assert "orthogonal" in done.output


def test_tables_of_another_version_are_told(tmp_path):
    path = tmp_path / "tables.jsonl"
    path.write_text('{"title": "Gains"}\n')
    with pytest.raises(ResultsError, match="is no board that this version wrote"):
        read_tables(path)


def test_without_results_the_board_shows_the_rows_that_ship(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["board"], standalone_mode=False)
    assert done.exception is None, done.output
    assert done.output.startswith("By data and budget\n")
    assert "exploratory" in done.output
    assert "Nyström RPCholesky †" in done.output
    said = " ".join(done.output.split())
    assert "These rows ship with rffbench" in said
    assert "Gain at RFF's seconds: map, one fit and prediction" in said
    assert "Gain at RFF's memory" in said
    assert not list(tmp_path.iterdir())


def test_your_own_run_of_the_board_is_shown_and_what_cannot_be_read_is_named(board, tmp_path):
    (tmp_path / "board-seconds").mkdir()
    done = CliRunner().invoke(cli, ["board", "--results", str(tmp_path)], standalone_mode=False)
    assert done.exception is None, done.output
    assert done.return_value == 1
    assert f"left out: {tmp_path / 'board-seconds' / 'config.yaml'}" in done.output
    shipped_tables, own = done.output.split("those below are of the run in")
    assert shipped_tables.startswith("By data and budget\n")
    assert "gain over RFF at equal columns" in " ".join(own.split())
    assert "These rows ship with rffbench" not in own
    assert (tmp_path / "board" / "board.html").exists()
