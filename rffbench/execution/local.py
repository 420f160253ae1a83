"""Trials in processes of this machine: each task in a fresh one, with limits that really end it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import connection, resource_tracker
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from rffbench.execution import Finished, Task
from rffbench.execution.measure import private_memory
from rffbench.execution.worker import SHOW_STACK, Failure, Settings, call, without_folders, work
from rffbench.spec import TrialResult, TrialSpec

POLL_S = 0.05  # how often memory and clocks are looked at
STACK_S = 0.3  # how long a hanging worker has to write down where it hangs
REAP_S = 5.0  # how long a process that has done its work, or was killed, has to be gone
# Loaded once, in the process that workers are forked from.
PRELOAD = ["numpy", "scipy.linalg", "sklearn.base", "numba", "threadpoolctl", "rffbench.shared"]


class LocalExecutor:
    """Does tasks in worker processes, at most ``workers`` at a time.

    Parameters
    ----------
    function : ``module:name`` of what does a task: ``function(specs, channel)``, see worker.Channel
    workers : processes beside each other
    threads : BLAS, OpenMP and numba threads of each
    time_limit : seconds a trial may take; work shared by a task's trials may take their limits together
    memory_limit : bytes a worker may hold, without mapped files (Linux; elsewhere not enforced)

    A trial that crosses a limit is killed and its row says so, as does that of a trial whose worker dies; the
    other trials of that task are done in a new worker. Where work shared by a task's trials is lost, each of
    them is tried on its own.
    """

    def __init__(
        self,
        function: str,
        *,
        workers: int,
        threads: int,
        time_limit: float | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self.function = function
        self.workers = workers
        self.threads = threads
        self.time_limit = time_limit
        self.memory_limit = memory_limit

    def run(self, tasks: Iterable[Task]) -> Generator[Finished, None, None]:
        """One Finished for every spec of every task; see Executor. Closing the iterator kills the workers."""
        queue = deque(list(task) for task in tasks if task)
        running: list[_Worker] = []
        started = 0
        with tempfile.TemporaryDirectory(prefix="rffbench-") as folder:
            try:
                while queue or running:
                    while queue and len(running) < self.workers:
                        stack = Path(folder) / f"stack-{started}.txt"
                        settings = Settings(
                            self.function, self.workers, self.threads, self.memory_limit, stack
                        )
                        with _uninterrupted():  # or a worker might be started and never known
                            running.append(_Worker(queue.popleft(), settings, self.time_limit))
                        started += 1
                    connection.wait([each for worker in running for each in worker.signs()], POLL_S)
                    for worker in list(running):
                        results = worker.step()
                        if worker.over:
                            running.remove(worker)
                            queue.extendleft(reversed(worker.leftover))
                        yield from map(Finished, results)
            finally:
                for worker in running:
                    worker.kill()


class CallFailed(Exception):
    """A function called in a process of its own raised, or its process died."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.type}: {failure.message}")
        self.failure = failure


