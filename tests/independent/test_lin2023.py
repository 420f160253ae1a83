"""Lin et al. with given hyperparameters, by NumPy and SciPy alone: the exact solution from a Cholesky factor."""

import gzip
import math

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from tests.helpers.recomputed import measured, mirror, released


def fold(dataset: str, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, target and whether a row is of the test part, of the files of the Gaussian processes' benchmark."""
    with (
        gzip.open(mirror() / dataset / "data.csv.gz", "rt") as numbers,
        gzip.open(mirror() / dataset / "test_mask.csv.gz", "rt") as masks,
    ):
        table, mask = np.loadtxt(numbers, delimiter=","), np.loadtxt(masks, delimiter=",")
    return table[:, :-1], table[:, -1], mask[:, number] == 1


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("dataset", ["pol", "elevators"])
def test_the_exact_solution_of_fold_0(dataset):
    """Matérn-3/2 with the released scales, float64; the release is by conjugate gradients, so its error is near it."""
    X, y, test = fold(dataset, 0)
    scales = released("lin2023_hyperparameters.csv", dataset=dataset, split="0")
    signal, noise = float(scales["signal_scale"]), float(scales["noise_scale"])
    std = X[~test].std(axis=0)
    X = (X - X[~test].mean(axis=0)) / np.where(std > 0, std, 1) / np.array(scales["length_scales"].split(), float)
    y = (y - y[~test].mean()) / y[~test].std()

    def covariance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
        r = np.sqrt(3 * np.maximum(squares, 0))
        return signal**2 * (1 + r) * np.exp(-r)

    K = covariance(X[~test], X[~test])
    K.flat[:: len(K) + 1] += noise**2
    weights = cho_solve(cho_factor(K, lower=True, overwrite_a=True), y[~test])
    found = math.sqrt(np.mean((covariance(X[test], X[~test]) @ weights - y[test]) ** 2))
    ours = measured("lin2023", dataset=f"{dataset}-gp", method="exact", trial=0)["rmse"]
    assert ours == pytest.approx(found, rel=1e-6)
    for solver in ("cg", "precondcg"):
        theirs = released("lin2023_rmse.csv", dataset=dataset, method=solver, split="0")
        assert float(theirs["rmse"]) == pytest.approx(found, rel=0.015), solver
