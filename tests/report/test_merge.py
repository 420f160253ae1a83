"""Promises of merging shards: every trial once, nothing mixed, nothing lost, all or nothing."""

import json

import pytest
import yaml

import rffbench
from rffbench.errors import ResultsError
from rffbench.execution.folders import FolderLock
from rffbench.execution.log import read_rows
from rffbench.report import write_tables
from rffbench.report.merge import merge
from tests.helpers import report_log as log


def rows(trials, score=70.0, **changes):
    return [log.ok(log.spec(trial=trial, **changes), score + trial) for trial in trials]


@pytest.fixture
def shard(tmp_path):
    def write(name, some, runs=(), **config):
        folder = log.write(tmp_path / name, log.config(**config), some)
        if runs:
            *earlier, last = ({"format": 2, "started": run, "finished": run} for run in runs)
            (folder / "manifest.json").write_text(json.dumps({**last, "earlier_runs": earlier}))
        return folder

    return write


def test_shards_become_one_folder_that_reads_as_one_run(shard, tmp_path):
    parts = [shard("a", rows([0, 1])), shard("b", rows([2], method="QMC"), title="Another")]
    (made,) = merge(parts, tmp_path / "c" / "x")
    assert (made.trials, made.repeated) == (3, 0)
    assert read_rows(made.folder / "trials.jsonl") == [
        row for part in parts for row in read_rows(part / "trials.jsonl")
    ]
    assert write_tables(made.folder)[0][0].title == "A synthetic experiment"
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["x"]


def test_a_trial_in_both_with_equal_scores_is_one_row(shard, tmp_path):
    (made,) = merge([shard("a", rows([0, 1])), shard("b", rows([1, 2]))], tmp_path / "c")
    assert (made.trials, made.repeated) == (3, 1)
    assert [row["trial"] for row in read_rows(made.folder / "trials.jsonl")] == [0, 1, 2]


def test_a_trial_with_two_scores_is_refused_and_both_are_named(shard, tmp_path):
    parts = [shard("a", rows([0])), shard("b", rows([0], score=71.0))]
    with pytest.raises(ResultsError, match=r"eeg 1d RFF trial 0: accuracy is 70.0 in .*/a and 71.0 in .*/b"):
        merge(parts, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_trial_with_two_kernel_errors_is_refused_where_its_scores_agree(shard, tmp_path):
    def with_error(error):
        (row,) = rows([0])
        return [{**row, "metrics": {**row["metrics"], "kernel_error": error}}]

    message = r"RFF trial 0: kernel_error is 0.05 in .*/a and 9.05 in .*/b"
    with pytest.raises(ResultsError, match=message):
        merge([shard("a", with_error(0.05)), shard("b", with_error(9.05))], tmp_path / "c")
    rounded = [shard("d", with_error(0.05)), shard("e", with_error(0.05 * (1 + 1e-7)))]
    assert merge(rounded, tmp_path / "c")[0].trials == 1  # another machine rounds otherwise


@pytest.mark.parametrize("timing", ["shared", "exclusive"])
@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_trial_that_failed_in_one_shard_is_the_one_that_is_ok(shard, tmp_path, order, timing):
    lost = log.lost(log.spec(timing=timing), "timeout")
    parts = {"a": shard("a", rows([0], timing=timing), timing=timing), "b": shard("b", [lost], timing=timing)}
    (made,) = merge([parts[name] for name in order], tmp_path / "c")
    assert [row["status"] for row in read_rows(made.folder / "trials.jsonl")] == ["ok"]


def test_two_configs_are_refused_with_what_differs(shard, tmp_path):
    parts = [shard("a", rows([0])), shard("b", rows([1]), trials=5, kernel={"name": "gaussian", "gamma": 1.0})]
    with pytest.raises(ResultsError, match=r"their configs differ in kernel\.gamma, trials"):
        merge(parts, tmp_path / "c")


def test_of_two_experiments_the_first_keys_that_differ_are_named(shard, tmp_path):
    others = {f"set{i}": {f"key{j}": i for j in range(5)} for i in range(9)}
    parts = [shard("a", rows([0])), shard("b", rows([1]), **others)]
    with pytest.raises(ResultsError, match=r"differ in set0.key0, .*, set1.key0 and 39 more keys$"):
        merge(parts, tmp_path / "c")


def test_a_trial_of_a_file_that_was_edited_in_between_is_refused_and_the_file_named(shard, tmp_path):
    own = {"name": "./signs.py:Signs"}
    parts = [shard(name, rows([0], features=own, source=name * 64)) for name in "ab"]
    with pytest.raises(ResultsError) as refused:
        merge(parts, tmp_path / "c")
    assert str(refused.value) == (
        f"RFF: the file ./signs.py differs between {parts[0]} (aaaaaaaaaaaa) and {parts[1]} (bbbbbbbbbbbb); run the "
        "one that is out of date again, which measures such trials anew"
    )


def test_one_cell_measured_on_two_versions_of_its_data_is_refused(shard, tmp_path):
    parts = [shard("a", rows([0])), shard("b", rows([0], data_hash="1" * 64))]
    with pytest.raises(ResultsError, match="was measured with data_hash"):
        merge(parts, tmp_path / "c")


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        (
            1,
            2,
            r"RFF: the code of fourier differs between .*/a \(1\) and .*/b \(2\); run the one that is out of date",
        ),
        ("0" * 64, "f" * 64, r"differs between .*/a \(000000000000\) and .*/b \(ffffffffffff\)"),
    ],
)
def test_other_trials_of_a_method_that_was_other_code_then_are_refused(shard, tmp_path, was, now, message):
    def made(trials, features):
        return [row | {"made_by": {"features": features, "solver": 1}} for row in rows(trials)]

    parts = [shard("a", made([0, 1], was)), shard("b", made([2], now))]
    with pytest.raises(ResultsError, match=message):
        merge(parts, tmp_path / "c")
    assert not (tmp_path / "c").exists()
    parts = [shard("d", made([0, 1], now)), shard("e", [*rows([2]), *made([3], now)])]  # one row of before made_by
    assert merge(parts, tmp_path / "c")[0].trials == 4


