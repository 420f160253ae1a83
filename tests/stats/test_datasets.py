"""The board's statistics against brute force and simulated truth."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from rffbench.stats import datasets as board
from rffbench.stats.datasets import bootstrap, calibration, groups_of, noise, signed_rank
from rffbench.stats.summary import summaries


def test_the_signed_rank_posterior_is_that_of_plain_loops():
    gains, region, draws = [0.03, -0.004, 0.02, 0.05, -0.03], 0.01, 400
    z = [*gains, 0.0]
    rng = board.generator(board.stream("signed rank", 3), "weights")
    wins = {"better": 0, "same": 0, "worse": 0}
    for weights in rng.dirichlet([1, 1, 1, 1, 1, board.PRIOR], draws):
        theta = dict.fromkeys(wins, 0.0)
        for i, j in itertools.product(range(6), repeat=2):
            mean = (z[i] + z[j]) / 2
            where = "better" if mean > region else "worse" if mean < -region else "same"
            theta[where] += weights[i] * weights[j]
        wins[max(theta, key=theta.get)] += 1
    found = signed_rank(gains, region, draws, seed=3)
    assert (found.better, found.same, found.worse) == tuple(wins[name] / draws for name in ("better", "same", "worse"))


def test_better_and_worse_change_places_with_the_sign():
    gains = np.random.default_rng(0).normal(0.01, 0.03, 28)
    one, other = signed_rank(gains), signed_rank(-gains)
    assert one.better == pytest.approx(other.worse, abs=0.02)
    assert one.same == pytest.approx(other.same, abs=0.02)


@pytest.mark.parametrize(("gain", "verdict"), [(0.05, "better"), (0.0, "same"), (-0.05, "worse"), (0.01, "undecided")])
def test_the_verdict_is_that_of_the_planted_gain(gain, verdict):
    gains = np.random.default_rng(1).normal(gain, 0.004, 28)
    assert signed_rank(gains).verdict == verdict


def test_datasets_without_a_gain_are_left_out():
    gains = [0.02, 0.03, np.nan, 0.05]
    assert signed_rank(gains) == signed_rank([0.02, 0.03, 0.05])
    assert np.isnan(signed_rank([np.nan]).better)


@pytest.mark.parametrize(("known", "verdict"), [(13, "undecided"), (14, "worse"), (28, "worse")])
def test_there_is_no_verdict_by_fewer_than_half_of_the_datasets(known, verdict):
    rows = pd.DataFrame({"dataset": [f"d{at}" for at in range(28)] * 2, "method": ["RFF"] * 28 + ["mine"] * 28,
                         "gain": [0.0] * 28 + [-0.05] * known + [np.nan] * (28 - known)})  # fmt: skip
    (mine,) = summaries(rows, ["mine"])
    assert mine.posterior.verdict == "worse"
    assert (mine.datasets, mine.view, mine.verdict) == (known, 28, verdict)


def test_wilcoxon_is_corrected_over_the_maps():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {"a": rng.normal(0.02, 0.02, 28), "b": rng.normal(0.01, 0.02, 28), "c": rng.normal(0, 0.02, 28)}
    )
    found = board.wilcoxon_holm(table)
    p = {name: wilcoxon(table[name]).pvalue for name in table}
    assert found["p"].to_dict() == pytest.approx(p)
    ordered = sorted(p, key=p.get)
    least, running = {}, 0.0
    for rank, name in enumerate(ordered):
        running = max(running, min(1.0, p[name] * (3 - rank)))
        least[name] = running
    assert found["p_holm"].to_dict() == pytest.approx(least)


def test_datasets_of_one_origin_are_drawn_together():
    assert groups_of(["mnist", "eeg", "usps", "ring", "twonorm"]) == [["mnist", "usps"], ["eeg"], ["ring", "twonorm"]]
    apart = {name: [value] for name, value in zip(["eeg", "bike", "protein", "pol"], [0, 0, 1, 1], strict=True)}
    together = {name: [value] for name, value in zip(["mnist", "usps", "ring", "twonorm"], [0, 0, 1, 1], strict=True)}
    medians = [set(), set()]
    for seed in range(40):
        for found, data in zip(medians, (apart, together), strict=True):
            found.add(bootstrap(data, draws=1, seed=seed)[1])
    assert medians[1] == {0.0, 0.5, 1.0}  # two groups: one of them twice, or both
    assert medians[0] == {0.0, 0.5, 1.0}
    wide, narrow = (bootstrap(data, draws=2000)[2] - bootstrap(data, draws=2000)[1] for data in (together, apart))
    assert wide >= narrow


def test_the_bootstrap_covers_the_true_median():
    """Datasets drawn from a law whose median is known, trials with noise: the interval covers it in about 95 %."""
    rng, covered, boards = np.random.default_rng(3), 0, 200
    for number in range(boards):
        truth = rng.normal(0.02, 0.02, 25)
        trials = {str(name): rng.normal(gain, 0.01, 5) for name, gain in enumerate(truth)}
        _, low, high = bootstrap(trials, draws=300, seed=number)
        covered += low <= 0.02 <= high
    assert 0.88 <= covered / boards <= 0.995


def test_the_bootstrap_s_spread_comes_from_datasets_and_from_trials():
    same = {str(name): [0.01] * 5 for name in range(10)}
    assert bootstrap(same)[1:] == pytest.approx((0.01, 0.01))
    rng = np.random.default_rng(4)
    of_trials = bootstrap({str(name): 0.01 + rng.normal(0, 0.1, 5) for name in range(10)})
    of_datasets = bootstrap({str(name): [gain] * 5 for name, gain in enumerate(rng.normal(0.01, 0.1, 10))})
    assert of_trials[2] - of_trials[1] > 0.02
    assert of_datasets[2] - of_datasets[1] > 0.05


def test_noise_is_the_standard_error_over_the_region():
    found = noise({"eeg": [0.01, 0.03], "bike": [0.02]})
    assert found["eeg"] == pytest.approx(np.std([1, 3], ddof=1) / np.sqrt(2))
    assert np.isnan(found["bike"])


def test_false_verdicts_are_rare_and_a_planted_gain_is_found():
    """A small version of studies/board/calibrate.py: noise of one region a dataset, 28 datasets."""
    noise_ = np.full(28, board.REGION)
    for truth in (0.0, board.REGION, -board.REGION):
        found = calibration(noise_, truth, simulations=60, draws=1000)
        assert found["worse" if truth > 0 else "better"] <= 0.05
    assert calibration(noise_, 0.0, simulations=60, draws=1000)["worse"] <= 0.05
    assert calibration(noise_, 2 * board.REGION, simulations=60, draws=1000)["better"] >= 0.8


@pytest.mark.parametrize("spread", [0.0, 0.01, 0.03])
def test_the_datasets_of_a_calibration_differ_by_its_spread(spread):
    """The verdicts are as frequent as those of gains drawn here, by another generator."""
    boards, gain, errors = 150, 0.015, 0.002
    rng = np.random.default_rng(5)
    drawn = [
        signed_rank(rng.normal(gain, np.hypot(spread, errors), 28), draws=1000, seed=at).verdict for at in range(boards)
    ]
    found = calibration(np.full(28, errors), gain, simulations=boards, spread=spread, draws=1000)
    for verdict in ("better", "same", "undecided"):
        share = drawn.count(verdict) / boards
        assert found[verdict] == pytest.approx(share, abs=5 * np.sqrt(max(share * (1 - share), 0.01) / boards))


def test_without_a_spread_and_noise_every_board_is_alike_and_with_a_spread_it_is_not():
    assert calibration(np.zeros(28), 0.02, simulations=20, draws=500)["better"] == 1.0
    assert calibration(np.zeros(28), 0.02, simulations=20, spread=0.2, draws=500)["better"] < 1.0


def test_a_performance_profile_is_that_of_a_case_by_hand():
    """Three maps on four datasets; the third map has no cost on two."""
    costs = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [2.0, 1.0, 3.0, 1.0], "c": [3.0, np.inf, 1.0, np.nan]})
    found = board.performance_profile(costs)
    assert found.index.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found["a"].tolist() == [0.25, 0.5, 0.75, 1.0]
    assert found["b"].tolist() == [0.5, 0.75, 1.0, 1.0]
    assert found["c"].tolist() == [0.25, 0.25, 0.5, 0.5]


def test_datasets_of_one_group_are_drawn_together():
    """All in one group: every draw has the same datasets. Trials alone, of which all are alike, leave no spread."""
    trials = {f"d{at}": [0.01 * at] * 3 for at in range(9)}
    assert bootstrap(trials, groups={"all": [*trials]}) == pytest.approx((0.04, 0.04, 0.04))
    _, low, high = bootstrap(trials)
    assert low < 0.03 < 0.05 < high
    rows = pd.DataFrame(
        [{"dataset": name, "method": "ours", "gain": each} for name, of in trials.items() for each in of]
    )
    (found,) = summaries(rows, ["ours"], groups={"all": [*trials]})
    assert (found.low, found.high) == pytest.approx((0.04, 0.04))
