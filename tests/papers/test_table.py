"""Promises of released files: error rates as accuracies, names with empty parts, tables shown for their size alone.
What is wrong in one is refused with its line and column."""

import pytest

from rffbench import papers
from rffbench.errors import ConfigError
from rffbench.report import frame
from rffbench.report.cells import in_words
from rffbench.report.compare import compare
from rffbench.report.reference import read_reference
from tests.helpers import report_log as log

REGISTRY = """\
papers:
  lu1999:
    datasets: {eeg: EEG}
    tables:
      errors:
        title: released error rates
        file: lu1999.csv
        method: [method, tuned]
        metric: accuracy
        columns: {n_features: s, reported: error, reported_std: error_std}
        trials: 10
        factor: -100
        offset: 100
      shown:
        title: the same, for their size alone
        file: lu1999.csv
        method: [method, tuned]
        metric: accuracy
        columns: {n_features: s, reported: error}
        not_here: [{method: [rff, qmc], because: another training procedure}]
      waiting:
        title: the same, which no config runs
        file: lu1999.csv
        method: [method, tuned]
        metric: accuracy
        columns: {n_features: s, reported: error}
        not_here: [{method: qmc, because: another training procedure}]
        not_run: [{method: rff, because: it takes a day}]
      degrees:
        title: released errors of one degree
        methods: [rff, qmc]
        columns: {n_features: s, reported: error, reported_std: error_std, reported_trials: runs}
        not_here: [{degree: 7, because: another kernel}]
      seeds:
        title: single runs
        methods: [rff]
        columns: {run: seed, reported: error}
        not_here: [{degree: 7, because: another kernel}]
"""


@pytest.fixture
def paper(tmp_path, monkeypatch):
    (tmp_path / "references.yaml").write_text(REGISTRY)
    (tmp_path / "lu1999.json").write_text('[{"title": "T", "genre": "Notes", "author": [{"family": "Lu"}]}]')
    (tmp_path / "lu1999.csv").write_text(
        "dataset,method,tuned,s,error,error_std\nEEG,rff,512,14,0.30,0.01\nEEG,qmc,,14,0.25,0.02\n"
    )
    monkeypatch.setattr(papers, "FOLDER", tmp_path)
    papers.references.cache_clear()
    yield tmp_path
    papers.references.cache_clear()


def test_an_error_rate_is_100_percent_less_the_accuracy(paper):
    numbers = papers.load_reference("lu1999-errors").numbers().set_index("method")
    assert numbers["reported"].to_dict() == pytest.approx({"rff 512": 70.0, "qmc": 75.0})
    assert numbers["reported_std"].to_dict() == pytest.approx({"rff 512": 1.0, "qmc": 2.0})
    assert (numbers["rounding"] == 0.5).all()


def test_a_table_of_what_nothing_here_is_comparable_with_is_shown_and_counted(paper):
    rows = [log.ok(log.spec(method="RFF", trial=trial), 71.0) for trial in range(2)]
    config = log.config(trials=2, reference="lu1999-shown", methods={"RFF": log.METHODS["RFF"]})
    comparison = compare(frame.load_results(log.write(paper / "run", config, rows)))
    assert (comparison.not_comparable, comparison.outside, len(comparison.counted)) == (2, 0, 0)


def test_rows_that_no_config_runs_count_as_not_measured(paper):
    rows = [log.ok(log.spec(method="RFF", trial=trial), 71.0) for trial in range(2)]
    config = log.config(trials=2, reference="lu1999-waiting", methods={"RFF": log.METHODS["RFF"]})
    comparison = compare(frame.load_results(log.write(paper / "run", config, rows)))
    assert (comparison.not_comparable, comparison.unmeasured, len(comparison.counted)) == (1, 1, 0)
    numbers = papers.load_reference("lu1999-waiting").numbers().set_index("method")
    assert numbers["because"].to_dict() == {"rff 512": "it takes a day", "qmc": "another training procedure"}


def test_a_rule_that_is_of_no_row_is_told_with_its_place(paper):
    (paper / "references.yaml").write_text(REGISTRY.replace("{method: rff, because: it", "{method: orf, because: it"))
    papers.references.cache_clear()
    with pytest.raises(ConfigError, match=r"references\.yaml, line 28: no row of lu1999\.csv is method: orf"):
        papers.load_reference("lu1999-waiting").numbers()


DEGREES = """\
dataset,method,degree,source,s,runs,error,error_std
EEG,rff,3,a,14,10,0.30,0.01
EEG,rff,7,a,14,10,0.40,0.01
EEG,rff,7,b,14,10,0.41,0.01
EEG,rff,3,a,28,1,0.20,
EEG,qmc,3,a,14,10,0.10,0.01
"""
TWICE = r"line 7: a second row of EEG, rff, 14; the first is line 2; keep one of them, or choose by where or not_here"


def test_a_reason_that_is_neither_of_the_data_nor_of_a_method_has_no_name_but_not_comparable(paper):
    (paper / "lu1999_degrees.csv").write_text(DEGREES.replace("EEG,rff,7,b,14,10,0.41,0.01\n", ""))
    numbers = papers.load_reference("lu1999-degrees").numbers()
    assert numbers["absent"].tolist() == ["", "not comparable", "", ""]
    assert in_words("not comparable", "another kernel") == "not comparable: another kernel"


