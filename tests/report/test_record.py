"""Promises of a recorded reference: expected scores, tolerances from the spread, and that compare takes it."""

import math
import re
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from rffbench import report
from rffbench.config.experiment import Experiment
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError, ResultsError
from rffbench.report import frame, writeup
from rffbench.report.compare import compare
from rffbench.report.figures.comparison import comparison_figure
from rffbench.report.record import record
from tests.helpers import report_log as log
from tests.helpers.cases import slow

SCORES = (70.0, 72.0, 71.0, 74.0)
SIZES = ["1d", 100]


def rows(shift=0.0, methods=("RFF", "surrogate-RFF")):
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
    assert list(table.index) == [("1d", "RFF"), ("1d", "surrogate-RFF"), ("100", "RFF"), ("100", "surrogate-RFF")]
    cell = table.loc["1d", "RFF"]
    spread = pd.Series(SCORES).std()
    assert (cell["expected"], cell["trials"], cell["metric"]) == (71.75, 4, "accuracy")
    assert cell["tolerance"] == pytest.approx(stats.t.ppf(0.975, 3) * spread * math.sqrt(2 / 4))


@pytest.mark.parametrize("trials", [1, 2])
def test_without_a_spread_the_tolerance_is_that_of_rounding(tmp_path, trials):
    some = [log.ok(log.spec(trial=trial), 70.0) for trial in range(trials)]
    run = folder(tmp_path / "run", some=some, trials=trials, reference="../mine.csv")
    path, _, notes = record(run, tmp_path / "mine.csv")
    (cell,) = pd.read_csv(path).to_dict("records")
    assert cell["tolerance"] == pytest.approx(100 / 7490)  # a row of EEG's test part
    assert math.isnan(cell["std"])
    assert ["a single trial" in note for note in notes] == [True] * (trials == 1)
    assert compare(frame.load_results(run)).cells["verdict"].tolist() == ["reproduced"]


@pytest.mark.parametrize(("shift", "outside"), [*slow((0.0, 0), (1.0, 0), (-5.0, 4)), (5.0, 4)])
def test_a_run_is_compared_with_what_was_recorded(tmp_path, recorded, shift, outside):
    new = folder(tmp_path / "new", shift, reference="../mine.csv")
    comparison = compare(frame.load_results(new))
    assert comparison.outside == outside
    assert comparison.cells["size"].tolist() == ["1d", "1d", "100", "100"]
    assert comparison.cells["measured"].notna().all()
    made, statistics = report.compare_folder(new)
    assert (new / "figures" / "compare.png") in report.write_comparison(made, statistics)
    assert made.reference.citation == "mine.csv"
    for text in (writeup.to_text(made), writeup.to_markdown(made)):
        assert "recorded" in text
        assert "the paper" not in text
        assert "reported" not in text


def test_of_one_size_the_figure_has_a_point_a_method_and_not_a_lone_tick(tmp_path, recorded):
    some = [row for row in rows() if row["n_features"] == 14]
    comparison = compare(frame.load_results(folder(tmp_path / "new", some=some, reference="../mine.csv")))
    (panel,) = comparison_figure(comparison, ["eeg"]).axes
    assert [tick.get_text() for tick in panel.get_xticklabels()][:2] == ["RFF", "surrogate-RFF"]


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
    assert "Not run yet: eeg 100; eeg 1d surrogate-RFF." in comparison.missing


def test_a_line_that_is_of_no_cell_of_the_config_is_refused_and_not_passed_over(tmp_path, recorded, monkeypatch):
    new = folder(tmp_path / "new", some=rows()[:1], reference="../mine.csv")  # most is not run yet, which is no mistake
    compare(frame.load_results(new))
    text = recorded.read_text()
    monkeypatch.chdir(tmp_path)
    for right, wrong, said in (
        (
            "eeg,1d,surrogate-RFF",
            "egg,1d,surrogate-RFF",
            "column 'dataset': unknown dataset 'egg'; did you mean 'eeg'?",
        ),
        (
            "eeg,1d,surrogate-RFF",
            "eeg,1d,surrogate-RF",
            "column 'method': unknown method 'surrogate-RF'; did you mean 'surrogate-RFF'?",
        ),
        ("eeg,1d,surrogate-RFF", "eeg,10,surrogate-RFF", "column 'size': unknown size '10'; did you mean '100'?"),
    ):
        recorded.write_text(text.replace(right, wrong))
        with pytest.raises(ConfigError) as refused:
            compare(frame.load_results(new))
        assert str(refused.value) == (
            f"mine.csv, line 3, {said} (every line must match a cell of {new}/config.yaml; "
            "remove lines that match none)"
        )
        with pytest.raises(ConfigError) as refused:  # before anything is measured
            load_experiment(new / "config.yaml")
        assert f"config.yaml, line {line_of_reference(new)}: reference: mine.csv, line 3, {said}" in str(refused.value)


