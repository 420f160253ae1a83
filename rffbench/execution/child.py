"""Processes that run one function: each in its own group, forked from a server that has loaded the libraries."""

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
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext
from types import ModuleType
from typing import Any

from rffbench.errors import EnvironmentFault
from rffbench.execution import offspring
from rffbench.execution.failure import Failure
from rffbench.execution.leftovers import tidy_up
from rffbench.execution.worker import call
from rffbench.io.process import SAFE_PATH, environment, safe_path

HINTS: dict[int, str] = {
    signal.SIGKILL: " (the system may have been out of memory)",
    signal.SIGBUS: " (a disk may be full, or a mapped file has been cut off)",
}
# Python's resource tracker removes the semaphores of killed workers, and would say so as the last line of a run.
TRACKER_QUIET = "ignore:resource_tracker:UserWarning"
OPEN_FILES = 64  # the least that this process needs: sockets, libraries, a few per worker
REAP_S = 5.0  # how long a process may take to end after its work, or after it was killed

_STARTING = threading.Lock()  # held while a process is started, until it is known as one of ours


class Child:
    """A process in its own group, and the pipe for its messages."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self.pipe, theirs = context().Pipe()
        self.process = context().Process(target=target, args=(*arguments, theirs))
        try:
            with _STARTING, _without_main_script(), _as_no_daemon():
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


class CallFailed(Exception):
    """Raised if a function called in its own process raised, or if its process died."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.type}: {failure.message}")
        self.failure = failure


def call_alone(function: str, *arguments: Any) -> Any:
    """What ``function`` (``module:name``) returns when called in a fresh process; CallFailed if it raises or dies."""
    child: Child | None = None
    try:
        with uninterrupted():
            child = Child(call, function, arguments)
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
    context()
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
def have_preloaded(modules: tuple[str, ...]) -> None:
    """Have processes start with these modules loaded; the first call in a process decides."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))  # heard only until the server runs
    context()


@cache
def context() -> ForkServerContext:
    """Makes processes, from the server that they are forked from."""
    tidy_up()
    _check_open_files()
    made = multiprocessing.get_context("forkserver")  # workers start clean and at once, libraries loaded
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
    return made


@contextlib.contextmanager
def _without_main_script() -> Iterator[None]:
    """In the block, new processes don't import the running script, which would start the run again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _as_no_daemon() -> Iterator[None]:
    """Python forbids children to a daemon, as the workers of dask and of multiprocessing.Pool are: it could not end
    them. Ours end when it does."""
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    before = config.get("daemon", False)
    config["daemon"] = False
    try:
        yield
    finally:
        config["daemon"] = before


def _forget_server() -> None:
    """In a forked copy of this process: the server is its parent's child, so the copy must start one of its own."""
    server: Any = forkserver._forkserver
    if server._forkserver_pid is None:  # there is none, or this is one
        return
    os.close(server._forkserver_alive_fd)
    server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None
    server._lock = threading.Lock()
    context.cache_clear()
    have_preloaded.cache_clear()


os.register_at_fork(after_in_child=_forget_server)


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
