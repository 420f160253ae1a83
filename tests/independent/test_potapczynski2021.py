"""RFF on pol, by NumPy, at σ and λ of the trials: ridge on 1,000 cosines and sines, on the benchmark's own folds."""

import gzip

import numpy as np
import pytest

from tests.helpers.recomputed import measured, mirror

FREQUENCIES = 1000


@pytest.mark.slow
@pytest.mark.data
def test_the_error_on_the_first_folds_of_pol():
    folder, found = mirror() / "pol", []
    with gzip.open(folder / "data.csv.gz", "rt") as lines:
        data = np.loadtxt(lines, delimiter=",")
    with gzip.open(folder / "test_mask.csv.gz", "rt") as lines:
        folds = np.loadtxt(lines, delimiter=",").astype(bool)
    ours = measured("potapczynski2021", dataset="pol-gp", method="RFF")
    for trial, (gamma, penalty) in enumerate(zip(ours["gamma"], ours["lambda"], strict=True)):
        tested = folds[:, trial]
        mean, spread = data[~tested, :-1].mean(axis=0), data[~tested, :-1].std(axis=0)
        X, y = (data[:, :-1] - mean) / np.where(spread > 0, spread, 1), data[:, -1]
        n, centred = np.count_nonzero(~tested), y[~tested] - y[~tested].mean()
        W = np.random.default_rng(trial).normal(0, np.sqrt(2 * gamma), (X.shape[1], FREQUENCIES))
        Z = np.hstack([np.cos(X @ W), np.sin(X @ W)]) / np.sqrt(FREQUENCIES)
        gram = Z[~tested].T @ Z[~tested] + n * penalty * np.eye(2 * FREQUENCIES)
        weights = np.linalg.solve(gram, Z[~tested].T @ centred)
        errors = Z[tested] @ weights + y[~tested].mean() - y[tested]
        found.append(np.linalg.norm(errors) / np.linalg.norm(y[tested]))
    assert np.mean(found) == pytest.approx(np.mean(ours["relative_rmse"]), rel=0.03)  # draws differ by 1 %
