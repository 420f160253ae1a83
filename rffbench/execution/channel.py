"""A task's two ends: the channel through which it tells what it does, and the account kept of what it said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rffbench.execution.failure import Failure
from rffbench.execution.row import check_row
from rffbench.process import peak_memory, reset_peak
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import TrialResult, TrialSpec


class Channel:
    """How a task's function tells its executor what it does.

    The function calls ``begin(spec)`` before a trial and ``result(result)`` after it; work shared by several
    trials is done outside of any. An exception it lets out ends the task: the open trial gets an error row,
    the others are tried again without it. ``fail(spec, error)`` records a trial's exception and goes on.

    Attributes
    ----------
    workers, threads : how many workers run beside each other, and the threads of each
    memory_limit : bytes a worker may hold, its own pages; None without a limit
    machine : a block in which this worker is the only one at work, how many threads it then has, and the timer of who
        timed last; none needed where there are no others
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
        self._timed_with: int | None = None  # the threads of what the open trial timed alone

    def begin(self, spec: TrialSpec) -> None:
        """A trial starts: its time limit and its peak memory count from here."""
        self._send(("begin", spec.key))
        self._timed_with = None
        reset_peak()

    @contextmanager
    def alone(self) -> Iterator[Timer]:
        """Nothing else of this run is at work in the block, which has every processor's thread: to time something."""
        with self._machine() as (self._timed_with, timer):
            yield timer

    def result(self, result: TrialResult) -> None:
        """A trial is finished. Peak memory, threads and contention are filled in where it left them out.

        A result that could not be read again from a row of the log (a NaN, text for a metric) is an error of its trial.
        """
        if result.peak_memory_bytes is None:
            result.peak_memory_bytes = peak_memory()
        if result.seconds:
            result.seconds.setdefault("threads", self._timed_with or self.threads)
            if result.seconds.get("contended") is None:  # not measured here: neighbours are all that is known
                result.seconds["contended"] = True if self.workers > 1 and not self._timed_with else None
        try:
            row = result.to_row()
            check_row(row)
            json.dumps(row, allow_nan=False)
        except (TypeError, ValueError) as error:
            result = Failure.of(error).result(result.spec, result.peak_memory_bytes)
        self._send(("result", result))

    def fail(self, spec: TrialSpec, error: BaseException) -> None:
        """A trial ended in an exception. One after which this process can do nothing more ends the task."""
        failure = Failure.of(error)
        if failure.spent:
            raise error
        self.result(failure.result(spec))


class TaskAccount:
    """Which trials of a task have their result, which one is open, and how the rest ends if it ends early.

    Attributes
    ----------
    waiting : the trials without a result so far, by key
    open : the trial that has begun and not ended; None between trials, and while shared work is done
    """

    def __init__(self, specs: Sequence[TrialSpec]) -> None:
        self.waiting = {spec.key: spec for spec in specs}
        self.open: TrialSpec | None = None
        self._ended = 0

    def hear(self, kind: str, value: Any) -> TrialResult | None:
        """Take in what a `Channel` sent: the trial's result where it is one, and the first."""
        if kind == "begin":
            self.open = self.waiting.get(value)
            return None
        self.open = None
        self._ended += 1
        return value if self.waiting.pop(value.spec.key, None) else None

    def to_blame(self, *, finished: bool, spent: bool = False) -> list[TrialSpec]:
        """The trials that a failure of the task is laid to: the open one, or the only one, or all that wait where the
        task says that it has ``finished``. None where it was at work that its trials share, or where its process is
        ``spent`` and trials before may have left it so: each on its own will show on whose account."""
        waiting = list(self.waiting.values())
        if spent and self._ended:
            return []
        if finished:
            return waiting
        return [self.open or waiting[0]] if self.open or len(waiting) == 1 else []

    def close(
        self, blamed: Sequence[TrialSpec], failure: Failure, held: int | None = None
    ) -> tuple[list[TrialResult], list[list[TrialSpec]]]:
        """The results of those ``blamed`` that still wait, and the tasks in which the others are tried again."""
        lost = [spec for spec in blamed if spec.key in self.waiting]
        rest = [spec for spec in self.waiting.values() if spec not in blamed]
        again = [rest] if blamed and rest else [[spec] for spec in rest]
        return [failure.result(spec, held) for spec in lost], again
