"""A table of text for a terminal, Markdown and CSV, and the format of numbers in its cells."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

import pandas as pd

from rffbench.io.text import NOT_RUN as NOT_RUN
from rffbench.io.text import in_one_line
from rffbench.report.escape import csv_cell, markdown, markdown_cell
from rffbench.report.frame import Results

MOST_DECIMALS = 9
WIDTH = 120  # of tables printed from Python
_FOOTNOTES = "†‡§¶‖"
_GAP = "  "  # between the columns of a terminal's table


LEAD: dict[str, Callable[[str, str], str]] = {"dataset": lambda dataset, _: dataset, "s": lambda _, size: size}
"""The columns that name a row of a table of methods; each makes its text from the row's dataset and size."""


def lead(dataset: str, size: str) -> list[str]:
    """The cells that name a row, one per column of ``LEAD``."""
    return [show(dataset, size) for show in LEAD.values()]


@dataclass
class Table:
    """A table of text: each of ``rows`` has a dataset, a size and one cell per method; ``sentence`` is what to take
    away, if anything; ``notes`` explain the signs.

    The first ``stub`` columns name a row. If a table is too wide, every part of it begins with them. ``best`` are the
    cells, by row and column, that are printed in bold if the format has bold. ``baseline`` is the column that others
    are compared with, if any: on a terminal every part has it, if another column fits beside it.
    """

    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stub: int = 2
    best: set[tuple[int, int]] = field(default_factory=set)
    baseline: int | None = None
    sentence: str = ""

    def to_csv(self) -> str:
        """The table as CSV, with an apostrophe before each cell that a spreadsheet would take for a formula."""
        text = io.StringIO()
        safe = self.in_lines()
        rows = [[csv_cell(cell) for cell in row] for row in [safe.header, *safe.rows]]
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()

    def to_text(self, width: int | None = None) -> str:
        """The table aligned for a terminal, with the dataset's name at its first row only.

        If the table is wider than ``width`` columns, headings are broken into lines. If it is still too wide, the first
        column's names become headings above their rows, then the other columns are split into blocks, one below the
        other. Cells that are still too wide are broken into lines.
        """
        safe = self.in_lines()
        limit = math.inf if width is None else width
        notes = [line for note in safe.notes for line in (_wrapped(note, width) if width else [note])]
        said = [text for text in (safe.title, safe.sentence) if text]
        title = [line for text in said for line in (_wrapped(text, width) if width else [text])]
        body = _Grid(safe, wrap_header=False, heading=False)
        if body.width() > limit:
            body = _Grid(safe, wrap_header=True, heading=False)
        if body.width() > limit and self.stub > 1:
            body = _Grid(safe, wrap_header=True, heading=True)
        return "\n".join([*title, "", *body.lines(limit), "", *notes]) + "\n"

    def narrowest(self) -> int:
        """The width of the narrowest terminal that shows all columns side by side."""
        return _Grid(self.in_lines(), wrap_header=True, heading=self.stub > 1).width()

    def to_markdown(self) -> str:
        """The table as Markdown; tags, entities and links in its texts are escaped."""
        safe = self.in_lines()
        rows = [[markdown_cell(cell) for cell in row] for row in [safe.header, *safe.sparse_rows()]]
        for row, column in self.best:
            rows[row + 1][column] = in_bold(rows[row + 1][column], "**{}**")
        widths = safe._widths(rows)
        rule = ["-" * width for width in widths]
        lines = [f"| {_aligned(row, widths, ' | ', strip=False)} |" for row in [rows[0], rule, *rows[1:]]]
        notes = [line for note in safe.notes for line in (markdown(note), "")]
        said = [markdown(safe.sentence), ""] if safe.sentence else []
        return "\n".join([f"**{markdown(safe.title)}**", "", *said, *lines, "", *notes]).rstrip() + "\n"

    def to_json(self) -> str:
        """The table as JSON, for `from_json`."""
        return json.dumps({**asdict(self), "best": sorted(self.best)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Table:
        """The table that `to_json` wrote."""
        found = json.loads(text)
        return cls(**{**found, "best": set(map(tuple, found["best"]))})

    def records(self) -> list[dict[str, str]]:
        """Each row as a dictionary of its cells by the columns' names."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]

    @property
    def frame(self) -> pd.DataFrame:
        """The cells' text as a DataFrame."""
        return pd.DataFrame(self.rows, columns=self.header)

    def to_latex(self, columns: Literal[1, 2] = 2, *, caption: str | None = None, label: str | None = None) -> str:
        """For booktabs and graphicx, across one or both ``columns`` of an article."""
        from rffbench.report import set_table

        return set_table(self, "tex", columns, caption, label)

    def __str__(self) -> str:
        return self.to_text(WIDTH)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.header)
        rows = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self.sparse_rows()]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            f"<table><caption>{html.escape(self.title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{notes}"
        )

    def in_lines(self) -> Table:
        """The same table with every text in one line and without control characters."""
        rows = [[in_one_line(cell) for cell in row] for row in self.rows]
        header, notes = ([in_one_line(text) for text in texts] for texts in (self.header, self.notes))
        title, sentence = in_one_line(self.title), in_one_line(self.sentence)
        return replace(self, title=title, sentence=sentence, header=header, rows=rows, notes=notes)

    def sparse_rows(self) -> list[list[str]]:
        """The rows, with a name in the first column only if it differs from the row above."""
        above = ["", *(row[0] for row in self.rows)]
        return [["" if row[0] == last else row[0], *row[1:]] for row, last in zip(self.rows, above, strict=False)]

    def _widths(self, rows: list[list[str]]) -> list[int]:
        return [max(len(row[column]) for row in [self.header, *rows]) for column in range(len(self.header))]


