"""Datasets: cards, fetching, parsing, splitting, scaling. This file has the functions that other layers use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rffbench.arguments.rowsource import row_blocks
from rffbench.data import repeats, shards, store, streams, userfile
from rffbench.data.cards import Card, card_names, load_card, with_split
from rffbench.data.fetch import Progress, cache_folder
from rffbench.data.parse import read_blocks
from rffbench.data.preprocess import Preprocessor, check_steps
from rffbench.data.rows import Rows
from rffbench.data.split import held_out_rows, split_appended, split_rows
from rffbench.data.streams import Stream, Targets
from rffbench.data.userfile import reference
from rffbench.errors import ConfigError
from rffbench.linalg.centring import origin_of

__all__ = [
    "Card", "Dataset", "Rows", "Split", "cache_folder", "card_names", "check_steps", "data_hash", "describe", "ensure",
    "is_cached", "load", "load_card", "mend", "reference", "repeated_rows", "train_test", "verify",
]  # fmt: skip


@dataclass(frozen=True)
class Dataset:
    """A whole dataset, memory-mapped or streamed: ``X`` (n, d) and ``y`` (n,) float64, of several targets (n, targets);
    binary classes are −1 and +1."""

    card: Card
    X: np.ndarray | Stream
    y: np.ndarray | Targets
    folds: np.ndarray | None = None  # (n,): the number of each row's fold, if the split has folds


@dataclass(frozen=True)
class Split:
    """One trial's rows. ``X_train`` and ``X_test`` are read and scaled lazily. ``y`` is float64; a stream's ``y_train``
    is lazy, too."""

    X_train: Rows
    y_train: np.ndarray | Targets
    X_test: Rows
    y_test: np.ndarray
    task: Literal["classification", "regression"]
    card: Card


def ensure(name: str, progress: Progress | None = None) -> None:
    """Fetch and parse ``name``, unless the cache has it undamaged (all its bytes are read to check that).

    ``progress(file, bytes so far, bytes in all)`` is called during a download. Raises DataUnavailable if no source has
    the files, DataError if they do not match the card, ConfigError for an unknown name. A user's own data is named by
    its `reference`.
    """
    card = userfile.find(name)
    if not card.is_streamed:
        store.prepare(card, progress, checked=True)
    elif card.format.kind == "shards":
        shards.check(card)


def mend(name: str, progress: Progress | None = None) -> None:
    """`ensure`, and also fetch wrong files in the cache again, even if their arrays are right and a run would not need
    the files. After it, `verify` succeeds."""
    ensure(name, progress)
    if not (card := userfile.find(name)).is_streamed:
        store.mend(card, progress)


def is_cached(name: str) -> bool:
    """Whether the cache holds ``name``, parsed, with files of the recorded sizes and times. Always true for streamed
    data, which is not cached."""
    card = userfile.find(name)
    return card.is_streamed or store.is_ready(card)


def data_hash(name: str) -> str | None:
    """The checksum of the arrays parsed from ``name``'s files: ``sha256:…`` of the bytes of X by rows, then of y, as
    float64. None if the cache does not hold them, for streamed data, and for an unknown name."""
    try:
        card = load_card(name)
        return None if card.is_streamed else store.cached_checksum(card)
    except ConfigError:
        return None


def load(name: str, data_hash: str = "") -> Dataset:
    """``name`` memory-mapped from the cache, which is filled first if needed. Raises as ``ensure``.

    ``data_hash``, a card's content hash, distinguishes a user's own files with the same name."""
    card = userfile.find(name, data_hash)
    if card.is_streamed:
        rows = streams.stream(card)
        return Dataset(card, rows, Targets(rows, range(card.rows)))
    return Dataset(card, *store.arrays_of(card))


def train_test(
    name: str, *, data_hash: str = "", seed: int, trial: int, preprocess: Sequence[str] = ("none",),
    preprocess_fit: Literal["train", "all", "parts"] = "train", dtype: Any = np.float64, train_rows: int | None = None,
    held_out: float | None = None, split: Mapping[str, Any] | None = None,
    target: Literal["given", "standard"] = "given", flaws: Sequence[str] = (),
) -> Split:  # fmt: skip
    """The split of one trial, scaled by the steps of ``preprocess`` (see preprocess.py).

    ``preprocess_fit``: the steps are fitted on the training rows, on all rows of the dataset, or (``parts``) separately
    on the training rows and on the test rows. The training rows and their order depend only on (seed, name, trial);
    ``train_rows`` keeps the first of them. ``held_out`` is a share of the training rows, the last of them, which
    replaces the test rows, so that a choice by its score uses no test row. ``split`` replaces the card's rule. A
    regression's ``target`` is as given, or standard: less the mean of the training rows' targets, over their standard
    deviation (n in the divisor). ``flaws`` are those of `rffbench.trials.flaws` that concern rows.
    """
    data = load(name, data_hash)
    card, apart = with_split(data.card, split), "test-rows-scaled-apart" in flaws
    if isinstance(data.X, Stream):
        return _split_stream(card, data.X, preprocess, preprocess_fit, dtype, train_rows, held_out, apart)
    if "test-rows-appended" in flaws:
        train, test = split_appended(card, seed, trial)
    else:
        train, test = split_rows(card, seed, trial, data.folds if card.split.rule == "folds" else None)
    if held := held_out_rows(held_out, len(train)):
        train, test = train[:-held], np.sort(train[-held:])
    train = train[:train_rows]
    y_train, y_test = data.y[train], data.y[test]
    if target == "standard" and data.card.task == "regression":
        origin = origin_of(y_train.reshape(len(y_train), -1)).reshape(y_train.shape[1:])
        y_train, y_test = y_train - origin, y_test - origin
        mean, std = y_train.mean(axis=0), y_train.std(axis=0)
        std = np.where(std > 0, std, 1.0)
        y_train, y_test = (y_train - mean) / std, (y_test - mean) / std
    fitted_on = np.arange(data.card.rows) if preprocess_fit == "all" else np.sort(train)
    scaled = _scaled(data.card, data.X, fitted_on, train, test, preprocess, preprocess_fit, dtype, apart)
    return Split(scaled[0], y_train, scaled[1], y_test, data.card.task, data.card)


def _split_stream(
    card: Card, rows: Stream, preprocess: Sequence[str], preprocess_fit: str, dtype: Any, train_rows: int | None,
    held_out: float | None, apart: bool,
) -> Split:  # fmt: skip
    """The split of a stream: its first rows are for training, in order, in every trial, so that no index is stored."""
    train, test = range(card.n_train), range(card.n_train, card.n_train + card.n_test)
    if held := held_out_rows(held_out, len(train)):
        train, test = train[:-held], train[-held:]
    train = train[:train_rows]
    fitted_on = range(card.rows) if preprocess_fit == "all" else train
    scaled = _scaled(card, rows, fitted_on, train, test, preprocess, preprocess_fit, dtype, apart)
    return Split(scaled[0], Targets(rows, train), scaled[1], np.asarray(Targets(rows, test)), card.task, card)


def _scaled(
    card: Card, base: Any, fitted_on: Any, train: Any, test: Any, steps: Sequence[str], fit: str, dtype: Any,
    apart: bool = False,
) -> tuple[Rows, Rows]:  # fmt: skip
    """The rows ``train`` and ``test`` of ``base``, scaled by steps that are fitted on the rows ``fitted_on``. ``apart``
    is the flaw of that name: a step before these, of each part its own."""
    before = ["standard-all"] if apart else []
    scaling = of_test = Preprocessor([*before, *steps], card).fit(Rows(base, fitted_on).blocks)
    if fit == "parts":
        of_test = Preprocessor([*before, *steps], card).fit(Rows(base, test).blocks)
    elif apart:
        of_test = scaling.with_first(Preprocessor(before, card).fit(Rows(base, test).blocks))
    return Rows(base, train, scaling, dtype, card), Rows(base, test, of_test, dtype, card)


def describe(name: str) -> dict[str, Any]:
    """The facts on the card of ``name``, and whether and where it is cached; reads no data."""
    card = load_card(name)
    return {
        "name": card.name, "title": card.title, "task": card.task, "rows": card.rows, "columns": card.columns,
        "targets": card.targets, "train": card.n_train, "test": card.n_test, "split": card.split.rule,
        "classes": dict(card.classes),
        "balance": {label: count / card.rows for label, count in card.classes.items()},
        "positive": list(card.labels.positive) if card.labels else [], "licence": card.licence,
        "citation": card.citation, "paper": card.paper, "mark": card.mark, "notes": card.notes,
        "files": list(dict.fromkeys(file.name for file in card.files)), "unavailable": card.unavailable,
        "content_hash": card.content_hash, "cached": is_cached(name),
        "path": "" if card.is_streamed else str(store.arrays_folder(card)),
    }  # fmt: skip


def repeated_rows(card: Card, paths: list[Path] | None = None) -> list[tuple[str, str]]:
    """(what, value) pairs in words: the number of repeated rows of ``card``, and of test rows that equal a training
    row. The rows come from the files at ``paths``, else from the cache; empty for streams."""
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

    Raises DataUnavailable if the cache is incomplete, DataError if something is wrong.
    """
    card = load_card(name)
    if card.is_streamed:
        ensure(name)
    else:
        store.check(card)