def line_of_reference(folder):
    lines = (folder / "config.yaml").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith("reference:"))


def test_of_a_sweep_a_line_may_be_of_any_protocol(tmp_path, recorded):
    sweep = {"sizes": {"small": {"n_features": ["1d"]}, "large": {"n_features": [100]}}}
    experiment = Experiment.model_validate(log.config(sweep=sweep, reference="../mine.csv"))
    new = log.write(tmp_path / "new", experiment.to_dict(), [log.ok(spec, 70.0) for spec in experiment.grid()])
    assert len(compare(frame.load_protocols(new)[0][1]).counted) == 2


def test_a_reference_of_another_metric_is_refused(tmp_path, recorded):
    new = folder(tmp_path / "new", reference="../mine.csv")
    text = recorded.read_text()
    recorded.write_text(text.replace("accuracy", "acuracy"))
    said = "line 2, column 'metric': unknown metric 'acuracy'; did you mean 'accuracy'"
    with pytest.raises(ConfigError, match=said):
        compare(frame.load_results(new))


def test_recorded_again_it_is_the_file_that_the_config_names(tmp_path, recorded, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new = folder(tmp_path / "new", 1.0, reference="../mine.csv")
    path, cells, (note,) = record(new, overwrite=True)
    assert (path, cells) == (Path("mine.csv"), 4)
    assert note.startswith("Changed were:\n  eeg 1d RFF: expected 71.75 → 72.75\n")
    assert pd.read_csv(recorded)["expected"].tolist() == [72.75] * 4
    assert record(new) == (path, 4, [])  # nothing would change
    assert record(folder(tmp_path / "run"))[0] == Path("synthetic_reference.csv")


def test_a_file_that_was_edited_is_not_lost_and_what_would_change_is_said(tmp_path, recorded):
    new = folder(tmp_path / "new", reference="../mine.csv")
    lines = recorded.read_text().splitlines()
    lines[1] = re.sub(r",[^,]*$", ",9", lines[1])  # its tolerance
    own = "eeg,2d,RFF,accuracy,70,1,4,1"
    recorded.write_text("\n".join([*lines[:4], own, ""]))
    edited = recorded.read_text()
    with pytest.raises(ResultsError) as refused:
        record(new)
    told = str(refused.value).splitlines()
    assert told[0].endswith("mine.csv: is there already, and this would change in it:")
    assert re.fullmatch(r"  eeg 1d RFF: tolerance 9 → 3\.84\d+", told[1])
    assert told[2:] == [
        "  eeg 2d RFF: is left out",
        "  eeg 100 surrogate-RFF: is new",
        "--overwrite writes it all the same, --output FILE writes another file",
    ]
    assert recorded.read_text() == edited
    recorded.write_text("a note\n")
    with pytest.raises(ResultsError, match=r"all of it, because it is not a reference: .*no column 'dataset'"):
        record(new)


def test_cells_without_a_score_are_left_out_and_nothing_at_all_is_refused(tmp_path):
    lost = [log.lost(log.spec(method="surrogate-RFF", trial=trial), "timeout") for trial in range(4)]
    some = [row for row in rows() if row["method"] == "RFF"]
    _, cells, notes = record(folder(tmp_path / "run", some=[*some, *lost]), tmp_path / "mine.csv")
    assert (cells, notes) == (2, ["1 cell without a finished trial is left out."])
    with pytest.raises(ResultsError, match="nothing to record"):
        record(folder(tmp_path / "none", some=lost), tmp_path / "mine.csv")
