"""A table on the page: its cells have values for sorting and hints on hover; its rows can be linked to."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from rffbench.io.text import printable
from rffbench.report.text_table import Table

FEW_WORDS = 32  # longer texts are wrapped
EMPTY = ("", "–")  # empty cells
_NUMBER = re.compile(r"~?([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?!\S)")
MOST_CHOICES = 40  # a column with more values is filtered by text only


@dataclass(frozen=True)
class Cell:
    """A cell. ``value`` is the number by which it is sorted, if it has one. ``hint`` is shown on hover and focus.
    ``tone`` is good, bad or open, for a verdict."""

    text: str
    value: float = math.nan
    hint: str = ""
    tone: str = ""

    @property
    def key(self) -> str:
        """The value to sort by as text; empty without one."""
        return "" if math.isnan(self.value) else f"{self.value:.6g}"

    @property
    def classes(self) -> str:
        """The CSS classes: the tone, and ``long`` for more than a few words."""
        return " ".join(each for each in (self.tone, "long" if len(self.text) > FEW_WORDS else "") if each)


@dataclass(frozen=True)
class Line:
    """A row of cells. Links to it use ``anchor`` (empty: no links). Its first cell links to ``link``, else to the row
    itself."""

    cells: Sequence[Cell]
    anchor: str = ""
    link: str = ""


@dataclass
class Sheet:
    """A table with a ``title`` and ``notes``. ``chosen_by`` names the columns that have a filter.

    The first ``stub`` columns (at most 4) name a row, and stay in view on a narrow screen. If the reader can choose a
    protocol of a sweep, ``protocols`` has the lines of each by its label, and ``lines`` those of the first.
    """

    title: str
    columns: Sequence[str]
    lines: list[Line] = field(default_factory=list)
    chosen_by: Sequence[str] = ()
    notes: Sequence[str] = ()
    stub: int = 1
    protocols: Mapping[str, Sequence[Line]] = field(default_factory=dict)

    def others(self) -> list[Any]:
        """The lines of every protocol, from which the page's script makes rows: the anchor, and for each cell the text,
        the value to sort by, the hint and the classes. None for the first protocol, whose lines are in the page."""
        return [
            [_data(line) for line in lines] if place else None for place, lines in enumerate(self.protocols.values())
        ]

    def choices(self) -> dict[int, list[str]]:
        """The values of each column with a filter, by the column's number; only columns with several values."""
        found = {}
        for number, name in enumerate(self.columns):
            if name in self.chosen_by:
                every = itertools.chain(self.lines, *self.protocols.values())
                values = [text for text in dict.fromkeys(line.cells[number].text for line in every) if text]
                if 1 < len(values) <= MOST_CHOICES:
                    found[number] = values
        return found


def _data(line: Line) -> list[Any]:
    return [line.anchor, [[printable(each.text), each.key, printable(each.hint), each.classes] for each in line.cells]]


def sheet_of(
    table: Table, title: str = "", chosen_by: Sequence[str] = (), tones: Mapping[str, str] | None = None
) -> Sheet:
    """A table of text as a sheet; ``tones`` has the tone by a cell's text. Columns of numbers are sorted as numbers."""
    columns = [_numbers(texts) for texts in zip(*table.rows, strict=True)]
    values = zip(*columns, strict=True)
    lines = [
        Line([Cell(text, value, tone=(tones or {}).get(text, "")) for text, value in zip(row, numbers, strict=True)])
        for row, numbers in zip(table.rows, values, strict=True)
    ]
    return Sheet(title or table.title, table.header, lines, chosen_by, table.notes, table.stub)


def _numbers(texts: Sequence[str]) -> list[float]:
    """The number at the start of each text (NaN if it is empty); all NaN if any text does not start with a number."""
    found = [_NUMBER.match(text) for text in texts]
    if not all(number or text in EMPTY for number, text in zip(found, texts, strict=True)):
        return [math.nan] * len(texts)
    return [float(number[1]) if number else math.nan for number in found]


def anchor(*parts: str) -> str:
    """An anchor for links made of ``parts``, each escaped as in a URL: ``results:table3:eeg:16d:RFF``."""
    return ":".join(quote(part.encode(errors="backslashreplace"), safe="") for part in parts if part)
