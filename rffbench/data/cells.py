"""The cells of a table of text: numbers, words and missing values, column by column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}  # other programs' texts for a missing value
BOOLEANS = {"false": 0.0, "true": 1.0}
MOST_CLASSES = 20  # whole numbers with more different values are taken for a regression's target
MOST_CATEGORIES = 1000  # different words of a column; `onehot` makes a column of each


def number(text: str) -> float | None:
    """The number in a cell, read by ``float``; True and False are 1 and 0. NaN for a missing value, None for a word."""
    try:
        value = float(text)
    except ValueError:
        bare = text.strip().casefold()
        return math.nan if bare in MISSING else BOOLEANS.get(bare)
    return None if "_" in text else value


def is_finite(text: str) -> bool:
    """Whether a cell holds a finite number."""
    value = number(text)
    return value is not None and math.isfinite(value)


# ---- Labels ------------------------------------------------------------------------------------------------


def label_text(value: float) -> str:
    """A number as a label: the shortest text for it, such as ``1`` for 1.0."""
    short = f"{value + 0.0:g}"
    return short if float(short) == value else repr(float(value)).removesuffix(".0")


def identity(labels: Iterable[str]) -> Callable[[str], Hashable]:
    """A key that is equal for spellings of the same label. If all labels are numbers, they are compared by value, so
    that ``1``, ``1.0``, ``01`` and ``1e0`` are one label; otherwise by text."""
    return _exact if all(map(is_finite, labels)) else str.strip


def _exact(text: str) -> Hashable:
    if not is_finite(text):
        return text.strip()
    boolean = BOOLEANS.get(text.strip().casefold())
    return Decimal(text.strip()) if boolean is None else Decimal(int(boolean))


def merged(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts of labels, with spellings of the same number added up. A number with a single spelling keeps it."""
    same = identity(counts)
    spellings: dict[Hashable, list[str]] = {}
    for label in counts:
        spellings.setdefault(same(label), []).append(label)
    found = {}
    for key, labels in spellings.items():
        name = labels[0] if len(labels) == 1 else label_text(number(labels[0]) or 0.0)
        found[name if same(name) == key else str(key)] = sum(counts[label] for label in labels)
    return found


def few_whole(y: np.ndarray) -> bool:
    """Whether numbers look like labels: two values, or not many and all whole."""
    values = np.unique(y)
    return len(values) <= 2 or (len(values) <= MOST_CLASSES and bool((values == np.round(values)).all()))


# ---- Columns of inputs -------------------------------------------------------------------------------------


@dataclass
class Findings:
    """The contents of the inputs besides numbers. A file with ``faults`` cannot be used. ``missing`` (column → count)
    and ``categories`` (column → words) need steps of ``preprocess``; ``advice`` says which, and where."""

    faults: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    missing: dict[int, int] = field(default_factory=dict)
    categories: dict[int, list[str]] = field(default_factory=dict)
    targets_missing: int = 0


@dataclass(frozen=True)
class Content:
    """The content of a file. ``target`` (n,) has floats or texts."""

    format: dict[str, Any]
    columns: int
    target: np.ndarray
    target_name: str
    names: list[str]  # of the inputs, if the file has names
    inputs: Findings


