"""Promises of the statistics over all datasets: tests, effect sizes, ranks, the critical-difference diagram."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import image
from scipy import stats

from rffbench import report
from rffbench.report.figures import critical_difference
from rffbench.report.figures.critical_difference import draw_critical_difference
from rffbench.report.statistics import ALL, compute_statistics, significance_matrix
from rffbench.stats.intervals import holm, mean_interval, paired_p_value, welch_interval
from tests.helpers import report_log as log
from tests.helpers import tables

METHODS = ("A", "B", "C")
RNG = np.random.default_rng(0)
# score[dataset, size, method, trial]; B is better than A by about one point everywhere, C like A.
SCORES = 70 + RNG.normal(0, 3, (4, 3, 1, 5)) + np.array([0.0, 1.0, 0.0])[:, None] + RNG.normal(0, 0.3, (4, 3, 3, 5))

FIVE = np.concatenate([SCORES, SCORES[:1] - 5])  # datasets


def results(scores=SCORES, metric="accuracy", drop=lambda *_: False, folder=None):
    names = [f"set{i}" for i in range(len(scores))]
    rows = [
        (names[i], 10 * (j + 1), METHODS[k], t, {metric: scores[i, j, k, t]})
        for i, j, k, t in np.ndindex(scores.shape)
        if not drop(i, j, k, t)
    ]
    config = log.config(datasets=names, methods={method: {} for method in METHODS[: scores.shape[2]]})
    return log.results(rows, config, *([folder] if folder else []))


def row(statistics, method, baseline, dataset=ALL):
    (found,) = statistics.pairs[
        (statistics.pairs["dataset"] == dataset)
        & (statistics.pairs["method"] == method)
        & (statistics.pairs["baseline"] == baseline)
    ].to_dict("records")
    return found


def test_over_all_datasets_it_is_wilcoxons_test_over_cells():
    statistics = compute_statistics(results())
    cells = SCORES.mean(axis=3).reshape(-1, 3)
    found = row(statistics, "A", "B")
    assert found["pairs"] == statistics.cells == 12
    assert found["p"] == pytest.approx(stats.wilcoxon(cells[:, 0], cells[:, 1]).pvalue)
    of_all = statistics.pairs[statistics.pairs["dataset"] == ALL]
    assert of_all["p_holm"].tolist() == pytest.approx(holm(of_all["p"]))


def test_on_a_dataset_it_is_a_paired_t_test_over_trials_of_all_its_sizes():
    found = row(compute_statistics(results()), "A", "B", "set2")
    trials = SCORES[2].mean(axis=0)
    assert found["p"] == pytest.approx(stats.ttest_rel(trials[0], trials[1]).pvalue)
    assert found["pairs"] == 5


def test_the_effect_size_is_the_mean_difference_in_standard_deviations_with_students_interval():
    found = row(compute_statistics(results()), "A", "B")
    gains = (SCORES[:, :, 0] - SCORES[:, :, 1]).mean(axis=2).ravel()
    assert found["difference"] == pytest.approx(gains.mean())
    assert found["effect_size"] == pytest.approx(gains.mean() / gains.std(ddof=1))
    interval = stats.ttest_1samp(gains, 0).confidence_interval()
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high))


def test_ranks_and_friedmans_test_are_over_the_same_cells():
    statistics = compute_statistics(results())
    cells = SCORES.mean(axis=3).reshape(-1, 3)
    ranks = stats.rankdata(-cells, axis=1).mean(axis=0)
    assert statistics.ranks.to_dict() == pytest.approx(dict(zip(METHODS, ranks, strict=True)))
    assert statistics.ranks.index[0] == "B"
    expected = stats.friedmanchisquare(*cells.T)
    assert statistics.friedman == pytest.approx((expected.statistic, expected.pvalue))


def test_of_an_error_less_is_better_and_counted_in_percent():
    errors = np.ones((2, 3, 2, 2))
    errors[:, :, 1] = 0.8
    statistics = compute_statistics(results(errors, "rmse"))
    assert row(statistics, "A", "B")["difference"] == pytest.approx(100 * (0.8 - 1) / 0.8)
    assert statistics.ranks.index[0] == "B"


def test_only_cells_that_all_methods_have_count_and_the_others_are_told():
    statistics = compute_statistics(results(drop=lambda i, j, k, t: (i, j, k) == (0, 0, 2)))
    assert (statistics.cells, statistics.left_out) == (11, 1)
    assert "1 cells that not all methods have are left out." in statistics.table().notes


def test_a_size_with_fewer_trials_does_not_cost_the_others_theirs():
    statistics = compute_statistics(results(drop=lambda i, j, k, t: j == 2 and t > 0))
    assert row(statistics, "A", "B", "set0")["pairs"] == 5


def test_the_largest_group_with_common_cells_is_compared_wherever_it_stands():
    """A has the sizes 10, B and C the others."""
    found = compute_statistics(results(drop=lambda i, j, k, t: (k == 0) != (j == 0)))
    assert found.apart == ("A",)
    assert set(found.ranks.index) == {"B", "C"}


def test_a_trial_s_gain_is_the_mean_over_the_sizes_that_it_has():
    """Trial 0 has one size, the others three; the differences are those of a plain loop."""
    found = compute_statistics(results(SCORES[:1], drop=lambda i, j, k, t: t == 0 and j > 0))
    gains = [SCORES[0, : 1 if t == 0 else 3, 0, t] - SCORES[0, : 1 if t == 0 else 3, 1, t] for t in range(5)]
    means = [float(np.mean(each)) for each in gains]
    one = row(found, "A", "B", "set0")
    assert one["difference"] == pytest.approx(np.mean(means))
    assert one["p"] == pytest.approx(stats.ttest_1samp(means, 0).pvalue)


def test_methods_that_never_differ_are_not_told_apart():
    statistics = compute_statistics(results(np.full((2, 2, 3, 2), 55.0)))
    assert row(statistics, "A", "B")["p"] == 1.0
    assert math.isnan(row(statistics, "A", "B")["effect_size"])
    assert statistics.friedman is None
    assert (significance_matrix(statistics) == 1).all(axis=None)


def test_a_single_cell_or_trial_has_a_difference_and_no_test():
    statistics = compute_statistics(results(SCORES[:1, :1, :, :1]))
    for dataset in (ALL, "set0"):
        found = row(statistics, "A", "B", dataset)
        assert math.isnan(found["p"])
        assert math.isnan(found["p_holm"])
        assert found["difference"] == pytest.approx(SCORES[0, 0, 0, 0] - SCORES[0, 0, 1, 0])
    assert "–" in statistics.table().rows[0]


def test_without_two_methods_that_share_a_cell_there_are_no_statistics():
    assert compute_statistics(results(SCORES[:, :, :1])) is None
    assert compute_statistics(results(drop=lambda i, j, k, t: j == k)) is None


def test_a_method_of_sizes_of_its_own_is_left_out_and_named_and_the_others_are_compared():
    own = compute_statistics(results(drop=lambda i, j, k, t: (j == 2) != (METHODS[k] == "C")))
    without = compute_statistics(results(SCORES[:, :2, :2]))
    pd.testing.assert_frame_equal(own.pairs, without.pairs)
    assert (own.cells, own.left_out, own.apart) == (without.cells, 0, ("C",))
    assert "Left out, for want of a cell in common with the others: C." in own.table().notes


def test_the_interval_of_a_single_value_is_everything():
    assert mean_interval(results().trials["accuracy"].head(1)) == (-math.inf, math.inf)


def test_the_critical_difference_diagram_names_every_method_and_joins_those_not_told_apart(tmp_path):
    statistics = compute_statistics(results(FIVE))
    assert significance_matrix(statistics).loc["A", "C"] > 0.05 > significance_matrix(statistics).loc["A", "B"]
    (path,) = draw_critical_difference(statistics, tmp_path)
    first = path.read_bytes()
    assert image.imread(path).std() > 0.05
    draw_critical_difference(statistics, tmp_path)
    assert path.read_bytes() == first


def test_joined_are_methods_of_which_no_two_are_told_apart(monkeypatch):
    p = pd.DataFrame([[1.0, 0.4, 0.01], [0.4, 1.0, 0.4], [0.01, 0.4, 1.0]], list("ABC"), list("ABC"))
    monkeypatch.setattr(critical_difference, "significance_matrix", lambda statistics: p)
    assert critical_difference.joined(list("ABC"), None) == [(0, 1), (1, 2)]


def test_the_diagram_has_the_room_that_the_names_of_each_side_need(tmp_path, monkeypatch):
    statistics = compute_statistics(results(FIVE))
    long = {statistics.ranks.index[-1]: "a method of many words"}  # the worst: it stands to the right
    statistics = replace(statistics, pairs=statistics.pairs.replace(long), ranks=statistics.ranks.rename(long))
    figures = []
    monkeypatch.setattr(critical_difference, "saved", lambda figure, *_: figures.append(figure) or [])
    draw_critical_difference(statistics, tmp_path)
    (figure,) = figures
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert all(figure.bbox.containsx(x) for text in axes.texts for x in text.get_window_extent().intervalx)
    assert axes.get_position().x0 < (1 - axes.get_position().x1) / 2


@pytest.mark.parametrize("scores", [FIVE[:, :, :2], FIVE[:4]], ids=["two methods", "four datasets"])
def test_so_few_need_no_diagram(scores, tmp_path):
    assert draw_critical_difference(compute_statistics(results(scores)), tmp_path) == []


# ---- The fewest numbers that an interval or a test can be made of ------------------------------------------


def test_two_values_have_an_interval_and_one_has_none():
    low, high = mean_interval(pd.Series([1.0, 3.0]))
    assert (low, high) == pytest.approx((2 - stats.t.ppf(0.975, 1), 2 + stats.t.ppf(0.975, 1)))
    assert mean_interval(pd.Series([1.0])) == (-np.inf, np.inf)


def test_two_pairs_are_a_test_and_one_is_none():
    candidate, baseline = pd.Series([2.0, 3.1]), pd.Series([1.0, 2.0])
    assert paired_p_value(candidate, baseline, "greater") == pytest.approx(stats.t.sf(21, 1))
    assert np.isnan(paired_p_value(candidate[:1], baseline[:1], "greater"))


def test_welch_s_interval_needs_two_of_each_and_their_spread():
    half = stats.t.ppf(0.975, 2) * np.sqrt(2.0)  # of two samples of two, both of variance 2: two degrees of freedom
    assert welch_interval(5.0, np.sqrt(2), 2, 3.0, np.sqrt(2), 2) == pytest.approx((2 - half, 2 + half))
    for n, other_n, std in ((1, 2, 1.0), (2, 1, 1.0), (2, 2, np.nan), (1, 1, np.nan), (2, 2, np.inf)):
        assert np.isnan(welch_interval(5.0, std, n, 3.0, 1.0, other_n)).all()
        assert np.isnan(welch_interval(5.0, 1.0, n, 3.0, std, other_n)).all()


def test_they_need_no_reference(tmp_path):
    rows = [
        log.ok(log.spec(method=method, multiple=multiple, trial=trial), RNG.normal(70, 1))
        for method in ("RFF", "QMC", "surrogate-RFF")
        for multiple in (1, 2)
        for trial in range(3)
    ]
    folder = log.write(tmp_path / "run", log.config(n_features=["1d", "2d"]), rows)
    statistics = report.compare_methods(folder)
    assert statistics.friedman is not None
    assert [path.name for path in report.write_statistics(statistics, folder)] == [
        "statistics.csv",
        "statistics.md",
    ]  # one dataset: no diagram
    alone = log.write(tmp_path / "alone", log.config(), rows[:3])
    assert report.compare_methods(alone) is None
    assert report.write_statistics(None, alone) == []


def test_statistics_of_earlier_rows_are_made_anew_or_removed(tmp_path):
    folder = log.write(tmp_path / "x", log.config(), _two_methods(70.0))
    report.write_statistics(report.compare_methods(folder), folder)
    before = (folder / "statistics.md").read_text()
    log.write(folder, log.config(), _two_methods(60.0))  # QMC was edited, and measured anew
    report.redraw(folder)
    assert (folder / "statistics.md").read_text() != before
    log.write(folder, log.config(), _two_methods(60.0)[:3])
    report.redraw(folder)
    assert not (folder / "statistics.md").exists()
    assert not (folder / "statistics.csv").exists()


def _two_methods(of_b):
    scores = {"RFF": 80.0, "QMC": of_b}
    return [log.ok(log.spec(trial=t, method=name), score + t) for name, score in scores.items() for t in range(3)]


def test_the_sentence_names_who_ranks_first_and_only_what_it_is_shown_to_beat(tmp_path):
    steps = np.arange(12)
    scores = {"RFF": 70 + steps % 3, "QMC": 70.2 + (steps + 1) % 3, "surrogate-RFF": 76 + 0.1 * steps}
    rows = [
        log.ok(log.spec(method=method, trial=trial, n_features=14 + size, multiple=None), float(value))
        for method, values in scores.items()
        for size, value in enumerate(values)
        for trial in (0, 1)
    ]
    said = compute_statistics(
        tables.loaded(tmp_path, rows, n_features=[14 + int(size) for size in steps], trials=2)
    ).sentence()
    assert said.startswith("surrogate-RFF ranks first. It is shown to be better than ")
    assert {"RFF", "QMC"} <= set(said.removesuffix(".").replace(",", "").split())
