"""A user's own data by path: what a file holds, as far as it can be told, and the card that follows from it.

A file is read once through, block by block, before any trial: the card that is made knows its shape, its classes and
its checksum, as a card that ships does. What keeps it from being used is said by line (counted as an editor does),
column and value.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
from pydantic import ValidationError

from rffbench import yamlfile
from rffbench.data import openml
from rffbench.data.cards import Card, ShardsFormat, Source, is_card, load_card, own_card
from rffbench.data.fetch import cache_folder, locked, naming_cache, raw_path
from rffbench.data.parse import Lines, is_number, not_utf8, open_npz, read_npz, read_parquet, svmlight
from rffbench.data.shards import is_url
from rffbench.data.unpack import CHUNK, Unpackable, open_content
from rffbench.errors import ConfigError, DataError, unknown

PACKED = (".gz", ".bz2", ".xz")
KINDS = {
    ".csv": "csv", ".tsv": "csv", ".npz": "npz", ".svm": "libsvm", ".libsvm": "libsvm", ".parquet": "parquet",
    ".txt": "text",
}  # fmt: skip
DELIMITERS = (",", "\t", ";", "|", " ")
MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}  # what other programs write for no value
NO_NAMES = {*MISSING, "inf", "infinity"}
SAMPLE_LINES = 100  # by which delimiter and header are recognised, and what a text is that its name does not tell
LIBSVM_LINE = re.compile(rb"\s*[-+.\w]+\s+\d+:[-+.\w]+(\s|$)")
RULES = ("half", "random", "given", "given-sampled")
BLOCK_ROWS = 20_000
NAMES_SHOWN = 12  # of the inputs, in a description
CLASSES_SHOWN = 40  # in a description
MOST_COLUMNS = 1_000_000  # rows are kept whole, zeros and all: one of so many takes 8 MB
MOST_CLASSES = 20  # whole numbers of more values than these are taken for a regression's target

Task = Literal["classification", "regression"]

csv.field_size_limit(2**31 - 1)  # by a delimiter that it lacks, a line of 20,000 numbers is one field


@dataclass(frozen=True)
class Content:
    """What a file holds. ``target`` (n,) is of floats or of text; ``faults`` keep it from being used."""

    format: dict[str, Any]
    columns: int
    target: np.ndarray
    target_name: str
    names: list[str] = field(default_factory=list)  # of the inputs, where the file tells them
    missing: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Seen:
    """What is known of a file: its content, and what it is taken for."""

    path: Path
    name: str
    content: Content
    task: Task
    classes: dict[str, int]
    positive: str | None
    faults: list[str]
    fields: dict[str, Any] = field(repr=False)  # the card's

    def card(self) -> Card:
        """The card; DataError where the file cannot be used, ConfigError where the split does not fit it."""
        if self.faults:
            raise DataError(f"{self.path.name}: {self.faults[0]}")
        try:
            card = Card.model_validate(self.fields)
        except ValidationError as error:
            raise ConfigError(f"{self.path.name}: {'; '.join(_said(each) for each in error.errors())}") from None
        size = _bytes(self.path)
        return card.model_copy(update={"bytes": size}) if size > card.most_bytes else card


def is_data_path(text: str) -> bool:
    """Whether a dataset is given by its path, and not by its name."""
    return "/" in text or "\\" in text or kind_of(text) is not None or text.endswith((".yaml", ".yml"))


def kind_of(path: str | Path) -> str | None:
    """The format that a file's name tells, if it is one that is read here; "text" where its lines must tell it."""
    return KINDS.get(_endings(Path(path))[0])


