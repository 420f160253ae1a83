"""The child's side: a fresh process that does one task and tells its parent how far it has come."""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import json
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any

from rffbench.errors import DataError
from rffbench.execution import Task
from rffbench.execution.measure import peak_memory, reset_peak
from rffbench.spec import Status, TrialResult, TrialSpec

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
FOLDER_VARIABLES = ("RFFBENCH_MIRROR", "RFFBENCH_CACHE")
MESSAGE_CHARACTERS, TRACEBACK_CHARACTERS = 2_000, 8_000  # so that what goes to the parent is one small write
SHOW_STACK = signal.SIGUSR1  # the parent's question where a worker hangs


@dataclass(frozen=True)
class Settings:
    """What a worker is started with: ``function`` as ``module:name``, its share of the machine, its limit."""

    function: str
    workers: int
    threads: int
    memory_limit: int | None
    stack: Path  # where the Python stack is written on a crash, or when the parent asks


@dataclass(frozen=True)
class Failure:
    """An exception as it goes into a trial's row."""

    status: Status
    type: str
    message: str
    traceback: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """How an exception counts: no memory, no data, or any other error."""
        status: Status = "error"
        if isinstance(error, MemoryError):
            status = "out-of-memory"
        elif isinstance(error, DataError):
            status = "unavailable"
        trace = without_folders("".join(traceback.format_exception(error)))[-TRACEBACK_CHARACTERS:]
        return cls(status, type(error).__name__, without_folders(str(error))[:MESSAGE_CHARACTERS], trace)


def without_folders(text: str) -> str:
    """A message or traceback with files named from where Python, or a variable of the environment, says they are:
    rows of the log go to other machines."""
    folders = sorted({str(Path(folder).absolute()) for folder in sys.path}, key=len, reverse=True)
    for folder in folders:
        text = text.replace(f'File "{folder}{os.sep}', 'File "')
    for variable in FOLDER_VARIABLES:
        if folder := os.environ.get(variable, "").rstrip(os.sep):
            text = text.replace(f"{folder}{os.sep}", f"${variable}{os.sep}")
    return text


class Channel:
    """How a task's function tells its parent what it does.

    The function calls ``begin(spec)`` before a trial and ``result(result)`` after it; work shared by several
    trials is done outside of any. An exception it lets out ends the task: the open trial gets an error row,
    the others are tried again without it. ``fail(spec, error)`` records a trial's exception and goes on.

    Attributes
    ----------
    workers, threads : how many workers run beside each other, and the threads of each
    memory_limit : bytes a worker may hold, its own pages; None without a limit
    """

    def __init__(self, pipe: connection.Connection, settings: Settings) -> None:
        self.workers = settings.workers
        self.threads = settings.threads
        self.memory_limit = settings.memory_limit
        self._pipe = pipe

    def begin(self, spec: TrialSpec) -> None:
        """A trial starts: its time limit and its peak memory count from here."""
        self._pipe.send(("begin", spec.key))
        reset_peak()

    def result(self, result: TrialResult) -> None:
        """A trial is finished. Peak memory, threads and contention are filled in where it left them out.

        ValueError or TypeError if the result can't be a line of JSON (a NaN, an array).
        """
        if result.peak_memory_bytes is None:
            result.peak_memory_bytes = peak_memory()
        if result.timing:
            result.timing.setdefault("threads", self.threads)
            if result.timing.get("contended") is None:  # not measured here: neighbours are all that is known
                result.timing["contended"] = self.workers > 1
        json.dumps(result.to_row(), allow_nan=False)
        self._pipe.send(("result", result))

    def fail(self, spec: TrialSpec, error: BaseException) -> None:
        """A trial ended in an exception."""
        failure = Failure.of(error)
        self.result(
            TrialResult.failed(spec, failure.status, failure.type, failure.message, failure.traceback)
        )


def resolve(function: str) -> Callable[..., Any]:
    """The function that ``module:name`` stands for."""
    module, name = function.split(":")
    return getattr(import_module(module), name)


def work(specs: Task, settings: Settings, pipe: connection.Connection) -> None:
    """Do a task in this process: ``function(specs, channel)``."""
    _settle_in()
    with settings.stack.open("w") as stack:
        faulthandler.enable(stack, all_threads=False)
        faulthandler.register(SHOW_STACK, stack, all_threads=False)
        try:
            limit_threads(settings.threads)
            resolve(settings.function)(specs, Channel(pipe, settings))
        except Exception as error:
            pipe.send(("raised", Failure.of(error)))
        else:
            pipe.send(("done", None))
        faulthandler.disable()
        faulthandler.unregister(SHOW_STACK)


def call(function: str, arguments: tuple[Any, ...], pipe: connection.Connection) -> None:
    """Call any function in this process, and send back what it returns or raises."""
    _settle_in()
    try:
        pipe.send(("returned", resolve(function)(*arguments)))
    except Exception as error:
        pipe.send(("raised", Failure.of(error)))


def _settle_in() -> None:
    """A process group of its own, deaf to Ctrl-C (the parent decides), that does not outlive its parent."""
    os.setsid()
    os.dup2(2, 1)  # the run's standard output is for its results, ours goes to standard error
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Locks that libraries make in here (numba makes one) then have no name, which would outlive a killed worker.
    multiprocessing.set_start_method("fork", force=True)
    with contextlib.suppress(OSError):  # a system out of memory shall end a worker, not the run
        Path("/proc/self/oom_score_adj").write_text("1000")
    # When the parent dies, its end of this pipe closes, and the system sends SIGIO to our whole group, which
    # ends it: unlike a watching thread, that works while a trial hangs in C code with the interpreter's lock.
    parent = parent_process()
    assert parent is not None
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, -os.getpid())
    flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | fcntl.FASYNC)
    if not parent.is_alive():  # it died before that was set up
        os._exit(1)


def limit_threads(threads: int) -> None:
    """Hold BLAS, OpenMP and numba to so many threads, those loaded already and those to come."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    if numba := sys.modules.get("numba"):  # it has read its variable, and refuses to see it changed
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    else:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)
