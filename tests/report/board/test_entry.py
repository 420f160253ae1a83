"""One's own map, and one's own data, on the board."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError, ResultsError, RffbenchError
from rffbench.report.board import entry, own_tables
from rffbench.report.board import shipped as shipped_rows
from rffbench.report.board.entry import own_data, own_map
from rffbench.report.board.own_tables import data_tables, map_tables
from rffbench.report.board.registered import COLUMNS
from rffbench.report.board.score import CELL, Reference, losses
from rffbench.report.board.shipped import protocol, read_shipped, ship, shipped
from rffbench.report.board.standing import load_board
from rffbench.report.board.submission import save_entry
from rffbench.report.board.views import at_cost
from rffbench.report.frame import load_results
from tests.helpers import report_log as log
from tests.helpers.findings import ROOT
from tests.helpers.own_map import MINE


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
    table, by_dataset, costs = map_tables(board, "QMC")
    assert [(row["columns"], row["map"], row["gain"]) for row in rows_of(table)] == [
        ("128", "QMC", "+10.0"), ("512", "QMC", "+10.0"),
    ]  # fmt: skip
    assert {row["better | same | worse"][:4] for row in rows_of(table)} == {"0.95"} or rows_of(table)
    assert [row["gain, %"] for row in rows_of(by_dataset)] == ["+10.0"] * 4
    assert [row["RFF"] for row in rows_of(by_dataset)][:2] == ["0.299", "0.199"]
    ratios = [float(row["map and prediction"]) for row in rows_of(costs)]
    assert all(1 < ratio <= 2 for ratio in ratios)


def test_the_maps_that_ship_stand_beside_it_where_the_protocol_is_the_same(board, tmp_path, monkeypatch):
    path = tmp_path / "small.csv.gz"
    ship(board, path)
    monkeypatch.setattr(shipped_rows, "SHIPPED", {"ours": path})
    pd.testing.assert_frame_equal(
        read_shipped(path).rows.reset_index(drop=True), losses(board).reset_index(drop=True), check_dtype=False
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


def test_the_best_map_on_own_data_is_named_with_its_size(board, tmp_path):
    one = load_results(
        log.write(
            tmp_path / "one", log.config(n_features=[128, 512], methods=board.config["methods"]),
            [
                log.ok(log.spec(method=method, n_features=n, multiple=None, trial=t), score + t)
                for n in (128, 512) for method, score in (("RFF", 70 + n / 64), ("QMC", 73 + n / 64)) for t in range(3)
            ],
        )
    )  # fmt: skip
    (table,) = data_tables(one)
    first = rows_of(table)[0]
    assert (first["map"], first["better than RFF by"], first["95 %"]) == ("QMC", "+3", "+3 to +3")
    assert "The best mean has QMC with 512 columns" in table.notes[0]


def test_own_data_gets_what_it_needs(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=60), "word": rng.choice(["x", "y"], 60), "b": rng.normal(size=60)})
    data.loc[3, "b"] = np.nan
    data["target"] = rng.choice(["yes", "no"], 60)
    data.to_csv(tmp_path / "mine.csv", index=False)
    found = own_data(str(tmp_path / "mine.csv"))
    assert found.preprocess["default"] == ["impute-median", "onehot", "clip", "standard"]
    assert "RFF" in found.methods
    assert all(method.features != "none" for method in found.methods.values())


def test_minutes_plan_sizes_and_trials(tmp_path, monkeypatch):
    pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3))).to_csv(tmp_path / "mine.csv", index=False)
    seconds = iter([1000.0, 200.0, 59.0])
    monkeypatch.setattr(entry, "run_seconds", lambda specs, workers: next(seconds))
    planned = own_data(str(tmp_path / "mine.csv"), minutes=1)
    assert ([*planned.n_features["default"]], planned.trials) == (list(entry.PLANS[2][0]), {"default": 5})
    monkeypatch.setattr(entry, "run_seconds", lambda specs, workers: 600.0)
    with pytest.raises(ConfigError, match="--minutes 1: the least that there is to run takes about 10 min"):
        own_data(str(tmp_path / "mine.csv"), minutes=1)


def test_minutes_plan_a_map_s_datasets_sizes_and_trials(mine, monkeypatch):
    monkeypatch.setattr(entry, "seconds_a_row", lambda ref: 0.0)
    monkeypatch.setattr(entry, "run_seconds", lambda specs, workers: float(len(specs)))  # a second a trial
    planned = own_map(mine, minutes=1)
    assert ([*planned.n_features["default"]], planned.trials["default"]) == ([128, 512], 2)  # 6·2·2 maps·2 = 48
    assert planned.time_limit == 60
    least = own_map(mine, minutes=0.1)
    assert (len(least.datasets), least.size()) == (entry.FEWEST_DATASETS, 6)
    assert own_map(mine, full=True, minutes=10_000).size() == 2 * 28 * 5 * 5
    with pytest.raises(ConfigError, match=r"--minutes 0\.05: the least that there is to run takes about 6 s"):
        own_map(mine, minutes=0.05)
    monkeypatch.setattr(entry, "seconds_a_row", lambda ref: 1e-3)
    assert own_map(mine, minutes=1, workers=2).size() < planned.size()


def test_how_slow_a_map_is_is_measured(mine, tmp_path):
    slow = MINE.replace("P = X @ self.W_", "__import__('time').sleep(1); P = X @ self.W_")
    (tmp_path / "slow.py").write_text(slow)
    assert entry.seconds_a_row("./slow.py:Mine") >= 0.5 / entry.TIMED_ROWS


def test_one_trial_of_a_map_has_ten_minutes(mine):
    assert own_map(mine).time_limit == entry.LONGEST_S == 600


def test_a_map_that_gives_another_number_at_the_second_try_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE.replace("default_rng(self.random_state)", "default_rng()"))
    done = CliRunner().invoke(cli, ["board", "./mine.py:Mine"], standalone_mode=False)
    assert isinstance(done.exception, ConfigError)
    assert "the check seed failed, which scores depend on; nothing was run" in str(done.exception)
    assert not (tmp_path / "results").exists()


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
    table, by_dataset, _ = map_tables(load_results(log.write(tmp_path / "run", config, rows)), "QMC")
    assert [row["failures"] for row in rows_of(table)] == ["2"]
    found = {row["dataset"]: (row["QMC"], row["gain, %"]) for row in rows_of(by_dataset)}
    assert found == {"eeg": ("0.26", "+10.0"), "magic04": ("failed", "-50.0")}


def test_of_very_many_rows_some_are_learnt_from(tmp_path, monkeypatch):
    monkeypatch.setattr(entry, "MOST_ROWS", 50)
    pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3))).to_csv(tmp_path / "mine.csv", index=False)
    assert own_data(str(tmp_path / "mine.csv")).train_rows["default"] == 50


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,b,y", *["1,2,yes"] * 20], "a second class is needed"),
        (["a,b,y", "1,2,0", "3,4,1"], "folds|rows"),
        (["some text", "and more of it"], "an input and the target are needed"),
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
    (board.folder / "manifest.json").write_text("{}")
    written = save_entry(board.folder, mine, tables, tmp_path / "saved")
    assert {path.name for path in written} == {"card.yaml", "mine.py", "trials.jsonl", "manifest.json", "config.yaml"}
    assert (tmp_path / "saved" / "mine.py").read_text() == MINE
    save_entry(board.folder, mine, tables, tmp_path / "saved")
    (tmp_path / "mine.py").write_text(MINE.replace("Mine", "Other"))
    with pytest.raises(ConfigError, match="holds the map Mine; name another folder"):
        save_entry(board.folder, "./mine.py:Other", tables, tmp_path / "saved")


@pytest.mark.slow
def test_own_data_from_the_command_line(tmp_path, mine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    data = pd.DataFrame(X).assign(y=np.sin(2 * X[:, 0]) + X[:, 1])
    data.to_csv(tmp_path / "data.csv", index=False)
    done = CliRunner().invoke(cli, ["board", "--data", "data.csv", "--workers", "1"], standalone_mode=False)
    assert done.exception is None, done.output
    assert "The best mean has" in done.output
    assert "orthogonal" in done.output


def test_the_page_has_the_tables_of_the_results_and_the_shipped_rows_are_theirs():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import ship_board
    finally:
        sys.path.pop(0)
    text = ship_board.PAGE.read_text(encoding="utf-8")
    assert ship_board.page(text) == text, "python scripts/ship_board.py"
    results = load_results(ship_board.FOLDER)
    there = shipped(protocol(results.config))
    assert there.protocol == protocol(load_experiment("board-small").to_dict())
    pd.testing.assert_frame_equal(
        there.rows.reset_index(drop=True), losses(results).reset_index(drop=True), check_dtype=False
    )


def test_the_rows_of_the_board_ship_too():
    results = load_results(ROOT / "results" / "board")
    there = shipped(protocol(results.config))
    assert there.protocol == protocol(load_experiment("board").to_dict())
    rows = there.rows.reset_index(drop=True)
    pd.testing.assert_frame_equal(rows.drop(columns="cost"), losses(results).reset_index(drop=True), check_dtype=False)
    of_board = load_board(ROOT / "results")
    from_rows = at_cost(rows, rows[[*CELL, "cost"]].dropna(), of_board.known, COLUMNS)
    pd.testing.assert_frame_equal(from_rows.gains, of_board.at_cost("fit", COLUMNS).gains, atol=1e-3)


def test_without_results_the_board_shows_the_rows_that_ship(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["board"], standalone_mode=False)
    assert done.exception is None, done.output
    assert "Nyström RPCholesky" in done.output
    said = " ".join(done.output.split())
    assert "These rows ship with rffbench" in said
    assert "Gain at RFF's seconds with 512 columns" in said
    assert not list(tmp_path.iterdir())
