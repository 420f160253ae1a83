"""Falkon on four fifths of covtype: 464,809 rows, 5,000 landmarks, one λ, in ten minutes and 4 GB."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import result, single
from rffbench import data
from rffbench.io.process import Contention, peak_memory, reset_peak
from rffbench.solvers.iterative.falkon import FalkonClassifierCV

SPLIT = {"rule": "random", "train": 464_809, "test": 116_203}
GAMMA, LAMBDA, LANDMARKS = 10.0, 1e-7, 5000
TEN_MINUTES, FOUR_GB = 600.0, 4e3


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Seconds of the fit, and what the process holds at its peak, the rows among it."""
    split = data.train_test(
        "covtype", seed=0, trial=0, preprocess=["minmax"], split=SPLIT, train_rows=3000 if quick else None
    )
    model = FalkonClassifierCV(
        [LAMBDA], gamma=GAMMA, n_landmarks=200 if quick else LANDMARKS, budget={"tolerance": 1e-3}, random_state=0
    )
    reset_peak()
    with Contention() as contention:
        started = perf_counter()
        model.fit(split.X_train, split.y_train)
        seconds = perf_counter() - started
    held = (peak_memory() or 0) / 1e6
    accuracy = float(np.mean(model.predict(split.X_test) == split.y_test))
    name = f"covtype, n={len(split.y_train):,}, {model.n_landmarks:,} landmarks"
    yield result(
        name, [seconds], [TEN_MINUTES], goal=1.0, bound="at least", peer_name="ten minutes", unit="s",
        contended=contention.contended, accuracy=accuracy, **model.metrics_, **model.timing_,
    )  # fmt: skip
    yield single(f"{name}: memory", [held], held / FOUR_GB, goal=1.0, peer="4 GB", unit="MB")