def _kind_of_lines(path: Path) -> str:
    """What a text is whose name does not tell it, as UCI's ``.data``, and LIBSVM's files without an ending."""
    with open_content(path, path.name) as stream:
        sample = list(islice(iter(lambda: stream.readline(CHUNK), b""), SAMPLE_LINES))
    if any(b"\0" in line for line in sample):
        raise ConfigError(
            f"{path.name}: data by path is text (CSV, LIBSVM), .npz or .parquet, or these with {', '.join(PACKED)}; "
            "this is none of them"
        )
    if re.match(rb"\s*[@%]", next((line for line in sample if line.strip()), b"")):
        raise ConfigError(
            f"{path.name}: looks like ARFF, which is read by a card alone; save it as CSV, or write a card"
        )
    return "libsvm" if any(map(LIBSVM_LINE.match, sample)) else "csv"


def look(
    path: Path,
    *,
    name: str | None = None,
    target: str | int | None = None,
    task: Task | None = None,
    split: str | Mapping[str, Any] | None = None,
    ignore: tuple[str | int, ...] = (),
    header: bool | None = None,
) -> Seen:
    """What the file at ``path`` holds.

    ``target`` and ``ignore`` are columns by name, or counted from 0, negative from the end (in an .npz, the arrays'
    names). What is not given is guessed. ConfigError where there is no such file or column, DataError where the file
    cannot be read as what its name says.
    """
    kind = kind_of(path)
    if re.match(r"https?:/", str(path)):
        raise ConfigError(f"{str(path).replace(':/', '://')}: is a URL; download it and give the file")
    _find(path)
    stem = path.name[: len(path.name) - sum(map(len, _endings(path)))]
    name = name or re.sub(r"[^\w.-]+", "-", stem).strip("-.") or "data"
    try:
        if kind in (None, "text"):
            kind = _kind_of_lines(path)
        if kind == "csv":
            content = _see_text(path, target, task, ignore, header)
        else:
            if kind != "parquet" and ignore:
                raise ConfigError(f"{path.name}: ignore is for columns of .csv, .tsv and .parquet files")
            content = {"npz": _see_npz, "libsvm": _see_libsvm, "parquet": _see_parquet}[kind](path, target, ignore)
    except (ConfigError, DataError, MemoryError):
        raise
    except Exception as error:  # readers of other libraries raise many things
        what = f"it {error}" if isinstance(error, Unpackable) else error
        raise DataError(f"{path.name}: cannot be read as {kind or 'text'}: {what}") from error
    return _taken_for(path, name, content, task, split)


def _taken_for(
    path: Path, name: str, content: Content, task: Task | None, split: str | Mapping[str, Any] | None
) -> Seen:
    """The task, the classes and what is wrong with the target."""
    y, faults = content.target, list(content.faults)
    words = y.dtype == object
    if task is None:
        task = "classification" if _few_whole_numbers(y) or not _all_numbers(y) else "regression"
    classes: dict[str, int] = {}
    if task == "classification":
        counts = Counter(str(each) if words else f"{each:g}" for each in y)
        counts.pop("", None)
        classes = {label: counts[label] for label in sorted(counts, key=_order)}
    values = len(classes) if task == "classification" else len(np.unique(y.astype(str)))
    if not faults and values < 2:
        what = "a second class" if task == "classification" else "a second value"
        faults.append(
            f"the target, {content.target_name}, is {str(y[0])!r} in all {len(y)} rows: {what} is needed; "
            "if another column is the target, give it: {path: …, target: …}"
        )
    if not faults and MOST_CLASSES < len(classes) == len(y):
        faults.append(
            f"the target, {content.target_name}, is another one in each of the {len(y)} rows; "
            "if another column is the target, give it: {path: …, target: …}"
        )
    positive = list(classes)[-1] if len(classes) == 2 else None
    checksum = _checksum(path)
    fields = {
        "name": name,
        "title": path.name,
        "task": task,
        "rows": len(y),
        "columns": content.columns,
        "classes": classes,
        "labels": {"positive": [positive]} if positive else None,
        "split": _split(path, split, len(y)),
        "format": content.format,
        "files": [{"name": path.name, "checksum": checksum, "urls": [path.absolute().as_uri()]}],
        "folder": f"{name}-{checksum.removeprefix('sha256:')[:12]}",
        "licence": "not stated",
        "citation": "a user's own data",
    }
    return Seen(path, name, content, task, classes, positive, faults, fields)


