"""The cache of parsed arrays: built from the files, checked against the card, and memory-mapped by workers.

A dataset's folder has X.npy (n, d) float64 in C order, y.npy (n,) float64 or (n, targets) of several targets,
folds.npy (n,) if its split has folds, and meta.json. It is moved into place when it is complete. Its name is the hash
of the arrays, so cards that differ only in the split share it. Rows are in the order of the files; training rows come
first if the files have parts.

meta.json has the arrays' checksum. A run compares it once with the bytes on the disk. A worker that opens the arrays
compares the files' sizes and times with those of that moment; if these differ, or if another user owns the files, it
compares the checksum too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffbench.data.cards import Card
from rffbench.data.cells import identity, label_text
from rffbench.data.fetch import Progress, cache_folder, checksum_fault, fetch_file, locked, naming_cache, raw_path
from rffbench.data.parse import read_blocks, read_folds
from rffbench.data.unpack import CHUNK
from rffbench.errors import DataError, DataUnavailable
from rffbench.io import files

MOST_META = 1_000_000  # bytes of meta.json
TRUSTED = (0,)  # other users whose files are trusted: root

_log = logging.getLogger(__name__)


def arrays_folder(card: Card) -> Path:
    """The folder in the cache for the parsed arrays of ``card``."""
    return cache_folder() / card.folder / "parsed" / card.arrays_hash[:12]


class Arrays(NamedTuple):
    """A dataset's arrays, memory-mapped read-only. ``folds`` (n,) are the numbers of the rows' folds; None if the split
    has no folds."""

    X: np.ndarray
    y: np.ndarray
    folds: np.ndarray | None


def arrays_of(card: Card) -> Arrays:
    """The arrays from the cache, which is filled first if needed. Raises as `prepare`."""
    prepare(card)
    if (found := open_arrays(card)) is None:
        raise DataError(f"{card.name}: {arrays_folder(card)} was removed while it was being opened")
    return found


def open_arrays(card: Card) -> Arrays | None:
    """The arrays, without a check of their bytes; None if the cache has none of the card's shape."""
    arrays = _opened(card)
    return None if arrays is None else arrays[0]


def is_ready(card: Card, *, checked: bool = False) -> bool:
    """Whether the cache holds ``card``'s arrays undamaged.

    Their bytes are compared with their checksum if ``checked`` is set, if a file has another size or time than
    recorded, or if it belongs to another user, who could change both. The new sizes and times are recorded, so that
    workers need not compare again.
    """
    arrays = _opened(card)
    if arrays is None:
        return False
    found, meta = arrays
    folder = arrays_folder(card)
    stamps = _stamps(folder)
    unchanged = meta.get("files") == stamps
    if unchanged and not checked and _is_ours(folder):
        return True
    if data_checksum(*found) != meta["checksum"]:
        return False
    if not unchanged:
        with contextlib.suppress(OSError):  # a read-only cache
            _write_meta(folder, {**meta, "files": stamps})
    return True


def cached_checksum(card: Card) -> str | None:
    """The checksum recorded when ``card``'s arrays were parsed; None if the cache does not hold them."""
    arrays = _opened(card)
    return None if arrays is None else arrays[1]["checksum"]


def prepare(card: Card, progress: Progress | None = None, *, checked: bool = False) -> None:
    """Fetch, parse, check and cache ``card``'s arrays, unless the cache has them.

    ``checked``: compare all bytes of cached arrays with their checksum. Damaged arrays are parsed again. Raises
    DataUnavailable if no source has the files, DataError if they do not match the card.
    """
    if is_ready(card, checked=checked):
        return
    _refuse_unavailable(card)
    with naming_cache(card.name), locked(cache_folder() / card.folder):
        if is_ready(card, checked=checked):  # another process was quicker
            return
        if arrays_folder(card).exists():
            damaged = "%s: the arrays in %s are damaged, or an older version's; making new ones"
            _log.warning(damaged, card.name, arrays_folder(card))
        _clear_leftovers(cache_folder() / card.folder)
        paths = [fetch_file(card, file, progress) for file in card.files]
        destination = arrays_folder(card)
        files.make_folder(destination.parent)
        with tempfile.TemporaryDirectory(prefix=".parse-", dir=destination.parent) as scratch:
            building = Path(scratch) / "arrays"
            building.mkdir()
            _build(card, paths, building)
            shutil.rmtree(destination, ignore_errors=True)  # damaged arrays
            files.move(building, destination)


