"""A user's own data by path: finds out what a file contains, and makes a card for it.

The file is read once, block by block, before any trial. Like a card of rffbench, its card has shape, classes and
checksum. Messages on faults give line (counted as in an editor), column and value.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
from pydantic import ValidationError

from rffbench import files, yamlfile
from rffbench.data import delimited, openml
from rffbench.data.cards import Card, is_card, load_card, own_card, rule_in_rows
from rffbench.data.cells import (
    MISSING,
    MOST_CLASSES,
    Content,
    Findings,
    Inputs,
    few_whole,
    is_finite,
    label_order,
    label_text,
    merged,
)
from rffbench.data.delimited import SAMPLE_LINES, column_of, written
from rffbench.data.fetch import cache_folder, locked, naming_cache, raw_path
from rffbench.data.formats import ShardsFormat, Source
from rffbench.data.libsvm import not_finite, svmlight
from rffbench.data.npz import Npz
from rffbench.data.parse import TOO_LARGE, numbers_or_texts, read_parquet
from rffbench.data.shards import is_url
from rffbench.data.unpack import CHUNK, Unpackable, open_content
from rffbench.errors import ConfigError, DataError
from rffbench.text import in_one_line

PACKED = (".gz", ".bz2", ".xz")
KINDS = {
    ".csv": "csv", ".tsv": "csv", ".npz": "npz", ".svm": "libsvm", ".libsvm": "libsvm", ".parquet": "parquet",
    ".txt": "text",
}  # fmt: skip
LIBSVM_LINE = re.compile(rb"\s*[-+.\w]+\s+\d+:[-+.\w]+(\s|$)")
NAMES_SHOWN = 12  # names of inputs in a description
CLASSES_SHOWN = 40  # classes in a description
MOST_CARD = 100_000_000  # bytes of a card in the cache, which may have many words
MOST_COLUMNS = 1_000_000  # rows are stored dense: one row of that width takes 8 MB

Task = Literal["classification", "regression"]


@dataclass(frozen=True)
class Seen:
    """A file's content, and its interpretation as a task."""

    path: Path
    name: str
    content: Content
    task: Task
    classes: dict[str, int]
    positive: str | None
    faults: list[str]
    fields: dict[str, Any] = field(repr=False)  # the card's

    def card(self) -> Card:
        """The card; DataError if the file cannot be used, ConfigError if the split does not fit it."""
        if self.faults:
            raise DataError(f"{self.path.name}: {self.faults[0]}")
        try:
            card = Card.model_validate(self.fields)
            card._advice = tuple(f"{self.path.name}: {each}" for each in self.content.inputs.advice)
        except ValidationError as error:
            raise ConfigError(f"{self.path.name}: {'; '.join(_said(each) for each in error.errors())}") from None
        size = _bytes(self.path)
        return card.model_copy(update={"bytes": size}) if size > card.most_bytes else card


def is_data_path(text: str) -> bool:
    """Whether a text is a dataset's path, and not its name."""
    return "/" in text or "\\" in text or kind_of(text) is not None or text.endswith((".yaml", ".yml"))


def kind_of(path: str | Path) -> str | None:
    """The format by a file's name, if it is supported; "text" if the file's lines must decide it."""
    return KINDS.get(_endings(Path(path))[0])


def _kind_of_lines(path: Path) -> str:
    """The format by a text's first lines, for names that do not tell it, such as UCI's ``.data``."""
    with open_content(path, path.name) as stream:
        sample = list(islice(iter(lambda: stream.readline(CHUNK), b""), SAMPLE_LINES))
    if any(b"\0" in line for line in sample):
        raise ConfigError(
            f"{path.name}: data by path is text (CSV, LIBSVM), .npz or .parquet, or these with {', '.join(PACKED)}; "
            "this is none of them"
        )
    if re.match(rb"\s*[@%]", next((line for line in sample if line.strip()), b"")):
        raise ConfigError(f"{path.name}: looks like ARFF, which only a card can read; save it as CSV, or write a card")
    return "libsvm" if any(map(LIBSVM_LINE.match, sample)) else "csv"


