"""What a recomputed cell is held to: a row of the released file, and the trials measured here.

Both are read without the package, whose faults would change both sides."""

import csv
import json
import lzma
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ttest_ind_from_stats
from sklearn.datasets import load_svmlight_file

from rffbench.execution.places import folder_of

ROOT = Path(__file__).parents[2]
ON_REAL_DATA = [
    pytest.mark.regression, pytest.mark.data,
    pytest.mark.skipif(not os.environ.get("RFFBENCH_MIRROR"), reason="RFFBENCH_MIRROR is not set"),
]  # fmt: skip
"""Marks of a file whose tests measure again."""


def mirror() -> Path:
    """The folder of the data files; the test is skipped where there is none."""
    if not (folder := os.environ.get("RFFBENCH_MIRROR")):
        pytest.skip("RFFBENCH_MIRROR is not set")
    return Path(folder)


def released(file: str, **cell: str) -> dict[str, str]:
    """The one row of a file of ``rffbench/papers`` that has these values."""
    with open(ROOT / "rffbench" / "papers" / file, encoding="utf-8", newline="") as lines:
        (row,) = [row for row in csv.DictReader(lines) if all(row[key] == value for key, value in cell.items())]
    return row


def measured(experiment: str, root: Path = ROOT, **cell: object) -> dict[str, np.ndarray]:
    """The metrics and λ of an experiment's finished trials that have these values: arrays, in the order of trials."""
    folder = folder_of(root / "results", experiment)
    if not folder.is_dir():
        pytest.skip(f"results/{experiment} has not been measured")
    packed = folder / "trials.jsonl.xz"
    with lzma.open(packed, "rt") if packed.exists() else open(folder / "trials.jsonl", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    kept = [row for row in rows if row["status"] == "ok" and all(row[key] == value for key, value in cell.items())]
    kept.sort(key=lambda row: row["trial"])
    assert kept, f"results/{experiment} has no trials of {cell}"
    numbers = [{**row["metrics"], **({"lambda": row["lambda"]} if "lambda" in row else {})} for row in kept]
    return {name: np.array([each[name] for each in numbers]) for name in numbers[0]}


def agree(values, mean: float, std: float, n: int) -> bool:
    """Whether these runs, and n of this mean and spread, may have one mean, at 5 %; spreads may differ (Welch)."""
    ours = np.mean(values), np.std(values, ddof=1), len(values)
    return ttest_ind_from_stats(*ours, mean, std, n, equal_var=False).pvalue > 0.05


def sign_products(
    rows: Sequence[np.ndarray], degree: int, columns: int, variance: float, rng: np.random.Generator
) -> list[np.ndarray]:
    """Products of ``degree`` sums of signs, of rows of unit length: features of variance·(½ + xᵀx′/2)ᵖ."""
    draws = [rng.choice(np.float32([-1, 1]), (rows[0].shape[1] + 1, columns)) for _ in range(degree)]
    found = []
    for X in rows:
        unit = np.float32(X / np.linalg.norm(X, axis=1, keepdims=True))
        Z = np.full((len(X), columns), np.sqrt(0.5**degree * variance / columns), np.float32)
        for W in draws:
            Z *= W[0] + unit @ W[1:]
        found.append(Z)
    return found


def classified(belongs: np.ndarray, alpha: float, features: Callable[[np.ndarray], Sequence[np.ndarray]]) -> np.ndarray:
    """The classes of test rows, numbered, by a Gaussian process: regression on log-normal targets, whose noise differs
    between the rows of a class and others (Milios et al. 2018). ``belongs`` says which training row is of which class;
    ``features`` makes those of training and test rows, for the targets."""
    noise = np.log1p(1 / (belongs + alpha))
    means = np.log(belongs.mean(axis=0))
    targets = np.log(belongs + alpha) - noise / 2 - means
    means, targets = means + targets.mean(), targets - targets.mean()
    Z, Z_test = features(targets)
    grams, scores = [Z[mine].T @ Z[mine] for mine in belongs.T], []
    total = sum(grams)
    for of, mine in enumerate(belongs.T):
        inside, outside = 1 / noise[mine, of][0], 1 / noise[~mine, of][0]
        H = outside * total + (inside - outside) * grams[of] + np.eye(Z.shape[1])
        right = Z.T @ (targets[:, of] / noise[:, of]).astype(np.float32)
        scores.append(Z_test @ np.linalg.solve(H.astype(float), right) + means[of])
    return np.argmax(scores, axis=0)


@cache
def covtype() -> tuple[np.ndarray, np.ndarray]:
    """LIBSVM's scaled covtype, lines of ``label index:value …`` with indices from 1: X (n, 54), the labels 0 and 1."""
    X, labels = load_svmlight_file(str(mirror() / "covtype" / "covtype.libsvm.binary.scale.bz2"), n_features=54)
    return X.toarray(), labels - 1


def nystroem(train: np.ndarray, test: np.ndarray, sigma: float, rank: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Nyström features of the kernel exp(−‖Δ‖₂/σ) at ``rank`` uniform landmarks, of training and of test rows."""
    landmarks = train[np.random.default_rng(seed).choice(len(train), rank, replace=False)]
    K, K_train, K_test = (np.exp(-cdist(rows, landmarks) / sigma) for rows in (landmarks, train, test))
    values, V = np.linalg.eigh(K)
    kept = values > values.max() * np.finfo(float).eps  # equal rows have no more
    root = V[:, kept] / np.sqrt(values[kept])
    return K_train @ root, K_test @ root


def ridge(Z: np.ndarray, targets: np.ndarray, Z_test: np.ndarray, *, center: bool) -> np.ndarray:
    """What ridge with the penalty 0.01 predicts; with ``center`` the targets' mean is taken off and added again."""
    mean = targets.mean(axis=0) * center
    return Z_test @ np.linalg.solve(Z.T @ Z + 0.01 * np.eye(Z.shape[1]), Z.T @ (targets - mean)) + mean
