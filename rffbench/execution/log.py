"""trials.jsonl: the append-only log of a results folder.

A large log can be stored compressed: ``xz -9 results/NAME/trials.jsonl`` makes it trials.jsonl.xz, which is read
wherever a log is read. A run never writes to a compressed part: it appends to a trials.jsonl beside it, and the next
part that is compressed is called trials-0002.jsonl.xz. A repository then grows by what was measured. The rows of the
parts come first, in the order of their numbers.
"""

from __future__ import annotations

import errno
import io
import itertools
import json
import lzma
import os
import time
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from rffbench.errors import EnvironmentFault, ResultsError, amount, unreadable
from rffbench.execution.folders import FolderLock, is_at
from rffbench.execution.row import LONGEST, Row, check_row, has_own_key, line_of
from rffbench.io import files
from rffbench.io.packed import Damaged, open_xz

Cell: TypeAlias = tuple[str, str, int, int]

ASIDE = "trials.aside.jsonl"  # keeps rows that no longer count
DAMAGED = "trials.damaged"  # keeps a last line that is whole but not JSON
PART = "-[0-9][0-9][0-9][0-9]"  # of the names of compressed parts from the second on, as a pattern
CHUNK = 1 << 20  # bytes read at a time
MOST_PACKED = 1000  # times its own size that a packed log can hold; real ones hold 10 to 25 times
MOST_IDLE = 1_000_000  # lines without a row
PATIENCE_S, LOOK_S = 1.0, 0.02  # how long to wait for a missing log to come back, and how often to look


def read_rows(path: Path) -> list[Row]:
    """The rows of a trials.jsonl as a list, see `each_row`."""
    return list(each_row(path))


