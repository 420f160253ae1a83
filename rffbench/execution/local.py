"""Trials in processes of this machine, which are killed at their limits.

Each task has a new process, but short tasks of built-in code take turns in one: starting it costs as much as ten small
trials.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from multiprocessing import connection

from rffbench.errors import ConfigError
from rffbench.execution import Announce, Done, Experiment, Task
from rffbench.execution.child import CallFailed, call_alone, have_preloaded, uninterrupted
from rffbench.execution.environment import processors, total_memory
from rffbench.execution.failure import Failure, Faults
from rffbench.execution.leftovers import temporary_folder
from rffbench.execution.supervised import Worker
from rffbench.execution.worker import Settings
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import Timing, TrialSpec

POLL_S = 0.05  # how often memory and clocks are looked at
LATE_S = 1.0  # after a longer gap between two checks this process was frozen, and that time counts for no trial
CAN_PAUSE = sys.platform == "linux"  # elsewhere a paused process could outlive its parent
# Names, not imports: workers load these modules; the parent loads no data and compiles no kernels.
WORK = "rffbench.trials.tasks:run_group"  # does one task
ENSURE = "rffbench.data:ensure"  # makes one dataset ready in the cache
# Loaded once, in the process that workers are forked from.
PRELOAD = ("rffbench.cli", "rffbench.execution.preloaded")

MOST_WORKERS = 8  # per processor; with more, the system would mainly switch between them
LARGE = 2048  # frequencies: a Gram matrix of 4,096 columns, 134 MB


class LocalExecutor:
    """Runs tasks in worker processes, at most ``workers`` at a time.

    With ``timing: features`` workers solve in parallel, but timing runs alone: a worker asks for it by
    `Channel.alone`, and the other workers pause, with the clocks of their time limits.

    Parameters
    ----------
    workers : how many processes run at a time, or a function that returns it
    threads : BLAS, OpenMP and numba threads of each; by default the processors are divided equally
    time_limit : seconds a trial may take; work shared by a task's trials may take their limits together
    memory_limit : bytes a worker and what it starts may hold, without mapped files (Linux; elsewhere not enforced)
    work : ``module:name`` of the function that runs a task, ``work(specs, channel)``; see
        `rffbench.execution.channel.Channel`
    ensure : ``module:name`` of the function that prepares a dataset: ``ensure(name)``
    preload : modules that workers start with; the first executor of a process decides
    beside : the number of tasks that other processes run on this machine at the same time
    watch : called a few times a second while tasks run; its exceptions end the work and reach the caller
    needs_machine : whether a task gets the whole machine; such tasks come last, one at a time

    A trial that crosses a limit is killed, and its row says so, as does the row of a trial whose worker dies. A new
    worker runs the task's other trials. If the work that they share is lost, each of them is tried on its own.

    A worker takes another task while it is young, holds no more memory than a new one, and all its trials were ok. A
    trial that fails there is tried again in a new worker, and that result counts. Foreign code and tasks with the whole
    machine always have a new worker.
    """

    name = "local"

    def __init__(
        self,
        *,
        workers: int | Callable[[], int],
        threads: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        work: str = WORK,
        ensure: str = ENSURE,
        preload: tuple[str, ...] = PRELOAD,
        beside: int = 0,
        watch: Callable[[], None] = lambda: None,
        needs_machine: Callable[[Task], bool] = lambda task: False,
    ) -> None:
        self._workers = workers
        self.threads = threads
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.work = work
        self.ensure = ensure
        self.preload = preload
        self.beside = beside
        self.watch = watch
        self.needs_machine = needs_machine

    @cached_property
    def workers(self) -> int:
        return self._workers() if callable(self._workers) else self._workers

    def prepare(self, dataset: str, announce: Announce | None = None) -> Failure | None:
        """See `rffbench.execution.Executor`; runs in a process of its own."""
        have_preloaded(self.preload)
        if announce and self.ensure == ENSURE:
            from rffbench.data import is_cached

            if not is_cached(dataset):
                announce(f"{dataset}: not in the cache yet, fetching and parsing it")
        try:
            call_alone(self.ensure, dataset)
        except CallFailed as error:
            return error.failure
        return None

    def run(self, tasks: Iterable[Task], done: Done, *, timing: Timing = "shared") -> None:
        """See `rffbench.execution.Executor`."""
        have_preloaded(self.preload)
        from rffbench.trials.foreign import foreign_code

        given = [list(task) for task in tasks if task]
        alone = timing == "exclusive" or (timing == "features" and not CAN_PAUSE)
        # Foreign code comes last: beside it, the others could have fewer threads, and so other last digits and seconds.
        parts: dict[tuple[bool, bool], list[Task]] = {}
        for task in given:
            parts.setdefault((bool(foreign_code(task[0])), alone or self.needs_machine(task)), []).append(task)
        faults = Faults()
        for foreign, whole in sorted(parts):
            workers, times = 1 if whole else self.workers, timing == "features"
            self._run(parts[foreign, whole], done, faults, workers, times, several=not (foreign or whole))

    def _run(self, tasks: list[Task], done: Done, faults: Faults, workers: int, times: bool, *, several: bool) -> None:
        """Run these tasks with at most ``workers`` workers. With ``times`` they may ask for the machine, and with
        ``several`` one may run several short tasks."""
        queue = deque(tasks)
        workers = max(1, min(workers, len(queue)))
        threads = self.threads or max(1, processors() // workers)
        running: list[Worker] = []
        machine = _Machine()
        started, looked = 0, time.monotonic()
        with temporary_folder() as folder:
            try:
                while queue or running:
                    self.watch()
                    while queue and len(running) < workers and not machine.taken:
                        files = (folder / f"{what}-{started}" for what in ("stack", "paused"))
                        settings = Settings(self.work, workers + self.beside, threads, self.memory_limit, times, *files)
                        with uninterrupted():  # or a worker might be started and never known
                            running.append(Worker(queue.popleft(), settings, self.time_limit))
                        started += 1
                    connection.wait([each for worker in running for each in worker.signs()], POLL_S)
                    looked, since = time.monotonic(), looked
                    frozen = max(0.0, looked - since - LATE_S)
                    for worker in list(running):
                        worker.leave_out(frozen)
                        results = worker.step(looked)
                        if worker.over:
                            running.remove(worker)
                            queue.extendleft(reversed(worker.leftover))
                        elif worker.idle:
                            worker.go_on(queue.popleft() if queue and several and worker.can_go_on() else None)
                        for result in results:
                            done(result)
                            faults.count(result)
                        if worker.unready:
                            faults.add(worker.unready)
                    machine.pass_on(running)
            finally:
                with uninterrupted():
                    for worker in running:  # before any is waited for
                        worker.send_kill()
                    for worker in running:
                        worker.kill()


def local_executor(experiment: Experiment, *, workers: int | None = None) -> LocalExecutor:
    """The executor ``local``, with the limits of the experiment. ConfigError for far more ``workers`` than
    processors."""
    if workers is not None and workers > (most := MOST_WORKERS * processors()):
        raise ConfigError(
            f"--workers {workers}: this machine has {processors()} processors; {most} workers at most, "
            f"{MOST_WORKERS} a processor, are started here"
        )
    return LocalExecutor(
        workers=workers or (lambda: default_workers(experiment.grid(), experiment.memory)),
        needs_machine=(lambda task: False) if workers else is_large,
        time_limit=experiment.time_limit,
        memory_limit=experiment.memory,
    )


def is_large(specs: Iterable[TrialSpec]) -> bool:
    """Whether one of these trials is on a GPU or has a large Gram matrix. All threads compute a large one as quickly as
    several workers compute one each, in the memory of one worker."""
    return any(spec.n_features >= LARGE or spec.device != "cpu" for spec in specs)


def default_workers(grid: Sequence[TrialSpec], memory: int | None) -> int:
    """One worker per processor, as far as memory allows; one if every trial gets the whole machine, see `is_large`."""
    if all(is_large([spec]) for spec in grid):
        return 1
    return max(1, min(processors(), (total_memory() or memory) // memory if memory else processors()))


class _Machine:
    """Decides which worker has the machine: none, and all share it, or one that is timing while the others pause."""

    def __init__(self) -> None:
        self._holder: Worker | None = None
        self._timer = Timer()

    @property
    def taken(self) -> bool:
        return self._holder is not None

    def pass_on(self, running: Sequence[Worker]) -> None:
        """Take the machine back from a worker that has finished timing or ended, and give it to one that asks for it.
        This waits until all workers are ready: one that is still starting would stay paused forever if this process
        died."""
        if self._holder and (self._holder.over or not self._holder.has_machine):
            self._timer, self._holder = self._holder.timer or self._timer, None
            for worker in running:
                worker.pause(False)
        asking = [worker for worker in running if worker.asks]
        if self._holder or not asking or not all(worker.ready for worker in running):
            return
        self._holder = min(asking, key=lambda worker: worker.paused_since or 0.0)  # who has waited longest
        for worker in running:
            worker.pause(worker is not self._holder)
        self._holder.take_machine(self._timer)
