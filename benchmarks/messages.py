"""What a fit by row blocks sends over a dask cluster of this machine: python -m benchmarks.messages [--quick] [FILE]

Messages and bytes are those of dask's own counters, once for a fit and for each pass of `pcg`. They depend on the
columns and the workers, and hardly on the machine; FILE (default: results/studies/scale-out/messages.csv) has them. A
fit's seconds of computing, of transfer between workers and of waiting are printed alone.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import dask
import pandas as pd
from distributed import LocalCluster, Worker, get_task_stream
from sklearn.exceptions import ConvergenceWarning

from benchmarks import bench_blocks
from benchmarks.bench_cluster import cluster_of
from rffbench import RandomFourierFeatures, data
from rffbench.solvers.iterative.pcg import PCGRidgeCV
from rffbench.solvers.ridge import dask_blocks
from rffbench.solvers.ridge.dask_blocks import DaskEngine

FILE = Path(__file__).parent.parent / "results" / "studies" / "scale-out" / "messages.csv"
WORKERS = (1, 2)
SHORT, LONG = "pcg, half of the passes", "pcg"
REPEATS = 3
TASKS, A_PASS = "tasks", ("passes", "messages")
LINKS = ("client to scheduler", "scheduler to workers", "workers to scheduler", "scheduler to client",
         "between workers", "results to client")  # fmt: skip
"""The streams of small messages; and what is fetched from workers, by each other and by the client, which gets it by
way of the scheduler."""
Counts = Counter[tuple[str, str]]
"""By link, ``messages`` and ``bytes``; and how many tasks and passes there were, as if they were messages."""


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
    """By fit and link the messages and bytes, medians over ``repeats``: fit, per, workers, rows, columns, link,
    messages, bytes."""
    split = data.train_test("generated", seed=0, trial=0, train_rows=rows)
    features = RandomFourierFeatures(columns, gamma=0.2, random_state=0)
    fits: dict[str, Callable[[], Any]] = {
        "direct": lambda: bench_blocks._direct(True, features),
        SHORT: lambda: _with_passes(features, bench_blocks.PASSES // 2),
        LONG: lambda: _with_passes(features, bench_blocks.PASSES),
    }
    counts: dict[str, list[Counts]] = {name: [] for name in fits}
    dask_blocks._engine.cache_clear()
    with (
        dask.config.set({"distributed.admin.low-level-log-length": None}),  # the workers' logs keep all transfers
        cluster_of(workers) as cluster,
        dask.config.set({"scheduler-address": cluster.scheduler_address}),
        dask_blocks.engine() as engine,
    ):
        for number in range(repeats + 1):
            for name, make in fits.items():
                found = _counted(cluster, engine, make(), split, f"{name}, {workers} workers")
                counts[name] += [found] * (number > 0)  # the first does not count
        engine.client.close()
    dask_blocks._engine.cache_clear()
    middle = {name: _median(each) for name, each in counts.items()}
    short, long = middle[SHORT], middle[LONG]
    more = long[A_PASS] - short[A_PASS]
    a_pass = {key: (value - short[key]) / more for key, value in long.items()}
    once = {key: value - long[A_PASS] * a_pass[key] for key, value in long.items()}
    about = {"workers": workers, "rows": rows, "columns": columns}
    return pd.DataFrame([
        {"fit": fit, "per": per, **about, "link": link, "messages": round(of[link, "messages"]),
         "bytes": round(of[link, "bytes"])}
        for fit, per, of in (("direct", "fit", middle["direct"]), ("pcg", "fit", once), ("pcg", "pass", a_pass))
        for link in (TASKS, *LINKS)
    ])  # fmt: skip


def _with_passes(features: RandomFourierFeatures, passes: int) -> PCGRidgeCV:
    model = bench_blocks._iterative(True, features)
    return model.set_params(budget={**model.budget, "passes": passes})


def _median(counts: list[Counts]) -> dict[tuple[str, str], float]:
    return {(link, unit): median(each[link, unit] for each in counts)
            for link in (TASKS, A_PASS[0], *LINKS) for unit in ("messages", "bytes")}  # fmt: skip


def _counted(cluster: LocalCluster, engine: DaskEngine, model: Any, split: Any, name: str) -> Counts:
    """What one fit sends. Its seconds go to stderr."""
    before, started = _counters(cluster, engine), perf_counter()
    with (
        get_task_stream(client=engine.client) as stream,
        warnings.catch_warnings(action="ignore", category=ConvergenceWarning),
    ):
        model.fit(split.X_train, split.y_train)
        seconds = perf_counter() - started
    spans = Counter[str]()
    for task in stream.data:
        for span in task["startstops"]:
            spans[span["action"]] += span["stop"] - span["start"]
    each = {action: spans[action] / len(cluster.workers) for action in ("compute", "transfer")}
    print(f"{name}: {seconds:.2f} s, of which a worker computes {each['compute']:.2f}, waits for a transfer "
          f"{each['transfer']:.2f} (some meanwhile), and does neither {seconds - sum(each.values()):.2f}",
          file=sys.stderr, flush=True)  # fmt: skip
    found = _counters(cluster, engine)
    found.subtract(before)
    found[TASKS, "messages"] = len(stream.data)
    found[A_PASS] = int(getattr(model, "metrics_", {}).get("passes", 0))
    return found


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


if __name__ == "__main__":
    main()
