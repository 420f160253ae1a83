"""Restores what code of a user or of another package changes in this process besides its own objects.

A file may replace ``numpy.cos``, set scikit-learn's configuration or leave a timer behind. Where other code goes on in
the same process, `restored` undoes that. It cannot stop threads, open closed files, or undo what compiled code keeps
to itself: trials of such code have a process of their own (`rffbench.trials.tasks.tasks`).
"""

from __future__ import annotations

import builtins
import gc
import locale
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, TypeAlias

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

LIBRARIES = ("numpy", "scipy", "sklearn", "rffbench")
"""The packages whose functions and classes are restored, with their submodules."""
MODULES = (
    "math", "cmath", "random", "statistics", "time", "os", "posixpath", "io", "json", "hashlib", "pathlib",
    "shutil", "tempfile", "threading", "subprocess", "warnings", "functools", "itertools", "collections",
)  # fmt: skip
"""The modules of Python whose functions and classes are restored."""
HEAP_TYPE = 1 << 9  # the flag of classes that can be changed
TIMERS = ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")
HOOKS = ("stdin", "stdout", "stderr", "excepthook", "displayhook", "unraisablehook")


@contextmanager
def restored(*, modules: bool = True) -> Iterator[None]:
    """Restore this process's surroundings after the block: the environment, the current folder, scikit-learn's and
    numpy's settings, warning filters, signals, timers and limits. With ``modules``, also the functions and classes of
    LIBRARIES and MODULES that were loaded before; this takes some 20 ms.

    New names in a module are kept. Folders that the block puts in front of ``sys.path`` go behind the others, so that
    later imports of the block's code find them, and they hide no module of others.
    """
    timers, settings = _now(_timers()), _now(_settings())
    built_in = dict(vars(builtins))
    attributes = _attributes() if modules else []
    loaded = dict(sys.modules) if modules else {}
    try:
        yield
    finally:
        vars(builtins).update(built_in)  # first, because what follows calls them
        _become(timers)  # now, because a signal would end what follows
        for name, module in loaded.items():
            if sys.modules.get(name) is not module and name.partition(".")[0] in (*LIBRARIES, *MODULES):
                sys.modules[name] = module
        for owner, old in attributes:
            _restore(owner, old)
        _become(settings)


Setting: TypeAlias = tuple[Callable[[], Any], Callable[[Any], object]]
"""How a setting is read, and written."""


def _now(settings: list[Setting]) -> list[tuple[Setting, Any]]:
    return [(each, each[0]()) for each in settings]


def _become(settings: list[tuple[Setting, Any]]) -> None:
    for (read, write), value in settings:
        with suppress(Exception):  # a setting that this process may no longer change
            if read() != value:
                write(value)


def _attributes() -> list[tuple[Any, dict[str, Any]]]:
    """The modules and classes to restore, each with its attributes that are restored."""
    modules = [
        module for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType) and (name in MODULES or name.partition(".")[0] in LIBRARIES)
    ]  # fmt: skip
    found: list[tuple[Any, dict[str, Any]]] = [(module, dict(vars(module))) for module in modules]
    classes = {
        id(value): value for _, attributes in found for value in attributes.values()
        if isinstance(value, type) and value.__flags__ & HEAP_TYPE
        and str(value.__module__).partition(".")[0] in LIBRARIES
    }  # fmt: skip
    return found + [(each, dict(vars(each))) for each in classes.values()]


def _restore(owner: Any, old: dict[str, Any]) -> None:
    """Restore the attributes that are code, and public values. What a module keeps for itself, such as a cache, goes
    on."""
    now = vars(owner)
    for name, value in old.items():
        if now.get(name) is value:
            continue
        code = callable(value) or hasattr(value, "__get__") or isinstance(value, ModuleType)
        if code or (isinstance(owner, ModuleType) and not name.startswith("_")):
            with suppress(AttributeError, TypeError):
                setattr(owner, name, value)


def _timers() -> list[Setting]:
    """The timers and signals; only the main thread may set them."""
    if threading.current_thread() is not threading.main_thread():
        return []
    timers = [_timer(getattr(signal, name)) for name in TIMERS] if hasattr(signal, "setitimer") else []
    return [*timers, *(_handler(number) for number in signal.valid_signals())]


def _settings() -> list[Setting]:
    import numpy as np
    import sklearn

    found: list[Setting] = [
        (lambda: dict(os.environ), _set_environment),
        (_folder, os.chdir),
        (lambda: list(sys.path), _set_path),
        (lambda: [getattr(sys, name) for name in HOOKS], _set_hooks),
        (lambda: list(warnings.filters), _set_filters),
        (lambda: warnings.showwarning, lambda show: setattr(warnings, "showwarning", show)),
        (sklearn.get_config, lambda config: sklearn.set_config(**config)),
        (np.geterr, lambda errors: np.seterr(**errors)),
        (lambda: locale.setlocale(locale.LC_ALL), lambda name: locale.setlocale(locale.LC_ALL, name)),
        (sys.getrecursionlimit, sys.setrecursionlimit),
        (sys.getswitchinterval, sys.setswitchinterval),
        (gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
        (gc.get_threshold, lambda threshold: gc.set_threshold(*threshold)),
    ]
    if hasattr(os, "getpriority"):
        found.append((
            lambda: os.getpriority(os.PRIO_PROCESS, 0), lambda nice: os.setpriority(os.PRIO_PROCESS, 0, nice),
        ))  # fmt: skip
    if hasattr(os, "sched_getaffinity"):
        found.append((lambda: os.sched_getaffinity(0), lambda processors: os.sched_setaffinity(0, processors)))
    if resource is not None:
        found += [_limit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")]
    if threading.active_count() == 1:  # else another one may be making a file
        found.append((_umask, os.umask))
    if hasattr(signal, "pthread_sigmask"):
        found.append((
            lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
            lambda blocked: signal.pthread_sigmask(signal.SIG_SETMASK, blocked),
        ))  # fmt: skip
    return found


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return ""


def _set_environment(values: dict[str, str]) -> None:
    for name in os.environ.keys() - values.keys():
        del os.environ[name]
    for name, value in values.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _set_path(folders: list[str]) -> None:
    sys.path[:] = folders + [each for each in sys.path if each not in folders]


def _set_hooks(hooks: list[Any]) -> None:
    for name, hook in zip(HOOKS, hooks, strict=True):
        setattr(sys, name, hook)


def _set_filters(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _timer(which: int) -> Setting:
    """A timer, which goes on if it was running; its rest is less by then."""
    started = time.monotonic()

    def rest() -> tuple[bool, float]:
        left, interval = signal.getitimer(which)
        return left > 0, interval

    was = signal.getitimer(which)

    def start(_: Any) -> None:
        left = max(1e-6, was[0] - (time.monotonic() - started)) if was[0] else 0.0
        signal.setitimer(which, left, was[1])

    return rest, start


def _handler(number: signal.Signals) -> Setting:
    def write(handler: Any) -> None:
        if handler is not None:  # not one of Python's
            signal.signal(number, handler)

    return lambda: signal.getsignal(number), write


def _limit(which: int) -> Setting:
    """A limit of the system. One whose hard part is lower now cannot be raised again, except by root."""

    def write(limits: tuple[int, int]) -> None:
        try:
            resource.setrlimit(which, limits)
        except (ValueError, OSError):
            _, hard = resource.getrlimit(which)
            resource.setrlimit(which, (hard, hard))

    return lambda: resource.getrlimit(which), write
