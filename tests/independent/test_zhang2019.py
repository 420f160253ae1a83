"""Zhang et al. 2019 on covtype, by NumPy alone: ridge on cosines and sines of full precision and of two bits, at the
λ that the trials chose."""

import numpy as np
import pytest

from tests.helpers.recomputed import covtype, measured

COLUMNS, GAMMA, TRAIN, TEST, SEEDS = 306, 0.6, 20_000, 50_000, 3


def rounded(Z: np.ndarray, bits: int, rng: np.random.Generator) -> np.ndarray:
    """Each number at random on one of the two of 2ᵇ levels from −√(2/D) to √(2/D) beside it, so that its mean stays."""
    limit = np.sqrt(2 / Z.shape[1])
    steps = (Z + limit) / (2 * limit) * (2**bits - 1)
    below = np.floor(steps)
    return (below + (rng.uniform(size=Z.shape) < steps - below)) / (2**bits - 1) * 2 * limit - limit


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("method", "bits"), [("FP-RFF", None), ("LP-RFF 2", 2)])
def test_306_columns_of_full_precision_and_of_two_bits(method, bits):
    X, labels = covtype()
    ours = measured("zhang2019", method=method, n_features=COLUMNS)
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng([2019, seed])
        rows = rng.permutation(len(X))[: TRAIN + TEST]
        P = X[rows] @ rng.normal(0, np.sqrt(2 * GAMMA), (54, COLUMNS // 2))
        Z = np.hstack([np.cos(P), np.sin(P)]) / np.sqrt(COLUMNS // 2)
        Z = Z if bits is None else rounded(Z, bits, rng)
        y = 2 * labels[rows] - 1
        mean = y[:TRAIN].mean()
        gram = Z[:TRAIN].T @ Z[:TRAIN] + TRAIN * np.median(ours["lambda"]) * np.eye(COLUMNS)
        weights = np.linalg.solve(gram, Z[:TRAIN].T @ (y[:TRAIN] - mean))
        found.append(100 * np.mean((Z[TRAIN:] @ weights + mean > 0) == (y[TRAIN:] > 0)))
    n = len(ours["accuracy"])
    spread = np.sqrt((np.var(found, ddof=1) + np.var(ours["accuracy"], ddof=1)) / 2)
    t = {4: 2.776, 3: 3.182, 2: 4.303}[SEEDS + n - 2]  # Student's, 95 %
    assert abs(np.mean(found) - ours["accuracy"].mean()) < t * spread * np.sqrt(1 / SEEDS + 1 / n)
