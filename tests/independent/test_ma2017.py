"""Ma and Belkin on MNIST, by NumPy and BLAS: the error of ridge on 4,096 random features, solved directly."""

import gzip

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from tests.helpers.recomputed import measured, mirror

COLUMNS, SIGMA, PENALTY, ROWS = 4096, 5.0, 1e-8, 4000


def images(part: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels over 255, (n, 784), and the digits, of IDX files: 16 and 8 bytes before the numbers."""
    with gzip.open(mirror() / "mnist" / f"{part}-images-idx3-ubyte.gz") as pixels:
        X = np.frombuffer(pixels.read(), np.uint8, offset=16).reshape(-1, 784) / np.float32(255)
    with gzip.open(mirror() / "mnist" / f"{part}-labels-idx1-ubyte.gz") as digits:
        return X, np.frombuffer(digits.read(), np.uint8, offset=8)


@pytest.mark.slow
@pytest.mark.data
def test_the_error_of_4096_random_features():
    ours = 100 - measured("ma2017-eigenpro", method="RFF")["accuracy"].mean()
    (X, digits), (X_test, digits_test) = images("train"), images("t10k")
    W = np.random.default_rng(2017).normal(0, 1 / SIGMA, (784, COLUMNS // 2)).astype(np.float32)

    def features(rows: np.ndarray) -> np.ndarray:
        P = rows @ W
        return np.hstack([np.cos(P), np.sin(P)]) / np.sqrt(np.float32(COLUMNS // 2))

    targets, gram, right = 2 * np.eye(10)[digits] - 1, np.zeros((COLUMNS, COLUMNS), order="F"), np.zeros((COLUMNS, 10))
    for first in range(0, len(X), ROWS):
        Z = features(X[first : first + ROWS]).astype(float)
        gram = dsyrk(1, Z.T, beta=1, c=gram, overwrite_c=True, lower=True)
        right += Z.T @ targets[first : first + ROWS]
    gram[np.diag_indices(COLUMNS)] += len(X) * PENALTY
    scores = features(X_test) @ cho_solve(cho_factor(gram, lower=True), right)
    error = 100 * np.mean(scores.argmax(axis=1) != digits_test)
    # Of 10,000 rows, other maps change some 20 of those 200 that are wrong.
    assert error == pytest.approx(ours, abs=0.3)
