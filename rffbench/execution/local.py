"""Trials in processes of this machine: each task in a fresh process, which is killed at its limits."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.context import ForkServerContext
from types import ModuleType
from typing import Any

from rffbench.errors import ConfigError, EnvironmentFault
from rffbench.execution import Announce, Done, Experiment, Task, offspring
from rffbench.execution.channel import TaskAccount
from rffbench.execution.environment import processors, total_memory
from rffbench.execution.failure import NO_RESULT, Failure, Faults, without_folders
from rffbench.execution.leftovers import temporary_folder, tidy_up
from rffbench.execution.worker import SHOW_STACK, Settings, call, shared_seconds, work
from rffbench.process import SAFE_PATH, environment, safe_path, tree_memory
from rffbench.text import amount
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import Timing, TrialResult, TrialSpec

HINTS: dict[int, str] = {
    signal.SIGKILL: " (the system may have been out of memory)",
    signal.SIGBUS: " (a disk may be full, or a mapped file has been cut off)",
}
POLL_S = 0.05  # how often memory and clocks are looked at
LATE_S = 1.0  # after a longer gap between two checks this process was frozen, and that time counts for no trial
STACK_S = 1.0  # how long a hanging worker has to write its stack
STACK_LOOK_S = 0.03  # how often its file is read: it is complete when it ends with a newline and no longer grows
START_S = 120.0  # how long a process may take to load its libraries
CAN_PAUSE = sys.platform == "linux"  # elsewhere a paused process could outlive its parent
# Python's resource tracker removes the semaphores of killed workers, and would say so as the last line of a run.
TRACKER_QUIET = "ignore:resource_tracker:UserWarning"
OPEN_FILES = 64  # the least that this process needs: sockets, libraries, a few per worker
REAP_S = 5.0  # how long a process may take to end after its work, or after it was killed
# Names, not imports: workers load these modules; the parent loads no data and compiles no kernels.
WORK = "rffbench.trials.tasks:run_group"  # does one task
ENSURE = "rffbench.data:ensure"  # makes one dataset ready in the cache
# Loaded once, in the process that workers are forked from.
PRELOAD = ("rffbench.cli", "rffbench.execution.preloaded")

MOST_WORKERS = 8  # per processor; with more, the system would mainly switch between them
LARGE = 2048  # frequencies: a Gram matrix of 4,096 columns, 134 MB


_STARTING = threading.Lock()  # held while a process is started, until it is known as one of ours


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
        _have_preloaded(self.preload)
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
        _have_preloaded(self.preload)
        given = [list(task) for task in tasks if task]
        alone = timing == "exclusive" or (timing == "features" and not CAN_PAUSE)
        parts: dict[bool, list[Task]] = {False: [], True: []}
        for task in given:
            parts[alone or self.needs_machine(task)].append(task)
        faults = Faults()
        times = timing == "features"
        self._run(parts[False], done, faults, self.workers, times)
        self._run(parts[True], done, faults, 1, times)

    def _run(self, tasks: list[Task], done: Done, faults: Faults, workers: int, times: bool) -> None:
        """Run these tasks with at most ``workers`` workers. With ``times`` they may ask for the machine."""
        queue = deque(tasks)
        workers = max(1, min(workers, len(queue)))
        threads = self.threads or max(1, processors() // workers)
        running: list[_Worker] = []
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
                            running.append(_Worker(queue.popleft(), settings, self.time_limit))
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


class CallFailed(Exception):
    """Raised if a function called in its own process raised, or if its process died."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.type}: {failure.message}")
        self.failure = failure