def look(
    path: Path, *, name: str | None = None, target: str | int | None = None, task: Task | None = None,
    split: str | Mapping[str, Any] | None = None, ignore: tuple[str | int, ...] = (), header: bool | None = None,
    categories: tuple[str | int, ...] = (),
) -> Seen:  # fmt: skip
    """The content of the file at ``path``.

    ``target``, ``ignore`` and ``categories`` (numbers that mean words) are columns, by name or number from 0, negative
    from the end (for an .npz, the arrays' names). Everything that is not given is guessed. ConfigError if there is no
    such file or column, DataError if the file cannot be read in the format that its name says.
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
            content = delimited.see(path, target, task, ignore, header, categories)
        elif kind == "parquet":
            content = _see_parquet(path, target, ignore, categories)
        else:
            if ignore or categories:
                key = "ignore" if ignore else "categories"
                raise ConfigError(f"{path.name}: {key} is for columns of .csv, .tsv and .parquet files")
            content = {"npz": _see_npz, "libsvm": _see_libsvm}[kind](path, target)
    except (ConfigError, DataError):
        raise
    except MemoryError as error:
        raise DataError(f"{path.name}: {TOO_LARGE}") from error
    except Exception as error:  # readers of other libraries raise many things
        what = f"it {error}" if isinstance(error, Unpackable) else error
        raise DataError(f"{path.name}: cannot be read as {kind or 'text'}: {what}") from error
    return _taken_for(path, name, content, task, split)


def _taken_for(
    path: Path, name: str, content: Content, task: Task | None, split: str | Mapping[str, Any] | None
) -> Seen:
    """The file with its task, its classes and the faults of its target."""
    y, faults = content.target, list(content.inputs.faults)
    words = y.dtype == object
    asked = task
    if task is None:
        task = "classification" if words or not np.isfinite(y).all() or few_whole(y) else "regression"
    classes: dict[str, int] = {}
    if task == "classification":
        counts = merged(Counter(map(str if words else label_text, y)))
        counts.pop("", None)
        classes = {label: counts[label] for label in sorted(counts, key=label_order)}
    values = len(classes) if task == "classification" else len(np.unique(y.astype(str)))
    if not faults and values < 2:
        what = "a second value" if asked != "classification" and is_finite(str(y[0])) else "a second class"
        faults.append(f"the target, {content.target_name}, is {str(y[0])!r} in all {len(y)} rows: {what} is needed; "
                      f"{_OTHER_TARGET}")  # fmt: skip
    if not faults and MOST_CLASSES < len(classes) == len(y):
        each = f"the target, {content.target_name}, is another one in each of the {len(y)} rows"
        faults.append(f"{each}; {_OTHER_TARGET}")
    positive = list(classes)[-1] if len(classes) == 2 else None
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    try:
        rule = rule_in_rows(split or "half", len(y))
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error}") from None
    fields = {
        "name": name, "title": path.name, "task": task, "rows": len(y), "columns": content.columns, "classes": classes,
        "labels": {"positive": [positive]} if positive else None, "split": rule,
        "missing": content.inputs.missing, "categories": content.inputs.categories, "format": content.format,
        "files": [{"name": path.name, "checksum": f"sha256:{digest}", "urls": [path.absolute().as_uri()]}],
        "folder": f"{name}-{digest[:12]}", "licence": "not stated", "citation": "a user's own data",
    }  # fmt: skip
    return Seen(path, name, content, task, classes, positive, faults, fields)


_OTHER_TARGET = "if another column is the target, give it: {path: …, target: …}"


# ---- The other formats -------------------------------------------------------------------------------------


def _see_libsvm(path: Path, target: str | int | None) -> Content:
    if target is not None:
        raise ConfigError(f"{path.name}: target: a LIBSVM file has its target at the beginning of each line")
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


def _see_npz(path: Path, target: str | int | None) -> Content:
    if isinstance(target, int):
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
        rows, columns = archive.shape(inputs)
        if not rows or not columns:
            raise DataError(f"{path.name}: {inputs} has no {'columns' if rows else 'rows'}")
        y = archive.target(label, rows, inputs)
        found = Inputs(columns)
        for X in archive.rows(inputs):
            found.add_numbers(X)

    def place(row: int, column: int) -> str:
        return f"row {row}, column {column + 1} of {inputs}"

    findings = found.findings(place, lambda columns: f"leave columns {columns} out of {inputs}")
    if y.dtype != object and not np.isfinite(y).all():
        findings.faults.append(f"row {np.argmin(np.isfinite(y)) + 1} of {label} is missing or not finite")
    layout = {"kind": "npz", "inputs": inputs, "target": label}
    return Content(layout, columns, y, f"the array {label}", [], findings)


def _see_parquet(
    path: Path, target: str | int | None, ignore: tuple[str | int, ...], categories: tuple[str | int, ...]
) -> Content:
    with open_content(path, path.name) as stream:
        table = read_parquet(stream)
    names = [str(name) for name in table.columns]
    if not len(table):
        raise DataError(f"{path.name}: has no rows")
    at = column_of(path, "target", -1 if target is None else target, names, len(names))
    ignored = [column_of(path, "ignore", each, names, len(names)) for each in ignore]
    columns = [column for column in range(len(names)) if column != at and column not in ignored]
    if not columns:
        raise ConfigError(f"{path.name}: beside the target, {names[at]!r}, there is no input")
    declared = [column_of(path, "categories", each, names, len(names)) for each in categories]
    if strange := [given for given, column in zip(categories, declared, strict=True) if column not in columns]:
        raise ConfigError(f"{path.name}: categories: {strange[0]!r} is not an input")
    found = Inputs(len(columns), [columns.index(column) for column in declared])
    found.rows = len(table)
    for i, column in enumerate(columns):
        found.add_column(i, numbers_or_texts(table.iloc[:, column], words=column in declared))

    def place(row: int, column: int) -> str:
        return f"row {row}, column {names[columns[column]]!r}"

    def leave_out(inputs: list[int]) -> str:
        return f"{{path: …, ignore: {written([names[columns[i]] for i in inputs])}}}"

    findings = found.findings(place, leave_out)
    y = numbers_or_texts(table.iloc[:, at])
    wrong = np.array([not each or each.casefold() in MISSING for each in y]) if y.dtype == object else ~np.isfinite(y)
    if wrong.any():
        findings.faults.append(f"row {wrong.argmax() + 1}, column {names[at]!r}: the value is missing or not finite")
    layout: dict[str, Any] = {"kind": "parquet", "target": names[at]}
    if ignored:
        layout["ignore"] = [names[column] for column in ignored]
    return Content(layout, len(columns), y, repr(names[at]), [names[i] for i in columns], findings)


# ---- Paths and messages ------------------------------------------------------------------------------------


def _find(path: Path) -> None:
    """ConfigError, with the nearest name in the folder, if ``path`` is not a file."""
    if path.is_file():
        return
    if path.is_dir():
        raise ConfigError(f"{path.name or path}: is a folder; give a file")
    if os.path.lexists(path):
        raise ConfigError(
            f"{path.name}: is not a regular file, but a pipe, a device or a broken link; give a copy of it"
        )
    beside = [each.name for each in path.parent.iterdir() if each.is_file()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.5)
    raise ConfigError(f"{path}: no such file" + (f"; did you mean {near[0]}?" if near else ""))


def _endings(path: Path) -> tuple[str, str]:
    """(the ending for the format, the ending for how it is packed); both may be empty."""
    packed = path.suffix if path.suffix in PACKED else ""
    return Path(path.name.removesuffix(packed)).suffix.lower(), packed


def _bytes(path: Path) -> int:
    """The bytes of the file, packed or unpacked, whichever is more."""
    size = path.stat().st_size
    if path.suffix not in PACKED:
        return size
    with open_content(path, path.name) as stream:
        return max(size, sum(map(len, iter(lambda: stream.read(CHUNK), b""))))


def _said(error: Any) -> str:
    where, problem = yamlfile.dotted(error["loc"]), yamlfile.problem(error)
    return f"{where}: {problem}" if where else problem


def without_folders(card: Card) -> Card:
    """The card without paths of this machine."""
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

    ConfigError for an invalid number, DataUnavailable if it cannot be fetched, DataError if it cannot be used.
    """
    number = openml.number_of(reference)
    name = f"openml-{number}"
    folder = cache_folder() / "openml"
    place = folder / f"{name}.json"
    try:
        return Card.model_validate_json(files.read_regular(place, MOST_CARD))
    except (OSError, ValueError):
        pass  # the first time
    with naming_cache(name), locked(folder), tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        arrived = Path(scratch) / f"{name}.csv"
        about = openml.download(number, arrived)
        card = look(arrived, header=True, task=about.task).card()
        file = card.files[0].model_copy(update={"urls": [Source(url=f"{openml.SCHEME}{number}")]})
        facts = {"title": about.title, "licence": about.licence, "citation": about.citation}
        card = card.model_copy(update={**facts, "folder": "openml", "files": [file]})
        files.move(arrived, raw_path(card, file))
        files.replace(place, card.model_dump_json())
    return card


