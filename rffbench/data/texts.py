"""The lines of a text: its encoding, and what is no text although its name says so."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from rffbench.data.unpack import CHUNK, open_content
from rffbench.errors import ConfigError, DataError

UTF8, ANSI = "utf-8-sig", "cp1252"
LINE_SHOWN = 40  # characters of a line in messages
LFS = b"version https://git-lfs.github.com/spec/"
# The beginnings of files that are no table, with what to do.
KNOWN = {
    LFS: "is a Git LFS pointer, and not the data that it stands for: git lfs pull",
    b"\xd0\xcf\x11\xe0": "is a workbook of Excel 97 to 2003 (.xls); save it as .xlsx or CSV",
    b"\x89HDF": "is HDF5; save the arrays as .npz, X and y",
    b"\x93NUMPY": "is a single NumPy array; save inputs and target as .npz, X and y",
    b"SQLite format 3": "is a database of SQLite; save the table as CSV",
    b"%PDF": "is a PDF; save the table as CSV",
    b"ARROW1": "is in Arrow's format (Feather); save it as .parquet",
    b"ORC": "is in the format ORC; save it as .parquet",
    b"\x80\x04\x95": "is a Python pickle, which may run any code when it is read; save it as .npz, .parquet or CSV",
    b"\x1f\x8b": "is packed by gzip, and its name does not end in .gz; rename it",
    b"BZh": "is packed by bzip2, and its name does not end in .bz2; rename it",
    b"\xfd7zXZ\0": "is packed by xz, and its name does not end in .xz; rename it",
}
HTML = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)


def beginning(path: Path) -> bytes:
    """The first bytes of the content. DataError for a file that is known to be no table, by what it is."""
    with open_content(path, path.name) as stream:
        first = stream.read(4096)
    for begin, what in KNOWN.items():
        if first.startswith(begin) and (begin != b"ORC" or b"\0" in first):
            raise DataError(f"{path.name}: {what}")
    if HTML.match(first):
        raise DataError(f"{path.name}: is a page of HTML, as servers send in place of a file; download the data again")
    return first


class Lines(Iterator[str]):
    """A text's lines. ``number`` is the last line's number, counted as in an editor; ``numbers`` are the numbers of all
    lines that were not blank since it was last cleared. A byte order mark is skipped, and so are the first ``skip``
    lines and those that begin with ``comment``, which ``passed_over`` counts."""

    def __init__(
        self, stream: BinaryIO, comment: str | None = None, encoding: str | None = None, skip: int | None = None
    ) -> None:
        self._lines = iter(io.TextIOWrapper(stream, encoding=encoding or UTF8))
        self._comment, self.passed_over = comment, 0
        self.number = sum(1 for _ in islice(self._lines, skip or 0))
        self.numbers: list[int] = []

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        while self._comment and line.startswith(self._comment):
            self.passed_over += 1
            line = next(self._lines)
            self.number += 1
        if line.strip():
            self.numbers.append(self.number)
        return line


def not_utf8(what: str, lines: Iterable[bytes]) -> DataError:
    """The error for the file ``what``, with the first of its ``lines`` that is not UTF-8."""
    for count, line in enumerate(lines, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            shown = line.decode("utf-8", "replace").strip()[:LINE_SHOWN]
            return DataError(f"{what}: line {count}, {shown!r}, is not UTF-8 text; save it as UTF-8")
    return DataError(f"{what}: is not UTF-8 text; save it as UTF-8")


def encoding_of(path: Path) -> tuple[str | None, str]:
    """(encoding, why) of a text; None for UTF-8.

    UTF-16 is recognised by its mark or by its zero bytes. A text that is not UTF-8 is taken for Windows-1252, unless
    most of its letters beyond ASCII are UTF-8: then it is damaged. ConfigError for what is no text.
    """
    with open_content(path, path.name) as stream:
        first = stream.read(4096)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", "by its byte order mark"
    if b"\0" in first:
        pairs = max(1, len(first) // 2)
        high, low = first[1::2].count(0) / pairs, first[::2].count(0) / pairs
        if max(high, low) > 0.6 and min(high, low) < 0.1:
            return ("utf-16-le" if high > low else "utf-16-be"), "by its zero bytes: it has no byte order mark"
        raise ConfigError(
            f"{path.name}: data by path is text (CSV, LIBSVM, ARFF), .npz, .parquet or .xlsx, or these with .gz, .bz2, "
            ".xz; this is none of them"
        )
    fits, strange = 0, 0
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    ansi = codecs.getincrementaldecoder(ANSI)("strict")
    is_ansi = True
    with open_content(path, path.name, text=True) as stream:
        for piece in iter(lambda: stream.read(CHUNK), b""):
            if not strange and piece.isascii():
                continue
            if not (text := decoder.decode(piece)).isascii():
                escaped = len(re.findall("[\udc80-\udcff]", text))
                strange += escaped
                fits += sum(not each.isascii() for each in text) - escaped
            try:
                is_ansi = is_ansi and ansi.decode(piece) is not None
            except UnicodeDecodeError:
                is_ansi = False
    strange += len(decoder.decode(b"", final=True)) if decoder.getstate()[0] else 0
    if not strange:
        return None, ""
    if fits >= strange or not is_ansi:
        with open_content(path, path.name, text=True) as lines:
            raise not_utf8(path.name, lines)
    return ANSI, "as it is not UTF-8: Windows-1252"
