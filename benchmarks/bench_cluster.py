"""On a dask cluster of this machine: what a trial costs more than with ``local``, what a second worker gains, and what
the client comes to hold."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from distributed import Client, LocalCluster

from benchmarks import cluster_work
from benchmarks.cluster_work import TRIAL_S
from benchmarks.measure import BUILT_IN, disturbed, result, single
from rffbench.execution.dask_cluster import DaskExecutor
from rffbench.execution.local import LocalExecutor
from rffbench.io.process import private_memory
from rffbench.trials.spec import TrialResult, TrialSpec

WORKERS = 2
WORK = cluster_work.__name__
OVERHEAD_GOAL_S, SCALING_GOAL, GROWTH_GOAL = 0.01, 1.8, 1.1
GROUP = 4  # trials of a task where the client's memory is watched
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Overhead and scaling of trials, the client's memory."""
    waiting, computing, watched = (12, 4, 80) if quick else (500, 100, 4_000)
    repeats = 1 if quick else 3
    others = disturbed()
    with cluster_of(1) as one:
        trials_1 = _computing(one, computing, repeats)
    with cluster_of(WORKERS) as two:
        overhead = _overhead(two, waiting)
        trials_2 = _computing(two, computing, repeats)
        memory = _memory(two, watched)
    busy: dict[str, Any] = {"contended": others or disturbed()}
    return [
        {**overhead, **busy},
        result(
            f"{WORKERS} dask workers, {computing} trials that compute", trials_2, trials_1, goal=SCALING_GOAL,
            bound="at least", unit="s", peer_name="1 dask worker", **busy,
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
    return [TrialSpec("none", "", "RFF", 1, trial, 0, *BUILT_IN) for trial in range(count)]


def _on_dask(cluster: LocalCluster, work: Callable[..., None]) -> DaskExecutor:
    """An executor on the cluster, whose workers have the process that trials are forked from."""
    executor = DaskExecutor(
        Asked([]), lambda: (Client(cluster, set_as_default=False), None), work=f"{WORK}:{work.__name__}",
        ensure=f"{WORK}:have_it", timeout=120.0,
    )  # fmt: skip
    executor.run([[spec] for spec in _specs(2 * len(cluster.workers))], [].append)
    return executor


def cluster_of(workers: int) -> LocalCluster:
    """A cluster of this machine, whose workers have a thread each."""
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
