"""A cell of each released file, computed by plain numpy that shares no code with the package, and by the package."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.recomputed import ON_REAL_DATA, nystroem, released, ridge

ROOT = Path(__file__).parents[2]
MIRROR = Path(os.environ.get("RFFBENCH_MIRROR", "."))
LIMIT_S = 300  # of a run, as the gate has it
T95 = {2: 4.303, 3: 3.182, 13: 2.160, 23: 2.069}  # Student's, by degrees of freedom

pytestmark = ON_REAL_DATA


def agrees(values, mean, std, n):
    """Whether the mean of these runs is within what n released runs of this mean and spread allow."""
    freedom = len(values) + n - 2
    spread = np.sqrt(((len(values) - 1) * np.var(values, ddof=1) + (n - 1) * std**2) / freedom)
    return abs(np.mean(values) - mean) <= T95[freedom] * spread * np.sqrt(1 / len(values) + 1 / n)


# ---- Wacker et al. 2022 --------------------------------------------------------------------------------------


def magic04():
    text = np.loadtxt(MIRROR / "magic04" / "magic04.data", delimiter=",", dtype=str)
    return text[:, :-1].astype(float), (text[:, -1] == "h").astype(int)


def ninety_ten(X, rng):
    order = rng.permutation(len(X))
    train, test = order[: int(0.9 * len(X))], order[int(0.9 * len(X)) :]
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0, ddof=1)
    return train, test, (X - mean) / deviation


def square_distances(A):
    return np.maximum((A**2).sum(axis=1)[:, None] + (A**2).sum(axis=1) - 2 * A @ A.T, 0)


def dirichlet_errors(Z, y, Z_test, y_test, alpha):
    """The error rate of a Gaussian process on transformed labels, one class after the other."""
    one_hot = np.eye(2)[y]
    noise = np.log(1 + 1 / (one_hot + alpha))
    targets = np.log(one_hot + alpha) - noise / 2
    prior = np.log(one_hot.mean(axis=0)) + (targets - np.log(one_hot.mean(axis=0))).mean()
    scores = np.empty((len(Z_test), 2))
    for c in range(2):
        A = Z.T @ (Z / noise[:, [c]]) + np.eye(Z.shape[1]) / targets.var(ddof=1)
        weights = np.linalg.solve(A, Z.T @ ((targets[:, c] - prior[c]) / noise[:, c]))
        scores[:, c] = Z_test @ weights + prior[c]
    return float((scores.argmax(axis=1) != y_test).mean())


def test_fourier_features_on_magic_are_those_released():
    X, y = magic04()
    kernel_errors, errors = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        train, test, rows = ninety_ten(X, rng)
        sample = rng.choice(train, 2000, replace=False)
        length = np.sqrt(np.median(square_distances(rows[sample])))
        phases = rows @ rng.normal(size=(10, 24)) / length
        Z = np.concatenate([np.cos(phases), np.sin(phases)], axis=1) / np.sqrt(24)
        K = np.exp(-square_distances(rows[test]) / (2 * length**2))
        kernel_errors.append(np.linalg.norm(K - Z[test] @ Z[test].T) / np.linalg.norm(K))
        errors.append(dirichlet_errors(Z[train], y[train], Z[test], y[test], 0.01))
    cell = released(
        "wacker2022_gaussian.csv", dataset="Magic", method="rff", projection="gaussian", weights="real", D="48"
    )
    assert agrees(kernel_errors, float(cell["frobenius_error_mean"]), float(cell["frobenius_error_std"]), 10)
    assert agrees(errors, float(cell["test_error_mean"]), float(cell["test_error_std"]), 10)


def test_products_of_signs_on_magic_are_those_released():
    X, _ = magic04()
    kernel_errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        _, test, rows = ninety_ten(X, rng)
        rows = rows[test] / np.linalg.norm(rows[test], axis=1, keepdims=True)
        extended = np.concatenate([np.full((len(rows), 1), np.sqrt(0.5)), np.sqrt(0.5) * rows], axis=1)
        Z = np.prod([extended @ rng.choice([-1.0, 1.0], size=(11, 80)) for _ in range(3)], axis=0) / np.sqrt(80)
        K = (0.5 + 0.5 * rows @ rows.T) ** 3
        kernel_errors.append(np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K))
    cell = released(
        "wacker2022_polynomial.csv",
        dataset="Magic",
        degree="3",
        data="centred",
        method="poly_sketch",
        projection="rademacher",
        weights="real",
        D="80",
    )
    assert agrees(kernel_errors, float(cell["frobenius_error_mean"]), float(cell["frobenius_error_std"]), 20)


# ---- Wu et al. 2016 ------------------------------------------------------------------------------------------


def penbased():
    parts = [np.loadtxt(MIRROR / "penbased" / f"pendigits.{part}", delimiter=",") for part in ("tra", "tes")]
    low, high = parts[0][:, :-1].min(axis=0), parts[0][:, :-1].max(axis=0)
    return [((part[:, :-1] - low) / (high - low), part[:, -1].astype(int)) for part in parts]


def ridge_accuracy(Z, y, Z_test, y_test, *, center=False):
    scores = ridge(Z, 2 * np.eye(10)[y] - 1, Z_test, center=center)
    return 100 * float((scores.argmax(axis=1) == y_test).mean())


def near_one_run(values, stored):
    return abs(np.mean(values) - stored) <= T95[len(values) - 1] * np.std(values, ddof=1) * np.sqrt(1 + 1 / len(values))


def test_fourier_features_on_penbased_are_those_stored():
    (X, y), (X_test, y_test) = penbased()
    accuracies = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        # exp(−‖Δ‖/σ) is the mean of Gaussian kernels: w is multivariate Cauchy.
        W = rng.normal(size=(16, 256)) / np.abs(rng.normal(size=256)) / 3.16
        b = rng.uniform(0, 2 * np.pi, 256)
        Z, Z_test = (np.sqrt(2 / 256) * np.cos(rows @ W + b) for rows in (X, X_test))
        accuracies.append(ridge_accuracy(Z, y, Z_test, y_test))
    cell = released("wu2016_random_binning.csv", dataset="pendigits", method="fourier", rank="256", sigma="3.16")
    assert near_one_run(accuracies, float(cell["performance"]))


def test_nystroem_on_penbased_is_that_stored_with_centred_targets_alone():
    (X, y), (X_test, y_test) = penbased()
    centred, plain = [], []
    for seed in range(4):
        Z, Z_test = nystroem(X, X_test, 0.03, 64, seed)
        arguments = Z, y, Z_test, y_test
        centred.append(ridge_accuracy(*arguments, center=True))
        plain.append(ridge_accuracy(*arguments))
    cell = released("wu2016_random_binning.csv", dataset="pendigits", method="nystrom", rank="64", sigma="0.03")
    assert near_one_run(centred, float(cell["performance"]))
    assert np.mean(plain) > float(cell["performance"]) + 40


def test_random_binning_on_penbased_is_that_stored():
    (X, y), (X_test, y_test) = penbased()
    accuracies = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        blocks = []
        for _ in range(16):
            pitch = rng.gamma(2, 1 / 0.56, size=16)
            shift = rng.uniform(0, pitch)
            bins = np.floor((np.concatenate([X, X_test]) - shift) / pitch)
            _, column = np.unique(bins, axis=0, return_inverse=True)
            blocks.append(np.eye(column.max() + 1)[column.ravel()] / 4)
        Z = np.concatenate(blocks, axis=1)
        accuracies.append(ridge_accuracy(Z[: len(X)], y, Z[len(X) :], y_test))
    cell = released("wu2016_random_binning.csv", dataset="pendigits", method="randbin", rank="16", sigma="0.56")
    assert near_one_run(accuracies, float(cell["performance"]))


# ---- The package, on a few of these cells ---------------------------------------------------------------------


def measured(rffbench_in, folder, config, metric, *only):
    """The metric of the trials that a shipped config has of these cells."""
    chosen = [part for each in only for part in ("--only", each)]
    run = rffbench_in(folder, "run", config, *chosen, limit=LIMIT_S, RFFBENCH_MIRROR=str(MIRROR))
    assert not run.returncode, run.stdout + run.stderr
    log = (folder / "results" / config / "trials.jsonl").read_text().splitlines()
    return [json.loads(line)["metrics"][metric] for line in log]


@pytest.mark.parametrize(("method", "projection"), [("RFF", "gaussian"), ("SORF", "srht")])
def test_the_package_gives_the_released_kernel_errors_of_magic(tmp_path, rffbench_in, method, projection):
    found = measured(
        rffbench_in, tmp_path, "wacker2022-gaussian", "frobenius_error",
        "dataset=magic04", f"method={method}", "n_features=48",
    )  # fmt: skip
    cell = released(
        "wacker2022_gaussian.csv", dataset="Magic", method="rff", projection=projection, weights="real", D="48"
    )
    assert agrees(found, float(cell["frobenius_error_mean"]), float(cell["frobenius_error_std"]), 10)


def test_the_package_gives_the_stored_accuracy_of_random_binning(tmp_path, rffbench_in):
    found = measured(
        rffbench_in, tmp_path, "wu2016", "accuracy", "dataset=penbased", "method=binning 0.56", "n_features=16"
    )
    cell = released("wu2016_random_binning.csv", dataset="pendigits", method="randbin", rank="16", sigma="0.56")
    assert abs(np.mean(found) - float(cell["performance"])) < 4.303 * np.std(found, ddof=1) * np.sqrt(1 + 1 / 3)