def _split(path: Path, split: str | Mapping[str, Any] | None, rows: int) -> dict[str, Any]:
    """The card's rule; ``train`` and ``test`` may be shares of the rows, and ``test`` is what is left unless given."""
    rule: dict[str, Any] = {"rule": split or "half"} if split is None or isinstance(split, str) else dict(split)
    if "rule" not in rule:
        raise ConfigError(f"{path.name}: split: has no rule; it is one of {', '.join(RULES)}")
    if rule["rule"] not in RULES:
        raise ConfigError(f"{path.name}: split: {unknown('rule', rule['rule'], RULES)}")
    for part in ("train", "test"):
        if isinstance(share := rule.get(part), float | str):
            if isinstance(share, str) or not 0 < share < 1:
                what = f"so many rows, or a share of them, such as 0.8, not {share!r}"
                raise ConfigError(f"{path.name}: split: {part} must be {what}")
            rule[part] = round(share * rows)
    if isinstance(train := rule.get("train"), int) and rule.get("test") is None:
        if train >= rows:
            raise ConfigError(f"{path.name}: split: train: {train} leaves none of the {rows} rows to test on")
        rule["test"] = rows - train
    return rule


# ---- Delimited text ----------------------------------------------------------------------------------------


def _see_text(
    path: Path, target: str | int | None, task: Task | None, ignore: tuple[str | int, ...], header: bool | None
) -> Content:
    import pandas

    with open_content(path, path.name) as stream:
        try:
            sample = [line for line in islice(Lines(stream), SAMPLE_LINES) if line.strip()]
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
    if not sample:
        raise DataError(f"{path.name}: is empty; it must have one line per row")
    delimiter = _delimiter(sample)
    first, *others = _cells(sample, delimiter)
    if header is None:
        header = _is_header(first, others)
    names = [each.strip() for each in first] if header else []
    if header and not others:
        raise DataError(f"{path.name}: has a header, line 1, and no rows below it")
    width = len(first)
    if width < 2:
        raise DataError(f"{path.name}: line 1 has one value, {first[0]!r}; an input and the target are needed")
    at = _column(path, "target", -1 if target is None else target, names, width)
    ignored = [_column(path, "ignore", each, names, width) for each in ignore]
    if at in ignored:
        raise ConfigError(f"{path.name}: ignore: names the target, {ignore[ignored.index(at)]!r}")
    inputs = [column for column in range(width) if column != at and column not in ignored]
    if not inputs:
        raise ConfigError(f"{path.name}: ignore: leaves no input")

    def place(line: int, column: int) -> str:
        return f"line {line}, column {column + 1}" + (f" ({names[column]!r})" if names else "")

    missing: list[tuple[int, int, str]] = []
    targets: list[np.ndarray] = []
    words: dict[int, tuple[int, str]] = {}  # of a column the first value that is no number, and its line
    of_words: Counter[int] = Counter()
    counting = {column: True for column in inputs if names and not names[column]}  # unnamed, and numbering the rows
    separator = r"\s+" if delimiter == " " else delimiter
    layout: dict[str, Any] = {"sep": separator, "header": None, "dtype": str, "keep_default_na": False}
    with open_content(path, path.name) as stream:
        try:
            blocks = pandas.read_csv(
                stream, **layout, encoding="utf-8-sig", skip_blank_lines=False, chunksize=BLOCK_ROWS,
                names=range(width), index_col=False,
            )  # fmt: skip
            waiting = header
            for block in blocks:
                block.index += 1
                block = block[(block != "").any(axis=1)]  # blank lines have no values
                if waiting and len(block):
                    block, waiting = block.iloc[1:], False
                above = sum(map(len, targets))
                for column in (*inputs, at):
                    text = block[column].str.strip()
                    numbers = pandas.to_numeric(text, errors="coerce").astype(float)
                    none = text.str.casefold().isin(MISSING)
                    missing += [(line, column, text[line]) for line in block.index[none]]
                    if column != at or task == "regression":
                        wrong = block.index[~none & ~np.isfinite(numbers)]
                        of_words[column] += len(wrong)
                        if len(wrong):
                            words.setdefault(column, (wrong[0], text[wrong[0]]))
                    if column in counting:
                        places = np.arange(above, above + len(block))
                        counting[column] &= any(np.array_equal(numbers, places + first) for first in (0, 1))
                targets.append(block[at].str.strip().to_numpy(dtype=object))
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
        except pandas.errors.ParserError as error:
            if widths := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error)):
                message = f"line {widths[2]} has {widths[3]} values, line 1 has {widths[1]}"
                raise DataError(f"{path.name}: {message}") from None
            if begun := re.search(r"EOF inside string starting at row (\d+)", str(error)):
                raise DataError(f"{path.name}: line {int(begun[1]) + 1} begins a quote that is not closed") from None
            raise
    y = np.concatenate(targets)
    if not len(y):
        raise DataError(f"{path.name}: has a header, line 1, and no rows below it")
    said = []
    if missing:
        line, column, value = min(missing)
        with open_content(path, path.name) as stream:
            has = len(_cells(islice(Lines(stream), line - 1, line), delimiter)[0])
        if has < width:
            raise DataError(f"{path.name}: line {line} has {_values(has)}, line 1 has {width}")
        more = f" here and in {len(missing) - 1} more" if len(missing) > 1 else ""
        said.append(f"{place(line, column)}: the value is missing ({value!r}){more}; fill it, or remove such rows")
    if words:
        line, column = min((line, column) for column, (line, _) in words.items())
        inputs_of_words: list[str | int] = [names[each] if names else each for each in sorted(set(words) - {at})]
        # In UCI's files the label often comes first.
        first_label = target is None and set(words) == {0} and of_words[0] == len(y)
        mended = _mended(words[column][1], None if column == at else inputs_of_words, first_label)
        said.append(f"{place(line, column)}: {words[column][1]!r} is no finite number{mended}")
    for column in (column for column, counts in counting.items() if counts):
        said.append(
            f"column {column + 1}, which has no name, numbers the rows; leave it out: "
            f"{{path: …, ignore: [{column}]}}, or give it a name"
        )
    if task == "regression" or (task is None and not said and _all_numbers(y) and not _few_whole_numbers(y)):
        y = y.astype(np.float64) if not said else y
    format_: dict[str, Any] = {"kind": "csv", "target": at - width, "delimiter": delimiter, "header": header}
    if ignored:
        format_["ignore"] = [column - width for column in sorted(ignored)]
    if any('"' in line for line in sample) or _has_quotes(path):
        format_["quote"] = '"'
    title = repr(names[at]) if names else f"column {at + 1} of {width}"
    return Content(format_, len(inputs), y, title, [names[i] for i in inputs if names], len(missing), said)


