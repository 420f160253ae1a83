"""On a dask cluster of this machine: what a trial costs more than with ``local``, what a second worker gains, what one
fit by row blocks costs more than here, and what the client comes to hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.measure import disturbed, result, single, threads
from rffbench import RandomFourierFeatures, data
from rffbench.data.rows import Rows
from rffbench.execution.channel import Channel
from rffbench.execution.dask_cluster import DaskExecutor
from rffbench.execution.local import LocalExecutor
from rffbench.process import private_memory
from rffbench.solvers.ridge import dask_blocks
from rffbench.solvers.ridge.blocks import BlockedRidgeCV
from rffbench.solvers.ridge.streamed import StreamedRidgeCV
from rffbench.trials.spec import TrialResult, TrialSpec

WORKERS = 2
TRIAL_S = 0.02
OVERHEAD_GOAL_S, SCALING_GOAL, BLOCKS_GOAL, GROWTH_GOAL = 0.01, 1.8, 1.15, 1.1
BUSY, BUSY_SIZE = 60, 400  # products of square matrices in a trial that computes
GROUP = 4  # trials of a task where the client's memory is watched
ROWS, COLUMNS, QUICK_ROWS, QUICK_COLUMNS = 200_000, 1024, 30_000, 128
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Overhead and scaling of trials, overhead and scaling of one fit, the client's memory."""
    rows, columns = (QUICK_ROWS, QUICK_COLUMNS) if quick else (ROWS, COLUMNS)
    repeats = 1 if quick else 3
    return [
        _overhead(40 if quick else 2000),
        _scaling(8 if quick else 100, repeats),
        _one_fit(rows, columns, repeats),
        _two_fits(rows, columns, repeats),
        _memory(400 if quick else 20_000),
    ]


# ---- Trials ------------------------------------------------------------------------------------------------


class Asked:
    """What an executor asks of an experiment."""

    name, time_limit, memory = "cluster", None, None

    def __init__(self, specs: list[TrialSpec]) -> None:
        self.specs = specs

    def grid(self) -> list[TrialSpec]:
        return self.specs


def _specs(count: int) -> list[TrialSpec]:
    return [TrialSpec("none", "", "RFF", 1, trial, 0, {"name": ""}, {"name": ""}, {}) for trial in range(count)]


@contextmanager
def _on_dask(specs: list[TrialSpec], workers: int, work: Callable[..., None]) -> Iterator[DaskExecutor]:
    def connect() -> tuple[Client, LocalCluster]:
        cluster = _cluster(workers)
        return Client(cluster, set_as_default=False), cluster

    executor = DaskExecutor(
        Asked(specs), connect, work=f"{__name__}:{work.__name__}", ensure=f"{__name__}:have_it", timeout=120.0
    )
    try:
        warm: list[TrialResult] = []  # what workers fork from is started now
        executor.run([[spec] for spec in _specs(2 * workers)], warm.append)
        yield executor
    finally:
        executor.close()


def _cluster(workers: int) -> LocalCluster:
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0,
        env=ONE_THREAD,
    )  # fmt: skip
    cluster.wait_for_workers(workers, timeout=120)
    return cluster


def have_it(dataset: str) -> None:
    """No data is needed."""


