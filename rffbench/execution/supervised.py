"""The parent's view of a worker: its messages, its limits, its end, and when it is paused."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from rffbench.errors import amount
from rffbench.execution import Task
from rffbench.execution.channel import TaskAccount
from rffbench.execution.child import REAP_S, Child
from rffbench.execution.failure import NO_RESULT, Failure, without_folders
from rffbench.execution.worker import SHOW_STACK, Settings, shared_seconds, work
from rffbench.io.process import RESERVE_BYTES, private_memory, tree_memory
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import TrialResult

STACK_S = 1.0  # how long a hanging worker has to write its stack
STACK_LOOK_S = 0.03  # how often its file is read: it is complete when it ends with a newline and no longer grows
START_S = 120.0  # how long a process may take to load its libraries
YOUNG_S = 3.0  # a worker of this age takes no other task; starting one takes about 0.05 s of a processor


class Worker(Child):
    """A child that runs one task, as its parent sees it, or several short ones in turn.

    ``idle`` is true while it waits for `go_on`, and ``over`` once it has ended; ``leftover`` then holds the tasks to
    try again. A trial that fails after another task is tried again in a new worker: the other task may be the cause.
    """

    def __init__(self, specs: Task, settings: Settings, time_limit: float | None) -> None:
        self._paused_s = shared_seconds(settings.paused, new=True)  # by our signals, so far
        super().__init__(work, specs, settings)
        self.settings = settings
        self.time_limit = time_limit
        self.account = TaskAccount(specs)
        self.since = time.monotonic()  # when its last message came, without the time for which it was paused
        self.asks = False  # for the machine
        self.has_machine = False
        self.timer: Timer | None = None  # with which it timed last
        self.ready = False
        self.idle = False
        self.used = False  # it has run another task before
        self.paused_since: float | None = None  # since when it, and its clock, are paused: stopped, or waiting to time
        self.over = False
        self.leftover: list[Task] = []
        self.unready: Failure | None = None  # why it died before it could begin
        self._failure: Failure | None = None
        self._done = False
        self._failed = False  # a trial has
        self._born, self._held = self.since, 0  # when it was ready, and the bytes that it held then
        self._stopped_since: float | None = None

    def signs(self) -> list[Any]:
        return super().signs() if self._stopped_since is None else [self.process.sentinel]

    def step(self, now: float) -> list[TrialResult]:
        """Check the worker. Returns the results that it has finished or lost since the last check. The limits are
        checked for the time ``now``, because this process may be stopped between two lines of its code."""
        dead = not self.process.is_alive()
        results, ended = self._receive()
        if self._done or not self.account.waiting:
            if not (dead or ended or (self.paused_since is None and now - self.since > REAP_S)):
                return results  # it puts its things away
            return results + self._end(NO_RESULT)
        if self._failure:
            return results + self._end(self._failure)
        if dead or ended:
            if self.cut_off():
                self.ready = False  # no trial is to blame: the task is done again
                gone = Failure("killed", "ServerDied", "the process that workers are forked from has died")
                return results + self._end(gone)
            ending = self.ending()
            died = Failure("killed", "WorkerDied", f"the worker {ending}", self._stack(), "SIGBUS" in ending)
            return results + self._end(died)
        if not self.ready:
            if now - self.since > START_S:
                message = f"a worker was not ready within {START_S:g} s"
                slow = Failure("killed", "NotReady", message, self._ask_for_stack())
                return results + self._end(slow)
            return results
        if self.time_limit is not None and self.paused_since is None:
            limit = self.time_limit * (1 if self.account.open else len(self.account.waiting))
            if now - self.since > limit:
                message = f"no result within {limit:g} s"
                late = Failure("timeout", "TimeLimitExceeded", message, self._ask_for_stack())
                return results + self._end(late)
        if self.settings.memory_limit is not None:
            held, limit = tree_memory(self.process.pid or 0) or 0, self.settings.memory_limit
            if held > limit:
                message = f"held {amount(held)}, more than the limit of {amount(limit)}"
                return results + self._end(Failure("out-of-memory", "MemoryLimitExceeded", message), held)
        return results

    def leave_out(self, seconds: float) -> None:
        """The parent was stopped for this time (its container was paused, its disk waited), and perhaps the worker too:
        so the time does not count for the limits."""
        if self.paused_since is None:
            self.since += seconds

    def _receive(self) -> tuple[list[TrialResult], bool]:
        """The results received, and whether the pipe has ended."""
        results: list[TrialResult] = []
        if self._stopped_since is not None and self._alive and self.process.is_alive():
            return results, False  # it may have been stopped in the middle of a message
        try:
            while self.pipe.poll():
                kind, value = self.pipe.recv()
                self.since = time.monotonic()
                if kind == "ready":
                    self.ready, self._born = True, self.since
                    self._held = private_memory(self.process.pid or 0) or 0
                elif kind in ("raised", "unready"):
                    self._failure = value
                elif kind == "done":
                    self._done = self.idle = True
                elif kind == "alone":  # it asks for the machine, or gives its timer back; it may have asked again since
                    self.asks, self.has_machine = value is None, False
                    self.timer = value or self.timer
                    self._clock(paused=self.asks)
                elif result := self.account.hear(kind, value):
                    self._failed |= result.status != "ok"
                    if self._failed and self.used:  # it is tried again, with all trials after it
                        self.account.waiting[result.spec.key] = result.spec
                        self._failure = NO_RESULT
                    else:
                        results.append(result)
        except (EOFError, OSError):
            return results, True
        return results, False

    def can_go_on(self) -> bool:
        """Whether an idle worker may run another task: it is young, nothing in it has failed, and it holds hardly more
        memory than a new one."""
        held = private_memory(self.process.pid or 0) or 0
        sound = not (self._failed or self.account.waiting)
        return sound and self.since - self._born < YOUNG_S and held - self._held < RESERVE_BYTES

    def go_on(self, task: Task | None) -> None:
        """Have an idle worker run another task, or end."""
        self.idle = False
        if task:
            self.account, self.used, self._done = TaskAccount(task), True, False
        self.since = time.monotonic()
        with contextlib.suppress(OSError):  # it has died, as `step` will see
            self.pipe.send(task)

    def take_machine(self, timer: Timer) -> None:
        """Tell the worker that it has the machine, and pass on the timer of the worker before it."""
        self.asks, self.has_machine = False, True
        self._clock(paused=False)
        with contextlib.suppress(OSError):  # it has died, as `step` will see
            self.pipe.send(timer)

    def pause(self, paused: bool) -> None:
        """Pause or continue the worker and everything that it has started."""
        if paused is (self._stopped_since is not None):
            return
        if self._stopped_since is not None:
            self._paused_s[0] += time.monotonic() - self._stopped_since  # written before it continues
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGSTOP if paused else signal.SIGCONT)
        self._stopped_since = time.monotonic() if paused else None
        self._clock(paused=paused or self.asks)

    def _clock(self, *, paused: bool) -> None:
        """Pause or continue the clock of its limits."""
        now = time.monotonic()
        if paused and self.paused_since is None:
            self.paused_since = now
        elif not paused and self.paused_since is not None:
            self.since += now - self.paused_since
            self.paused_since = None

    def _end(self, failure: Failure, held: int | None = None) -> list[TrialResult]:
        """Kill the worker, give ``failure`` to its current trial, and keep the trials that can be tried again."""
        if not self.ready:
            self.unready = failure
        fresh = self.ready and not self.used
        blamed = self.account.to_blame(finished=self._done, spent=failure.spent) if fresh else []
        self.kill()
        results, _ = self._receive()  # what it said in its last moments counts
        self.pipe.close()
        self.over = True
        failed, again = self.account.close(blamed, failure, held)
        waiting = list(self.account.waiting.values())
        self.leftover = again if fresh or not waiting else [waiting]
        return results + failed

    def _ask_for_stack(self) -> str:
        """The Python stack of a hanging worker, if it can still write it."""
        try:
            os.kill(self.process.pid or 0, SHOW_STACK)
        except ProcessLookupError:
            return ""
        until = time.monotonic() + STACK_S
        before, stack = "", self._stack()
        while not (stack == before and stack.endswith("\n")) and time.monotonic() < until:  # or it is still writing
            time.sleep(STACK_LOOK_S)
            before, stack = stack, self._stack()
        return stack

    def _stack(self) -> str:
        try:
            return without_folders(self.settings.stack.read_text(encoding="utf-8"))
        except OSError:
            return ""
