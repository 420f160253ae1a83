"""What a user would write with scikit-learn: GridSearchCV over a pipeline of a map and a learner, against ours.

Both choose the penalty by the same folds, grid and score, and fit once more to all rows; scikit-learn's pipeline maps
the rows anew for every fold and penalty. The rows are made up, of ten standard normal inputs. Memory is what a process
grows by, beside the rows. The scores of both are in the numbers: they differ by the draw of the map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from benchmarks.measure import compare, extra_memory, result, thread_counts, threads
from rffbench import LogisticClassifierCV, NystroemFeatures, RandomFourierFeatures, StreamedRidgeCV

INPUTS, FOLDS, SEED, TEST_ROWS = 10, 5, 0, 2_000
GAMMA = 1 / (2 * INPUTS)
LAMBDAS = [1e-5, 1e-4, 1e-3, 1e-2]  # of the mean loss of a row
MAPS = {
    "Fourier": (RandomFourierFeatures, RBFSampler, "RBFSampler"),
    "Nyström": (NystroemFeatures, Nystroem, "Nystroem"),
}
GOALS = {"Fourier": 25.0, "Nyström": 15.0, 2: 5.0, 10: 4.0, "memory": 4.0}
RIDGE = [
    (10_000, 512, "float64", 5), (10_000, 512, "float32", 5),
    (10_000, 1024, "float64", 3), (10_000, 1024, "float32", 3),
    (50_000, 512, "float64", 1),
]  # fmt: skip
"""Rows, columns, precision, repeats. The pipeline's seconds grow with the rows: 200,000 would take it minutes a fit."""
LOGISTIC = [
    (10_000, 512, 2, "float64", 3), (10_000, 512, 2, "float32", 3), (20_000, 512, 2, "float64", 3),
    (10_000, 512, 10, "float64", 1),
]  # fmt: skip
"""Rows, columns, classes, precision, repeats."""
MEMORY = (20_000, 512)


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Ridge with either map, logistic regression with Fourier features, and the memory of a fit."""
    ridges = [(2_000, 64, "float64", 1), (2_000, 64, "float32", 1)] if quick else RIDGE
    logistics = [(1_000, 64, 2, "float64", 1), (1_000, 64, 10, "float32", 1)] if quick else LOGISTIC
    with threads(thread_counts()[-1]):
        for map_ in MAPS:
            _load(map_)
            for n, columns, dtype, repeats in ridges:
                yield _ridge(map_, n, columns, dtype, repeats)
        for n, columns, classes, dtype, repeats in logistics:
            yield _logistic(n, columns, classes, dtype, repeats)
    n, columns = (2_000, 64) if quick else MEMORY
    for map_ in MAPS:
        ours, peer = (extra_memory(_ridge_work, side, map_, n, columns) / 1e6 for side in ("ours", "peer"))
        yield result(
            f"memory: ridge, {map_} features, n={n:,}, {columns:,} columns", [ours], [peer], goal=GOALS["memory"],
            bound="at least", peer_name=f"GridSearchCV({MAPS[map_][2]}, Ridge)", unit="MB",
        )  # fmt: skip
    for classes in (2, 10):
        ours, peer = (extra_memory(_logistic_work, side, n, columns, classes) / 1e6 for side in ("ours", "peer"))
        yield result(
            f"memory: logistic regression, {classes} classes, n={n:,}, {columns:,} columns", [ours], [peer],
            goal=GOALS["memory"], bound="at least", unit="MB",
            peer_name="GridSearchCV(RBFSampler, LogisticRegression)",
        )  # fmt: skip


def _rows(n: int, dtype: str = "float64") -> tuple[NDArray, NDArray[np.float64]]:
    """X, and a smooth target with noise of a quarter of its spread."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, INPUTS))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + 0.5 * X[:, 3]
    return X.astype(dtype), y + rng.normal(scale=0.25 * y.std(), size=n)


