"""Fixtures of the report's tests."""

from types import SimpleNamespace

import pytest


@pytest.fixture
def marks(monkeypatch):
    """Cards' marks by dataset: the report's tests need no cards."""
    marks: dict[str, str] = {}
    card = lambda name: SimpleNamespace(mark=marks.get(name, ""), short="", task="classification")  # noqa: E731
    monkeypatch.setattr("rffbench.data.cards.load_card", card)
    return marks
