"""Dataset cards: a dataset's description, its sources, and the shape and counts that its parsed data must have.

A card is a YAML file named after its dataset. It has everything that a config needs to expand its grid (the input
dimension, the rows of each part, the content's hash), so that no data is read for that.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    StrictInt,
    ValidationError,
    model_validator,
)

from rffbench.data.cells import identity
from rffbench.data.dates import parts_of
from rffbench.data.formats import (
    LAST,
    Count,
    File,
    Format,
    Inside,
    Model,
    ParquetFormat,
    RowsFormat,
    ShardsFormat,
    Source,
)
from rffbench.errors import ConfigError, unknown
from rffbench.io import yamlfile
from rffbench.io.resources import resource_folder
from rffbench.io.text import canonical_json
from rffbench.io.yamlfile import Misplaced
from rffbench.plugins.guarded import load_added

ENTRY_POINTS = "rffbench.datasets"
FOLDERS = "RFFBENCH_DATASETS"  # folders of a user's own cards, separated as in PATH

# Part of the content hash. Raise it if a change here or in parse.py alters the arrays that are parsed from the same
# files, so that cached arrays and measured trials of the older code are not used.
READING = 1

OF_ARRAYS = {"task", "rows", "columns", "classes", "labels"}  # fields that, with format and files, define the arrays
IMPUTING, ONE_HOT = ("impute-median", "impute-most-frequent"), "onehot"  # steps of preprocess that need the card

VALUE_BYTES = 40  # the most bytes of a value: up to 24 characters of a float64, its separator and its index
HEADER_BYTES = 1 << 20


Word = Annotated[str, BeforeValidator(str)]


class Labels(Model):
    """Binary labels: the original labels listed become +1, all others −1."""

    positive: list[Word] = Field(min_length=1)


class SplitRule(Model):
    """How a trial's training and test rows are chosen. The order of the training rows is always random.

    - ``half``: n//2 random rows for training, the others for testing.
    - ``random``: ``train`` and ``test`` random rows.
    - ``given``: each file's ``part`` is its part; a single file has the training rows first.
    - ``given-sampled``: as given, but tested on ``test`` random rows of the given test part.
    - ``folds``: trial t is tested on fold t modulo the number of folds, and trained on the others. A file with
      ``part: folds`` has a line per row and a column per fold, with 1 if the row is in that fold; a fold has ``test``
      rows, give or take one.
    - ``permuted``: the first ``train`` rows of NumPy's ``default_rng(seed).choice(n, n, replace=False)`` for training
      and the next ``test`` for testing, in all trials, as in a paper's own script.
    """

    rule: Literal["half", "random", "given", "given-sampled", "folds", "permuted"]
    train: Count | None = None
    test: Count | None = None
    seed: Annotated[StrictInt, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _sizes_where_needed(self) -> SplitRule:
        if self.rule == "half" and (self.train or self.test):
            raise ValueError("the rule half takes no 'train' and 'test': they are half of the rows each")
        if self.rule != "half" and not (self.train and self.test):
            raise ValueError(f"the rule {self.rule} needs 'train' and 'test', the rows of each part")
        if (self.rule == "permuted") != (self.seed is not None):
            verb = "needs a" if self.rule == "permuted" else "takes no"
            raise ValueError(f"the rule {self.rule} {verb} 'seed': it is what permuted rows are drawn by")
        return self


class Card(Model):
    """A dataset card; its data must have ``rows``, ``columns`` and ``classes`` (original label: count).

    ``target_exp`` replaces the target y of a regression by eʸ, ``target_scale`` then divides it, and ``target_log``
    replaces it by log(1 + y). ``unavailable`` is the reason why there is nothing to fetch, and replaces ``files``.
    """

    name: str
    title: str
    task: Literal["classification", "regression"]
    rows: Annotated[StrictInt, Field(gt=1)]
    columns: Count
    classes: dict[Word, Count] = Field(default_factory=dict)
    labels: Labels | None = None
    missing: dict[Annotated[int, Field(ge=0)], Count] = Field(
        default_factory=dict, description="input column, counted from 0: how many of its values are missing"
    )
    categories: dict[Annotated[int, Field(ge=0)], Annotated[list[Word], Field(min_length=1)]] = Field(
        default_factory=dict, description="input column that holds words, counted from 0: the words, in order"
    )
    target_scale: float | None = Field(default=None, gt=0)
    target_exp: bool = Field(default=False, description="whether the file has the target's logarithm")
    target_log: bool = Field(default=False, description="whether log(1 + y) is learnt in place of the target y")
    split: SplitRule
    format: Format
    files: list[File] = Field(default_factory=list)
    unavailable: str = Field(default="", description="why no source has the files; in place of files")
    folder: Inside = Field(default="", description="mirror and cache folder; the dataset's name unless given")
    short: str = Field(default="", description="what people call it, as in figures and papers; its name unless given")
    bytes: int = Field(default=0, ge=0, description="of a file unpacked, where long texts make it larger than usual")
    licence: str
    citation: str
    paper: str = Field(default="", description="the paper and table or figure that it serves")
    mark: str = Field(default="", description="what a table must say wherever it shows this dataset")
    notes: str = ""

    # For a user's own file: the steps of preprocess that it needs, and what was decided and is not seen in the file.
    _advice: tuple[str, ...] = PrivateAttr(default=())
    _decisions: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="before")
    @classmethod
    def _folder_is_the_name(cls, value: Any) -> Any:
        if isinstance(value, dict) and not value.get("folder") and isinstance(value.get("name"), str):
            value = {**value, "folder": value["name"]}
        return value

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Card:
        if (self.task == "classification") != bool(self.classes):
            raise Misplaced("(label: count) goes with classification, and only with it", "classes")
        if self.classes and (total := sum(self.classes.values())) != self.rows:
            raise Misplaced(f"the class counts add up to {total}, not to rows: {self.rows}", "classes")
        same = identity(self.classes)
        if twice := [label for i, label in enumerate(self.classes) if same(label) in map(same, list(self.classes)[:i])]:
            raise Misplaced(f"{twice[0]!r} is the same number as a label before it", "classes")
        if len(self.classes) == 1:
            raise Misplaced("there is one class; a classification needs a second one", "classes")
        if self.labels and (strangers := set(self.labels.positive) - set(self.classes)):
            raise Misplaced(f"names {sorted(strangers)}, not among {list(self.classes)}", "labels", "positive")
        if self.labels and set(self.labels.positive) == set(self.classes):
            raise Misplaced("names every class, so that none is left to be −1", "labels", "positive")
        if len(self.classes) == 2 and not self.labels:
            raise Misplaced("two classes need labels.positive: which of them is +1", "labels")
        for key in ("target_scale", "target_exp", "target_log"):
            if getattr(self, key) and self.task != "regression":
                raise Misplaced("goes with regression, and only with it", key)
        if self.n_train + self.n_test > self.rows:
            raise Misplaced(f"{self.n_train} + {self.n_test} rows are more than rows: {self.rows}", "split")
        if self.split.rule in ("given", "folds") and self.n_train + self.n_test != self.rows:
            raise Misplaced(f"the given {self.n_train} + {self.n_test} rows must be all {self.rows}", "split")
        if [file.part for file in self.files].count("folds") != (self.split.rule == "folds" and not self.unavailable):
            raise Misplaced("the rule folds needs one file with part: folds, and no other rule has one", "files")
        parts = [file.part for file in self.files if file.part and file.part != "folds"]
        if parts != sorted(parts, reverse=True):
            raise Misplaced("training files come before test files", "files")
        if self.split_is_given and len(self.files) > 1 and len(parts) != len(self.files):
            raise Misplaced(f"{self.split.rule} needs the part, train or test, of each of the files", "split")
        if self.unavailable and self.files:
            raise Misplaced("takes the place of files", "unavailable")
        if self.is_streamed and self.split.rule != "given":
            raise Misplaced(f"{self.format.kind} needs the split {{rule: given}}: its rows are read in order", "format")
        if self.format.kind == "generated" and self.task != "regression":
            raise Misplaced("generated is for regression: how many rows of a class it has is not known", "format")
        embedded = self.is_streamed or self.format.kind in ("sklearn", "synthetic")
        if embedded == bool(self.files or self.unavailable):
            raise Misplaced(f"{self.format.kind} {'has no' if embedded else 'needs'} files", "format")
        if self.format.kind == "idx" and len(self.files) % 2:
            raise Misplaced("idx needs files in pairs, the inputs and then their labels", "format")
        for key in ("missing", "categories"):
            if outside := [column for column in getattr(self, key) if column >= self.columns]:
                raise Misplaced(f"{outside[0]}: there are {self.columns} inputs, counted from 0", key)
        if self.categories and not isinstance(self.format, RowsFormat | ParquetFormat):
            raise Misplaced(f"are columns of words, which {self.format.kind} has none of", "categories")
        self._columns_are_there()
        return self

    def _columns_are_there(self) -> None:
        """Raise Misplaced if the target or an ignored column of rows of cells does not exist, or is named twice."""
        if self.targets > 1 and self.task != "regression":
            raise Misplaced("several targets are for a regression", "format", "targets")
        if not isinstance(self.format, RowsFormat):
            return
        ignored = self.format.ignore or ()
        targets, key = self.format.learnt, "targets" if self.format.targets else "target"
        if key == "targets" and getattr(self.format, "target", None) not in (None, LAST):
            raise Misplaced("takes the place of 'target'; leave one of them out", "format", key)
        width = self.cells
        for where, columns in {key: targets, "ignore": ignored}.items():
            for column in columns:
                if not -width <= column < width:
                    problem = f"{column}: there are {width} columns, counted from 0, by what 'columns' says"
                    raise Misplaced(problem, "format", where)
        if len({column % width for column in targets}) < len(targets):
            raise Misplaced("a column is named twice", "format", key)
        if len({column % width for column in (*targets, *ignored)}) < len(targets) + len(ignored):
            raise Misplaced("a column is named twice, or is the target", "format", "ignore")

    @property
    def targets(self) -> int:
        """The number of targets of each row."""
        return len(self.format.learnt) if isinstance(self.format, RowsFormat | ParquetFormat) else 1

    @property
    def cells(self) -> int:
        """The number of cells of a row in the file: inputs, targets and ignored columns."""
        if not isinstance(self.format, RowsFormat | ParquetFormat):
            return self.columns + 1
        dates = sum(len(parts_of(each)) - 1 for each in (self.format.dates or {}).values())
        return self.columns - dates + self.targets + len(self.format.ignore or ())

    @property
    def n_train(self) -> int:
        return self.split.train or self.rows // 2

    @property
    def n_test(self) -> int:
        return self.split.test or self.rows - self.rows // 2

    @property
    def split_is_given(self) -> bool:
        return self.split.rule in ("given", "given-sampled")

    @property
    def split_is_prescribed(self) -> bool:
        """Whether all trials have the same training rows, because of the files or the card."""
        return self.split_is_given or self.split.rule == "permuted"

    @property
    def split_is_random(self) -> bool:
        """Whether a trial's rows are drawn from all rows, so that both parts may have the same row."""
        return self.split.rule in ("half", "random")

    @property
    def is_streamed(self) -> bool:
        """Whether its rows are read, or made, block by block, and never stored in the cache."""
        return self.format.kind in ("generated", "shards")

    @property
    def most_bytes(self) -> int:
        """A bound on the bytes of any of the files, unpacked: unpacking stops there."""
        return max(self.bytes, HEADER_BYTES + VALUE_BYTES * self.rows * self.cells)

    @property
    def content_hash(self) -> str:
        """SHA-256 (hex) of everything that defines the content: checksums, format, shape, label rule, split rule."""
        return self._hash({*OF_ARRAYS, "split"})

    @property
    def arrays_hash(self) -> str:
        """SHA-256 (hex) of everything that defines the parsed arrays: the content without the split rule."""
        return self._hash(OF_ARRAYS)

    @property
    def decisions(self) -> tuple[str, ...]:
        """Lines on what was decided of a user's own file, by its content; empty for other cards."""
        return self._decisions

    def columns_after(self, steps: Sequence[str]) -> int:
        """The number of columns of a trial's inputs after the ``steps`` of `rffbench.data.preprocess`."""
        filled = len(self.missing) if any(step in IMPUTING for step in steps) else 0
        words = sum(map(len, self.categories.values())) - len(self.categories) if ONE_HOT in steps else 0
        return self.columns + filled + words

    def _hash(self, fields: set[str]) -> str:
        defining = self.model_dump(mode="json", include=fields)
        # Options that a card does not set are left out, so that new options do not change its hash. Neither does the
        # folder of shards.
        if "split" in fields and self.split.seed is None:
            del defining["split"]["seed"]
        elsewhere = {"folder"} if isinstance(self.format, ShardsFormat) else None
        defining["format"] = self.format.model_dump(mode="json", exclude_none=True, exclude=elsewhere)
        for key in ("missing", "categories"):
            if getattr(self, key):
                defining[key] = self.model_dump(mode="json", include={key})[key]
        if self.target_scale is not None:
            defining["target_scale"] = self.target_scale
        for key in ("target_exp", "target_log"):
            if getattr(self, key):
                defining[key] = True
        file_fields = {"checksum", "content", "member", "part"}
        defining["files"] = [file.model_dump(mode="json", include=file_fields) for file in self.files]
        defining["class_order"] = list(self.classes)  # the codes of more than two classes follow it
        defining["reading"] = READING
        return hashlib.sha256(canonical_json(defining).encode()).hexdigest()


