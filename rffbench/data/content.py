"""What a user's file holds: the one place where types of columns, marks, missing values and the target are decided, for
every container alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rffbench.data.arff import arff_sheet
from rffbench.data.cells import Spelling, few_whole, is_finite
from rffbench.data.columns import Column, Content, Decision, Findings, column_of, decided, findings, unit_of, written
from rffbench.data.delimited import csv_sheet
from rffbench.data.dialect import SAMPLE_LINES
from rffbench.data.libsvm import not_finite, svmlight
from rffbench.data.marks import Marks, is_number, marks_of
from rffbench.data.npz import Npz
from rffbench.data.parse import numbers_or_texts, read_parquet
from rffbench.data.sheet import Block, Options, Sheet
from rffbench.data.texts import LINE_SHOWN
from rffbench.data.unpack import open_content
from rffbench.data.xlsx import xlsx_sheet
from rffbench.errors import ConfigError, DataError

MOST_COLUMNS = 1_000_000  # rows are stored dense: one row of that width takes 8 MB
NAMED = 6  # columns that a line names


def see(path: Path, kind: str, options: Options, *, keep: bool = False) -> Content:
    """The content of the file at ``path``, which is of this kind; with ``keep``, its columns keep their cells."""
    if kind == "libsvm":
        return _see_libsvm(path, options)
    if kind == "npz":
        return _see_npz(path, options)
    return _see_sheet(path, sheet_of(path, kind, options), options, keep)


def sheet_of(path: Path, kind: str, options: Options, fewest: int = 2) -> Sheet:
    """The columns of a file of a kind that has any; DataError if there are less than the ``fewest``."""
    sheets = {"csv": csv_sheet, "arff": arff_sheet, "xlsx": xlsx_sheet, "parquet": _parquet_sheet}
    sheet = sheets[kind](path, options)
    if sheet.width < fewest:
        first = next((cells[0] for _, cells in sheet.blocks(1) if len(cells[0])), [""])
        shown = (sheet.names or [str(first[0])])[0][:LINE_SHOWN]
        where = sheet.first or "the table"
        raise DataError(f"{path.name}: {where} has one value, {shown!r}; an input and the target are needed")
    return sheet


# ---- Columns ---------------------------------------------------------------------------------------------------


def _see_sheet(path: Path, sheet: Sheet, options: Options, keep: bool) -> Content:
    targets = _targets(path, sheet, options)
    chosen = {
        key: [column_of(path, key, each, sheet.names, sheet.width) for each in getattr(options, key)]
        for key in ("ignore", "categories", "keep")
    }
    _check(path, options, chosen, targets)
    ignored = {*chosen["ignore"], *sheet.left_out}
    declared = {*chosen["categories"]}
    read = [column for column in range(sheet.width) if column not in ignored]
    cells = sampled(sheet, [column for column in read if column not in declared])
    for _ in range(2):
        marks = marks_of(cells, options.decimal, options.thousands)
        spelling = options.spelling(marks.decimal, marks.thousands)
        columns, of_target = read_columns(sheet, read, declared, spelling, targets, keep=keep)
        others = _misfits(sheet, columns, declared)
        if not others:
            break
        cells = [(name, {**others.get(name, {}), **texts}) for name, texts in cells]
    units = {at: unit for at, column in columns.items() if at not in targets and (unit := unit_of(column))}
    if units:
        spelling = replace(spelling, units=frozenset(units.values()))
        columns, of_target = read_columns(sheet, read, declared, spelling, targets, keep=keep)
    rows = next(iter(columns.values())).rows
    if not rows:
        raise DataError(
            f"{path.name}: has a header, {sheet.first}, and no rows below it"
            if sheet.names
            else f"{path.name}: is empty"
        )
    decisions, faults = _decided(path, sheet, columns, targets, options, chosen["keep"])
    inputs = [each for each in decisions if each.use == "input"]

    def leave_out(some: Sequence[int]) -> str:
        return f"{{path: …, ignore: {written([sheet.written(column) for column in some])}}}"

    found = findings(columns, inputs, sheet.place, leave_out)
    found.faults[:0] = faults
    if options.target is None and found.advice and found.categories.keys() == {0} and inputs[0].number == 0:
        # in UCI's files the label often comes first
        found.advice[-1] += f"; if it is the target: {{path: …, target: {written([sheet.written(0)])[1:-1]}}}"
    y = _target(sheet, {at: columns[at] for at in targets}, of_target, options, spelling, found)
    if marks.fault:
        found.faults[:] = [marks.fault]  # the others follow from it
    notes = list(sheet.notes)
    if marks.thousands or marks.decimal == ",":
        notes.append(("decimals", _marks_in_words(marks)))
    notes += [("unit", f"of {_title(sheet, at)}: {unit}, left out") for at, unit in units.items()]
    left_out = [each.number for each in decisions if each.use == "ignored"]
    layout = _layout(sheet, targets, left_out, [each for each in inputs if each.kind == "dates"])
    layout |= _spelled(spelling, options)
    width = sum(len(_parts(each)) for each in inputs)
    names = [part for each in inputs for part in _parts(each)] if sheet.names else []
    title = ", ".join(
        repr(sheet.names[at]) if sheet.name(at) else f"column {at + 1} of {sheet.width}" for at in targets
    )
    return Content(layout, width, y, title, names, found, decisions, notes, spelling, columns)


def _parts(decision: Decision) -> list[str]:
    """The names of the inputs that a column becomes."""
    from rffbench.data.dates import parts_of

    if decision.kind != "dates":
        return [decision.name]
    return [f"{decision.name or decision.number + 1} {part}" for part in parts_of(decision.format)]


def _targets(path: Path, sheet: Sheet, options: Options) -> list[int]:
    """The columns of the target; by default the last one that has a name or a value."""
    if options.targets:
        given = options.targets
        if len(given) == 1 and isinstance(given[0], str) and "," in given[0] and given[0] not in sheet.names:
            words = [each.strip() for each in given[0].split(",")]
            numbers = {each: int(each) for each in words if each.lstrip("-").isdigit() and each not in sheet.names}
            given = tuple(numbers.get(each, each) for each in words)
        found = [column_of(path, "target", each, sheet.names, sheet.width) for each in given]
        if len({*found}) < len(found):
            raise ConfigError(f"{path.name}: target: a column is named twice")
        return found
    last = sheet.width - 1
    first_block = next(sheet.blocks(SAMPLE_LINES), None)
    while first_block and last > 1 and not sheet.name(last) and not isinstance(first_block[1][last], np.ndarray):
        if any(cell.strip() for cell in first_block[1][last]):
            break
        last -= 1
    return [last]


def _check(path: Path, options: Options, chosen: Mapping[str, list[int]], targets: Sequence[int]) -> None:
    """ConfigError for a column that is given two parts, or if no input is left."""
    for key, columns in chosen.items():
        if both := {*columns} & {*targets}:
            raise ConfigError(
                f"{path.name}: {key}: names the target, {getattr(options, key)[columns.index(min(both))]!r}"
            )
    for key in ("categories", "keep"):
        if both := {*chosen["ignore"]} & {*chosen[key]}:
            raise ConfigError(
                f"{path.name}: {key}: {getattr(options, key)[chosen[key].index(min(both))]!r} is ignored, too"
            )


def sampled(sheet: Sheet, read: Sequence[int]) -> list[tuple[str, dict[str, str]]]:
    """The different texts of each column's first cells, with a place of each."""
    places, cells = next(sheet.blocks(SAMPLE_LINES), ((), ()))
    if not places:
        return []
    found = []
    for column in read:
        texts = cells[column][:SAMPLE_LINES]
        if isinstance(texts, np.ndarray) and texts.dtype != object:
            continue
        first: dict[str, int] = {}
        for text, place in zip(texts, places, strict=False):
            first.setdefault(text.strip(), place)
        found.append((_title(sheet, column), {text: sheet.place(at, column) for text, at in first.items()}))
    return found


