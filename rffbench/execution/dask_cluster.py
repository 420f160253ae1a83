"""Trials on dask workers: on a cluster that is started on this machine for the run, or on an existing one.

A worker sends each result to the client at once, as an event of dask's scheduler, and a report at the end of the job;
the workers keep nothing. If a worker is lost, dask starts its task again elsewhere. The second start does no work,
because the task may have killed the worker. It informs the client, which submits the rest as a new job.
"""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from rffbench.data.userfile import for_other_machines
from rffbench.errors import ConfigError, EnvironmentFault
from rffbench.execution import Announce, Experiment, option
from rffbench.execution.child import uninterrupted
from rffbench.execution.cluster import ClusterExecutor, News, another_software
from rffbench.execution.environment import processors
from rffbench.execution.failure import Failure
from rffbench.execution.local import default_workers
from rffbench.execution.node import Job, carry_out, differences, machine, ready, software
from rffbench.io import files

try:
    import distributed
    from distributed import Client, LocalCluster

    from rffbench.solvers.ridge.dask_blocks import cluster_here, reach
except ImportError as error:
    raise ConfigError(
        f"executor dask: needs the library distributed ({error}); pip install 'rffbench[dask]'"
    ) from error

LOOK_S = 0.5  # how often the client looks whether scheduler and workers are there
TIMEOUT_S = 30.0  # how long to wait for a scheduler to answer, and for a first worker
MAX_PORT = 65535
MOST_BYTES = 10_000_000  # of a scheduler file, which has a few lines for each worker
LOGGERS = ("distributed", "tornado", "asyncio")  # with all below them
AHEAD = 2  # jobs sent out for each running one, so that no worker waits for the client


