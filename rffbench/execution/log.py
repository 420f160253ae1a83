"""trials.jsonl: the append-only log of a results folder, and the lock that keeps a second run out of it.

A large log can be stored compressed: ``xz -9 results/NAME/trials.jsonl`` makes it trials.jsonl.xz, which is read
wherever a log is read. A run never writes to the compressed part: it appends to a trials.jsonl beside it. In a folder
with both, the rows of trials.jsonl.xz come first.
"""

from __future__ import annotations

import itertools
import json
import lzma
import os
import re
import socket
from collections.abc import Callable, Container, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TypeAlias

from rffbench.errors import ResultsError
from rffbench.execution.row import PLAIN, Row, check_row
from rffbench.filelock import lock

Cell: TypeAlias = tuple[str, str, int, int]

ASIDE = "trials.aside.jsonl"  # where rows go that no longer count, and are not to be lost
DAMAGED = "trials.damaged"  # where a last line goes that is whole but no JSON
CHUNK = 1 << 20  # bytes read at a time


def read_rows(path: Path) -> list[Row]:
    """The rows of a trials.jsonl as a list, see `each_row`."""
    return list(each_row(path))


def each_row(path: Path, left_out: Callable[[str], object] | None = None, brief: Container[str] = ()) -> Iterator[Row]:
    """The rows of a trials.jsonl in order, after those of a trials.jsonl.xz in its folder; no file, no rows.

    A last line that is not JSON was cut off by a crash and is dropped. Any other bad line raises ResultsError
    with the file and the line number, counted within the (unpacked) file, and so does a damaged trials.jsonl.xz. With
    ``left_out``, that is called with the message instead, and the rows that can be read are given.

    Rows of the keys ``brief`` that are ok may have their key, status, error and made_by alone, which takes half the
    time; their lines are checked as all others are.
    """
    reader = _BriefReader(brief)
    for file in (_compressed(path), path):
        try:
            yield from _rows(file, left_out, reader)
        except ResultsError as error:
            if left_out is None:
                raise
            left_out(str(error))


def log_files(folder: Path) -> list[Path]:
    """The files that hold the log of a results folder, in the order of their rows; none where nothing was run."""
    path = folder / "trials.jsonl"
    return [file for file in (_compressed(path), path) if file.exists()]


def cell(row: Row) -> Cell:
    """The cell of the grid, and the trial in it, that a row belongs to."""
    return row["dataset"], row["method"], row["n_features"], row["trial"]


def latest(rows: Iterable[Row]) -> list[Row]:
    """The rows that count: the last one of each cell and trial, in the order of the cells' first rows.

    Not the last of each key: a trial that failed, or whose data was unavailable, may be run again under
    another key (a corrected parameter, a corrected card), and then its old row no longer counts. A trial
    measured as ok is never measured again in the same folder.
    """
    return list({cell(row): row for row in rows}.values())


class TrialLog:
    """The log of one results folder, open for appending to its trials.jsonl within a ``with`` block.

    Entering makes the folder, takes its lock (ResultsError where another run holds it) and cuts off a torn last line;
    one that is whole but damaged goes to trials.damaged. Rows are written whole and synced to the disk one by one.
    Leaving removes a trials.jsonl that is still empty where the log is compressed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "trials.jsonl"
        self._lock = FolderLock(folder)
        self._file: int | None = None

    def rows(self, brief: Container[str] = ()) -> Iterator[Row]:
        """All rows so far (see each_row)."""
        return each_row(self.path, brief=brief)

    def append(self, row: Row) -> None:
        """Add one row; it is on the disk when this returns."""
        assert self._file is not None, "a TrialLog is written to within its with block"
        line = line_of(row)
        end = os.fstat(self._file).st_size
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:  # a full disk: leave no half of a line
            os.ftruncate(self._file, end)
            raise ResultsError(f"{self.path}: cannot write: {error.strerror}") from error

    def keep_aside(self, unwanted: Callable[[Row], bool]) -> Path:
        """Move the ``unwanted`` rows to the folder's trials.aside.jsonl, also those of a trials.jsonl.xz."""
        assert self._file is not None, "a TrialLog is written to within its with block"
        path = self.folder / ASIDE
        try:
            for file in log_files(self.folder):
                lines = [line.rstrip(b"\n") + b"\n" for line in _lines(file) if line.strip()]
                aside = [unwanted(json.loads(line)) for line in lines]
                if any(aside):
                    _write(path, itertools.compress(lines, aside), "ab")  # first, so that none is ever lost
                    kept = b"".join(itertools.compress(lines, [not each for each in aside]))
                    new = file.with_name(f".{file.name}.{os.getpid()}")
                    _write(new, [lzma.compress(kept, preset=9) if file.suffix == ".xz" else kept], "wb")
                    new.replace(file)
            os.close(self._file)
            self._file = None
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise ResultsError(f"{path}: cannot be written: {error.strerror}") from error
        return path

    def __enter__(self) -> TrialLog:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except OSError as error:
            raise ResultsError(f"{self.folder}: cannot be a results folder: {error.strerror}") from error
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._mend(_last_line(self._file))
        except OSError as error:
            self._lock.release()
            raise ResultsError(f"{self.path}: cannot be written: {error.strerror}") from error
        except BaseException:
            self._lock.release()
            raise
        return self

    def _mend(self, line: bytes) -> None:
        """Cut off the last line where it is torn or damaged; end it where it only lacks its end."""
        assert self._file is not None
        if not line.strip() or _is_json(line):
            if line and not line.endswith(b"\n"):  # edited by hand
                os.write(self._file, b"\n")
            return
        if line.endswith(b"\n"):  # a whole line that is no JSON was not cut off, but damaged
            with self.path.with_name(DAMAGED).open("ab") as damaged:
                damaged.write(line)
        os.ftruncate(self._file, os.fstat(self._file).st_size - len(line))

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            if _compressed(self.path).exists() and os.fstat(self._file).st_size == 0:
                self.path.unlink()
            os.close(self._file)
            self._file = None
        self._lock.release()