class Inputs:
    """Collects what is found in the columns of inputs while they are read. Columns of ``declared`` are words, even if
    they look like numbers."""

    def __init__(self, width: int, declared: Sequence[int] = ()) -> None:
        self.rows = 0
        self.missing: np.ndarray = np.zeros(width, dtype=int)
        self.words: dict[int, Counter[str]] = {column: Counter() for column in declared}
        self.declared = tuple(declared)
        self.first_word: dict[int, tuple[int, str]] = {}
        self.first_missing: list[tuple[int, int, str]] = []  # place, column, text
        self.first_infinite: dict[int, tuple[int, str]] = {}

    def add(self, places: Sequence[int], rows: Sequence[Sequence[str]]) -> np.ndarray:
        """Add rows of cells, which are at ``places``; return their numbers, NaN for cells without one."""
        values = np.full((len(rows), len(self.missing)), np.nan)
        for i, cells in enumerate(rows):
            try:
                values[i] = [*map(float, cells)]
            except ValueError:
                continue
            if "_" in "".join(cells):  # float reads 1_000, which other programs do not
                values[i] = np.nan
        whole = np.isfinite(values).all(axis=1) & (not self.declared)
        doubtful = np.flatnonzero(~whole)
        for i in map(int, doubtful):
            for column, text in enumerate(rows[i]):
                values[i, column] = self.add_cell(column, places[i], text)
        self.rows += len(rows)
        return values

    def add_cell(self, column: int, place: int, text: str) -> float:
        """Add one cell; return its number, NaN if it has none."""
        value = number(text)
        if value is None or (column in self.declared and not math.isnan(value)):
            self.words.setdefault(column, Counter())[text.strip()] += 1
            self.first_word.setdefault(column, (place, text.strip()))
            return math.nan
        if math.isnan(value):
            self.add_missing(column, place, text.strip())
        elif math.isinf(value):
            self.first_infinite.setdefault(column, (place, text.strip()))
        return value

    def add_numbers(self, X: np.ndarray) -> None:
        """Add rows of numbers; places are row numbers, counted from 1."""
        if not np.isfinite(X).all():
            for row, column in np.argwhere(np.isinf(X))[:1]:
                self.first_infinite.setdefault(int(column), (self.rows + int(row) + 1, str(X[row, column])))
            for column in np.flatnonzero(np.isnan(X).any(axis=0)):
                none = np.isnan(X[:, column])
                self.add_missing(int(column), self.rows + int(none.argmax()) + 1, "nan", int(none.sum()))
        self.rows += len(X)

    def add_column(self, column: int, values: np.ndarray) -> None:
        """Add a whole column of numbers or texts; places are row numbers, counted from 1."""
        if values.dtype == object:
            for row, text in enumerate(values, 1):
                self.add_cell(column, row, text)
            return
        for row in np.flatnonzero(np.isinf(values))[:1]:
            self.first_infinite.setdefault(column, (int(row) + 1, str(values[row])))
        if (none := np.isnan(values)).any():
            self.add_missing(column, int(none.argmax()) + 1, "nan", int(none.sum()))

    def add_missing(self, column: int, place: int, text: str, count: int = 1) -> None:
        self.missing[column] += int(count)
        self.first_missing = [min([*self.first_missing, (place, column, text)])]

    def findings(self, place: Callable[[int, int], str], leave_out: Callable[[list[int]], str]) -> Findings:
        """The findings, with messages. ``place(place, column)`` is a cell's place in words, ``leave_out(columns)`` the
        config that ignores columns."""
        found = Findings()
        wrong = dict(self.first_infinite)
        for column, words in sorted(self.words.items()):
            numbers = self.rows - int(self.missing[column]) - words.total()
            if not words:
                continue
            line, first = self.first_word[column]
            if (numbers and column not in self.declared) or looks_like_a_number(first):
                wrong[column] = min(wrong.get(column, (line, first)), (line, first))
            elif len(words) > MOST_CATEGORIES or len(words) == words.total() > 20:
                many = "another text in every row" if len(words) == words.total() else f"{len(words):,} texts"
                found.faults.append(
                    f"{place(line, column)}: {first!r} is not a number, and the column holds {many}; leave it out: "
                    f"{leave_out([column])}"
                )
            else:
                found.categories[column] = sorted(merged(words), key=label_order)
        if wrong:
            column, (line, text) = min(wrong.items(), key=lambda each: (each[1][0], each[0]))
            mended = _mended(text, wrong, leave_out)
            found.faults.insert(0, f"{place(line, column)}: {text!r} is not a finite number{mended}")
        if empty := [column for column in range(len(self.missing)) if self.rows and self.missing[column] == self.rows]:
            found.faults.append(
                f"{place(self.first_missing[0][0], empty[0])}: the column has no value at all; leave it out: "
                f"{leave_out(empty)}"
            )
        found.missing = {int(column): int(self.missing[column]) for column in np.flatnonzero(self.missing)}
        if found.missing:
            line, column, text = self.first_missing[0]
            more = f" here and in {self.missing.sum() - 1} more" if self.missing.sum() > 1 else ""
            fill = "impute-most-frequent" if found.missing.keys() & found.categories.keys() else "impute-median"
            found.advice.append(
                f"{place(line, column)}: the value is missing ({text!r}){more}; fill it, remove such rows, or begin "
                f"preprocess with {fill}"
            )
        if found.categories:
            column = min(found.categories, key=lambda each: (self.first_word[each][0], each))
            line, text = self.first_word[column]
            others = len(found.categories) - 1
            more = f", and {_columns(others)} more hold{'s' if others == 1 else ''} text" if others else ""
            leave = f"leave {'them' if others else 'it'} out: {leave_out(sorted(found.categories))}"
            found.advice.append(
                f"{place(line, column)}: {text!r} is not a number{more}; put onehot into preprocess, which makes a "
                f"column of every word, or {leave}"
            )
        return found


def looks_like_a_number(text: str) -> bool:
    """Whether a word is a number with a comma, as other programs write it."""
    return "," in text and number(text.replace(",", "").replace(".", "")) is not None


def label_order(label: str) -> tuple[bool, float, str]:
    """A sort key: numbers by value, before words."""
    return (False, number(label) or 0.0, label) if is_finite(label) else (True, 0.0, label)


def _mended(value: str, columns: Iterable[int], leave_out: Callable[[list[int]], str]) -> str:
    """The end of a message on a value that is not a number: how to mend it. ``columns`` are all columns with such."""
    if looks_like_a_number(value):
        return "; write decimals with a point, and nothing between thousands"
    if (others := len(list(columns)) - 1) > 0:
        out = leave_out(sorted(columns))
        return f", nor are values of {_columns(others)} more; make them numbers, or leave the columns out: {out}"
    return f"; make it a number, or leave the column out: {leave_out(list(columns))}"


def _columns(count: int) -> str:
    return "one column" if count == 1 else f"{count} columns"