def _title(sheet: Sheet, column: int) -> str:
    return repr(sheet.name(column)) if sheet.name(column) else str(column + 1)


def read_columns(
    sheet: Sheet, read: Sequence[int], declared: set[int], spelling: Spelling, targets: Sequence[int] = (), *,
    keep: bool = False,
) -> tuple[dict[int, Column], dict[int, Any]]:  # fmt: skip
    """(each column's `Column`, the cells of each target with their places). ``declared`` are columns of words; with
    ``keep`` all columns but the targets keep their cells."""
    columns = {at: Column(spelling, words=at in declared, keep=keep and at not in targets) for at in read}
    kept: dict[int, list[Any]] = {at: [] for at in targets}
    places: list[int] = []
    for at, cells in sheet.blocks():
        for column, into in columns.items():
            values = cells[column]
            if isinstance(values, np.ndarray) and values.dtype != object:
                into.add_numbers(values, at)
            else:
                into.add(list(values), at)
        for target, texts in kept.items():
            texts.append(cells[target])
        places += at
    whole = {at: _joined(texts) for at, texts in kept.items()}
    return columns, {**whole, "places": places}  # type: ignore[dict-item]


def _joined(pieces: Sequence[Any]) -> Any:
    if pieces and isinstance(pieces[0], np.ndarray) and pieces[0].dtype != object:
        return np.concatenate(pieces)
    return [text.strip() for piece in pieces for text in piece]