def each_row(path: Path, left_out: Callable[[str], object] | None = None, other_keys: bool = False) -> Iterator[Row]:
    """The rows of a trials.jsonl in order, after those of its compressed parts; no rows without a file.

    A last line that is not JSON was cut off by a crash and is dropped. Any other bad line raises ResultsError
    with the file and the line number, counted within the (unpacked) file, and so does a missing or damaged part, a line
    of more than `LONGEST` bytes, or a file that is no log, because it has no rows for many lines or unpacks to far more
    than rows do. So does a row whose key is not that of its fields, unless rows with ``other_keys`` are wanted. With
    ``left_out``, this function is called with the message instead, and the readable rows are returned.

    The reader is Python's json. To resume a run of 80,000 rows, ``python -m benchmarks load``, takes 3.2 s of a
    processor (the goal is 4 s), of which 0.8 s are for reading and checking rows, and 0.3 s for their keys. With orjson
    it takes 2.9 s.
    """
    parts = _parts(path)
    if missing := _missing(parts):
        _refuse(f"{missing}: is missing, and later parts of the log are there; put it back", left_out)
    for file in parts:
        try:
            yield from _rows(file, left_out, other_keys)
        except ResultsError as error:
            if left_out is None:
                raise
            left_out(str(error))


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, content) of the lines of one file of a log, of any format. A torn last line is dropped;
    ResultsError for another line that is not JSON."""
    torn = ""
    for number, line in enumerate(_lines(path), 1):
        if torn:
            raise ResultsError(torn)
        if line.strip():
            try:
                yield number, json.loads(line.decode())
            except (ValueError, RecursionError) as error:
                torn = f"{path}, line {number}: {_what_is_wrong(line, error)}"


def log_files(folder: Path) -> list[Path]:
    """The files that hold the log of a results folder, in the order of their rows; empty if nothing was run."""
    return [file for file in _parts(folder / "trials.jsonl") if file.exists()]


def _parts(path: Path) -> list[Path]:
    """The files of a log in the order of their rows: its compressed parts, then ``path``. The first and the last may be
    missing."""
    return [_compressed(path), *sorted(path.parent.glob(f"{path.stem}{PART}{path.suffix}.xz")), path]


def _missing(parts: list[Path]) -> Path | None:
    """The first compressed part that should be before others and is not there."""
    first, *numbered, path = parts
    if numbered and not first.exists():
        return first
    expected = (path.with_name(f"{path.stem}-{number:04}{first.suffixes[-2]}.xz") for number in range(2, 10_000))
    return next((each for each, found in zip(expected, numbered, strict=False) if each != found), None)


def cell(row: Row) -> Cell:
    """The cell of a grid without a sweep, and the trial in it, that a row belongs to."""
    return row["dataset"], row["method"], row["n_features"], row["trial"]


def latest(rows: Iterable[Row]) -> list[Row]:
    """The rows that count in a log without a sweep: the last one of each cell and trial, in the order of the cells'
    first rows. See `rffbench.execution.counted` for every log.

    Not the last of each key: a trial that failed, or whose data was unavailable, may be run again under
    another key (a corrected parameter, a corrected card), and then its old row no longer counts. A trial
    measured as ok is never measured again in the same folder.
    """
    return list({cell(row): row for row in rows}.values())


class TrialLog:
    """The log of one results folder, open for appending to its trials.jsonl within a ``with`` block.

    Entering makes the folder, takes its lock (ResultsError if another run holds it) and cuts off a torn last line;
    one that is whole but damaged goes to trials.damaged. Rows are written whole and synced to the disk one by one.
    Leaving removes a trials.jsonl that is still empty if the log is compressed.

    Another program may replace the file during the run, as ``xz``, ``sed -i`` and editors do. The log checks this at
    every row and on leaving: it writes missing rows of this run again, and calls ``tell(message)``. ResultsError if
    it cannot, because the file was overwritten in place.
    """

    def __init__(self, folder: Path, tell: Callable[[str], object] = lambda message: None) -> None:
        self.folder = folder
        self.path = folder / "trials.jsonl"
        self._tell = tell
        self._lock = FolderLock(folder)
        self._file: int | None = None
        self._end = 0  # the end of the file after this run's last write
        self._written: dict[str, tuple[int, int, int]] = {}  # this run's rows by key: open file, place there, length
        self._writing: tuple[str, bytes, int] | None = None  # a row being written: key, line, the file's end before
        self._changed = False  # by another program, and not seen to yet
        self._replaced: set[int] = set()  # files that other programs replaced, open for the rows in them
        self._foreign: dict[str, str] = {}  # the status of rows that others have added since this run began

    def rows(self) -> Iterator[Row]:
        """All rows so far, also those with other keys than their fields have (see each_row)."""
        return each_row(self.path, other_keys=True)

    def append(self, row: Row) -> None:
        """Add one row; it is on the disk when this returns.

        If another run has added a result of this trial, the row is left out. EnvironmentFault, with the row in the log,
        if another run goes on beside this one.
        """
        with files.named(self.path):
            self._see_to_changes()
            other = self._lock.other()
        if self._foreign.get(row["key"]) not in ("ok", row["status"]):
            self._write(row["key"], line_of(row))
        if other:
            raise EnvironmentFault(
                f"{self.folder}: {other} runs into this folder, too, on a file system that does not lock it; this run "
                "ends here. What was measured is kept, no trial is in the log twice, and the same command carries on "
                "when the other run has ended"
            )

    def _write(self, key: str, line: bytes) -> None:
        assert self._file is not None, "a TrialLog is written to within its with block"
        self._writing = key, line, self._end
        try:
            files.write(self._file, line)
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot write: {error.strerror}") from error
        self._note_written()

    def _note_written(self) -> None:
        """Note the row that was being written, if it is whole in the file. Ctrl-C may come at any moment between the
        first byte and this note: then it is noted at the next look at the file."""
        if self._writing is None:
            return
        assert self._file is not None
        key, line, end = self._writing
        added = os.pread(self._file, os.fstat(self._file).st_size - end, end)
        if (place := added.find(line)) >= 0:
            self._written[key] = self._file, end + place, len(line)
            if place == 0:  # otherwise another run has added rows before it, which are still to be noted
                self._end = end + len(line)
        self._writing = None

    def _see_to_changes(self) -> None:
        """If another program has replaced the file, continue with the new one, and write the rows of this run that it
        lacks. They are in the replaced file, which is still open here."""
        assert self._file is not None, "a TrialLog is written to within its with block"
        self._note_written()
        same = is_at(self.path, self._file)
        if same and os.fstat(self._file).st_size == self._end and not self._changed:
            return
        self._changed = True  # until all is seen to, even if Ctrl-C comes in between
        if not self.folder.is_dir():
            raise ResultsError(
                f"{self.folder}: was moved or removed while a run writes into it; move it back, and the same command "
                f"carries on. What was measured is in its {self.path.name}"
            )
        if same:
            self._note_foreign(self._end)
        else:
            self._file = self._opened()
        self._mend(_last_line(self._file))
        self._end = os.fstat(self._file).st_size
        present = {row["key"] for row in self.rows()}
        here = _places(self.path, self._written.keys())
        lines = {key: _row_at(key, *place) for key, place in self._written.items() if key not in present}
        if lost := list(lines.values()).count(b""):
            raise ResultsError(
                f"{self.path}: another program has overwritten it while a run writes into it, and {lost} rows of this "
                "run are gone; the same command measures them again"
            )
        for key, place in here.items():
            self._written[key] = self._file, *place
        for key, line in lines.items():
            self._write(key, line)
        needed = {self._file, *(file for file, _, _ in self._written.values())}
        unneeded, self._replaced = self._replaced - needed, needed - {self._file}
        for file in unneeded:
            os.close(file)
        self._changed = False
        if lines:
            self._tell(f"{self.path}: another program replaced it; {len(lines)} rows of this run are written again")

    def _note_foreign(self, begin: int) -> None:
        """Note the rows that others have appended from this place on. It is said once that there are some."""
        assert self._file is not None
        before = len(self._foreign)
        for line in os.pread(self._file, max(0, os.fstat(self._file).st_size - begin), begin).split(b"\n"):
            if (key := _key_of(line)) and key not in self._written:
                self._foreign[key] = str(json.loads(line).get("status"))
        if self._foreign and not before:
            self._tell(f"{self.path}: another run or program adds rows to it; no trial that it has is added again")

    def _opened(self) -> int:
        """Open the file that is now in the log's place. The replaced file stays open for its rows."""
        assert self._file is not None
        until = time.monotonic() + PATIENCE_S
        while not log_files(self.folder) and time.monotonic() < until:  # an editor moves the old one away first
            time.sleep(LOOK_S)
        try:
            file = files.open_log(self.path)
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be written: {error.strerror}") from error
        self._replaced.add(self._file)
        return file

    def keep_aside(self, unwanted: Callable[[Row], bool]) -> Path:
        """Move the ``unwanted`` rows to the folder's trials.aside.jsonl, also those of a trials.jsonl.xz."""
        assert self._file is not None, "a TrialLog is written to within its with block"
        path = self.folder / ASIDE
        try:
            for file in log_files(self.folder):
                lines = [line.rstrip(b"\n") + b"\n" for line in _lines(file) if line.strip()]
                aside = [unwanted(json.loads(line)) for line in lines]
                if any(aside):
                    files.append(path, b"".join(itertools.compress(lines, aside)))  # first, so that none is ever lost
                    kept = b"".join(itertools.compress(lines, [not each for each in aside]))
                    files.replace(file, lzma.compress(kept, preset=9) if file.suffix == ".xz" else kept)
            before, self._file = self._file, None
            os.close(before)
            self._file = files.open_log(self.path)
            self._end = os.fstat(self._file).st_size
        except OSError as error:
            raise ResultsError(f"{path}: cannot be written: {error.strerror}") from error
        return path

    def __enter__(self) -> TrialLog:
        try:
            try:
                files.make_folder(self.folder)
                self._lock.acquire()
            except OSError as error:
                place = _place(error, self.folder)
                raise ResultsError(f"{place}: cannot be a results folder: {error.strerror}") from error
            try:
                self._file = files.open_log(self.path)
                self._mend(_last_line(self._file))
                self._end = os.fstat(self._file).st_size
            except OSError as error:
                raise ResultsError(f"{_place(error, self.path)}: cannot be written: {error.strerror}") from error
            return self
        except BaseException:
            self._close()
            raise

    def _mend(self, line: bytes) -> None:
        """Cut off a torn or damaged last line; add a newline if only that is missing."""
        assert self._file is not None
        if not line.strip() or _is_json(line):
            if line and not line.endswith(b"\n"):  # edited by hand
                os.write(self._file, b"\n")
            return
        if line.endswith(b"\n"):  # a whole line that is no JSON was not cut off, but damaged
            files.append(self.path.with_name(DAMAGED), line)
        os.ftruncate(self._file, os.fstat(self._file).st_size - len(line))

    def __exit__(self, *_: object) -> None:
        try:
            if self._file is not None and (self._written or self._writing):
                with files.named(self.path):
                    self._see_to_changes()
            if self._file is not None and self._end == 0 and _compressed(self.path).exists():
                self.path.unlink(missing_ok=True)
        finally:
            self._close()

    def _close(self) -> None:
        for file in (*self._replaced, self._file):
            if file is not None:
                os.close(file)
        self._file = None
        self._replaced = set()
        self._lock.release()


