"""Li et al. 2019 on covtype, by NumPy alone and as their scripts do it: one map, a constant column, labels 0 and 1."""

import numpy as np
import pytest

from tests.helpers.recomputed import covtype, measured, released

PARTS, COLUMNS, SIGMA, PENALTY, TRAIN, TEST = 500, 500, 2.0, 2.0**-6, 250_000, 50_000


def averaged_error(rng: np.random.Generator, X: np.ndarray, labels: np.ndarray, parts: int) -> float:
    """The share of test rows on the wrong side of 1/2, by the weights averaged over the parts."""
    W, phases = rng.normal(0, 1 / SIGMA, (54, COLUMNS)), rng.uniform(0, 2 * np.pi, COLUMNS)

    def features(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([np.sqrt(2 / COLUMNS) * np.cos(X[rows] @ W + phases), np.ones(len(rows))])

    order = rng.permutation(len(X))
    train, test = order[:TRAIN], order[TRAIN : TRAIN + TEST]
    weights = np.zeros(COLUMNS + 1)
    for rows in np.split(train, parts):
        Z = features(rows)
        weights += np.linalg.solve(Z.T @ Z + PENALTY * np.eye(COLUMNS + 1), Z.T @ labels[rows]) / parts
    return float(np.mean((features(test) @ weights > 0.5) != (labels[test] > 0.5)))


@pytest.mark.long
@pytest.mark.data
def test_500_columns_and_500_parts():
    X, labels = covtype()
    rng = np.random.default_rng(1906)
    errors = [averaged_error(rng, X, labels, PARTS) for _ in range(2)]
    theirs = released("li2019_distributed.csv", dataset="covtype", study="features", n_features="500")
    assert np.mean(errors) == pytest.approx(float(theirs["error_mean"]), abs=0.004)
    ours = measured("li2019-distributed", method="features 500", n_features=500)
    assert 1 - np.mean(ours["accuracy"]) / 100 == pytest.approx(np.mean(errors), abs=0.003)
