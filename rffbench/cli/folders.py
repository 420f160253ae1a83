"""What commands do for every experiment's folder of RESULTS."""

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
    """Do ``work`` for every experiment's folder; where there are several, those that cannot be read are passed over."""
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
    """Within the block, what a report leaves out is said once on stderr; the messages."""
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
    """Say why a folder is passed over where there are others, which are done all the same; else raise the error."""
    defect = not isinstance(error, RffbenchError | OSError)
    if len(folders) == 1 or isinstance(error, BrokenPipeError) or (defect and os.environ.get("RFFBENCH_DEBUG")):
        raise error
    say(f"passed over: {f'{folder}: {type(error).__name__}: {error}' if defect else message_of(error)}")


@contextlib.contextmanager
def if_writable() -> Iterator[None]:
    """Within the block, files are written of what was printed; in a folder that is read-only, it is said that they are
    not."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        say(f"not written: {message_of(error)}")
