"""Delimited text (CSV): reads its lines and rows of cells, by a card or to find out what a file contains."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rffbench import yamlfile
from rffbench.data.cards import Card
from rffbench.data.cells import MISSING, Content, Inputs, few_whole, identity, is_finite, number
from rffbench.data.formats import CsvFormat
from rffbench.data.unpack import CHUNK, LONGEST_LINE, open_content
from rffbench.errors import ConfigError, DataError, unknown

DELIMITERS = (",", "\t", ";", "|", " ")
NO_NAMES = {*MISSING, "inf", "infinity"}
SAMPLE_LINES = 100  # lines by which format, delimiter and header are recognised
LINE_SHOWN = 40  # characters of a line in messages
SAMPLE_CHARACTERS = 100_000
BLOCK_CELLS = 1 << 20  # cells of a block, so that a file is never in memory as text and numbers at once

csv.field_size_limit(LONGEST_LINE)  # with a wrong delimiter, a line of 20,000 numbers is one field

Pairs = Iterator[tuple[np.ndarray, np.ndarray]]


class Lines(Iterator[str]):
    """A text's lines. ``number`` is the last line's number, counted as in an editor; ``numbers`` are the numbers of all
    lines that were not blank since it was last cleared. A byte order mark is skipped, and so are lines that begin with
    ``comment``, which ``passed_over`` counts."""

    def __init__(self, stream: BinaryIO, comment: str | None = None) -> None:
        self._lines = iter(io.TextIOWrapper(stream, encoding="utf-8-sig"))
        self._comment, self.passed_over = comment, 0
        self.number = 0
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


def blocks(rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Blocks of rows with ``width`` cells: (numbers of their first lines, their cells)."""
    while some := list(islice(rows, max(1, BLOCK_CELLS // width))):
        yield [line for line, _ in some], [row for _, row in some]


# ---- Reading by a card -------------------------------------------------------------------------------------


def read_delimited(card: Card, layout: CsvFormat, stream: BinaryIO) -> Pairs:
    """Blocks (X, target) of a card's text. Numbers are exact (read by ``float``); NaN is a missing value that the card
    allows; a word is replaced by its index on the card. Class labels are texts, as written. Several targets are the
    columns of (b, targets)."""
    rows = records(Lines(stream, layout.comment), layout.delimiter, layout.quote)
    if layout.header:
        next(rows, None)
    width = 0
    for lines, table in blocks(rows, card.columns + card.targets):
        width = width or len(table[0])
        absent = [each for each in (*layout.learnt, *(layout.ignore or ())) if not -width <= each < width]
        if absent:
            raise ValueError(f"its rows have {width} values, so there is no column {absent[0]}")
        at = [column % width for column in layout.learnt]
        left_out = {*at, *(column % width for column in layout.ignore or ())}
        inputs = [column for column in range(width) if column not in left_out]
        for line, row in zip(lines, table, strict=True):
            if len(row) != width:
                raise ValueError(f"line {line} has {len(row)} values, the lines before it {width}")
        if len(inputs) != card.columns:  # the caller raises the error
            yield np.empty((len(table), len(inputs))), np.empty(0)
            return
        found = Inputs(len(inputs), [*card.categories])
        X = found.add(lines, chosen(table, inputs))

        def place(line: int, column: int, inputs: list[int] = inputs) -> str:
            return f"line {line}, column {inputs[column] + 1}"

        for column, words in card.categories.items():
            texts = [row[inputs[column]] for row in table]
            X[:, column] = coded(texts, words, [place(line, column) for line in lines])
        for column, (line, text) in found.first_word.items():
            if column not in card.categories:
                raise ValueError(f"{place(line, column)}: {text!r} is not a number")
        for column, (line, text) in found.first_infinite.items():
            raise ValueError(f"{place(line, column)}: {text} is not a finite number")
        if any(found.missing[column] and column not in card.missing for column in range(len(inputs))):
            line, column, text = found.first_missing[0]
            raise ValueError(f"{place(line, column)}: {text!r} is not a number")
        if card.task == "regression":
            found_targets = [_numbers_in(table, lines, column) for column in at]
            yield X, found_targets[0] if len(at) == 1 else np.column_stack(found_targets)
        else:
            yield X, np.array([row[at[0]].strip() for row in table], dtype=object)


def _numbers_in(table: Sequence[Sequence[str]], lines: Sequence[int], column: int) -> np.ndarray:
    """The finite numbers of a column; ValueError, with its place, for anything else."""
    texts = [row[column].strip() for row in table]
    values = [number(text) for text in texts]
    for line, text, value in zip(lines, texts, values, strict=True):
        if value is None or not math.isfinite(value):
            raise ValueError(f"line {line}, column {column + 1}: {text!r} is not a number")
    return np.array(values, dtype=np.float64)


def coded(texts: Sequence[str], words: Sequence[str] | None, places: Sequence[str]) -> np.ndarray:
    """The index of each text among a card's ``words``, or without words its number; NaN for a missing value.
    ValueError, with its place, for a text that is neither."""
    same = identity(words or ())
    codes = {same(word): float(i) for i, word in enumerate(words or ())}
    found = []
    for i, text in enumerate(texts):
        value = number(text)
        if words is not None and (value is None or not math.isnan(value)):
            value = codes.get(same(text))
        if value is None:
            kind = "number" if words is None else "category of the card"
            raise ValueError(f"{places[i]}: {text.strip()!r} is not a {kind}")
        found.append(value)
    return np.array(found)


def chosen(table: Sequence[Sequence[str]], columns: Sequence[int]) -> Sequence[Sequence[str]]:
    """Some of the columns of every row."""
    if len(columns) == 1:
        return [[row[columns[0]]] for row in table]
    if columns and len(columns) == columns[-1] - columns[0] + 1:
        return [row[columns[0] : columns[-1] + 1] for row in table]
    return [*map(itemgetter(*columns), table)]


# ---- Looking at a file -------------------------------------------------------------------------------------


def see(
    path: Path, target: str | int | None, task: str | None, ignore: tuple[str | int, ...], header: bool | None,
    categories: tuple[str | int, ...],
) -> Content:  # fmt: skip
    """The content of the text at ``path``; the parameters are those of `rffbench.data.userfile.look`."""
    with open_content(path, path.name, text=True) as stream:
        try:
            sample = _sample(Lines(stream))
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
    if not sample:
        raise DataError(f"{path.name}: is empty; it must have one line per row")
    delimiter = _delimiter(sample)
    first, *others = _cells(sample, delimiter)
    if header is None:
        header = _is_header(first, others)
    names = [each.strip() for each in first] if header else []
    width = len(first)
    if header and not others:
        raise DataError(f"{path.name}: has a header, line 1, and no rows below it")
    if width < 2:
        raise DataError(
            f"{path.name}: line 1 has one value, {first[0][:LINE_SHOWN]!r}; an input and the target are needed"
        )
    at = column_of(path, "target", -1 if target is None else target, names, width)
    ignored = [column_of(path, "ignore", each, names, width) for each in ignore]
    declared = [column_of(path, "categories", each, names, width) for each in categories]
    for key, given, columns in (("ignore", ignore, ignored), ("categories", categories, declared)):
        if at in columns:
            raise ConfigError(f"{path.name}: {key}: names the target, {given[columns.index(at)]!r}")
    if both := set(ignored) & set(declared):
        raise ConfigError(f"{path.name}: categories: {categories[declared.index(min(both))]!r} is ignored, too")
    columns = [column for column in range(width) if column != at and column not in ignored]
    if not columns:
        raise ConfigError(f"{path.name}: ignore: leaves no input")

    def place(line: int, column: int) -> str:
        return f"line {line}, column {column + 1}" + (f" ({names[column]!r})" if names else "")

    def leave_out(inputs: Sequence[int]) -> str:
        return f"{{path: …, ignore: {written([names[i] if names else i for i in sorted(columns[j] for j in inputs)])}}}"

    inputs = Inputs(len(columns), [columns.index(column) for column in declared])
    counting = {i: {0, 1} for i, column in enumerate(columns) if names and not names[column]}  # unnamed, 0, 1, 2, …
    labels: list[str] = []
    target_lines: list[int] = []
    with open_content(path, path.name, text=True) as stream:
        try:
            rows = records(Lines(stream), delimiter, '"')
            if header:
                next(rows, None)
            for lines, table in blocks(rows, width):
                for line, row in zip(lines, table, strict=True):
                    if len(row) != width:
                        raise DataError(f"{path.name}: line {line} has {_values(len(row))}, line 1 has {width}")
                numbers = inputs.add(lines, chosen(table, columns))
                for i, begins in counting.items():
                    counted = np.arange(len(labels), len(labels) + len(table))
                    counting[i] = {start for start in begins if np.array_equal(numbers[:, i], counted + start)}
                labels += [row[at].strip() for row in table]
                target_lines += lines
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
    if not labels:
        raise DataError(f"{path.name}: has a header, line 1, and no rows below it")
    found = inputs.findings(lambda line, column: place(line, columns[column]), leave_out)
    faults, of_target = found.faults, Counter(labels)
    values = {label: number(label) for label in of_target}
    if target is None and found.advice and found.categories.keys() == {0}:  # in UCI's files the label often comes first
        found.advice[-1] += f"; if it is the target: {{path: …, target: {written([names[0] if names else 0])[1:-1]}}}"
    if absent := {label for label, value in values.items() if value is not None and math.isnan(value)}:
        line, label = next(each for each in zip(target_lines, labels, strict=True) if each[1] in absent)
        found.targets_missing = sum(of_target[label] for label in absent)
        more = f" here and in {found.targets_missing - 1} more" if found.targets_missing > 1 else ""
        faults.append(f"{place(line, at)}: the value is missing ({label!r}){more}; fill it, or remove such rows")
    elif task == "regression":
        for line, label in zip(target_lines, labels, strict=True):
            if (value := values[label]) is None or math.isinf(value):
                faults.append(f"{place(line, at)}: {label!r} is not a finite number; make it a number")
                break
    for i in (i for i, begins in counting.items() if begins):
        faults.append(
            f"column {columns[i] + 1}, which has no name, numbers the rows; leave it out: "
            f"{{path: …, ignore: [{columns[i]}]}}, or give it a name"
        )
    format_: dict[str, Any] = {"kind": "csv", "target": at - width, "delimiter": delimiter, "header": header}
    if ignored:
        format_["ignore"] = [column - width for column in sorted(ignored)]
    if any('"' in line for line in sample) or _has_quotes(path):
        format_["quote"] = '"'
    title = repr(names[at]) if names else f"column {at + 1} of {width}"
    y = np.array(labels, dtype=object)
    if all(map(is_finite, of_target)):
        numbers = np.array([values[label] for label in labels], dtype=np.float64)
        y = numbers if task == "regression" or (task is None and not few_whole(numbers)) else y
    return Content(format_, len(columns), y, title, [names[i] for i in columns if names], found)


def _sample(lines: Lines) -> list[str]:
    """The first lines without blank ones; fewer if they are long, but at least two."""
    sample: list[str] = []
    for line in islice(lines, SAMPLE_LINES):
        sample += [line] if line.strip() else []
        if len(sample) > 1 and sum(map(len, sample)) > SAMPLE_CHARACTERS:
            break
    return sample


def _not_utf8(path: Path) -> DataError:
    with open_content(path, path.name, text=True) as lines:
        return not_utf8(path.name, lines)


def _values(number: int) -> str:
    return "one value" if number == 1 else f"{number} values"


def _cells(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """The values of every line; several blanks count as one."""
    if delimiter == " ":
        return list(csv.reader((line.strip() for line in lines), delimiter=" ", skipinitialspace=True))
    return list(csv.reader(lines, delimiter=delimiter))


def _delimiter(sample: list[str]) -> str:
    """The delimiter with which all lines have the same number of values and most values are numbers: the semicolon for
    ``0,5;1,5;a``. Of several such delimiters, the one with the most values."""
    found: dict[str, tuple[float, int, int]] = {}
    for delimiter in DELIMITERS:
        rows = _cells(sample, delimiter)
        widths = Counter(map(len, rows))
        width, lines = widths.most_common(1)[0]
        if width > 1 and lines >= 0.9 * widths.total():  # lines that are too short get an error later
            numbers = [is_finite(re.sub(r"(?<=\d)[.,](?=\d)", "", value)) for row in rows for value in row]
            found[delimiter] = (sum(numbers) / len(numbers), width, -DELIMITERS.index(delimiter))
    return max(found, key=lambda each: found[each], default=",")


def _is_header(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first line is a header: it has no number, or text above a column of numbers, or the columns' own
    numbers. Above a column of numbers a name may be empty."""
    names = [each.strip() for each in first]
    text = [not is_finite(each) and each.lstrip("+-").casefold() not in NO_NAMES for each in names]
    if all(words or name == str(column) for column, (words, name) in enumerate(zip(text, names, strict=True))):
        return True
    rows = [row for row in others if len(row) == len(first)]
    numbers = [all(map(is_finite, values)) for values in zip(*rows, strict=True)] or [False] * len(first)
    if any(words and below for words, below in zip(text, numbers, strict=True)):
        return True
    return any(text) and all(
        words or (not name and below) for words, name, below in zip(text, names, numbers, strict=True)
    )


def column_of(path: Path, key: str, column: str | int, names: list[str], width: int) -> int:
    """The number, from 0, of a column that is given by its name or number. ConfigError if there is no such column."""
    if isinstance(column, int):
        if -width <= column < width:
            return column % width
        raise ConfigError(f"{path.name}: {key}: {column}: there are {width} columns, counted from 0")
    if not names:
        raise ConfigError(f"{path.name}: {key}: {column!r}: it has no header, so columns are given by number, from 0")
    if (times := names.count(column)) > 1:
        raise ConfigError(f"{path.name}: {key}: {times} columns are called {column!r}; give its number, from 0")
    if not times:
        raise ConfigError(f"{path.name}: {key}: {unknown('column', column, names)}")
    return names.index(column)


def _has_quotes(path: Path) -> bool:
    with open_content(path, path.name) as stream:
        return any(b'"' in piece for piece in iter(lambda: stream.read(CHUNK), b""))


def written(columns: Sequence[str | int]) -> str:
    """A list of columns in YAML."""
    return " ".join(yamlfile.dump(list(columns)).split())