# ---- In words ----------------------------------------------------------------------------------------------


def described(seen: Seen) -> list[tuple[str, str]]:
    """The description of a file: pairs (what, value)."""
    content, layout = seen.content, seen.content.format
    rows = len(content.target)
    said = [("file", seen.path.name), ("format", layout["kind"]), ("rows", f"{rows}"), ("inputs", f"{content.columns}")]
    if content.names:
        shown = ", ".join(in_one_line(name) or "''" for name in content.names[:NAMES_SHOWN])
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
    said += [("missing", f"{sum(content.inputs.missing.values()) + content.inputs.targets_missing or 'none'}")]
    said += [("needs", advice) for advice in content.inputs.advice]
    return [*said, *(("fault", fault) for fault in seen.faults)]


def write_card(seen: Seen, path: Path) -> None:
    """Write the card as a YAML file that can be edited; it has the data's path relative to itself.

    ConfigError if the file exists already or cannot be written, DataError if the data cannot be used.
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
    except FileExistsError as error:  # the card exists, or a file has the name of its folder
        raise ConfigError(f"{error.filename}: is there already; remove it, or give another name") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


# ---- For other processes -----------------------------------------------------------------------------------


def reference(name: str) -> str:
    """The name by which another process with the same cache finds the card: the dataset's name, or ``name@hash`` for
    own data, whose card is then kept in the cache."""
    card = own_card(name)
    return name if card is None else keep(card)


def keep(card: Card) -> str:
    """Keep the card of own data in the cache; return its reference."""
    place = _kept(card.name, card.content_hash)
    if not place.is_file():
        with naming_cache(card.name):
            files.make_folder(place.parent)
            files.replace(place, card.model_dump_json())
    return place.stem


def for_other_machines(reference: str) -> str | None:
    """The card of own data as text, for `keep_text` on other machines; None for a dataset of rffbench."""
    card = own_card(reference.partition("@")[0])
    return None if card is None else card.model_dump_json()


def keep_text(text: str) -> str:
    """Keep a card from `for_other_machines` in this machine's cache; return its reference."""
    return keep(Card.model_validate_json(text))


def find(reference: str, data_hash: str = "") -> Card:
    """The card of a reference, or of a name with its content hash; ConfigError if there is no such card."""
    name, _, known = reference.partition("@")
    known = data_hash or known
    if not known or is_card(name):
        return load_card(name)
    card = own_card(name)
    if card is None or not card.content_hash.startswith(known):
        try:
            card = Card.model_validate_json(files.read_regular(_kept(name, known), MOST_CARD))
        except (OSError, ValueError):
            return load_card(name)
    return card


def _kept(name: str, data_hash: str) -> Path:
    return cache_folder() / "cards" / f"{name}@{data_hash[:12]}.json"
