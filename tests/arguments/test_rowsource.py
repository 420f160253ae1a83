"""Promises of the stopwatch."""

from types import SimpleNamespace

import numpy as np
import pytest

from rffbench.arguments import rowsource
from rffbench.arguments.rowsource import Stopwatch


@pytest.fixture
def clock(monkeypatch):
    """A wall clock that goes on when told to."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(rowsource, "perf_counter", lambda: clock.now)
    return clock


def test_a_stopwatch_counts_the_seconds_of_its_blocks_less_those_that_rows_were_waited_for(clock):
    X = SimpleNamespace(seconds=7.0)
    watch = Stopwatch(X)
    for _ in range(2):
        with watch:
            clock.now += 5.0
            X.seconds += 2.0
        clock.now += 50.0  # between blocks nothing counts
        X.seconds += 20.0
    assert watch.seconds == 6.0


@pytest.mark.parametrize("X", [None, np.zeros((3, 2))])
def test_of_rows_that_are_there_every_second_counts(clock, X):
    with Stopwatch(X) as watch:
        clock.now += 5.0
    assert watch.seconds == 5.0
