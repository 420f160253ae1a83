"""Ridge on random binning, of many more columns than rows, against scikit-learn's ``sparse_cg`` on the same matrix.

Both sides fit the map and then solve by conjugate gradients, to the same relative residual of the equations that each
solves: scikit-learn those of the rows, for one target after another. The share of test labels that differ is in the
numbers. One thread each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from benchmarks.measure import compare, extra_memory, result, threads
from rffbench import RandomBinningFeatures, data
from rffbench.solvers.iterative.pcg import PCGRidgeCV

Case = tuple[str, int | None, int, float]  # the dataset, its training rows (None: all), grids, and γ

LAMBDA, TOLERANCE, STEPS = 0.01, 1e-3, 1000
PEER = "scikit-learn, sparse_cg"
FULL: list[Case] = [("penbased", None, 512, 3.16), ("penbased", None, 64, 0.56), ("ijcnn1", 35_000, 64, 2.23)]
QUICK: list[Case] = [("penbased", 1000, 16, 3.16)]


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Seconds and memory of each case."""
    with threads(1):
        for case in QUICK if quick else FULL:
            sides = [_Side(case, ours) for ours in (True, False)]
            name = (
                f"{case[0]}, n={sides[0].Y.shape[0]:,}, {sides[0].Y.shape[1]} targets, {case[2]} grids, γ={case[3]:g}"
            )
            found = compare(name, sides[0].fit, sides[1].fit, goal=None, repeats=1 if quick else 3, peer_name=PEER)
            labels = [side.labels() for side in sides]
            columns, metrics = sides[0].made.features_.n_columns_, sides[0].made.metrics_
            yield found | {
                "columns": columns, "passes": metrics["passes"],
                "labels_that_differ": float(np.mean(labels[0] != labels[1])),
            }  # fmt: skip
            used = [extra_memory(_work, case, ours) / 1e6 for ours in (True, False)]
            yield result(
                f"extra memory: {name}", used[:1], used[1:], goal=None, bound="at least", peer_name=PEER, unit="MB"
            )


class _Side:
    """A side's estimator, and the data of the case."""

    def __init__(self, case: Case, ours: bool) -> None:
        dataset, rows, grids, gamma = case
        split = data.train_test(dataset, seed=0, trial=0, preprocess=["minmax"], train_rows=rows)
        self.X, self.X_test = np.asarray(split.X_train[:]), np.asarray(split.X_test[:])
        self.Y = 2.0 * (split.y_train[:, None] == np.unique(split.y_train)) - 1
        self.Y = self.Y if self.Y.shape[1] > 2 else self.Y[:, 1:]
        features = RandomBinningFeatures(grids, gamma=gamma, random_state=0)
        if ours:
            budget = {"passes": STEPS, "tolerance": TOLERANCE}
            self.made: Any = PCGRidgeCV([LAMBDA], features=features, lambda_scale=1, center=False, budget=budget)
        else:
            peer = Ridge(LAMBDA, fit_intercept=False, solver="sparse_cg", tol=TOLERANCE, max_iter=STEPS)
            self.made = make_pipeline(features, peer)

    def fit(self) -> None:
        self.made.fit(self.X, self.Y)

    def labels(self) -> NDArray:
        """The predicted classes of the test rows."""
        outputs = self.made.predict(self.X_test).reshape(len(self.X_test), -1)
        return outputs[:, 0] > 0 if outputs.shape[1] == 1 else np.argmax(outputs, axis=1)


def _work(case: Case, ours: bool) -> Callable[[], object]:
    return _Side(case, ours).fit
