"""Loops of commands over the experiments' folders in RESULTS."""

from __future__ import annotations

import contextlib
import errno
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rffbench.cli.output import message_of, say
from rffbench.errors import LeftOut, RffbenchError

UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)


def in_every(folders: Sequence[Path], work: Callable[[Path], None]) -> int:
    """Do ``work`` for every experiment's folder. Of several, those that cannot be read are skipped with a message."""
    status = 0
    with left_out() as told:
        for folder in folders:
            try:
                work(folder)
            except Exception as error:
                pass_over(folder, error, folders)
                status = 1
    return 1 if told else status


@contextlib.contextmanager
def left_out() -> Iterator[list[str]]:
    """In the block, print once on stderr what a report leaves out. Yields the messages."""
    told: list[str] = []
    show = warnings.showwarning

    def say_once(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, LeftOut):
            show(message, category, *where, **more)
        elif str(message) not in told:
            told.append(str(message))
            say(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", LeftOut)
        warnings.showwarning = say_once
        yield told


def pass_over(folder: Path, error: Exception, folders: Sequence[Path]) -> None:
    """Print why a folder is skipped if there are others; otherwise raise the error."""
    defect = not isinstance(error, RffbenchError | OSError)
    if len(folders) == 1 or isinstance(error, BrokenPipeError) or (defect and os.environ.get("RFFBENCH_DEBUG")):
        raise error
    say(f"passed over: {f'{folder}: {type(error).__name__}: {error}' if defect else message_of(error)}")


@contextlib.contextmanager
def if_writable() -> Iterator[None]:
    """A block that writes files besides the printed output. In a read-only folder it prints that they are not
    written."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        say(f"not written: {message_of(error)}")