def test_a_row_whose_error_holds_half_a_character_is_merged_as_it_is(shard, tmp_path):
    failed = {**rows([1])[0], "status": "error", "metrics": {}, "error": {"type": "E", "message": "half: \ud800"}}
    (made,) = merge([shard("a", rows([0])), shard("b", [failed])], tmp_path / "c")
    assert read_rows(made.folder / "trials.jsonl")[1] == failed


def test_the_manifests_of_all_runs_are_kept(shard, tmp_path):
    parts = [shard("a", rows([0]), ["2026-01-01", "2026-01-04"]), shard("b", rows([1]), ["2026-01-02"])]
    (made,) = merge(parts, tmp_path / "c")
    manifest = json.loads((made.folder / "manifest.json").read_text())
    assert manifest["started"] == "2026-01-04"
    assert [run["started"] for run in manifest["earlier_runs"]] == ["2026-01-01", "2026-01-02"]


def test_a_reference_of_ones_own_is_still_found(shard, tmp_path):
    parts = [shard("a", rows([0]), reference="../mine.csv"), shard("b", rows([1]), reference="../mine.csv")]
    (made,) = merge(parts, tmp_path / "deep" / "er" / "c")
    assert yaml.safe_load((made.folder / "config.yaml").read_text())["reference"] == "../../../mine.csv"


def test_folders_of_experiments_are_merged_by_name_and_a_folder_that_is_there_is_refused(shard, tmp_path):
    for name in ("one/x", "one/y", "two/x"):
        shard(name, rows([0] if name[0] == "o" else [1]))
    made = merge([tmp_path / "one", tmp_path / "two"], tmp_path / "all")
    assert {(each.folder.name, each.trials) for each in made} == {("x", 2), ("y", 1)}
    with pytest.raises(ResultsError, match="is there already"):
        merge([tmp_path / "one", tmp_path / "two"], tmp_path / "all")
    with pytest.raises(ResultsError, match="name one kind"):
        merge([tmp_path / "one", tmp_path / "two" / "x"], tmp_path / "other")


def test_a_second_run_into_a_folder_is_told_how_to_shard(tmp_path):
    with (
        FolderLock(tmp_path),
        pytest.raises(ResultsError, match=r"--results shard2, and join both with rffbench merge"),
    ):
        FolderLock(tmp_path).acquire()


@pytest.mark.parametrize("seeds", [(0, 0.0), (0.0, 0)])
def test_a_trial_with_two_keys_of_equal_numbers_is_refused_by_the_field(shard, tmp_path, seeds):
    parts = [shard(name, rows([0], seed=seed)) for name, seed in zip("ab", seeds, strict=True)]
    with pytest.raises(ResultsError, match=rf"with seed {seeds[0]} in .*/a and {seeds[1]} in .*/b"):
        merge(parts, tmp_path / "c")


def test_a_shard_whose_rows_were_edited_is_refused_by_its_line(shard, tmp_path):
    part = shard("a", rows([0, 1]))
    log_ = part / "trials.jsonl"
    log_.write_text(log_.read_text().replace('"trial": 1', '"trial": 2'))
    with pytest.raises(ResultsError, match=r"/a/trials.jsonl, line 2: eeg RFF at 14, trial 2: its key is not that"):
        merge([part, shard("b", rows([3]))], tmp_path / "c")


def test_seconds_of_several_sessions_stay_and_the_last_ones_count(shard, tmp_path):
    """Of a trial that was timed again, by other code of its map, too; a copy of a session is that session."""

    def timed(day, seconds, code, trials=(0, 1)):
        return [
            {**log.ok(log.spec(trial=trial), 70.0 + trial, feature_s=seconds), "finished": f"2026-01-{day:02}T12:00:00",
             "made_by": {"features": code, "solver": 1}}
            for trial in trials
        ]  # fmt: skip

    first, again = shard("first", timed(1, 1.0, 1)), shard("again", timed(9, 3.0, 2, trials=[0]))
    copy = shard("copy", timed(1, 1.0, 1))
    for place, parts in (("b", [first, again]), ("c", [again, first]), ("d", [first, again, copy])):
        (made,) = merge(parts, tmp_path / place)
        assert (made.trials, made.repeated) == (3, 1 if place != "d" else 2)
        results = rffbench.load(made.folder)
        assert results.trials["feature_s"].tolist() == [3.0, 1.0]
        assert [each.trials["feature_s"].tolist() for each in results.sessions] == [[1.0, 1.0], [3.0]]
    both = merge([tmp_path / "b", shard("last", timed(20, 5.0, 3))], tmp_path / "e")[0].folder
    assert [len(each.trials) for each in rffbench.load(both).sessions] == [2, 1, 2]
