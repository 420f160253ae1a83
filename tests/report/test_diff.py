"""Promises of the difference of two results folders: pairs, verdicts, costs, revisions, what is printed."""

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import rffbench
from rffbench.cli import cli
from rffbench.errors import ResultsError
from rffbench.execution.log import ASIDE
from rffbench.report import diff_writeup
from rffbench.report.diff import diff, diff_folders
from rffbench.report.junit import Case, to_junit
from rffbench.report.revision import results_at
from tests.helpers import report_log as log

OLD = (70.0, 72.0, 71.0, 74.0)


def cell(scores, method="RFF", metric="accuracy", **changes):
    timing = {name: changes.pop(name) for name in ("feature_s", "contended") if name in changes}
    rows = [log.spec(method=method, trial=trial, **changes) for trial in range(len(scores))]
    return [log.ok(spec, score, metric=metric, **timing) for spec, score in zip(rows, scores, strict=True)]


@pytest.fixture
def folders(tmp_path):
    """Two folders from their rows; what the second is against the first."""

    def make(old, new, tolerance=0.0, **config):
        same = {key: config[key] for key in ("methods", "timing") if key in config}
        before = log.write(tmp_path / "before", log.config(trials=4, **same), old)
        return diff(before, log.write(tmp_path / "after", log.config(**{"trials": 4, **config}), new), tolerance)

    return make


def only(difference):
    (found,) = difference.cells.to_dict("records")
    return found


# ---- Scores ------------------------------------------------------------------------------------------------


def test_a_difference_is_the_mean_over_common_trials_with_the_paired_interval(folders):
    new = (69.0, 72.5, 69.0)  # the last trial is missing
    found = only(folders(cell(OLD), cell(new)))
    interval = stats.ttest_rel(new, OLD[:3]).confidence_interval()
    assert found["difference"] == pytest.approx(-2.5 / 3)
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high))
    assert (found["trials"], found["old"]) == (3, pytest.approx(71))


def test_trials_of_two_seeds_are_not_paired(folders):
    new = (69.0, 72.5, 69.0, 71.0)
    difference = folders(cell(OLD), cell(new, seed=1), seed=1)
    interval = stats.ttest_ind(new, OLD, equal_var=False).confidence_interval()
    assert (only(difference)["low"], only(difference)["high"]) == pytest.approx((interval.low, interval.high))
    assert "not paired" in " ".join(difference.notes)


@pytest.mark.parametrize(
    ("change", "tolerance", "verdict"),
    [
        (0.0, 0, "unchanged"),
        (-0.25, 0, "worse"),
        (-0.25, 0.25, "within tolerance"),
        (-0.3, 0.25, "worse"),
        (0.3, 0.25, "better"),
    ],
)
def test_a_verdict_is_by_the_tolerance(folders, change, tolerance, verdict):
    difference = folders(cell(OLD), cell([score + change for score in OLD]), tolerance)
    assert only(difference)["verdict"] == verdict
    assert difference.outside == (verdict == "worse")


def test_errors_are_compared_in_percent_and_less_is_better(folders):
    found = only(folders(cell((0.2, 0.4), metric="rmse"), cell((0.23, 0.43), metric="rmse"), 9.9))
    assert (found["difference"], found["unit"], found["verdict"]) == (pytest.approx(10), "%", "worse")
    assert only(folders(cell((0.2, 0.4), metric="rmse"), cell((0.17, 0.37), metric="rmse")))["verdict"] == "better"


def test_a_difference_whose_interval_reaches_the_tolerance_is_not_settled_and_no_alarm(folders):
    difference = folders(cell(OLD), cell((74.0, 66.0, 75.0, 70.0)), 0.5)
    found = only(difference)
    assert (found["verdict"], difference.outside, difference.compared) == ("not settled", 0, 1)
    assert "0 of 1 cells are worse by more than 0.5 points; 0 are within that; 0 are unchanged; 1 are not settled" in (
        diff_writeup.summary(difference)
    )
    assert f"about {int(found['settled_by'])} trials would settle it" in " ".join(
        diff_writeup.to_text(difference).split()
    )


def test_a_single_trial_settles_nothing_and_says_so(folders):
    difference = folders(cell(OLD[:1]), cell((60.0,)))
    assert (only(difference)["verdict"], difference.outside) == ("not settled", 0)
    assert "a single trial says nothing of the noise" in " ".join(diff_writeup.to_text(difference).split())
    assert only(folders(cell(OLD[:1]), cell(OLD[:1])))["verdict"] == "unchanged"


