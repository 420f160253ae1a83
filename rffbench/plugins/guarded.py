"""Loads code of other packages and of users, which cannot end the process, run forever or print among the results.

Why not in a child process? Trials do run such code in children. But the command also needs the live class: its
signature, types and docstring for the schema, ``serves`` and ``letters`` for the dry run, and ``check_parameters`` with
the values of each size. A child would need a protocol for all of these, must be asked again for every size, and can
return neither classes nor types to pydantic. It would import NumPy and scikit-learn again for every command that names
such a part: 1.1 s of a processor for a file with one map, as much as two thirds of ``rffbench validate``; loading it
here takes 1 ms, and 20 to 60 ms to undo what it may have changed in other modules (`rffbench.plugins.surroundings`). A
child that only checks the file first could be forked in 7 ms, but then each file runs twice. And the guards would stay:
`check-method` and ``--executor serial`` run user code in this process, and so do constructors and ``__del__``. So code
is loaded here, within a time limit, and ``os._exit`` raises an exception.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import wraps
from importlib.metadata import EntryPoint
from typing import Any, NoReturn

from rffbench.errors import ConfigError, is_ctrl_c
from rffbench.io.text import duration
from rffbench.plugins.surroundings import restored

UNPICKLED = ("BrokenProcessPool", "PicklingError", "TerminatedWorkerError")  # joblib's and the library's
IMPORT_S = 30.0  # the limit for importing another package's modules
PUT_AWAY_S = 10.0  # the limit for an object's __del__
STANDARD_ERROR = 2  # the file descriptor, also if a test has replaced sys.stderr


def load_added(point: EntryPoint) -> Any:
    """The object that another package's entry point names. ConfigError if the import fails in any way, even if it ends
    the process or does not return."""
    try:
        if (point.group, point.name, point.value) in _LOADED and point.module in sys.modules:
            return point.load()
        with while_it_is_loaded():
            found = point.load()
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise ConfigError(f"cannot be loaded from {point.value}: {problem_of(error)}") from error
    _LOADED.add((point.group, point.name, point.value))
    return found


_LOADED: set[tuple[str, str, str]] = set()  # the entry points whose modules are imported


def problem_of(error: BaseException, ends: str = "it ends the process when it is imported") -> str:
    if isinstance(error, TooLong):
        return f"it is not imported after {duration(IMPORT_S)}"
    if isinstance(error, SystemExit):
        return ends
    if isinstance(error, KeyboardInterrupt):
        return "it raises KeyboardInterrupt"
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    hint = ""
    if type(error).__name__ in UNPICKLED:
        hint = "; other processes cannot import your own file: use threads, as joblib's Parallel(prefer='threads')"
    return f"{type(error).__name__}: {text}".removesuffix(": ") + hint


@contextmanager
def while_it_is_loaded() -> Iterator[None]:
    """Time-limit the block, send what it prints to standard error, and undo what it changes in other modules and in
    the settings of this process."""
    with restored(), at_most(IMPORT_S), outlived(), printing_to_standard_error():
        yield


@contextmanager
def printing_to_standard_error() -> Iterator[None]:
    """Standard output is for results: what the block prints goes to standard error, or nowhere without one (it is None
    in a service or with pythonw, and may be closed)."""
    usable = hasattr(sys.stderr, "write") and not getattr(sys.stderr, "closed", False)
    with nullcontext(sys.stderr) if usable else open(os.devnull, "w") as stream, redirect_stdout(stream):
        yield


@contextmanager
def outlived() -> Iterator[None]:
    """In the block os._exit() raises SystemExit, whose traceback names the caller, and a crash of the interpreter
    prints its file and line."""
    here, leave = (os.getpid(), threading.get_ident()), os._exit

    def stay(status: int) -> NoReturn:
        if (os.getpid(), threading.get_ident()) != here:  # a forked process really ends
            leave(status)
        raise SystemExit(status)

    silent = not faulthandler.is_enabled()
    if silent:
        faulthandler.enable(STANDARD_ERROR, all_threads=False)
    os._exit = stay
    try:
        yield
    finally:
        os._exit = leave
        if silent:
            faulthandler.disable()


class TooLong(BaseException):
    """The time limit is over. Not an Exception, which the stopped code might catch."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooLong in the block after ``seconds``. There is no limit outside the main thread, because only that
    thread receives signals."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TooLong

    before, started = signal.signal(signal.SIGALRM, stop), time.monotonic()
    others, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # and again, should the first be lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if others:  # a process has but one such timer, and it was in use
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, others - (time.monotonic() - started)), interval)


PUT_AWAY: dict[type, TooLong | None] = {}  # classes whose ``__del__`` is limited; the error, if one took too long


def limit_del(made: type) -> None:
    """Limit the class's ``__del__`` to PUT_AWAY_S, and disable it after that: Python calls it whenever an object is
    freed, and ignores its exceptions, even Ctrl-C."""
    put_away = made.__del__  # type: ignore[attr-defined]
    if hasattr(put_away, "limited"):
        return

    @wraps(put_away)
    def limited(self: Any) -> None:
        if PUT_AWAY.get(type(self)):
            return
        try:
            with at_most(PUT_AWAY_S):
                put_away(self)
        except TooLong as error:
            PUT_AWAY[type(self)] = error

    limited.limited = True  # type: ignore[attr-defined]
    made.__del__ = limited  # type: ignore[attr-defined]
