"""The node's side of a cluster: another machine runs a task as ``local`` would, in a child process with its limits.

The node receives a `Job`. It sends back each result as soon as it is there, and then a `Report`. A dask worker and a
SLURM job both call `carry_out`.
"""

from __future__ import annotations

import platform
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from rffbench import __version__
from rffbench.execution import Task
from rffbench.execution.environment import git_commit, record, versions
from rffbench.execution.failure import Failure
from rffbench.execution.local import ENSURE, PRELOAD, WORK, LocalExecutor
from rffbench.trials.spec import TrialResult

OF_THE_MACHINE = ("cpu", "processors", "processors_total", "memory_bytes", "gpus", "blas", "os")
OPTIONAL = ("torch", "commit")  # compared where both sides have one
COMMANDS = {"dask.cli", "submitit"}  # what a child would load again, as part of the program it is of
READY: set[tuple[str, str]] = set()  # the datasets that this process has prepared, each with its ``ensure``


@dataclass(frozen=True)
class Job:
    """A task for another machine: its trials, their limits, and the required software.

    ``work`` and ``ensure`` are those of `rffbench.execution.local.LocalExecutor`; a task that is ``alone`` gets a
    thread for every processor; ``card`` is the card of a user's own data, as text.
    """

    specs: Task
    software: dict[str, str | None]
    alone: bool = False
    time_limit: float | None = None
    memory_limit: int | None = None
    work: str = WORK
    ensure: str = ENSURE
    card: str | None = None


@dataclass(frozen=True)
class Report:
    """The end of a job: ``done``, or why the node refused it.

    ``lacking``: why the node does not have the dataset. ``refused``: the differences of its software.
    """

    node: str
    machine: dict[str, Any] = field(default_factory=dict)
    done: bool = False
    lacking: Failure | None = None
    refused: str = ""


def carry_out(
    job: Job,
    tell: Callable[[TrialResult], None],
    *,
    node: str,
    threads: int,
    beside: int,
    watch: Callable[[], None] = lambda: None,
) -> Report:
    """Run a job on this machine, and call ``tell`` with each trial's result.

    ``threads`` is the task's share of the machine, ``beside`` the number of other tasks that run on it at the same
    time; ``watch`` is called a few times a second, and its exceptions end the work.
    """
    if difference := differences(job.software, software()):
        return Report(node, machine(), refused=difference)
    if failure := ready(job.specs[0].dataset, job.ensure, job.specs[0].data_hash, job.card):
        return Report(node, machine(), lacking=failure)
    executor = in_children(
        threads=None if job.alone else threads,
        time_limit=job.time_limit,
        memory_limit=job.memory_limit,
        work=job.work,
        ensure=job.ensure,
        beside=0 if job.alone else beside,
        watch=watch,
    )
    executor.run([job.specs], tell, timing="exclusive" if job.alone else "shared")
    return Report(node, machine(), done=True)


def ready(dataset: str, ensure: str = ENSURE, data_hash: str = "", card: str | None = None) -> Failure | None:
    """Put a dataset with the trials' content hash into this machine's cache. Returns the failure, or None.

    ``card``: the card of a user's own data, which this machine may not know; its file must be at the card's path or in
    the cache.
    """
    if ensure == ENSURE:
        from rffbench.data import userfile
        from rffbench.errors import ConfigError, DataError

        try:
            if card is not None:
                dataset = userfile.keep_text(card)
            if data_hash and userfile.find(dataset).content_hash != data_hash:
                return Failure.of(DataError(f"{dataset}: its card on this node is another; give every node the same"))
        except (ConfigError, OSError) as error:
            return Failure.of(DataError(str(error)))
    if (ensure, dataset) in READY:
        return None
    if failure := in_children(ensure=ensure).prepare(dataset):
        return failure
    READY.add((ensure, dataset))
    return None


@cache
def software() -> dict[str, str | None]:
    """The versions of the packages that scores may depend on, and the commit of a checkout."""
    return {"rffbench": __version__, "commit": git_commit(), "python": platform.python_version(), **versions()}


@cache
def machine() -> dict[str, Any]:
    """The facts about a node in the manifest."""
    known = record()
    return {"host": socket.gethostname(), **{name: known[name] for name in OF_THE_MACHINE}}


def differences(here: Mapping[str, str | None], there: Mapping[str, str | None]) -> str:
    """The differences of another machine's software: ``numpy 2.1.0 (here 2.2.6)``, separated by commas; empty if there
    are none."""
    pairs = [(name, here.get(name), there.get(name)) for name in {**here, **there}]
    return ", ".join(
        f"{name} {theirs or 'missing'} (here {ours or 'missing'})"
        for name, ours, theirs in pairs
        if ours != theirs and not (name in OPTIONAL and None in (ours, theirs))
    )


def in_children(**settings: Any) -> LocalExecutor:
    """The executor that runs this node's work, in children of this process."""
    loaded = sys.modules.keys() & COMMANDS
    return LocalExecutor(workers=1, preload=(*PRELOAD, *loaded), **settings)
