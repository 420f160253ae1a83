"""The client's side of a cluster of any kind: it sends whole tasks, and receives one row at a time.

A job is a task, whose trials share work, so that a cluster does no more work than one machine would. If a worker is
lost, its task is sent again without the trials that have results; after the third loss its trials are ``lost``. If a
node lacks the dataset, the task goes to another node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rffbench.data.userfile import for_other_machines
from rffbench.errors import ConfigError, EnvironmentFault
from rffbench.execution import Announce, Done, Experiment, Task
from rffbench.execution.failure import Failure, Faults
from rffbench.execution.local import ENSURE, WORK
from rffbench.execution.node import Job, Report, software
from rffbench.trials.spec import Timing, TrialResult

AGAIN = 2  # how often a lost task is tried again


class News(NamedTuple):
    """A message about a job: one of its results, or how it ended."""

    job: str
    kind: Literal["result", "end"]
    value: Any  # TrialResult; Report, or how it was lost


@dataclass
class _Sent:
    """A task that waits or was sent, and how often it was lost."""

    specs: Task
    losses: int = 0


class ClusterExecutor(ABC):
    """What executors on other machines have in common; see `rffbench.execution.Executor`.

    Attributes
    ----------
    machines : facts about each node, by its name; the manifest lists them
    lacking : for each dataset the nodes that cannot get it, and why
    """

    name: str
    workers: int

    def __init__(self, experiment: Experiment, *, work: str = WORK, ensure: str = ENSURE) -> None:
        if any(spec.solver.get("blocks") for spec in experiment.grid()):
            raise ConfigError(
                f"executor {self.name}: a trial with blocks: dask shares out its own work; run it with --executor "
                "local, and name its cluster's scheduler in DASK_SCHEDULER_ADDRESS"
            )
        self.machines: dict[str, dict[str, Any]] = {}
        self.lacking: defaultdict[str, dict[str, Failure]] = defaultdict(dict)
        self.settings: dict[str, Any] = {
            "software": software(),
            "time_limit": experiment.time_limit,
            "memory_limit": experiment.memory,
            "work": work,
            "ensure": ensure,
        }

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The machines that were used, each once."""
        return list({machine["host"]: machine for machine in self.machines.values()}.values())

    def prepare(self, dataset: str, announce: Announce | None = None) -> Failure | None:
        """See `rffbench.execution.Executor`: here, each node makes it ready when it gets a task."""
        return None

    def run(self, tasks: Iterable[Task], done: Done, *, timing: Timing = "shared") -> None:
        """See `rffbench.execution.Executor`. Tasks that need a whole machine go to one node while it is there."""
        alone = timing != "shared"
        queue = deque(_Sent(list(task)) for task in tasks if task)
        waiting = {spec.key for sent in queue for spec in sent.specs}
        away: dict[str, _Sent] = {}
        faults = Faults()

        def tell(result: TrialResult) -> None:
            if result.spec.key in waiting:
                waiting.remove(result.spec.key)
                done(result)

        def give_up(sent: _Sent, failure: Failure) -> None:
            for spec in sent.specs:
                tell(failure.result(spec))

        try:
            while queue or away:
                while queue and len(away) < (1 if alone else self._most()):
                    sent = queue.popleft()
                    lacking = self.lacking[sent.specs[0].dataset]
                    if lacking and not self._elsewhere(lacking):
                        give_up(sent, next(iter(lacking.values())))
                        continue
                    card = for_other_machines(sent.specs[0].dataset)
                    job = Job(sent.specs, alone=alone, card=card, **self.settings)
                    away[self._send(job)] = sent
                for name, kind, value in self._news():
                    if kind == "result":
                        tell(value)
                        faults.count(value)
                    elif name in away:
                        sent = away.pop(name)
                        sent.specs = [spec for spec in sent.specs if spec.key in waiting]
                        if failure := self._end(sent, value):
                            give_up(sent, failure)
                        elif sent.specs:
                            queue.appendleft(sent)
        finally:
            self._cancel(list(away))

    def _end(self, sent: _Sent, value: Report | str) -> Failure | None:
        """Note how a job ended: ``value`` is its report, or says how it was lost. Returns why its trials without a
        result are not sent again, or None if they may be."""
        if isinstance(value, Report):
            if value.machine:
                self.machines[value.node] = value.machine
            if value.refused:
                raise EnvironmentFault(f"{self.name}: {another_software(value.node, value.refused)}")
            if value.lacking and sent.specs:
                self.lacking[sent.specs[0].dataset][value.node] = value.lacking
            if value.lacking or not sent.specs:
                return None
            value = "its worker ended without their results"
        sent.losses += 1
        if sent.losses <= AGAIN:
            return None
        message = f"lost with its worker {sent.losses} times, the last time: {value}"
        return Failure("lost", "WorkerLost", message, environment=True)  # no fault of the trial

    @abstractmethod
    def _most(self) -> int:
        """The most jobs that may be sent out at the same time."""

    @abstractmethod
    def _elsewhere(self, avoid: Iterable[str]) -> bool:
        """Whether there may be another node than these."""

    @abstractmethod
    def _send(self, job: Job) -> str:
        """Submit a job to a node that does not lack its dataset; the job's name in `News`."""

    @abstractmethod
    def _news(self) -> Iterator[News]:
        """The messages received; waits a moment if there are none."""

    @abstractmethod
    def _cancel(self, jobs: list[str]) -> None:
        """End these jobs and everything that was started for them."""


def another_software(node: str, difference: str) -> str:
    """The error about a node with other versions."""
    return (
        f"the software on {node} differs: {difference}; have the same versions there, and the same command carries on"
    )