def test_a_list_of_methods_is_of_names_that_are_the_same_here(paper):
    (paper / "lu1999_degrees.csv").write_text(DEGREES)
    numbers = papers.load_reference("lu1999-degrees").numbers()
    assert numbers.loc[numbers["absent"] == "", "method"].tolist() == ["rff", "rff", "qmc"]


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("", "EEG,rff,3,b,14,10,0.31,0.01\n", TWICE),
        ("", "EEG,rff,5,a,14,10,0.31,0.01\n", TWICE),  # a degree that no rule knows
        ("14,10,0.30", "14,0,0.30", "line 2, column 'runs': must be a whole number, 1 or more, not 0"),
        ("14,10,0.30", "14,2.5,0.30", "line 2, column 'runs': must be a whole number, 1 or more, not 2.5"),
        ("14,10,0.30", "14,,0.30", "line 2, column 'runs': must be a number, not ''"),
        ("14,10,0.30", "14,1,0.30", "line 2, column 'error_std': one run has no spread; leave it empty, or correct"),
        ("7,a,14,10,0.40", "7,a,14,1,0.40", "line 3, column 'error_std': one run has no spread"),  # is not compared
        ("0.30,0.01", "inf,0.01", "line 2, column 'error': must be a finite number, not 'inf'"),
        ("0.30,0.01", "0.30,inf", "line 2, column 'error_std': must be a finite number, not 'inf'"),
        ("EEG,qmc", "EEG,qmcc", "line 6, column 'method': unknown method 'qmcc'; did you mean 'qmc'"),
    ],
)
def test_what_is_wrong_in_a_released_file_is_refused_with_its_line(paper, right, wrong, message):
    path = paper / "lu1999_degrees.csv"
    path.write_text(DEGREES.replace(right, wrong, 1) if right else DEGREES + wrong)
    with pytest.raises(ConfigError, match=message) as refused:
        papers.load_reference("lu1999-degrees").numbers()
    assert str(refused.value).startswith(str(path))


def test_a_table_of_runs_has_a_row_of_each_and_no_run_twice(paper):
    path = paper / "lu1999_seeds.csv"
    path.write_text("dataset,method,degree,seed,error\nEEG,rff,7,0,0.9\nEEG,rff,3,0,0.25\nEEG,rff,3,1,0.75\n")
    _, row = papers.load_reference("lu1999-seeds").numbers().to_dict("records")
    assert (row["reported"], row["reported_trials"]) == (0.5, 2)
    path.write_text(path.read_text() + "EEG,rff,5,1,0.85\n")
    with pytest.raises(ConfigError, match="line 5: a second row of EEG, rff, 1; the first is line 4"):
        papers.load_reference("lu1999-seeds").numbers()


def test_the_trials_of_a_table_are_1_or_more(paper):
    path = paper / "references.yaml"
    path.write_text(path.read_text().replace("trials: 10", "trials: 0"))
    with pytest.raises(ConfigError, match=r"line 11: .*trials: must be 1 or more, not 0"):
        papers.references()


PARTS = "dataset,n_features,n_train,n_test\n"


@pytest.mark.parametrize(
    ("datasets", "stated", "message"),
    [
        ("eeg: EEG", "EEG,14,7490,7490", ""),
        ("eeg: EEG", "EEG,14,7491,7489", "n_train': EEG has 7,491 training rows; the card of eeg has 7,490"),
        ("mnist: EEG", "EEG,784,60000,20000", "n_test': EEG has 20,000 test rows; the card of mnist has 10,000"),
        ("kin40k-xgpr: EEG", "EEG,8,30000,10000", "n_train': EEG has 30,000 training rows; the card of kin40k-xgpr"),
        ("elevators-gp: EEG", "EEG,18,14940,1659", ""),  # folds differ by one row
        ("elevators-gp: EEG", "EEG,18,14900,1699", "n_train': EEG has 14,900 training rows; the card of elevators"),
        # One card has the paper's parts, the other other test rows of the same data.
        ("cod-rna: EEG, cod-rna-paper: EEG", "EEG,8,59535,157413", ""),
        ("cod-rna: EEG, cod-rna-paper: EEG", "EEG,8,59535,157412",
         "n_test': EEG has 157,412 test rows; the card of cod-rna has 271,617, the card of cod-rna-paper has 157,413"),
    ],
)  # fmt: skip
def test_training_and_test_rows_that_no_card_of_the_dataset_has_are_told(paper, datasets, stated, message):
    registry = paper / "references.yaml"
    registry.write_text(registry.read_text().replace("eeg: EEG", datasets))
    (path := paper / "lu1999_datasets.csv").write_text(f"{PARTS}{stated}\n")
    if not message:
        read_reference("lu1999-shown", paper)
        return
    with pytest.raises(ConfigError) as refused:
        read_reference("lu1999-shown", paper)
    assert str(refused.value).startswith(f"{path}, line 2, column '{message}")
