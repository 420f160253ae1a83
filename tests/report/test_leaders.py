"""Who leads: the best, and what a paired t-test does not show to be worse; and the sentence above a table."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from rffbench.report.leaders import leaders, sentence
from rffbench.report.table import Shown, folder_tables, make_table
from tests.helpers import report_log as log
from tests.helpers.tables import loaded

A, B, C = "RFF", "QMC", "leverage-RFF"

pytestmark = pytest.mark.usefixtures("marks")


def results(folder, scores, **config):
    """Results of methods whose accuracies, or other metrics, are given by trial."""
    rows = []
    for method, values in scores.items():
        for trial, value in enumerate(values):
            rows.append(log.ok(log.spec(method=method, trial=trial), value))
    return loaded(folder, rows, **config)


def with_auc(row, auc):
    return {**row, "metrics": {**row["metrics"], "auc": auc}}


def metrics(made):
    return {dataset: made.score(dataset) for dataset in made.datasets}


def test_a_method_leads_unless_a_paired_test_shows_that_the_best_is_better(tmp_path):
    rng = np.random.default_rng(0)
    for case in range(12):
        base = rng.normal(80, 2, size=5)
        scores = {
            name: np.round(base + rng.normal(shift, 0.6, size=5), 3)
            for name, shift in zip((A, B, C), (0, 0.3, -1), strict=True)
        }
        made = results(tmp_path / str(case), scores, trials=5)
        best = max(scores, key=lambda name: scores[name].mean())
        expected = {
            name
            for name in scores
            if name == best or ttest_rel(scores[best], scores[name], alternative="greater").pvalue >= 0.05
        }
        ((_, found),) = leaders(made, metrics(made)).items()
        assert found == expected


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (
            {A: [80, 81, 80.5], B: [70, 71, 70.2], C: [60, 61, 60.4]},
            "RFF leads: it is the best, or not shown to be",
        ),
        ({A: [80, 81, 80.5], B: [80.4, 80.6, 80.5], C: [60, 61, 60.4]}, "RFF and QMC lead: each is the best, or not"),
        ({A: [80, 81, 80.5], B: [80.4, 80.6, 80.5]}, "No method is shown to be better than another in the only compar"),
        ({A: [80], B: [70]}, "One trial of each method shows of none that it is better than another."),
        ({A: [80, 81, 80.5]}, ""),
    ],
)
def test_the_sentence_says_what_the_trials_show(tmp_path, scores, said):
    assert sentence([({}, results(tmp_path, scores, trials=3))]).startswith(said)
    assert bool(said) == bool(sentence([({}, results(tmp_path, scores, trials=3))]))


def test_a_table_begins_with_the_sentence_and_bold_marks_all_leaders(tmp_path):
    made = results(tmp_path, {A: [80, 81, 80.5], B: [80.4, 80.6, 80.5], C: [60, 61, 60.4]})
    (table,) = folder_tables([({}, made)], Shown(best=True))
    assert table.to_text(80).splitlines()[1].startswith("RFF and QMC lead: each is the best")
    assert {table.header[column] for _, column in table.best} == {A, B}
    assert any(note.startswith("Bold: the best at a dataset and size, and what is not") for note in table.notes)


def test_what_is_so_in_every_cell_is_said_once(tmp_path):
    made = results(tmp_path, {A: [80, 81], B: [70, 71], C: [60]}, trials=10)
    table = make_table(made)
    assert [cell.partition(" [")[2] for cell in table.rows[0][2:5]] == ["", "", "n=1]"]
    assert "Cells have 2 of 10 planned trials, unless marked [n=…]." in table.notes


def test_times_that_all_are_disturbed_are_said_to_be_once(tmp_path):
    rows = [
        log.ok(log.spec(method=method, trial=trial), 70.0 + trial, contended=True)
        for method in (A, B)
        for trial in (0, 1)
    ]
    table = make_table(loaded(tmp_path, rows))
    assert not any("~" in cell for row in table.rows for cell in row)
    assert any(note.startswith("No times are comparable") for note in table.notes)


def test_each_score_that_a_config_asks_for_has_a_table(tmp_path):
    rows = [
        with_auc(
            log.ok(log.spec(method=method, trial=trial, scores=("auc",)), 70.0 + trial), 0.9 if method == A else 0.8
        )
        for method in (A, B)
        for trial in (0, 1)
    ]
    made = loaded(tmp_path, rows, scores=["auc"])
    first, second = folder_tables([({}, made)])
    assert first.records()[0][A].startswith("70.50±0.71")
    assert second.title.endswith(": area under the ROC curve")
    assert second.records()[0][A].startswith("0.900±0.000")
    assert second.sentence.startswith("RFF leads")


def test_of_seconds_those_that_are_the_same_in_three_digits_are_best_alike(tmp_path):
    seconds = {A: 0.50012, B: 0.50008, C: 0.502}
    rows = [log.ok(log.spec(method=name), 80, feature_s=each) for name, each in seconds.items()]
    table = make_table(loaded(tmp_path, rows, trials=1), Shown(metric="feature_s", best=True))
    assert {table.header[column] for _, column in table.best} == {A, B}
