"""Datasets: cards, fetching, parsing, splitting, scaling. What the layers above use is in this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rffbench.data import repeats, shards, store, streams, userfile
from rffbench.data.cards import Card, card_names, load_card, with_split
from rffbench.data.fetch import Progress, cache_folder
from rffbench.data.parse import read_blocks
from rffbench.data.preprocess import Preprocessor, check_steps
from rffbench.data.rows import Rows
from rffbench.data.split import held_out_rows, split_rows
from rffbench.data.streams import Stream, Targets
from rffbench.data.userfile import reference
from rffbench.errors import ConfigError, DataError
from rffbench.rowsource import row_blocks

__all__ = [
    "Card",
    "Dataset",
    "Rows",
    "Split",
    "cache_folder",
    "card_names",
    "check_steps",
    "data_hash",
    "describe",
    "ensure",
    "is_cached",
    "load",
    "load_card",
    "mend",
    "reference",
    "repeated_rows",
    "train_test",
    "verify",
]


@dataclass(frozen=True)
class Dataset:
    """A whole dataset, memory-mapped or streamed: ``X`` (n, d) and ``y`` (n,) float64; binary classes are −1 and +1."""

    card: Card
    X: np.ndarray | Stream
    y: np.ndarray | Targets
    folds: np.ndarray | None = None  # (n,): the number of each row's fold, where the split has folds


@dataclass(frozen=True)
class Split:
    """One trial's rows. ``X_train`` and ``X_test`` are fetched and scaled as they are read; ``y`` float64, and of the
    training rows of a stream read as it is asked for, too."""

    X_train: Rows
    y_train: np.ndarray | Targets
    X_test: Rows
    y_test: np.ndarray
    task: Literal["classification", "regression"]
    card: Card


def ensure(name: str, progress: Progress | None = None) -> None:
    """Fetch and parse ``name``, unless the cache has it and what it has is undamaged: that is read through.

    ``progress(file, bytes so far, bytes in all)`` is called while a file is downloaded. Raises
    DataUnavailable if no source has the files, DataError if they are not what the card says,
    ConfigError for an unknown name. Own data is given by its `reference`.
    """
    card = userfile.find(name)
    if not card.is_streamed:
        store.prepare(card, progress, checked=True)
    elif card.format.kind == "shards":
        shards.check(card)


def mend(name: str, progress: Progress | None = None) -> None:
    """`ensure`, after which `verify` agrees too: files in the cache that are not the card's are fetched again, also
    where their arrays are right and a run would not need them."""
    ensure(name, progress)
    if not (card := userfile.find(name)).is_streamed:
        store.mend(card, progress)


def is_cached(name: str) -> bool:
    """Whether the cache holds ``name``, parsed and undamaged as far as sizes and times of its files tell; of what is
    streamed nothing is ever cached, and nothing has to be."""
    card = userfile.find(name)
    return card.is_streamed or store.is_ready(card)


def data_hash(name: str) -> str | None:
    """The checksum of the arrays parsed from ``name``'s files: ``sha256:…`` of X's bytes, then y's, as float64 in rows.
    None if the cache does not hold them, where they are streamed, or where no card has that name."""
    try:
        card = load_card(name)
        return None if card.is_streamed else store.cached_checksum(card)
    except ConfigError:
        return None


def load(name: str, data_hash: str = "") -> Dataset:
    """``name`` memory-mapped from the cache, which is filled first where needed; errors as of ``ensure``.

    ``data_hash``, a card's content hash, tells which of several files of a user's own is meant."""
    card = userfile.find(name, data_hash)
    if card.is_streamed:
        rows = streams.stream(card)
        return Dataset(card, rows, Targets(rows, range(card.rows)))
    store.prepare(card)
    arrays = store.open_arrays(card)
    if arrays is None:
        raise DataError(f"{name}: {store.arrays_folder(card)} was removed while it was being opened")
    return Dataset(card, *arrays, store.open_folds(card) if card.split.rule == "folds" else None)


def train_test(
    name: str,
    *,
    data_hash: str = "",
    seed: int,
    trial: int,
    preprocess: Sequence[str] = ("none",),
    preprocess_fit: Literal["train", "all", "parts"] = "train",
    dtype: Any = np.float64,
    train_rows: int | None = None,
    held_out: float | None = None,
    split: Mapping[str, Any] | None = None,
    target: Literal["given", "standard"] = "given",
) -> Split:
    """The split of one trial, scaled by the steps of ``preprocess`` (see preprocess.py).

    The steps are fitted on the training rows, on all rows of the dataset, or, of ``parts``, for the training rows on
    these and for the test rows on those. Which rows are training rows,
    and in what order, depends on (seed, name, trial) and on nothing else; ``train_rows`` keeps the first of them.
    ``held_out`` is the share of the training rows, the last of them, that is tested on in place of the test rows:
    what is chosen by such a score has seen no test row. ``split`` is a rule in place of the card's.
    A regression's ``target`` is as given, or standard: less the mean of the training rows' and over their standard
    deviation (n in the divisor).
    """
    data = load(name, data_hash)
    card = with_split(data.card, split)
    if isinstance(data.X, Stream):
        return _streamed(card, data.X, preprocess, preprocess_fit, dtype, train_rows, held_out)
    train, test = split_rows(card, seed, trial, data.folds if card.split.rule == "folds" else None)
    if held := held_out_rows(held_out, len(train)):
        train, test = train[:-held], np.sort(train[-held:])
    train = train[:train_rows]
    fitted_on = np.arange(data.card.rows) if preprocess_fit == "all" else np.sort(train)
    scaling = Preprocessor(preprocess, data.card).fit(Rows(data.X, fitted_on).blocks)
    of_test = scaling
    if preprocess_fit == "parts":
        of_test = Preprocessor(preprocess, data.card).fit(Rows(data.X, test).blocks)
    y_train, y_test = data.y[train], data.y[test]
    if target == "standard" and data.card.task == "regression":
        mean, std = y_train.mean(), y_train.std()
        y_train, y_test = (y_train - mean) / (std or 1.0), (y_test - mean) / (std or 1.0)
    return Split(
        Rows(data.X, train, scaling, dtype, data.card),
        y_train,
        Rows(data.X, test, of_test, dtype, data.card),
        y_test,
        data.card.task,
        data.card,
    )


def _streamed(
    card: Card, rows: Stream, preprocess: Sequence[str], preprocess_fit: str, dtype: Any, train_rows: int | None,
    held_out: float | None,
) -> Split:  # fmt: skip
    """The same of a stream, whose training rows are its first ones, in order, in every trial: no index is held."""
    train, test = range(card.n_train), range(card.n_train, card.n_train + card.n_test)
    if held := held_out_rows(held_out, len(train)):
        train, test = train[:-held], train[-held:]
    train = train[:train_rows]
    fitted_on = range(card.rows) if preprocess_fit == "all" else train
    scaling = Preprocessor(preprocess, card).fit(Rows(rows, fitted_on).blocks)
    of_test = scaling
    if preprocess_fit == "parts":
        of_test = Preprocessor(preprocess, card).fit(Rows(rows, test).blocks)
    return Split(
        Rows(rows, train, scaling, dtype, card),
        Targets(rows, train),
        Rows(rows, test, of_test, dtype, card),
        np.asarray(Targets(rows, test)),
        card.task,
        card,
    )


def describe(name: str) -> dict[str, Any]:
    """What the card says of ``name``, and whether and where it is cached; reads no data."""
    card = load_card(name)
    return {
        "name": card.name,
        "title": card.title,
        "task": card.task,
        "rows": card.rows,
        "columns": card.columns,
        "train": card.n_train,
        "test": card.n_test,
        "split": card.split.rule,
        "classes": dict(card.classes),
        "balance": {label: count / card.rows for label, count in card.classes.items()},
        "positive": list(card.labels.positive) if card.labels else [],
        "licence": card.licence,
        "citation": card.citation,
        "paper": card.paper,
        "mark": card.mark,
        "notes": card.notes,
        "files": list(dict.fromkeys(file.name for file in card.files)),
        "unavailable": card.unavailable,
        "content_hash": card.content_hash,
        "cached": is_cached(name),
        "path": "" if card.is_streamed else str(store.arrays_folder(card)),
    }


def repeated_rows(card: Card, paths: list[Path] | None = None) -> list[tuple[str, str]]:
    """In words, how many rows of ``card`` are repeated, and how many test rows its split gives away by them: (what,
    value) each. The rows are those of the files at ``paths``, else of the cache; of streams nothing is counted."""
    if card.is_streamed:
        return []
    if paths is not None:
        blocks = ((block.X, block.target) for block in read_blocks(card, paths))
        return repeats.in_words(repeats.repeats(blocks), card)
    data = load(card.name)
    found = repeats.repeats((data.X[rows], data.y[rows]) for rows in row_blocks(card.rows))
    return repeats.in_words(found, card, data.folds)


def verify(name: str) -> None:
    """Read the cached files of ``name`` again and compare checksums, counts and arrays with the card.

    Raises DataUnavailable if the cache lacks something, DataError if something is wrong.
    """
    card = load_card(name)
    if card.is_streamed:
        ensure(name)
    else:
        store.check(card)
