"""What studies.landmarks reads from trials."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from studies.landmarks.facts import Measured, crossing

LOG_SIZES = np.log([64.0, 256.0, 1024.0])


def measured(losses, kernel_errors=()):
    """Without a folder: rows of losses, and of kernel errors with γ."""
    found = Measured.__new__(Measured)
    found.losses = pd.DataFrame(losses, columns=["dataset", "method", "n_features", "trial", "loss"])
    columns = ["dataset", "method", "n_features", "trial", "kernel_error", "gamma"]
    found.results = SimpleNamespace(config={"datasets": ["eeg"]}, trials=pd.DataFrame(kernel_errors, columns=columns))
    return found


def test_a_curve_is_crossed_where_it_comes_down_to_the_loss():
    curve = np.array([0.4, 0.2, 0.1])
    assert crossing(LOG_SIZES, curve, 0.2) == pytest.approx(np.log(256))
    assert crossing(LOG_SIZES, curve, 0.3) == pytest.approx(np.log(128))
    assert np.isnan(crossing(LOG_SIZES, curve, 0.05))
    assert np.isnan(crossing(LOG_SIZES, curve, 0.5))


def test_a_chosen_landmark_is_worth_as_many_uniform_ones_as_reach_its_loss():
    uniform = [("eeg", "uniform", size, 0, loss) for size, loss in ((64, 0.4), (256, 0.2), (1024, 0.1))]
    rows = [*uniform, ("eeg", "twice", 64, 0, 0.3), ("eeg", "twice", 1024, 0, 0.05)]
    assert measured(rows).worth(64, "twice") == ({"eeg": pytest.approx(2.0)}, 0)
    assert measured(rows).worth(1024, "twice") == ({}, 1)


def test_kernel_errors_are_compared_at_one_bandwidth_alone():
    rows = [("eeg", "uniform", 64, trial, 0.2, 1.0) for trial in (0, 1)]
    rows += [("eeg", "greedy", 64, 0, 0.1, 1.0), ("eeg", "greedy", 64, 1, 0.1, 2.0)]
    ((name, ratios),) = measured([], rows).kernel_ratios(64, "greedy").items()
    assert (name, np.exp(ratios).tolist()) == ("eeg", [pytest.approx(0.5)])
    assert measured([], rows).kernel_ratios(64, "k-means") == {}
