"""Datasets of OpenML, with a stand-in for scikit-learn's fetcher: there is no network here."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from rffbench import data
from rffbench.config.experiment import Experiment
from rffbench.data import store, userfile
from rffbench.data.userfile import openml_card
from rffbench.errors import ConfigError, DataError, DataUnavailable

X = np.random.default_rng(0).standard_normal((20, 3))
LABELS = pd.Series(["yes", "no"] * 10, name="class", dtype="category")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """What OpenML has under every number, and how often it was asked."""
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))
    server = SimpleNamespace(X=X, target=LABELS, asked=0, fault=None)

    def fetch_openml(*, data_id, as_frame, parser, cache, data_home):
        server.asked += 1
        if server.fault:
            raise server.fault
        details = {"name": "eyes", "licence": "CC0"}
        return SimpleNamespace(data=pd.DataFrame(server.X, columns=list("abc")), target=server.target, details=details)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return server


def test_a_dataset_of_openml_is_fetched_once_and_checked_by_its_checksum(server, tmp_path):
    config = {"name": "a", "datasets": ["openml:1471"], "n_features": [2], "methods": {"RFF": {"features": "fourier"}}}
    experiment = Experiment.model_validate(config)
    assert experiment.datasets == ["openml-1471"]
    data.ensure(data.reference("openml-1471"))
    found = data.load("openml-1471")
    np.testing.assert_array_equal(found.X, X)
    assert found.y[:3].tolist() == [1, -1, 1]
    assert (found.card.title, found.card.licence) == ("eyes (OpenML 1471)", "CC0")
    assert Experiment.model_validate(config).grid()[0].key == experiment.grid()[0].key
    assert server.asked == 1

    (raw,) = (tmp_path / "cache").rglob("*.csv")
    raw.unlink()
    store.prepare(found.card, checked=True)  # the arrays are there
    with pytest.raises(DataUnavailable, match="not in the cache"):
        data.verify("openml-1471")


def test_what_was_lost_is_fetched_again_and_refused_if_it_is_another(server, tmp_path):
    card = openml_card("openml:5")
    (tmp_path / "cache" / "openml" / "openml-5.csv").unlink()
    store.prepare(card)
    assert server.asked == 2
    server.X = 2 * X
    other = openml_card("openml:6")
    (tmp_path / "cache" / "openml" / "openml-6.csv").unlink()
    server.X = X + 1
    with pytest.raises(DataError, match="openml:6: checksum is"):
        store.prepare(other)
    assert userfile.without_folders(card).files[0].urls == card.files[0].urls


def test_a_numeric_target_is_a_regressions(server):
    server.target = pd.Series([1.0, 2.0] * 10, name="count")
    assert openml_card("openml:7").task == "regression"


def test_what_cannot_be_had_or_is_no_number_is_told(server):
    server.fault = OSError("name or service not known")
    with pytest.raises(DataUnavailable, match=r"openml:7 cannot be had from OpenML \(name or service not known\)"):
        openml_card("openml:7")
    with pytest.raises(ConfigError, match="openml:eyes: an OpenML dataset is given by its number"):
        openml_card("openml:eyes")