def _ridge_fits(map_: str, n: int, columns: int, dtype: str = "float64") -> tuple[Callable[[], Any], Callable[[], Any]]:
    X, y = _rows(n, dtype)
    ours, peer, _ = MAPS[map_]
    features = ours(columns, gamma=GAMMA, random_state=SEED)
    search = GridSearchCV(
        make_pipeline(peer(n_components=columns, gamma=GAMMA, random_state=SEED), Ridge()),
        {"ridge__alpha": [value * n for value in LAMBDAS]}, cv=KFold(FOLDS), scoring="neg_mean_squared_error",
    )  # fmt: skip
    model = StreamedRidgeCV(LAMBDAS, folds=FOLDS, features=features)
    return lambda: model.fit(X, y), lambda: search.fit(X, y)


def _load(map_: str) -> None:
    """Tiny fits, which load the code of both sides, or compile it."""
    for dtype in ("float64", "float32"):
        for fit in _ridge_fits(map_, 500, 16, dtype):
            fit()


def _ridge_work(side: str, map_: str, n: int, columns: int) -> Callable[[], Any]:
    _load(map_)
    return _ridge_fits(map_, n, columns)[side == "peer"]


def _ridge(map_: str, n: int, columns: int, dtype: str, repeats: int) -> dict[str, Any]:
    ours, peer = _ridge_fits(map_, n, columns, dtype)
    what = f"ridge, {map_} features, n={n:,}, {columns:,} columns, {dtype}"
    found = compare(
        f"{what}; {FOLDS} folds, {len(LAMBDAS)} λ", ours, peer, goal=GOALS[map_], repeats=repeats,
        warm_up=repeats > 1, peer_name=f"GridSearchCV({MAPS[map_][2]}, Ridge)",
    )  # fmt: skip
    X, y = (values[n:] for values in _rows(n + TEST_ROWS, dtype))
    return found | {"mean_square_error": [float(np.mean((fit().predict(X) - y) ** 2)) for fit in (ours, peer)]}


def _logistic_fits(n: int, columns: int, classes: int, dtype: str = "float64") -> tuple[Any, Any, Any]:
    """The two models, and the rows and labels of training and of a test."""
    X, y = _rows(n + TEST_ROWS, dtype)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    features = RandomFourierFeatures(columns, gamma=GAMMA, random_state=SEED)
    ours = LogisticClassifierCV(LAMBDAS, folds=FOLDS, features=features)
    pipeline = make_pipeline(
        RBFSampler(n_components=columns, gamma=GAMMA, random_state=SEED), LogisticRegression(max_iter=1000)
    )
    grid = {"logisticregression__C": [1 / (value * n) for value in LAMBDAS]}
    peer = GridSearchCV(pipeline, grid, cv=KFold(FOLDS), scoring="neg_log_loss")
    return (ours, peer), (X[:n], labels[:n]), (X[n:], labels[n:])


def _logistic_work(side: str, n: int, columns: int, classes: int) -> Callable[[], Any]:
    for model in _logistic_fits(500, 16, classes)[0]:
        model.fit(*_logistic_fits(500, 16, classes)[1])
    models, rows, _ = _logistic_fits(n, columns, classes)
    return lambda: models[side == "peer"].fit(*rows)


def _logistic(n: int, columns: int, classes: int, dtype: str, repeats: int) -> dict[str, Any]:
    models, rows, (X, labels) = _logistic_fits(n, columns, classes, dtype)
    ours, peer = models
    what = f"logistic regression, {classes} classes, Fourier features, n={n:,}, {columns:,} columns, {dtype}"
    found = compare(
        f"{what}; {FOLDS} folds, {len(LAMBDAS)} λ", lambda: ours.fit(*rows), lambda: peer.fit(*rows),
        goal=GOALS[classes], repeats=repeats, warm_up=repeats > 1,
        peer_name="GridSearchCV(RBFSampler, LogisticRegression)",
    )  # fmt: skip
    return found | {"accuracy": [float(np.mean(model.predict(X) == labels)) for model in models]}
