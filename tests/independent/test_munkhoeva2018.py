"""Munkhoeva et al., by NumPy alone: the kernel error of Gaussian random Fourier features on powerplant."""

import math

import numpy as np
import pytest

from tests.helpers.recomputed import measured, mirror, released

pytestmark = [pytest.mark.slow, pytest.mark.data]

DRAWS = 60


def test_powerplant_gaussian_g_at_ten_projections():
    """550 and 550 rows of the first 8,500, columns standardised on all, over the largest number; γ = 1/4; pairs."""
    X = np.loadtxt(mirror() / "powerplant" / "Folds5x2_pp.csv", delimiter=",", skiprows=1)[:, :4]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X = X[:8500] / X[:8500].max()
    rng = np.random.default_rng(0)
    A, B = X[rng.choice(8500, 550, replace=False)], X[rng.choice(8500, 550, replace=False)]
    K = np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 4)
    errors = []
    for _ in range(DRAWS):
        W = rng.standard_normal((10, 4)) * math.sqrt(2 / 4)
        P, Q = A @ W.T, B @ W.T
        estimate = (np.cos(P) @ np.cos(Q).T + np.sin(P) @ np.sin(Q).T) / 10
        errors.append(np.linalg.norm(estimate - K) / np.linalg.norm(K))
    theirs = released("munkhoeva2018_errors.csv", dataset="Powerplant", kernel="gaussian", method="G", n="1")
    ours = measured("munkhoeva2018", dataset="powerplant", method="G gaussian", n_features=10)["cross_error"]
    std, runs = float(theirs["error_std"]), int(theirs["runs"])
    assert abs(np.mean(errors) - float(theirs["error_mean"])) < 3 * std * math.sqrt(1 / DRAWS + 1 / runs)
    assert abs(np.mean(errors) - ours.mean()) < 3 * std * math.sqrt(1 / DRAWS + 1 / len(ours))
