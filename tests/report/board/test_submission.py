"""A folder with one's own map: what a check draws, and what it refuses."""

import subprocess

import pytest
from click.testing import CliRunner

from rffbench import yamlfile
from rffbench.cli import cli
from rffbench.errors import ConfigError, ResultsError
from rffbench.report.board import submission
from rffbench.report.board.entry import own_map
from rffbench.report.board.own_tables import map_tables
from rffbench.report.board.submission import (
    Submission,
    check_table,
    differences,
    drawn,
    other_gains,
    read_submission,
)
from rffbench.report.frame import load_results
from rffbench.trials.spec import TrialResult
from tests.helpers import report_log as log
from tests.helpers.own_map import MINE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What `rffbench board ./mine.py:Mine --datasets phoneme,kin8nm,w8a --save` writes, with made-up scores."""
    monkeypatch.chdir(tmp_path)
    return saved_entry(tmp_path, ["phoneme", "kin8nm", "w8a"])


def saved_entry(tmp_path, datasets=()):
    (tmp_path / "mine.py").write_text(MINE)
    ran, saved = tmp_path / "ran", tmp_path / "saved"
    ran.mkdir()
    experiment = own_map("./mine.py:Mine", datasets)
    rows = []
    for spec in experiment.grid():
        metric = (
            {"rmse": 0.1} if spec.dataset in ("kin8nm", "powerplant") else {"accuracy": 80.0, "balanced_accuracy": 79.0}
        )
        metric["own_memory_bytes"] = 1000.0 * spec.n_features
        rows.append(TrialResult(spec, "ok", metric, {"feature_s": 1.0}, 10**9, 0.05).to_row())
    (ran / "config.yaml").write_text(experiment.to_yaml(ran))
    (ran / "manifest.json").write_text("{}")
    (ran / "trials.jsonl").write_text("".join(log.json.dumps(row) + "\n" for row in rows))
    results = load_results(ran)
    submission.save_entry(ran, ran, "./mine.py:Mine", map_tables(results, "Mine", results), saved)
    return saved


def test_a_tenth_is_drawn_by_the_nonce_and_some_of_it_is_of_the_map(folder):
    found = read_submission(folder)
    assert (len(found.rows), found.missing) == (24, 0)
    drawn_ = [drawn(found, nonce) for nonce in ("a", "b", "c", "d", "e")]
    assert {len(keys) for keys in drawn_} == {3}
    assert len({tuple(keys) for keys in drawn_}) > 2
    assert drawn(found, "a") == drawn_[0]
    assert all(any(found.rows[key]["method"] == "Mine" for key in keys) for keys in drawn_)


def test_without_datasets_it_is_of_the_small_board(tmp_path, monkeypatch):
    """As the README's first command writes it: the small board has a seed of its own."""
    monkeypatch.chdir(tmp_path)
    saved = saved_entry(tmp_path)
    found = read_submission(saved)
    assert (len(found.rows), found.missing) == (48, 0)
    config = saved / "config.yaml"
    config.write_text(config.read_text().replace("datasets: [phoneme, ", "datasets: [covtype, "))
    with pytest.raises(ConfigError, match=r"config.yaml: datasets: unknown dataset of the small board 'covtype'"):
        read_submission(saved)


@pytest.mark.parametrize(
    ("metric", "change", "off"),
    [
        ("accuracy", 100 * 2 / 2702, ""),  # phoneme has 2,702 test rows
        ("accuracy", 100 * 3 / 2702, "3 test rows"),
        ("balanced_accuracy", 100 * 2 / (2 * 739), ""),  # w8a has 739 test rows of the rare class
        ("balanced_accuracy", 100 * 3 / (2 * 739), "3 test rows of balanced"),
        ("balanced_accuracy", -39.0, "577 test rows of balanced"),
        ("rmse", 0.9e-7, ""),
        ("rmse", 1.1e-6, "1.1e-05"),
    ],
)
def test_two_test_rows_or_a_millionth_are_let_through_and_more_is_not(folder, metric, change, off):
    found = read_submission(folder)
    dataset = {"accuracy": "phoneme", "balanced_accuracy": "w8a", "rmse": "kin8nm"}[metric]
    row = next(row for row in found.rows.values() if row["dataset"] == dataset)
    again = {**row, "metrics": {**row["metrics"], metric: row["metrics"][metric] + change}}
    told = differences(found, [again])
    assert [each.off[: len(off)] for each in told] == ([off] if off else [])
    table = check_table(found, [again], told)
    assert bool(told) == (row["dataset"] in [cells[0] for cells in table.rows])


def test_another_status_is_a_difference(folder):
    found = read_submission(folder)
    row = next(iter(found.rows.values()))
    assert differences(found, [{**row, "status": "error", "metrics": {}}])[0].off == "error, not ok"


