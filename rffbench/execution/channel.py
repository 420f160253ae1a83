"""The two ends of a task: the channel through which it reports, and the account that its parent keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rffbench.errors import amount
from rffbench.execution.failure import Failure
from rffbench.execution.row import LONGEST_RESULT, check_row, line_of
from rffbench.io.process import peak_memory, reset_peak
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import TrialResult, TrialSpec


class Channel:
    """Through this a task's function reports to its executor.

    The function calls ``begin(spec)`` before a trial and ``result(result)`` after it. Work that several trials share
    is done between trials. An exception that the function raises ends the task: the open trial gets an error row, and
    the others are tried again without it. ``fail(spec, error)`` records a trial's exception, and the task continues.

    Attributes
    ----------
    workers, threads : the number of workers that run at the same time, and the threads of each
    memory_limit : bytes that a worker may hold in its own pages; None without a limit
    machine : a block in which this worker is the only one at work. It gives the number of threads and the timer of
        the worker that timed last. Not needed for a single worker
    """

    def __init__(
        self,
        send: Callable[[tuple[str, Any]], object],
        *,
        workers: int,
        threads: int,
        memory_limit: int | None,
        machine: Callable[[], AbstractContextManager[tuple[int, Timer]]] | None = None,
    ) -> None:
        self.workers = workers
        self.threads = threads
        self.memory_limit = memory_limit
        self._send = send
        timer = Timer()
        self._machine = machine or (lambda: nullcontext((threads, timer)))
        self._timed_with: int | None = None  # the threads of the open trial's timing alone

    def begin(self, spec: TrialSpec) -> None:
        """Start a trial. Its time limit and its peak memory count from here."""
        self._send(("begin", spec.key))
        self._timed_with = None
        reset_peak()

    @contextmanager
    def alone(self) -> Iterator[Timer]:
        """A block for timing: the rest of this run is paused, and the block has a thread for every processor."""
        with self._machine() as (self._timed_with, timer):
            yield timer

    def result(self, result: TrialResult) -> None:
        """End a trial. Peak memory, threads and contention are filled in if the result lacks them.

        If the log could not store the result (a NaN, text for a metric, 32 MB of curves), the trial becomes an error.
        """
        if result.peak_memory_bytes is None:
            result.peak_memory_bytes = peak_memory()
        if result.seconds:
            result.seconds.setdefault("threads", self._timed_with or self.threads)
            if result.seconds.get("contended") is None:  # not measured: only the other workers are known
                result.seconds["contended"] = True if self.workers > 1 and not self._timed_with else None
        try:
            row = result.to_row()
            check_row(row)
            if (length := len(line_of(row))) > LONGEST_RESULT:
                raise ValueError(f"the result has {amount(length)}, more than a row's {amount(LONGEST_RESULT)}")
        except (TypeError, ValueError) as error:
            result = Failure.of(error).result(result.spec, result.peak_memory_bytes)
        self._send(("result", result))

    def fail(self, spec: TrialSpec, error: BaseException) -> None:
        """End a trial with an exception. The task ends if this process can do nothing more after it."""
        failure = Failure.of(error)
        if failure.spent:
            raise error
        self.result(failure.result(spec))


class TaskAccount:
    """Keeps account of a task's trials: which have a result, which is open, and how the rest end if the task dies.

    Attributes
    ----------
    waiting : the trials without a result so far, by key
    open : the trial that is running; None between trials and during shared work
    """

    def __init__(self, specs: Sequence[TrialSpec]) -> None:
        self.waiting = {spec.key: spec for spec in specs}
        self.open: TrialSpec | None = None
        self._ended = 0

    def hear(self, kind: str, value: Any) -> TrialResult | None:
        """Record a message of a `Channel`. Returns the trial's result if the message is its first one."""
        if kind == "begin":
            self.open = self.waiting.get(value)
            return None
        self.open = None
        self._ended += 1
        return value if self.waiting.pop(value.spec.key, None) else None

    def to_blame(self, *, finished: bool, spent: bool = False) -> list[TrialSpec]:
        """The trials that are blamed for a failure of the task: the open one, or the only one, or all waiting ones if
        the task says that it has ``finished``. None during shared work, and none if the process is ``spent``, because
        an earlier trial may be the cause: the trials are then run one by one, which shows the culprit."""
        waiting = list(self.waiting.values())
        if spent and self._ended:
            return []
        if finished:
            return waiting
        return [self.open or waiting[0]] if self.open or len(waiting) == 1 else []

    def close(
        self, blamed: Sequence[TrialSpec], failure: Failure, held: int | None = None
    ) -> tuple[list[TrialResult], list[list[TrialSpec]]]:
        """The results of the ``blamed`` trials that still wait, and the tasks in which the others are tried again."""
        lost = [spec for spec in blamed if spec.key in self.waiting]
        rest = [spec for spec in self.waiting.values() if spec not in blamed]
        again = [rest] if blamed and rest else [[spec] for spec in rest]
        return [failure.result(spec, held) for spec in lost], again
