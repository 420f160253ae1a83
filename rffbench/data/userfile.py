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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
from pydantic import ValidationError

from rffbench.data import openml
from rffbench.data.cards import Card, is_card, load_card, own_card, rule_in_rows
from rffbench.data.cells import MOST_CLASSES, few_whole, is_finite, label_order, label_text, merged
from rffbench.data.columns import Content, Decision
from rffbench.data.content import said_of_columns, see
from rffbench.data.dialect import SAMPLE_CHARACTERS, SAMPLE_LINES
from rffbench.data.fetch import cache_folder, locked, naming_cache, raw_path
from rffbench.data.formats import ShardsFormat, Source
from rffbench.data.parse import PARQUET, TOO_LARGE
from rffbench.data.shards import is_url
from rffbench.data.sheet import Options
from rffbench.data.texts import LINE_SHOWN, Lines, beginning, encoding_of
from rffbench.data.unpack import CHUNK, Unpackable, open_content
from rffbench.errors import OF_THE_DISK, ConfigError, DataError, unreadable
from rffbench.io import files, yamlfile
from rffbench.io.text import in_one_line

PACKED = (".gz", ".bz2", ".xz")
KINDS = {
    ".csv": "csv", ".tsv": "csv", ".npz": "npz", ".svm": "libsvm", ".libsvm": "libsvm", ".parquet": "parquet",
    ".arff": "arff", ".xlsx": "xlsx", ".txt": "text",
}  # fmt: skip
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PAIRS = r"(?:\s+qid:\w+)?(?P<pairs>(?:\s+\d+:[-+.\w]+)*)\s*(?:#.*)?"
LIBSVM_LINE = re.compile(rf"\s*(?P<labels>{_NUMBER}(?:,{_NUMBER})*)?{_PAIRS}")
NAMES_SHOWN = 12  # names of inputs in a description
CLASSES_SHOWN = 40  # classes in a description
COLUMNS_SHOWN = 30  # columns in a description
MOST_CARD = 100_000_000  # bytes of a card in the cache, which may have many words

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
    why: str = ""  # of the task

    @property
    def decisions(self) -> list[str]:
        """What was decided, and is not what one sees in the file: a line each, to be said aloud."""
        unusual = [f"{what}: {why}" for what, why in self.content.notes if what not in ("delimiter", "header", "names")]
        return [*unusual, *said_of_columns(self.content.decisions)]

    def card(self) -> Card:
        """The card; DataError if the file cannot be used, ConfigError if the split does not fit it."""
        if self.faults:
            raise DataError(f"{self.path.name}: {self.faults[0]}")
        try:
            card = Card.model_validate(self.fields)
            card._advice = tuple(f"{self.path.name}: {each}" for each in self.content.inputs.advice)
            card._decisions = tuple(f"{self.path.name}: {each}" for each in self.decisions)
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


def kind_of_content(path: Path) -> str:
    """The format of the file at ``path``: by its first bytes, its name, or its first lines. DataError for what is known
    to be no table, ConfigError for what is no text either."""
    begins = beginning(path)
    if begins.startswith(PARQUET):
        return "parquet"
    kind = kind_of(path)
    if begins.startswith(b"PK"):
        return "xlsx" if kind == "xlsx" or b"[Content_Types].xml" in begins or b"xl/" in begins else "npz"
    if kind not in (None, "text", "csv"):
        return kind or ""
    return _kind_of_lines(path)


def _kind_of_lines(path: Path) -> str:
    """The format by a text's first lines, for names that do not tell it, such as UCI's ``.data``."""
    encoding, _ = encoding_of(path)
    sample = list[str]()
    with open_content(path, path.name, text=True) as stream:
        for line in islice(Lines(stream, None, encoding), SAMPLE_LINES):
            sample += [line[:SAMPLE_CHARACTERS]] if line.strip() else []
    begins = next((line.strip().lower() for line in sample if not line.lstrip().startswith("%")), "")
    if begins.startswith(("@relation", "@attribute")):
        return "arff"
    if begins.startswith(("{", "[")) and begins.rstrip(",").endswith(("{", "[", "}", "]")):
        raise ConfigError(f"{path.name}: looks like JSON, which is not read; save it as CSV")
    lines = [line for line in sample if not line.startswith("#")]
    found = [match for match in map(LIBSVM_LINE.fullmatch, lines) if match]
    if len(found) >= 0.9 * len(lines) and any(match["pairs"] for match in found):
        if multilabel := next((match[0] for match in found if "," in (match["labels"] or ",")), None):
            raise ConfigError(
                f"{path.name}: {multilabel.strip()[:LINE_SHOWN]!r} has several labels, or none: a multilabel file in "
                "LIBSVM's format; rffbench learns one label a row: write a file for each label"
            )
        return "libsvm"
    return "csv"


def look(
    path: Path, *, name: str | None = None, split: str | Mapping[str, Any] | None = None, cells: bool = False,
    **given: Any,
) -> Seen:  # fmt: skip
    """The content of the file at ``path``.

    ``given`` are the `Options`; everything that is not given is decided by the content. ``name`` is the dataset's,
    ``split`` the rule by which trials share its rows. With ``cells`` the columns keep theirs. ConfigError if there
    is no such file or column, DataError if the file cannot be read in the format that it has.
    """
    if re.match(r"https?:/", str(path)):
        raise ConfigError(f"{str(path).replace(':/', '://')}: is a URL; download it and give the file")
    options = Options.of(given)
    _find(path)
    stem = path.name[: len(path.name) - sum(map(len, _endings(path)))]
    name = name or re.sub(r"[^\w.-]+", "-", stem).strip("-.") or "data"
    with naming(path):
        content = see(path, kind_of_content(path), options, keep=cells)
    return _taken_for(path, name, content, options.task, split)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """A context that turns errors of reading ``path`` into ConfigErrors and DataErrors that name it."""
    try:
        yield
    except (ConfigError, DataError) as error:
        if not str(error).startswith(path.name):
            raise type(error)(f"{path.name}: {error}") from None
        raise
    except MemoryError as error:
        raise DataError(f"{path.name}: {TOO_LARGE}") from error
    except Exception as error:  # readers of other libraries raise many things
        if isinstance(error, OSError) and error.errno in OF_THE_DISK:
            raise DataError(unreadable(path.name, error)) from error
        what = f"it {error}" if isinstance(error, Unpackable) else error
        raise DataError(f"{path.name}: cannot be read as {kind_of(path) or 'text'}: {what}") from error


