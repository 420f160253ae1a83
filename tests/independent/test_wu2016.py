"""Wu et al. on letter, california and a9a, by NumPy and SciPy's arrays alone, with their λ = 0.01."""

import gzip

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.helpers.recomputed import agree, measured, mirror, nystroem, released, ridge

pytestmark = [pytest.mark.slow, pytest.mark.data]

DRAWS = 3


def predictions(train: np.ndarray, targets: np.ndarray, test: np.ndarray, sigma: float, seed: int) -> np.ndarray:
    """Of ridge on 256 Nyström features of the kernel exp(−‖Δ‖₂/σ), with centred targets."""
    Z, Z_test = nystroem(train, test, sigma, 256, seed)
    return ridge(Z, targets, Z_test, center=True)


@pytest.mark.parametrize("sigma", ["1.12", "10.0"])
def test_letter_s_last_class_is_never_predicted(sigma):
    """Their code gives the classes 0 to 25 a column (KRR_OneVsAll_RandBin.cpp), and letter's are 1 to 26."""
    rows = [line.split(",") for line in (mirror() / "letter" / "letter-recognition.data").read_text().split()]
    labels = np.array([ord(row[0]) - ord("A") for row in rows])
    X = np.array([row[1:] for row in rows], float)
    train, test = slice(10_500), slice(15_000, None)
    assert 100 * (labels[test] == 25).mean() == pytest.approx(3.88)
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = 2 * (X - low) / (high - low) - 1
    all_classes, without_last = [], []
    for seed in range(DRAWS):
        scores = predictions(
            X[train], np.where(labels[train, None] == np.arange(26), 1.0, -1.0), X[test], float(sigma), seed
        )
        all_classes.append(100 * (scores.argmax(axis=1) == labels[test]).mean())
        without_last.append(100 * (scores[:, :-1].argmax(axis=1) == labels[test]).mean())
    cell = released("wu2016_random_binning.csv", dataset="letter", method="nystrom", rank="256", sigma=sigma)
    theirs = float(cell["performance"])
    assert abs(np.mean(without_last) - theirs) < 1
    here = measured("wu2016", dataset="letter-libsvm", method=f"Nyström {float(sigma):g}", n_features=256)["accuracy"]
    assert agree(without_last, here.mean(), here.std(ddof=1), len(here))
    assert np.mean(all_classes) - theirs > 2


@pytest.mark.parametrize("sigma", ["0.28", "10.0"])
def test_california_is_scaled_by_the_largest_absolute_value(sigma):
    """LIBSVM's cadata is not scaled. Two scalings of its columns, and the released relative error."""
    with gzip.open(mirror() / "california" / "cal_housing.data.gz", "rt") as lines:
        table = np.loadtxt(lines, delimiter=",")
    X, y = table[:, :-1], table[:, -1]
    errors: dict[str, list[float]] = {"max-abs": [], "minmax": []}
    for seed in range(DRAWS):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[:16_512], order[16_512:]
        low, high = X[train].min(axis=0), X[train].max(axis=0)
        for name, scaled in (("max-abs", X / np.abs(X).max(axis=0)), ("minmax", (X - low) / (high - low))):
            found = predictions(scaled[train], y[train, None], scaled[test], float(sigma), seed)[:, 0]
            errors[name].append(float(np.linalg.norm(found - y[test]) / np.linalg.norm(y[test])))
    cell = released("wu2016_random_binning.csv", dataset="cadata", method="nystrom", rank="256", sigma=sigma)
    theirs = float(cell["performance"])
    assert abs(np.mean(errors["max-abs"]) / theirs - 1) < 0.02
    assert abs(np.mean(errors["minmax"]) / theirs - 1) > 0.05


def a9a(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows (n, 123) and labels −1/+1 of a file of LIBSVM."""
    lines = (mirror() / "a9a" / name).read_text().splitlines()
    X = np.zeros((len(lines), 123))
    for row, line in enumerate(lines):
        for entry in line.split()[1:]:
            index, value = entry.split(":")
            X[row, int(index) - 1] = float(value)
    return X, np.array([float(line.split()[0]) for line in lines])


def bins(X: np.ndarray, inverse_width: float, grids: int, seed: int) -> csr_array:
    """Random binning of the kernel exp(−σ‖Δ‖₁): a number in each row for its bin in each grid."""
    rng, columns, first = np.random.default_rng(seed), np.empty((len(X), grids), np.int64), 0
    for grid in range(grids):
        pitch = rng.gamma(2, 1 / inverse_width, X.shape[1])
        cells = np.floor((X - pitch * rng.random(X.shape[1])) / pitch).astype(np.int64)
        _, columns[:, grid] = np.unique(cells @ rng.integers(1, 2**62, X.shape[1]), return_inverse=True)
        columns[:, grid] += first
        first = columns[:, grid].max() + 1
    numbers = np.full(columns.size, grids**-0.5)
    return csr_array((numbers, columns.ravel(), np.arange(0, columns.size + 1, grids)), shape=(len(X), first))


def conjugate_gradients(Z: csr_array, y: np.ndarray, steps: int, tolerance: float) -> np.ndarray:
    """Solve (ZᵀZ + 0.01·I)w = Zᵀy. It stops after ``steps``, or when the relative residual is below ``tolerance``."""
    residual = Z.T @ y
    w, direction, least = np.zeros_like(residual), residual, tolerance * np.linalg.norm(residual)
    for _ in range(steps):
        product = Z.T @ (Z @ direction) + 0.01 * direction
        step = residual @ residual / (direction @ product)
        w, after = w + step * direction, residual - step * product
        if np.linalg.norm(after) < least:
            break
        direction, residual = after + (after @ after) / (residual @ residual) * direction, after
    return w


def test_their_conjugate_gradients_stop_early_and_it_shows_on_a9a():
    """50 steps, or a residual of 0.001 (their script has MAXIT and TOL); nearer to the solution it is less accurate."""
    (train, y), (test, labels) = a9a("a9a"), a9a("a9a.t")
    Z = bins(np.vstack([train, test]), 0.28, 16, seed=0)
    stopped, solved = (
        100 * ((Z[len(y) :] @ conjugate_gradients(Z[: len(y)], y, steps, tolerance) > 0) == (labels > 0)).mean()
        for steps, tolerance in ((50, 1e-3), (500, 1e-8))
    )
    cell = released("wu2016_random_binning.csv", dataset="a9a", method="randbin", rank="16", sigma="0.28")
    assert abs(stopped - float(cell["performance"])) < 0.5
    assert stopped - solved > 1
    here = measured("wu2016", dataset="a9a", method="binning 0.28", n_features=16)["accuracy"]
    assert abs(stopped - here.mean()) < 0.5
