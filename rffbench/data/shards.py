"""Shards: a dataset as Parquet or npy files in one folder, on this machine or at a URL, read block by block.

A shard has the target as one of its columns. The card records the files with their rows and bytes, which are read once
from their headers. A file that has changed since is refused.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from rffbench.data.cards import Card
from rffbench.data.cells import MOST_CLASSES, label_text
from rffbench.data.formats import Shard
from rffbench.errors import ConfigError, DataError, DataUnavailable, RffbenchError, unknown

ENDINGS = (".npy", ".parquet")
BLOCK_BYTES = 1 << 25  # bytes of an .npy file that are read at once

Task = Literal["classification", "regression"]


def is_url(folder: str) -> bool:
    return "://" in folder


def read_shard(
    folder: str, shard: Shard, target: int | str, columns: int, start: int, stop: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows start…stop−1 of a shard as (X (m, columns) float64, target (m,)), piece by piece.

    DataUnavailable if it cannot be read here, DataError if the file has changed.
    """
    place = _place(folder, shard.name)
    with _reading(place), _opened(place) as file:
        size = file.seek(0, os.SEEK_END)
        if size != shard.bytes:
            raise DataError(f"{place}: has {size} bytes, and had {shard.bytes} when the folder was looked at")
        layout = _layout(place, file)
        if (layout.rows, len(layout.names) - 1) != (shard.rows, columns):
            found = f"{layout.rows} rows of {len(layout.names)} columns"
            raise DataError(f"{place}: has {found}, not {shard.rows} of {columns + 1}")
        at = _target(place, layout, target)
        for table, first in _tables(place, file, layout, start, stop):
            some = table[max(start - first, 0) : stop - first]
            yield np.delete(some, at, axis=1), some[:, at]


def look(
    folder: str, *, name: str | None = None, target: int | str | None = None, task: Task | None = None,
    split: dict[str, Any] | None = None,
) -> Card:  # fmt: skip
    """The card of the shards in ``folder``, a path or a URL; the default ``name`` is the folder's.

    This reads the headers and, unless ``task`` is regression, the targets (for .npy files, all columns). ``split`` is
    {rule: given, train: …, test: …} in rows; the default ``test`` is the rest, and the default split the two halves.
    ConfigError if there are no shards or no such column, DataError if the shards do not fit together.
    """
    name = name or re.sub(r"[^\w.-]+", "-", folder.rstrip("/").rpartition("/")[2]).strip("-.") or "data"
    places = _listed(folder)
    shards, names, at = [], list[str](), 0
    for each in places:
        place = _place(folder, each)
        with _reading(place), _opened(place) as file:
            layout = _layout(place, file)
            if names and layout.names != names:
                raise DataError(f"{place}: has the columns {_some(layout.names)}; {places[0]} has {_some(names)}")
            names = layout.names
            at = _target(place, layout, -1 if target is None else target)
            if layout.rows:
                shards.append(Shard(name=each, rows=layout.rows, bytes=file.seek(0, os.SEEK_END)))
    rows, columns = sum(shard.rows for shard in shards), len(names) - 1
    if not rows or not columns:
        found = f"{rows} rows of {len(names)} columns"
        raise DataError(f"{folder}: its shards have {found}; an input and the target are needed")
    column: int | str = at - len(names) if names[at] == str(at) else names[at]
    classes = {} if task == "regression" else _classes(folder, shards, column, columns, asked=task is not None)
    fields = {
        "name": name, "title": name, "task": "classification" if classes else "regression",
        "rows": rows, "columns": columns, "classes": classes,
        "labels": {"positive": [list(classes)[-1]]} if len(classes) == 2 else None,
        "split": _split(folder, split, rows),
        "format": {"kind": "shards", "folder": folder, "shards": shards, "target": column},
        "licence": "not stated", "citation": "a user's own data",
    }  # fmt: skip
    return Card.model_validate(fields)


def check(card: Card) -> None:
    """Check that every shard is as the card says; else DataUnavailable or DataError."""
    layout: Any = card.format
    for shard in layout.shards:
        for _ in read_shard(layout.folder, shard, layout.target, card.columns, 0, 1):
            pass


# ---- Files -------------------------------------------------------------------------------------------------


class _Layout(NamedTuple):
    """A shard's header. ``inside`` is for its reader: the rows of each Parquet row group, or dtype and offset of
    .npy."""

    rows: int
    names: list[str]  # of the columns; for .npy their numbers
    inside: Any


