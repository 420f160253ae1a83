"""Leverage scores and their surrogate: the time to generate the training features, weights included, beside RFF's.

Maps are fitted to, and applied to, EEG's training rows at s = 128d, as written in Liu et al. 2020, Table 3. Their
times there are RFF 0.82 s, surrogate 0.96 s and leverage 3.91 s: 1.2 and 4.8 times RFF's. Features are made as a
ridge fit takes them, block by block in one buffer, a frequency that was drawn more than once only once; what all
columns take, as ``transform`` gives them, is shown beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import compare, thread_counts, threads
from rffbench import LeverageScoreFeatures, RandomFourierFeatures, SurrogateLeverageFeatures, data
from rffbench.errors import DataError
from rffbench.linalg.trigonometric import warm_up
from rffbench.solvers.base import default_block_rows

N_TRAIN, DIMENSION, MULTIPLE = 7_490, 14, 128
GAMMA, SCORE_LAMBDA = 0.5, 0.05
GOAL = 1.3  # for the surrogate's
PAPER = {"surrogate": 0.96 / 0.82, "leverage": 3.91 / 0.82}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Both methods against RFF, on one thread and on all; a quick run has 16d and a fifth of the rows."""
    X, y, source = rows()
    multiple = MULTIPLE
    if quick:
        X, y, multiple = X[: N_TRAIN // 5], y[: N_TRAIN // 5], 16
    repeats = {"surrogate": 5, "leverage": 2} if quick else {"surrogate": 21, "leverage": 3}
    warm_up(X.dtype)
    results = []
    for count in thread_counts():
        with threads(count):
            for method in repeats:
                results += _against_rff(method, X, y, multiple, repeats[method], source, count)
    return results


def rows() -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """EEG's training rows and labels where the data can be had, else made-up ones of that shape; and which."""
    try:
        data.ensure("eeg")
    except DataError:
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(N_TRAIN, DIMENSION))
        return X, np.sign(np.sin(9 * X[:, 0]) + 0.3 * rng.normal(size=N_TRAIN)), "made-up rows"
    split = data.train_test("eeg", seed=0, trial=0, preprocess=["minmax"], preprocess_fit="all", dtype="float64")
    return np.asarray(split.X_train), split.y_train, "EEG"


def _against_rff(
    method: str, X: NDArray, y: NDArray, multiple: int, repeats: int, source: str, count: int
) -> list[dict[str, Any]]:
    s = multiple * X.shape[1]
    common = {"kernel": "gaussian", "gamma": GAMMA, "random_state": 0}
    features: Any = SurrogateLeverageFeatures(2 * s, **common)
    if method == "leverage":
        features = LeverageScoreFeatures(2 * s, score_lambda=SCORE_LAMBDA, **common)
    rff = RandomFourierFeatures(2 * s, **common)
    buffer = np.zeros((default_block_rows(2 * s), 2 * s), X.dtype)
    distinct_frequencies = len(np.unique(features.fit(X, y).frequencies_[0]))
    where = f"{source}, n={len(X):,}, s={s:,} ({multiple}d), {count} thread{'s' * (count > 1)}"

    def generate(features: Any, once: bool) -> None:
        fitted = features.fit(X, y)
        if once and (distinct := fitted.distinct()):
            fitted = distinct.features
        for start in range(0, len(X), len(buffer)):
            block = X[start : start + len(buffer)]
            fitted.fill(block, buffer[: len(block), : fitted.n_components])

    return [
        compare(
            f"{method}: {what} of {where}; the paper: {PAPER[method]:.1f}",
            lambda once=once: generate(features, once),
            lambda: generate(rff, False),
            goal=goal,
            bound="at most",
            repeats=repeats,
            peer_name="RFF",
            paper=PAPER[method],
            distinct=distinct_frequencies,
            threads=count,
        )
        for what, once, goal in (
            ("features", True, GOAL if method == "surrogate" else None),
            ("features, equal ones again,", False, None),
        )
    ]