def test_a_cell_is_worse_at_the_level_that_holm_gives_it_among_all_that_changed(folders):
    new, others = (69.2, 71.3, 70.2, 73.1), ("QMC", "leverage-RFF", "surrogate-RFF")
    noise = [row for method in others for row in cell((70.0, 72.5, 70.4, 74.2), method)]
    p = stats.ttest_rel(new, OLD).pvalue
    assert only(folders(cell(OLD), cell(new)))["p"] == pytest.approx(p)
    unchanged = [row for method in others for row in cell(OLD, method)]
    among = folders([*cell(OLD), *unchanged], [*cell(new), *noise]).cells.set_index("method")
    assert among.loc["RFF", "p"] == pytest.approx(4 * p)
    assert among["verdict"].to_dict() == {"RFF": "worse", **dict.fromkeys(others, "not settled")}


def test_a_trial_that_is_ok_and_has_no_score_any_more_is_lost(folders):
    silent = [row | {"metrics": {"kernel_error": 0.1}} for row in cell(OLD[:2])]
    difference = folders(cell(OLD), [*silent, *[row for row in cell(OLD) if row["trial"] > 1]])
    assert (only(difference)["verdict"], only(difference)["lost"]) == ("lost", "2 without a score")
    assert difference.outside == 1


def test_a_trial_that_had_no_score_before_does_not_lose_one(folders):
    silent = [row | {"metrics": {"kernel_error": 0.1}} for row in cell(OLD[:1])]
    rows = [*silent, *[row for row in cell(OLD) if row["trial"]]]
    assert (only(folders(rows, rows))["verdict"], only(folders(rows, rows))["lost"]) == ("unchanged", "")


def test_trials_that_fail_now_are_lost_and_unavailable_data_is_no_loss(folders):
    failing = [*cell(OLD[:3]), log.lost(log.spec(trial=3), "timeout")]
    difference = folders(cell(OLD), failing)
    assert (only(difference)["verdict"], only(difference)["lost"]) == ("lost", "1 timeout")
    assert difference.outside == 1
    nothing = folders(cell(OLD), [log.lost(log.spec(trial=trial), "unavailable") for trial in range(4)])
    assert (only(nothing)["verdict"], nothing.outside, nothing.compared) == ("not measured", 0, 0)


def test_cells_of_one_side_alone_are_named_and_nothing_in_common_is_refused(folders):
    difference = folders([*cell(OLD), *cell(OLD, "QMC")], [*cell(OLD), *cell(OLD, "surrogate-RFF")])
    assert difference.cells.set_index("method")["verdict"].to_dict() == {
        "RFF": "unchanged",
        "QMC": "only in old",
        "surrogate-RFF": "only in new",
    }
    with pytest.raises(ResultsError, match="no cell in common"):
        folders(cell(OLD, "QMC"), cell(OLD, "surrogate-RFF"))


def test_what_the_configs_differ_in_is_said(folders):
    difference = folders(cell(OLD), cell(OLD), solver={**log.SOLVER, "folds": 5}, trials=5, title="Another")
    assert difference.notes == ["The configs differ in trials."]


def test_other_code_is_said(folders):
    def made(features, solver):
        return [row | {"made_by": {"features": features, "solver": solver}} for row in cell(OLD)]

    difference = folders(made(1, 1), made("f" * 64, 1))
    (note,) = difference.notes
    assert note == f"The code of fourier differs between {difference.old} (1) and {difference.new} (ffffffffffff)."
    assert json.loads(diff_writeup.to_json([difference]))[0]["notes"] == [note]
    assert folders(cell(OLD), made(1, 1)).notes == []  # rows of before made_by say nothing


def test_the_last_line_counts_every_cell_and_says_what_is_the_same(folders):
    difference = folders([*cell(OLD), *cell(OLD, "QMC")], [*cell(OLD), *cell([score + 1 for score in OLD], "QMC")])
    assert diff_writeup.summary(difference) == (
        "0 of 2 cells are worse; 1 are better; 1 are unchanged. 4 of 4 times and 2 of 2 amounts of memory are "
        "about the same."
    )


# ---- Seconds and memory ------------------------------------------------------------------------------------


def cost(difference, metric):
    return difference.costs.set_index("metric").loc[metric]


def test_seconds_are_compared_by_their_logarithms_and_only_where_nothing_disturbed_them(folders):
    alone = {"timing": "exclusive"}
    slow = folders(cell(OLD, feature_s=0.5, **alone), cell(OLD, feature_s=1.2, **alone), **alone)
    assert cost(slow, "train_s")["ratio"] == pytest.approx(1.4 / 0.7)
    assert (cost(slow, "train_s")["verdict"], cost(slow, "predict_s")["verdict"]) == ("slower", "unchanged")
    assert slow.outside == 0
    assert "slower (1)" in diff_writeup.to_text(slow)
    disturbed = folders(cell(OLD, **alone), cell(OLD, feature_s=9.0, contended=True, **alone), **alone)
    assert set(disturbed.costs["metric"]) == {"peak_memory_bytes"}


