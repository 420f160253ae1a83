"""A user's file as a table of pandas, with everything decided as `rffbench.data.userfile.look` decides it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rffbench.data import dates
from rffbench.data.cells import USUAL, Spelling, identity, label_text, spelling_of
from rffbench.data.columns import Column
from rffbench.data.content import read_columns, sampled, sheet_of
from rffbench.data.marks import is_number, marks_of
from rffbench.data.parse import read_blocks
from rffbench.data.sheet import Options, Sheet
from rffbench.data.userfile import Seen, kind_of_content, look, naming
from rffbench.errors import DataError

if TYPE_CHECKING:
    import pandas

ROWS = ("csv", "arff", "xlsx", "parquet")  # kinds of files with columns that have types
_OF_ANY_ROWS = ("delimiter", "comment", "encoding", "sheet", "skip")  # options that new rows of the same kind need, too


@dataclass(frozen=True)
class Table:
    """A file as a table.

    ``frame`` (n rows) has the inputs under the file's own names, in the file's order: float64 for numbers, with NaN for
    a missing one; text for words, with None; datetime64 for dates. Without a header the names are ``x1``, ``x2``, …, by
    the column's number in the file. ``target`` is a Series, or a DataFrame of several targets: the labels as the file
    has them (two spellings of a number are one label), or float64. ``decisions`` are lines that say what was decided
    and is not seen in the file. ``reading`` (of values that JSON has) is what `read_new_rows` needs.
    """

    path: Path
    name: str
    frame: pandas.DataFrame
    target: Any  # pandas.Series, or pandas.DataFrame of several
    task: Literal["classification", "regression"]
    classes: dict[str, int]  # label → rows, as `labels` are ordered; empty for a regression
    decisions: list[str]
    reading: dict[str, Any]


def read_table(path: str | Path, *, texts: bool = True, **given: Any) -> Table:
    """The table in the file at ``path``; ``given`` are the `rffbench.data.sheet.Options`, such as ``target``.

    CSV and other delimited text, ARFF, .xlsx, Parquet, .npz and LIBSVM, also packed. Ignored are columns that look like
    IDs, constant and empty ones, and dates unless ``dates`` is "parts"; with ``texts`` False, also columns of more
    different texts than onehot takes. ConfigError if there is no such file or column, or an option is wrong; DataError
    if the file cannot be read or used, with line, column and value.
    """
    path = Path(path)
    options = Options.of(given)
    seen = look(path, cells=True, **given)
    if seen.faults:
        raise DataError(f"{path.name}: {seen.faults[0]}")
    content = seen.content
    kind = content.format["kind"]
    if kind not in ROWS:
        return _of_arrays(seen)
    used = [each for each in content.decisions if each.use == "input" or (texts and each.kind == "text")]
    sheet = sheet_of(path, kind, options)
    names = {each.number: _name(sheet, each.number) for each in used}
    formats = {each.number: each.format for each in used if each.kind == "dates"}
    kinds = {each.number: "words" if each.kind == "text" else each.kind for each in used}
    frame = _frame(sheet, content.read, names, kinds, formats)
    targets = [each for each in content.decisions if each.use == "target"]
    reading = {
        "columns": [[names[at], kinds[at], formats.get(at, ""), at] for at in names],
        "targets": [[sheet.name(each.number), each.number] for each in targets],
        "header": bool(sheet.names), "width": sheet.width, "decimal": content.spelling.decimal,
        "thousands": content.spelling.thousands, "missing": None if options.missing is None else [*options.missing],
        "units": sorted(content.spelling.units), "kind": kind, "delimiter": sheet.layout.get("delimiter"),
        "given": {key: given[key] for key in _OF_ANY_ROWS if key in given},
    }  # fmt: skip
    called = [_name(sheet, each.number) for each in targets]
    decisions = [each for each in seen.decisions if texts is False or "than the" not in each]
    return Table(path, seen.name, frame, _target(seen, called), seen.task, seen.classes, decisions, reading)


def read_new_rows(path: str | Path, reading: Mapping[str, Any], **given: Any) -> tuple[pandas.DataFrame, list[str]]:
    """(frame, notes): the inputs of new rows, with the columns and types of `Table.reading`. The file may be of another
    kind, have its columns in another order, and be without the target.

    It is read as the table was: one of the same kind with the options that were given for the table, and with its
    delimiter and marks if the file can be read so; ``given`` overrules them. So ``1.234`` is 1234 where the table had
    points between thousands.

    ``notes`` are lines on columns that are not used and on marks that are others. DataError names a column that is
    missing, or a cell that is no number where numbers were learnt from.
    """
    path = Path(path)
    with naming(path):
        kind = kind_of_content(path)
        if kind not in ROWS:
            return _new_arrays(path, kind, reading), []
        before = reading["given"] if kind == reading.get("kind") else {}
        options = Options.of({**before, "missing": reading["missing"], **given})
        sheet, at, notes = _new_sheet(path, kind, options, reading)
        columns = {name: (kind, format_) for name, kind, format_, _ in reading["columns"]}
        numbers = [at[name] for name, (kind, _) in columns.items() if kind == "numbers"]
        spelling, more = _spelling(sheet, numbers, options, reading)
        declared = {at[name] for name, (kind, _) in columns.items() if kind != "numbers"}
        read, _ = read_columns(sheet, [*at.values()], declared, spelling, keep=True)
        frame = _frame(
            sheet, read, {at[name]: name for name in columns}, {at[name]: columns[name][0] for name in columns},
            {at[name]: columns[name][1] for name in columns},
        )  # fmt: skip
    return frame[[*columns]], notes + more


def _new_sheet(
    path: Path, kind: str, options: Options, reading: Mapping[str, Any]
) -> tuple[Sheet, dict[str, int], list[str]]:
    """The columns of new rows, the number of each input's, and notes: with the table's delimiter and header, if the
    file can be read so and these are not given."""

    def read(options: Options) -> tuple[Sheet, dict[str, int], list[str]]:
        sheet = sheet_of(path, kind, options, fewest=1)
        return sheet, *_placed(path, sheet, reading)

    has_lines = kind in ("csv", "xlsx")  # of which the first may be a header
    if has_lines and options.header is None and reading["header"]:
        options = replace(options, header=True)
    as_before = replace(
        options, delimiter=options.delimiter or (reading.get("delimiter") if kind == "csv" else None),
        header=False if has_lines and options.header is None else options.header,
    )  # fmt: skip
    with contextlib.suppress(DataError):  # where it is laid out in another way
        found = read(as_before)
        numbers = [found[1][name] for name, kind, *_ in reading["columns"] if kind == "numbers"]
        if as_before.header == options.header or not _begins_with_names(found[0], numbers):
            return found
    return read(options)


def _begins_with_names(sheet: Sheet, numbers: Sequence[int]) -> bool:
    """Whether the first row has words in columns of numbers."""
    _, cells = next(sheet.blocks(1), ((), ()))
    first = [cells[at][0] for at in numbers] if len(cells) else []
    return any(isinstance(cell, str) and not is_number(cell) and not USUAL.is_missing(cell) for cell in first)


def _spelling(
    sheet: Sheet, numbers: Sequence[int], options: Options, reading: Mapping[str, Any]
) -> tuple[Spelling, list[str]]:
    """How new rows are written, and notes: as the table was, if the first cells of the columns of numbers can be read
    so, else by their own marks. What is given is not questioned."""
    cells = sampled(sheet, numbers)
    units, before = reading.get("units"), (reading["decimal"], reading["thousands"])
    as_before = spelling_of(*before, options.missing, units)
    given = options.decimal is not None or options.thousands is not None
    if not given and all(as_before.number(text) is not None for _, texts in cells for text in texts):
        return as_before, []
    found = marks_of(cells, options.decimal, options.thousands)
    if found.fault:
        return as_before, []
    changed = found.decimal != before[0] and options.decimal is None
    notes = [f"decimals are written with {found.decimal!r}, and in the model's table with {before[0]!r}"] * changed
    return spelling_of(found.decimal, found.thousands, options.missing, units), notes


def _placed(path: Path, sheet: Sheet, reading: Mapping[str, Any]) -> tuple[dict[str, int], list[str]]:
    """(the number of each input's column in the new file, notes)."""
    names = [each[0] for each in reading["columns"]]
    targets = {number for _, number in reading["targets"]}
    if not reading["header"] or not sheet.names:
        left = [column for column in range(reading["width"]) if column not in targets]
        places = {reading["width"]: [*range(reading["width"])], len(left): left}.get(sheet.width)
        if places is None:
            raise DataError(
                f"{path.name}: has {sheet.width} columns; the model was learnt from {reading['width']} with the target"
            )
        return {name: places.index(number) for name, _, _, number in reading["columns"]}, []
    if missing := [name for name in names if name not in sheet.names]:
        raise DataError(f"{path.name}: has no column {', '.join(map(repr, missing))}; it has {', '.join(sheet.names)}")
    known = {*names, *(name for name, _ in reading["targets"])}
    others = [name for name in sheet.names if name not in known]
    notes = [f"columns that the model does not use: {', '.join(map(repr, others))}"] * bool(others)
    return {name: sheet.names.index(name) for name in names}, notes


def _name(sheet: Sheet, column: int) -> str:
    """A column's name in a frame: no other has it."""
    name = sheet.name(column)
    if not name:
        return f"x{column + 1}"
    before = sheet.names[:column].count(name)
    return f"{name}.{before}" if before else name  # as pandas does


def _frame(
    sheet: Sheet, read: Mapping[int, Column], names: Mapping[int, str], kinds: Mapping[int, str],
    formats: Mapping[int, str],
) -> pandas.DataFrame:  # fmt: skip
    """The columns called ``names`` as a table: floats, texts (None for a missing one) or datetime64."""
    import pandas

    columns = {}
    for at, name in names.items():
        column = read[at]
        if kinds[at] == "numbers" and column.first_word:
            place, text = column.first_word
            raise DataError(f"{sheet.place(place, at)}: {text!r} is not a number")
        cells = _moments(sheet, at, column, formats[at]) if kinds[at] == "dates" else column.cells
        columns[name] = pandas.Series(cells)
    return pandas.DataFrame(columns)


def _moments(sheet: Sheet, at: int, column: Column, format_: str) -> np.ndarray:
    """The dates of a column."""
    cells = column.cells
    code = {text: i for i, text in enumerate(dict.fromkeys(cells))}
    try:
        moments = dates.moments([text or "" for text in code], format_).astype("datetime64[us]")
    except ValueError:
        wrong = next((text for text in code if text and format_ not in dates.formats_of([text])), None)
        place = sheet.place(column.place_of(cells.tolist().index(wrong)), at)
        raise DataError(f"{place}: {wrong or ''!r} is no date of the format {format_}") from None
    return moments[[code[text] for text in cells]]


def _target(seen: Seen, names: Sequence[str]) -> Any:
    """The target under its name; labels in the spelling of the classes."""
    import pandas

    y = seen.content.target
    if y.ndim > 1:
        return pandas.DataFrame(y, columns=list(names))
    if seen.task == "regression":
        return pandas.Series(y.astype(np.float64), name=names[0])
    same = identity(seen.classes)
    spelt = {same(label): label for label in seen.classes}
    texts = {each: str(each) if y.dtype == object else label_text(each) for each in dict.fromkeys(y.tolist())}
    labels = {each: spelt.get(same(text), text) for each, text in texts.items()}
    return pandas.Series([labels[each] for each in y.tolist()], name=names[0], dtype=object)


def _of_arrays(seen: Seen) -> Table:
    """The table of a file of numbers without columns of their own: .npz, LIBSVM."""
    import pandas

    X = np.concatenate([block.X for block in read_blocks(seen.card(), [seen.path])])
    names = [f"x{column + 1}" for column in range(X.shape[1])]
    reading = {
        "columns": [[name, "numbers", "", i] for i, name in enumerate(names)], "targets": [["", len(names)]],
        "header": False, "width": len(names) + 1, "decimal": ".", "thousands": "", "missing": None,
    }  # fmt: skip
    frame = pandas.DataFrame(X, columns=names)
    return Table(seen.path, seen.name, frame, _target(seen, ["y"]), seen.task, seen.classes, seen.decisions, reading)


def _new_arrays(path: Path, kind: str, reading: Mapping[str, Any]) -> pandas.DataFrame:
    """New rows of a file of numbers, with as many columns as were learnt from."""
    import pandas

    from rffbench.data.libsvm import svmlight
    from rffbench.data.npz import Npz
    from rffbench.data.unpack import open_content

    names = [each[0] for each in reading["columns"]]
    with open_content(path, path.name) as stream:
        if kind == "libsvm":
            X = svmlight(stream, len(names))[0].toarray()
        else:
            archive = Npz(stream)
            inputs = "X" if "X" in archive.names else archive.names[0]
            X = np.concatenate([*archive.rows(inputs)])
    if X.shape[1] != len(names):
        raise DataError(f"{path.name}: has {X.shape[1]} columns; the model was learnt from {len(names)}")
    return pandas.DataFrame(X, columns=names)