def call_alone(function: str, *arguments: Any) -> Any:
    """What ``function`` (``module:name``) returns, called in a fresh process; CallFailed if it doesn't."""
    child: _Child | None = None
    try:
        with _uninterrupted():
            child = _Child(call, function, arguments)
        try:
            kind, value = child.pipe.recv()
            child.process.join(REAP_S)  # it puts its things away
        except (EOFError, OSError):
            died = Failure("killed", "WorkerDied", f"the process of {function} {child.ending()}", "")
            raise CallFailed(died) from None
    finally:
        if child:
            child.kill()
    if kind == "raised":
        raise CallFailed(value)
    return value


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C until the end of the block; processes started in it never see one."""
    if threading.current_thread() is not threading.main_thread():  # no KeyboardInterrupt comes here
        yield
        return
    _context()
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # children inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, handler)
        if held:
            signal.raise_signal(signal.SIGINT)


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")  # workers start clean and at once, libraries loaded
    context.set_forkserver_preload(PRELOAD)
    resource_tracker.ensure_running()  # now, because starting it unblocks SIGINT (Python < 3.12)
    return context


class _Child:
    """A process in its own group, and the pipe it talks through."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self.pipe, theirs = _context().Pipe(duplex=False)
        self.process = _context().Process(target=target, args=(*arguments, theirs))
        self.process.start()
        theirs.close()  # so that the pipe ends when the child does
        self._alive = True

    def signs(self) -> list[Any]:
        """What gets ready when the child has said something, or died."""
        return [self.pipe, self.process.sentinel]

    def ending(self) -> str:
        """How the child died, in words."""
        self.process.join(REAP_S)
        code = self.process.exitcode
        if code is None:
            return "went silent"
        if code >= 0:
            return f"exited with status {code}"
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = " (the system may have been out of memory)" if -code == signal.SIGKILL else ""
        return f"was killed by {name}{hint}"

    def kill(self) -> None:
        """End the child with everything it has started."""
        if not self._alive:
            return
        with _uninterrupted():
            self._alive = False
            try:
                os.killpg(self.process.pid or 0, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # dead, or so young that it has no group yet
                self.process.kill()
            self.process.join(REAP_S)
            if self.process.exitcode is not None:
                self.process.close()


class _Worker(_Child):
    """A child that does one task, as its parent sees it.

    ``over`` once it has ended; then ``leftover`` holds what is to be tried again in new workers.
    """

    def __init__(self, specs: Task, settings: Settings, time_limit: float | None) -> None:
        super().__init__(work, specs, settings)
        self.settings = settings
        self.time_limit = time_limit
        self.waiting = {spec.key: spec for spec in specs}  # without a result so far
        self.open: TrialSpec | None = None
        self.since = time.monotonic()  # when it last said something
        self.over = False
        self.leftover: list[Task] = []
        self._failure: Failure | None = None
        self._done = False

    def step(self) -> list[TrialResult]:
        """Look after the worker: what it has finished since, or lost."""
        dead = not self.process.is_alive()
        results, ended = self._receive()
        if self._done or not self.waiting:
            if not (dead or ended or time.monotonic() - self.since > REAP_S):
                return results  # it puts its things away
            nothing = Failure("error", "NoResult", "the task ended without a result for this trial", "")
            return results + self._end(nothing)
        if self._failure:
            return results + self._end(self._failure)
        if dead or ended:
            died = Failure("killed", "WorkerDied", f"the worker {self.ending()}", self._stack())
            return results + self._end(died)
        if self.time_limit is not None:
            limit = self.time_limit * (1 if self.open else len(self.waiting))
            if time.monotonic() - self.since > limit:
                message = f"no result within {limit:g} s"
                late = Failure("timeout", "TimeLimitExceeded", message, self._ask_for_stack())
                return results + self._end(late)
        if self.settings.memory_limit is not None:
            held, limit = private_memory(self.process.pid or 0) or 0, self.settings.memory_limit
            if held > limit:
                message = f"held {held / 1e9:.2f} GB, more than the limit of {limit / 1e9:.2f} GB"
                return results + self._end(Failure("out-of-memory", "MemoryLimitExceeded", message, ""), held)
        return results

    def _receive(self) -> tuple[list[TrialResult], bool]:
        """Results that have come in, and whether the pipe has ended."""
        results = []
        try:
            while self.pipe.poll():
                kind, value = self.pipe.recv()
                self.since = time.monotonic()
                if kind == "begin":
                    self.open = self.waiting.get(value)
                elif kind == "result":
                    self.open = None
                    if self.waiting.pop(value.spec.key, None):
                        results.append(value)
                elif kind == "raised":
                    self._failure = value
                else:
                    self._done = True
        except (EOFError, OSError):
            return results, True
        return results, False

    def _end(self, failure: Failure, held: int | None = None) -> list[TrialResult]:
        """Kill the worker, lay ``failure`` to the trial it was at, and leave over what can be tried again."""
        waiting = list(self.waiting.values())
        if self._done:
            lost = waiting
        elif self.open or len(waiting) == 1:
            lost = [self.open or waiting[0]]
        else:  # it was at work that its trials share: each on its own will show on whose account
            lost = []
        self.kill()
        results, _ = self._receive()  # what it said in its last moments counts
        self.pipe.close()
        self.over = True
        rest = [spec for spec in self.waiting.values() if spec not in lost]
        self.leftover = [rest] if lost and rest else [[spec] for spec in rest]
        return results + [
            TrialResult.failed(
                spec, failure.status, failure.type, failure.message, failure.traceback, peak_memory_bytes=held
            )
            for spec in lost
            if spec.key in self.waiting
        ]

    def _ask_for_stack(self) -> str:
        """The Python stack of a worker that hangs, if it can still say."""
        try:
            os.kill(self.process.pid or 0, SHOW_STACK)
        except ProcessLookupError:
            return ""
        until = time.monotonic() + STACK_S
        while not (stack := self._stack()) and time.monotonic() < until:
            time.sleep(STACK_S / 10)
        return stack

    def _stack(self) -> str:
        try:
            return without_folders(self.settings.stack.read_text())
        except OSError:
            return ""
