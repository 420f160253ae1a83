"""Results folders: the lock of the run that writes to one, and moving one aside."""

from __future__ import annotations

import os
import socket
from datetime import datetime
from pathlib import Path
from types import TracebackType

from rffbench.errors import ResultsError
from rffbench.io import files

NAMED_BYTES = 200  # of a lock file, which names the process that holds it


class FolderLock:
    """The lock of the one run that writes to a folder; the system frees it when that process ends, even if killed.

    On a file system without locks several runs get it. The file then names the last one, see `other`.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".lock"
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock, or raise ResultsError with the process that holds it."""
        while True:
            file = files.open_lock(self.path)
            try:
                files.lock(file, wait=False)
                if is_at(self.path, file):
                    os.ftruncate(file, 0)
                    os.write(file, this_process().encode())
                    self._file = file
                    return
            except BlockingIOError:
                holder = os.read(file, NAMED_BYTES).decode(errors="replace") or "another process"
                os.close(file)
                raise ResultsError(
                    f"{self.path.parent}: {holder} is running into this folder; wait for it, or stop it. Two "
                    "runs share an experiment by shards: give this one its part and a folder of its own, for example "
                    "--only dataset=NAME --results shard2, and join both with rffbench merge"
                ) from None
            except BaseException:  # Ctrl-C, too: an open file would keep the lock
                if self._file is None:
                    os.close(file)
                raise
            os.close(file)  # the holder before removed this very file on its way out: take the new one

    def other(self) -> str:
        """The process that the file names, if it is another one, though this one has the lock; empty without a file."""
        try:
            named = files.read_regular(self.path, NAMED_BYTES).decode(errors="replace")
        except OSError:
            return ""
        return named if named != this_process() else ""

    def release(self) -> None:
        if self._file is None:
            return
        if is_at(self.path, self._file) and not self.other():  # not where the folder was moved aside meanwhile
            self.path.unlink()
        os.close(self._file)
        self._file = None

    def __enter__(self) -> FolderLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def set_aside(folder: Path) -> Path | None:
    """Rename a results folder to ``<name>.old-<timestamp>``, and return that; None if the folder does not exist."""
    if not folder.exists():
        return None
    try:
        with FolderLock(folder):
            stamp = datetime.now().strftime("%Y%m%dT%H%M%S")
            aside = files.free(folder.with_name(f"{folder.name}.old-{stamp}"))
            files.move(folder, aside)  # with its lock: no other run can come in before
            (aside / ".lock").unlink()
            return aside
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be moved aside: {error.strerror}") from error


def is_at(path: Path, file: int) -> bool:
    """Whether the open file is the one at the path."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
