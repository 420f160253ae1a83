"""Unpacks files as streams of bounded length. All faults of packed files are raised as ``Unpackable``."""

from __future__ import annotations

import bz2
import fnmatch
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from rffbench.data.formats import File
from rffbench.errors import OF_THE_DISK, amount
from rffbench.io.packed import open_bz2, open_xz

CHUNK = 1 << 20
TAR_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
TOO_MUCH = "more than the card's rows and columns can take"
LONGEST_LINE = 64_000_000  # bytes of a text's line: three times those of a million columns of 20 digits
MOST_BLANKS = 2_000_000  # bytes of a text without anything else
MOST_PACKED = 1000  # times its own size that a packed file can hold if no card says how much it holds
NO_TABLE = f"which is more than {MOST_PACKED:,} times its size"
LEAST_LIMIT = 1_000_000_000  # bytes that any packed file can hold
ENCRYPTED = 0x1  # the bit of a zip member's flags


class Unpackable(ValueError):
    """A packed file is damaged, hostile, or packed in an unsupported way. The message continues the file's name:
    ``holds no 'a.csv'``."""


@contextmanager
def open_content(
    path: Path, name: str, member: str | None = None, *, limit: int | None = None, text: bool = False
) -> Iterator[BinaryIO]:
    """A file's unpacked content. The ending of ``name`` says how it is packed; ``member`` is the file in an archive.

    Opening and reading raise Unpackable if the file cannot be unpacked, and after more than ``limit`` bytes; without a
    limit after more than MOST_PACKED times the file's size. They raise it for a line of a ``text`` with more than
    LONGEST_LINE bytes, and for more than MOST_BLANKS bytes of blanks: a packed file of a few MB may be one line of
    terabytes.
    """
    with ExitStack() as stack:
        packed = stack.enter_context(open(path, "rb"))
        with _unpackable():
            content = stack.enter_context(_opened(packed, name, member, stack))
        why = TOO_MUCH
        if limit is None and content is not packed:
            limit, why = max(LEAST_LIMIT, MOST_PACKED * path.stat().st_size), NO_TABLE
        bounded = _Bounded(content, limit, why, text, is_packed=content is not packed)
        yield cast(BinaryIO, stack.enter_context(io.BufferedReader(bounded, CHUNK)))


def members(path: Path, file: File) -> list[str | None]:
    """The members to open with ``open_content``, one after the other, to read all of ``file``."""
    if file.member is None or "*" not in file.member:
        return [file.member]
    with _unpackable():
        if file.name.endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        else:
            with tarfile.open(path) as tar:
                names = tar.getnames()
    found = sorted(fnmatch.filter(names, file.member))
    if not found:
        raise Unpackable(f"holds nothing that matches {file.member!r}")
    return [*found]


