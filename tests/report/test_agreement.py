"""Promises of numbers that others released: what counts as a cell, when it agrees, and what is refused."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rffbench import papers, report
from rffbench.errors import ConfigError
from rffbench.report import frame, writeup
from rffbench.report.agreement import allowed_difference, lean
from rffbench.report.cells import in_words
from rffbench.report.compare import compare
from rffbench.report.figures.comparison import draw_comparison
from tests.helpers import report_log as log

# ---- The rule ----------------------------------------------------------------------------------------------


def test_what_is_allowed_is_the_pooled_interval_of_the_raw_samples():
    rng = np.random.default_rng(0)
    one, other = rng.normal(70, 1, 10), rng.normal(69, 3, 6)
    interval = stats.ttest_ind(one, other, equal_var=True).confidence_interval()
    allowed = allowed_difference(one.std(ddof=1), 10, other.std(ddof=1), 6)
    assert allowed == pytest.approx((interval.high - interval.low) / 2)


@pytest.mark.parametrize(("ours", "theirs", "spread"), [(3, 10, True), (40, 500, True), (1, 10, True), (5, 1, False)])
def test_of_runs_of_one_protocol_95_percent_of_the_cells_agree(ours, theirs, spread):
    """Also with a single trial here, and without a released spread."""
    rng = np.random.default_rng(1)
    here, there = rng.normal(0, 1, (4000, ours)), rng.normal(0, 1, (4000, theirs))
    std = here.std(axis=1, ddof=1) if ours > 1 else np.full(4000, math.nan)
    released = there.std(axis=1, ddof=1) if spread else np.full(4000, math.nan)
    allowed = [allowed_difference(a, ours, b, theirs) for a, b in zip(std, released, strict=True)]
    agree = np.abs(here.mean(axis=1) - there.mean(axis=1)) <= allowed
    assert agree.mean() == pytest.approx(0.95, abs=0.012)


def test_a_single_run_on_both_sides_allows_nothing_to_be_said():
    assert math.isnan(allowed_difference(math.nan, 1, math.nan, 1))


# ---- A released file ---------------------------------------------------------------------------------------

REGISTRY = """\
papers:
  lu1999:
    datasets: {eeg: EEG, magic04: Magic}
    tables:
      errors:
        title: released errors
        file: lu1999.csv
        where: {precision: fp}
        method: [method, weights]
        methods: {RFF: rff real, QMC: qmc real}
        not_here:
          - {dataset: USPS, because: its file is another one}
          - {weights: complex, because: complex features are not here}
        metrics:
          kernel_error: {reported: error, reported_std: error_std}
          accuracy: {reported: share, factor: 100}
        columns: {n_features: s, reported_trials: runs}
      folds:
        title: released folds
        methods: {RFF: [cg, precondcg]}
        columns: {trial: split, reported: rmse}
        tolerance: 2
        tolerance_unit: percent
        metric: rmse
        datasets: {elevators-gp: elevators}
"""
RELEASED = """\
dataset,precision,method,weights,s,runs,error,error_std,share
EEG,fp,rff,real,14,10,0.100,0.010,0.70
EEG,fp,rff,complex,14,10,0.090,0.010,0.71
EEG,fp,qmc,real,14,10,0.080,0.010,0.72
EEG,hardware,rff,real,14,10,0.500,0.010,0.60
Magic,fp,rff,real,10,10,0.200,0.010,0.80
USPS,fp,rff,real,256,10,0.300,0.010,0.90
"""


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A folder of papers with one, which a test spoils."""
    (tmp_path / "references.yaml").write_text(REGISTRY)
    (tmp_path / "lu1999.json").write_text('[{"title": "T", "genre": "Notes", "author": [{"family": "Lu"}]}]')
    (tmp_path / "lu1999.csv").write_text(RELEASED)
    (tmp_path / "lu1999_folds.csv").write_text(
        "dataset,method,split,rmse\nelevators,cg,0,0.400\nelevators,precondcg,0,0.410\nelevators,cg,1,0.300\n"
    )
    monkeypatch.setattr(papers, "FOLDER", tmp_path)
    papers.references.cache_clear()
    yield tmp_path
    papers.references.cache_clear()


