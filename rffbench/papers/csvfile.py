"""CSV files of papers' numbers. Error messages name line and column."""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from rffbench.errors import ConfigError, not_utf8, unknown, unreadable
from rffbench.io import files

MOST_BYTES = 20_000_000  # a hundred thousand cells


def load(
    path: Path,
    *,
    text: Sequence[str],
    numbers: Collection[str],
    optional: Collection[str] = (),
    blank: Collection[str] = (),
) -> pd.DataFrame:
    """The file's rows. ``text`` and ``numbers`` (finite) are the columns that it must have, ``optional`` columns of
    numbers that it may have; all others are text. Only cells in the columns ``blank`` may be empty: numbers are then
    NaN. ConfigError if the file, a column or a cell is missing or wrong.

    The table's ``attrs`` have the ``lines`` of the rows, and of each column of numbers the ``decimals`` and the
    ``digits``: the largest number of decimals, and of significant digits, in a cell.
    """
    rows = _rows(path)
    if not rows:
        raise ConfigError(f"{path}: is empty; its first line must name the columns")
    line, header = rows[0]
    for name in (*text, *numbers):
        if name not in header:
            others = [each for each in header if each not in (*text, *numbers, *optional)]
            near = difflib.get_close_matches(name, others, n=1, cutoff=0.5)
            hint = f"is it {near[0]!r}?" if near else f"the columns are {', '.join(header)}"
            raise ConfigError(f"{path}, line {line}: no column {name!r}; {hint}")
    if twice := [name for name in header if header.count(name) > 1]:
        raise ConfigError(f"{path}, line {line}: the column {twice[0]!r} is there twice")
    lacking = [name for name in optional if name not in header]
    for name in set(header) - {*text, *numbers, *optional}:
        if near := difflib.get_close_matches(name.strip().lower(), lacking, n=1, cutoff=0.75):
            raise ConfigError(f"{path}, line {line}: no column {near[0]!r}; is it {name!r}?")
    numbers = {*numbers, *(name for name in optional if name in header)}
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise ConfigError(f"{path}, line {line}: {len(row)} cells, but the first line names {len(header)} columns")
        for name, cell in zip(header, row, strict=True):
            if name in text and name not in blank and not cell.strip():
                raise ConfigError(f"{path}, line {line}, column {name!r}: is empty")
            if name in numbers and not (math.isfinite(_number(cell)) or (name in blank and not cell.strip())):
                must = "must be a finite number" if math.isinf(_number(cell)) else "must be a number"
                raise ConfigError(f"{path}, line {line}, column {name!r}: {must}, not {cell!r}")
    table = pd.DataFrame([row for _, row in rows[1:]], columns=header)
    decimals = {name: max(map(_decimals, table[name]), default=0) for name in numbers}
    digits = {name: max(map(_digits, table[name]), default=0) for name in numbers}
    for name in numbers:
        table[name] = [float(cell) if cell.strip() else math.nan for cell in table[name]]
    table = table.astype(dict.fromkeys(numbers, float))
    # At the end, since pandas copies them, number by number, for whatever it makes of a table.
    table.attrs |= {"lines": [line for line, _ in rows[1:]], "decimals": decimals, "digits": digits}
    return table


def check_names(path: Path, table: pd.DataFrame, column: str, known: Collection[str]) -> None:
    """ConfigError, with the line, if a cell of a loaded file's column is not among the ``known`` names."""
    for line, name in zip(lines_of(table), table[column], strict=True):
        if name not in known:
            raise ConfigError(f"{path}, line {line}, column {column!r}: {unknown(column, name, known)}")


def check_whole(path: Path, table: pd.DataFrame, column: str, least: int = 0) -> None:
    """ConfigError, with the line, if a number of a loaded file's column is not whole, or below ``least``. A cell may be
    empty."""
    for line, number in zip(lines_of(table), table[column], strict=True):
        if not math.isnan(number) and (number % 1 or not least <= number < 2**53):
            must = f"must be a whole number, {least} or more, not {number:g}"
            raise ConfigError(f"{path}, line {line}, column {column!r}: {must}")


def check_once(path: Path, table: pd.DataFrame, columns: Sequence[str], advice: str = "") -> None:
    """ConfigError, with both lines, if two rows of a loaded file are equal in all ``columns``; ``advice`` is what to do
    then."""
    first: dict[tuple[object, ...], int] = {}
    for line, row in zip(lines_of(table), table[list(columns)].itertuples(index=False, name=None), strict=True):
        cell = tuple(f"{value:.15g}" if isinstance(value, float) else str(value) for value in row)
        if (before := first.setdefault(cell, line)) != line:
            twice = f"a second row of {', '.join(cell)}; the first is line {before}"
            raise ConfigError(f"{path}, line {line}: {twice}{advice and f'; {advice}'}")


def lines_of(table: pd.DataFrame) -> list[int]:
    """The line of each row of a loaded file, or of a part of one, which has the column ``line``."""
    return list(table["line"]) if "line" in table else list(table.attrs["lines"])


def _decimals(cell: str) -> int:
    """The number of decimals of a printed number: 2 for ``0.25``, 4 for ``2.5e-3``; 0 for an empty cell."""
    mantissa, _, exponent = cell.strip().lower().partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(exponent or 0))


def _digits(cell: str) -> int:
    """The number of significant digits of a printed number: 2 for ``0.25`` and for ``2.5e-3``."""
    mantissa = cell.strip().lower().partition("e")[0]
    return len(mantissa.lstrip("+-").replace(".", "").lstrip("0"))


def half_a_unit(table: pd.DataFrame, column: str) -> np.ndarray:
    """Half a unit of the last place that each number of a loaded column was printed to.

    The column was printed either with a number of decimals or with a number of significant digits, and zeros at the end
    may be missing. So the most decimals of a cell are those of all cells, but no cell has more digits than the longest.
    """
    values = np.abs(table[column].to_numpy(float))
    known = np.isfinite(values) & (values > 0)
    before = np.zeros_like(values)
    before[known] = np.floor(np.log10(values[known])) + 1
    most, digits = table.attrs["decimals"][column], table.attrs["digits"][column]
    decimals = np.where(known, np.minimum(most, digits - before), most)
    return np.asarray(0.5 * 10.0**-decimals)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, each with its line number."""
    try:
        content = files.read_regular(path, MOST_BYTES).decode("utf-8-sig")  # spreadsheets put a mark before the text
    except OSError as error:
        raise ConfigError(unreadable(path, error)) from None
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from None
    reader = csv.reader(io.StringIO(content), strict=True)
    rows = []
    try:
        for row in reader:
            if row:
                rows.append((reader.line_num, row))
    except csv.Error as error:
        raise ConfigError(f"{path}, line {reader.line_num}: is not CSV: {error}") from None
    return rows


def _number(cell: str) -> float:
    """The number that a cell holds; NaN if it holds none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan
