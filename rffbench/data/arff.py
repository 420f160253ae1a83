"""Weka's ARFF: its header, and its rows of cells. Attributes and values may stand between quotes of either kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from rffbench.data.delimited import Rows, blocks
from rffbench.data.sheet import Block, Options, Sheet
from rffbench.data.texts import LINE_SHOWN, Lines, encoding_of
from rffbench.data.unpack import open_content
from rffbench.errors import DataError

_WORD = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_ATTRIBUTE = re.compile(rf"\s*@attribute\s+({_WORD}|\S+)\s*(.*)", re.IGNORECASE)
_CELL = re.compile(rf"\s*(?:({_WORD})|([^,'\"]*?))\s*(?:,|$)")
_BLANK_CELL = re.compile(rf"\s*({_WORD}|[^\s,]+)")


def attributes(lines: Lines) -> list[str]:
    """The names of the attributes; ``lines`` then begin with the rows. ValueError without any rows."""
    names = []
    for line in lines:
        if found := _ATTRIBUTE.match(line):
            names.append(_bare(found[1]))
        if line.strip().lower().startswith("@data"):
            return names
    raise ValueError("it has no @data line")


def arff_rows(lines: Lines, width: int) -> Rows:
    """(line, cells) of every row. ValueError, with its line, for a sparse row, a quote that is not closed, and cells of
    another number than the header's attributes."""
    for line in lines:
        if not (bare := line.strip()) or bare.startswith("%"):
            continue
        if bare.startswith("{"):
            raise ValueError(f"line {lines.number} is of sparse ARFF, which is not read; save it as LIBSVM or CSV")
        cells = _cells(bare, lines.number)
        if len(cells) != width:
            raise _another_width(width)(lines.number, cells)
        yield lines.number, cells


def _another_width(width: int) -> Callable[[int, list[str]], ValueError]:
    return lambda line, cells: ValueError(f"line {line} has {len(cells)} values, its header {width} attributes")


def _cells(line: str, number: int) -> list[str]:
    if "'" not in line and '"' not in line:
        return line.split(",") if "," in line else line.split()
    cells, at = [], 0
    pattern = _CELL if "," in re.sub(_WORD, "", line) else _BLANK_CELL
    while at < len(line):
        found = pattern.match(line, at)
        if not found or found.end() == at:
            raise ValueError(
                f"line {number}, {line[at : at + LINE_SHOWN]!r}: a quote is not closed, or not around a value"
            )
        cells.append(_bare(found[1] or found[found.lastindex or 0] or ""))
        at = found.end()
    return [*cells, ""] if line.endswith(",") and pattern is _CELL else cells


def _bare(word: str) -> str:
    if word[:1] in ("'", '"') and len(word) > 1:
        return re.sub(r"\\(.)", lambda found: _ESCAPED.get(found[1], found[1]), word[1:-1])
    return word


def arff_sheet(path: Path, options: Options) -> Sheet:
    """The columns of the ARFF file at ``path``."""
    options_of_text = ("delimiter", "header", "comment", "sheet", "skip")
    for key in options_of_text:
        if getattr(options, key) is not None:
            raise DataError(f"{path.name}: is ARFF, whose format says its {key}")
    encoding, why = encoding_of(path)
    if encoding:
        raise DataError(f"{path.name}: is {encoding}, {why}; save it as UTF-8")
    with open_content(path, path.name, text=True) as stream:
        names = attributes(Lines(stream, "%"))

    def rows(size: int | None = None) -> Iterator[Block]:
        with open_content(path, path.name, text=True) as stream:
            lines = Lines(stream, "%")
            attributes(lines)
            yield from blocks(arff_rows(lines, len(names)), len(names), _another_width(len(names)), size)

    def place(line: int, column: int) -> str:
        return f"line {line}, column {column + 1} ({names[column]!r})"

    return Sheet({"kind": "arff"}, names, len(names), rows, place)