def _taken_for(
    path: Path, name: str, content: Content, task: Task | None, split: str | Mapping[str, Any] | None
) -> Seen:
    """The file with its task, its classes and the faults of its target."""
    y, faults = content.target, list(content.inputs.faults)
    words, several = y.dtype == object, y.ndim > 1
    asked = task
    if several and task == "classification":
        raise ConfigError(
            f"{path.name}: task: several targets are for a regression, and a classification (also a metric of classes) "
            "has one: name one column as the target"
        )
    if task is None:
        is_classes = not several and (words or not np.isfinite(y).all() or few_whole(y))
        task = "classification" if is_classes else "regression"
    classes: dict[str, int] = {}
    if task == "classification":
        counts = merged(_label_counts(y))
        counts.pop("", None)
        classes = {label: counts[label] for label in sorted(counts, key=label_order)}
    values = (
        len(classes)
        if task == "classification"
        else min(len(np.unique(each.astype(str))) for each in y.reshape(len(y), -1).T)
    )
    if not faults and values < 2:
        first = str(y.flat[0])
        what = "a second value" if asked != "classification" and is_finite(first) else "a second class"
        there = f"the target, {content.target_name}, is {first!r} in all {len(y)} rows"
        faults.append(f"{there}: {what} is needed; {_OTHER_TARGET}")
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
    return Seen(path, name, content, task, classes, positive, faults, fields, _why(asked, y, task, len(classes)))


def _label_counts(y: np.ndarray) -> Counter[str]:
    """How often each label comes; numbers as their shortest texts."""
    if y.dtype == object:
        return Counter(map(str, y))
    found = Counter[str]()
    for value, count in Counter(y.tolist()).items():
        found[label_text(value)] += count
    return found


def _why(asked: Task | None, y: np.ndarray, task: Task, classes: int) -> str:
    """Why the target is taken for a task's."""
    if asked:
        return "as given"
    if task == "regression":
        values = len(np.unique(y)) if y.ndim == 1 else 0
        return f"{values:,} different numbers" if values else f"{y.shape[1]} targets"
    return f"{classes} different {'words' if y.dtype == object and not all(map(is_finite, y)) else 'numbers'}"


_OTHER_TARGET = "if another column is the target, give it: {path: …, target: …}"


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
    """The description of a file: pairs (what, value). Each decision is said with its reason, and of each column what
    is done with it."""
    content, layout = seen.content, seen.content.format
    rows = len(content.target)
    said = [("file", seen.path.name), ("format", layout["kind"]), ("rows", f"{rows}"), ("inputs", f"{content.columns}")]
    if content.names:
        shown = ", ".join(in_one_line(name) or "''" for name in content.names[:NAMES_SHOWN])
        said.append(("", shown + (", …" if len(content.names) > NAMES_SHOWN else "")))
    whys = dict(content.notes)
    if layout["kind"] == "csv":
        delimiter = {"\t": "tab", " ": "space"}.get(layout["delimiter"], layout["delimiter"])
        said += _with_why("delimiter", delimiter, whys.pop("delimiter", ""))
    if "header" in layout:
        said += _with_why("header", "yes" if layout["header"] else "no", whys.pop("header", ""))
    said += [(what, in_one_line(why)) for what, why in whys.items()]
    said += [("target", content.target_name), *_with_why("task", seen.task, seen.why)]
    for label, count in islice(seen.classes.items(), CLASSES_SHOWN):
        role = " (+1)" if label == seen.positive else " (−1)" if seen.positive else ""
        said.append(("class", f"{' '.join(label.split())}: {count}, {count / rows:.1%}{role}"))
    if (more := len(seen.classes) - CLASSES_SHOWN) > 0:
        said.append(("", f"and {more} classes more"))
    said += [("column", in_one_line(each)) for each in _columns(content.decisions)]
    said += [("missing", f"{sum(content.inputs.missing.values()) + content.inputs.targets_missing or 'none'}")]
    said += [("needs", advice) for advice in content.inputs.advice]
    return [*said, *(("fault", fault) for fault in seen.faults)]


def _with_why(what: str, value: str, why: str) -> list[tuple[str, str]]:
    return [(what, value), *([("", in_one_line(why))] if why else [])]


def _columns(decisions: Sequence[Decision]) -> list[str]:
    """What is done with each column; of more columns than can be shown, with those that are no plain numbers."""
    lines = [f"{each.title}: {'ignored, ' if each.use == 'ignored' else ''}{each.why}" for each in decisions]
    if len(lines) <= COLUMNS_SHOWN:
        return lines
    odd = [line for line, each in zip(lines, decisions, strict=True) if each.why != "numbers"]
    more = len(odd) - COLUMNS_SHOWN
    plain = [f"{len(lines) - len(odd)} more: numbers"] * (len(odd) < len(lines))
    return [*odd[:COLUMNS_SHOWN], *[f"{more} more: ignored, or no plain numbers"] * (more > 0), *plain]


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
