"""A table on a page: cells with links, values to sort by, and tones of verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rffbench.report.text_table import NOT_RUN

TONES = {"better": "good", "smaller": "good", "holds": "good", "worse": "bad", "larger": "bad", "does not hold": "bad",
         "not enough evidence": "open", "undecided": "open"}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A cell: its ``text``, the page it leads to (``href``, from the page that it is on), and what it sorts by."""

    text: str
    href: str = ""
    value: float = math.nan

    @property
    def order(self) -> str:
        return "" if math.isnan(self.value) else f"{self.value:.6g}"

    @property
    def tone(self) -> str:
        """The class of a verdict; empty for other texts."""
        return TONES.get(self.text, "")


@dataclass(frozen=True)
class Table:
    """A table with an ``id`` of its own on the page, a title, and notes below it."""

    id: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default_factory=tuple)


def number(value: float | None, form: str = ".3f") -> Cell:
    """A cell with a number; empty ones sort last."""
    if value is None or math.isnan(value):
        return Cell(NOT_RUN)
    return Cell(f"{value:{form}}", value=float(value))


def interval(low: float, high: float) -> Cell:
    return Cell(NOT_RUN) if math.isnan(low) else Cell(f"{low:.2f} to {high:.2f}", value=low)