class _Bounded(io.RawIOBase):
    """A stream that raises faults of another as Unpackable, and limits its length and that of a text's lines."""

    def __init__(self, stream: Any, limit: int | None, why: str, text: bool, *, is_packed: bool) -> None:
        self._is_packed = is_packed
        self._stream, self._limit, self._why, self._position = stream, limit, why, 0
        self._text, self._line, self._line_begins, self._blanks = text, 1, 0, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._stream.seekable())

    def readinto(self, buffer: Any) -> int:
        with _unpackable():
            piece = self._stream.read(len(buffer))
        self._position += len(piece)
        if self._limit is not None and self._position > self._limit:
            raise Unpackable(f"holds more than {amount(self._limit)}, {self._why}")
        if self._text:
            self._check_text(piece)
        buffer[: len(piece)] = piece
        return len(piece)

    def _check_text(self, piece: bytes) -> None:
        """Unpackable if the line at the end of the piece is too long, or if there have been too many blanks."""
        end = b"\n" if b"\n" in piece else b"\r"
        if end in piece:
            self._line += piece.count(end)
            self._line_begins = self._position - len(piece) + piece.rindex(end) + 1
        if self._position - self._line_begins > LONGEST_LINE:
            raise Unpackable(f"has more than {amount(LONGEST_LINE)} in line {self._line}, which no row of numbers has")
        self._blanks = self._blanks + len(piece) if piece.isspace() else 0
        if self._blanks > MOST_BLANKS:
            raise Unpackable(f"has {amount(self._blanks)} of nothing but blanks up to line {self._line}")

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place. In what is packed this reads all before it, within the limit."""
        if self._is_packed:
            if whence == io.SEEK_END:
                while self.read(CHUNK):
                    pass
            if whence != io.SEEK_SET:
                offset, whence = max(0, self._position + offset), io.SEEK_SET
            while self._position < offset and self.read(min(CHUNK, offset - self._position)):
                pass
        with _unpackable():
            self._position = self._stream.seek(offset, whence)
        self._line, self._line_begins, self._blanks = 1, self._position, 0  # texts are read from their beginning
        return self._position

    def tell(self) -> int:
        return self._position


def _opened(packed: BinaryIO, name: str, member: str | None, stack: ExitStack) -> Any:
    if name.endswith(".zip"):
        archive = stack.enter_context(zipfile.ZipFile(packed))
        chosen = member or _only_member(archive.namelist())
        if chosen not in archive.namelist():
            raise Unpackable(f"holds no {chosen!r}")
        if archive.getinfo(chosen).flag_bits & ENCRYPTED:
            raise Unpackable("is encrypted")
        return archive.open(chosen)
    if name.endswith(TAR_ENDINGS):
        unpacked = _unpacked(packed, name.replace(".tgz", ".gz"))
        tar = stack.enter_context(tarfile.TarFile.open(fileobj=unpacked, mode="r:"))
        chosen = member or _only_member([entry.name for entry in tar.getmembers() if entry.isfile()])
        if chosen not in tar.getnames():
            raise Unpackable(f"holds no {chosen!r}")
        while unpacked.read(CHUNK):  # to its end, where the checksum is: a tar has none of its content
            pass
        content = tar.extractfile(chosen)
        if content is None:
            raise Unpackable(f"holds {chosen!r}, but not as a file")
        return content
    return _unpacked(packed, name)


def _unpacked(packed: BinaryIO, name: str) -> Any:
    """The content of a file that is packed as its name's ending says; the file itself if it is not packed."""
    readers: dict[str, Callable[[BinaryIO], Any]] = {".gz": gzip.open, ".bz2": open_bz2, ".xz": open_xz}
    reader = readers.get(Path(name).suffix)
    return reader(packed) if reader else packed


def packed_by(name: str) -> Any:
    """The function that opens a packed file with this ending to write to it; None if it is not packed."""
    return {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(Path(name).suffix)


def _only_member(names: list[str]) -> str:
    if len(names) != 1:
        raise Unpackable(f"holds several files, so the card must say which member: {', '.join(names)}")
    return names[0]


_DAMAGED = "cannot be unpacked, as if damaged or packed otherwise ({})"


@contextmanager
def _unpackable() -> Iterator[None]:
    """A context that turns all errors of Python's libraries for packed files into Unpackable; hostile bytes can cause
    many kinds. Those of the disk stay as they are."""
    try:
        yield
    except Unpackable:
        raise
    except OSError as error:
        if error.errno in OF_THE_DISK:
            raise
        raise Unpackable(_DAMAGED.format(error)) from error
    except NotImplementedError as error:
        raise Unpackable(f"is compressed by a method that is not read here ({error})") from error
    except RecursionError as error:
        raise Unpackable("holds a link that leads back to itself") from error
    except Exception as error:
        raise Unpackable(_DAMAGED.format(error)) from error


def exactly(stream: BinaryIO, size: int) -> bytes:
    """``size`` bytes of a stream; ValueError if fewer are left."""
    content = stream.read(size)
    if len(content) != size:
        raise ValueError(f"it breaks off: {size} bytes are due, {len(content)} are left")
    return content
