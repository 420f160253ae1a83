"""Wu et al. on letter and california, by NumPy alone: Nyström features of the kernel exp(−‖Δ‖₂/σ), λ = 0.01."""

import gzip

import numpy as np
import pytest

from tests.helpers.recomputed import mirror, nystroem, released, ridge

DRAWS = 3


def predictions(train: np.ndarray, targets: np.ndarray, test: np.ndarray, sigma: float, seed: int) -> np.ndarray:
    """Of ridge on 256 Nyström features, with centred targets."""
    Z, Z_test = nystroem(train, test, sigma, 256, seed)
    return ridge(Z, targets, Z_test, center=True)


@pytest.mark.data
@pytest.mark.parametrize("sigma", ["1.12", "10.0"])
def test_letter_s_last_class_is_never_predicted(sigma):
    """Their code gives the classes 0 to 25 a column (KRR_OneVsAll_RandBin.cpp), and letter's are 1 to 26."""
    rows = [line.split(",") for line in (mirror() / "letter" / "letter-recognition.data").read_text().split()]
    labels = np.array([ord(row[0]) - ord("A") for row in rows])
    X = np.array([row[1:] for row in rows], float)
    train, test = slice(10_500), slice(15_000, None)
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
    assert np.mean(all_classes) - theirs > 2


@pytest.mark.data
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
