"""Fixtures of the board's tests."""

from functools import cache

import pytest

from rffbench.config.loading import load_experiment
from rffbench.report.board import entry, submission


@pytest.fixture(scope="session", autouse=True)
def _shipped_configs_are_read_once():
    """The board's configs are read for every check, which takes longer than the check."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (entry, submission):
            patch.setattr(module, "load_experiment", cache(load_experiment))
        yield
