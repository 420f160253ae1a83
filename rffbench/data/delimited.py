"""Delimited text (CSV): reads its rows of cells, by a card or to find out what a file contains."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rffbench.data import dates
from rffbench.data.cards import Card
from rffbench.data.cells import USUAL, Spelling, identity, spelling_of
from rffbench.data.dialect import dialect_of
from rffbench.data.formats import CsvFormat, RowsFormat
from rffbench.data.sheet import Block, Options, Sheet
from rffbench.data.texts import Lines, encoding_of
from rffbench.data.unpack import CHUNK, LONGEST_LINE, open_content
from rffbench.errors import DataError

BLOCK_CELLS = 1 << 20  # cells of a block, so that a file is never in memory as text and numbers at once
STRIPE = (
    1000  # rows that are turned into columns at a time: with more lists at once, Python looks for garbage too often
)

csv.field_size_limit(LONGEST_LINE)  # with a wrong delimiter, a line of 20,000 numbers is one field

Pairs = Iterator[tuple[np.ndarray, np.ndarray]]
Rows = Iterator[tuple[int, list[str]]]  # (number of its first line, cells) of every row


def records(lines: Lines, delimiter: str, quote: str | None) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, cells) of every row; blank lines are skipped. Between two quotes, delimiters and line
    breaks are part of a cell. If the delimiter is a blank, several blanks count as one. ValueError names a line that
    cannot be read."""
    text: Iterable[str] = (" ".join(line.split("\t")).strip() for line in lines) if delimiter == " " else lines
    quoting: Any = {"quoting": csv.QUOTE_NONE} if quote is None else {"quotechar": quote}
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True, **quoting)
    while True:
        begins, comments = lines.number + 1, lines.passed_over
        try:
            row = next(reader)
            begins += lines.passed_over - comments
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise ValueError(f"line {begins} begins a quote that is not closed") from None
            raise ValueError(f"line {begins}: {error}") from None
        if len(row) > 1 or (row and row[0].strip()):
            yield begins, row


def blocks(
    rows: Rows, width: int, wrong: Callable[[int, list[str]], Exception], size: int | None = None
) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Blocks of rows with ``width`` cells, at most ``size`` rows: (numbers of their first lines, the cells of each
    column). Raises ``wrong(line, cells)`` for a row of another width."""
    size = size or max(1, BLOCK_CELLS // width)
    while True:
        numbers: list[int] = []
        columns: list[list[str]] = [[] for _ in range(width)]
        while some := list(islice(rows, min(STRIPE, size - len(numbers)))):
            lines, table = zip(*some, strict=True)
            if {*map(len, table)} != {width}:
                raise wrong(*next((line, row) for line, row in some if len(row) != width))
            numbers += lines
            for column, cells in zip(columns, zip(*table, strict=True), strict=True):
                column += cells
        if not numbers:
            return
        yield numbers, columns


# ---- Reading by a card -------------------------------------------------------------------------------------


def read_delimited(card: Card, layout: CsvFormat, stream: BinaryIO) -> Pairs:
    """Blocks (X, target) of a card's text: `read_rows`."""
    rows = records(Lines(stream, layout.comment, layout.encoding, layout.skip), layout.delimiter, layout.quote)
    if layout.header:
        next(rows, None)
    return read_rows(card, layout, rows)


def read_rows(card: Card, layout: RowsFormat, rows: Rows, *, row: str = "line") -> Pairs:
    """Blocks (X, target) of a card's rows of cells.

    Numbers are exact (read by ``float``); NaN is a missing value that the card allows; a word is replaced by its index
    on the card, and a date by its parts. Class labels are texts, as written. Several targets are the columns of
    (b, targets). ``row`` is what a row is called in messages.
    """
    spelling = spelling_of(layout.decimal, layout.thousands, layout.missing, layout.units)
    first = next(rows, None)
    if first is None:
        return
    width = len(first[1])
    absent = [each for each in (*layout.learnt, *(layout.ignore or ())) if not -width <= each < width]
    if absent:
        raise ValueError(f"its rows have {width} values, so there is no column {absent[0]}")
    at = [column % width for column in layout.learnt]
    left_out = {*at, *(column % width for column in layout.ignore or ())}
    inputs = [column for column in range(width) if column not in left_out]
    formats = {column % width: each for column, each in (layout.dates or {}).items()}

    def wrong(line: int, cells: list[str]) -> ValueError:
        return ValueError(f"{row} {line} has {len(cells)} values, the lines before it {width}")

    for lines, texts in blocks(chain([first], rows), width, wrong, max(1, BLOCK_CELLS // card.cells)):
        found: list[np.ndarray] = []
        for column in inputs:

            def place(i: int, column: int = column, lines: Sequence[int] = lines) -> str:
                return f"{row} {lines[i]}, column {column + 1}"

            if column in formats:
                found += _dates(texts[column], formats[column], place, spelling)
                continue
            values = coded(texts[column], card.categories.get(len(found)), place, spelling)
            if not np.isfinite(values).all():
                _check_missing(values, texts[column], len(found) in card.missing, place)
            found.append(values)
        X = np.column_stack(found) if found else np.empty((len(lines), 0))
        if len(found) != card.columns:  # the caller raises the error
            yield X, np.empty(0)
            return
        if card.task == "regression":
            targets = [_numbers_in(texts[column], lines, column, spelling, row) for column in at]
            yield X, targets[0] if len(at) == 1 else np.column_stack(targets)
        else:
            yield X, np.array([spelling.label(text).strip() for text in texts[at[0]]], dtype=object)


def _check_missing(values: np.ndarray, texts: Sequence[str], allowed: bool, place: Any) -> None:
    wrong = np.isinf(values) if allowed else ~np.isfinite(values)
    if wrong.any():
        first = int(wrong.argmax())
        if np.isinf(values[first]):
            raise ValueError(f"{place(first)}: {texts[first].strip()} is not a finite number")
        raise ValueError(f"{place(first)}: {texts[first].strip()!r} is not a number")


def _numbers_in(texts: Sequence[str], lines: Sequence[int], column: int, spelling: Spelling, row: str) -> np.ndarray:
    """The finite numbers of a column; ValueError, with its place, for anything else."""
    values = [spelling.number(text) for text in texts]
    for line, text, value in zip(lines, texts, values, strict=True):
        if value is None or not math.isfinite(value):
            raise ValueError(f"{row} {line}, column {column + 1}: {text.strip()!r} is not a number")
    return np.array(values, dtype=np.float64)


def _dates(texts: Sequence[str], format_: str, place: Any, spelling: Spelling) -> list[np.ndarray]:
    """The parts of a column of dates."""
    bare = ["" if spelling.is_missing(text) else text.strip() for text in texts]
    try:
        return [*dates.numbers(bare, format_).T]
    except ValueError:
        for i, text in enumerate(bare):
            if text and format_ not in dates.formats_of([text]):
                raise ValueError(f"{place(i)}: {text!r} is no date of the format {format_}") from None
        raise


def coded(texts: Sequence[str], words: Sequence[str] | None, place: Any, spelling: Spelling = USUAL) -> np.ndarray:
    """The index of each text among a card's ``words``, or without words its number; NaN for a missing value.
    ValueError, with its ``place(i)``, for a text that is neither."""
    if words is None and spelling.is_usual:
        try:
            values = np.array([*map(float, texts)])
        except ValueError:
            pass
        else:
            if "_" not in "".join(texts):  # float reads 1_000, which other programs do not
                return values
    same = identity(words or ())
    codes = {same(word): float(i) for i, word in enumerate(words or ())}
    found = []
    for i, text in enumerate(texts):
        value = spelling.number(text)
        if words is not None and (value is None or not math.isnan(value)):
            value = codes.get(same(text))
        if value is None:
            kind = "number" if words is None else "category of the card"
            raise ValueError(f"{place(i)}: {text.strip()!r} is not a {kind}")
        found.append(value)
    return np.array(found)


# ---- Looking at a file -------------------------------------------------------------------------------------


def csv_sheet(path: Path, options: Options) -> Sheet:
    """The columns of the text at ``path``."""
    encoding, why = (options.encoding, "") if options.encoding else encoding_of(path)
    with open_content(path, path.name, text=True) as stream:
        dialect = dialect_of(
            path.name, Lines(stream, None, encoding, options.skip), options.delimiter, options.header, options.comment,
            options.skip,
        )  # fmt: skip
    layout: dict[str, Any] = {"kind": "csv", "delimiter": dialect.delimiter, "header": dialect.header}
    more = {"comment": dialect.comment, "skip": dialect.skip or None, "encoding": encoding}
    layout |= {key: value for key, value in more.items() if value}
    quote = dialect.quote or '"'
    if quote != '"' or _has_quotes(path):
        layout["quote"] = quote
    first = dialect.skip + 1
    names, width = dialect.names, dialect.width
    if names and len(names) != width:
        above = f"; if it is no part of the table: {{path: …, skip: {first}}}" if len(names) == 1 else ""
        raise DataError(
            f"{path.name}: the header, line {first}, has {_values(len(names))}, the rows below it {width}{above}"
        )

    def wrong(line: int, row: list[str]) -> DataError:
        return DataError(f"{path.name}: {_ragged(line, row, width, first)}")

    def rows(size: int | None = None) -> Iterator[Block]:
        with open_content(path, path.name, text=True) as stream:
            lines = Lines(stream, dialect.comment, encoding, dialect.skip)
            read = records(lines, dialect.delimiter, quote)
            if dialect.header:
                next(read, None)
            yield from blocks(read, width, wrong, size)

    def place(line: int, column: int) -> str:
        return f"line {line}, column {column + 1}" + (f" ({names[column]!r})" if names and names[column] else "")

    notes = [("encoding", f"{encoding}, {why}")] * bool(why) + dialect.notes
    if dialect.skip and not options.skip:
        notes.append(("skipped", f"the first {dialect.skip} lines" if dialect.skip > 1 else "the first line"))
    left_out = {0: "names of the rows"} if dialect.row_names else {}
    return Sheet(layout, names, width, rows, place, notes, left_out=left_out, first=f"line {first}")


def _ragged(line: int, row: Sequence[str], width: int, first: int) -> str:
    said = f"line {line} has {_values(len(row))}, "
    said += f"the rows below it have {width}" if line == first else f"line {first} has {width}"
    if row[0][:1] in ("#", "%"):
        return f"{said}; if it is a comment: {{path: …, comment: '{row[0][0]}'}}"
    return said


def _has_quotes(path: Path) -> bool:
    with open_content(path, path.name) as stream:
        return any(b'"' in piece for piece in iter(lambda: stream.read(CHUNK), b""))


def _values(number: int) -> str:
    return "one value" if number == 1 else f"{number} values"
