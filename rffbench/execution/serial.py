"""Trials in this process, one after another: for a debugger or a profiler, or if processes cannot be forked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from rffbench.errors import ConfigError
from rffbench.execution import Announce, Done, Experiment, Task
from rffbench.execution.channel import Channel, TaskAccount
from rffbench.execution.failure import NO_RESULT, Failure, Faults
from rffbench.plugins.guarded import printing_to_standard_error
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import Timing, TrialResult


class SerialExecutor:
    """Runs tasks in this process, with its threads.

    Nothing is killed: the time limit is not enforced, and the memory limit only as far as trials plan with it. A trial
    that ends the process ends the run; the same command carries on.

    Foreign code shares this process with all trials, as a debugger needs it. So its tasks come last, and after each of
    its trials the process's surroundings are restored, as far as `rffbench.plugins.surroundings` can.

    Parameters
    ----------
    work : runs a task: ``work(specs, channel)``; the planner's by default
    ensure : prepares a dataset; the data layer's by default
    memory_limit : bytes that a trial may plan with
    """

    name = "serial"
    workers = 1

    def __init__(
        self,
        *,
        work: Callable[[Task, Channel], object] | None = None,
        ensure: Callable[[str], object] | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self.memory_limit = memory_limit
        self._work = work
        self._ensure = ensure

    def prepare(self, dataset: str, announce: Announce | None = None) -> Failure | None:
        from rffbench import data

        if announce and self._ensure is None and not data.is_cached(dataset):
            announce(f"{dataset}: not in the cache yet, fetching and parsing it")
        try:
            (self._ensure or data.ensure)(dataset)
        except Exception as error:
            return Failure.of(error)
        return None

    def run(self, tasks: Iterable[Task], done: Done, *, timing: Timing = "shared") -> None:
        from rffbench.linalg.threads import thread_count
        from rffbench.trials.foreign import foreign_code
        from rffbench.trials.tasks import run_group

        work: Callable[[Task, Channel], object] = self._work or run_group
        queue = deque(sorted((list(task) for task in tasks if task), key=lambda task: bool(foreign_code(task[0]))))
        faults, timer = Faults(), Timer()

        def tell(result: TrialResult) -> None:
            done(result)
            faults.count(result)

        while queue:
            task = queue.popleft()
            account = TaskAccount(task)

            def hear(message: tuple[str, Any], account: TaskAccount = account) -> None:
                if result := account.hear(*message):
                    try:
                        tell(result)
                    except Exception as error:
                        raise _Stopped(error) from error

            channel = Channel(
                hear, workers=1, threads=thread_count(), memory_limit=self.memory_limit,
                machine=lambda: nullcontext((thread_count(), timer)),
            )  # fmt: skip
            failure, finished = NO_RESULT, True
            try:
                with printing_to_standard_error():
                    work(task, channel)
            except _Stopped as stopped:
                raise stopped.error from None
            except (Exception, SystemExit) as error:  # a map may call exit() by mistake
                failure, finished = Failure.of(error), False
            results, again = account.close(account.to_blame(finished=finished), failure)
            for result in results:
                tell(result)
            queue.extendleft(reversed(again))


class _Stopped(BaseException):
    """Carries an error of the run through a trial's code, which would treat it as an error of the trial."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def serial_executor(experiment: Experiment, *, workers: int | None = None) -> SerialExecutor:
    """The executor ``serial``; there is one worker, this process. ConfigError for more."""
    if workers not in (None, 1):
        raise ConfigError(f"--workers {workers}: the executor serial has one worker, this process")
    return SerialExecutor(memory_limit=experiment.memory)
