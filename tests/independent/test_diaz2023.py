"""Díaz et al. 2023 on protein, by NumPy alone: randomly pivoted Cholesky, one pivot at a time, and conjugate
gradients with the whole kernel matrix."""

import gzip

import numpy as np
import pytest

from tests.helpers.recomputed import measured, mirror

ROWS, LANDMARKS, MU, SEEDS = 4000, 40, 1e-3, 6


def randomly_pivoted(K: np.ndarray, rank: int, rng: np.random.Generator) -> np.ndarray:
    """F (n, rank), FFᵀ ≈ K: each pivot is drawn in proportion to what is left of the diagonal."""
    F, left = np.zeros((len(K), rank)), np.diag(K).copy()
    for k in range(rank):
        pivot = rng.choice(len(K), p=left / left.sum())
        column = K[:, pivot] - F[:, :k] @ F[pivot, :k]
        F[:, k] = column / np.sqrt(column[pivot])
        left = np.maximum(left - F[:, k] ** 2, 0)
    return F


def left_after(K: np.ndarray, y: np.ndarray, F: np.ndarray, steps: int) -> float:
    """‖y − (K + μI)β‖/‖y‖ after some steps of conjugate gradients, preconditioned with P = FFᵀ + μI; each residual
    is made orthogonal to all earlier ones, in the inner product of P⁻¹."""
    inner = np.linalg.cholesky(F.T @ F + MU * np.eye(F.shape[1]))

    def precondition(r: np.ndarray) -> np.ndarray:
        half = np.linalg.solve(inner, F.T @ r)
        return (r - F @ np.linalg.solve(inner.T, half)) / MU

    beta, r = np.zeros(len(y)), y.copy()
    z = precondition(r)
    p, rz = z, r @ z
    earlier: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(steps):
        earlier.append((r / np.sqrt(rz), z / np.sqrt(rz)))
        Ap = K @ p + MU * p
        step = rz / (p @ Ap)
        beta, r = beta + step * p, r - step * Ap
        R, Z = (np.column_stack(each) for each in zip(*earlier, strict=True))
        r = r - R @ (Z.T @ r)
        r = r - R @ (Z.T @ r)
        z = precondition(r)
        p, rz = z + (r @ z) / rz * p, r @ z
    return float(np.linalg.norm(y - K @ beta - MU * beta) / np.linalg.norm(y))


@pytest.mark.slow
@pytest.mark.data
def test_what_50_steps_leave_with_randomly_pivoted_landmarks_and_with_none():
    with gzip.open(mirror() / "protein" / "CASP.csv.gz", "rt") as lines:
        data = np.loadtxt(lines, delimiter=",", skiprows=1)
    plain: dict[str, list[float]] = {"rpcholesky 50": [], "none 50": []}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        rows = data[rng.permutation(len(data))[:ROWS]]
        X, y = rows[:, 1:], rows[:, 0]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        squares = np.square(X).sum(axis=1)
        distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0))
        K = np.exp(-(distances**2) / (2 * np.median(distances[np.triu_indices(ROWS, 1)]) ** 2))
        plain["rpcholesky 50"].append(left_after(K, y, randomly_pivoted(K, LANDMARKS, rng), 50))
        plain["none 50"].append(left_after(K, y, np.zeros((ROWS, 1)), 50))
    for method, found in plain.items():  # by the logarithm, whose spread over rows and draws is about that of a normal
        ours = np.log(measured("diaz2023", dataset="protein", method=method)["residual_norm"])
        error = ours.std(ddof=1) * np.sqrt(1 / SEEDS + 1 / len(ours))
        assert np.log(found).mean() == pytest.approx(ours.mean(), abs=3 * error)
