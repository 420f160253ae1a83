"""Büchel et al., by NumPy alone: ridge on random Fourier features of magic04, and their kernel error."""

import csv
import math

import numpy as np
import pytest

from tests.helpers.recomputed import measured, mirror, released

SEEDS = 4


@pytest.mark.data
def test_magic_rbf_rff_kernel_error_and_accuracy():
    """Columns standardised on all rows, half to train, 38 frequencies within 3 deviations, ridge with 0.5 on 0/1."""
    with open(mirror() / "magic04" / "magic04.data", encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.reader(lines) if row]
    X, y = np.array([row[:10] for row in rows], float), np.array([float(row[10] == "g") for row in rows])
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    errors, accuracies = [], []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        order, half = rng.permutation(len(X)), len(X) // 2
        W = rng.standard_normal((10, 38))
        while (far := np.abs(W) > 3).any():
            W[far] = rng.standard_normal(far.sum())
        P = X @ W * math.sqrt(0.1)
        Z = np.hstack([np.cos(P), np.sin(P)]) / math.sqrt(38)
        sample = order[half : half + 1000]
        K = np.exp(-0.05 * ((X[sample, None] - X[None, sample]) ** 2).sum(axis=2))
        errors.append(np.linalg.norm(Z[sample] @ Z[sample].T - K) / np.linalg.norm(K))
        A = np.hstack([Z, np.ones((len(Z), 1))])
        train, test = A[order[:half]], A[order[half:]]
        w = np.linalg.solve(train.T @ train + 0.5 * np.eye(A.shape[1]), train.T @ y[order[:half]])
        accuracies.append(100 * ((test @ w > 0.5) == y[order[half:]]).mean())
    theirs = released(
        "buchel2024_ridge.csv", dataset="magic", precision="fp", method="rff", kernel="rbf", n_features="38"
    )
    ours = measured("buchel2024", dataset="magic04", method="rff rbf", n_features=38)
    for found, name, metric, unit in [
        (errors, "error", "frobenius_error", 1),
        (accuracies, "accuracy", "accuracy", 100),
    ]:
        std, runs, trials = unit * float(theirs[f"{name}_std"]), int(theirs["runs"]), len(ours[metric])
        assert abs(np.mean(found) - unit * float(theirs[f"{name}_mean"])) < 3 * std * math.sqrt(1 / SEEDS + 1 / runs)
        assert abs(np.mean(found) - ours[metric].mean()) < 3 * std * math.sqrt(1 / SEEDS + 1 / trials)
