"""Excel workbooks (.xlsx), read by openpyxl, as pandas does."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from rffbench.data.delimited import Rows, blocks
from rffbench.data.dialect import SAMPLE_LINES, header_of
from rffbench.data.sheet import Block, Options, Sheet
from rffbench.data.unpack import open_content
from rffbench.errors import ConfigError, DataError, unknown


@contextmanager
def _book(stream: BinaryIO) -> Iterator[Any]:
    try:
        import openpyxl
    except ImportError:
        missing = "is read by openpyxl, which is missing: pip install 'rffbench[excel]'; or save it as CSV"
        raise ConfigError(f"a workbook {missing}") from None
    with warnings.catch_warnings(action="ignore"):  # of styles and extensions that it passes over
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        try:
            yield book
        finally:
            book.close()


def xlsx_rows(stream: BinaryIO, sheet: str | None, skip: int | None = None) -> Rows:
    """(row, cells) of every row that has a value, counted as in Excel, without the empty cells at its end."""
    with _book(stream) as book:
        page = _page(book, sheet)
        page.reset_dimensions()  # what the file says of its size is often wrong
        for number, cells in enumerate(page.iter_rows(values_only=True), 1):
            if number <= (skip or 0):
                continue
            texts = [_text(cell) for cell in cells]
            if any(texts):
                while not texts[-1]:
                    texts.pop()
                yield number, texts


def _page(book: Any, sheet: str | None) -> Any:
    names = [each.title for each in book.worksheets]
    if not names:
        raise ValueError("it has no sheet with cells")
    if sheet is None:
        return book.worksheets[0]
    if sheet not in names:
        raise ConfigError(f"sheet: {unknown('sheet', sheet, names)}")
    return book.worksheets[names.index(sheet)]


def _text(cell: Any) -> str:
    """A cell as text: a number in full, a date as ISO 8601 has it, an absent value as the empty text."""
    if cell is None or cell in ("#N/A", "#N/A N/A"):
        return ""
    if isinstance(cell, datetime.datetime):
        midnight = (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0)
        return cell.date().isoformat() if midnight else cell.replace(microsecond=0).isoformat(" ")
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, float):
        return repr(cell).removesuffix(".0")
    return str(cell)


def padded(rows: Rows, width: int) -> Rows:
    """Rows with as many cells: empty cells at the end are left out of a workbook."""
    for number, cells in rows:
        yield number, cells + [""] * (width - len(cells))


def xlsx_sheet(path: Path, options: Options) -> Sheet:
    """The columns of the first sheet of the workbook at ``path``, or of ``options.sheet``."""
    with open_content(path, path.name) as stream, _book(stream) as book:
        names_of_sheets = [each.title for each in book.worksheets]
    with open_content(path, path.name) as stream:
        sample = list(islice(xlsx_rows(stream, options.sheet, options.skip), SAMPLE_LINES))
    if not sample:
        raise DataError(f"{path.name}: is empty; it must have one row per row of the table")
    width = max(len(cells) for _, cells in sample)
    skip = options.skip or 0
    while len(sample) > 1 and options.skip is None and width > 2 and sum(map(bool, sample[0][1])) == 1:
        skip, sample = sample[0][0], sample[1:]  # a title above the table
    table = [cells + [""] * (width - len(cells)) for _, cells in sample]
    header, why = (options.header, "") if options.header is not None else header_of(path.name, table[0], table[1:])
    notes = [("header", why)] * bool(why)
    if skip and options.skip is None:
        notes.append(("skipped", f"rows 1 to {skip}: a title"))
    if len(names_of_sheets) > 1 and options.sheet is None:
        notes.append(("sheet", f"{names_of_sheets[0]!r}, the first of {', '.join(names_of_sheets)}"))
    layout: dict[str, Any] = {"kind": "xlsx", "header": header}
    layout |= {key: each for key, each in {"sheet": options.sheet, "skip": skip or None}.items() if each}
    names = [each.strip() for each in table[0]] if header else []

    def wrong(row: int, cells: list[str]) -> DataError:
        return DataError(f"{path.name}: row {row} has {len(cells)} values, the rows above it {width}")

    def rows(size: int | None = None) -> Iterator[Block]:
        with open_content(path, path.name) as stream:
            read = padded(xlsx_rows(stream, options.sheet, skip), width)
            if header:
                next(read, None)
            yield from blocks(read, width, wrong, size)

    def place(row: int, column: int) -> str:
        return f"row {row}, column {column + 1}" + (f" ({names[column]!r})" if names and names[column] else "")

    return Sheet(layout, names, width, rows, place, notes)
