"""Decimal marks, and marks between thousands: what a file's cells say of them.

``0,5`` can only be a number with a decimal comma, ``1,234,567`` only one with commas between thousands; ``1,234`` can
be both. One file has one pair of marks, so a cell that can be both is read as those that cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rffbench.data.cells import USUAL, is_finite

COMMA, POINT = ",", "."
OTHER = {COMMA: POINT, POINT: COMMA}
BLANK, APOSTROPHE = " ", "'"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_SEPARATED = {
    mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:[{marks}]\d{{3}})+(?P<rest>[.,]\d+)?")
    for mark, marks in {BLANK: " \u00a0\u202f", APOSTROPHE: "'\u2019"}.items()
}
_FEW = 3  # different whole numbers below 1,000 that show that 1,234 is more than they are


class Cell(NamedTuple):
    """A cell that says something of marks: its column's name, its place in words, its text."""

    column: str
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.text!r} ({self.place})"


@dataclass
class _Evidence:
    decimal: dict[str, Cell] = field(default_factory=dict)  # decimal mark → a cell in which it can be nothing else
    thousands: dict[str, Cell] = field(default_factory=dict)  # mark → a cell in which it stands between thousands
    either: dict[str, Cell] = field(default_factory=dict)  # mark → a cell in which it can be both
    settled: set[str] = field(default_factory=set)  # marks between thousands, by whole numbers beside them


class Marks(NamedTuple):
    """The ``decimal`` mark and the ``thousands`` mark, the cell that shows the first unusual one, and the fault of a
    file in which two readings are possible."""

    decimal: str = POINT
    thousands: str = ""
    shown: Cell | None = None
    fault: str = ""


def is_number(text: str) -> bool:
    """Whether a text is a number with any marks."""
    return is_finite(text) or bool(_kinds(text.strip()))


def marks_of(
    columns: Iterable[tuple[str, Mapping[str, str]]], decimal: str | None = None, thousands: str | None = None
) -> Marks:
    """The marks of a file from its ``columns``: pairs of a name and the different texts with a place of each.
    ``decimal`` and ``thousands`` are marks that are given, and not questioned."""
    found = _Evidence()
    for name, texts in columns:
        words = [text for text in texts if text.strip() and not USUAL.is_missing(text)]
        if words and all(map(is_number, words)):
            _add(found, name, {text: texts[text] for text in words})
    if decimal:
        other = OTHER[decimal]
        if thousands is None:
            separating = (
                mark for mark in (other, BLANK, APOSTROPHE) if mark in found.thousands or mark in found.either
            )
            thousands = next(separating, "")
        return Marks(decimal, thousands, found.decimal.get(COMMA) if decimal == COMMA else None)
    if thousands:
        if thousands in OTHER:
            return Marks(OTHER[thousands], thousands, found.thousands.get(thousands) or found.either.get(thousands))
        decimal = COMMA if COMMA in found.decimal and POINT not in found.decimal else POINT
        return Marks(decimal, thousands, found.thousands.get(thousands))
    return _decided(found)


def _decided(found: _Evidence) -> Marks:
    comma, point = found.decimal.get(COMMA), found.decimal.get(POINT)
    if comma and point:
        return Marks(fault=(
            f"{comma.place}: {comma.text!r} has a decimal comma, and {point} a decimal point: with decimal: ',' the "
            f"column {point.column} has no numbers, and with decimal: '.' the column {comma.column} has none; write "
            "decimals with a point"
        ))  # fmt: skip
    blank = next((mark for mark in (BLANK, APOSTROPHE) if mark in found.thousands), "")
    if blank:
        if both := next((each for mark, each in found.either.items() if mark == COMMA and not comma), None):
            return Marks(fault=_both(both))
        return Marks(COMMA if comma else POINT, blank, found.thousands[blank])
    decimal = COMMA if comma else POINT
    other = OTHER[decimal]
    if other in found.thousands or (other in found.either and other in found.settled):
        return Marks(decimal, other, comma or found.thousands.get(other) or found.either.get(other))
    if other in found.either and (comma or other == COMMA):
        return Marks(fault=_both(found.either[other], comma or point))
    return Marks(decimal, "", comma)


def _both(cell: Cell, settled: Cell | None = None) -> str:
    mark = COMMA if COMMA in cell.text else POINT
    small, large = cell.text.replace(mark, "."), cell.text.replace(mark, "")
    beside = f", beside {settled}," if settled else ""
    return (
        f"{cell.place}: {cell.text!r}{beside} can be read as {small} (decimal: '{mark}') or as {large} (thousands: "
        f"'{mark}'); say which: {{path: …, decimal: '{mark}'}} or {{path: …, thousands: '{mark}'}}"
    )


def _add(found: _Evidence, name: str, texts: Mapping[str, str]) -> None:
    """Add what the cells of a column of numbers say."""
    small = {text.strip().lstrip("+-") for text in texts if re.fullmatch(r"\s*[+-]?[1-9]\d{1,2}\s*", text)}
    fractions = set[str]()  # the decimal marks of the column
    either: dict[str, Cell] = {}
    for text, place in texts.items():
        for kind, mark in _kinds(text.strip()):
            cell = Cell(name, place, text.strip())
            fractions |= {mark} if kind == "decimal" else set()
            (either if kind == "either" else getattr(found, kind)).setdefault(mark, cell)
    for mark, cell in either.items():
        found.either.setdefault(mark, cell)
        if OTHER[mark] in fractions or (len(small) >= _FEW and not fractions):
            found.settled.add(mark)


def _kinds(text: str) -> list[tuple[str, str]]:
    """What a number says: pairs (decimal, thousands or either; mark). Empty for a whole number, and for a word."""
    for mark, pattern in _SEPARATED.items():
        if match := pattern.fullmatch(text):
            rest = match["rest"]
            return [("thousands", mark), *([("decimal", rest[0])] if rest else [])]
    for mark, other in OTHER.items():
        m, o = re.escape(mark), re.escape(other)
        groups = rf"[+-]?\d{{1,3}}((?:{m}\d{{3}})+)({o}\d+{_EXPONENT})?"
        match = re.fullmatch(groups, text)
        if match and (match[2] or text.lstrip("+-")[0] != "0"):
            if len(match[1]) == len(",000") and not match[2]:
                return [("either", mark)]
            return [("thousands", mark), ("decimal", other)]
        if re.fullmatch(rf"[+-]?(?:\d+{m}|\d*{m}\d+){_EXPONENT}", text) and (mark == POINT or text[-1] != COMMA):
            return [("decimal", mark)]
    return []
