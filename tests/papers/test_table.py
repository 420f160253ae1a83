"""Promises of released files: error rates as accuracies, names with empty parts, tables shown for their size alone."""

import pytest

from rffbench import papers
from rffbench.errors import ConfigError
from rffbench.report import frame
from rffbench.report.compare import compare
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
