"""Workers: what a second one gains, and that they share the data by memory map."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks.bench_scale import make_rows
from benchmarks.measure import BUILT_IN, disturbed, result, single
from rffbench.config.loading import load_experiment
from rffbench.data.rows import Rows
from rffbench.execution.channel import Channel
from rffbench.execution.local import LocalExecutor
from rffbench.trials.spec import TrialResult, TrialSpec
from rffbench.trials.tasks import tasks as tasks_of

CONFIG = """
name: workers
datasets: [digits, breast-cancer]
preprocess: minmax
kernel: {{name: gaussian, sigma: 2.0}}
n_features: [16, 32, 64, 128]
methods:
  RFF: {{features: fourier}}
  QMC: {{features: qmc, sequence: halton}}
  leverage-RFF: {{features: leverage}}
  Ours: {{features: surrogate-leverage}}
solver: {{name: ridge, lambda: [1.0e-4, 1.0e-3, 1.0e-2], folds: 5}}
trials: {trials}
"""
SCALING_GOAL, PRIVATE_GOAL = 1.8, 0.1
MAPPED_ROWS = 500_000
PATIENCE_S = 120.0  # how long one worker waits for the other


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Scaling from one worker to two, and memory of two that read the same data."""
    return [
        _scaling(trials=4 if quick else 10, repeats=1 if quick else 3),
        *_memory(MAPPED_ROWS // (10 if quick else 1)),
    ]


def _scaling(trials: int, repeats: int) -> dict[str, Any]:
    """Small trials, in the run's own tasks; a worker has one thread, alone or beside another."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(CONFIG.format(trials=trials))
        file.flush()
        experiment = load_experiment(file.name)
    grid = experiment.grid()
    tasks = tasks_of(grid)

    def seconds(workers: int, tasks: list[list[TrialSpec]]) -> float:
        started = perf_counter()
        results: list[TrialResult] = []
        LocalExecutor(workers=workers, threads=1).run(tasks, results.append)
        if failed := [each for each in results if each.error]:
            raise RuntimeError(failed[0].error)
        return perf_counter() - started

    seconds(2, tasks[:2])  # the process that workers are forked from is started now
    one, two = [], []
    others = disturbed()
    for _ in range(repeats):
        one.append(seconds(1, tasks))
        two.append(seconds(2, tasks))
    return result(
        f"2 workers, {len(grid)} small trials in {len(tasks)} tasks", two, one, goal=SCALING_GOAL,
        bound="at least", unit="s", peer_name="1 worker", trials=len(grid), contended=others or disturbed(),
    )  # fmt: skip


def _memory(n: int) -> list[dict[str, Any]]:
    """Two workers that have read all rows of one mapped file: what of it each holds for itself, what together."""
    with tempfile.TemporaryDirectory() as folder:
        make_rows(Path(folder), n)
        specs = [TrialSpec(folder, "", "both", 1, worker, 0, *BUILT_IN) for worker in (0, 1)]
        results: list[TrialResult] = []
        executor = LocalExecutor(work=f"{__name__}:read_rows", workers=2, threads=1)
        executor.run([[spec] for spec in specs], results.append)
        megabytes = (Path(folder) / "X.npy").stat().st_size / 1e6
    if failed := [each for each in results if each.error]:
        raise RuntimeError(failed[0].error)
    values = {key: [each.metrics[key] / 1e6 for each in results] for key in results[0].metrics}
    what = f"{megabytes:.0f} MB of mapped rows, read by 2 workers at a time"
    return [
        single(
            f"{what}: resident of them, of their own", values["mapped_private"],
            sum(values["mapped_private"]) / megabytes, goal=PRIVATE_GOAL, peer="0 is shared, 2 is copied",
            unit="MB", **values,
        ),
        single(
            f"{what}: their share in each (PSS)", values["mapped_pss"], sum(values["mapped_pss"]) / megabytes,
            goal=1 + PRIVATE_GOAL, peer="1 is shared, 2 is copied", unit="MB",
        ),
        single(
            f"{what}: private memory of a worker, in all", values["private"],
            max(values["private"]) / megabytes, goal=None, peer="the mapped rows", unit="MB",
        ),
    ]  # fmt: skip


def read_rows(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Read all rows as a trial does, wait for the other worker, and tell what memory is whose."""
    for spec in specs:
        folder = Path(spec.dataset)
        channel.begin(spec)
        base = np.load(folder / "X.npy", mmap_mode="r")
        rows = Rows(base, np.random.default_rng(spec.trial).permutation(len(base)))
        total = sum(float(block.sum()) for block in rows.blocks())
        _meet(folder, "read", spec.trial)
        mapped, everything = _memory_of("X.npy"), _memory_of(None)
        _meet(folder, "measured", spec.trial)
        memory = {
            "mapped_resident": mapped["Rss"],
            "mapped_pss": mapped["Pss"],
            "mapped_private": mapped["Private_Clean"] + mapped["Private_Dirty"],
            "resident": everything["Rss"],
            "pss": everything["Pss"],
            "private": everything["Private_Clean"] + everything["Private_Dirty"],
        }
        channel.result(TrialResult(spec, "ok" if np.isfinite(total) else "error", memory))


def _meet(folder: Path, what: str, worker: int) -> None:
    """Wait until both workers have come so far."""
    (folder / f"{what}-{worker}").touch()
    until = perf_counter() + PATIENCE_S
    while not all((folder / f"{what}-{each}").exists() for each in (0, 1)):
        if perf_counter() > until:
            raise TimeoutError(f"the other worker has not {what} within {PATIENCE_S:g} s")
        sleep(0.02)


def _memory_of(file: str | None) -> dict[str, float]:
    """Bytes by kind (Rss, Pss, Private_Dirty, …) of this process's mappings of ``file``, or of all of them."""
    kinds: dict[str, float] = {}
    counted = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *values = line.split()
        if not name.endswith(":"):  # the head of a mapping
            counted = file is None or line.endswith(f"/{file}")
        elif counted and values[-1] == "kB":
            kinds[name[:-1]] = kinds.get(name[:-1], 0.0) + 1024 * float(values[0])
    return kinds