class DaskExecutor(ClusterExecutor):
    """Runs tasks on the workers of a dask cluster; each thread of a worker runs one task at a time.

    Parameters
    ----------
    connect : makes the client, and the cluster to close after the run if it was started for the run
    planned : returns how many tasks will run at a time, for questions before the client exists
    most : the limit on tasks sent out at a time, or None
    timeout : seconds to wait for a first worker
    """

    name = "dask"

    def __init__(
        self,
        experiment: Experiment,
        connect: Callable[[], tuple[Client, LocalCluster | None]],
        *,
        planned: Callable[[], int] = lambda: 0,
        most: int | None = None,
        timeout: float = TIMEOUT_S,
        **settings: Any,
    ) -> None:
        super().__init__(experiment, **settings)
        self.most = most
        self._planned = planned
        self.timeout = timeout
        self._connect = connect
        self._client: Client | None = None
        self._cluster: LocalCluster | None = None
        self._topic = f"rffbench-{uuid.uuid4().hex}"
        self._inbox: SimpleQueue[tuple[str, str, Any]] = SimpleQueue()
        self._futures: dict[str, Any] = {}
        self._on: dict[str, str] = {}  # where each job was started
        self._only: dict[str, list[str]] = {}  # the workers that a job is restricted to
        self._slots: dict[str, int] = {}  # each worker's threads
        self._looked = self._had_workers = 0.0
        self._alone = ""  # the worker for tasks that need a whole machine

    @property
    def workers(self) -> int:  # type: ignore[override]
        """How many tasks run at the same time."""
        return self.most or sum(self._slots.values()) or self._planned()

    def open(self) -> Client:
        """Connect to the cluster, wait for its first worker, and compare its software with ours."""
        if self._client:
            return self._client
        self._client, self._cluster = self._connect()
        try:
            self._client.wait_for_workers(1, timeout=self.timeout)
        except TimeoutError:
            assert self._client.scheduler is not None
            where = self._client.scheduler.address
            self.close()
            raise ConfigError(f"executor {self.name}: {where} has had no worker within {self.timeout:g} s") from None
        for address, introduced in self._asked(introduce).items():
            if isinstance(introduced, OSError):  # it is gone; another may come
                continue
            if isinstance(introduced, BaseException):
                self._refuse(f"{address} cannot run rffbench trials: {introduced}")
            theirs, known = introduced
            if difference := differences(own_software(), theirs):
                self._refuse(another_software(f"{known['host']} ({address})", difference))
            self.machines[address] = known
        self._client.subscribe_topic(self._topic, lambda event: self._inbox.put(event[1]))
        self._had_workers = time.monotonic()
        self._look()
        return self._client

    def _asked(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """What ``function`` returns or raises on each worker; an OSError for a worker that is lost."""
        assert self._client is not None
        try:
            return dict(self._client.run(function, *arguments, on_error="return"))
        except OSError:  # of the scheduler's connection
            raise self._scheduler_gone() from None

    def _refuse(self, why: str) -> None:
        self.close()
        raise ConfigError(f"executor {self.name}: {why}")

    def close(self) -> None:
        """See `rffbench.execution.Executor`."""
        for each in (self._client, self._cluster):
            if each:
                each.close()
        self._client = self._cluster = None

    def prepare(self, dataset: str, announce: Announce | None = None) -> Failure | None:
        """See `rffbench.execution.Executor`; on all workers at the same time. None if one of them has the dataset, or
        if none could say: a worker that is lost says nothing of the data, which the next worker prepares."""
        self.open()
        if announce:
            announce(f"{dataset}: made ready on {len(self._slots)} workers, fetched where a cache lacks it")
        found = self._asked(prepare, dataset, self.settings["ensure"], for_other_machines(dataset))
        lacking = self.lacking[dataset.partition("@")[0]]  # a user's own data is prepared by its reference
        for address, failure in found.items():
            if isinstance(failure, BaseException) and not isinstance(failure, OSError):
                raise self._cannot_run(address, failure)
            if isinstance(failure, Failure):
                lacking[address] = failure
        return None if self._elsewhere(lacking) or not lacking else next(iter(lacking.values()))

    def _most(self) -> int:
        self.open()
        return self.most or AHEAD * sum(self._slots.values())

    def _elsewhere(self, avoid: Iterable[str]) -> bool:
        return not self._slots or bool(self._slots.keys() - set(avoid))  # without workers, the next may have it

    def _send(self, job: Job) -> str:
        client = self.open()
        lacking = self.lacking[job.specs[0].dataset]
        able = [address for address in self._slots if address not in lacking]
        name = f"rffbench-{uuid.uuid4().hex}"
        if job.alone and able:
            self._alone = self._alone if self._alone in able else able[0]
            self._only[name] = [self._alone]
        elif lacking and able:
            self._only[name] = able
        future = client.submit(
            do_job,
            pickle.dumps((job, self._topic, self._crowded())),
            key=name,
            workers=self._only.get(name),
            pure=False,
        )
        self._futures[name] = future
        future.add_done_callback(lambda future: self._inbox.put((name, "over", None)))
        return name

    def _crowded(self) -> dict[str, int]:
        """How many tasks run at the same time on each host with several workers."""
        workers, slots = Counter(map(host, self._slots)), Counter[str]()
        for address, threads in self._slots.items():
            slots[host(address)] += threads
        return {name: slots[name] for name, count in workers.items() if count > 1}

    def _news(self) -> Iterator[News]:
        if time.monotonic() - self._looked > LOOK_S:
            self._look()
            for name, only in list(self._only.items()):
                if name in self._futures and not self._slots.keys() & set(only):
                    yield self._ended(name, f"{self._on.get(name, only[0])} is gone")
        try:
            name, kind, value = self._inbox.get(timeout=LOOK_S)
        except Empty:
            return
        if kind == "result":
            yield News(name, "result", pickle.loads(value))
        elif name not in self._futures:  # ended, or of a job that was given up
            return
        elif kind == "started":
            self._on[name] = value
        elif kind == "again":
            yield self._ended(name, f"{self._on.get(name, 'its worker')} is gone")
        elif kind == "report":
            yield self._ended(name, pickle.loads(value))
        elif kind == "over":
            yield self._over(name)

    def _over(self, name: str) -> News:
        """Handle a job that ended without a report: the scheduler has forgotten it, its worker closed or was lost too
        often for dask, or its function raised."""
        future = self._futures[name]
        where = self._on.get(name, "a worker")
        if future.status == "cancelled":
            raise self._scheduler_gone()
        if future.status == "finished":
            return self._ended(name, f"{where} was closed")
        error = future.exception()
        if isinstance(error, distributed.KilledWorker):
            return self._ended(name, f"{where} is gone")
        if isinstance(error, EnvironmentFault):
            raise EnvironmentFault(f"{where}: {error}")
        raise self._cannot_run(where, error)

    def _cannot_run(self, where: str, error: BaseException) -> EnvironmentFault:
        return EnvironmentFault(
            f"executor {self.name}: {where} cannot run rffbench trials ({type(error).__name__}: {error}); "
            "the same command carries on"
        )

    def _ended(self, name: str, value: Any) -> News:
        self._cancel([name])
        return News(name, "end", value)

    def _look(self) -> None:
        """The present workers; EnvironmentFault if the scheduler is gone, or has had no worker for too long."""
        client = self._client
        assert client is not None
        assert client.scheduler is not None
        self._looked = time.monotonic()
        try:
            if client.status != "running":
                raise OSError
            self._slots = dict(client.sync(client.scheduler.ncores, callback_timeout=self.timeout))
        except OSError:  # a TimeoutError, too
            raise self._scheduler_gone() from None
        if self._slots:
            self._had_workers = self._looked
        elif self._looked - self._had_workers > self.timeout:
            raise EnvironmentFault(
                f"executor {self.name}: no worker has been left for {self.timeout:g} s; start some, and the same "
                "command carries on"
            )

    def _scheduler_gone(self) -> EnvironmentFault:
        self._futures.clear()  # nobody is left to inform
        return EnvironmentFault(
            f"executor {self.name}: the connection to the scheduler is lost, or it has been restarted; what was "
            "measured is kept, and the same command carries on once a scheduler is there"
        )

    def _cancel(self, jobs: list[str]) -> None:
        futures = [self._futures.pop(name) for name in jobs if name in self._futures]
        for name in jobs:
            self._on.pop(name, None)
            self._only.pop(name, None)
        if futures and self._client and self._client.status == "running":
            self._client.cancel(futures)


# ---- On the worker -----------------------------------------------------------------------------------------


class Unwanted(Exception):
    """Raised when the client or the scheduler has given up a job."""


def do_job(message: bytes) -> None:
    """Run the job in a message of `DaskExecutor`, in a thread of a worker."""
    worker = distributed.get_worker()
    name = str(worker.get_current_task())
    job, topic, crowded = pickle.loads(message)
    slots = crowded.get(host(worker.address), worker.state.nthreads)

    def watch() -> None:
        task = worker.state.tasks.get(name)
        ending = worker.status in (distributed.core.Status.closing, distributed.core.Status.closed)
        if task is None or task.state != "executing" or ending:
            raise Unwanted

    if begun_before(worker, name):
        worker.log_event(topic, (name, "again", worker.address))
        return
    worker.log_event(topic, (name, "started", worker.address))
    try:
        report = carry_out(
            job,
            lambda result: worker.log_event(topic, (name, "result", pickle.dumps(result))),
            node=worker.address,
            threads=max(1, processors() // slots),
            beside=slots - 1,
            watch=watch,
        )
    except Unwanted:
        return
    worker.log_event(topic, (name, "report", pickle.dumps(report)))


def begun_before(worker: distributed.Worker, name: str) -> bool:
    """Whether a worker has begun this job before; if not, the scheduler records that this worker has."""

    async def ask() -> bool:
        before: bool = await worker.scheduler.event_is_set(name=name)
        if not before:
            await worker.scheduler.event_set(name=name)
        return before

    return bool(distributed.utils.sync(worker.loop, ask))


async def introduce() -> tuple[dict[str, str | None], dict[str, Any]]:
    """A worker's software and machine, collected in a thread, so that the worker keeps answering."""
    return await asyncio.to_thread(lambda: (own_software(), machine()))


async def prepare(dataset: str, ensure: str, card: str | None) -> Failure | None:
    """Prepare a dataset on a worker, in a thread, so that the worker keeps answering."""
    return await asyncio.to_thread(ready, dataset, ensure, "", card)


def own_software() -> dict[str, str | None]:
    return {**software(), "distributed": distributed.__version__}


def host(address: str) -> str:
    """The host of ``tcp://HOST:PORT``."""
    return address.rpartition("://")[2].rpartition(":")[0]


# ---- Clusters ----------------------------------------------------------------------------------------------


def dask_executor(
    experiment: Experiment,
    *,
    workers: int | None = None,
    address: str | None = None,
    scheduler_file: str | None = None,
    timeout: float | str = TIMEOUT_S,
) -> DaskExecutor:
    """The executor ``dask``: on a new cluster of this machine, or on the one of ``dask://HOST:PORT`` or of a scheduler
    file.

    ``timeout`` : how long to wait for the scheduler and its first worker
    """
    from rffbench.config.values import Seconds

    seconds = option("dask", "timeout", timeout, Seconds)
    if address and scheduler_file:
        raise ConfigError("executor dask: give an address or a scheduler file, not both")
    if address or scheduler_file:
        where = _address(address) if address else _in_file(str(scheduler_file))
        executor = DaskExecutor(experiment, lambda: (_client(where, seconds), None), most=workers, timeout=seconds)
        executor.open()  # before anything else is done: it may not be there
        return executor

    @cache
    def count() -> int:
        return workers or default_workers(experiment.grid(), experiment.memory)

    return DaskExecutor(experiment, lambda: _cluster_here(count()), planned=count, timeout=seconds)


def _cluster_here(workers: int) -> tuple[Client, LocalCluster]:
    _silence()
    with uninterrupted():  # its processes never see Ctrl-C: the client ends them
        cluster = cluster_here(workers)
        return Client(cluster, set_as_default=False), cluster


def _silence() -> None:
    """Silence dask's logs: the run's own messages say the same. Some of dask's loggers have their own levels, and
    would print tracebacks when the scheduler is gone."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _client(address: str, timeout: float) -> Client:
    _silence()
    try:
        return reach(address, timeout)
    except OSError as error:
        raise ConfigError(
            f"executor dask: no scheduler of dask answers at {address} within {timeout:g} s ({error})"
        ) from None


def _address(address: str) -> str:
    """HOST:PORT with its protocol: TLS where dask's own configuration requires encryption."""
    if not (match := re.fullmatch(r"(.+):(\d+)", address)) or int(match[2]) > MAX_PORT:
        raise ConfigError(f"executor dask://{address}: must be dask://HOST:PORT, for example dask://node1:8786")
    return f"{'tls' if distributed.Security().require_encryption else 'tcp'}://{address}"


def _in_file(path: str) -> str:
    """The address in a scheduler file, as ``dask scheduler --scheduler-file`` writes it."""
    try:
        address = str(json.loads(files.read_regular(Path(path), MOST_BYTES).decode())["address"])
        if not (match := re.fullmatch(r"\w+://(?:\S+):(\d+)", address)) or int(match[1]) > MAX_PORT:
            raise ValueError
    except OSError as error:
        raise ConfigError(f"--scheduler-file {path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError(f"--scheduler-file {path}: is not a file that dask's scheduler has written") from None
    return address