RULES = ("half", "random", "given", "given-sampled")
"""The split rules that a config may set: they need no file of their own."""


def rule_in_rows(split: str | Mapping[str, Any], rows: int) -> dict[str, Any]:
    """A split rule in a card's form. ``train`` and ``test`` may be shares of the ``rows``; the default ``test`` is the
    rest. ConfigError for an invalid rule."""
    rule: dict[str, Any] = {"rule": split} if isinstance(split, str) else dict(split)
    if "rule" not in rule:
        raise ConfigError(f"split: has no rule; it is one of {', '.join(RULES)}")
    if rule["rule"] not in RULES:
        raise ConfigError(f"split: {unknown('rule', rule['rule'], RULES)}")
    for part in ("train", "test"):
        if isinstance(share := rule.get(part), float | str):
            if isinstance(share, str) or not 0 < share < 1:
                what = f"a number of rows, or a share of them, such as 0.8, not {share!r}"
                raise ConfigError(f"split: {part} must be {what}")
            rule[part] = round(share * rows)
    if isinstance(train := rule.get("train"), int) and rule.get("test") is None:
        if train >= rows:
            raise ConfigError(f"split: train: {train} leaves none of the {rows} rows to test on")
        rule["test"] = rows - train
    return rule


def with_split(card: Card, split: str | Mapping[str, Any] | None) -> Card:
    """The card with another split rule (`rule_in_rows`); the card itself if ``split`` is None. With the rule given, the
    training rows are the first of the files, and the test rows the last. ConfigError if the rule does not fit the
    data."""
    if split is None:
        return card
    try:
        rule = SplitRule.model_validate(rule_in_rows(split, card.rows))
    except ValidationError as error:
        raise ConfigError(f"split: {yamlfile.problem(error.errors()[0])}") from None
    changed = card.model_copy(update={"split": rule})
    there = f"the {card.rows} rows of {card.name}"
    if changed.n_train + changed.n_test > card.rows:
        raise ConfigError(f"split: {changed.n_train} + {changed.n_test} are more than {there}")
    if card.is_streamed and rule.rule != "given":
        raise ConfigError(f"split: {card.name} is read in order: its rule must be given, not {rule.rule}")
    if card.is_streamed and changed.n_train + changed.n_test != card.rows:
        raise ConfigError(f"split: the given {changed.n_train} + {changed.n_test} must be all of {there}")
    return changed