def measured(folder, errors, reference="lu1999-errors", accuracy=71.0):
    rows = [
        log.ok(log.spec(method="RFF", trial=trial), accuracy + trial / 10, kernel_error=error)
        for trial, error in enumerate(errors)
    ]
    config = log.config(trials=len(errors), reference=reference, methods={"RFF": log.METHODS["RFF"]})
    return frame.load_results(log.write(folder / "run", config, rows))


def test_every_row_of_a_file_is_a_cell_that_agrees_or_differs_or_says_why_it_can_t_be_compared(paper):
    comparison = compare(measured(paper, [0.11, 0.12, 0.10]))
    cells = comparison.cells[comparison.cells["reported"].notna()]
    found = cells.set_index(["metric", "dataset", "method"])["verdict"]
    assert found["kernel_error"].to_dict() == {
        ("eeg", "RFF"): "reproduced",
        ("eeg", "QMC"): "not measured",
        ("eeg", "rff complex"): "method not here",
        ("magic04", "RFF"): "not measured",
        ("USPS", "RFF"): "data not here",
    }
    assert found["accuracy", "eeg", "RFF"] == "differs"
    assert len(cells) == 2 * 5  # of two metrics; the hardware's row is not in the table
    assert comparison.not_comparable == 4
    assert "1 of 2 cells agree. 4 are not measured. 4 are not comparable." in writeup.summary_line(comparison)
    assert "2 cells not comparable, data not here: its file is another one." in comparison.missing


def test_the_difference_is_in_percent_of_an_error_and_in_points_of_an_accuracy(paper):
    comparison = compare(measured(paper, [0.11, 0.12, 0.10]))
    both = comparison.counted.set_index("metric")
    assert both.loc["kernel_error", "difference"] == pytest.approx(10)
    pooled = math.sqrt((2 * 0.01**2 + 9 * 0.01**2) / 11)
    allowed = stats.t.ppf(0.975, 11) * pooled * math.sqrt(1 / 3 + 1 / 10) + 0.0005
    assert both.loc["kernel_error", "tolerance"] == pytest.approx(100 * allowed / 0.1)
    assert both.loc["accuracy", "difference"] == pytest.approx(1.1)
    alone = stats.t.ppf(0.975, 2) * 0.1 * math.sqrt(1 + 1 / 3) + 0.5  # 0.70 is printed with two decimals
    assert both.loc["accuracy", "tolerance"] == pytest.approx(alone)


@pytest.mark.parametrize(("error", "verdict"), [(0.1004, "reproduced"), (0.1096, "reproduced"), (0.1260, "differs")])
def test_a_single_trial_is_held_to_the_released_spread(paper, error, verdict):
    cells = compare(measured(paper, [error])).cells.set_index(["metric", "dataset", "method"])
    assert cells.loc[("kernel_error", "eeg", "RFF"), "verdict"] == verdict


def test_a_cell_of_a_single_run_on_both_sides_is_counted_by_its_own_name_and_shown(paper):
    comparison = compare(measured(paper, [0.1]))
    assert comparison.left_out == {"not measured": 4, "not comparable": 4, "without a spread": 1}
    assert "4 are not comparable. 1 is without a spread." in writeup.summary_line(comparison)
    assert "1 cell without a spread: a single run there, and a single trial here." in comparison.missing
    text = writeup.to_markdown(comparison)
    assert re.search(r"\| 70.00 +\| 71.00 +\| \+1.00 .*\| no spread", text)


def test_a_cell_of_a_single_run_on_both_sides_is_nothing_to_judge(paper):
    released = paper / "lu1999.csv"
    released.write_text(released.read_text().replace("0.010,", ","))
    assert not compare(measured(paper, [0.1])).measured


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (("data not here", "its file is another one"), "not comparable, data not here: its file is another one"),
        (("data not here", "the data is not here"), "not comparable: the data is not here"),
        (("no spread", "a single run"), "without a spread: a single run"),
    ],
)
def test_why_cells_are_left_out_is_said_once(reason, words):
    assert in_words(*reason) == words


