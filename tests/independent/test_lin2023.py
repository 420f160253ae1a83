"""Lin et al. with given hyperparameters, by NumPy and SciPy alone: the exact solution from a Cholesky factor."""

import gzip
import math
from typing import NamedTuple

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


class System(NamedTuple):
    """(K + σ²I)w = y of the training rows, K(test, training), and the test targets, scaled as in training."""

    K: np.ndarray
    y: np.ndarray
    K_test: np.ndarray
    y_test: np.ndarray

    def error(self, weights: np.ndarray) -> float:
        return math.sqrt(np.mean((self.K_test @ weights - self.y_test) ** 2))


def system(dataset: str, number: int, dtype: type = np.float64) -> System:
    """Matérn-3/2 with the released scales, computed in ``dtype``."""
    X, y, test = fold(dataset, number)
    scales = released("lin2023_hyperparameters.csv", dataset=dataset, split=str(number))
    signal, noise = float(scales["signal_scale"]), float(scales["noise_scale"])
    std = X[~test].std(axis=0)
    X = (X - X[~test].mean(axis=0)) / np.where(std > 0, std, 1) / np.array(scales["length_scales"].split(), float)
    y = ((y - y[~test].mean()) / y[~test].std()).astype(dtype)

    def covariance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        out = np.empty((len(A), len(B)), dtype)
        for start in range(0, len(A), 2000):
            rows = slice(start, start + 2000)
            squares = (A[rows] ** 2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A[rows] @ B.T
            r = np.sqrt(3 * np.maximum(squares, 0))
            out[rows] = signal**2 * (1 + r) * np.exp(-r)
        return out

    K = covariance(X[~test], X[~test])
    K.flat[:: len(K) + 1] += noise**2
    return System(K, y[~test], covariance(X[test], X[~test]), y[test])


@pytest.mark.data
@pytest.mark.parametrize(
    "dataset", [pytest.param("pol", marks=pytest.mark.slow), pytest.param("elevators", marks=pytest.mark.long)]
)
def test_the_exact_solution_of_fold_0(dataset):
    """In float64; the release is by conjugate gradients, so its error is near it."""
    equations = system(dataset, 0)
    found = equations.error(cho_solve(cho_factor(equations.K, lower=True, overwrite_a=True), equations.y))
    ours = measured("lin2023", dataset=f"{dataset}-gp", method="exact", trial=0)["rmse"]
    assert ours == pytest.approx(found, rel=1e-6)
    for solver in ("cg", "precondcg"):
        theirs = released("lin2023_rmse.csv", dataset=dataset, method=solver, split="0")
        assert float(theirs["rmse"]) == pytest.approx(found, rel=0.015), solver


@pytest.mark.long
@pytest.mark.data
def test_the_solver_of_bike_stopped_at_a_residual_of_a_hundredth():
    """Their code has ``tol = 1e-2`` and ``maxiter = 1000`` (scalable_gps/configs/default.py); no preconditioner."""
    equations = system("bike", 0, np.float32)
    weights, residual = np.zeros_like(equations.y), equations.y.copy()
    direction, square = residual.copy(), residual @ residual
    least = 1e-4 * square
    for _ in range(1000):
        product = equations.K @ direction
        step = square / (direction @ product)
        weights += step * direction
        residual -= step * product
        square, before = residual @ residual, square
        if square <= least:
            break
        direction = residual + square / before * direction
    theirs = float(released("lin2023_rmse.csv", dataset="bike", method="cg", split="0")["rmse"])
    exact = measured("lin2023", dataset="bike-gp", method="exact", trial=0)["rmse"]
    assert square <= least
    assert equations.error(weights) == pytest.approx(theirs, rel=0.01)
    assert theirs / exact > 1.02
