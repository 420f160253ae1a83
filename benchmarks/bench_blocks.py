"""One fit by row blocks on a dask cluster of this machine, direct or iterative: what it costs more than the same fit in
one process, and what a second worker gains."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import dask
from distributed import LocalCluster
from sklearn.exceptions import ConvergenceWarning

from benchmarks.bench_cluster import SCALING_GOAL, WORKERS, cluster_of
from benchmarks.measure import disturbed, result, threads
from rffbench import RandomFourierFeatures, data
from rffbench.solvers.iterative.pcg import PCGRidgeCV
from rffbench.solvers.ridge import dask_blocks
from rffbench.solvers.ridge.blocks import BlockedRidgeCV
from rffbench.solvers.ridge.streamed import StreamedRidgeCV

PASSES = 10
DIRECT_GOAL, PASSES_GOAL = 1.15, 1.2
ROWS, COLUMNS, QUICK_ROWS, QUICK_COLUMNS = 100_000, 1024, 30_000, 128


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Either fit on one worker against the same one here, and on two workers against one."""
    rows, columns, repeats = (QUICK_ROWS, QUICK_COLUMNS, 1) if quick else (ROWS, COLUMNS, 3)
    kinds: dict[str, tuple[Callable[..., Any], float]] = {
        f"ridge by row blocks on {{}}, {rows:,} × {columns}, 1 thread each": (_direct, DIRECT_GOAL),
        f"pcg by row blocks on {{}}, {rows:,} × {columns}, {PASSES} passes, 1 thread each": (_iterative, PASSES_GOAL),
    }
    others = disturbed()
    with cluster_of(1) as cluster:
        one = [_fits(cluster, make, rows, columns, repeats, here=True) for make, _ in kinds.values()]
    with cluster_of(WORKERS) as cluster:
        two = [_fits(cluster, make, rows, columns, repeats)[0] for make, _ in kinds.values()]
    busy: dict[str, Any] = {"contended": others or disturbed()}
    found = []
    for (name, (_, goal)), (on_one, here), on_two in zip(kinds.items(), one, two, strict=True):
        found += [
            result(
                name.format("1 dask worker"), on_one, here, goal=goal, bound="at most", unit="s",
                peer_name="the same fit here", **busy,
            ),
            result(
                name.format(f"{WORKERS} dask workers"), on_two, on_one, goal=SCALING_GOAL, bound="at least", unit="s",
                peer_name="1 dask worker", **busy,
            ),
        ]  # fmt: skip
    return found


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