def _misfits(sheet: Sheet, columns: Mapping[int, Column], declared: set[int]) -> dict[str, dict[str, str]]:
    """Texts that are numbers with other marks, by the title of their column, with a place of each."""
    found = {}
    for at, column in columns.items():
        if at in declared or not column.words or not all(map(is_number, column.words)):
            continue
        place, first = column.first_word or (0, "")
        found[_title(sheet, at)] = {
            text: sheet.place(place, at) if text == first else f"column {_title(sheet, at)}" for text in column.words
        }
    return found


def _decided(
    path: Path,
    sheet: Sheet,
    columns: Mapping[int, Column],
    targets: Sequence[int],
    options: Options,
    keep: Sequence[int],
) -> tuple[list[Decision], list[str]]:
    """(what is done with each column of the file, faults)."""
    parts: bool | str = {"ignore": False, "parts": True}.get(options.dates, options.dates)
    found, faults = [], []
    for at in range(sheet.width):
        name = sheet.name(at)
        if at not in columns:
            found.append(Decision(name, at, "id", "ignored", sheet.left_out.get(at, "as given")))
        elif at in targets:
            found.append(Decision(name, at, "numbers", "target", "the target"))
        else:
            each, fault = decided(columns[at], name, at, keep=at in keep, parts=parts, named=bool(sheet.names))
            out = f", or leave the column out: {{path: …, ignore: {written([sheet.written(at)])}}}"
            faults += [f"column {_title(sheet, at)}: {fault}{'' if each.format else out}"] * bool(fault)
            found.append(each)
    if any(each.use == "input" for each in found):
        return found, faults
    # An ID or a row's number is better than nothing.
    for i, each in enumerate(found):
        if each.kind == "id" and each.number in columns and not columns[each.number].words:
            found[i] = Decision(each.name, each.number, "numbers", "input", "numbers; the only input")
    if not any(each.use == "input" for each in found):
        if all(each.use == "target" or each.why == "as given" for each in found):
            raise ConfigError(f"{path.name}: ignore: leaves no input")
        out = "; ".join(f"{each.title}: {each.why}" for each in found if each.use == "ignored")
        faults.append(f"no column can be an input ({out}); to use one all the same: {{path: …, keep: […]}}")
    return found, faults