def card_names() -> list[str]:
    """The names of all cards: of rffbench, of RFFBENCH_DATASETS and of installed packages (entry points)."""
    return sorted(_found()[0])


def is_card(name: str) -> bool:
    """Whether a card has that name. Installed packages are searched only if rffbench has no such card."""
    return name in _shipped() or name in _found()[0]


def card_faults() -> list[str]:
    """Messages on cards of RFFBENCH_DATASETS and of installed packages that are not used because of a fault."""
    return list(_found()[1])


def load_card(name: str) -> Card:
    """The card called ``name``; ConfigError if no card has that name, or if the card itself is wrong."""
    return _own.get(name) or _load_card(name)


@cache
def _load_card(name: str) -> Card:
    if shipped := _shipped().get(name):
        return read_card(shipped)
    paths, faults = _found()
    if name not in paths:
        raise ConfigError("; ".join([unknown("dataset", name, sorted({*paths, *_own})), *faults]))
    return read_card(paths[name])


_own: dict[str, Card] = {}


def add_card(card: Card) -> str:
    """Register the card of a user's own data for ``load_card``, in this process; return its name. It replaces an own
    card with that name. ConfigError if another dataset has the name."""
    if is_card(card.name) and _load_card(card.name).content_hash != card.content_hash:
        raise ConfigError(f"there is another dataset called {card.name!r} already; give this one a name of its own")
    _own[card.name] = card
    return card.name