def _place(error: OSError, path: Path) -> Path | str:
    """The file of a system error: a file in the folder ``path``, or ``path`` itself."""
    return str(error.filename) if error.filename else path


def _places(path: Path, keys: Container[str]) -> dict[str, tuple[int, int]]:
    """Where the rows of these keys are in a log: offset and length."""
    found, offset = {}, 0
    for line in _lines(path):
        if (key := _key_of(line)) in keys:
            found[key] = offset, len(line)
        offset += len(line)
    return found


def _row_at(key: str, file: int, place: int, length: int) -> bytes:
    """The line of a row at its place in an open file; empty if it was overwritten."""
    line = os.pread(file, length, place)
    return line if line.endswith(b"\n") and _key_of(line) == key else b""


def _key_of(line: bytes) -> str:
    """The key of a row's line; empty if it is no row."""
    try:
        return str(json.loads(line)["key"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return ""


def _compressed(path: Path) -> Path:
    return path.with_name(path.name + ".xz")


def _rows(path: Path, left_out: Callable[[str], object] | None, other_keys: bool) -> Iterator[Row]:
    """The rows of one file."""
    torn, idle = None, 0
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise ResultsError(f"{path}: is not a regular file")
    for number, line in enumerate(_lines(path), 1):
        if torn:  # it is not the last line
            _refuse(torn, left_out)
            torn = None
        if idle > MOST_IDLE:
            raise ResultsError(f"{path}, line {number}: {idle:,} lines have no row, so this is no log of trials")
        idle += 1
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode())  # bytes with zeros among them would be taken for UTF-16 or UTF-32
        except (ValueError, RecursionError) as error:
            torn = f"{path}, line {number}: {_what_is_wrong(line, error)}"
            continue
        try:
            check_row(row)
        except ValueError as error:
            _refuse(f"{path}, line {number}: {error}", left_out)
            continue
        if other_keys or has_own_key(row):
            idle -= 1
            yield row
        else:
            _refuse(f"{path}, line {number}: {_edited(row)}", left_out)


def _edited(row: Row) -> str:
    place = f"{row['dataset']} {row['method']} at {row['n_features']}, trial {row['trial']}"
    return (
        f"{place}: its key is not that of its fields: the row was edited; put it back as it was, or run the experiment "
        "again, which measures the trial anew"
    )


def _what_is_wrong(line: bytes, error: Exception) -> str:
    """Why a line is not a row, in a user's words."""
    if zeros := line.count(0):
        return f"not JSON: {zeros:,} of its {len(line):,} bytes are zero, as a damaged disk or a power cut leaves them"
    if isinstance(error, UnicodeDecodeError):
        return "not JSON: is not UTF-8 text"
    return f"not JSON ({error})"


def _refuse(message: str, left_out: Callable[[str], object] | None) -> None:
    if left_out is None:
        raise ResultsError(message)
    left_out(message)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, unpacked; empty without a file. ResultsError for a line that is too long."""
    number = 0
    try:
        with path.open("rb") as file:
            if path.suffix == ".xz":
                content: BinaryIO = io.BufferedReader(open_xz(file, times=MOST_PACKED, least=2 * LONGEST), CHUNK)
            else:
                content = file
            while line := content.readline(LONGEST + 1):
                number += 1
                if len(line) > LONGEST:
                    raise ResultsError(f"{path}, line {number}: has more than {amount(LONGEST)}, which no row has")
                yield line
    except FileNotFoundError:
        return
    except OSError as error:
        raise ResultsError(unreadable(path, error)) from error
    except (lzma.LZMAError, Damaged) as error:
        raise ResultsError(f"{path}: damaged, it cannot be unpacked beyond line {number} ({error})") from error


def _last_line(file: int) -> bytes:
    """The last line of an open file, with its newline if it has one."""
    end, size = os.fstat(file).st_size, CHUNK
    line = os.pread(file, size, max(0, end - size))
    while size < end and b"\n" not in line[:-1]:
        if size > LONGEST:
            raise OSError(errno.EFBIG, f"its last line has more than {amount(LONGEST)}, which no row has")
        size *= 2
        line = os.pread(file, size, max(0, end - size))
    return line[line.rfind(b"\n", 0, -1) + 1 :]


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