def _target(
    sheet: Sheet, columns: Mapping[int, Column], cells: Mapping[Any, Any], options: Options, spelling: Spelling,
    found: Findings,
) -> np.ndarray:  # fmt: skip
    """The target (n,) or (n, targets), of floats or texts; its faults are added to what is ``found``."""
    arrays = []
    several = len(columns) > 1
    for at, column in columns.items():
        place, texts = sheet.place, cells[at]
        numeric = not column.words and not column.missing and not column.first_infinite
        if column.missing and column.first_missing:
            line, text = column.first_missing
            found.targets_missing += column.missing
            more = f" here and in {column.missing - 1} more" if column.missing > 1 else ""
            keep = (
                "; if it is a class: {path: …, missing: []}"
                if text and options.missing is None and column.words
                else ""
            )
            found.faults.append(
                f"{place(line, at)}: the value is missing ({text!r}){more}; fill it, or remove such rows{keep}"
            )
        elif (options.task == "regression" or several) and not numeric:
            line, text = column.first_word or column.first_infinite or (0, "")
            found.faults.append(f"{place(line, at)}: {text!r} is not a finite number; make it a number")
        elif column.first_infinite and isinstance(texts, np.ndarray):
            found.faults.append(f"{place(column.first_infinite[0], at)}: the value is missing or not finite")
        if isinstance(texts, np.ndarray):
            arrays.append(texts)
            continue
        labels = {text: spelling.label(text) for text in dict.fromkeys(texts)}
        y = np.array([labels[text] for text in texts], dtype=object)
        if all(map(is_finite, labels.values())):
            values = spelling.numbers(texts)
            numbers = np.array([values[text] for text in texts], dtype=np.float64)
            y = (
                numbers
                if several or options.task == "regression" or (options.task is None and not few_whole(numbers))
                else y
            )
        arrays.append(y)
    return arrays[0] if not several else np.column_stack(arrays)


def _layout(
    sheet: Sheet, targets: Sequence[int], ignored: Sequence[int], of_dates: Sequence[Decision]
) -> dict[str, Any]:
    """The card's format with its columns."""

    def called(column: int) -> Any:
        return sheet.names[column] if sheet.by_name else column - sheet.width

    layout = dict(sheet.layout)
    if len(targets) > 1:
        layout["targets"] = [called(at) for at in targets]
        if sheet.by_name:
            layout["target"] = layout["targets"][0]
    else:
        layout["target"] = called(targets[0])
    if ignored:
        layout["ignore"] = [called(column) for column in sorted(ignored)]
    if of_dates:
        layout["dates"] = {called(each.number): each.format for each in of_dates}
    return layout


def _spelled(spelling: Spelling, options: Options) -> dict[str, Any]:
    """The card's keys of a spelling, where it is not the usual one."""
    keys = {
        "decimal": "," if spelling.decimal == "," else None, "thousands": spelling.thousands or None,
        "missing": options.missing, "units": tuple(sorted(spelling.units)) or None,
    }  # fmt: skip
    return {key: value for key, value in keys.items() if value is not None}


def _marks_in_words(marks: Marks) -> str:
    decimal = {",": "comma", ".": "point"}[marks.decimal]
    between = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}.get(marks.thousands)
    return (
        f"with a {decimal}"
        + (f", thousands with {between}" if between else "")
        + (f": {marks.shown}" if marks.shown else "")
    )


def said_of_columns(decisions: Sequence[Decision]) -> list[str]:
    """One line for each reason for which columns are ignored, unless a user gave it."""
    reasons: dict[str, list[str]] = {}
    for each in decisions:
        if each.use == "ignored" and each.why != "as given":
            reasons.setdefault(each.why, []).append(each.title)
    more = {why: f" and {len(titles) - NAMED} more" * (len(titles) > NAMED) for why, titles in reasons.items()}
    return [f"ignored: {', '.join(titles[:NAMED])}{more[why]} ({why})" for why, titles in reasons.items()]


# ---- Containers ------------------------------------------------------------------------------------------------


def _parquet_sheet(path: Path, options: Options) -> Sheet:
    for key in ("delimiter", "header", "comment", "encoding", "sheet", "skip"):
        if getattr(options, key) is not None:
            raise ConfigError(f"{path.name}: {key} is for text, not for Parquet")
    with open_content(path, path.name) as stream:
        table = read_parquet(stream)
    names = [str(name) for name in table.columns]
    if not len(table):
        raise DataError(f"{path.name}: has no rows")
    if not names:
        raise DataError(f"{path.name}: has no columns")
    columns = [numbers_or_texts(table.iloc[:, i]) for i in range(len(names))]

    def rows(size: int | None = None) -> Iterator[Block]:
        yield range(1, len(table) + 1), columns

    def place(row: int, column: int) -> str:
        return f"row {row}, column {names[column]!r}"

    return Sheet({"kind": "parquet"}, names, len(names), rows, place, by_name=True)


