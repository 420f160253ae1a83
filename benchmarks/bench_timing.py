"""Seconds that can be compared: what it costs to time features and predictions alone, and what predicting takes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import compare, disturbed, result, thread_counts, threads
from rffbench import RandomFourierFeatures, StreamedRidge, data
from rffbench.config.loading import load_experiment
from rffbench.execution.local import LocalExecutor
from rffbench.trials.spec import TrialResult, TrialSpec
from rffbench.trials.tasks import tasks as tasks_of

COST_GOAL, SMALL_GOAL = 1.5, 3.0
DATASETS = ("eeg", "magic04")


def run(quick: bool = False) -> list[dict[str, Any]]:
    """One trial of Table 3, each size and method, both ways; eight of EEG at the smallest size, from the first row to
    the last; predicting cod-RNA's test rows. Quick: EEG up to 8d."""
    names = DATASETS[:1] if quick else DATASETS
    for name in names:
        data.ensure(name)
    grid = load_experiment("table3").grid()
    large = [
        spec for spec in grid
        if spec.dataset in names and spec.trial < 1 and not (quick and spec.n_features > 112)
    ]  # fmt: skip
    small = [spec for spec in grid if spec.dataset == "eeg" and spec.multiple == 1 and spec.trial < 8]
    return [
        _alone(large, COST_GOAL, rounds=2),
        _alone(small, SMALL_GOAL, rounds=2 if quick else 5, between_rows=True),
        *_predicting(20_000 if quick else 271_617),
    ]


def _alone(grid: list[TrialSpec], goal: float, *, rounds: int, between_rows: bool = False) -> dict[str, Any]:
    """``timing: features`` against the same trials shared, on as many workers as threads; the same scores. Seconds
    count from the start, or ``between_rows`` from the first row to the last."""
    workers = thread_counts()[-1]
    scores: dict[bool, dict[tuple[str, str, int, int], dict[str, float]]] = {}

    def seconds(shared: bool) -> float:
        specs = [replace(spec, timing="shared" if shared else "features") for spec in grid]
        results: list[TrialResult] = []
        at = [perf_counter()]

        def done(result: TrialResult) -> None:
            at.append(perf_counter())
            results.append(result)

        LocalExecutor(workers=workers).run(tasks_of(specs), done, timing="shared" if shared else "features")
        taken = at[-1] - at[1 if between_rows else 0]
        if failed := [each for each in results if each.error]:
            raise RuntimeError(failed[0].error)
        cells = {(each.spec.dataset, each.spec.method, each.spec.n_features, each.spec.trial): each for each in results}
        scores[shared] = {cell: each.metrics for cell, each in cells.items()}
        return taken

    seconds(True)  # everything is compiled
    others = disturbed()
    alone, shared = [], []
    for _ in range(rounds):
        alone.append(seconds(False))
        shared.append(seconds(True))
    names = ", ".join(dict.fromkeys(spec.dataset for spec in grid))
    which = f"{names} 1d, first row to last" if between_rows else names
    return result(
        f"timing: features, {len(grid)} trials of table3 ({which}), {workers} workers", alone, shared, goal=goal,
        bound="at most", unit="s", peer_name="timing: shared", same_scores=scores[True] == scores[False],
        contended=others or disturbed(),
    )  # fmt: skip


def _predicting(n: int) -> list[dict[str, Any]]:
    """Predictions of ridge on all threads against one."""
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(5000, 8)), rng.normal(size=(n, 8))
    found = []
    for frequencies in (128, 1024):
        features = RandomFourierFeatures(2 * frequencies, gamma=0.5, random_state=0)
        model = StreamedRidge(1e-3, features=features).fit(X, np.sin(X[:, 0]))

        def predict(count: int, model: StreamedRidge = model) -> None:
            with threads(count):
                model.predict(rows)

        for count in thread_counts()[1:]:
            name = f"ridge predicts {n:,} rows, d=8, s={frequencies:,}, {count} threads"
            found.append(compare(name, partial(predict, count), partial(predict, 1), goal=None, peer_name="1 thread"))
    return found
