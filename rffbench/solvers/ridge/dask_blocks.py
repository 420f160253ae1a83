"""The engine of `rffbench.solvers.ridge.blocks` on a dask cluster: that of the configured scheduler, or one on this
machine."""

from __future__ import annotations

import asyncio
import logging
import pickle
import platform
import sys
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask
import distributed
import numba
from dask.system import CPU_COUNT
from distributed import Client, Future, LocalCluster
from threadpoolctl import ThreadpoolController

from rffbench.errors import EnvironmentFault
from rffbench.io.process import SAFE_PATH, forget_safe_path, keep_freed_memory, safe_path
from rffbench.linalg import triangles, trigonometric
from rffbench.linalg.threads import thread_count
from rffbench.plugins import ownfile
from rffbench.solvers.ridge.tree import Work, depth_first, pairs

TIMEOUT_S = 30.0  # within which a scheduler and its first worker must answer
AHEAD = 4  # the most unfinished parts per thread of the workers, if all results come to this process
COMPARED = ("rffbench", "numpy", "scipy", "scikit-learn", "numba", "distributed")  # results may depend on these


@contextmanager
def engine() -> Iterator[DaskEngine]:
    """The engine of this process; EnvironmentFault if there is no scheduler, or the connection is lost."""
    try:
        yield _engine()
    except (distributed.client.FutureCancelledError, asyncio.CancelledError, distributed.comm.CommClosedError):
        _engine.cache_clear()
        raise EnvironmentFault(
            "blocks: dask: the connection to the scheduler is lost, or it has been restarted; run the same command to "
            "repeat the trial"
        ) from None


@cache
def _engine() -> DaskEngine:
    """Connected once per process, so that its trials use the same workers."""
    address = dask.config.get("scheduler-address", None)
    if address is None:
        client = Client(cluster_here(thread_count()), set_as_default=False)
        client.run(introduce)
        return DaskEngine(client)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the errors below replace its messages
    try:
        client = reach(address, TIMEOUT_S)
        client.wait_for_workers(1, timeout=TIMEOUT_S)
    except OSError as error:  # a TimeoutError, too
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


def reach(address: str, timeout: float) -> Client:
    """A client of the scheduler at ``PROTOCOL://HOST:PORT``; OSError if none answers there within ``timeout`` seconds.

    First the scheduler must answer. A client has no limit for that: it waits forever for a server of another
    kind, which takes its greeting for the beginning of a question.
    """

    async def kind() -> object:
        arguments = distributed.Security().get_connection_args("client")
        async with distributed.rpc(address, timeout=0.9 * timeout, connection_args=arguments) as server:
            return (await server.identity())["type"]

    try:
        with ThreadPoolExecutor(1) as thread:  # this one may have a loop that runs, as Jupyter's has
            found = thread.submit(asyncio.run, asyncio.wait_for(kind(), timeout)).result()
    except OSError as error:
        raise OSError(str(error) or "it says nothing that a scheduler says") from None
    except Exception as error:  # from whatever another server says, read as dask's
        raise OSError(f"what answers is none: {type(error).__name__}: {error}") from None
    if found != "Scheduler":
        raise OSError(f"it is a {str(found).lower()}")
    return Client(address, timeout=timeout, set_as_default=False)


def cluster_here(workers: int) -> LocalCluster:
    """Workers with one thread each on this machine. All ports are on 127.0.0.1, so others cannot reach them."""
    with dask.config.set({f"distributed.nanny.pre-spawn-environ.{SAFE_PATH}": safe_path()}):
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # None would be port 8787, with a warning if that is taken
            memory_limit=0,  # each trial's process has its limit
            silence_logs=logging.CRITICAL,
        )
    forget_safe_path()  # dask also sets it in this process
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
                # Depth-first, so that few sums wait.
                futures[number] = self.client.submit(*task, pure=False, priority=-place)
                place += 1
            sums.append(futures.popitem()[1])
        while sums:
            yield sums.popleft().result()  # and forgotten, so that one sum arrives at a time

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
        """A handle of ``value``, sent once, as a task that is repeated if its worker is lost; other workers fetch
        it."""
        if isinstance(value, Future):
            return value
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # dask warns of large values
            return self.client.submit(given, Sent(value), pure=False)

    def _slots(self) -> dict[str, int]:
        """The number of tasks at a time on each host."""
        slots: Counter[str] = Counter()
        for address, threads in self.client.nthreads().items():
            slots[_host(address)] += threads
        return dict(slots)


class Sent:
    """A value for workers, sent with the user's files that define the map, which workers may lack. ``size``: its bytes,
    known where it has arrived; by them dask decides whether to move a value or a task."""

    def __init__(self, value: Any, size: int = 0) -> None:
        self.value, self.size = value, size

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.size

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (ownfile.sources(), pickle.dumps(self.value))


def _arrived(sources: list[tuple[Path, bytes]], content: bytes) -> Sent:
    """Runs on a worker. An error is returned as a value, because dask would retry the task forever."""
    try:
        ownfile.restore(sources)
        return Sent(pickle.loads(content), len(content))
    except Exception as error:
        return Sent(EnvironmentFault(f"blocks: dask: a worker cannot load the map: {type(error).__name__}: {error}"))


def given(shared: Sent) -> Sent:
    return shared


def do(work: Work, slots: dict[str, int], wanted: dict[str, str], shared: Sent, *part: Any) -> Any:
    """``work(shared, *part)`` on a worker, with its share of the machine's threads. EnvironmentFault if its software is
    not ``wanted``, which is checked again for workers that joined later, or if it could not load the map."""
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
    _threadpools(len(sys.modules)).limit(limits=share)
    return work(*values)


@lru_cache(maxsize=1)
def _threadpools(modules: int) -> ThreadpoolController:
    """The libraries of this process that have threads. To find them takes 3 ms, so they are looked for again only if
    another number of ``modules`` is loaded."""
    return ThreadpoolController()


async def introduce() -> dict[str, str]:
    """A worker's software. Libraries are loaded, and kernels compiled or loaded, first, outside of timing, because that
    takes longer than a small fit."""

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
    """The message for a worker with other software than this process, or that failed to report it."""
    if isinstance(there, BaseException):
        return f"blocks: dask: {worker} cannot report its software ({there})"
    difference = ", ".join(
        f"{name} {there.get(name)} (here {ours})" for name, ours in here.items() if there.get(name) != ours
    )
    return f"blocks: dask: the software on {worker} differs: {difference}"


def _host(address: str) -> str:
    """The host of ``tcp://HOST:PORT``."""
    return address.rpartition("://")[2].rpartition(":")[0]
