"""xRFM on the splits of `board-choice`, with its settings chosen by rows that are held out; a line of a CSV a trial.

A recursive feature machine is kernel ridge regression with the kernel exp(−‖M^½(x − x′)‖/L), or with the 1-norm there:
fit it, set M to the root of the mean outer product of the gradients, and fit again; the round that predicts a held-out
fifth of the rows best is kept. Where there are more rows than a machine takes, a tree splits them among several.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rffbench

PATH = Path(__file__).resolve().parents[2] / "results" / "studies" / "xrfm.csv"
UNCLIPPED = ("optdigits", "penbased", "usps")  # their inputs have one scale, as on the board
DATASETS = (
    "phoneme", "spambase", "ring", "twonorm", "satimage", "penbased", "optdigits", "usps", "eeg", "magic04", "letter",
    "kin8nm", "cpu-act", "powerplant", "elevators", "pol", "bike", "california",
)  # fmt: skip
"""The board's sets with at most 20,000 training rows and 300 inputs."""
SEED, TRIALS = 47, 5  # of board-choice
GRID = [*product(("l2", "l1"), (2.5, 5.0, 10.0, 20.0, 40.0), (1e-5, 1e-3, 1e-1))]
"""The norm, the bandwidth L and the ridge."""
CHOICE_ROWS, HELD_OUT, ROUNDS, LEAF = 3000, 0.2, 5, 10_000


@dataclass(frozen=True)
class Trial:
    """The ``loss`` on the test rows: the share of wrong labels, or the mean square error. ``seconds`` are those of the
    process, of the choice and of the fit."""

    dataset: str
    trial: int
    loss: float
    norm: str
    bandwidth: float
    penalty: float
    choice_s: float
    fit_s: float


def rows(path: Path = PATH) -> list[Trial]:
    """What was measured."""
    if not path.exists():
        return []
    kinds = {"dataset": str, "trial": int, "norm": str}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Trial(**{key: kinds.get(key, float)(value) for key, value in row.items()}) for row in csv.DictReader(file)
        ]


def run(say: Callable[[str], None], path: Path = PATH) -> None:
    """Measure what is missing, trial by trial over all datasets, and append a line for each."""
    done = {(each.dataset, each.trial) for each in rows(path)}
    for trial, dataset in product(range(TRIALS), DATASETS):
        if (dataset, trial) in done:
            continue
        found = measured(dataset, trial)
        new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=[*asdict(found)], lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(asdict(found))
        say(f"{dataset}, trial {trial}: loss {found.loss:.4g} in {found.choice_s + found.fit_s:.0f} s")


def measured(dataset: str, trial: int) -> Trial:
    """One trial."""
    preprocess = ("minmax",) if dataset in UNCLIPPED else ("clip", "standard")
    split = rffbench.train_test(dataset, seed=SEED, trial=trial, preprocess=preprocess)
    X, X_test = (np.asarray(part[:], dtype=np.float32) for part in (split.X_train, split.X_test))
    labels = split.task == "classification"
    y, y_test, scale = _targets(np.asarray(split.y_train), np.asarray(split.y_test), labels=labels)
    order = np.random.default_rng((SEED, trial)).permutation(len(X))
    started = perf_counter()
    losses = [_fitted(each, X, y, order[:CHOICE_ROWS])[1] for each in GRID]
    chosen = GRID[int(np.nanargmin(losses))]
    between = perf_counter()
    model, _ = _fitted(chosen, X, y, order)
    seconds = between - started, perf_counter() - between
    outputs = _outputs(model, X_test, labels=labels)
    wrong = outputs.argmax(axis=1) != y_test if labels else (scale * (outputs[:, 0] - y_test[:, 0])) ** 2
    return Trial(dataset, trial, float(np.mean(wrong)), *chosen, *(round(each, 2) for each in seconds))


def _targets(y: NDArray, y_test: NDArray, *, labels: bool) -> tuple[NDArray, NDArray, float]:
    """Labels as 0, 1, …, or values of deviation 1 around 0 (n, 1), float32; and that deviation."""
    if labels:
        classes = np.unique(y)
        return np.searchsorted(classes, y), np.searchsorted(classes, y_test), 1.0
    mean, scale = float(y.mean()), float(y.std())
    return *(((each - mean) / scale).astype(np.float32)[:, None] for each in (y, y_test)), scale  # type: ignore[return-value]


def _fitted(settings: tuple[str, float, float], X: NDArray, y: NDArray, order: NDArray) -> tuple[Any, float]:
    """A fit to these rows, and its loss on those that are held out: Brier's, or the mean square error."""
    from torch import device
    from xrfm import xRFM

    norm, bandwidth, penalty = settings
    labels = y.ndim == 1
    model = xRFM(
        {
            "model": {"kernel": norm, "bandwidth": bandwidth, "exponent": 1.0, "diag": False},
            "fit": {"reg": penalty, "iters": ROUNDS, "early_stop_rfm": True, "verbose": False},
        },
        max_leaf_size=LEAF, device=device("cpu"), tuning_metric="brier" if labels else "mse", random_state=0,
        verbose=False,
    )  # fmt: skip
    held, kept = np.split(order, [round(HELD_OUT * len(order))])
    model.fit(X[kept], y[kept], X[held], y[held])
    truth = np.eye(int(y.max()) + 1)[y[held]] if labels else y[held]
    return model, float(np.mean((_outputs(model, X[held], labels=labels) - truth) ** 2))


def _outputs(model: Any, X: NDArray, *, labels: bool) -> NDArray[np.float64]:
    """Probabilities (n, classes), or values (n, 1)."""
    found = np.asarray(model.predict_proba(X) if labels else model.predict(X), dtype=np.float64)
    return found.reshape(len(X), -1)
