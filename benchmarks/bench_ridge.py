"""Ridge with cross-validation: against GridSearchCV, a single fit and dgemm; memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.measure import compare, extra_memory, result, thread_counts, threads
from rffbench import RandomFourierFeatures, StreamedRidgeCV

LAMBDAS, FOLDS = [0.05, 0.1, 0.5, 1.0], 5
LARGE = (100_000, 2048)
EEG_128D = (7_490, 3_584)
GOALS = {"grid": 8.0, "memory": 10.0, "single": 1.3, "rate": 0.6, "eeg": 5.0}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """On all threads; the peers' data are ready-made features, float64."""
    repeats = 3 if quick else 5
    large, eeg = ((10_000, 512), (1_500, 700)) if quick else (LARGE, EEG_128D)
    count = thread_counts()[-1]
    with threads(count):
        details = {"threads": count, "dtype": "float64", "folds": FOLDS, "lambdas": LAMBDAS}
        return [
            _against_grid_search(large, GOALS["grid"], 3, details),
            _against_one_fit(large, repeats, details),
            _against_dgemm(large, repeats, details),
            _memory(large, details),
            _against_grid_search(eeg, GOALS["eeg"], repeats, details),
        ]


def features_and_target(n: int, p: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random Fourier features of made-up rows of EEG's dimension; noisy labels −1/+1 of a smooth function."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 14))
    Z = RandomFourierFeatures(p, gamma=0.5, random_state=1).fit_transform(X)
    y = np.sign(np.sin(4 * X[:, 0]) - X[:, 1] + 0.3 * rng.normal(size=n))
    return Z, y


def ours(Z: NDArray, y: NDArray) -> Callable[[], Any]:
    return lambda: StreamedRidgeCV(LAMBDAS, folds=FOLDS, lambda_scale=1, center=False).fit(Z, y)


def grid_search(Z: NDArray, y: NDArray) -> Callable[[], Any]:
    search = GridSearchCV(
        Ridge(fit_intercept=False), {"alpha": LAMBDAS}, cv=KFold(FOLDS), scoring="neg_mean_squared_error"
    )
    return lambda: search.fit(Z, y)


def _name(shape: tuple[int, int]) -> str:
    return f"n={shape[0]:,}, {shape[1]:,} columns"


def _against_grid_search(shape: tuple[int, int], goal: float, repeats: int, details: dict) -> dict[str, Any]:
    Z, y = features_and_target(*shape)
    fit, search = ours(Z, y), grid_search(Z, y)
    model, peer = fit(), search()  # the round that doesn't count, too
    return compare(
        f"{FOLDS} folds, {len(LAMBDAS)} λ, {_name(shape)}", fit, search, goal=goal, repeats=repeats,
        warm_up=False, peer_name="GridSearchCV(Ridge)",
        same_lambda=bool(model.alpha_ == peer.best_params_["alpha"]),
        largest_difference=float(np.abs(model.coef_ - peer.best_estimator_.coef_).max()), **details,
    )  # fmt: skip


def _against_one_fit(shape: tuple[int, int], repeats: int, details: dict) -> dict[str, Any]:
    Z, y = features_and_target(*shape)
    return compare(
        f"{FOLDS} folds, {len(LAMBDAS)} λ, {_name(shape)}", ours(Z, y),
        lambda: Ridge(LAMBDAS[0], fit_intercept=False).fit(Z, y),
        goal=GOALS["single"], bound="at most", repeats=repeats, peer_name="one plain Ridge.fit", **details,
    )  # fmt: skip


def _against_dgemm(shape: tuple[int, int], repeats: int, details: dict) -> dict[str, Any]:
    """The share of the rate a large square product reaches, counting the operations that are needed."""
    Z, y = features_and_target(*shape)
    n, p = shape
    factorisations = FOLDS * len(LAMBDAS) + 1
    operations = n * p * (p + 1) + factorisations * p**3 / 3
    A = np.random.default_rng(0).normal(size=(p, p))
    product = np.empty_like(A)
    return compare(
        f"share of the dgemm rate, {_name(shape)}", ours(Z, y), lambda: np.matmul(A, A, out=product),
        scale_peer=operations / (2 * p**3), goal=GOALS["rate"], repeats=repeats,
        peer_name="dgemm, as many operations", operations=operations, **details,
    )  # fmt: skip


def _work(kind: str, n: int, p: int) -> Callable[[], Any]:
    return {"ours": ours, "peer": grid_search}[kind](*features_and_target(n, p))


def _memory(shape: tuple[int, int], details: dict) -> dict[str, Any]:
    return result(
        f"extra memory, {_name(shape)}",
        [extra_memory(_work, "ours", *shape) / 1e6], [extra_memory(_work, "peer", *shape) / 1e6],
        goal=GOALS["memory"], bound="at least", peer_name="GridSearchCV(Ridge)", unit="MB", **details,
    )  # fmt: skip
