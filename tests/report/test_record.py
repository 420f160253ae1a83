"""Promises of a recorded reference: expected scores, tolerances from the spread, and that compare takes it."""

import math

import pandas as pd
import pytest
from scipy import stats

from rffbench import report
from rffbench.errors import ConfigError, ResultsError
from rffbench.report import frame
from rffbench.report.compare import NotComparable, compare
from rffbench.report.record import record
from tests.helpers import report_log as log

SCORES = (70.0, 72.0, 71.0, 74.0)
SIZES = ["1d", 100]


def rows(shift=0.0, methods=("RFF", "Ours")):
    return [
        log.ok(log.spec(method=method, trial=trial, **size), score + shift)
        for size in ({}, {"multiple": None, "n_features": 100})
        for method in methods
        for trial, score in enumerate(SCORES)
    ]


def folder(path, shift=0.0, some=None, **config):
    config = log.config(**{"trials": 4, "n_features": SIZES, **config})
    return log.write(path, config, rows(shift) if some is None else some)


@pytest.fixture
def recorded(tmp_path):
    path, _, _ = record(folder(tmp_path / "run"), tmp_path / "mine.csv")
    return path


def test_it_holds_every_cells_mean_and_the_interval_of_two_such_means(recorded):
    table = pd.read_csv(recorded).set_index(["size", "method"])
    assert list(table.index) == [("1d", "RFF"), ("1d", "Ours"), ("100", "RFF"), ("100", "Ours")]
    cell = table.loc["1d", "RFF"]
    spread = pd.Series(SCORES).std()
    assert (cell["expected"], cell["trials"], cell["metric"]) == (71.75, 4, "accuracy")
    assert cell["tolerance"] == pytest.approx(stats.t.ppf(0.975, 3) * spread * math.sqrt(2 / 4))


def test_without_a_spread_the_tolerance_is_that_of_rounding(tmp_path):
    path, _, notes = record(folder(tmp_path / "run", some=rows()[:1], trials=1), tmp_path / "mine.csv")
    assert pd.read_csv(path)["tolerance"].tolist() == pytest.approx([100 / 7490])  # a row of EEG's test part
    assert "a single trial" in notes[0]


@pytest.mark.parametrize(("shift", "outside"), [(0.0, 0), (1.0, 0), (-5.0, 4), (5.0, 4)])
def test_a_run_is_compared_with_what_was_recorded(tmp_path, recorded, shift, outside):
    new = folder(tmp_path / "new", shift, reference="../mine.csv")
    comparison = compare(frame.load_results(new))
    assert comparison.outside == outside
    assert comparison.cells["size"].tolist() == ["1d", "1d", "100", "100"]
    assert comparison.cells["measured"].notna().all()
    made, _, paths = report.compare_folder(new)
    assert (new / "figures" / "compare.png") in paths
    assert made.reference.citation == "mine.csv"


def test_labels_in_brackets_are_methods_of_their_own(tmp_path):
    methods = {"RFF (a)": log.METHODS["RFF"], "RFF (b)": log.METHODS["RFF"]}
    some = [{**log.ok(log.spec(), score), "method": label} for label, score in zip(methods, (60.0, 80.0), strict=True)]
    run = folder(tmp_path / "run", some=some, methods=methods, reference="../mine.csv")
    record(run)
    comparison = compare(frame.load_results(run))
    assert comparison.cells["reported"].tolist() == [60.0, 80.0]
    assert comparison.outside == 0


def test_cells_that_are_not_run_yet_are_named_with_their_size(tmp_path, recorded):
    some = [row for row in rows() if row["n_features"] == 14 and row["method"] == "RFF"]
    comparison = compare(frame.load_results(folder(tmp_path / "new", some=some, reference="../mine.csv")))
    assert "Not run yet: eeg 100; eeg 1d Ours." in comparison.missing
    log.write(tmp_path / "new", log.config(n_features=["1d"], trials=4, reference="../mine.csv"), some)
    assert any("not asked for by this experiment: eeg 100" in line
               for line in compare(frame.load_results(tmp_path / "new")).missing)  # fmt: skip


def test_a_reference_of_other_cells_or_another_metric_is_refused(tmp_path, recorded):
    new = folder(tmp_path / "new", reference="../mine.csv")
    text = recorded.read_text()
    recorded.write_text(text.replace("accuracy", "acuracy"))
    with pytest.raises(ConfigError, match=r"mine\.csv: unknown metric 'acuracy'; did you mean 'accuracy'"):
        compare(frame.load_results(new))
    recorded.write_text(text.replace("RFF", "RF").replace("Ours", "Theirs"))
    with pytest.raises(NotComparable, match="it reports the methods RF, Theirs"):
        compare(frame.load_results(new))


def test_recorded_again_it_is_the_file_that_the_config_names(tmp_path, recorded, monkeypatch):
    new = folder(tmp_path / "new", 1.0, reference="../mine.csv")
    path, cells, notes = record(new)
    assert (path.resolve(), cells, notes) == (recorded, 4, [])
    assert pd.read_csv(recorded)["expected"].tolist() == [72.75] * 4
    monkeypatch.chdir(tmp_path)
    assert record(folder(tmp_path / "run"))[0].resolve() == tmp_path / "synthetic_reference.csv"


def test_cells_without_a_score_are_left_out_and_nothing_at_all_is_refused(tmp_path):
    lost = [log.lost(log.spec(method="Ours", trial=trial), "timeout") for trial in range(4)]
    some = [row for row in rows() if row["method"] == "RFF"]
    _, cells, notes = record(folder(tmp_path / "run", some=[*some, *lost]), tmp_path / "mine.csv")
    assert (cells, notes) == (2, ["1 cells without a finished trial are left out."])
    with pytest.raises(ResultsError, match="nothing to record"):
        record(folder(tmp_path / "none", some=lost), tmp_path / "mine.csv")