def test_a_folder_that_is_none_or_was_changed_is_refused(folder):
    with pytest.raises(ConfigError, match=r"card.yaml: there is no such file; .rffbench board"):
        read_submission(folder / "nowhere")
    source = (folder / "mine.py").read_text()
    (folder / "mine.py").write_text(source + "# another\n")
    again = r"or run `rffbench board ./mine.py:Mine --save .*` again"
    with pytest.raises(
        ConfigError, match=r"mine.py: its SHA-256 is .*, and card.yaml says .*: put the file back.*" + again
    ):
        read_submission(folder)
    (folder / "mine.py").write_text(source)
    card = yamlfile.read(folder / "card.yaml")
    (folder / "card.yaml").write_text(yamlfile.dump({**card, "rffbench": "0.0.9"}))
    with pytest.raises(
        ConfigError, match=r"card.yaml: made by rffbench 0.0.9, this is .*: run `rffbench board ./mine.py:M"
    ):
        read_submission(folder)
    (folder / "card.yaml").write_text(yamlfile.dump({**card, "map": "../mine.py"}))
    with pytest.raises(ConfigError, match=r"must be the name of a \.py file in this folder"):
        read_submission(folder)


def test_trials_of_another_protocol_or_map_are_refused_by_their_place(folder):
    lines = (folder / "trials.jsonl").read_text().splitlines()
    row = log.json.loads(lines[3])
    lines[3] = log.json.dumps(log.keyed({**row, "seed": row["seed"] + 1}))
    (folder / "trials.jsonl").write_text("\n".join(lines) + "\n")
    place = f"{row['dataset']} {row['method']} at {row['n_features']} columns, trial .*; run `rffbench board .* again"
    with pytest.raises(ResultsError, match=place):
        read_submission(folder)


def test_trials_that_are_left_out_are_counted(folder):
    lines = (folder / "trials.jsonl").read_text().splitlines()
    (folder / "trials.jsonl").write_text("\n".join(lines[:-3]) + "\n")
    found = read_submission(folder)
    assert isinstance(found, Submission)
    assert found.missing == 3
    assert "3 trials of its config are not in the folder." in check_table(found, [], []).notes


def test_a_row_without_the_metric_that_the_board_scores_by_is_refused_by_its_place(folder):
    lines = [log.json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    row = next(row for row in lines if row["dataset"] == "w8a")
    del row["metrics"]["balanced_accuracy"]
    (folder / "trials.jsonl").write_text("".join(log.json.dumps(each) + "\n" for each in lines))
    place = rf"trials.jsonl: w8a RFF at {row['n_features']} columns, trial 0: its metrics lack balanced_accuracy, by"
    with pytest.raises(ResultsError, match=place + r".*; run `rffbench board .* again"):
        read_submission(folder)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no such file"),
        (b"", "holds no trials: is empty"),
        (b"no trial\n", "holds no trials: no line of it is a trial"),
        (b"no trial\nand no other\n", "line 1: not JSON"),
    ],
    ids=["missing", "empty", "one line", "two lines"],
)
def test_a_log_that_cannot_be_read_is_told_as_such(folder, content, why):
    path = folder / "trials.jsonl"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ResultsError, match=rf"trials.jsonl.*{why}"):
        read_submission(folder)


def test_the_card_has_the_gains_of_the_own_map_and_a_check_recomputes_them(folder):
    card = yamlfile.read(folder / "card.yaml")
    titles = list(card["gains"])
    assert ["at equal columns" in titles[0], "seconds" in titles[1], "memory" in titles[2]] == [True] * 3
    assert {row["map"] for rows in card["gains"].values() for row in rows} == {"Mine *"}
    assert other_gains(read_submission(folder)) == []
    card["gains"][titles[0]][0]["gain, %"] = "+99.0"
    del card["gains"][titles[2]][0]
    (folder / "card.yaml").write_text(yamlfile.dump(card))
    found = read_submission(folder)
    first, *others = other_gains(found)
    assert "gain, %: +99.0" in first
    assert "on the card; the trials come to columns: 128, map: Mine *, gain, %: 0.0" in first
    assert all(titles[2] in each for each in others)
    assert f"{first}." in check_table(found, [], [], [first]).notes


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("nothing", "the map has no network and cannot change your files"),
        ("--mount", "the map has no network, but can read and change your files"),
        ("unshare", "no sandbox: "),
    ],
)
def test_a_check_runs_in_a_sandbox_or_says_that_it_does_not(folder, monkeypatch, fails, said):
    commands, fetched = [], []

    def started(command, **options):
        commands.append([*command])
        return subprocess.CompletedProcess(command, int(fails in command))

    monkeypatch.setattr(subprocess, "run", started)
    monkeypatch.setattr("rffbench.data.ensure", lambda name, progress: fetched.append(name))
    (folder / "trials.jsonl").write_text("")  # so that nothing is run in this process
    done = CliRunner().invoke(cli, ["board", "--check", str(folder), "--nonce", "n"], standalone_mode=False)
    assert said in done.output
    if fails == "unshare":
        assert isinstance(done.exception, ResultsError)  # it has no trials
    else:
        assert fetched == ["phoneme", "kin8nm", "w8a"]
        assert commands[-1][0] == "unshare"
        assert commands[-1][-5:] == ["board", "--check", str(folder), "--nonce", "n"]