class _Grid:
    """A table as a terminal shows it, with its first column, or with that column's names as headings above the rows."""

    def __init__(self, table: Table, wrap_header: bool, heading: bool) -> None:
        first = 1 if heading else 0
        self._stub = table.stub - first
        self._baseline = None if table.baseline is None else table.baseline - first
        self._groups = [row[0] for row in table.sparse_rows()]
        self._heading = heading
        self._apart = heading or "" in self._groups  # a blank line between groups, where one has several rows
        self._rows = [row[first:] for row in table.sparse_rows()]
        self._header = table.header[first:]
        cells = [max((len(row[column]) for row in self._rows), default=0) for column in range(len(self._header))]
        if wrap_header:
            longest = [max(map(len, name.split()), default=0) for name in self._header]
            self._widths = [max(pair) for pair in zip(cells, longest, strict=True)]
        else:
            self._widths = [max(width, len(name)) for width, name in zip(cells, self._header, strict=True)]

    def width(self) -> int:
        """The width of all columns side by side."""
        return sum(self._widths) + len(_GAP) * (len(self._widths) - 1)

    def lines(self, limit: float) -> list[str]:
        parts = side_by_side(self._widths, self._stub, limit, len(_GAP), self._baseline)
        return [line for part in parts for line in ([""] if part is not parts[0] else []) + self._part(part, limit)]

    def _part(self, columns: list[int], limit: float) -> list[str]:
        widths = [self._widths[column] for column in columns]
        taken = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
        if taken + widths[-1] > limit:  # not even one column fits
            widths[-1] = max(int(limit) - taken, len(NOT_RUN) * 8)
        lines = [*self._line(self._header, columns, widths), _GAP.join("─" * width for width in widths)]
        for number, (group, row) in enumerate(zip(self._groups, self._rows, strict=True)):
            if number and group and self._apart:
                lines.append("")
            if group and self._heading:
                lines += _wrapped(group, None if limit == math.inf else int(limit))
            lines += self._line(row, columns, widths)
        return lines

    @staticmethod
    def _line(row: list[str], columns: list[int], widths: list[int]) -> list[str]:
        """The lines of a row: several if a cell is too wide."""
        cells = [_wrapped(row[column], width) for column, width in zip(columns, widths, strict=True)]
        height = max(map(len, cells))
        return [_aligned([*(cell[n] if n < len(cell) else "" for cell in cells)], widths) for n in range(height)]


def side_by_side(
    widths: Sequence[float], stub: int, limit: float, gap: float, baseline: int | None = None
) -> list[list[int]]:
    """The columns of each block of a table, blocks being at most ``limit`` wide if possible. Each has the first
    ``stub`` columns and at least one other; the others are shared out evenly. The ``baseline`` is in each block too,
    before the others, if every other column fits beside it."""
    if baseline is not None and sum(widths) + gap * (len(widths) - 1) > limit:
        order = [*range(stub), baseline, *(each for each in range(stub, len(widths)) if each != baseline)]
        blocks = side_by_side([widths[each] for each in order], stub + 1, limit, gap)
        if all(sum(widths[order[each]] for each in block) + gap * (len(block) - 1) <= limit for block in blocks):
            return [[order[each] for each in block] for block in blocks]
    others = list(range(stub, len(widths)))
    for count in range(1, len(others) + 1):
        a_block = -(-len(others) // count)
        blocks = [[*range(stub), *others[first : first + a_block]] for first in range(0, len(others), a_block)]
        if all(sum(widths[each] for each in block) + gap * (len(block) - 1) <= limit for block in blocks):
            return blocks
    return [[*range(stub), other] for other in others] or [list(range(stub))]


def in_bold(cell: str, bold: str) -> str:
    """The cell with its number, up to the first space, in bold: ``bold`` is the markup, with ``{}`` for the number."""
    number, space, rest = cell.partition(" ")
    return bold.replace("{}", number) + space + rest


def plus_minus(mean: float, std: float, decimals: int) -> str:
    """``mean±std``; the mean alone if there is no standard deviation (a single trial)."""
    return f"{mean:.{decimals}f}" + ("" if math.isnan(std) else f"±{std:.{decimals}f}")


def failures(trials: pd.DataFrame) -> str:
    """The statuses of a cell's trials that are not ok: ``3 timeout, 1 killed``."""
    counts = trials["status"].value_counts(sort=False)
    return ", ".join(f"{count} {status}" for status, count in counts.items() if status != "ok")


def significant_digits(value: float, digits: int) -> int:
    """The decimals that show ``digits`` significant digits, fewer from 10 on; for 2: 13.3, 0.45, 0.012."""
    if not value > 0:
        return digits
    return min(max(digits - 1 - math.floor(math.log10(value)), digits if value < 10 else 1), MOST_DECIMALS)


def marked(dataset: str, results: Results, notes: list[str], written: bool) -> str:
    """The dataset's name in a table, as people write it if ``written``; with a sign if its card has a warning, which is
    added to ``notes``."""
    called, mark = results.called(dataset) if written else dataset, results.mark(dataset)
    if not mark:
        return called
    sign = _FOOTNOTES[len(notes) % len(_FOOTNOTES)]
    notes.append(f"{sign} {called}: {mark}")
    return f"{called} {sign}"


def _wrapped(text: str, width: int | None) -> list[str]:
    """The text in lines of at most ``width`` characters, broken at spaces if possible."""
    if width is None or len(text) <= width:
        return [text]
    return textwrap.wrap(re.sub(r"\s+", " ", text), width, break_on_hyphens=False) or [""]


def _aligned(row: list[str], widths: list[int], gap: str = _GAP, strip: bool = True) -> str:
    line = gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return line.rstrip() if strip else line