def _place(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def _listed(folder: str) -> list[str]:
    """The names of the shards in a folder, sorted."""
    with _reading(folder):
        if is_url(folder):
            system, root = _fsspec().core.url_to_fs(folder)
            names = [str(path).rstrip("/").rpartition("/")[2] for path in system.ls(root, detail=False)]
        else:
            names = [path.name for path in Path(folder).iterdir()]
    shards = sorted(name for name in names if name.endswith(ENDINGS) and not name.startswith((".", "_")))
    if not shards:
        raise ConfigError(f"{folder}: holds no shards; they are files whose names end in {' or '.join(ENDINGS)}")
    if len({name.rpartition(".")[2] for name in shards}) > 1:
        raise ConfigError(f"{folder}: holds .npy files and .parquet files; the shards must all be of one kind")
    return shards


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise ConfigError("data at a URL is read by fsspec, which is missing: pip install 'rffbench[shards]'") from None
    return fsspec


@contextmanager
def _opened(place: str) -> Iterator[BinaryIO]:
    with _fsspec().open(place, "rb") if is_url(place) else open(place, "rb") as file:
        yield file


@contextmanager
def _reading(place: str) -> Iterator[None]:
    """A context that turns errors of reading into RffbenchErrors that name the file."""
    try:
        yield
    except (RffbenchError, MemoryError):
        raise
    except (OSError, ImportError) as error:  # fsspec raises ImportError for a protocol that needs another package
        why = getattr(error, "strerror", None) or str(error)
        raise DataUnavailable(f"{place}: cannot be read here: {why}") from error
    except Exception as error:  # readers of other libraries raise many things
        raise DataError(f"{place}: is not readable as a shard: {error}") from error


def _layout(place: str, file: BinaryIO) -> _Layout:
    file.seek(0)
    if place.endswith(".parquet"):
        parquet = _parquet().ParquetFile(file)
        groups = [parquet.metadata.row_group(index).num_rows for index in range(parquet.metadata.num_row_groups)]
        return _Layout(sum(groups), list(parquet.schema_arrow.names), groups)
    version = np.lib.format.read_magic(file)
    header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in header:
        raise ValueError(f"it is of the version {version} of NumPy's format; 1.0 and 2.0 are read")
    shape, in_columns, dtype = header[version](file)
    if len(shape) != 2 or dtype.kind not in "fiu" or (in_columns and min(shape) > 1):
        order = "by columns" if in_columns else "by rows"
        raise ValueError(f"it holds {dtype} of the shape {shape}, stored {order}; rows of numbers are needed")
    return _Layout(shape[0], [str(column) for column in range(shape[1])], (dtype, file.tell()))


def _tables(place: str, file: BinaryIO, layout: _Layout, start: int, stop: int) -> Iterator[tuple[np.ndarray, int]]:
    """Float64 tables that together contain the rows start…stop−1, each with the number of its first row."""
    width = len(layout.names)
    if not place.endswith(".parquet"):
        dtype, offset = layout.inside
        a_row = dtype.itemsize * width
        for first in range(start, stop, step := max(1, BLOCK_BYTES // a_row)):
            rows = min(step, stop - first)
            file.seek(offset + first * a_row)
            content = file.read(rows * a_row)
            if len(content) != rows * a_row:
                raise ValueError(f"it breaks off: rows {first} to {first + rows - 1} are not all there")
            yield np.frombuffer(content, dtype=dtype).reshape(rows, width).astype(np.float64), first
        return
    first = 0
    for group, rows in enumerate(layout.inside):
        if first < stop and start < first + rows:
            yield _row_group(place, group), first
        first += rows


_kept = threading.local()  # each thread's last row group, because its blocks are read one after the other


def _row_group(place: str, group: int) -> np.ndarray:
    if getattr(_kept, "which", None) != (place, group):
        with _opened(place) as file:
            table = _parquet().ParquetFile(file).read_row_group(group)
        columns = [table.column(index).to_numpy() for index in range(table.num_columns)]
        _kept.which, _kept.table = (place, group), np.column_stack([column.astype(np.float64) for column in columns])
    return _kept.table


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ConfigError("Parquet is read by pyarrow, which is missing: pip install 'rffbench[shards]'") from None
    return pyarrow.parquet


# ---- Targets and splits ------------------------------------------------------------------------------------


def _target(place: str, layout: _Layout, target: int | str) -> int:
    """The number of the target's column."""
    width = len(layout.names)
    if isinstance(target, int):
        if -width <= target < width:
            return target % width
        raise ConfigError(f"{place}: target: {target}: there are {width} columns, counted from 0")
    if target not in layout.names:
        raise ConfigError(f"{place}: target: {unknown('column', target, layout.names)}")
    return layout.names.index(target)


def _classes(folder: str, shards: list[Shard], target: int | str, columns: int, *, asked: bool) -> dict[str, int]:
    """The counts of labels; empty if the target looks like a regression's. ``asked``: that is then an error."""
    counts: Counter[float] = Counter()
    for shard in shards:
        for _, y in read_shard(folder, shard, target, columns, 0, shard.rows):
            values, times = np.unique(y, return_counts=True)
            counts.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
            whole = all(value == round(value) for value in counts if np.isfinite(value))
            if not np.isfinite(values).all():
                raise DataError(f"{_place(folder, shard.name)}: the target {target!r} has a value that is not finite")
            if (len(counts) > MOST_CLASSES or not whole) and len(counts) > 2:
                if asked:
                    raise DataError(f"{folder}: the target {target!r} has more values than classes could be told apart")
                return {}
    if len(counts) < 2:
        raise DataError(f"{folder}: the target {target!r} is {next(iter(counts)):g} in all rows; two values are needed")
    return {label_text(label): counts[label] for label in sorted(counts)}


def _split(folder: str, split: dict[str, Any] | None, rows: int) -> dict[str, Any]:
    rule = {"rule": "given", "train": rows // 2} if split is None else dict(split)
    if (found := rule.get("rule")) != "given":
        raise ConfigError(f"{folder}: split: shards are read in order: {{rule: given, train: …}}, not {found!r}")
    for part in ("train", "test"):
        if isinstance(share := rule.get(part), float) and 0 < share < 1:
            rule[part] = round(share * rows)
    if not isinstance(train := rule.get("train"), int) or not 0 < train < rows:
        raise ConfigError(f"{folder}: split: train: must leave some of the {rows} rows to test on, got {train!r}")
    rule["test"] = rows - train
    return rule


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f", … ({len(names)})" if len(names) > 6 else "")
