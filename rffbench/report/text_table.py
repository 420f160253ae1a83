"""A table of text for a terminal, Markdown, LaTeX and CSV, and how numbers stand in its cells."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field

import pandas as pd

from rffbench.plaintext import in_one_line
from rffbench.report.escape import csv_cell, markdown, markdown_cell, tex
from rffbench.report.frame import Results

NOT_RUN = "–"
_FOOTNOTES = "†‡§¶‖"


@dataclass
class Table:
    """A table of text: each of ``rows`` has a dataset, a size and one cell per method; ``notes`` explain the signs."""

    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_csv(self) -> str:
        """A cell that a spreadsheet would take for a formula is guarded by an apostrophe."""
        text = io.StringIO()
        safe = self._in_lines()
        rows = [[csv_cell(cell) for cell in row] for row in [safe.header, *safe.rows]]
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()

    def to_text(self) -> str:
        """Aligned for a terminal, the dataset's name at its first row only."""
        safe = self._in_lines()
        widths = safe._widths(safe._sparse_rows())
        lines = [safe.title, "", _aligned(safe.header, widths), "  ".join("─" * width for width in widths)]
        for row, sparse in zip(safe.rows, safe._sparse_rows(), strict=True):
            if row is not safe.rows[0] and sparse[0]:
                lines.append("")
            lines.append(_aligned(sparse, widths))
        return "\n".join([*lines, "", *safe.notes]) + "\n"

    def to_markdown(self) -> str:
        """Text stays text: no tag, entity or link of a label counts as one."""
        safe = self._in_lines()
        rows = [[markdown_cell(cell) for cell in row] for row in [safe.header, *safe._sparse_rows()]]
        widths = safe._widths(rows)
        rule = ["-" * width for width in widths]
        lines = [f"| {_aligned(row, widths, ' | ', strip=False)} |" for row in [rows[0], rule, *rows[1:]]]
        notes = [line for note in safe.notes for line in (markdown(note), "")]
        return "\n".join([f"**{markdown(safe.title)}**", "", *lines, "", *notes]).rstrip() + "\n"

    def to_latex(self) -> str:
        r"""A ``table*`` in booktabs' style (the document needs ``\usepackage{booktabs}``)."""
        safe = self._in_lines()
        body = []
        for row, sparse in zip(safe.rows, safe._sparse_rows(), strict=True):
            if row is not safe.rows[0] and sparse[0]:
                body.append(r"\midrule")
            body.append(" & ".join(tex(cell) for cell in sparse) + r" \\")
        return (
            "\n".join(
                [
                    r"\begin{table*}",
                    r"\centering",
                    rf"\caption{{{tex(safe.title)}. {tex(' '.join(safe.notes))}}}",
                    rf"\begin{{tabular}}{{ll{'l' * (len(safe.header) - 2)}}}",
                    r"\toprule",
                    " & ".join(tex(name) for name in safe.header) + r" \\",
                    r"\midrule",
                    *body,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table*}",
                ]
            )
            + "\n"
        )

    def _in_lines(self) -> Table:
        """The same table, every text in one line and without what a terminal would act on."""
        rows = [[in_one_line(cell) for cell in row] for row in self.rows]
        header, notes = ([in_one_line(text) for text in texts] for texts in (self.header, self.notes))
        return Table(in_one_line(self.title), header, rows, notes)

    def _sparse_rows(self) -> list[list[str]]:
        above = ["", *(row[0] for row in self.rows)]
        return [["" if row[0] == last else row[0], *row[1:]] for row, last in zip(self.rows, above, strict=False)]

    def _widths(self, rows: list[list[str]]) -> list[int]:
        return [max(len(row[column]) for row in [self.header, *rows]) for column in range(len(self.header))]


def plus_minus(mean: float, std: float, decimals: int) -> str:
    """``mean±std``; the mean alone if there is no standard deviation (a single trial)."""
    return f"{mean:.{decimals}f}" + ("" if math.isnan(std) else f"±{std:.{decimals}f}")


def failures(trials: pd.DataFrame) -> str:
    """How a cell's trials ended that are not ok: ``3 timeout, 1 killed``."""
    counts = trials["status"].value_counts(sort=False)
    return ", ".join(f"{count} {status}" for status, count in counts.items() if status != "ok")


def significant_digits(value: float, digits: int) -> int:
    """Decimals that show ``digits`` significant digits, fewer from 10 on; for 2: 13.3, 0.45, 0.012."""
    if not value > 0:
        return digits
    return min(max(digits - 1 - math.floor(math.log10(value)), digits if value < 10 else 1), 6)


def marked(dataset: str, results: Results, notes: list[str]) -> str:
    """The dataset's name, with a sign and a note where its card wants one."""
    mark = results.mark(dataset)
    if not mark:
        return dataset
    sign = _FOOTNOTES[len(notes) % len(_FOOTNOTES)]
    notes.append(f"{sign} {dataset}: {mark}")
    return f"{dataset} {sign}"


def _aligned(row: list[str], widths: list[int], gap: str = "  ", strip: bool = True) -> str:
    line = gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return line.rstrip() if strip else line
