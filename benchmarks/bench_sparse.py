"""Sparse random features against ℓ1 solvers on all the features at once, random features, and LIBLINEAR afresh.

Each side draws the features it uses; the peers hold them all. All have the same λN, so that Sparse-RF and those that
take all columns at once minimise the same objective; scores of both are in the details.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.svm import LinearSVC

from benchmarks.measure import compare, extra_memory, result, threads
from rffbench import (
    RandomFourierFeatures,
    SparseRandomFeaturesClassifier,
    SparseRandomFeaturesRegressor,
    StreamedRidge,
    data,
)
from rffbench.errors import DataError
from rffbench.solvers.sparse.fully_corrective import warm_up

Case = tuple[str, int | None, int, float]

GAMMA, SCALE = 0.5, 100.0  # σ = 1; CPU's target is a percentage
AT_A_STEP = 100
GOALS = {"time": 5.0, "memory": 20.0}
IJCNN_ROWS = 127_591
NODE_BYTES = 16  # LIBLINEAR keeps each value with its column
RIDGE_LAMBDA = 1.0  # Nλ of random features in the paper

# (dataset, rows or None for all, D, λN of Sparse-RF). All of IJCNN's rows with D = 10,000 would take LIBLINEAR 30 GB,
# and a tenth of them long: it does not converge in its 1000 iterations, for random features are nearly dependent.
FULL: list[Case] = [("ijcnn1", 12_759, 4_000, 10.0), ("cpu", None, 10_000, 1.0)]
AFRESH: Case = ("ijcnn1", 12_759, 300, 10.0)
WHOLE: Case = ("ijcnn1", None, 10_000, 10.0)
QUICK: list[Case] = [("ijcnn1", 2_000, 200, 10.0), ("cpu", 1_000, 200, 1.0)]


def run(quick: bool = False) -> list[dict[str, Any]]:
    """On one thread, which is all that LIBLINEAR and the LASSO's descent use; once each, for they take minutes."""
    results = []
    warm_up("gaussian", np.dtype(np.float32))
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of LIBLINEAR and the LASSO: so it is, and no news
        for case in QUICK if quick else FULL:
            if _is_there(case):
                results += [_time(case, "at-once"), _memory(case, "at-once"), _time(case, "rf"), _memory(case, "rf")]
        afresh = QUICK[0] if quick else AFRESH
        if _is_there(afresh):
            results.append(_time(afresh, "afresh", goal=None))
            if not quick:
                results.append(_whole_at_once())
    return results


def _is_there(case: Case) -> bool:
    try:
        data.ensure(case[0])
    except DataError:
        return False
    return True


def rows(case: Case) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """The paper's inputs and targets, float32: X and y to train on, X and y to test on."""
    split = data.train_test(case[0], seed=0, trial=0, preprocess=["minmax"], dtype="float32")
    scale = SCALE if split.task == "regression" else 1.0
    X, y = np.asarray(split.X_train), split.y_train / scale
    chosen = np.random.default_rng(0).permutation(len(X))[: case[1]]
    return X[chosen], y[chosen], np.asarray(split.X_test), split.y_test / scale


def features(case: Case) -> RandomFourierFeatures:
    return RandomFourierFeatures(case[2], form="offset", gamma=GAMMA, random_state=0)


def fit(case: Case, kind: str, X: NDArray, y: NDArray) -> Callable[[NDArray], NDArray]:
    """The predictions of what is fitted by one of the ways."""
    classes, penalty = case[0] == "ijcnn1", case[3]
    if kind in ("ours", "afresh"):
        options: dict[str, Any] = {
            "gamma": GAMMA, "alpha": penalty, "features_per_step": min(AT_A_STEP, case[2]),
            "steps": max(1, case[2] // AT_A_STEP), "random_state": 0,
        }  # fmt: skip
        if kind == "afresh":
            options["subproblem"] = "liblinear"
        estimator = SparseRandomFeaturesClassifier if classes else SparseRandomFeaturesRegressor
        return estimator(**options).fit(X, y).predict
    unscaled = np.sqrt(case[2] / 2)
    drawn = features(case).fit(X)
    if kind == "rf" and not classes:
        return StreamedRidge(RIDGE_LAMBDA, features=drawn, lambda_scale=1, center=False).fit(X, y).predict
    Z = drawn.transform(X)
    if kind == "rf":
        model = LinearSVC(dual=False, C=1 / RIDGE_LAMBDA, fit_intercept=False).fit(Z, y)
        return lambda rows: model.predict(drawn.transform(rows))
    Z *= unscaled
    if classes:
        model = LinearSVC(penalty="l1", dual=False, C=1 / penalty, fit_intercept=False).fit(Z, y)
    else:
        model = Lasso(penalty / len(X), fit_intercept=False).fit(np.asfortranarray(Z), y)
    return lambda rows: model.predict(drawn.transform(rows) * unscaled)


PEERS = {
    ("at-once", "ijcnn1"): "LIBLINEAR -s 5 on all D", ("at-once", "cpu"): "scikit-learn's Lasso on all D",
    ("rf", "ijcnn1"): "RF, LIBLINEAR -s 2", ("rf", "cpu"): "RF, streamed ridge",
    ("afresh", "ijcnn1"): "the same with LIBLINEAR -s 5 afresh each step",
}  # fmt: skip


def _name(case: Case, n: int) -> str:
    return f"{case[0]}, n={n:,}, D={case[2]:,}, λN={case[3]:g}"


def _time(case: Case, peer: str, goal: float | None = GOALS["time"]) -> dict[str, Any]:
    X, y, X_test, y_test = rows(case)
    scores = {}

    def work(kind: str) -> Callable[[], object]:
        def go() -> None:
            predicted = fit(case, kind, X, y)(X_test)
            right = np.mean(predicted == y_test) if case[0] == "ijcnn1" else np.sqrt(np.mean((predicted - y_test) ** 2))
            scores[kind] = float(right)

        return go

    measured = compare(
        f"train and predict: {_name(case, len(X))}", work("ours"), work(peer), repeats=1, warm_up=False,
        goal=goal, peer_name=PEERS[peer, case[0]], threads=1,
    )  # fmt: skip
    measured["name"] += f"; score {scores['ours']:.4f}, the peer's {scores[peer]:.4f}"
    return measured | {"scores": scores}


def _work(case: Case, kind: str) -> Callable[[], object]:
    X, y, *_ = rows(case)
    warm_up("gaussian", X.dtype)
    return lambda: fit(case, kind, X, y)


def _memory(case: Case, peer: str) -> dict[str, Any]:
    n = len(rows(case)[0])
    return result(
        f"extra memory to train: {_name(case, n)}", [extra_memory(_work, case, "ours") / 1e6],
        [extra_memory(_work, case, peer) / 1e6], goal=GOALS["memory"] if peer == "at-once" else None,
        bound="at least", peer_name=PEERS[peer, case[0]], unit="MB",
    )  # fmt: skip


def _whole_at_once() -> dict[str, Any]:
    """All of IJCNN's rows with D = 10,000: what ours takes, and what LIBLINEAR's copy alone would."""
    return result(
        f"extra memory to train: {_name(WHOLE, IJCNN_ROWS)}; the peer's is computed, its copy of the features alone",
        [extra_memory(_work, WHOLE, "ours") / 1e6], [IJCNN_ROWS * WHOLE[2] * NODE_BYTES / 1e6], goal=GOALS["memory"],
        bound="at least", peer_name=PEERS["at-once", "ijcnn1"], unit="MB",
    )  # fmt: skip
