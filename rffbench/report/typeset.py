"""A table in LaTeX and Typst that fits into one or two columns of an article."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from rffbench.report.escape import tex, typst
from rffbench.report.text_table import Table, in_bold, side_by_side

_WIDTHS = {1: 229.0, 2: 469.0}  # points of a column and of both, in the standard classes' two columns at 10 pt
_SIZE, _SMALLEST = 8.0, 6.5  # points of the letters, and the least that they shrink to before a table is split
_LETTER = 0.5  # a letter's width over its size, about
_GAP = 12.0  # points between columns
_NAMES = 16  # letters of the longest name that gets a column; if any is longer, names are headings above their rows
_LINES = 43.0  # lines of a page without the caption, with room for the larger letters of a 12 pt class
_SPACE, _RULES = 0.5, 1.5  # the heights, in lines, of the space between two names and of the headings with rules
_WAITING = 16  # floats that may wait for a page: older versions of LaTeX give up at 18
_WORD = 24  # letters from which on a word may be hyphenated

_Cell = tuple[str, bool]  # a text, and whether it is bold


@dataclass
class _Block:
    """Some of a table's columns: their headings, and lines. A line is a row's cells, a heading, or None for space."""

    header: list[str]
    lines: list[list[_Cell] | str | None] = field(default_factory=list)


def to_latex(table: Table, columns: int = 2, caption: str | None = None, label: str | None = None) -> str:
    r"""A ``table`` (one column) or ``table*`` (both) in booktabs' style; it needs ``booktabs`` and ``graphicx``.

    A table that is too wide is split into blocks of methods, one below the other; what is still too wide is scaled down
    to the line's width. A table that is too long becomes several. The default caption is the title.
    """
    safe = table.in_lines()
    floats = list(_floats(safe, columns))
    kind = "table*" if columns == 2 else "table"
    text = [r"% needs \usepackage{booktabs,graphicx}"]
    for number, blocks in enumerate(floats):
        said = _breakable(tex(safe.title if caption is None else caption)) + (" (continued)" if number else "")
        width = max(len(block.header) for block in blocks)
        text += [
            rf"\begin{{{kind}}}[tp]",
            r"\centering",
            rf"\caption{{{said}}}",
            *([rf"\label{{{label}}}"] if label and not number else []),
            r"\footnotesize",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{'l' * width}}}",
            r"\toprule",
        ]
        for index, block in enumerate(blocks):
            header = [(name, False) for name in block.header]
            text += [*([r"\midrule"] if index else []), _tex_line(header, width), r"\midrule"]
            text += [_tex_line(line, width) for line in block.lines]
        text += [r"\bottomrule", r"\end{tabular}}"]
        if safe.notes and number == len(floats) - 1:
            notes = _breakable(tex(" ".join(safe.notes)))
            text += [r"\par\smallskip", rf"\parbox{{\linewidth}}{{\raggedright {notes}}}"]
        text += [rf"\end{{{kind}}}", *([r"\clearpage"] if number % _WAITING == _WAITING - 1 else [])]
    return "\n".join(text) + "\n"


def to_typst(table: Table, columns: int = 2, caption: str | None = None, label: str | None = None) -> str:
    """Figures with a ``table``, split as in `to_latex`; cells that are still too wide are broken into lines."""
    safe = table.in_lines()
    floats = list(_floats(safe, columns))
    text = []
    for number, blocks in enumerate(floats):
        said = (safe.title if caption is None else caption) + (" (continued)" if number else "")
        width = max(len(block.header) for block in blocks)
        text += [
            "#figure(",
            f"  caption: {typst(said)},",
            "  kind: table,",
            "  placement: auto,",
            *(['  scope: "parent",'] if columns == 2 else []),
            f"  text(size: {_SIZE:g}pt, stack(",
            "    spacing: 6pt,",
            f"    table(columns: {width}, align: left, stroke: none, inset: (x: 4pt, y: 2pt),",
        ]
        for block in blocks:
            header = [(name, False) for name in block.header]
            text += ["      table.hline(),", _typst_line(header, width), "      table.hline(stroke: 0.5pt),"]
            text += [_typst_line(line, width) for line in block.lines if line is not None]
        text += ["      table.hline(),", "    ),"]
        if safe.notes and number == len(floats) - 1:
            text.append(f"    align(left, {typst(' '.join(safe.notes))}),")
        text += ["  )),", f") <{label}>" if label and not number else ")"]
    return "\n".join(text) + "\n"


def _floats(table: Table, columns: int) -> Iterator[list[_Block]]:
    """The blocks of each float. Together the floats have every row and every method."""
    apart = table.stub > 1 and max((len(row[0]) for row in table.rows), default=0) > _NAMES
    first = 1 if apart else 0
    widths = [max(map(len, cells)) * _LETTER * _SIZE for cells in zip(table.header, *table.rows, strict=True)]
    room = _WIDTHS[columns] * _SIZE / _SMALLEST
    parts = side_by_side(widths[first:], table.stub - first, room, _GAP)
    notes = sum(map(len, table.notes)) * _LETTER * _SIZE / _WIDTHS[columns]
    spaced = apart or any(row[0] == above[0] for above, row in pairwise(table.rows))
    most, a_name = max(_LINES - notes, _LINES / 2), 1 + _SPACE * spaced + apart
    a_page = max(int(most / (_RULES + a_name)), 1)  # blocks of a row each
    for start in range(0, len(parts), a_page):
        here = parts[start : start + a_page]
        for rows in _pages(table.rows, most / len(here), a_name):
            yield [_block(table, [first + column for column in part], rows, apart, spaced) for part in here]


def _pages(rows: list[list[str]], most: float, new_name: float) -> Iterator[range]:
    """The rows of each page of at most ``most`` lines; a row with another name than the row above takes ``new_name``
    lines, other rows one."""
    start, taken = 0, _RULES
    for end, row in enumerate(rows):
        lines = new_name if end == start or row[0] != rows[end - 1][0] else 1.0
        if end > start and taken + lines > most:
            yield range(start, end)
            start, taken = end, _RULES
            lines = new_name
        taken += lines
    yield range(start, len(rows))


def _block(table: Table, columns: list[int], rows: range, apart: bool, spaced: bool) -> _Block:
    block = _Block([table.header[column] for column in columns])
    above = None
    for row in rows:
        name = table.rows[row][0]
        if name != above:
            block.lines += [*([None] if block.lines and spaced else []), *([name] if apart else [])]
        shown = ["" if column == 0 and name == above else table.rows[row][column] for column in columns]
        block.lines.append([(cell, (row, column) in table.best) for cell, column in zip(shown, columns, strict=True)])
        above = name
    return block


def _tex_line(line: list[_Cell] | str | None, width: int) -> str:
    if line is None:
        return r"\addlinespace"
    if isinstance(line, str):
        return rf"\multicolumn{{{width}}}{{l}}{{\emph{{{tex(line)}}}}} \\"
    cells = [in_bold(tex(cell), r"\textbf{{}}") if bold else tex(cell) for cell, bold in line]
    # Braces keep a cell that begins with a bracket or a star from being taken for an option of the line before it.
    return " & ".join(f"{{{cell}}}" if cell[:1] in ("[", "*") else cell for cell in cells) + r" \\"


def _typst_line(line: list[_Cell] | str, width: int) -> str:
    if isinstance(line, str):
        return f"      table.cell(colspan: {width}, emph({typst(line)})),"
    cells = [f"strong({typst(cell)})" if bold else typst(cell) for cell, bold in line]
    return "      " + " ".join(f"{cell}," for cell in [*cells, *['""'] * (width - len(cells))])


def _breakable(text: str) -> str:
    """The LaTeX text with a possible hyphen between any two letters of words of ``_WORD`` letters and more."""
    return re.sub(rf"[A-Za-z0-9]{{{_WORD},}}", lambda word: r"\-".join(word[0]), text)
