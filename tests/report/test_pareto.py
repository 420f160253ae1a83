"""Promises of the Pareto front: nobody on it is beaten in both, everybody else is."""

import numpy as np
import pytest

from rffbench.report.pareto import pareto_front


@pytest.mark.parametrize("better", ["greater", "less"])
def test_it_is_those_that_nothing_beats(better):
    rng = np.random.default_rng(0)
    cost, score = rng.integers(0, 12, (2, 60)).astype(float)
    sign = 1 if better == "greater" else -1
    beaten = [
        any((c <= cost[i] and sign * s >= sign * score[i]) and (c < cost[i] or s != score[i])
            for c, s in zip(cost, score, strict=True))
        for i in range(60)
    ]  # fmt: skip
    assert pareto_front(cost, score, better).tolist() == [not each for each in beaten]


def test_what_lacks_a_number_is_not_on_it_and_keeps_nobody_off():
    assert pareto_front([1, np.nan, 2], [5, 9, np.nan], "greater").tolist() == [True, False, False]


def test_equal_results_are_all_on_it():
    assert pareto_front([1, 1, 2], [5, 5, 5], "greater").tolist() == [True, True, False]
