"""What a recomputed cell is held to: a row of the released file, and the trials measured here.

Both are read without the package, whose faults would change both sides."""

import csv
import json
import lzma
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ttest_ind_from_stats
from sklearn.datasets import load_svmlight_file

ROOT = Path(__file__).parents[2]


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
    folder = root / "results" / experiment
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