def mend(card: Card, progress: Progress | None = None) -> None:
    """Fetch ``card``'s files that `check` would reject again, even if the cache has its arrays.

    If no source has a file, that is an error (DataUnavailable, DataError) for a wrong file, but not for a missing one.
    """
    with locked(cache_folder() / card.folder):
        for file in card.files:
            gone = not raw_path(card, file).exists()
            try:
                fetch_file(card, file, progress)
            except DataUnavailable:
                if not gone:
                    raise


def data_checksum(X: np.ndarray, y: np.ndarray, folds: np.ndarray | None = None) -> str:
    """``sha256:…`` of the bytes of X, row by row, then of y, then of the folds, if there are any."""
    state = hashlib.sha256()
    for array in (X, y) if folds is None else (X, y, folds):
        for start in range(0, len(array), rows := max(1, CHUNK // array[:1].nbytes)):
            state.update(array[start : start + rows].tobytes())
    return f"sha256:{state.hexdigest()}"


def check(card: Card) -> None:
    """Read ``card``'s cached files again, and compare checksums, counts and the cached arrays.

    Raises DataUnavailable if the cache lacks a file or the arrays, DataError if one is wrong.
    """
    _refuse_unavailable(card)
    paths = [raw_path(card, file) for file in card.files]
    arrays = _opened(card)
    missing = [str(path) for path in dict.fromkeys(paths) if not path.is_file()]
    if missing or arrays is None:
        raise DataUnavailable(f"{card.name}: not in the cache: {', '.join(missing) or arrays_folder(card)}")
    for file, path in zip(card.files, paths, strict=True):
        if fault := checksum_fault(path, file, card.most_bytes):
            raise DataError(f"{card.name}: {path}: {fault}; `rffbench datasets fetch {card.name}` fetches it anew")
    anew = f"`rffbench datasets fetch {card.name}` makes them anew"
    (cached, _), filled = arrays, 0
    for X, y in checked_blocks(card, paths, Counter()):
        rows = slice(filled, filled + len(y))
        if not (np.array_equal(X, cached.X[rows], equal_nan=True) and np.array_equal(y, cached.y[rows])):
            where = f"the arrays in {arrays_folder(card)} differ from the files near row {filled}"
            raise DataError(f"{card.name}: {where}; {anew}")
        filled += len(y)
    if cached.folds is not None and not np.array_equal(read_folds(card, paths), cached.folds):
        raise DataError(f"{card.name}: the folds in {arrays_folder(card)} differ from the file; {anew}")


def _opened(card: Card) -> tuple[Arrays, dict[str, Any]] | None:
    """(arrays, meta.json), without a check of their bytes; None if the cache has none of the card's shape."""
    folder = arrays_folder(card)
    try:
        meta = json.loads(files.read_regular(folder / "meta.json", MOST_META))
        if not ((folder / "X.npy").is_file() and (folder / "y.npy").is_file()):  # opening a pipe would block
            return None
        X = np.load(folder / "X.npy", mmap_mode="r")
        y = np.load(folder / "y.npy", mmap_mode="r")
        folds = np.load(folder / "folds.npy", mmap_mode="r") if card.split.rule == "folds" else None
        # If another card made the arrays, their parts were not compared with this card's split.
        mine = meta["arrays_hash"] == card.arrays_hash and _parts_fault(card, meta["parts"]) is None
        right = X.shape == (card.rows, card.columns) and y.shape == _shape_of_targets(card)
        whole = right and (folds is None or folds.shape == (card.rows,))
        return (Arrays(X, y, folds), meta) if mine and whole and meta["checksum"] else None
    except (OSError, ValueError, EOFError, KeyError, TypeError, AttributeError):
        return None


def _is_ours(folder: Path) -> bool:
    """Whether the arrays' files and their folder belong to this user or root."""
    if not hasattr(os, "geteuid"):
        return True
    places = (folder, *(folder / name for name in ("X.npy", "y.npy", "meta.json")))
    return {place.stat().st_uid for place in places} <= {os.geteuid(), *TRUSTED}


def _stamps(folder: Path) -> dict[str, list[int]]:
    """The size and the time of change of each of the arrays' files."""
    files = sorted(folder.glob("*.npy"))
    return {file.name: [(about := file.stat()).st_size, about.st_mtime_ns] for file in files}


def _write_meta(folder: Path, meta: dict[str, Any]) -> None:
    files.replace(folder / "meta.json", json.dumps(meta, indent=1) + "\n")


def _refuse_unavailable(card: Card) -> None:
    if card.unavailable:
        raise DataUnavailable(f"{card.name}: {card.unavailable}")


def _clear_leftovers(folder: Path) -> None:
    """Remove the temporary folders of processes that were killed; the caller holds the lock."""
    for leftover in [*folder.glob(".fetch-*"), *folder.glob("parsed/.parse-*")]:
        shutil.rmtree(leftover, ignore_errors=True)


def _reserve(path: Path) -> None:
    """Allocate the disk's blocks of a sparse file. Without room this is an OSError; later, a write to the memory map
    would kill the process."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _shape_of_targets(card: Card) -> tuple[int, ...]:
    return (card.rows,) if card.targets == 1 else (card.rows, card.targets)


def _build(card: Card, paths: list[Path], folder: Path) -> None:
    shape = (card.rows, card.columns)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float64, shape=shape)
    _reserve(folder / "X.npy")
    y = np.empty(_shape_of_targets(card))
    filled = 0
    parts: Counter[str] = Counter()
    for block, target in checked_blocks(card, paths, parts):
        X[filled : filled + len(block)] = block
        y[filled : filled + len(block)] = target
        filled += len(block)
    X.flush()
    np.save(folder / "y.npy", y)
    folds = read_folds(card, paths) if card.split.rule == "folds" else None
    if folds is not None:
        np.save(folder / "folds.npy", folds)
    _write_meta(folder, {
        "name": card.name, "arrays_hash": card.arrays_hash, "parts": parts,
        "checksum": data_checksum(X, y, folds), "files": _stamps(folder),
    })  # fmt: skip


def checked_blocks(card: Card, paths: list[Path], parts: Counter[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(X, y) of each block; after the last one, DataError if the counts differ from the card's.

    Rows beyond the card's number are counted for the message, but not yielded. The rows of each part of the files are
    counted in ``parts``.
    """
    rows = 0
    labels: Counter[str] = Counter()
    missing: Counter[int] = Counter()
    for block in read_blocks(card, paths):
        if block.X.shape[1] != card.columns:
            found = block.X.shape[1]
            raise DataError(f"{card.name}: the data has {found} columns, the card says {card.columns}")
        if not np.isfinite(block.X).all():
            none = np.isnan(block.X)
            missing.update({int(column): int(none[:, column].sum()) for column in np.flatnonzero(none.any(axis=0))})
            wrong = ~np.isfinite(block.X)
            wrong[:, list(card.missing)] &= ~none[:, list(card.missing)]
            if wrong.any():
                row, column = np.argwhere(wrong)[0]
                place = f"row {rows + row + 1}, column {column + 1}"
                raise DataError(f"{card.name}: the value in {place} is missing or not finite")
        rows += len(block.X)
        if block.part:
            parts[block.part] += len(block.X)
        y = targets(card, block.target, labels)
        if rows <= card.rows:
            yield block.X, y
    if rows != card.rows:
        raise DataError(f"{card.name}: the data has {rows} rows, the card says {card.rows}")
    if card.task == "classification" and dict(labels) != card.classes:
        found = dict(sorted(labels.items()))
        raise DataError(f"{card.name}: the data has the classes {found}, the card says {card.classes}")
    if dict(missing) != card.missing:
        found = dict(sorted(missing.items()))
        raise DataError(f"{card.name}: the data has missing values {found}, by column, the card says {card.missing}")
    if fault := _parts_fault(card, parts):
        raise DataError(f"{card.name}: {fault}")


def _parts_fault(card: Card, parts: Mapping[str, int]) -> str | None:
    """A message if the files' parts differ from the card's split, else None. A single file may have no parts."""
    train, test = parts.get("train", 0), parts.get("test", 0)
    due = card.n_train, card.rows - card.n_train
    if not card.split_is_given or not parts or (train, test) == due:
        return None
    return f"the data has {train} training and {test} test rows, the card says {due[0]} and {due[1]}"


def targets(card: Card, target: np.ndarray, labels: Counter[str]) -> np.ndarray:
    """The block's y: the scaled number (regression), ±1 by the card's rule, or the index of the class on the card.

    The original labels are counted in ``labels``; the comparison of counts finds labels that the card does not have.
    """
    if card.task == "regression":
        y = target.astype(np.float64)
        y = (np.exp(y) if card.target_exp else y) / (card.target_scale or 1.0)
        return np.log1p(y) if card.target_log else y
    values, place = np.unique(target, return_inverse=True)
    same = identity(card.classes)
    spelling = {same(label): label for label in card.classes}
    texts = [value if isinstance(value, str) else label_text(value) for value in values]
    names = [spelling.get(same(text), text.strip()) for text in texts]
    for name, count in zip(names, np.bincount(place, minlength=len(names)), strict=True):
        labels[name] += int(count)
    if card.labels:
        codes = [1.0 if name in card.labels.positive else -1.0 for name in names]
    else:
        order = list(card.classes)
        codes = [float(order.index(name)) if name in order else np.nan for name in names]
    return np.array(codes)[place]