def test_the_lean_shows_what_wide_intervals_hide(paper):
    comparison = compare(measured(paper, [0.107, 0.108, 0.109]))
    (found,) = (each for each in comparison.leans if each.metric == "kernel_error")
    assert (found.agreeing, found.cells, found.above, found.unit) == (1, 1, 1, "%")
    assert found.mean == pytest.approx(8)
    assert math.isnan(found.low)  # of one dataset there is no interval
    assert found.spreads == pytest.approx(0.1)


def test_the_lean_is_the_mean_over_datasets_of_their_cells():
    cells = pd.DataFrame(
        {
            "dataset": ["a", "a", "b"], "measured": [1.1, 1.2, 1.0], "reported": [1.0, 1.0, 1.0],
            "reported_std": 0.1, "measured_std": 0.1, "difference": [10.0, 20.0, 0.0], "tolerance": 15.0,
        }
    )  # fmt: skip
    found = lean("kernel_error", cells, percent=True)
    by_dataset = [(math.log(1.1) + math.log(1.2)) / 2, 0.0]
    assert found.mean == pytest.approx(100 * math.expm1(np.mean(by_dataset)))
    assert found.low < 0 < found.high
    assert (found.agreeing, found.above, found.datasets) == (2, 2, 2)


def test_one_method_here_is_held_to_each_that_was_released_and_a_trial_to_its_fold(paper):
    rows = [("elevators-gp", 1, "RFF", trial, {"rmse": rmse}) for trial, rmse in enumerate([0.404, 0.310, 0.2])]
    config = log.config(datasets=["elevators-gp"], methods={"RFF": {}}, reference="lu1999-folds")
    cells = compare(log.results(rows, config)).cells
    cells = cells[cells["reported"].notna()].set_index(["trial", "reported_method"])
    assert cells["verdict"].to_dict() == {(0, "cg"): "reproduced", (0, "precondcg"): "reproduced", (1, ""): "differs"}
    assert cells.loc[(0, "precondcg"), "difference"] == pytest.approx(100 * (0.404 / 0.41 - 1))


def test_the_figure_has_the_first_metric_that_was_measured(paper):
    path = paper / "references.yaml"
    first = "metrics:\n          frobenius_error: {reported: error, reported_std: error_std}\n"
    path.write_text(path.read_text().replace("metrics:\n", first, 1))
    results = measured(paper, [0.11, 0.12, 0.10])
    (figure,) = draw_comparison(compare(results))
    assert figure.name == "compare.png"


def test_a_rule_for_one_metric_of_a_dataset_does_not_say_that_its_data_are_not_here(paper):
    path = paper / "references.yaml"
    rule = "- {dataset: Magic, metrics: [accuracy], because: its labels are others}\n          "
    path.write_text(path.read_text().replace("- {dataset: USPS", rule + "- {dataset: USPS"))
    cells = compare(measured(paper, [0.11, 0.12, 0.10])).cells
    of_magic = cells[(cells["dataset"] == "magic04") & cells["reported"].notna()].set_index("metric")
    assert of_magic["verdict"].to_dict() == {"kernel_error": "not measured", "accuracy": "not comparable"}
    assert of_magic["because"]["accuracy"] == "its labels are others"


def test_a_lean_is_told_of_cells_with_a_tolerance_too(paper):
    rows = [("elevators-gp", 1, "RFF", trial, {"rmse": rmse}) for trial, rmse in enumerate([0.404, 0.310])]
    config = log.config(datasets=["elevators-gp"], methods={"RFF": {}}, reference="lu1999-folds")
    comparison = compare(log.results(rows, config))
    (found,) = comparison.leans
    ratios = [0.404 / 0.4, 0.404 / 0.41, 0.31 / 0.3]
    assert found.mean == pytest.approx(100 * (stats.gmean(ratios) - 1))
    assert (found.unit, found.agreeing, found.cells, found.above) == ("%", 2, 3, 2)
    text = writeup.to_markdown(comparison)
    assert "lean to one side?" in text
    assert "Of right protocols" not in text  # 95 % is of cells that agree by their spread
    assert "2 of 3 cells come out. The tolerance is 2 %." in text


