"""What a fit by row blocks sends over a dask cluster of this machine: python -m benchmarks.messages [--quick] [FILE]

Messages and bytes are those of dask's own counters, of a direct fit and of the passes of `pcg`. They depend on the
columns and the workers, and hardly on the machine; FILE (default: results/studies/scale-out/messages.csv) has them.
Seconds, of computing and of transfers between workers, are only printed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

import dask
import pandas as pd
from distributed import LocalCluster, Worker, get_task_stream
from sklearn.exceptions import ConvergenceWarning

from benchmarks import bench_blocks
from benchmarks.bench_cluster import cluster_of
from rffbench import RandomFourierFeatures, data
from rffbench.solvers.iterative.blocks import BlockedTiles
from rffbench.solvers.ridge import dask_blocks
from rffbench.solvers.ridge.dask_blocks import DaskEngine

FILE = Path(__file__).parents[2] / "results" / "studies" / "scale-out" / "messages.csv"
WORKERS = (1, 2)
PARTS = (("direct", "fit"), ("pcg", "first pass"), ("pcg", "pass"))
REPEATS = 3
TASKS = "tasks"
LINKS = ("client to scheduler", "scheduler to workers", "workers to scheduler", "scheduler to client",
         "between workers", "results to client")  # fmt: skip
"""The streams of small messages; and what is fetched from workers, by each other and by the client, which gets it by
way of the scheduler."""
Counts = Counter[tuple[str, str]]
"""By link, ``messages`` and ``bytes``; and the number of ``tasks``, as messages."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.messages", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows and columns, once: a check that it runs")
    parser.add_argument("file", nargs="?", type=Path, help="default: results/…/messages.csv, with --quick none")
    given = parser.parse_args(arguments)
    sizes = (bench_blocks.QUICK_ROWS, bench_blocks.QUICK_COLUMNS, 1) if given.quick else (
        bench_blocks.ROWS, bench_blocks.COLUMNS, REPEATS)  # fmt: skip
    found = pd.concat([measured(workers, *sizes) for workers in WORKERS])
    file = given.file or (None if given.quick else FILE)
    found.to_csv(file or sys.stdout, index=False)


def measured(workers: int, rows: int, columns: int, repeats: int) -> pd.DataFrame:
    """Of a direct fit, and of the first pass and a later one of `pcg`, by link the messages and bytes, medians over
    ``repeats`` and passes: fit, per, workers, rows, columns, link, messages, bytes."""
    split = data.train_test("generated", seed=0, trial=0, train_rows=rows)
    features = RandomFourierFeatures(columns, gamma=0.2, random_state=0)
    counts: dict[tuple[str, str], list[Counts]] = {each: [] for each in PARTS}
    dask_blocks._engine.cache_clear()
    with (
        dask.config.set({"distributed.admin.low-level-log-length": None}),  # the workers' logs keep all transfers
        cluster_of(workers) as cluster,
        dask.config.set({"scheduler-address": cluster.scheduler_address}),
        dask_blocks.engine() as engine,
    ):
        for number in range(repeats + 1):
            direct, passes = list[Counts](), list[Counts]()
            with _counted(cluster, engine, direct, f"direct, {workers} workers"):
                bench_blocks._direct(True, features).fit(split.X_train, split.y_train)
            one = BlockedTiles.total

            def counted(tiles: BlockedTiles, *work: Any, one: Any = one, passes: list[Counts] = passes) -> Any:
                with _counted(cluster, engine, passes, f"a pass, {workers} workers"):
                    return one(tiles, *work)

            with patch.object(BlockedTiles, "total", counted), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                bench_blocks._iterative(True, features).fit(split.X_train, split.y_train)
            if number > 0:  # the first fits do not count
                for name, found in zip(PARTS, (direct, passes[:1], passes[1:]), strict=True):
                    counts[name] += found
        engine.client.close()
    dask_blocks._engine.cache_clear()
    about = {"workers": workers, "rows": rows, "columns": columns}
    return pd.DataFrame([
        {"fit": fit, "per": per, **about, "link": link,
         **{unit: round(median(each[link, unit] for each in found)) for unit in ("messages", "bytes")}}
        for (fit, per), found in counts.items() for link in (TASKS, *LINKS)
    ])  # fmt: skip


@contextmanager
def _counted(cluster: LocalCluster, engine: DaskEngine, found: list[Counts], name: str) -> Iterator[None]:
    """Adds to ``found`` what is sent in the block. Its seconds go to stderr."""
    before, started = _counters(cluster, engine), perf_counter()
    with get_task_stream(client=engine.client) as stream:
        yield
        seconds = perf_counter() - started
    after = _counters(cluster, engine)
    after.subtract(before)
    after[TASKS, "messages"] = len(stream.data)
    found.append(after)
    spans = Counter[str]()
    for task in stream.data:
        for span in task["startstops"]:
            spans[span["action"]] += span["stop"] - span["start"]
    compute, transfer = (spans[action] / len(cluster.workers) for action in ("compute", "transfer"))
    print(f"{name}: {seconds:.2f} s; a worker computes {compute:.2f} of them, and has transfers in {transfer:.2f}",
          file=sys.stderr, flush=True)  # fmt: skip


def _counters(cluster: LocalCluster, engine: DaskEngine) -> Counts:
    """What has been sent so far: of each link its messages and bytes."""
    scheduler, client = cluster.scheduler, engine.client
    streams = {
        LINKS[0]: [client.scheduler_comm], LINKS[1]: [*scheduler.stream_comms.values()],
        LINKS[3]: [scheduler.client_comms[client.id]],
    }  # fmt: skip
    found = Counts({(link, "messages"): sum(each.message_count for each in of) for link, of in streams.items()})
    found.update({(link, "bytes"): sum(each.byte_count for each in of) for link, of in streams.items()})
    for counts in client.run(_of_worker).values():
        found.update(counts)
    return found


def _of_worker(dask_worker: Worker) -> Counts:
    stream, found = dask_worker.batched_stream, Counts()
    found[LINKS[2], "messages"], found[LINKS[2], "bytes"] = stream.message_count, stream.byte_count
    for sent in dask_worker.transfer_outgoing_log:
        link = LINKS[4] if sent["who"] else LINKS[5]
        found[link, "messages"] += 1
        found[link, "bytes"] += sent["total"]
    return found
