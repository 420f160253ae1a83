"""Any grid gives each trial the scores that it has alone, in any order."""

import random

import pytest

from tests.helpers.random_grids import different_alone, drawn

CONFIGS, AT_ONCE, QUICK = 200, 20, 2


@pytest.fixture(autouse=True)
def _no_network(embedded, one_thread):
    """Embedded and generated data; many small matrices."""


def check(numbers, folder):
    for number in numbers:
        dice = random.Random(number)
        experiment = drawn(dice)
        assert [*different_alone(experiment, dice, folder / str(number))] == [], f"config {number}"


@pytest.mark.slow
def test_a_trial_has_the_scores_that_it_has_alone(tmp_path):
    check(range(QUICK), tmp_path)


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(start, marks=pytest.mark.slow if start == QUICK else pytest.mark.long)
        for start in range(QUICK, CONFIGS, AT_ONCE)
    ],
)
def test_a_trial_has_the_scores_that_it_has_alone_in_two_hundred_grids(start, tmp_path):
    check(range(start, min(start + AT_ONCE, CONFIGS)), tmp_path)
