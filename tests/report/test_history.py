"""Promises of a history: runs in order, a change point with an exact p-value, git's commits as runs."""

import itertools
import json
import lzma
import math
import subprocess

import numpy as np
import pytest

from rffbench.errors import ResultsError
from rffbench.report.history import ORDERS, change_point, history, to_json, to_text
from rffbench.report.revision import results_at
from tests.helpers import report_log as log


def run(folder, score, date=None, method="RFF", trials=range(3)):
    rows = [log.ok(log.spec(method=method, trial=trial), score + trial) for trial in trials]
    log.write(folder, log.config(), rows)
    if date:
        manifest = {"format": 2, "finished": date, "git_commit": "0123456789abcdef", "rffbench": "0.1.0"}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return str(folder)


@pytest.fixture
def git(tmp_path):
    """A git command in the test's folder, which is a repository."""

    def command(*arguments):
        who = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    command("init", "--quiet")
    return command


def test_the_change_point_is_the_largest_standardised_shift():
    series = [70.1, 70.0, 70.2, 68.0, 68.1, 67.9]
    begins, shift, p = change_point(series)
    assert (begins, shift) == (4, pytest.approx(-2.1))

    def t(order, k):  # Student's of two samples of equal variance: monotone in the shift that is maximised
        one, other = np.array(order[:k]), np.array(order[k:])
        within = ((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum()
        return abs(one.mean() - other.mean()) / math.sqrt(within / 4 * (1 / k + 1 / (6 - k)))

    largest = max(t(series, k) for k in range(1, 6))
    orders = [max(t(order, k) for k in range(1, 6)) for order in itertools.permutations(series)]
    assert p == pytest.approx(np.mean([each >= largest * (1 - 1e-9) for each in orders]))


def test_p_values_of_runs_without_a_change_are_uniform_enough():
    draw = np.random.default_rng(0)
    found = [change_point(draw.normal(size=9))[2] for _ in range(60)]
    assert np.mean(np.array(found) < 0.05) < 0.15
    assert 0.3 < np.mean(found) < 0.7


def test_a_clear_change_of_many_runs_is_found_with_a_small_p():
    assert change_point([70.0, 70.1, 69.9, 70.0, 70.1, 68.0, 68.1, 67.9, 68.0])[2] < 0.02


def test_of_orders_that_are_drawn_p_is_never_0_as_the_series_itself_is_one_of_them():
    assert change_point([70.0, 70.1] * 10 + [68.0, 68.1] * 10)[2] == pytest.approx(1 / (ORDERS + 1))


@pytest.mark.parametrize("series", [[1.0, 2.0, 3.0], [1.0] * 8, [1.0, math.nan, math.nan, 2.0, 3.0]])
def test_too_few_runs_or_no_spread_have_no_change_point(series):
    assert change_point(series)[0] is None


def test_a_missing_run_does_not_move_the_change_point():
    assert change_point([70.1, math.nan, 70.0, 70.2, 68.0, 68.1, 67.9])[0] == 5


def test_a_cell_does_not_move_because_a_run_has_more_trials(tmp_path):
    found = history([run(tmp_path / "few", 70.0, trials=range(2)), run(tmp_path / "many", 70.0)])
    assert found.cells["values"].tolist() == [[70.5, 70.5]]
    assert found.cells["trials"].tolist() == [2]
    shards = to_text(history([run(tmp_path / "a", 70.0, trials=[0]), run(tmp_path / "b", 70.0, trials=[1, 2])]))
    assert "eeg 1d RFF (accuracy, other trials)\n      70.00 → 71.50" in shards
    assert "the runs have none of the cell in common" in shards


def test_runs_stand_in_the_order_of_their_dates(tmp_path):
    places = [run(tmp_path / "b", 60.0, "2026-02-01T10:00"), run(tmp_path / "a", 70.0, "2026-01-01T10:00")]
    found = history(places)
    assert found.runs["date"].tolist() == ["2026-01-01T10:00", "2026-02-01T10:00"]
    assert found.cells["values"].tolist() == [[71.0, 61.0]]
    text = to_text(found)
    assert "71.00 → 61.00" in text
    assert "2026-01-01T10:00 012345678" in text


def test_cells_that_did_not_move_are_one_line_and_those_that_are_missing_a_dash(tmp_path):
    places = [run(tmp_path / name, 70.0, f"2026-01-0{name}") for name in "12"]
    assert "1 of 1 cells did not move." in to_text(history(places))
    both = [places[0], run(tmp_path / "3", 70.0, "2026-01-03", "QMC")]
    assert "71.00 → –" in to_text(history(both))
    assert json.loads(to_json(history(both)))["cells"][0]["values"] == [71.0, None]


def test_of_one_folder_it_is_the_history_of_its_commits(tmp_path, git):
    for score in (70.0, 71.0):
        place = run(tmp_path / "x", score)
        git("add", "--all")
        git("commit", "--quiet", "--message", "results")
    assert history([place]).cells["values"].tolist() == [[71.0, 72.0]]
    assert "no commit" not in to_text(history([place]))  # that of rffbench: an installed one has none
    assert history([f"{place}@HEAD~1", place]).cells["values"].tolist() == [[71.0, 72.0]]
    run(tmp_path / "x", 75.0)
    assert history([place]).cells["values"].tolist() == [[71.0, 72.0, 76.0]]


def test_a_folder_that_was_moved_takes_its_history_along(tmp_path, git):
    place, moved = tmp_path / "results" / "x", tmp_path / "results" / "board" / "x"

    def commit():
        git("add", "--all")
        git("commit", "--quiet", "--message", "results")

    for score in (70.0, 71.0):
        run(place, score)
        commit()
    moved.parent.mkdir()
    place.rename(moved)
    commit()
    run(tmp_path / "results" / "other", 70.0)  # whose log is like that of the first commit
    commit()
    for name in (moved, place):
        assert history([str(name)]).cells["values"].tolist() == [[71.0, 72.0]]
    for name in (f"{moved}@HEAD~3", f"{place}@HEAD~3", f"{place}@HEAD"):
        with results_at(name) as folder:
            assert (folder / "trials.jsonl").is_file()


def test_a_commit_that_stores_a_run_in_another_way_is_no_run(tmp_path, git):
    place = run(tmp_path / "x", 70.0, "2026-01-01")
    git("add", "--all")
    git("commit", "--quiet", "--message", "results")
    path = tmp_path / "x" / "trials.jsonl"
    (tmp_path / "x" / "trials.jsonl.xz").write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()
    git("add", "--all")
    git("commit", "--quiet", "--message", "compressed")
    with pytest.raises(ResultsError, match="is one run"):
        history([place])


def test_one_run_is_no_history(tmp_path):
    with pytest.raises(ResultsError, match="is one run"):
        history([run(tmp_path / "x", 70.0)])


def test_a_folder_of_experiments_and_a_file_are_refused_as_what_they_are(tmp_path):
    run(tmp_path / "x", 70.0)
    with pytest.raises(ResultsError, match="holds the folders of experiments; give one of these"):
        history([str(tmp_path)])
    with pytest.raises(ResultsError, match=r"config\.yaml: is a file; results are a folder"):
        history([str(tmp_path / "x" / "config.yaml")])
