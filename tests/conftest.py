"""What several test files need."""

import pytest


@pytest.fixture(scope="session")
def embedded_cache(tmp_path_factory):
    """A cache folder for the data that needs no network, filled once a session."""
    return tmp_path_factory.mktemp("embedded")


@pytest.fixture
def embedded(embedded_cache, monkeypatch):
    """This process reads its data from that cache."""
    monkeypatch.setenv("RFFBENCH_CACHE", str(embedded_cache))
