"""The study of xRFM carries on where it stopped, and its splits, choice and losses are what it says."""

import numpy as np
import pytest

from studies.xrfm import measuring
from studies.xrfm.measuring import Trial, measured, rows, run


def test_a_run_measures_what_is_missing_and_no_more(tmp_path, monkeypatch):
    path, asked = tmp_path / "xrfm.csv", []

    def one(dataset, trial):
        asked.append((dataset, trial))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return Trial(dataset, trial, 0.25, "l1", 2.5, 1e-5, 1.0, 2.0)

    monkeypatch.setattr(measuring, "measured", one)
    monkeypatch.setattr(measuring, "TRIALS", 1)
    with pytest.raises(KeyboardInterrupt):
        run(lambda line: None, path)
    assert [(each.dataset, each.trial) for each in rows(path)] == asked[:2]
    run(lambda line: None, path)
    assert [each.dataset for each in rows(path)] == [*measuring.DATASETS]
    assert len(asked) == len(measuring.DATASETS) + 1
    assert rows(path)[0] == Trial("phoneme", 0, 0.25, "l1", 2.5, 1e-5, 1.0, 2.0)


@pytest.mark.slow
def test_it_learns_labels_and_values_to_a_small_loss(monkeypatch):
    pytest.importorskip("xrfm", reason="needs pip install xrfm, which brings PyTorch")
    monkeypatch.setattr(measuring, "GRID", [("l2", 1e-6, 1e-3), ("l2", 5.0, 1e-3)])
    monkeypatch.setattr(measuring, "CHOICE_ROWS", 400)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    values = 100 + 7 * np.sin(X[:, 0])
    for y, task, most in (
        (values, "regression", 0.2 * values.var()),
        (np.where(X[:, 0] > 0, "b", "a"), "classification", 0.1),
    ):
        split = type(
            "Split", (), {"X_train": X[:500], "X_test": X[500:], "y_train": y[:500], "y_test": y[500:], "task": task}
        )
        monkeypatch.setattr(measuring.rffbench, "train_test", lambda *_, split=split, **__: split, raising=False)
        found = measured("made", 0)
        assert found.bandwidth == 5.0  # by held-out rows: with the other no two rows are alike
        assert found.loss < most
