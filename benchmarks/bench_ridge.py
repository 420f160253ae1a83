"""Ridge with cross-validation: against GridSearchCV, a single fit and dgemm; memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.measure import compare, extra_memory, result, thread_counts, threads
from rffbench import RandomFourierFeatures, StreamedRidgeCV

LAMBDAS, FOLDS = [0.05, 0.1, 0.5, 1.0], 5
LARGE = (50_000, 2048)
EEG_128D = (7_490, 3_584)
TINY = [0.0, 1e-20, 1e-16, 1e-12, 1e-8, 1e-4]  # λ that the normal equations lose, and some that they do not
LARGER = [1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2]  # as many that they do not
SVD_SHAPES = [(20_000, 256), (20_000, 1024)]
GOALS = {"grid": 8.0, "memory": 10.0, "single": 1.3, "rate": 0.6, "eeg": 5.0}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """On all threads; the peers' data are ready-made features, float64."""
    repeats = 3
    large, eeg = ((10_000, 512), (1_500, 700)) if quick else (LARGE, EEG_128D)
    by_svd = SVD_SHAPES[:1] if quick else SVD_SHAPES
    count = thread_counts()[-1]
    with threads(count):
        details = {"threads": count, "dtype": "float64", "folds": FOLDS, "lambdas": LAMBDAS}
        return [
            _against_grid_search(large, GOALS["grid"], 1, details),
            _against_one_fit(large, repeats, details),
            _against_dgemm(large, repeats, details),
            _memory(large, details),
            _against_grid_search(eeg, GOALS["eeg"], 1, details),
            *(row for shape in by_svd for row in _by_svd(shape, 1, details)),
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


def _by_svd(shape: tuple[int, int], repeats: int, details: dict) -> list[dict[str, Any]]:
    """The singular values, what they cost beside the normal equations, and against those of the whole Z."""
    Z, y = features_and_target(*shape)
    details = {**details, "lambdas": TINY}
    fit, whole = svd_ridge(Z, y), svd_of_all_rows(Z, y)
    normal = StreamedRidgeCV(LARGER, folds=FOLDS, lambda_scale="trace", center=False, method="cholesky")
    model, errors = fit(), whole()
    name = f"ridge by singular values, {FOLDS} folds, {len(TINY)} λ, {_name(shape)}"
    return [
        compare(name, fit, whole, goal=None, repeats=repeats, peer_name="scipy.linalg.svd of each fold's Z",
                largest_difference=float(np.abs(model.cv_results_["fold_test_error"] - errors).max()), **details),
        compare(f"{name}: times the cost", fit, lambda: normal.fit(Z, y), goal=None, bound="at most", repeats=repeats,
                peer_name="the normal equations", **details),
        result(f"extra memory, {name}", [extra_memory(_work, "svd", *shape) / 1e6],
               [extra_memory(_work, "whole svd", *shape) / 1e6], goal=None, bound="at least",
               peer_name="scipy.linalg.svd of each fold's Z", unit="MB",
               planned_mb=svd_model().bytes_to_fit(*shape) / 1e6, **details),
    ]  # fmt: skip


def svd_model() -> StreamedRidgeCV:
    return StreamedRidgeCV(TINY, folds=FOLDS, lambda_scale="trace", center=False, method="svd")


def svd_ridge(Z: NDArray, y: NDArray) -> Callable[[], Any]:
    return lambda: svd_model().fit(Z, y)


def svd_of_all_rows(Z: NDArray, y: NDArray) -> Callable[[], Any]:
    """What one writes with SciPy: the singular values of each fold's training rows, then every λ; held-out errors."""

    def solve(Z: NDArray, y: NDArray) -> NDArray[np.float64]:
        U, sigma, Vt = svd(Z, full_matrices=False, check_finite=False)
        kept = sigma > Z.shape[1] * np.finfo(float).eps * sigma[0]
        U, sigma, Vt = U[:, kept], sigma[kept], Vt[kept]
        penalties = np.array(TINY) * (sigma @ sigma)
        return Vt.T @ ((U.T @ y)[:, None] / (sigma[:, None] + penalties / sigma[:, None]))

    def fit() -> NDArray[np.float64]:
        errors = np.empty((len(TINY), FOLDS))
        for fold, (train, held) in enumerate(KFold(FOLDS).split(Z)):
            errors[:, fold] = np.square(Z[held] @ solve(Z[train], y[train]) - y[held, None]).mean(axis=0)
        solve(Z, y)
        return errors

    return fit


def _work(kind: str, n: int, p: int) -> Callable[[], Any]:
    works = {"ours": ours, "peer": grid_search, "svd": svd_ridge, "whole svd": svd_of_all_rows}
    return works[kind](*features_and_target(n, p))


def _memory(shape: tuple[int, int], details: dict) -> dict[str, Any]:
    return result(
        f"extra memory, {_name(shape)}",
        [extra_memory(_work, "ours", *shape) / 1e6], [extra_memory(_work, "peer", *shape) / 1e6],
        goal=GOALS["memory"], bound="at least", peer_name="GridSearchCV(Ridge)", unit="MB", **details,
    )  # fmt: skip