class FolderLock:
    """Held by the one run that writes to a folder; the system frees it when that process ends, even if killed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".lock"
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock, or raise ResultsError with the process that holds it."""
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                lock(file, wait=False)
            except BlockingIOError:
                holder = os.read(file, 200).decode(errors="replace") or "another process"
                os.close(file)
                raise ResultsError(
                    f"{self.path.parent}: {holder} is running into this folder; wait for it, or stop it. Two "
                    "runs share an experiment by shards: give this one its part and a folder of its own, for example "
                    "--only dataset=NAME --results shard2, and join both with rffbench merge"
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
    """Rename a results folder to ``<name>.old-<timestamp>``, and return that; None if the folder does not exist."""
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


def line_of(row: Row) -> bytes:
    """A row as it is written: UTF-8, and escaped where it holds what is no character (half of a surrogate pair)."""
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row, allow_nan=False).encode() + b"\n"


def _write(path: Path, parts: Iterable[bytes], mode: str) -> None:
    with path.open(mode) as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())


def _compressed(path: Path) -> Path:
    return path.with_name(path.name + ".xz")


class _BriefReader:
    """Reads of a row that is ok what a run that carries on asks: its key, and what made it.

    Between its key and its metrics a line has its spec, of which trials of one cell have all but their number in
    common: each such text is read and checked once.
    """

    def __init__(self, keys: Container[str]) -> None:
        self._keys = keys
        self._specs: set[tuple[bytes, bytes]] = set()
        self._made_by: dict[bytes, Row] = {}

    def row(self, line: bytes) -> Row | None:
        """None where the whole line has to be read."""
        key, begin = line[_KEY].decode("ascii", "replace"), line.find(_TRIAL)
        end, metrics = line.find(b",", begin + len(_TRIAL)), line.find(_METRICS)
        trial = line[begin + len(_TRIAL) : end]
        if key not in self._keys or not line.startswith(_BEGIN) or not line.startswith(_OK, _KEY.stop):
            return None
        rest = PLAIN.fullmatch(line, metrics) if _KEY.stop < begin < end <= metrics else None
        if rest is None or not _WHOLE.fullmatch(trial):
            return None
        spec = line[_KEY.stop : begin], line[end:metrics]
        if spec not in self._specs:
            if not _is_ok(line[:metrics] + _NOTHING, key):
                return None
            self._specs.add(spec)
        row: Row = {"key": key, "status": "ok", "error": None}
        if made_by := rest[1]:
            if made_by not in self._made_by:
                self._made_by[made_by] = json.loads(made_by)
            row["made_by"] = self._made_by[made_by]
        return row


_BEGIN = b'{"key": "'
_KEY = slice(len(_BEGIN), len(_BEGIN) + 64)  # where a line has it
_OK = b'", "status": "ok", '
_TRIAL, _WHOLE = b', "trial": ', re.compile(rb"0|[1-9]\d{0,16}")
_METRICS = b', "metrics": {'
_NOTHING = b', "metrics": {}, "timing": {}}'


def _is_ok(line: bytes, key: str) -> bool:
    """Whether a line is the row of a trial that is ok, and has this key."""
    try:
        row = json.loads(line)
        check_row(row)
    except (ValueError, RecursionError):
        return False
    return bool(row["key"] == key and row["status"] == "ok")


def _rows(path: Path, left_out: Callable[[str], object] | None, brief: _BriefReader) -> Iterator[Row]:
    """The rows of one file."""
    torn = None
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise ResultsError(f"{path}: is no regular file")
    for number, line in enumerate(_lines(path), 1):
        if torn:  # it is not the last line
            _refuse(torn, left_out)
            torn = None
        if (read := brief.row(line)) is not None:
            yield read
            continue
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            torn = f"{path}, line {number}: not JSON ({error})"
            continue
        try:
            check_row(row)
        except ValueError as error:
            _refuse(f"{path}, line {number}: {error}", left_out)
        else:
            yield row


def _refuse(message: str, left_out: Callable[[str], object] | None) -> None:
    if left_out is None:
        raise ResultsError(message)
    left_out(message)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, unpacked; none where there is no file."""
    try:
        with path.open("rb") as file:
            if path.suffix != ".xz":
                yield from file
                return
            rest = b""
            for part in _unpacked(file):
                *lines, rest = (rest + part).split(b"\n")
                yield from lines
            if rest:
                yield rest
    except FileNotFoundError:
        return
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}") from error
    except lzma.LZMAError as error:
        raise ResultsError(f"{path}: damaged, it cannot be unpacked ({error})") from error


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """The content of an .xz file, of all its streams; lzma.open would pass over what follows the first one
    where it is damaged, and rows would be lost unnoticed."""
    content = file.read(CHUNK)
    while True:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not stream.eof:
            if stream.needs_input:
                content = content or file.read(CHUNK)
                if not content:
                    raise lzma.LZMAError("it ends too early")
            yield stream.decompress(content, CHUNK)
            content = b""
        content = stream.unused_data or file.read(CHUNK)
        if not content:
            return


def _last_line(file: int) -> bytes:
    """The last line of an open file, with its end if it has one."""
    end, size = os.fstat(file).st_size, CHUNK
    line = os.pread(file, size, max(0, end - size))
    while size < end and b"\n" not in line[:-1]:
        size *= 2
        line = os.pread(file, size, max(0, end - size))
    return line[line.rfind(b"\n", 0, -1) + 1 :]


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