def own_card(name: str) -> Card | None:
    """The card that ``add_card`` registered under this name, if any."""
    return _own.get(name)


def read_card(path: Path) -> Card:
    """Read one card file. ConfigError lists every mistake in it, with its line."""
    card = yamlfile.load(path, Card)
    if card.name != path.stem:
        where = yamlfile.place(path, "name")
        raise ConfigError(f"{where}: the card's name is {card.name!r}; it must be the file's, {path.stem!r}")
    return _with_absolute_paths(card, path.parent)


def _with_absolute_paths(card: Card, folder: Path) -> Card:
    """The card with absolute ``file:`` URLs; relative ones are relative to the card's folder."""

    def absolute(source: Source) -> Source:
        path = source.url.removeprefix("file:")
        if path == source.url or path.startswith("/"):
            return source
        return source.model_copy(update={"url": (folder.absolute() / unquote(path)).resolve().as_uri()})

    files = [file.model_copy(update={"urls": [absolute(url) for url in file.urls]}) for file in card.files]
    return card.model_copy(update={"files": files})


@cache
def _shipped() -> dict[str, Path]:
    return {path.stem: path for path in sorted(resource_folder("datasets").glob("*.yaml"))}


@cache
def _found() -> tuple[dict[str, Path], list[str]]:
    """The path of each card by name (the first card with a name counts), and messages on folders and packages with
    faults."""
    folders, faults = list[Path](), []
    for folder in filter(None, os.environ.get(FOLDERS, "").split(os.pathsep)):
        if not (path := Path(folder).expanduser()).is_dir():
            faults.append(f"{FOLDERS}: there is no folder {folder}")
        folders.append(path)
    # An entry point names a package whose folder holds cards.
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            folders += [Path(folder) for folder in getattr(load_added(entry), "__path__", [])]
        except ConfigError as error:
            faults.append(f"the datasets of {entry.name!r} are passed over: {error}")
    paths = dict(_shipped())
    for path in (path for folder in folders for path in sorted(folder.glob("*.yaml"))):
        if path.stem in paths:
            faults.append(f"{path} is passed over: {paths[path.stem]} has the same name")
        else:
            paths[path.stem] = path
    return paths, faults
