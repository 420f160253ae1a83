"""Parkinson and Wang 2023 on kin40k, by NumPy alone: ridge on structured features, at the σ and λ that
the trials chose."""

import gzip

import numpy as np
import pytest

from tests.helpers.recomputed import measured, mirror

FREQUENCIES, TRAIN, ROWS = 2048, 32_000, 2000


def structured(rng: np.random.Generator, d: int, frequencies: int) -> np.ndarray:
    """W (d, frequencies) of blocks √d·HD₁HD₂HD₃, H the orthonormal Hadamard matrix of order d, rows as long
    as normal ones."""
    H = np.ones((1, 1))
    while len(H) < d:
        H = np.block([[H, H], [H, -H]])
    H /= np.sqrt(d)
    blocks = []
    for _ in range(frequencies // d):
        block = np.eye(d)
        for _ in range(3):
            block = H @ (rng.choice([-1.0, 1.0], size=d)[:, None] * block)
        blocks.append(block * np.sqrt(rng.chisquare(d, size=d))[:, None])
    return np.concatenate(blocks).T


@pytest.mark.slow
@pytest.mark.data
def test_the_error_on_kin40k_with_hyperparameters_of_2048_columns():
    with gzip.open(mirror() / "kin40k" / "kin40k.csv.gz", "rt") as lines:
        data = np.loadtxt(lines, delimiter=",")
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    order = np.random.default_rng(123).choice(len(data), len(data), replace=False)
    X, y = data[order, 1:], data[order, 0]
    ours = measured("parkinson2023", dataset="kin40k-xgpr", method="rff-sorf 2048", n_features=4096)
    rng = np.random.default_rng(2023)
    W = structured(rng, 8, FREQUENCIES) * np.sqrt(2 * ours["gamma"][0])

    def features(rows: np.ndarray) -> np.ndarray:
        P = rows @ W
        return np.hstack([np.cos(P), np.sin(P)]) / np.sqrt(FREQUENCIES)

    gram, right = np.zeros((2 * FREQUENCIES, 2 * FREQUENCIES)), np.zeros(2 * FREQUENCIES)
    mean = y[:TRAIN].mean()
    for first in range(0, TRAIN, ROWS):
        Z = features(X[first : first + ROWS])
        gram += Z.T @ Z
        right += Z.T @ (y[first : first + ROWS] - mean)
    gram[np.diag_indices(2 * FREQUENCIES)] += TRAIN * ours["lambda"][0]
    error = np.abs(features(X[TRAIN:]) @ np.linalg.solve(gram, right) + mean - y[TRAIN:]).mean()
    assert error == pytest.approx(ours["mae"][0], rel=0.03)
