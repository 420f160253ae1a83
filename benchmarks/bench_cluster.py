"""On a dask cluster of this machine: what a trial costs more than with ``local``, what a second worker gains, what one
fit by row blocks, direct or iterative, costs more than here, and what the client comes to hold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import dask
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from benchmarks import cluster_work
from benchmarks.cluster_work import TRIAL_S
from benchmarks.measure import disturbed, result, single, threads
from rffbench import RandomFourierFeatures, data
from rffbench.execution.dask_cluster import DaskExecutor
from rffbench.execution.local import LocalExecutor
from rffbench.process import private_memory
from rffbench.solvers.iterative.pcg import PCGRidgeCV
from rffbench.solvers.ridge import dask_blocks
from rffbench.solvers.ridge.blocks import BlockedRidgeCV
from rffbench.solvers.ridge.streamed import StreamedRidgeCV
from rffbench.trials.spec import TrialResult, TrialSpec

WORKERS = 2
WORK = cluster_work.__name__
OVERHEAD_GOAL_S, SCALING_GOAL, BLOCKS_GOAL, PASSES_GOAL, GROWTH_GOAL = 0.01, 1.8, 1.15, 1.2, 1.1
PASSES = 10
GROUP = 4  # trials of a task where the client's memory is watched
ROWS, COLUMNS, QUICK_ROWS, QUICK_COLUMNS = 200_000, 1024, 30_000, 128
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Overhead and scaling of trials, overhead and scaling of one fit, the client's memory."""
    rows, columns = (QUICK_ROWS, QUICK_COLUMNS) if quick else (ROWS, COLUMNS)
    waiting, computing, watched = (12, 4, 80) if quick else (2000, 100, 20_000)
    repeats = 1 if quick else 3
    others = disturbed()
    with _cluster(1) as one:
        trials_1 = _computing(one, computing, repeats)
        fits_1, fits_here = _fits(one, _direct, rows, columns, repeats, here=True)
        passes_1, passes_here = _fits(one, _iterative, rows, columns, repeats, here=True)
    with _cluster(WORKERS) as two:
        overhead = _overhead(two, waiting)
        trials_2 = _computing(two, computing, repeats)
        fits_2, _ = _fits(two, _direct, rows, columns, repeats)
        passes_2, _ = _fits(two, _iterative, rows, columns, repeats)
        memory = _memory(two, watched)
    busy: dict[str, Any] = {"contended": others or disturbed()}
    fit = f"ridge by row blocks on {{}}, {rows:,} × {columns}, 1 thread each"
    iterative = f"pcg by row blocks on {{}}, {rows:,} × {columns}, {PASSES} passes, 1 thread each"
    rate = rows * columns**2 / 2 / median(fits_1)
    return [
        {**overhead, **busy},
        result(
            f"{WORKERS} dask workers, {computing} trials that compute", trials_2, trials_1, goal=SCALING_GOAL,
            bound="at least", unit="s", peer_name="1 dask worker", **busy,
        ),
        result(
            fit.format("1 dask worker"), fits_1, fits_here, goal=BLOCKS_GOAL, bound="at most", unit="s",
            peer_name="the same fit here", multiply_adds_a_second=rate, **busy,
        ),
        result(
            fit.format(f"{WORKERS} dask workers"), fits_2, fits_1, goal=SCALING_GOAL, bound="at least", unit="s",
            peer_name="1 dask worker", **busy,
        ),
        result(
            iterative.format("1 dask worker"), passes_1, passes_here, goal=PASSES_GOAL, bound="at most", unit="s",
            peer_name="the same fit here", **busy,
        ),
        result(
            iterative.format(f"{WORKERS} dask workers"), passes_2, passes_1, goal=SCALING_GOAL, bound="at least",
            unit="s", peer_name="1 dask worker", **busy,
        ),
        memory,
    ]  # fmt: skip


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


def _on_dask(cluster: LocalCluster, work: Callable[..., None]) -> DaskExecutor:
    """An executor on the cluster, whose workers have the process that trials are forked from."""
    executor = DaskExecutor(
        Asked([]), lambda: (Client(cluster, set_as_default=False), None), work=f"{WORK}:{work.__name__}",
        ensure=f"{WORK}:have_it", timeout=120.0,
    )  # fmt: skip
    executor.run([[spec] for spec in _specs(2 * len(cluster.workers))], [].append)
    return executor


