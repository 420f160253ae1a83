"""The sentence and the few rows that a run of your own map ends with."""

import numpy as np
import pytest
from scipy.stats import norm

from rffbench.report.board import own_verdict
from rffbench.report.board.own_verdict import MOST_ROWS, main_size, short_table, verdict_of
from rffbench.report.frame import load_results
from rffbench.report.text_table import Table
from rffbench.stats.datasets import POWER, signed_rank, smallest_gain
from rffbench.stats.gain import Reference
from tests.helpers import report_log as log

DATASETS = ["eeg", "magic04", "cod-rna", "covtype", "phoneme", "spambase"]


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """Results of six datasets with RFF at 80 % and a map, QMC, that is so many points better at 128 and 512 columns;
    the unit is 40 points, and the map takes three times RFF's seconds."""
    monkeypatch.setattr(own_verdict, "references", lambda: {d: Reference(d, 0.5, 0.1, 0.001, 3) for d in DATASETS})

    def make(at_512, at_128=lambda dataset: 0.0, trials=2, datasets=DATASETS):
        rows = []
        for at, dataset in enumerate(datasets):
            for size, gain in ((128, at_128), (512, at_512)):
                for method in ("RFF", "QMC"):
                    for trial in range(trials):
                        spec = log.spec(dataset=dataset, method=method, n_features=size, multiple=None, trial=trial)
                        better = gain(at) if method == "QMC" else 0.0
                        took = 2.7 if method == "QMC" else 0.7  # the rest takes 0.3
                        rows.append(log.ok(spec, 80.0 + better + 0.01 * trial, feature_s=took))
        config = log.config(datasets=list(datasets), n_features=[128, 512], trials=trials)
        return load_results(log.write(tmp_path / f"run{len(list(tmp_path.iterdir()))}", config, rows))

    return make


@pytest.mark.parametrize(
    ("points", "said"), [(4.0, "better than"), (0.0, "the same as"), (-4.0, "worse than")]
)  # of 40: 10 %, 0 % and -10 %
def test_the_sentence_is_the_planted_gain_s_with_its_cost_and_what_can_be_decided(ran, points, said):
    results = ran(lambda _: points)
    text = verdict_of(results, "QMC", results)
    assert text.startswith(f"QMC is {said} random Fourier features at 512 columns, at 3 times their seconds. ")
    assert "The smallest gain that these 6 datasets can decide is " in text


def test_what_takes_as_long_is_said_to(ran):
    results = ran(lambda _: 0.0)
    results.trials["feature_s"] = 0.7
    assert "at 512 columns, at their seconds. " in verdict_of(results, "QMC", results)


def test_gains_that_differ_in_sign_decide_nothing_and_other_sizes_are_counted(ran):
    results = ran(lambda at: 4.0 * (-1) ** at, at_128=lambda at: 2.0 if at < 2 else 0.0)
    text = verdict_of(results, "QMC")
    assert text.startswith("QMC is not shown to differ from random Fourier features at 512 columns; ")
    assert "; more than 1 % better with 128 on 2 of 6 datasets. " in text
    assert "seconds" not in text


def test_two_datasets_decide_nothing_and_the_sentence_says_so(ran):
    text = verdict_of(ran(lambda _: 4.0, datasets=DATASETS[:2]), "QMC")
    assert "is not shown to differ" in text
    assert "These 2 datasets are too few to decide any gain: run more." in text


def test_the_smallest_gain_is_called_better_as_often_as_it_says_and_a_smaller_one_is_not():
    """By boards that are drawn here, with all of the spread in one normal law."""
    found = smallest_gain(np.full(28, 0.02), 0.01)
    rng = np.random.default_rng(8)

    def share(gain):
        boards = norm.rvs(gain, np.hypot(0.02, 0.01), (150, 28), random_state=rng)
        return np.mean([signed_rank(each, draws=1000, seed=at).verdict == "better" for at, each in enumerate(boards)])

    assert share(found) >= POWER - 0.12
    assert share(found / 1.25**2) < POWER
    assert smallest_gain(np.full(28, 0.1), 0.01) > found
    assert np.isnan(smallest_gain([0.01, 0.01], 0.0))


@pytest.mark.parametrize("place", [0, 5, 19])
def test_the_table_has_ten_rows_with_the_map_at_each_size_and_its_neighbours(place):
    names = [f"map {at}" for at in range(19)]
    names.insert(place, "Mine *")
    rows = [[size, name, "+1.0"] for size in ("128", "512") for name in names]
    table = short_table(Table("gains", ["columns", "map", "gain, %"], rows, ["a note"]), "Mine", 512)
    assert len(table.rows) == MOST_ROWS
    assert [row[:2] for row in table.rows if row[1] == "Mine *"] == [["128", "Mine *"], ["512", "Mine *"]]
    assert {row[0] for row in table.rows if row[1] != "Mine *"} == {"512"}
    shown = [names.index(row[1]) for row in table.rows if row[0] == "512"]
    assert shown == list(range(min(shown), max(shown) + 1))  # next to one another
    assert place in shown
    assert table.notes == ["a note", "30 more rows, each dataset and what maps cost are on the page."]


def test_the_size_is_that_of_the_board_s_questions_or_the_largest(ran):
    results = ran(lambda _: 0.0)
    assert main_size(results) == 512
    results.trials["n_features"] = results.trials["n_features"].replace({512: 256})
    assert main_size(results) == 256
