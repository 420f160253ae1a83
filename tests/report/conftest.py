"""Fixtures of the report's tests."""

import os
from types import SimpleNamespace

import pytest

from tests.helpers.browser import CHROMIUM


@pytest.fixture
def marks(monkeypatch):
    """Cards' marks by dataset: the report's tests need no cards."""
    marks: dict[str, str] = {}
    card = lambda name: SimpleNamespace(mark=marks.get(name, ""), short="", task="classification")  # noqa: E731
    monkeypatch.setattr("rffbench.data.cards.load_card", card)
    return marks


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        options = [] if os.geteuid() else ["--no-sandbox"]  # root has no sandbox
        browser = started.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()
