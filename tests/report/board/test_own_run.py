"""A run of your own map beside RFF: its messages, and its errors."""

import json
import re
import time

import pytest
from click.testing import CliRunner

from rffbench.cli import cli
from rffbench.cli.output import Progress
from rffbench.config.loading import experiment_of, load_experiment
from rffbench.errors import ConfigError
from rffbench.report.board import entry, own_tables
from rffbench.report.escape import tex
from rffbench.stats.gain import Reference
from tests.helpers.own_map import MINE

DRAW = "rng = np.random.default_rng(self.random_state)"
RANDOM = "rng = np.random.default_rng(None if len(X) > 800 else self.random_state)"  # on the rows of digits
RAISES = f"{DRAW}\n        if len(X) > 800:\n            raise RuntimeError('no room for the rows')"
METHODS = {"RFF": {"features": "fourier"}, "Mine": {"features": "./mine.py:Mine"}}
CONFIG = {
    "name": "board-mine", "title": "Mine on the board", "datasets": ["breast-cancer", "digits"], "methods": METHODS,
    "kernel": {"name": "gaussian", "sigma": {"times_median": [1.0, 2.0], "columns": 8, "rows": 200}},
    "preprocess": "minmax", "count": "columns", "n_features": [8, 16],
    "solver": {"name": "ridge", "lambda": [0.01, 0.1], "folds": 2}, "trials": 1, "seed": 0, "kernel_error_points": 50,
}  # fmt: skip


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The board, of two datasets that need no files."""
    monkeypatch.chdir(tmp_path)
    known = {name: Reference(name, 0.5, 0.1, 0.001, 3) for name in CONFIG["datasets"]}
    monkeypatch.setattr(own_tables, "references", lambda: known)
    monkeypatch.setattr(entry, "own_map", lambda *args, **options: experiment_of(CONFIG))
    return tmp_path


def board(*words):
    return CliRunner().invoke(
        cli, ["board", "./mine.py:Mine", "--workers", "1", "--anyway", *words], standalone_mode=False
    )


def rows(folder):
    return [json.loads(line) for line in (folder / "results" / "board-mine" / "trials.jsonl").read_text().splitlines()]


def page(folder):
    """The page of the run, which has a row for each dataset."""
    return (folder / "results" / "board-mine" / "board.html").read_text()


@pytest.mark.slow
def test_a_map_that_is_random_on_many_rows_only_is_refused_at_its_second_try(small, monkeypatch):
    (small / "mine.py").write_text(MINE.replace(DRAW, RANDOM))
    monkeypatch.setitem(CONFIG, "datasets", ["digits"])
    done = board()
    assert isinstance(done.exception, ConfigError), done.output
    said = str(done.exception)
    assert "./mine.py:Mine: digits, 8 columns, trial 0: a second try gives other numbers, " in said
    assert ", not " in said
    assert [(row["method"], row["n_features"]) for row in rows(small)] == [("Mine", 8)]


@pytest.mark.slow
def test_a_map_s_reasons_to_fail_are_told_at_the_first_trial_each_once_and_the_rest_goes_on(small):
    (small / "mine.py").write_text(MINE.replace(DRAW, RAISES))
    done = board()
    assert done.return_value == 1, done.output
    lines = done.output.splitlines()
    told = [number for number, line in enumerate(lines) if "no room for the rows" in line]
    assert lines[told[0]].startswith("digits D=8 Mine trial 0: error: feature map './mine.py:Mine': in fit, ")
    assert not any("for seconds and memory" in line for line in lines[: told[0]])  # what comes after the scores
    assert len(told) == 2  # and in the count of reasons at the end
    assert lines[told[1]].startswith("  2 × error: ")
    assert sorted((row["method"], row["status"]) for row in rows(small)) == [
        *[("Mine", "error")] * 2, *[("Mine", "ok")] * 2, *[("RFF", "ok")] * 4
    ]  # fmt: skip


@pytest.mark.slow
def test_a_map_that_gives_the_same_numbers_is_tried_twice_once(small):
    (small / "mine.py").write_text(MINE)
    first, second = board(), board()
    assert first.exception is None, first.output
    assert "breast-cancer D=8 Mine trial 0: the cheapest trial of Mine there, twice" in first.output
    assert "twice" not in second.output
    assert len(rows(small)) == 8


@pytest.mark.slow
def test_set_for_an_article_all_tables_have_the_own_map_among_those_that_ship_and_nothing_else_is_printed(small):
    (small / "mine.py").write_text(MINE)
    done = board("--format", "tex", "--columns", "1")
    assert (done.exception, done.return_value) == (None, 0), done.output
    assert re.fullmatch(r"(?s)(?:% needs .*?\\begin\{table\}.*?\\end\{table\}\s+)+", done.stdout)
    assert re.search(r"^8 & RFF |^8 & Mine", done.stdout, re.MULTILINE)
    assert re.search(r"^Mine (is|has) ", done.stderr, re.MULTILINE)
    assert "wrote " in done.stderr


@pytest.mark.slow
def test_the_board_that_ships_is_set_with_every_map(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["board", "--format", "tex"], standalone_mode=False)
    assert done.return_value == 0
    assert done.stdout.startswith("% needs ")
    maps = [label for label, each in load_experiment("board").methods.items() if each.features != "none"]
    assert [label for label in maps if tex(label) not in done.stdout] == []
    wrong = CliRunner().invoke(cli, ["board", "--format", "md", "--columns", "1"], standalone_mode=False)
    assert "--columns goes with --format tex and typst" in str(wrong.exception)


@pytest.mark.slow
def test_where_the_time_is_up_what_is_not_done_is_named_the_rest_is_shown_and_the_command_carries_on(
    small, monkeypatch
):
    (small / "mine.py").write_text(MINE)
    monkeypatch.setitem(CONFIG, "datasets", ["breast-cancer"])
    assert board().exception is None
    monkeypatch.setitem(CONFIG, "datasets", ["breast-cancer", "digits"])
    with monkeypatch.context() as patched:
        patched.setattr(entry.Budget, "seconds_left", 0.0)
        done = board("--minutes", "9")
    assert done.return_value == 0, done.output
    assert "time is up, not done: digits; the same command with more --minutes carries on" in done.output
    assert "breast-cancer" in page(small)
    assert "digits" not in page(small)
    whole = board("--minutes", "9")
    assert "time is up" not in whole.output
    assert "digits" in page(small)
    assert len(rows(small)) == 8


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--minutes", "9")], ids=["whole", "in parts"])
def test_one_bar_counts_the_trials_of_scores_and_of_seconds(small, monkeypatch, words):
    (small / "mine.py").write_text(MINE)
    monkeypatch.setattr(Progress, "EVERY_S", 0.0)  # a line for each trial
    told = re.findall(r"^(\S+): (\d+) of (\d+) trials", board(*words).output, re.MULTILINE)
    assert {name for name, _, _ in told} == {"board-mine"}
    done, total = ([int(line[place]) for line in told] for place in (1, 2))
    assert done == sorted(done)
    assert set(total) == {done[-1] + 1}  # of the last trial there is no line
    assert total[0] > len(rows(small))


@pytest.mark.slow
def test_where_the_time_is_up_before_rff_has_a_trial_there_is_nothing_to_show(small, monkeypatch):
    (small / "mine.py").write_text(MINE)
    monkeypatch.setattr(entry.Budget, "seconds_left", 0.0)
    done = board("--minutes", "9")
    assert done.return_value == 1, done.output
    assert "time is up, not done: breast-cancer, digits; " in done.output
    assert "there is nothing to show yet: RFF has no trial beside those of the map" in done.output


@pytest.mark.slow
def test_a_trial_that_is_running_is_ended_when_the_time_is_up(small):
    slow = f"{DRAW}\n        import time\n        time.sleep(3600 * (X.shape[1] == 64))"
    (small / "mine.py").write_text(MINE.replace(DRAW, slow))
    started = time.monotonic()
    done = board("--minutes", "0.5")
    assert time.monotonic() - started < 70
    assert "time is up, not done: digits; " in done.output
    assert "breast-cancer" in page(small)


def test_rff_comes_first_and_the_dearest_methods_or_datasets_last(small):
    (small / "mine.py").write_text(MINE)
    trees = {
        "features": "none",
        "n_features": [1],
        "solver": {"name": "linear"},
        "kernel": {"name": "gaussian", "sigma": 1},
    }
    methods = METHODS | {"linear": trees, "TEFM": {"features": "tefm"}, "QMC": {"features": "qmc"}}
    one = CONFIG | {"methods": methods, "datasets": ["digits"], "n_features": [8, 2048], "trials": 3}
    parts = entry.parts_of(experiment_of(one), "./mine.py:Mine")
    names = ["RFF and Mine", "QMC", "TEFM", "linear"]
    assert list(parts) == [*names, *(f"the rest of {name}" for name in names)]
    assert entry.listed(["TEFM", "the rest of QMC", "the rest of TEFM"]) == "TEFM, the rest of QMC"
    assert [len(keys) for keys in parts.values()] == [4, 2, 2, 2, 8, 4, 4, 1]
    assert list(entry.parts_of(experiment_of(CONFIG))) == ["breast-cancer", "digits"]
