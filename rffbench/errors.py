"""The errors a user can cause or meet, each with the exit status the command line gives it."""

import difflib
import errno
import signal
import traceback
from collections.abc import Callable, Iterable
from typing import Any

# Errors of a broken or missing disk, or of one on another machine: the file may be whole.
OF_THE_DISK = {
    getattr(errno, name)
    for name in ("EIO", "EREMOTEIO", "ESTALE", "ENODEV", "ENXIO", "ENOMEDIUM", "ENOTCONN", "ETIMEDOUT", "EHOSTDOWN",
                 "EHOSTUNREACH", "ENOLINK", "ECOMM", "ESHUTDOWN", "ECONNRESET", "ECONNABORTED", "EBADMSG", "EUCLEAN")
    if hasattr(errno, name)
}  # fmt: skip


class RffbenchError(Exception):
    """An error with a message meant for the user: what is wrong, where, and what would be right."""

    exit_status = 2


class ConfigError(RffbenchError):
    """The config, a card or a command-line value is wrong (exit status 2). ``parameter`` is the key that it is about,
    where it is about one of a feature map or a solver."""

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class ResultsError(RffbenchError):
    """A results folder is missing, or cannot be read or written (exit status 2)."""


class TableError(RffbenchError):
    """A user's table cannot answer what is asked of it: a value, a column or its rows are wrong (exit status 2)."""


class DataError(RffbenchError):
    """A dataset's files are not what its card says: a checksum, a shape, a class count (exit status 3)."""

    exit_status = 3


class DataUnavailable(DataError):
    """A dataset's files are unavailable: no mirror and no server has them (exit status 3)."""


class EnvironmentFault(RffbenchError):
    """The machine, and no trial, keeps a run from going on (exit status 1: what was measured is kept)."""

    exit_status = 1


class MemoryBudgetError(RffbenchError, MemoryError):
    """The work cannot fit the memory budget; raised before it starts, with both figures in bytes."""

    def __init__(self, what: str, needed: int, budget: int) -> None:
        super().__init__(f"{what} needs {amount(needed)}, more than the budget of {amount(budget)}")
        self.what = what
        self.needed = needed
        self.budget = budget

    def __reduce__(self) -> tuple:  # keep the figures when it crosses a process boundary
        return (MemoryBudgetError, (self.what, self.needed, self.budget))


class OwnCodeError(RffbenchError):
    """A feature map or solver of the user's own, or of another package, raised an error, which is this one's cause."""

    exit_status = 1


class Fallback(UserWarning):
    """A solver did the next best to what it was asked for; the message says what. It is kept in the trial's row."""


class LeftOut(UserWarning):
    """A report passes over something that it cannot read; the message names it."""


def amount(size: float) -> str:
    """A number of bytes: ``510 kB``, ``35 MB``, ``6.20 GB``."""
    if size >= 1e9:
        return f"{size / 1e9:.2f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def refusals(check: Callable[[Any], object], values: Iterable[Any]) -> list[str]:
    """What ``check`` has against the values, each message of a ConfigError once."""
    messages = []
    for value in values:
        try:
            check(value)
        except ConfigError as error:
            messages.append(str(error))
    return list(dict.fromkeys(messages))


def unreadable(path: object, error: OSError) -> str:
    """What is said of a file that cannot be read. A broken disk or a network says nothing of the file itself."""
    message = f"{path}: cannot be read: {error.strerror or error}"
    if error.errno in OF_THE_DISK:
        message += "; the disk, or the network to it, has failed, and the file may be whole: try again"
    return message


def not_utf8(path: object, error: UnicodeDecodeError) -> ConfigError:
    """What is said of a file, read as a whole, that is no text: the line that is none."""
    line = error.object.count(b"\n", 0, error.start) + 1
    return ConfigError(f"{path}, line {line}: is not UTF-8 text; save it as UTF-8")


def is_ctrl_c(error: BaseException) -> bool:
    """Whether an exception is the user's Ctrl-C, and not a KeyboardInterrupt that some code has raised by itself.

    The user's comes out of the signal's handler. Python's own handler leaves no trace: what may be the user's is taken
    for it.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not isinstance(error, KeyboardInterrupt) or handler is signal.SIG_IGN:
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_code is getattr(handler, "__code__", frame.f_code)


def unknown(what: str, name: object, valid: Iterable[object]) -> str:
    """``unknown dataset 'egg'; did you mean 'eeg'?``, with all valid names if none is similar."""
    names = [str(each) for each in valid]
    near = [each for each in names if each.casefold() == str(name).casefold()]
    near = near or difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(names) or 'none'}"
    return f"unknown {what} {name!r}; {hint}"
