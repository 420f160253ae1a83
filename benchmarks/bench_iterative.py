"""Iterative solvers: from how many columns on pcg is faster than our direct ridge; what a Cholesky factor for all folds
saves, and what one factorisation for all λ would; what float32 rows save.

All are on rows of covtype, Gaussian kernel, at one λ or at 8 λ × 5 folds. There the direct solve makes ZᵀZ once and
8 Cholesky factors, which serve the folds too, or on few columns 41, one for each fold. pcg has the same features, and
the predictions' largest difference is in the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigh

from benchmarks.measure import compare
from rffbench import RandomFourierFeatures, data
from rffbench.linalg.triangles import TriangleStack
from rffbench.solvers.base import default_block_rows
from rffbench.solvers.iterative.pcg import PCGRidgeClassifierCV
from rffbench.solvers.ridge.cross_validation import FoldSolver
from rffbench.solvers.ridge.fold_statistics import (
    FoldStatistics,
    RidgeSolution,
    best_solution,
    cross_validate,
    fold_bounds,
    held_out_mse,
)
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV

GAMMA, ALPHAS = 10.0, tuple(10.0**-k for k in range(7, -1, -1))
FOLDS = 5
COLUMNS = {1024: 3, 2048: 1, 4096: 1}  # and how often each is timed
MORE = {8192: 1}  # at one λ
ROWS = 20_000
SHARED = {2048: 3, 4096: 1, 8192: 1}  # columns from which on folds share a factor, and how often each is timed
SHARED_GOAL = 1.5, 8192  # and the columns that it is for
IN_SINGLE, FASTER = 2048, 1.5  # columns in float32 and in float64, and the goal


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """The factorisations, and the crossing."""
    yield _factorisations(128 if quick else 2048, 1 if quick else 3)
    split = data.train_test("covtype", seed=0, trial=0, preprocess=["minmax"], train_rows=3000 if quick else ROWS)
    X, y = np.asarray(split.X_train[:]), np.asarray(split.y_train)
    for columns, repeats in ({min(SHARED): 1} if quick else SHARED).items():
        yield _shared_factors(X, y, columns, repeats)
    for alphas, sizes in (((1e-5,), COLUMNS | MORE), (ALPHAS, COLUMNS)):
        for columns, repeats in ({128: 1} if quick else sizes).items():
            yield _crossing(X, y, columns, alphas, repeats)
    yield _in_single(X, y, 128 if quick else IN_SINGLE, 1 if quick else 3)


def _crossing(X: np.ndarray, y: np.ndarray, columns: int, alphas: tuple[float, ...], repeats: int) -> dict[str, Any]:
    settings = {"features": RandomFourierFeatures(columns, gamma=GAMMA, random_state=0), "folds": FOLDS}
    ours = PCGRidgeClassifierCV(alphas, budget={"tolerance": 1e-4}, random_state=0, **settings)
    direct = StreamedRidgeClassifierCV(alphas, **settings)
    name = "one λ" if len(alphas) == 1 else f"{len(alphas)} λ × {FOLDS} folds"
    found = compare(
        f"{name}, n={len(y):,}, {columns:,} columns", lambda: ours.fit(X, y), lambda: direct.fit(X, y), goal=None,
        repeats=repeats, peer_name="our direct ridge", warm_up=False,
    )  # fmt: skip
    outputs = [model.decision_function(X[:2000]) for model in (ours, direct)]
    found |= {"passes": ours.metrics_["passes"], "same_lambda": ours.alpha_ == direct.alpha_}
    return found | {"largest_difference": float(np.abs(outputs[0] - outputs[1]).max())}


def _shared_factors(X: np.ndarray, y: np.ndarray, columns: int, repeats: int) -> dict[str, Any]:
    """A whole fit, with its features and ZᵀZ, by 8 Cholesky factors against 41."""
    features = RandomFourierFeatures(columns, gamma=GAMMA, random_state=0).fit(X)
    Y = np.where(y == y[0], 1.0, -1.0)[:, None]
    Y -= Y.mean()
    found: dict[bool, RidgeSolution] = {}

    def fit(share: bool) -> None:
        statistics = FoldStatistics(columns, FOLDS)
        for fold, rows in enumerate(pairwise(fold_bounds(len(X), FOLDS))):
            for start in range(*rows, default_block_rows(columns)):
                block = slice(start, min(start + default_block_rows(columns), rows[1]))
                statistics.add(fold, features.transform(X[block]), Y[block])
        solver = FoldSolver(statistics, "n", True, statistics.work(len(ALPHAS)))
        if share:
            solver.share_factors(ALPHAS)
        fold_error = cross_validate(FOLDS, ALPHAS, solver.solve, partial(held_out_mse, statistics))
        found[share] = best_solution(ALPHAS, fold_error, partial(solver.solve, range(FOLDS)), path=False)

    goal, wanted = SHARED_GOAL
    row = compare(
        f"{len(ALPHAS)} λ × {FOLDS} folds, n={len(y):,}, {columns:,} columns: a Cholesky factor for all folds",
        partial(fit, True), partial(fit, False), goal=goal if columns == wanted else None, repeats=repeats,
        peer_name="a factor for each fold", warm_up=False,
    )  # fmt: skip
    ours, peer = found[True], found[False]
    row["same_lambda"] = ours.alpha == peer.alpha
    row["largest_relative_difference"] = float(np.linalg.norm(ours.coef - peer.coef) / np.linalg.norm(peer.coef))
    row["errors_differ_by"] = float(np.abs(ours.fold_error / peer.fold_error - 1).max())
    return row


def _in_single(X: np.ndarray, y: np.ndarray, columns: int, repeats: int) -> dict[str, Any]:
    """pcg to the default tolerance on float32 rows, against the same rows in float64."""
    rows = X.astype(np.float32)
    single, double = (
        PCGRidgeClassifierCV(
            [1e-5], features=RandomFourierFeatures(columns, gamma=GAMMA, random_state=0), random_state=0
        )
        for _ in range(2)
    )
    found = compare(
        f"pcg in float32, n={len(y):,}, {columns:,} columns", lambda: single.fit(rows, y), lambda: double.fit(X, y),
        goal=FASTER, repeats=repeats, peer_name="float64", warm_up=False,
    )  # fmt: skip
    same = float(np.mean(single.predict(rows[:2000]) == double.predict(X[:2000])))
    residuals = {f"residual_{each}": model.metrics_["residual"] for each, model in (("32", single), ("64", double))}
    return found | residuals | {"same_labels": same}


def _factorisations(p: int, repeats: int) -> dict[str, Any]:
    """Of one fold: the eigenvectors of ZᵀZ, which serve all λ, against a Cholesky factor for each of 8 λ."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2 * p, p)) * np.logspace(0, -5, p)
    right = Z.T @ rng.normal(size=(2 * p, 1))
    gram, work = TriangleStack(2, p)
    gram.add_gram(Z)
    dense, penalties = Z.T @ Z, [alpha * np.trace(Z.T @ Z) for alpha in ALPHAS]
    found: dict[str, list[np.ndarray]] = {}

    def by_eigenvectors() -> None:
        values, Q = eigh(dense, check_finite=False, driver="evd")
        rotated = Q.T @ right
        found["eigenvectors"] = [Q @ (rotated / (values[:, None] + each)) for each in penalties]

    def by_factors() -> None:
        found["factors"] = []
        for each in penalties:
            work.copy_from(gram)
            work.diagonal[:] += each
            work.cholesky()
            found["factors"].append(work.solve(right))

    by_eigenvectors(), by_factors()
    off = max(
        float(np.linalg.norm(a - b) / np.linalg.norm(b))
        for a, b in zip(found["eigenvectors"], found["factors"], strict=True)
    )  # fmt: skip
    return compare(
        f"8 λ of a fold, {p:,} columns: eigenvectors", by_eigenvectors, by_factors, goal=None, repeats=repeats,
        peer_name="a Cholesky factor for each", warm_up=False, largest_relative_difference=off,
    )  # fmt: skip