def call_alone(function: str, *arguments: Any) -> Any:
    """What ``function`` (``module:name``) returns when called in a fresh process; CallFailed if it raises or dies."""
    child: _Child | None = None
    try:
        with uninterrupted():
            child = _Child(call, function, arguments)
        try:
            kind, value = child.pipe.recv()
            child.process.join(REAP_S)  # it puts its things away
        except (EOFError, OSError):
            died = Failure("killed", "WorkerDied", f"the process of {function} {child.ending()}", environment=True)
            raise CallFailed(died) from None
    finally:
        if child:
            child.kill()
    if kind == "raised":
        raise CallFailed(value)
    return value


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block; processes started in the block never receive it."""
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
def _have_preloaded(modules: tuple[str, ...]) -> None:
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))  # heard only until the server runs
    _context()


@cache
def _context() -> ForkServerContext:
    tidy_up()
    _check_open_files()
    context = multiprocessing.get_context("forkserver")  # workers start clean and at once, libraries loaded
    # numba reads its variable once, when the server loads it, and no worker could have more threads than it says: what
    # a user exports for other programs is left out, as the executor replaces OMP_NUM_THREADS and its like. OpenBLAS,
    # were it to have threads in the server, would start as many in each worker, to wait in a busy loop for a while.
    with environment({"NUMBA_NUM_THREADS": None, "OPENBLAS_NUM_THREADS": "1", SAFE_PATH: safe_path()}):
        with environment({"PYTHONWARNINGS": ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), TRACKER_QUIET]))}):
            resource_tracker.ensure_running()  # now, because starting it unblocks SIGINT (Python < 3.12)
        # Processes forked from the server are born with this mask: no Ctrl-C meets one before it has settled in.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        except OSError as error:
            raise _no_worker(error) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return context


@contextlib.contextmanager
def _without_main_script() -> Iterator[None]:
    """In the block, new processes don't import the running script, which would start the run again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _check_open_files() -> None:
    """EnvironmentFault if this process may not open enough files: workers would fail in obscure ways."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < OPEN_FILES:
        raise EnvironmentFault(
            f"this process may have {most} files open at a time (ulimit -n); {OPEN_FILES} are needed to start worker "
            f"processes: ulimit -n {OPEN_FILES}, and the same command carries on"
        )


def _no_worker(error: OSError) -> EnvironmentFault:
    """The error that no worker can be started, with what to do about it."""
    folder = tempfile.gettempdir()
    if error.errno in (errno.EMFILE, errno.ENFILE):
        mend = "allow more open files (ulimit -n)."
    elif error.errno is None:  # the path of a socket in it has 107 characters at most
        mend = f"is the path of the temporary folder {folder} (TMPDIR) too long?"
    else:
        mend = f"is the temporary folder {folder} there, with room in it?"
    return EnvironmentFault(
        f"no worker process can be started ({error.strerror or error}); {mend} The same command carries on"
    )


class _Child:
    """A process in its own group, and the pipe for its messages."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self.pipe, theirs = _context().Pipe()
        self.process = _context().Process(target=target, args=(*arguments, theirs))
        try:
            with _STARTING, _without_main_script():
                self.process.start()
        except OSError as error:
            raise _no_worker(error) from error
        theirs.close()  # so that the pipe ends when the child does
        self._alive = True

    def signs(self) -> list[Any]:
        """The handles that become ready when the child has sent something, or has died."""
        return [self.pipe, self.process.sentinel]

    def ending(self) -> str:
        """The child's cause of death, in words."""
        self.process.join(REAP_S)
        code = self.process.exitcode
        if code is None:
            return "went silent"
        if code >= 0:
            return f"exited with status {code}"
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"was killed by {name}{HINTS.get(-code, '')}"

    def cut_off(self) -> bool:
        """Whether the child still runs although it seems dead: then the process that it was forked from has died, which
        would have reported its end."""
        if self.process.exitcode is None:
            return False
        try:
            os.kill(self.process.pid or 0, 0)
        except OSError:
            return False
        return True

    def send_kill(self) -> None:
        """End the child and everything it has started, without waiting for them."""
        if self._alive:
            offspring.end(self.process.pid or 0)
            self.process.kill()  # it may be so young that it has no group yet

    def kill(self) -> None:
        """End the child and everything it has started."""
        if not self._alive:
            return
        with uninterrupted():
            self.send_kill()
            self._alive = False
            self.process.join(REAP_S)
            with _STARTING:
                offspring.end_strays()
            if self.process.exitcode is not None:
                self.process.close()


class _Worker(_Child):
    """The parent's view of a child that runs one task.

    ``over`` is true once it has ended; ``leftover`` then holds the tasks to try again in new workers.
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
        self.paused_since: float | None = None  # since when it, and its clock, are paused: stopped, or waiting to time
        self.over = False
        self.leftover: list[Task] = []
        self.unready: Failure | None = None  # why it died before it could begin
        self._failure: Failure | None = None
        self._done = False
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
                    self.ready = True
                elif kind in ("raised", "unready"):
                    self._failure = value
                elif kind == "done":
                    self._done = True
                elif kind == "alone":  # it asks for the machine, or gives its timer back; it may have asked again since
                    self.asks, self.has_machine = value is None, False
                    self.timer = value or self.timer
                    self._clock(paused=self.asks)
                elif result := self.account.hear(kind, value):
                    results.append(result)
        except (EOFError, OSError):
            return results, True
        return results, False

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
        blamed = self.account.to_blame(finished=self._done, spent=failure.spent) if self.ready else []
        self.kill()
        results, _ = self._receive()  # what it said in its last moments counts
        self.pipe.close()
        self.over = True
        failed, again = self.account.close(blamed, failure, held)
        self.leftover = again if self.ready else [list(self.account.waiting.values())]
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


class _Machine:
    """Decides which worker has the machine: none, and all share it, or one that is timing while the others pause."""

    def __init__(self) -> None:
        self._holder: _Worker | None = None
        self._timer = Timer()

    @property
    def taken(self) -> bool:
        return self._holder is not None

    def pass_on(self, running: Sequence[_Worker]) -> None:
        """Take the machine back from a worker that has finished timing or ended, and give it to one that asks for it.
        This waits until all workers are ready: one that is still starting would stay paused for ever if this process
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