def _mended(value: str, columns: list[str | int] | None, may_be_target: bool) -> str:
    """What mends a value that is no number, ``columns`` being all those of inputs that hold such; None, the target."""
    if re.fullmatch(r"[-+]?\d+(\.\d+)*(,\d+)+(\.\d+)*", value):
        return "; write decimals with a point, and nothing between thousands"
    if columns is None:
        return "; make it a number"
    out = f"{{path: …, ignore: {_written(columns)}}}"
    if len(columns) > 1:
        more = "one column" if len(columns) == 2 else f"{len(columns) - 1} columns"
        return f", nor are values of {more} more; make them numbers, or leave the columns out: {out}"
    label = f"; if it is the target: {{path: …, target: {_written(columns)[1:-1]}}}" if may_be_target else ""
    return f"; make it a number, or leave the column out: {out}{label}"


def _not_utf8(path: Path) -> DataError:
    with open_content(path, path.name) as lines:
        return not_utf8(path.name, lines)


def _values(number: int) -> str:
    return "one value" if number == 1 else f"{number} values"


def _cells(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """The values of every line; blanks in a row part two values as one does."""
    if delimiter == " ":
        return list(csv.reader((line.strip() for line in lines), delimiter=" ", skipinitialspace=True))
    return list(csv.reader(lines, delimiter=delimiter))


def _delimiter(sample: list[str]) -> str:
    """The one by which all lines have the same number of values, and the most of these are numbers: of ``0,5;1,5;a``,
    the semicolon; of several, that of the most values."""
    found: dict[str, tuple[float, int, int]] = {}
    for delimiter in DELIMITERS:
        rows = _cells(sample, delimiter)
        widths = Counter(map(len, rows))
        width, lines = widths.most_common(1)[0]
        if width > 1 and lines >= 0.9 * widths.total():  # a line that is too short is told by its number
            numbers = [_is_number(re.sub(r"(?<=\d)[.,](?=\d)", "", value)) for row in rows for value in row]
            found[delimiter] = (sum(numbers) / len(numbers), width, -DELIMITERS.index(delimiter))
    return max(found, key=lambda each: found[each], default=",")


def _is_header(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first line has names: no number at all, text above a column of numbers, or the columns' numbers."""
    names = [each.strip() for each in first]
    text = [not _is_number(each) and each.lstrip("+-").casefold() not in NO_NAMES for each in names]
    if all(words or name == str(column) for column, (words, name) in enumerate(zip(text, names, strict=True))):
        return True
    columns = zip(*(row for row in others if len(row) == len(first)), strict=True)
    return any(words and all(map(_is_number, values)) for words, values in zip(text, columns, strict=False))


def _column(path: Path, key: str, column: str | int, names: list[str], width: int) -> int:
    """The place, counted from 0, of a column given by its name or number."""
    if isinstance(column, int):
        if -width <= column < width:
            return column % width
        raise ConfigError(f"{path.name}: {key}: {column}: there are {width} columns, counted from 0")
    if not names:
        raise ConfigError(f"{path.name}: {key}: {column!r}: it has no header, so columns are given by number, from 0")
    if (times := names.count(column)) > 1:
        raise ConfigError(f"{path.name}: {key}: {times} columns are called {column!r}; give its number, from 0")
    if not times:
        raise ConfigError(f"{path.name}: {key}: {unknown('column', column, names)}")
    return names.index(column)


def _has_quotes(path: Path) -> bool:
    with open_content(path, path.name) as stream:
        return any(b'"' in piece for piece in iter(lambda: stream.read(CHUNK), b""))


def _written(columns: Sequence[str | int]) -> str:
    """A list of columns, as YAML has it."""
    return " ".join(yamlfile.dump(list(columns)).split())


# ---- The other formats -------------------------------------------------------------------------------------


def _see_libsvm(path: Path, target: str | int | None, _: object) -> Content:
    if target is not None:
        raise ConfigError(f"{path.name}: target: a LIBSVM file has its target at the beginning of each line")
    with open_content(path, path.name) as stream:
        X, y = svmlight(stream)
    if not len(y):
        raise DataError(f"{path.name}: is empty; it must have one line per row")
    if not X.nnz:
        raise DataError(f"{path.name}: no line has an input, index:value")
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(f"{path.name}: the largest index is {X.shape[1]:,}; at most {MOST_COLUMNS:,} columns are read")
    faults = []
    if not np.isfinite(y).all():
        faults.append(f"line {_line(path, int(np.argmin(np.isfinite(y))))}: the target is missing or not finite")
    if not np.isfinite(X.data).all():
        first = int(np.argmin(np.isfinite(X.data)))
        line = _line(path, int(np.searchsorted(X.indptr, first, side="right")) - 1)
        faults.append(f"line {line}, index {X.indices[first] + 1}: the value is not finite")
    return Content({"kind": "libsvm"}, X.shape[1], y, "the number at the beginning of each line", faults=faults)


def _line(path: Path, row: int) -> int:
    """The line of a LIBSVM file's row, counted from 0: blank lines and comments have none."""
    with open_content(path, path.name) as stream:
        rows = (number for number, line in enumerate(stream, 1) if line.partition(b"#")[0].strip())
        return next(islice(rows, row, None))


def _see_npz(path: Path, target: str | int | None, _: object) -> Content:
    if isinstance(target, int):
        raise ConfigError(f"{path.name}: target: {target}: give the name of the array in the .npz")
    with open_content(path, path.name) as stream, open_npz(stream) as arrays:
        names = list(arrays.files)
    others = [name for name in names if name != (target or "y")]
    inputs = "X" if "X" in others else others[0] if len(others) == 1 else "X"
    label = target or "y"
    if target is None and "y" not in names and len(names) == 2 and "X" in names:
        label = next(name for name in names if name != "X")
    if inputs not in names or label not in names:
        raise ConfigError(
            f"{path.name}: holds {', '.join(names) or 'no array'}; the inputs must be X, or the only array beside the "
            f"target, and the target {target or 'y, or be named: {path: …, target: …}'}"
        )
    with open_content(path, path.name) as stream:
        X, y = read_npz(stream, inputs, label)
    if not X.size:
        raise DataError(f"{path.name}: {inputs} has no {'columns' if len(X) else 'rows'}")
    missing, faults = ~np.isfinite(X), []
    if missing.any():
        row, column = np.argwhere(missing)[0]
        faults.append(f"row {row + 1}, column {column + 1} of {inputs}: {X[row, column]} is no finite number")
    if y.dtype != object and not np.isfinite(y).all():
        faults.append(f"row {np.argmin(np.isfinite(y)) + 1} of {label} is missing or not finite")
    layout = {"kind": "npz", "inputs": inputs, "target": label}
    return Content(layout, X.shape[1], y, f"the array {label}", missing=int(missing.sum()), faults=faults)


def _see_parquet(path: Path, target: str | int | None, ignore: tuple[str | int, ...]) -> Content:
    with open_content(path, path.name) as stream:
        table = read_parquet(stream)
    names = [str(name) for name in table.columns]
    if not len(table):
        raise DataError(f"{path.name}: has no rows")
    at = _column(path, "target", -1 if target is None else target, names, len(names))
    ignored = [_column(path, "ignore", each, names, len(names)) for each in ignore]
    inputs = [column for column in range(len(names)) if column != at and column not in ignored]
    if not inputs:
        raise ConfigError(f"{path.name}: beside the target, {names[at]!r}, there is no input")
    faults, missing = [], 0
    for column in (*inputs, at):
        values = table.iloc[:, column]
        none = values.isna().to_numpy()
        missing += int(none.sum())
        if none.any():
            faults.append(f"row {none.argmax() + 1}, column {names[column]!r}: the value is missing")
        elif is_number(values):
            infinite = ~np.isfinite(values.to_numpy(dtype=np.float64))
            if infinite.any():
                faults.append(f"row {infinite.argmax() + 1}, column {names[column]!r}: the value is not finite")
        elif column != at:
            advice = f"make it numbers, or leave it out: {{path: …, ignore: {_written([names[column]])}}}"
            faults.append(f"row 1, column {names[column]!r}: {str(values.iloc[0])!r} is no number; {advice}")
    values = table.iloc[:, at]
    y = values.to_numpy(dtype=np.float64) if is_number(values) else values.astype(str).to_numpy(dtype=object)
    layout: dict[str, Any] = {"kind": "parquet", "target": names[at]}
    if ignored:
        layout["ignore"] = [names[column] for column in ignored]
    return Content(layout, len(inputs), y, repr(names[at]), [names[i] for i in inputs], missing, faults)


# ---- Small things ------------------------------------------------------------------------------------------


def _find(path: Path) -> None:
    """ConfigError where ``path`` is no file, naming the nearest that is there."""
    if path.is_file():
        return
    if path.is_dir():
        raise ConfigError(f"{path.name or path}: is a folder; give a file")
    if os.path.lexists(path):
        raise ConfigError(f"{path.name}: is no regular file, but a pipe, a device or a broken link; give a copy of it")
    beside = [each.name for each in path.parent.iterdir() if each.is_file()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.5)
    raise ConfigError(f"{path}: no such file" + (f"; did you mean {near[0]}?" if near else ""))


def _endings(path: Path) -> tuple[str, str]:
    """The ending that tells the format, and that of how it is packed, or an empty one."""
    packed = path.suffix if path.suffix in PACKED else ""
    return Path(path.name.removesuffix(packed)).suffix.lower(), packed


def _checksum(path: Path) -> str:
    with open(path, "rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def _bytes(path: Path) -> int:
    """Of the file, as it is or unpacked, whichever is more."""
    size = path.stat().st_size
    if path.suffix not in PACKED:
        return size
    with open_content(path, path.name) as stream:
        return max(size, sum(map(len, iter(lambda: stream.read(CHUNK), b""))))


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text))) and "_" not in text
    except ValueError:
        return False


