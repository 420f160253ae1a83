"""The ways in which fits of ridge regression are planned."""

from unittest.mock import Mock

import pytest

from rffbench.solvers.ridge import streaming


@pytest.fixture
def planning(monkeypatch):
    """Plans as ever, and keeps each: the last one is ``planning.last``; its size is ``planning.size``."""

    class Planning:
        planned = staticmethod(streaming.streaming_plan)

        def __call__(self, size, *arguments, **settings):
            self.size, self.last = size, self.planned(size, *arguments, **settings)
            return self.last

    planning = Planning()
    monkeypatch.setattr(streaming, "streaming_plan", planning)
    return planning


@pytest.fixture
def unmixed(monkeypatch):
    """Counts the fits whose sums are of a map's columns before they are mixed."""
    counted = Mock(wraps=streaming.Unmixed)
    monkeypatch.setattr(streaming, "Unmixed", counted)
    return counted
