"""Wacker et al. on split data, by NumPy alone: their script's loop over seeds.

At each seed it adds the test rows to the training rows that it has, and splits them. So rows repeat, a test row may be
among the training rows, and at the last of 20 seeds these are three times as many, against the same noise. Products of
3 or 7 projections on signs for the kernel (½ + xᵀx′/2)ᵖ of rows of unit length.
"""

import numpy as np
import pandas as pd
import pytest

from tests.helpers.recomputed import agree, classified, measured, mirror, released, sign_products

pytestmark = [pytest.mark.slow, pytest.mark.data]

SEEDS = 20


def housing(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, rng) -> float:
    """The mean squared error with 80 products of degree 7; noise 4."""
    return regressed(X, y, train, test, rng, degree=7, noise=4)


def naval(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, rng) -> float:
    """The mean squared error over both targets with 80 products of degree 3; noise 1/64."""
    return regressed(X, y, train, test, rng, degree=3, noise=1 / 64)


def regressed(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, rng, degree: int, noise: float
) -> float:
    """With 80 products; columns standardised, constant ones 0; the prior's variance is that of the centred targets."""
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0, ddof=1)
    targets = y[train] - y[train].mean(axis=0)
    parts = [(X[part] - mean) / np.where(np.ptp(X, axis=0) > 0, deviation, 1) for part in (train, test)]
    Z, Z_test = sign_products(parts, degree, 80, targets.var(), rng)
    weights = np.linalg.solve(Z.T @ Z / noise + np.eye(80), Z.T @ targets / noise)
    return float(np.mean((Z_test @ weights + y[train].mean(axis=0) - y[test]) ** 2))


def letter(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, rng) -> float:
    """The accuracy in % with 256 products of degree 3; columns from 0 up, α = 0.001 (Milios et al. 2018)."""
    names = np.unique(y)
    rows = [X[part] - X[train].min(axis=0) for part in (train, test)]
    found = classified(
        y[train][:, None] == names, 0.001, lambda targets: sign_products(rows, 3, 256, targets.var(), rng)
    )
    return 100 * float(np.mean(names[found] == y[test]))


def scores(process, X: np.ndarray, y: np.ndarray, seeds: int, appended: bool, loop: int = 0) -> list[float]:
    """One score a seed. Their script parts its rows before the loop, and it is the smaller part that it adds."""
    rng, found = np.random.default_rng([2022, loop]), []
    rows, tested = np.split(rng.permutation(len(y)), [int(0.9 * len(y))])
    for _ in range(seeds):
        rows = np.concatenate([rows, tested]) if appended or not found else rows
        train, test = np.split(rng.permutation(rows), [int(0.9 * len(rows))])
        found.append(process(X, y, train, test, rng))
    return found


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "letter":
        found = pd.read_csv(mirror() / "letter" / "letter-recognition.data", header=None)
        return found.iloc[:, 1:].to_numpy(float), found[0].to_numpy()
    if name == "naval":
        found = np.loadtxt(mirror() / "naval" / "data.txt.gz")
        return found[:, :16], found[:, 16:]
    found = pd.read_csv(mirror() / "housing" / "data.csv.gz", header=None).to_numpy(float)
    return found[:, :-1], found[:, -1]


@pytest.mark.parametrize(
    ("process", "loops", "experiment", "here", "cell"),
    [
        (housing, 10, "wacker2022-polynomial-7", {"dataset": "housing-gp", "n_features": 80},
         {"dataset": "Boston", "source": "poly7_approx_a2", "data": "centred", "D": "80"}),
        (naval, 1, "wacker2022-polynomial", {"dataset": "naval", "n_features": 80},
         {"dataset": "Naval", "source": "poly3_approx_a2", "data": "centred", "D": "80"}),
        (letter, 1, "wacker2022-complex-to-real", {"dataset": "letter", "n_features": 256},
         {"dataset": "Letter", "source": "poly3_approx_ctr_craft_hier", "D": "256", "craft": "0"}),
    ],
)  # fmt: skip
def test_the_released_numbers_are_those_of_rows_appended_at_every_seed(process, loops, experiment, here, cell):
    row = released("wacker2022_polynomial.csv", method="poly_sketch", projection="rademacher", weights="real", **cell)
    mean, std = float(row["test_error_mean"]), float(row["test_error_std"])
    theirs = (100 - 100 * mean, 100 * std, SEEDS) if process is letter else (mean, std, SEEDS)
    X, y = data(process.__name__)
    alone = [score for loop in range(loops) for score in scores(process, X, y, 5, appended=False, loop=loop)]
    added = [score for loop in range(loops) for score in scores(process, X, y, SEEDS, appended=True, loop=loop)]
    ours = measured(experiment, method="product signs", **here)["accuracy" if process is letter else "mse"]
    assert agree(added, ours.mean(), ours.std(ddof=1), len(ours))
    assert agree(added, *theirs)
    assert not agree(alone, *theirs)