def test_with_a_tolerance_that_is_given_cells_are_within_it_and_do_not_agree_by_spread(paper):
    comparison = compare(measured(paper, [0.11, 0.12, 0.10]), tolerance=5.0)
    assert writeup.summary_line(comparison).startswith("1 of 2 cells come out. The tolerance is 5 points or %.")


def test_the_files_have_every_cell_and_the_reason(paper):
    folder = measured(paper, [0.11, 0.12, 0.10]).folder
    comparison, statistics = report.compare_folder(folder)
    report.write_comparison(comparison, statistics)
    rows = pd.read_csv(folder / "compare.csv").query("kind == 'cell'")
    assert rows["verdict"].value_counts()["data not here"] == 2
    assert set(rows.loc[rows["verdict"] == "method not here", "because"]) == {"complex features are not here"}
    text = (folder / "compare.md").read_text()
    assert "Do the differences lean to one side?" in text
    assert "2 cells not comparable: complex features are not here" in text


@pytest.mark.parametrize(
    ("file", "right", "wrong", "message"),
    [
        ("lu1999.csv", "EEG,fp,qmc", "EEG,fp,rff", "line 4: a second row of EEG, rff, real, 14"),
        ("lu1999.csv", "0.010,0.70", "0,0.70", "line 2, column 'error_std': a spread must be more than 0, not 0"),
        ("lu1999.csv", "0.100,", ",", "line 2, column 'error': must be a number, not ''"),
        ("lu1999.csv", "14,10,0.100", ",10,0.100", "line 2, column 's': must be a number, not ''"),
        ("lu1999.csv", "0.100", "much", "line 2, column 'error': must be a number, not 'much'"),
        ("lu1999.csv", "Magic", "Magik", "line 6, column 'dataset': unknown dataset 'Magik'; did you mean 'Magic'"),
        ("lu1999.csv", "fp,qmc", "fp,qmd", "line 4, column 'method': unknown method 'qmd real'; did you mean 'qmc"),
        ("lu1999.csv", "USPS", "EEG", "references.yaml, line 12: no row of lu1999.csv is dataset: USPS"),
        ("references.yaml", "{precision:", "{precison:", "line 8: lu1999.csv: unknown column 'precison'; did you"),
        ("references.yaml", "{weights: c", "{weight: c", "line 13: lu1999.csv: unknown column 'weight'; did you"),
        ("references.yaml", "magic04: M", "magic4: M", "line 3: unknown dataset 'magic4'; did you mean 'magic04'"),
        ("references.yaml", "- {dataset: USPS, b", "- {b", "line 12: .*must name a column and the value"),
        ("references.yaml", "columns: {n_f", "metric: rmse\n        columns: {n_f", "takes the place of metric"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_file_and_line(paper, file, right, wrong, message):
    path = paper / file
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    with pytest.raises(ConfigError, match=message) as refused:
        compare(measured(paper, [0.11, 0.12, 0.10]))
    assert str(paper) in str(refused.value)


def test_a_fold_that_the_card_does_not_have_is_refused(paper):
    path = paper / "lu1999_folds.csv"
    path.write_text(path.read_text().replace("cg,1,", "cg,12,"))
    config = log.config(datasets=["elevators-gp"], methods={"RFF": {}}, reference="lu1999-folds")
    with pytest.raises(ConfigError, match=r"line 4: is of fold 12; elevators-gp has the folds 0 to 9"):
        compare(log.results([("elevators-gp", 1, "RFF", 0, {"rmse": 0.4})], config))
