"""Iterative solvers: from how many columns on pcg is faster than our direct ridge; falkon on all rows of covtype; what
one factorisation for all λ would save.

The crossing is on rows of covtype, Gaussian kernel, at one λ and at 8 λ × 5 folds: the direct solve makes ZᵀZ once and
41 Cholesky factors. Both have the same features, and the predictions' largest difference is in the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh

from benchmarks.measure import compare, result, single
from rffbench import RandomFourierFeatures, data
from rffbench.linalg.triangles import TriangleStack
from rffbench.process import Contention, peak_memory, reset_peak
from rffbench.solvers.iterative.falkon import FalkonClassifierCV
from rffbench.solvers.iterative.pcg import PCGRidgeClassifierCV
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV

GAMMA, ALPHAS = 10.0, tuple(10.0**-k for k in range(7, -1, -1))
COLUMNS = {1024: 3, 2048: 3, 4096: 1, 8192: 1}  # and how often each is timed
ROWS, LANDMARKS = 30_000, 5000
FOUR_FIFTHS = {"rule": "random", "train": 464_809, "test": 116_203}
TEN_MINUTES, FOUR_GB = 600.0, 4e3


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Falkon, the factorisations, and the crossing."""
    yield from _falkon(quick)
    yield _factorisations(128 if quick else 2048, 1 if quick else 3)
    split = data.train_test("covtype", seed=0, trial=0, preprocess=["minmax"], train_rows=3000 if quick else ROWS)
    X, y = np.asarray(split.X_train[:]), np.asarray(split.y_train)
    for alphas in ((1e-5,), ALPHAS):
        for columns, repeats in ({128: 1} if quick else COLUMNS).items():
            yield _crossing(X, y, columns, alphas, repeats)


def _crossing(X: np.ndarray, y: np.ndarray, columns: int, alphas: tuple[float, ...], repeats: int) -> dict[str, Any]:
    settings = {"features": RandomFourierFeatures(columns, gamma=GAMMA, random_state=0), "folds": 5}
    ours = PCGRidgeClassifierCV(alphas, budget={"tolerance": 1e-4}, random_state=0, **settings)
    direct = StreamedRidgeClassifierCV(alphas, **settings)
    name = "one λ" if len(alphas) == 1 else f"{len(alphas)} λ × 5 folds"
    found = compare(
        f"{name}, n={len(y):,}, {columns:,} columns", lambda: ours.fit(X, y), lambda: direct.fit(X, y), goal=None,
        repeats=repeats, peer_name="our direct ridge", warm_up=False,
    )  # fmt: skip
    outputs = [model.decision_function(X[:2000]) for model in (ours, direct)]
    found |= {"passes": ours.metrics_["passes"], "same_lambda": ours.alpha_ == direct.alpha_}
    return found | {"largest_difference": float(np.abs(outputs[0] - outputs[1]).max())}


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


def _falkon(quick: bool) -> Iterator[dict[str, Any]]:
    """Four fifths of covtype, one λ: seconds, and what the process holds at its peak, the rows among it."""
    split = data.train_test(
        "covtype", seed=0, trial=0, preprocess=["minmax"], split=FOUR_FIFTHS, train_rows=3000 if quick else None
    )
    model = FalkonClassifierCV(
        [1e-7], gamma=GAMMA, n_landmarks=200 if quick else LANDMARKS, budget={"tolerance": 1e-3}, random_state=0
    )
    reset_peak()
    with Contention() as contention:
        started = perf_counter()
        model.fit(split.X_train, split.y_train)
        seconds = perf_counter() - started
    held = (peak_memory() or 0) / 1e6
    accuracy = float(np.mean(model.predict(split.X_test) == split.y_test))
    name = f"falkon, covtype, n={len(split.y_train):,}, {model.n_landmarks:,} landmarks"
    yield result(
        name, [seconds], [TEN_MINUTES], goal=1.0, bound="at least", peer_name="ten minutes", unit="s",
        contended=contention.contended, accuracy=accuracy, **model.metrics_, **model.timing_,
    )  # fmt: skip
    yield single(f"{name}: memory", [held], held / FOUR_GB, goal=1.0, peer="4 GB", unit="MB")