def _see_libsvm(path: Path, options: Options) -> Content:
    if options.target is not None:
        raise ConfigError(f"{path.name}: target: a LIBSVM file has its target at the beginning of each line")
    options.only(path)
    with open_content(path, path.name, text=True) as stream:
        X, y = svmlight(stream)
        found = Findings()
        if fault := not_finite(X, y, stream):
            found.faults.append(fault)
    if not len(y):
        raise DataError(f"{path.name}: is empty; it must have one line per row")
    if not X.nnz:
        raise DataError(f"{path.name}: no line has an input, index:value")
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(f"{path.name}: the largest index is {X.shape[1]:,}; at most {MOST_COLUMNS:,} columns are read")
    return Content({"kind": "libsvm"}, X.shape[1], y, "the number at the beginning of each line", [], found)


def _see_npz(path: Path, options: Options) -> Content:
    options.only(path, "target", "decimal", "thousands", "missing")
    target = options.target
    if isinstance(target, int | tuple):
        raise ConfigError(f"{path.name}: target: {target}: give the name of the array in the .npz")
    with open_content(path, path.name) as stream:
        archive = Npz(stream)
        names = archive.names
        others = [name for name in names if name != (target or "y")]
        inputs = "X" if "X" in others else others[0] if len(others) == 1 else "X"
        label = target or "y"
        if target is None and "y" not in names and len(names) == 2 and "X" in names:
            label = next(name for name in names if name != "X")
        if inputs not in names or label not in names:
            raise ConfigError(
                f"{path.name}: holds {', '.join(names) or 'no array'}; the inputs must be X, or the only array beside "
                f"the target, and the target {target or 'y, or be named: {path: …, target: …}'}"
            )
        n, width = archive.shape(inputs)
        if not n or not width:
            raise DataError(f"{path.name}: {inputs} has no {'columns' if n else 'rows'}")
        y = archive.target(label, n, inputs)
        columns = {column: Column(Spelling()) for column in range(width)}
        done = 0
        for X in archive.rows(inputs):
            _add_rows(columns, X, done)
            done += len(X)

    def place(row: int, column: int) -> str:
        return f"row {row}, column {column + 1} of {inputs}"

    def leave_out(some: list[int]) -> str:
        return f"leave columns {some} out of {inputs}"

    chosen = [Decision("", column, "numbers", "input", "numbers") for column in range(width)]
    found = findings(columns, chosen, place, leave_out)
    if empty := [column for column, each in columns.items() if each.missing == n]:
        found.faults.append(f"{place(1, empty[0])}: the column has no value at all; {leave_out(empty)}")
    sheet = Sheet(
        {"kind": "npz", "inputs": inputs}, [label], 1, lambda size=None: iter([(range(1, n + 1), [y])]),
        lambda row, _: f"row {row} of {label}", by_name=True,
    )  # fmt: skip
    spelling, notes = Spelling(), list[tuple[str, str]]()
    if y.dtype == object:
        marks = marks_of(sampled(sheet, [0]), options.decimal, options.thousands)
        found.faults += [marks.fault] if marks.fault else []
        spelling = options.spelling(marks.decimal, marks.thousands)
        notes += [("decimals", _marks_in_words(marks))] if marks.decimal == "," or marks.thousands else []
    of_target, cells = read_columns(sheet, [0], set(), spelling, [0])
    values = _target(sheet, of_target, cells, options, spelling, found)
    layout = _layout(sheet, [0], [], []) | _spelled(spelling, options)
    return Content(layout, width, values, f"the array {label}", [], found, chosen, notes, spelling)


def _add_rows(columns: Mapping[int, Column], X: np.ndarray, before: int) -> None:
    """Add rows of numbers; columns without gaps are not looked at one by one."""
    whole = np.isfinite(X).all(axis=0)
    for at, column in columns.items():
        if whole[at]:
            column.rows += len(X)
            column.numbers += len(X)
        else:
            column.add_numbers(np.ascontiguousarray(X[:, at]), range(before + 1, before + len(X) + 1))
