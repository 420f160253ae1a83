"""Falkon on 20,000 rows of covtype with 1,000 landmarks: in float32 against float64, and the memory of a fit against
that of K_nm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import compare, extra_memory, single
from rffbench import data
from rffbench.solvers.iterative.falkon import FalkonClassifierCV

ROWS, LANDMARKS, REPEATS = 20_000, 1000, 3
GAMMA, LAMBDA = 10.0, 1e-7
FASTER, SHARE = 1.5, 0.25


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Seconds of a fit in both precisions, with the accuracies; and the bytes that a fit needs."""
    rows, landmarks = (3000, 200) if quick else (ROWS, LANDMARKS)
    X, y, new, labels = _rows(rows)
    fits = {dtype: (_model(landmarks), X.astype(dtype), new.astype(dtype)) for dtype in ("float32", "float64")}
    name = f"covtype, n={rows:,}, {landmarks:,} landmarks"
    found = compare(
        f"{name}, float32", lambda: fits["float32"][0].fit(fits["float32"][1], y),
        lambda: fits["float64"][0].fit(fits["float64"][1], y), goal=FASTER, repeats=1 if quick else REPEATS,
        peer_name="float64", warm_up=False,
    )  # fmt: skip
    for dtype, (model, _, rows_of_test) in fits.items():
        found[f"accuracy_{dtype}"] = float(np.mean(model.predict(rows_of_test) == labels))
        found |= {f"{key}_{dtype}": value for key, value in (model.metrics_ | model.timing_).items()}
    yield found
    held, whole = extra_memory(_fit, rows, landmarks) / 1e6, 8 * rows * landmarks / 1e6
    yield single(f"{name}: memory of a fit", [held], held / whole, goal=SHARE, peer="K_nm", unit="MB")


def _rows(n: int) -> tuple[np.ndarray, ...]:
    split = data.train_test("covtype", seed=0, trial=0, preprocess=["minmax"], train_rows=n)
    return tuple(np.asarray(each[:ROWS]) for each in (split.X_train, split.y_train, split.X_test, split.y_test))


def _model(landmarks: int) -> FalkonClassifierCV:
    return FalkonClassifierCV(
        [LAMBDA], gamma=GAMMA, n_landmarks=landmarks, budget={"tolerance": 1e-3}, random_state=0
    )  # fmt: skip


def _fit(rows: int, landmarks: int) -> Any:
    X, y, _, _ = _rows(rows)
    return lambda: _model(landmarks).fit(X, y)
