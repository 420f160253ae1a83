"""Promises of a reference of one's own: what a file must hold, and where a wrong one is wrong."""

from pathlib import Path

import pytest

from rffbench.config.loading import experiment_of
from rffbench.errors import ConfigError
from rffbench.papers.recorded import find_reference, load_own

HEADER = "dataset,size,method,metric,expected,std,trials,tolerance\n"
ROW = "digits,8,RFF,accuracy,80.5,1.5,3,2.0\n"


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "mine.csv"
        path.write_text(text)
        return path

    return write


def test_the_numbers_are_those_of_the_file(file):
    (row,) = load_own(file(HEADER + ROW)).numbers().to_dict("records")
    assert (row["paper_dataset"], row["size"], row["method"]) == ("digits", "8", "RFF")
    assert (row["reported"], row["reported_std"], row["reported_trials"], row["tolerance"]) == (80.5, 1.5, 3, 2.0)


def test_the_spread_may_be_left_out_or_empty(file):
    short = "dataset,size,method,metric,expected,tolerance\ndigits,16d,RFF,accuracy,80.5,2\n"
    for text in (short, HEADER + ROW.replace("1.5", "")):
        assert load_own(file(text)).numbers()["reported_std"].isna().all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (HEADER, "has no rows"),
        (HEADER.replace("expected", "expectd") + ROW, "line 1: no column 'expected'; is it 'expectd'?"),
        (HEADER.replace("trials", "tirals") + ROW, "line 1: no column 'trials'; is it 'tirals'?"),
        (HEADER.replace("std", " STD") + ROW, "line 1: no column 'std'; is it ' STD'?"),
        (HEADER + ROW.replace("80.5", "high"), "line 2, column 'expected': must be a number, not 'high'"),
        (HEADER + ROW.replace("80.5", "inf"), "line 2, column 'expected': must be a finite number"),
        (HEADER + ROW.replace("2.0", "-2"), "line 2, column 'tolerance': must be a finite number, 0 or more"),
        (HEADER + ROW.replace("1.5", "0"), "line 2, column 'std': must be a finite number, more than 0, or empty"),
        (HEADER + ROW.replace("1.5", "inf"), "line 2, column 'std': must be a finite number, not 'inf'"),
        (
            HEADER + ROW.replace(",3,", ",1,"),
            "line 2, column 'std': must be empty, as one trial has no spread, not 1.5",
        ),
        (HEADER + ROW.replace(",3,", ",2.5,"), "line 2, column 'trials': must be a whole number, 1 or more"),
        (HEADER + ROW.replace(",3,", ",0,"), "line 2, column 'trials': must be a whole number, 1 or more"),
        (HEADER + ROW.replace(",8,", ",eight,"), "line 2, column 'size': must be a number, or a multiple"),
        (HEADER + ROW + ROW, "line 3: a second row of digits, 8, RFF"),
        (
            HEADER + ROW + ROW.replace(",8,", ",9,").replace("accuracy", "rmse"),
            "line 3, column 'metric': must be the same in all rows",
        ),
        (HEADER + ROW[:-5] + "\n", "line 2: 7 cells"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line_and_column(file, text, message):
    with pytest.raises(ConfigError, match=r"mine\.csv") as error:
        load_own(file(text))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (ROW.replace("digits", "digts"), "column 'dataset': unknown dataset 'digts'; did you mean 'digits'?"),
        (ROW.replace("RFF", "RF"), "column 'method': unknown method 'RF'; did you mean 'RFF'?"),
        (ROW.replace(",8,", ",80,"), "column 'size': unknown size '80'; did you mean '8'?"),
        (ROW.replace("digits", "eeg"), "column 'method': unknown method 'RFF'; valid: QMC"),
        (
            ROW.replace("digits", "eeg").replace("RFF", "QMC").replace("accuracy", "acuracy"),
            "column 'metric': unknown metric 'acuracy'; did you mean 'accuracy'?",
        ),
    ],
)
def test_a_line_of_no_cell_of_the_config_is_refused(file, wrong, message):
    asked = {"digits": {"RFF": {"8", "16d"}}, "eeg": {"QMC": {"8"}}}
    metrics = {"digits": ["accuracy"], "eeg": ["accuracy", "auc"]}
    load_own(file(HEADER + ROW)).check_places(asked, metrics, "config.yaml")
    with pytest.raises(ConfigError) as error:
        load_own(file(HEADER + ROW.replace(",8,", ",16d,") + wrong)).check_places(asked, metrics, "config.yaml")
    assert f"mine.csv, line 3, {message}" in str(error.value)


def test_a_path_is_relative_to_the_folder_and_a_name_is_a_papers(file, monkeypatch):
    path = file(HEADER + ROW)
    assert find_reference("./mine.csv", path.parent).citation == "mine.csv"
    monkeypatch.chdir(path.parent)
    assert find_reference("../../mine.csv", Path("results", "mine")).path == Path("mine.csv")
    assert find_reference("liu2020-table3", path.parent).paper == "liu2020"
    with pytest.raises(ConfigError, match="rffbench record RESULTS"):
        find_reference("other.csv", path.parent)


@pytest.mark.parametrize(
    ("metric", "said"), [("acuracy", "did you mean 'accuracy'?"), ("rmse", "unknown metric 'rmse'")]
)
def test_a_metric_that_no_trial_has_is_refused_before_anything_runs(file, metric, said):
    reference = file(HEADER + ROW.replace("accuracy", metric))
    config = {
        "name": "mine", "datasets": ["digits"], "n_features": [8], "methods": {"RFF": {"features": "fourier"}},
        "solver": {"name": "ridge"}, "reference": str(reference),
    }  # fmt: skip
    with pytest.raises(ConfigError, match=r"line 2, column 'metric'") as error:
        experiment_of(config)
    assert said in str(error.value)