def _cluster(workers: int) -> LocalCluster:
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0,
        env=ONE_THREAD,
    )  # fmt: skip
    cluster.wait_for_workers(workers, timeout=120)
    return cluster


def _seconds(executor: Any, specs: list[TrialSpec]) -> float:
    """Of all trials, a task each."""
    results: list[TrialResult] = []
    started = perf_counter()
    executor.run([[spec] for spec in specs], results.append)
    seconds = perf_counter() - started
    if failed := [each.error for each in results if each.error]:
        raise RuntimeError(failed[0]["message"])
    return seconds


def _overhead(cluster: LocalCluster, trials: int) -> dict[str, Any]:
    specs = _specs(trials)
    local = LocalExecutor(workers=WORKERS, threads=1, work=f"{WORK}:wait")
    _seconds(local, specs[:4])
    here = _seconds(local, specs)
    executor = _on_dask(cluster, cluster_work.wait)
    there = _seconds(executor, specs)
    executor.close()
    return single(
        f"seconds a trial more than local takes, {trials:,} trials of {1e3 * TRIAL_S:g} ms, {WORKERS} workers, "
        "a task each", [(there - here) / trials], (there - here) / trials, goal=OVERHEAD_GOAL_S,
        peer=f"local: {1e3 * here / trials:.1f} ms a trial", unit="s", local_s=here, dask_s=there,
    )  # fmt: skip


def _computing(cluster: LocalCluster, trials: int, repeats: int) -> list[float]:
    executor = _on_dask(cluster, cluster_work.compute)
    try:
        return [_seconds(executor, _specs(trials)) for _ in range(repeats)]
    finally:
        executor.close()


def _memory(cluster: LocalCluster, trials: int) -> dict[str, Any]:
    """What this process, the client, holds after a tenth of the trials, and after all."""
    specs, done, held = _specs(trials), 0, list[float]()

    def count(outcome: TrialResult) -> None:
        nonlocal done
        done += 1
        if done % (trials // 10) == 0:
            held.append((private_memory() or 0) / 1e6)

    executor = _on_dask(cluster, cluster_work.nothing)
    executor.run((specs[start : start + GROUP] for start in range(0, trials, GROUP)), count)
    executor.close()
    return single(
        f"growth of the client's memory from the {trials // 10:,}th trial to the {trials:,}th", held,
        held[-1] / held[0], goal=GROWTH_GOAL, peer="1 is flat", unit="MB",
    )  # fmt: skip


# ---- One fit -----------------------------------------------------------------------------------------------


def _direct(blocks: bool, features: RandomFourierFeatures) -> Any:
    return (BlockedRidgeCV if blocks else StreamedRidgeCV)([1e-7, 1e-6], folds=2, features=features)


def _iterative(blocks: bool, features: RandomFourierFeatures) -> Any:
    return PCGRidgeCV(
        [1e-7, 1e-6], folds=2, features=features, rank=200, budget={"passes": PASSES, "tolerance": 1e-12},
        random_state=0, blocks="dask" if blocks else None,
    )  # fmt: skip


def _fits(
    cluster: LocalCluster, make: Callable[[bool, RandomFourierFeatures], Any], rows: int, columns: int, repeats: int,
    here: bool = False,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Seconds of the fit by the cluster's workers, and, in turn with it, of the same one in this process."""
    split = data.train_test("generated", seed=0, trial=0, train_rows=rows)

    def seconds(blocks: bool) -> float:
        model = make(blocks, RandomFourierFeatures(columns, gamma=0.2, random_state=0))
        started = perf_counter()
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # its passes are counted
            model.fit(split.X_train, split.y_train)
        return perf_counter() - started

    dask_blocks._engine.cache_clear()
    theirs, ours = list[float](), list[float]()
    with dask.config.set({"scheduler-address": cluster.scheduler_address}), dask_blocks.engine() as engine:
        seconds(True)  # does not count
        for _ in range(repeats):
            theirs.append(seconds(True))
            if here:
                with threads(1):
                    ours.append(seconds(False))
        engine.client.close()
    dask_blocks._engine.cache_clear()
    return theirs, ours