def _all_numbers(y: np.ndarray) -> bool:
    return all(map(_is_number, y)) if y.dtype == object else bool(np.isfinite(y).all())


def _few_whole_numbers(y: np.ndarray) -> bool:
    """Whether they are numbers, and look like labels: two values, or not many and all whole."""
    if not _all_numbers(y):
        return False
    values = np.unique(y.astype(np.float64))
    return len(values) <= 2 or (len(values) <= MOST_CLASSES and bool((values == np.round(values)).all()))


def _order(label: str) -> tuple[bool, float, str]:
    return (False, float(label), label) if _is_number(label) else (True, 0.0, label)


def _said(error: Any) -> str:
    where, problem = yamlfile.dotted(error["loc"]), yamlfile.problem(error)
    return f"{where}: {problem}" if where else problem


def without_folders(card: Card) -> Card:
    """The card as it may be shown to others: no paths of this machine."""
    files = [
        file.model_copy(update={"urls": [url for url in file.urls if not url.url.startswith("file:")]})
        for file in card.files
    ]
    shown: dict[str, Any] = {"files": files}
    if isinstance(card.format, ShardsFormat) and not is_url(card.format.folder):
        shown["format"] = card.format.model_copy(update={"folder": Path(card.format.folder).name})
    return card.model_copy(update=shown)


