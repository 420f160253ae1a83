"""trials.jsonl: the append-only log of a results folder, and the lock that keeps a second run out of it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterable
from dataclasses import MISSING
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, get_args

from rffbench.errors import ResultsError
from rffbench.spec import Status, TrialSpec

Row: TypeAlias = dict[str, Any]
Cell: TypeAlias = tuple[str, str, int, int]

KINDS = {"dataset": str, "method": str, "n_features": int, "trial": int, "metrics": dict, "timing": dict}
REQUIRED = {"key", "status", "metrics", "timing"} | {
    name
    for name, field in TrialSpec.__dataclass_fields__.items()
    if field.default is MISSING and field.default_factory is MISSING
}


def read_rows(path: Path) -> list[Row]:
    """The rows of a trials.jsonl in order, without a torn last line; no file, no rows.

    A last line that is no JSON was cut off by a crash and is dropped. Any other bad line raises ResultsError
    with the file and the line number.
    """
    return _parse(path, _content(path))[0]


def cell(row: Row) -> Cell:
    """The cell of the grid, and the trial in it, that a row belongs to."""
    return row["dataset"], row["method"], row["n_features"], row["trial"]


def latest(rows: Iterable[Row]) -> list[Row]:
    """The rows that count: the last one of each cell and trial, in the order of the cells' first rows.

    Not the last of each key: a trial that failed, or whose data could not be had, may be tried again under
    another key (a corrected parameter, a corrected card), and then its old row no longer counts. A trial
    measured as ok is never measured again in the same folder.
    """
    return list({cell(row): row for row in rows}.values())


class TrialLog:
    """The trials.jsonl of one results folder, open for appending within a ``with`` block.

    Entering makes the folder, takes its lock (ResultsError where another run holds it) and cuts off a torn
    last line. Rows are written whole and synced to the disk one by one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "trials.jsonl"
        self._lock = FolderLock(folder)
        self._file: int | None = None

    def rows(self) -> list[Row]:
        """All rows so far (see read_rows)."""
        return read_rows(self.path)

    def append(self, row: Row) -> None:
        """Add one row; it is on the disk when this returns."""
        assert self._file is not None, "a TrialLog is written to within its with block"
        line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        end = os.fstat(self._file).st_size
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:  # a full disk: leave no half of a line
            os.ftruncate(self._file, end)
            raise ResultsError(f"{self.path}: cannot write: {error.strerror}") from error

    def __enter__(self) -> TrialLog:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except OSError as error:
            raise ResultsError(f"{self.folder}: cannot be a results folder: {error.strerror}") from error
        try:
            content = _content(self.path)
            _, whole = _parse(self.path, content)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._file, whole)
            if whole and content[whole - 1 : whole] != b"\n":  # whole but for its end, e.g. edited by hand
                os.write(self._file, b"\n")
        except OSError as error:
            self._lock.release()
            raise ResultsError(f"{self.path}: cannot be written: {error.strerror}") from error
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._lock.release()


class FolderLock:
    """Held by the one run that writes to a folder; the system frees it when that process dies, however."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".lock"
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock, or raise ResultsError with the process that holds it."""
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(file, 200).decode(errors="replace") or "another process"
                os.close(file)
                raise ResultsError(
                    f"{self.path.parent}: {holder} is running into this folder; wait for it, or stop it"
                ) from None
            if self._is_current(file):
                break
            os.close(file)  # the holder before removed this very file on its way out: take the new one
        os.ftruncate(file, 0)
        os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())
        self._file = file

    def release(self) -> None:
        if self._file is None:
            return
        if self._is_current(self._file):  # not where the folder was moved aside meanwhile
            self.path.unlink()
        os.close(self._file)
        self._file = None

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.path))
        except FileNotFoundError:
            return False

    def __enter__(self) -> FolderLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def set_aside(folder: Path) -> Path | None:
    """Rename a results folder to ``<name>.old-<timestamp>``; None where there is none. Nothing is deleted."""
    if not folder.exists():
        return None
    try:
        with FolderLock(folder):
            stamp = datetime.now().strftime("%Y%m%dT%H%M%S")
            aside = folder.with_name(f"{folder.name}.old-{stamp}")
            count = 1
            while aside.exists():
                count += 1
                aside = folder.with_name(f"{folder.name}.old-{stamp}-{count}")
            folder.rename(aside)  # with its lock: no other run can come in before
            (aside / ".lock").unlink()
            return aside
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be moved aside: {error.strerror}") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}") from error


def _parse(path: Path, content: bytes) -> tuple[list[Row], int]:
    """The rows, and how many bytes of ``content`` are whole lines."""
    rows: list[Row] = []
    start = 0
    lines = content.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                if number == len(lines):
                    break
                raise ResultsError(f"{path}, line {number}: no JSON ({error})") from None
            _check(row, f"{path}, line {number}")
            rows.append(row)
        start += len(line)
    return rows, start


def _check(row: Any, where: str) -> None:
    if not isinstance(row, dict):
        raise ResultsError(f"{where}: no trial, but {type(row).__name__}")
    if missing := sorted(REQUIRED - row.keys()):
        raise ResultsError(f"{where}: no trial, it lacks {', '.join(missing)}")
    for name, kind in KINDS.items():
        if type(row[name]) is not kind:
            raise ResultsError(f"{where}: {name} must be {kind.__name__}, not {row[name]!r}")
    if row["status"] not in get_args(Status):
        raise ResultsError(f"{where}: status {row['status']!r} is none of {', '.join(get_args(Status))}")
