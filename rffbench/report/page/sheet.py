"""A table as the page shows it: cells with what they sort by and what is shown on hover, rows that can be linked to."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from rffbench.report.text_table import Table
from rffbench.text import printable

FEW_WORDS = 32  # letters that stand in one line
EMPTY = ("", "–")  # a cell that says nothing
_NUMBER = re.compile(r"~?([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?!\S)")
MOST_CHOICES = 40  # a column with more values than these is filtered by text alone


@dataclass(frozen=True)
class Cell:
    """What a cell says; ``value`` is what it sorts by, where that is a number; ``hint`` is shown on hover and focus;
    ``tone`` is good, bad or open, of a verdict."""

    text: str
    value: float = math.nan
    hint: str = ""
    tone: str = ""

    @property
    def key(self) -> str:
        """The number to sort by, as text; empty if there is none."""
        return "" if math.isnan(self.value) else f"{self.value:.6g}"

    @property
    def classes(self) -> str:
        """What its look depends on: the tone, and whether it is more than a few words."""
        return " ".join(each for each in (self.tone, "long" if len(self.text) > FEW_WORDS else "") if each)


@dataclass(frozen=True)
class Line:
    """A row of cells; ``anchor`` is what a link to it names, empty if nothing shall; its first cell links to
    ``link``, or to the row itself."""

    cells: Sequence[Cell]
    anchor: str = ""
    link: str = ""


@dataclass
class Sheet:
    """A table with a ``title``; ``chosen_by`` names the columns whose values can be chosen from, ``notes`` explain.

    The first ``stub`` columns say what a row is of, and stay in view beside the others on a narrow screen; 4 at most.
    ``protocols`` are the lines of each protocol of a sweep, by its label, where the reader chooses one; ``lines`` has
    the first's.
    """

    title: str
    columns: Sequence[str]
    lines: list[Line] = field(default_factory=list)
    chosen_by: Sequence[str] = ()
    notes: Sequence[str] = ()
    stub: int = 1
    protocols: Mapping[str, Sequence[Line]] = field(default_factory=dict)

    def others(self) -> list[Any]:
        """Of every protocol to choose from its lines, for the page's script to make rows of: the name for links, and of
        each cell the text, what it sorts by, the hint and the classes. None of the first, which the page has."""
        return [
            [_told(line) for line in lines] if place else None for place, lines in enumerate(self.protocols.values())
        ]

    def choices(self) -> dict[int, list[str]]:
        """Of each column to choose by, its number and its values; only of those where there is a choice."""
        found = {}
        for number, name in enumerate(self.columns):
            if name in self.chosen_by:
                every = itertools.chain(self.lines, *self.protocols.values())
                values = [text for text in dict.fromkeys(line.cells[number].text for line in every) if text]
                if 1 < len(values) <= MOST_CHOICES:
                    found[number] = values
        return found


def _told(line: Line) -> list[Any]:
    return [line.anchor, [[printable(each.text), each.key, printable(each.hint), each.classes] for each in line.cells]]


def sheet_of(
    table: Table, title: str = "", chosen_by: Sequence[str] = (), tones: Mapping[str, str] | None = None
) -> Sheet:
    """A table of text as a sheet; ``tones`` by what a cell says. A column of numbers sorts by these."""
    columns = [_numbers(texts) for texts in zip(*table.rows, strict=True)]
    values = zip(*columns, strict=True)
    lines = [
        Line([Cell(text, value, tone=(tones or {}).get(text, "")) for text, value in zip(row, numbers, strict=True)])
        for row, numbers in zip(table.rows, values, strict=True)
    ]
    return Sheet(title or table.title, table.header, lines, chosen_by, table.notes, table.stub)


def _numbers(texts: Sequence[str]) -> list[float]:
    """The number that each text begins with; none of any where one begins with something else, and is not empty."""
    found = [_NUMBER.match(text) for text in texts]
    if not all(number or text in EMPTY for number, text in zip(found, texts, strict=True)):
        return [math.nan] * len(texts)
    return [float(number[1]) if number else math.nan for number in found]


def anchor(*parts: str) -> str:
    """Parts as one name that a link may have behind its #: ``results:table3:eeg:16d:RFF``; each as in a URL."""
    return ":".join(quote(part.encode(errors="backslashreplace"), safe="") for part in parts if part)
