"""Logistic regression of several classes against scikit-learn's, both by L-BFGS at the same threads and loss.

The rows are the training half of letter, 10,000 × 16 of 26 classes, on 64 columns of random Fourier features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from benchmarks.measure import compare, threads
from rffbench import RandomFourierFeatures, data
from rffbench.solvers.logistic import LogisticClassifierCV

COLUMNS, TOLERANCE, GAMMA = 64, 1e-5, 2.0
ALPHAS = (1e-3, 1e-5)
GOAL = 1.0


def run(quick: bool = False) -> list[dict[str, Any]]:
    """One fit for a large and a small penalty; the losses say that both minimise the same."""
    split = data.train_test("letter", seed=0, trial=0, preprocess=["minmax"])
    n = 2_000 if quick else len(split.y_train)
    X, y = np.ascontiguousarray(split.X_train[:n]), split.y_train[:n]
    Z = RandomFourierFeatures(COLUMNS, gamma=GAMMA, random_state=0).fit_transform(X)
    with threads(1):
        return [_against_scikit_learn(Z, y, alpha, 1 if quick else 7) for alpha in ALPHAS]


def _against_scikit_learn(Z: np.ndarray, y: np.ndarray, alpha: float, repeats: int) -> dict[str, Any]:
    ours = LogisticClassifierCV([alpha], tolerance=TOLERANCE)
    peer = LogisticRegression(C=1 / (len(y) * alpha), tol=TOLERANCE, max_iter=1000)
    losses = {
        name: log_loss(y, model.fit(Z, y).predict_proba(Z)) + alpha / 2 * float((model.coef_**2).sum())
        for name, model in (("ours", ours), ("peer", peer))
    }
    return compare(
        f"26 classes, n={len(y):,}, {COLUMNS} columns, λ={alpha:g}", lambda: ours.fit(Z, y), lambda: peer.fit(Z, y),
        goal=GOAL, bound="at most", repeats=repeats, peer_name="LogisticRegression (lbfgs)", warm_up=False,
        **{f"{name}_objective": value for name, value in losses.items()},
    )  # fmt: skip
