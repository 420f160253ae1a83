"""The engine of blocks.py on a dask cluster: the one of the configured scheduler, or one of this machine."""

from __future__ import annotations

import asyncio
import logging
import pickle
import platform
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask
import distributed
import numba
from dask.system import CPU_COUNT
from distributed import Client, Future, LocalCluster
from threadpoolctl import threadpool_limits

from rffbench.errors import EnvironmentFault
from rffbench.linalg import triangles, trigonometric
from rffbench.linalg.threads import thread_count
from rffbench.plugins import ownfile
from rffbench.process import SAFE_PATH, forget_safe_path, keep_freed_memory, safe_path
from rffbench.solvers.ridge.tree import Work, depth_first, pairs

TIMEOUT_S = 30.0  # how long a scheduler and its first worker have to be there
AHEAD = 4  # parts that are away for each thread of the workers, where all of their results come here
COMPARED = ("rffbench", "numpy", "scipy", "scikit-learn", "numba", "distributed")  # what digits may depend on


@contextmanager
def engine() -> Iterator[DaskEngine]:
    """The engine of this process; EnvironmentFault if there is no scheduler, or it goes away."""
    try:
        yield _engine()
    except (distributed.client.FutureCancelledError, asyncio.CancelledError, distributed.comm.CommClosedError):
        _engine.cache_clear()
        raise EnvironmentFault(
            "blocks: dask: the connection to the scheduler is lost, or it has been restarted; the same command does "
            "the trial again"
        ) from None


@cache
def _engine() -> DaskEngine:
    """Connected once a process: its trials use the same workers."""
    address = dask.config.get("scheduler-address", None)
    if address is None:
        client = Client(cluster_here(thread_count()), set_as_default=False)
        client.run(introduce)
        return DaskEngine(client)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what it would say is said by messages of our own
    try:
        client = Client(address, timeout=TIMEOUT_S, set_as_default=False)
        client.wait_for_workers(1, timeout=TIMEOUT_S)
    except (OSError, ValueError, TimeoutError) as error:
        raise EnvironmentFault(
            f"blocks: dask: no scheduler with a worker answers at {address} within {TIMEOUT_S:g} s ({error}); "
            "DASK_SCHEDULER_ADDRESS names it"
        ) from None
    here = software()
    for worker, there in client.run(introduce, on_error="return").items():
        if there != here:
            client.close()
            raise EnvironmentFault(_another_software(worker, here, there))
    return DaskEngine(client)


def cluster_here(workers: int) -> LocalCluster:
    """Workers of one thread on this machine that nobody else can reach: every port is on 127.0.0.1."""
    with dask.config.set({f"distributed.nanny.pre-spawn-environ.{SAFE_PATH}": safe_path()}):
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # None would be port 8787, and a warning where that is taken
            memory_limit=0,  # trials are held to theirs in processes of their own
            silence_logs=logging.CRITICAL,
        )
    forget_safe_path()  # dask sets it here to have it there
    return cluster


class DaskEngine:
    """See `rffbench.solvers.ridge.tree.Engine`."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def sums(self, work: Work, add: Work, shared: Any, groups: Sequence[Sequence[tuple]]) -> Iterator[Any]:
        here, slots = self.keep(shared), self._slots()
        sums: deque[Future] = deque()
        place = 0
        for parts in groups:
            nodes, futures = pairs(len(parts)), dict[int, Future]()
            for number in depth_first(len(parts), nodes):
                if number < len(parts):
                    task: tuple = (do, work, slots, software(), here, *parts[number])
                else:
                    left, right = nodes[number - len(parts)]
                    task = (add, futures.pop(left), futures.pop(right))
                # Depth-first, so that the sums that wait are few.
                futures[number] = self.client.submit(*task, pure=False, priority=-place)
                place += 1
            sums.append(futures.popitem()[1])
        while sums:
            yield sums.popleft().result()  # and forgotten: one sum at a time is on its way here

    def each(self, work: Work, shared: Any, parts: Sequence[tuple]) -> Iterator[Any]:
        here, slots = self.keep(shared), self._slots()
        ahead = AHEAD * self.threads
        away: deque[Future] = deque()
        for part in parts:
            away.append(self.client.submit(do, work, slots, software(), here, *part, pure=False))
            if len(away) > ahead:
                yield away.popleft().result()
        while away:
            yield away.popleft().result()

    @property
    def threads(self) -> int:
        return max(1, sum(self._slots().values()))

    def keep(self, value: Any) -> Future:
        """Sent once, as a task that a worker does again where the one that had it is lost; others get it from there."""
        if isinstance(value, Future):
            return value
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # that it is large
            return self.client.submit(given, Sent(value), pure=False)

    def _slots(self) -> dict[str, int]:
        """How many tasks are done at a time on each host."""
        slots: Counter[str] = Counter()
        for address, threads in self.client.nthreads().items():
            slots[_host(address)] += threads
        return dict(slots)


class Sent:
    """What all parts need, on its way to workers, with the user's files that define the map: these may lack them."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (ownfile.sources(), pickle.dumps(self.value))


def _arrived(sources: list[tuple[Path, bytes]], content: bytes) -> Sent:
    """Runs on a worker. Errors are returned when the result is asked for, because dask would retry the task for
    ever."""
    try:
        ownfile.restore(sources)
        return Sent(pickle.loads(content))
    except Exception as error:
        return Sent(EnvironmentFault(f"blocks: dask: a worker cannot load the map: {type(error).__name__}: {error}"))


def given(shared: Sent) -> Sent:
    return shared


def do(work: Work, slots: dict[str, int], wanted: dict[str, str], shared: Sent, *part: Any) -> Any:
    """``work(shared, *part)`` on a worker, with its share of the machine's threads. EnvironmentFault if its software
    is not the one ``wanted``, since it may be there only since others were asked, or where it has not got the map."""
    worker = distributed.get_worker()
    if software() != wanted:
        raise EnvironmentFault(_another_software(worker.address, wanted, software()))
    values = [each.value if isinstance(each, Sent) else each for each in (shared, *part)]
    for each in values:
        if isinstance(each, EnvironmentFault):
            raise each
    keep_freed_memory()
    share = max(1, CPU_COUNT // slots.get(_host(worker.address), worker.state.nthreads))
    share = min(share, numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    numba.set_num_threads(share)
    threadpool_limits(share)
    return work(*values)


async def introduce() -> dict[str, str]:
    """A worker's software; libraries are loaded, and kernels compiled or loaded, meanwhile: that is no part of what is
    timed, and takes longer than a small fit."""

    def warm_up() -> None:
        import rffbench.data.rows
        import rffbench.solvers.ridge.streamed  # noqa: F401

        trigonometric.warm_up("float64")
        triangles.warm_up()

    forget_safe_path()
    await asyncio.to_thread(warm_up)
    return software()


@cache
def software() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in COMPARED}}


def _another_software(worker: str, here: dict[str, str], there: Any) -> str:
    """The complaint about a worker whose software is not ours, or that could not say which it has."""
    if isinstance(there, BaseException):
        return f"blocks: dask: {worker} cannot do this ({there})"
    difference = ", ".join(
        f"{name} {there.get(name)} (here {ours})" for name, ours in here.items() if there.get(name) != ours
    )
    return f"blocks: dask: the software on {worker} differs: {difference}"


def _host(address: str) -> str:
    """The host of ``tcp://HOST:PORT``."""
    return address.rpartition("://")[2].rpartition(":")[0]