def openml_card(reference: str) -> Card:
    """The card of ``openml:1471``, which is fetched the first time and kept in the cache with its checksum.

    ConfigError where the number is none, DataUnavailable where it cannot be had, DataError where it cannot be used.
    """
    number = openml.number_of(reference)
    name = f"openml-{number}"
    folder = cache_folder() / "openml"
    place = folder / f"{name}.json"
    try:
        return Card.model_validate_json(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass  # the first time
    with naming_cache(name), locked(folder), tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        arrived = Path(scratch) / f"{name}.csv"
        about = openml.download(number, arrived)
        card = look(arrived, header=True, task=about.task).card()
        file = card.files[0].model_copy(update={"urls": [Source(url=f"{openml.SCHEME}{number}")]})
        facts = {"title": about.title, "licence": about.licence, "citation": about.citation}
        card = card.model_copy(update={**facts, "folder": "openml", "files": [file]})
        os.replace(arrived, raw_path(card, file))
        _replace(place, card.model_dump_json())
    return card


# ---- In words ----------------------------------------------------------------------------------------------


def described(seen: Seen) -> list[tuple[str, str]]:
    """What is seen in a file, as a person would say it: (what, value) each."""
    content, layout = seen.content, seen.content.format
    rows = len(content.target)
    said = [("file", seen.path.name), ("format", layout["kind"]), ("rows", f"{rows}"), ("inputs", f"{content.columns}")]
    if content.names:
        shown = ", ".join(content.names[:NAMES_SHOWN])
        said.append(("", shown + (", …" if len(content.names) > NAMES_SHOWN else "")))
    if layout["kind"] == "csv":
        delimiter = {"\t": "tab", " ": "space"}.get(layout["delimiter"], layout["delimiter"])
        said += [("delimiter", delimiter), ("header", "yes" if layout["header"] else "no")]
    said += [("target", content.target_name), ("task", seen.task)]
    for label, count in islice(seen.classes.items(), CLASSES_SHOWN):
        role = " (+1)" if label == seen.positive else " (−1)" if seen.positive else ""
        said.append(("class", f"{' '.join(label.split())}: {count}, {count / rows:.1%}{role}"))
    if (more := len(seen.classes) - CLASSES_SHOWN) > 0:
        said.append(("", f"and {more} classes more"))
    said += [("missing", f"{content.missing}" if content.missing else "none")]
    return [*said, *(("fault", fault) for fault in seen.faults)]


def write_card(seen: Seen, path: Path) -> None:
    """Write the card as a YAML file that can be edited; it names the data by its path from there.

    ConfigError where the file exists already or cannot be written, DataError where the data cannot be used.
    """
    if path.suffix != ".yaml":
        raise ConfigError(f"{path}: a card is a file whose name ends in .yaml")
    card = seen.card().model_copy(update={"name": path.stem})
    relative = os.path.relpath(seen.path.absolute(), path.parent.absolute())
    files = [{"name": seen.path.name, "checksum": card.files[0].checksum, "urls": [f"file:{quote(relative)}"]}]
    text = yamlfile.dump({**card.model_dump(mode="json", exclude_defaults=True), "files": files})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:  # the card, or a file in place of its folder
        raise ConfigError(f"{error.filename}: is there already; remove it, or give another name") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


# ---- For other processes -----------------------------------------------------------------------------------


def reference(name: str) -> str:
    """What another process, which has the same cache, finds the card by: the name, and for own data ``name@hash``;
    that card is then kept in the cache."""
    card = own_card(name)
    return name if card is None else keep(card)


def keep(card: Card) -> str:
    """Have the cache hold the card of own data; its reference."""
    place = _kept(card.name, card.content_hash)
    if not place.is_file():
        with naming_cache(card.name):
            place.parent.mkdir(parents=True, exist_ok=True)
            _replace(place, card.model_dump_json())
    return place.stem


def for_other_machines(reference: str) -> str | None:
    """The card of own data as text, which `keep_text` takes there; None of a dataset that has its card everywhere."""
    card = own_card(reference.partition("@")[0])
    return None if card is None else card.model_dump_json()


def keep_text(text: str) -> str:
    """Have this machine's cache hold the card that `for_other_machines` gave; its reference."""
    return keep(Card.model_validate_json(text))


def find(reference: str, data_hash: str = "") -> Card:
    """The card of a reference, or of a name and its content hash; ConfigError where there is none, or another."""
    name, _, known = reference.partition("@")
    known = data_hash or known
    if not known or is_card(name):
        return load_card(name)
    card = own_card(name)
    if card is None or not card.content_hash.startswith(known):
        try:
            card = Card.model_validate_json(_kept(name, known).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return load_card(name)
    return card


def _replace(place: Path, text: str) -> None:
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(place)


def _kept(name: str, data_hash: str) -> Path:
    return cache_folder() / "cards" / f"{name}@{data_hash[:12]}.json"