def wait(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Trials that take TRIAL_S each, and no processor."""
    _do(specs, channel, lambda: time.sleep(TRIAL_S))


def compute(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Trials that keep one thread busy."""
    A = np.random.default_rng(0).random((BUSY_SIZE, BUSY_SIZE))
    with threads(1):
        _do(specs, channel, lambda: [A @ A for _ in range(BUSY)])


def nothing(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Trials that do nothing."""
    _do(specs, channel, lambda: None)


def _do(specs: Sequence[TrialSpec], channel: Channel, trial: Callable[[], object]) -> None:
    for spec in specs:
        channel.begin(spec)
        trial()
        channel.result(TrialResult(spec, "ok"))


def _seconds(executor: Any, specs: list[TrialSpec]) -> float:
    """Of all trials, a task each."""
    results: list[TrialResult] = []
    started = perf_counter()
    executor.run([[spec] for spec in specs], results.append)
    seconds = perf_counter() - started
    if failed := [each.error for each in results if each.error]:
        raise RuntimeError(failed[0]["message"])
    return seconds


def _overhead(trials: int) -> dict[str, Any]:
    specs, others = _specs(trials), disturbed()
    local = LocalExecutor(workers=WORKERS, threads=1, work=f"{__name__}:wait")
    _seconds(local, specs[:4])
    here = _seconds(local, specs)
    with _on_dask(specs, WORKERS, wait) as executor:
        there = _seconds(executor, specs)
    return single(
        f"seconds a trial more than local takes, {trials:,} trials of {1e3 * TRIAL_S:g} ms, {WORKERS} workers, "
        "a task each", [(there - here) / trials], (there - here) / trials, goal=OVERHEAD_GOAL_S,
        peer=f"local: {1e3 * here / trials:.1f} ms a trial", unit="s", local_s=here, dask_s=there,
        contended=others or disturbed(),
    )  # fmt: skip


def _scaling(trials: int, repeats: int) -> dict[str, Any]:
    specs, others = _specs(trials), disturbed()
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for workers, found in seconds.items():
        with _on_dask(specs, workers, compute) as executor:
            found += [_seconds(executor, specs) for _ in range(repeats)]
    return result(
        f"2 dask workers, {trials} trials that compute", seconds[2], seconds[1], goal=SCALING_GOAL, bound="at least",
        unit="s", peer_name="1 dask worker", contended=others or disturbed(),
    )  # fmt: skip


def _memory(trials: int) -> dict[str, Any]:
    """What this process, the client, holds after a tenth of the trials, and after all."""
    specs, done, held = _specs(trials), 0, list[float]()

    def count(outcome: TrialResult) -> None:
        nonlocal done
        done += 1
        if done % (trials // 10) == 0:
            held.append((private_memory() or 0) / 1e6)

    with _on_dask(specs, WORKERS, nothing) as executor:
        executor.run((specs[start : start + GROUP] for start in range(0, trials, GROUP)), count)
    return single(
        f"growth of the client's memory from the {trials // 10:,}th trial to the {trials:,}th", held,
        held[-1] / held[0], goal=GROWTH_GOAL, peer="1 is flat", unit="MB",
    )  # fmt: skip


# ---- One fit -----------------------------------------------------------------------------------------------


@contextmanager
def _engine(workers: int) -> Iterator[None]:
    """Fits by row blocks use a cluster of so many workers, a thread each."""
    dask_blocks._engine.cache_clear()
    with (
        _cluster(workers) as cluster,
        dask.config.set({"scheduler-address": cluster.scheduler_address}),
        dask_blocks.engine() as engine,
    ):
        yield
        engine.client.close()
    dask_blocks._engine.cache_clear()


def _fit(estimator: type, X: Rows, y: Any, columns: int) -> float:
    features = RandomFourierFeatures(columns, gamma=0.2, random_state=0)
    model = estimator([1e-7, 1e-6], folds=2, features=features)
    started = perf_counter()
    model.fit(X, y)
    return perf_counter() - started


def _one_fit(rows: int, columns: int, repeats: int) -> dict[str, Any]:
    split, others = data.train_test("generated", seed=0, trial=0, train_rows=rows), disturbed()
    there, here = list[float](), list[float]()
    with _engine(1):
        _fit(BlockedRidgeCV, split.X_train, split.y_train, columns)
        for _ in range(repeats):
            there.append(_fit(BlockedRidgeCV, split.X_train, split.y_train, columns))
            with threads(1):
                here.append(_fit(StreamedRidgeCV, split.X_train, split.y_train, columns))
    return result(
        f"ridge by row blocks on one dask worker, {rows:,} × {columns}", there, here, goal=BLOCKS_GOAL, bound="at most",
        unit="s", peer_name="the same fit here, 1 thread", contended=others or disturbed(),
        multiply_adds_a_second=rows * columns**2 / 2 / median(there),
    )  # fmt: skip


def _two_fits(rows: int, columns: int, repeats: int) -> dict[str, Any]:
    split, others = data.train_test("generated", seed=0, trial=0, train_rows=rows), disturbed()
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for workers, found in seconds.items():
        with _engine(workers):
            _fit(BlockedRidgeCV, split.X_train, split.y_train, columns)
            found += [_fit(BlockedRidgeCV, split.X_train, split.y_train, columns) for _ in range(repeats)]
    return result(
        f"ridge by row blocks on 2 dask workers, {rows:,} × {columns}", seconds[2], seconds[1], goal=SCALING_GOAL,
        bound="at least", unit="s", peer_name="1 dask worker", contended=others or disturbed(),
        multiply_adds_a_second=rows * columns**2 / 2 / median(seconds[2]),
    )  # fmt: skip
