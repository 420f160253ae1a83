"""The child's side: a process that runs one task, or several short ones, and reports its progress to its parent."""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import mmap
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import connection, parent_process
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from rffbench.arguments.rowsource import subtract_pauses
from rffbench.execution import Task
from rffbench.execution.channel import Channel
from rffbench.execution.environment import processors
from rffbench.execution.failure import Failure
from rffbench.execution.offspring import adopt
from rffbench.io.process import forget_safe_path, keep_freed_memory
from rffbench.trials.seconds import Timer

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
BUSY_S = 0.05  # for which OpenBLAS's threads wait in a busy loop: 2²⁶ ticks of a processor's clock, at 1.3 GHz
SHOW_STACK = signal.SIGUSR1  # the parent asks a hanging worker for its stack


@dataclass(frozen=True)
class Settings:
    """The settings of a worker: ``work`` as ``module:name``, its share of the machine, its limit, and whether it
    ``times`` on the whole machine."""

    work: str
    workers: int
    threads: int
    memory_limit: int | None
    times: bool
    stack: Path  # where the Python stack is written on a crash, or when the parent asks
    paused: Path  # eight bytes: the seconds for which the parent has paused the worker so far


def resolve(function: str) -> Callable[..., Any]:
    """The function called ``module:name``."""
    module, name = function.split(":")
    return getattr(import_module(module), name)


def work(specs: Task, settings: Settings, pipe: connection.Connection) -> None:
    """Run a task in this process: ``work(specs, channel)``, and then each that the parent sends, until it sends None.
    No trial is blamed for a failure before this process is ``ready``."""
    _settle_in()
    try:
        subtract_pauses(shared_seconds(settings.paused))
        stack = settings.stack.open("w", encoding="utf-8")
        if settings.times:
            limit_threads(processors())  # OpenBLAS has all threads from here on, which sleep when they are needed
        started = monotonic()
        limit_threads(settings.threads)
        do = resolve(settings.work)
    except Exception as error:
        pipe.send(("unready", Failure.of(error)))
        return
    pipe.send(("ready", None))
    task: Task | None = specs
    try:
        with stack:
            faulthandler.enable(stack, all_threads=False)
            faulthandler.register(SHOW_STACK, stack, all_threads=False)
            while task and _is_done(do, task, settings, pipe, started):
                task = pipe.recv()
            faulthandler.disable()
            faulthandler.unregister(SHOW_STACK)
    except (OSError, EOFError):  # a map has closed the pipe: its parent sees that this process has ended
        raise SystemExit(1) from None


def _is_done(do: Any, task: Task, settings: Settings, pipe: connection.Connection, started: float) -> bool:
    """Run a task; whether it came to its end without an exception."""
    channel = Channel(
        pipe.send,
        workers=settings.workers,
        threads=settings.threads,
        memory_limit=settings.memory_limit,
        machine=lambda: the_machine(pipe, settings.threads, started),
    )
    try:
        do(task, channel)
    except SystemExit:
        raise
    except BaseException as error:  # KeyboardInterrupt too: no Ctrl-C comes here, a map has raised it
        pipe.send(("raised", Failure.of(error)))
        return False
    pipe.send(("done", None))
    return True


def shared_seconds(path: Path, *, new: bool = False) -> memoryview[float]:
    """A float64, at index 0, that all processes which map the file share; a ``new`` one is 0."""
    path.parent.mkdir(exist_ok=True)  # somebody may have cleared the temporary folder
    if new or not path.exists():
        path.write_bytes(bytes(8))
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 8)).cast("d")


@contextlib.contextmanager
def the_machine(pipe: connection.Connection, share: int, started: float) -> Iterator[tuple[int, Timer]]:
    """A block with threads for all processors instead of this worker's ``share``, and the previous holder's timer. It
    first waits until the parent has paused the other workers, and until OpenBLAS's threads, ``started`` at that time of
    the monotonic clock, sleep."""
    sleep(max(0.0, started + BUSY_S - monotonic()))  # while others may still work
    pipe.send(("alone", None))
    timer = pipe.recv()
    libraries = limit_threads(processors())
    try:
        yield processors(), timer
    finally:
        limit_threads(share, libraries)
        pipe.send(("alone", timer))


def call(function: str, arguments: tuple[Any, ...], pipe: connection.Connection) -> None:
    """Call any function in this process, and send back its value or its exception."""
    _settle_in()
    try:
        pipe.send(("returned", resolve(function)(*arguments)))
    except Exception as error:
        pipe.send(("raised", Failure.of(error)))


def _settle_in() -> None:
    """Give this process its own group. It ignores Ctrl-C, which the parent handles, and ends with its parent."""
    keep_freed_memory()
    os.setsid()
    adopt()
    os.dup2(2, 1)  # the run's standard output is for its results, ours goes to standard error
    forget_safe_path()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it was held back until here
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # Locks that libraries make in here (numba makes one) then have no name, which would outlive a killed worker.
    multiprocessing.set_start_method("fork", force=True)
    with contextlib.suppress(OSError):  # a system out of memory shall end a worker, not the run
        Path("/proc/self/oom_score_adj").write_text("1000")
    # When the parent dies, its end of this pipe closes, and the system sends a signal to our whole group, which
    # ends it: unlike a watching thread, that works while a trial hangs in C code with the interpreter's lock.
    parent = parent_process()
    assert parent is not None
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, -os.getpid())
    if sys.platform == "linux":  # a paused process receives no other signal
        fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | fcntl.FASYNC)
    if not parent.is_alive():  # it died before that was set up
        os._exit(1)


def limit_threads(threads: int, libraries: ThreadpoolController | None = None) -> ThreadpoolController:
    """Limit BLAS, OpenMP and numba to this many threads, whether they are loaded already or later. Finding the loaded
    ``libraries`` takes a millisecond; they are returned."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    if numba := sys.modules.get("numba"):  # it has read its variable, and refuses to see it changed
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    else:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
    from threadpoolctl import ThreadpoolController

    libraries = libraries or ThreadpoolController()
    libraries.limit(limits=threads)
    return libraries
