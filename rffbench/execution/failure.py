"""Failures of trials, in the form of their rows."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rffbench.errors import OF_THE_DISK, DataError, EnvironmentFault, OwnCodeError
from rffbench.plugins import ownfile
from rffbench.trials.spec import Status, TrialResult, TrialSpec

FOLDER_VARIABLES = ("RFFBENCH_MIRROR", "RFFBENCH_CACHE")
# Errors of the system that are the machine's fault, not the trial's: too many open files, a full disk, a broken or
# missing one, one on a machine that is gone.
OF_THE_MACHINE = {errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EROFS, *OF_THE_DISK}
MESSAGE_CHARACTERS, TRACEBACK_CHARACTERS = 2_000, 8_000  # so that the message to the parent is one small write


@dataclass(frozen=True)
class Failure:
    """An exception, a death or a crossed limit, as stored in a trial's row.

    ``environment``: the machine is the cause, for example a full disk, so a plain resume tries the trial again.
    ``spent``: the process can open no more files, and so can do nothing more.
    """

    status: Status
    type: str
    message: str
    traceback: str = ""
    environment: bool = False
    spent: bool = False

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure for an exception: out of memory, data unavailable, or any other error."""
        message = without_folders(str(error) or f"raised {type(error).__name__}")[:MESSAGE_CHARACTERS]
        in_own_code = error.__cause__ if isinstance(error, OwnCodeError) else None
        error = in_own_code or error
        status: Status = "error"
        if isinstance(error, MemoryError):
            status = "out-of-memory"
        elif isinstance(error, DataError):
            status = "unavailable"
        trace = without_folders("".join(traceback.format_exception(error)))[-TRACEBACK_CHARACTERS:]
        number = error.errno if isinstance(error, OSError) else None
        spent = number == errno.EMFILE
        environment = number in OF_THE_MACHINE and not (in_own_code and spent)  # it has opened them
        return cls(status, type(error).__name__, message, trace, environment, spent)

    def result(self, spec: TrialSpec, held: int | None = None) -> TrialResult:
        """The result of a trial that failed in this way, with its peak memory in bytes."""
        error: dict[str, Any] = {"type": self.type, "message": self.message, "traceback": self.traceback}
        if self.environment:
            error["environment"] = True
        return TrialResult(spec, self.status, error=error, peak_memory_bytes=held)


NO_RESULT = Failure("error", "NoResult", "the task ended without a result for this trial")


class Faults:
    """Counts consecutive failures that the machine caused; EnvironmentFault at the third."""

    MOST = 3

    def __init__(self) -> None:
        self._in_a_row = 0

    def count(self, result: TrialResult) -> None:
        if result.error and result.error.get("environment"):
            self.add(Failure(result.status, result.error["type"], result.error["message"]))
        else:
            self._in_a_row = 0

    def add(self, failure: Failure) -> None:
        self._in_a_row += 1
        if self._in_a_row == self.MOST:
            raise EnvironmentFault(
                f"{self.MOST} times in a row something other than a trial failed: {failure.message} ({failure.type}); "
                "fix that, and the same command carries on"
            )


def without_folders(text: str) -> str:
    """A message or traceback whose paths are relative to Python's folders or to environment variables, because rows of
    the log go to other machines."""
    own = ownfile.folders()
    folders = sorted({str(Path(folder).absolute()) for folder in sys.path} | own, key=len, reverse=True)
    for folder in folders:
        text = text.replace(f'File "{folder}{os.sep}', 'File "')
        text = re.sub(re.escape(f"{folder}{os.sep}") + r"(?=[^\n:]*, line \d)", "", text)
    for folder in own:
        text = text.replace(f"{folder}{os.sep}", "")
    for variable in FOLDER_VARIABLES:
        if folder := os.environ.get(variable, "").rstrip(os.sep):
            text = text.replace(f"{folder}{os.sep}", f"${variable}{os.sep}")
    return text
