"""Promises of the numbers that others released: every row is a cell of the shipped config, or says why it is not; one
number of each source is recomputed by a plain script that has nothing of the package but the parsed data."""

import math

import numpy as np
import pandas as pd
import pytest

from rffbench import data
from rffbench.config.grid import Grid
from rffbench.config.loading import load_experiment
from rffbench.errors import DataUnavailable
from rffbench.papers import FOLDER, hyperparameters, load_reference
from rffbench.report.claims import paper_name

SOURCES = {"lin2023": "lin2023-rmse", "munkhoeva2018": "munkhoeva2018-errors", "buchel2024": "buchel2024-ridge"}


@pytest.mark.parametrize(("config", "reference"), SOURCES.items())
def test_every_released_row_is_a_cell_of_the_config_or_says_why_it_is_not(config, reference):
    grid = Grid(load_experiment(config).to_dict())
    released = load_reference(reference)
    here = {released.datasets[dataset]: dataset for dataset in grid.datasets}
    for row in released.numbers().query("absent == ''").to_dict("records"):
        if (dataset := here.get(row["paper_dataset"])) is None:
            continue  # beyond the config's budget: not measured
        (label,) = (each for each in grid.methods_on(dataset) if paper_name(each) == row["method"])
        if not pd.isna(row["n_features"]):
            assert row["n_features"] in grid.sizes_by_number(dataset, label), row


def arrays(name):
    try:
        found = data.load(name)
    except DataUnavailable as reason:
        pytest.skip(str(reason))
    return np.asarray(found.X, float), np.asarray(found.y, float), found.folds


def test_munkhoeva_powerplant_gaussian_g_at_ten_projections():
    """550 + 550 rows of the first 8,500, columns standardised on all, over the largest number; γ = 1/4; pairs."""
    X, _, _ = arrays("powerplant")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X = X[:8500] / X[:8500].max()
    rng = np.random.default_rng(0)
    A, B = X[rng.choice(8500, 550, replace=False)], X[rng.choice(8500, 550, replace=False)]
    K = np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 4)
    errors = []
    for _ in range(60):
        W = rng.standard_normal((10, 4)) * math.sqrt(2 / 4)
        P, Q = A @ W.T, B @ W.T
        estimate = (np.cos(P) @ np.cos(Q).T + np.sin(P) @ np.sin(Q).T) / 10
        errors.append(np.linalg.norm(estimate - K) / np.linalg.norm(K))
    table = pd.read_csv(FOLDER / "munkhoeva2018_errors.csv")
    row = table.query("dataset == 'Powerplant' and kernel == 'gaussian' and method == 'G' and n == 1").iloc[0]
    assert abs(np.mean(errors) - row.error_mean) < 3 * row.error_std * math.sqrt(1 / 60 + 1 / 500)


def test_buchel_magic_rbf_rff_kernel_error_and_accuracy():
    """Columns standardised on all rows, half to train, 38 frequencies within 3 deviations, ridge with 0.5 on 0/1."""
    X, y, _ = arrays("magic04")
    X, y = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), (y > 0).astype(float)
    errors, shares = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        order, half = rng.permutation(len(X)), len(X) // 2
        W = rng.standard_normal((10, 38))
        while (far := np.abs(W) > 3).any():
            W[far] = rng.standard_normal(far.sum())
        P = X @ W * math.sqrt(0.1)
        Z = np.hstack([np.cos(P), np.sin(P)]) / math.sqrt(38)
        T = Z[order[half : half + 1000]]
        squares = ((X[order[half : half + 1000], None] - X[None, order[half : half + 1000]]) ** 2).sum(axis=2)
        K = np.exp(-0.05 * squares)
        errors.append(np.linalg.norm(T @ T.T - K) / np.linalg.norm(K))
        A = np.hstack([Z, np.ones((len(Z), 1))])
        train, test = A[order[:half]], A[order[half:]]
        w = np.linalg.solve(train.T @ train + 0.5 * np.eye(A.shape[1]), train.T @ y[order[:half]])
        shares.append(((test @ w > 0.5) == y[order[half:]]).mean())
    table = pd.read_csv(FOLDER / "buchel2024_ridge.csv")
    row = table.query("dataset == 'magic' and precision == 'fp' and method == 'rff' and kernel == 'rbf'").iloc[1]
    assert row.n_features == 38
    assert abs(np.mean(errors) - row.error_mean) < 3 * row.error_std * math.sqrt(1 / 4 + 1 / 10)
    assert abs(np.mean(shares) - row.accuracy_mean) < 3 * row.accuracy_std * math.sqrt(1 / 4 + 1 / 10)


@pytest.mark.slow
def test_lin_elevators_exact_solution_of_fold_0():
    """Matérn-3/2 with the released scales; a Cholesky factor, float64, on 14,939 rows."""
    from scipy.linalg import cho_factor, cho_solve

    X, y, folds = arrays("elevators-gp")
    test = folds == 0
    mean, std = X[~test].mean(axis=0), X[~test].std(axis=0)
    target = (y - y[~test].mean()) / y[~test].std()
    row = pd.read_csv(FOLDER / "lin2023_hyperparameters.csv").query("dataset == 'elevators' and split == 0").iloc[0]
    X = (X - mean) / np.where(std > 0, std, 1) / np.array(row.length_scales.split(), float)

    def covariance(A, B):
        squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None] - 2 * A @ B.T
        r = np.sqrt(3 * np.maximum(squares, 1e-10))
        return row.signal_scale**2 * (1 + r) * np.exp(-r)

    K = covariance(X[~test], X[~test])
    K.flat[:: len(K) + 1] += row.noise_scale**2
    weights = cho_solve(cho_factor(K, lower=True, overwrite_a=True), target[~test])
    found = math.sqrt(np.mean((covariance(X[test], X[~test]) @ weights - target[test]) ** 2))
    released = (
        pd.read_csv(FOLDER / "lin2023_rmse.csv").query("dataset == 'elevators' and method == 'precondcg'").iloc[0]
    )
    assert found == pytest.approx(released.rmse, rel=0.001)


def test_the_scales_of_a_table_are_lengths_and_lambda():
    found = hyperparameters.fitted("lin2023-hyperparameters", "pol-gp", 0, 26)
    assert found.lengths[:2] == (0.52524596, 0.6186301)
    assert found.lambda_ == pytest.approx((0.03674088791012764 / 0.40082889795303345) ** 2)