def test_seconds_of_two_machines_are_not_compared(folders, tmp_path):
    for name, cpu in (("before", "one"), ("after", "other")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(json.dumps({"format": 2, "cpu": cpu, "processors": 2}))
    difference = folders(cell(OLD), cell(OLD, feature_s=9.0))
    assert set(difference.costs["metric"]) == {"peak_memory_bytes"}
    assert "two machines" in " ".join(difference.notes)


def test_more_memory_is_told(folders):
    rows = [{**row, "peak_memory_bytes": 2 * row["peak_memory_bytes"]} for row in cell(OLD)]
    assert cost(folders(cell(OLD), rows), "peak_memory_bytes")["verdict"] == "larger"


# ---- What is written ---------------------------------------------------------------------------------------


def test_the_text_fits_80_columns_with_one_line_for_what_did_not_change(folders):
    label = "a method with a name as long as people sometimes write them, and longer"
    long = [{**row, "method": label} for row in cell([score - 1 for score in OLD])]
    before = [{**row, "method": label} for row in cell(OLD)]
    methods = {**log.METHODS, label: log.METHODS["RFF"]}
    same = [*cell(OLD, "QMC"), *cell(OLD, "surrogate-RFF")]
    text = diff_writeup.to_text(folders([*before, *same], [*long, *same], methods=methods))
    assert max(map(len, text.partition("\n\n")[2].splitlines())) <= 80  # behind the folders' names
    assert "QMC" not in text
    assert "71.75 → 70.75, -1.00 points (-1.00 to -1.00)" in text
    assert "2 are unchanged" in text


def test_json_holds_every_cell_and_no_infinite_number(folders):
    difference = folders(cell(OLD[:1]), cell((69.0,)))
    (found,) = json.loads(diff_writeup.to_json([difference]))
    assert (found["outside"], found["cells"][0]["difference"], found["cells"][0]["low"]) == (0, -1.0, None)


def test_junit_fails_where_a_cell_is_worse_and_skips_what_was_not_measured(folders):
    difference = folders(
        [*cell(OLD), *cell(OLD, "QMC"), *cell(OLD, "surrogate-RFF")], [*cell((60.0,) * 4), *cell(OLD, "QMC")]
    )
    suite = ElementTree.fromstring(to_junit([("x", diff_writeup.cases(difference))]).encode()).find("testsuite")
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    (failed,) = (case for case in suite if case.find("failure") is not None)
    assert (failed.get("classname"), failed.get("name")) == ("synthetic.eeg", "1d RFF")
    assert "71.75 → 60.00" in failed.find("failure").get("message")


def test_junit_is_xml_whatever_a_label_holds():
    xml = to_junit([("a<b", [Case("x&y", 'bell \a "quoted"', failure="<bad>")])])
    assert ElementTree.fromstring(xml.encode()).find("testsuite/testcase").get("name") == 'bell � "quoted"'


@pytest.mark.parametrize("sign", [1, -1])
def test_seconds_whose_interval_covers_none_are_noise_however_large_the_mean(folders, sign):
    logs = sign * np.array([1.2, -0.6, 0.9, -0.5])
    interval = stats.ttest_1samp(logs, 0).confidence_interval()
    assert abs(logs.mean()) > np.log(1.1)
    assert interval.low < 0 < interval.high
    old, new = (
        [log.ok(log.spec(trial=trial), score, feature_s=seconds) for trial, (score, seconds) in enumerate(rows)]
        for rows in (zip(OLD, [1.0] * 4, strict=True), zip(OLD, np.exp(logs).tolist(), strict=True))
    )
    costs = folders(old, new).costs.set_index("metric")
    assert costs.loc["feature_s", "ratio"] == pytest.approx(np.exp(logs.mean()))
    assert costs.loc["feature_s", "verdict"] == "unchanged"


# ---- Strict ----------------------------------------------------------------------------------------------------


@pytest.fixture
def strictly(folders):
    """What the second folder is against the first in a strict difference at a tolerance."""

    def make(old, new, tolerance=0.0):
        usual = folders(old, new, tolerance)
        return diff(Path(usual.old), Path(usual.new), tolerance, strict=True), usual

    return make


OF_A_DROP = np.array([-0.2, -0.5, -0.8, -0.9])


def test_a_drop_that_is_not_settled_passes_only_where_it_is_not_strict(strictly):
    found, usual = strictly(cell(OLD), cell(np.add(OLD, OF_A_DROP).tolist()), 0.5)
    low, high = stats.ttest_1samp(OF_A_DROP, 0).confidence_interval()
    assert low < -0.5 < high < 0  # a drop, which may be more than the tolerance or less
    assert only(found)["verdict"] == only(usual)["verdict"] == "not settled"
    assert (found.outside, usual.outside) == (1, 0)
    assert "Strict: 1 of 1 cells are not shown to be within 0.5 points." in " ".join(
        diff_writeup.to_text(found).split()
    )
    (case,), (lenient,) = diff_writeup.cases(found), diff_writeup.cases(usual)
    assert case.failure.startswith("not settled: 71.75 → 71.15, -0.60 points")
    assert lenient.failure == ""
    assert [each["strict"] for each in json.loads(diff_writeup.to_json([found, usual]))] == [True, False]


@pytest.mark.parametrize("step", [0.0, 0.1, -0.1, 0.3, -0.3, 1.0, -1.0, 2.0])
@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_a_changed_cell_passes_if_its_interval_is_within_the_tolerance(strictly, step, spread):
    off = step + spread * np.array([-1, 1, -1, 1.0])
    found, _ = strictly(cell(OLD), cell(np.add(OLD, off).tolist()), 0.5)
    low, high = stats.ttest_1samp(off, 0).confidence_interval()
    assert found.outside == (0 if low >= -0.5 and high <= 0.5 else 1)


def test_better_lost_single_and_absent_cells_do_not_pass_and_equal_ones_do(strictly):
    lost = [log.lost(log.spec(method="QMC", trial=trial), "error") for trial in range(4)]
    pairs = {
        "better": (cell(OLD), cell(np.add(OLD, 9).tolist())),
        "lost": (cell(OLD, "QMC"), lost),
        "not settled": (cell(OLD[:1]), cell((70.1,))),
        "only in old": ([*cell(OLD), *cell(OLD, "QMC")], cell(OLD)),
        "only in new": (cell(OLD), [*cell(OLD), *cell(OLD, "QMC")]),
    }
    for verdict, (old, new) in pairs.items():
        found, _ = strictly(old, new, 0.5)
        assert verdict in set(found.cells["verdict"])
        assert found.outside == 1
        assert [bool(case.failure) for case in diff_writeup.cases(found)].count(True) == 1
        assert not any(case.skipped for case in diff_writeup.cases(found))
    for tolerance in (0.0, 0.5):
        found, _ = strictly(cell(OLD), cell(OLD), tolerance)
        assert (found.outside, only(found)["verdict"]) == (0, "unchanged")
    assert "Strict: all 1 cells are shown to be within 0.5 points." in " ".join(diff_writeup.to_text(found).split())


def test_the_exit_status_and_python_follow_strict(tmp_path):
    old, new = log.config(trials=4), log.config(trials=4)
    before = log.write(tmp_path / "old", old, cell(OLD))
    after = log.write(tmp_path / "new", new, cell(np.add(OLD, OF_A_DROP).tolist()))
    words = ["diff", str(before), str(after), "--tolerance", "0.5"]
    statuses = [
        CliRunner().invoke(cli, each, standalone_mode=False).return_value
        for each in (words, [*words, "--strict"], ["diff", str(before), str(before), "--strict"])
    ]
    assert statuses == [0, 1, 0]
    results = rffbench.load(after)
    assert [results.diff(before, 0.5, strict=strict).outside for strict in (False, True)] == [0, 1]


def test_an_experiment_that_only_one_folder_has_fails_a_strict_comparison(tmp_path):
    for place in ("a", "b"):
        log.write(tmp_path / place / "x", log.config(trials=4), cell(OLD))
    log.write(tmp_path / "a" / "y", log.config(trials=4), cell(OLD))
    words = ["diff", str(tmp_path / "a"), str(tmp_path / "b")]
    runner = CliRunner()
    assert runner.invoke(cli, words, standalone_mode=False).return_value == 0
    assert runner.invoke(cli, [*words, "--strict"], standalone_mode=False).return_value == 1


# ---- Versions of a file of one's own -----------------------------------------------------------------------


def of_file(scores, source, file="mine.py", method="Mine"):
    rows = cell(scores, features={"name": f"./{file}:Mine"}, source=source * 64)
    return [log.keyed(row | {"method": method}) for row in rows]


@pytest.fixture
def edited(tmp_path):
    """A folder whose map was edited twice."""
    methods = {name: {"features": f"./{name.lower()}.py:Mine"} for name in ("Mine", "Other")}
    config = log.config(trials=4, methods={"RFF": log.METHODS["RFF"], **methods})
    folder = log.write(tmp_path / "own", config, [*cell(OLD), *of_file((76, 77, 78, 79), "c")])
    aside = [*of_file((70, 71, 72, 73), "a"), *of_file((73, 74, 75, 76), "b"), *cell((1, 2, 3, 4), method="QMC")]
    (folder / ASIDE).write_text("".join(json.dumps(row) + "\n" for row in aside))
    return folder


def test_the_rows_of_an_edited_file_are_read_by_version(edited):
    for number, means in enumerate([71.5, 74.5, 77.5], 1):
        with results_at(f"{edited}@source:{number}") as version:
            found = diff(version, edited, names=(f"{edited}@source:{number}", str(edited))).cells.set_index("method")
        assert set(found.index) == {"RFF", "Mine"}  # what was set aside for another reason is of no version
        assert found.loc["RFF", "verdict"] == "unchanged"
        assert (found.loc["Mine", "old"], found.loc["Mine", "new"]) == (means, 77.5)
        assert found.loc["Mine", "trials"] == 4


@pytest.mark.parametrize("number", ["0", "4", "x", "", "-1", "aaaa"])
def test_a_version_that_is_not_there_is_refused_with_those_there_are(edited, number):
    said = r"own has source:1 \(\./mine\.py, a{12}, 4 rows\), source:2 \(.*\), source:3 \(\./mine\.py, c{12}, 4 rows\)"
    with pytest.raises(ResultsError, match=said), results_at(f"{edited}@source:{number}"):
        pass
    (edited / ASIDE).unlink()
    with pytest.raises(ResultsError, match="rows of one version of each own file"), results_at(f"{edited}@source:1"):
        pass
    with pytest.raises(ResultsError, match="nope: no such results folder"), results_at("nope@source:1"):
        pass


def test_versions_are_counted_of_edited_files_alone_and_other_files_stay_as_they_are(edited):
    with (edited / "trials.jsonl").open("a") as rows:
        for row in of_file((60, 61, 62, 63), "d", file="other.py", method="Other"):
            rows.write(json.dumps(row) + "\n")
    with results_at(f"{edited}@source:1") as version:
        found = diff(version, edited).cells.set_index("method")
    assert found["verdict"]["Other"] == "unchanged"
    with pytest.raises(ResultsError) as refusal, results_at(f"{edited}@source:9"):
        pass
    assert "other.py" not in str(refusal.value)


# ---- Folders and revisions ---------------------------------------------------------------------------------


def test_folders_of_experiments_go_together_by_name(tmp_path):
    for side, names in (("old", ("a", "b")), ("new", ("b", "c"))):
        for name in names:
            log.write(tmp_path / side / name, log.config(name=name), cell(OLD))
    (found,), alone = diff_folders(tmp_path / "old", tmp_path / "new", names=("old", "new"))
    assert (found.name, found.old) == ("b", "old/b")
    assert alone == ["Only in old: a.", "Only in new: c."]
    with pytest.raises(ResultsError, match="name two of a kind"):
        diff_folders(tmp_path / "old" / "a", tmp_path / "new")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A git repository of results at two commits, 70 % and 60 %."""

    def git(*arguments):
        who = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--quiet")
    for score in (70.0, 60.0):
        log.write(tmp_path / "results" / "x", log.config(), cell((score,) * 3))
        git("add", "--all")
        git("commit", "--quiet", "--message", "results")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_revision_of_a_folder_is_what_git_has(repository):
    with results_at("results/x@HEAD~1") as old, results_at("results/x") as new:
        assert only(diff(old, new))["difference"] == pytest.approx(-10)
    assert not old.exists()
    with results_at("results@HEAD~1") as old:
        (found,), _ = diff_folders(old, repository / "results", names=("results@HEAD~1", "results"))
        assert found.old == "results/x@HEAD~1"


def test_a_folder_that_is_gone_is_still_in_its_revision(repository):
    (repository / "results").rename(repository / "moved")
    with results_at("results/x@HEAD") as old:
        assert (old / "trials.jsonl").exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("results/x@HEAD~9", "git knows no revision 'HEAD~9'"),
        ("results/x@--help", "git knows no revision '--help'"),
        ("results/y@HEAD", "revision HEAD has no folder results/y"),
        ("/@HEAD", "is in no git repository"),
    ],
)
def test_a_wrong_revision_is_refused_in_its_users_words(repository, place, message):
    with pytest.raises(ResultsError, match=message), results_at(place):
        pass
