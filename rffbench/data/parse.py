"""Parses a dataset's files into blocks of rows, with one reader per format.

Blocks have a bounded size, so that a dataset is never in memory as text and as numbers at once. Readers do not
interpret targets: numbers stay numbers, words stay words.
"""

from __future__ import annotations

import io
import math
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from rffbench.data import dates
from rffbench.data.arff import arff_rows, attributes
from rffbench.data.cards import Card
from rffbench.data.cells import Spelling, spelling_of
from rffbench.data.delimited import Pairs, coded, read_delimited, read_rows
from rffbench.data.formats import (
    ArffFormat,
    CsvFormat,
    File,
    IdxFormat,
    LibsvmFormat,
    MatFormat,
    NpzFormat,
    ParquetFormat,
    Part,
    SklearnFormat,
    SyntheticFormat,
    XlsxFormat,
)
from rffbench.data.libsvm import not_finite, svmlight
from rffbench.data.npz import BLOCK_BYTES, Npz
from rffbench.data.texts import Lines, not_utf8
from rffbench.data.unpack import Unpackable, exactly, members, open_content
from rffbench.data.xlsx import padded, xlsx_rows
from rffbench.errors import OF_THE_DISK, DataError, unreadable

TOO_LARGE = "it does not fit into memory; save it as a folder of .npy shards, which are read a block at a time"
TEXTS = (ArffFormat, CsvFormat, LibsvmFormat)
PARQUET = b"PAR1"  # the first bytes of a Parquet file


class Block(NamedTuple):
    """``X`` (b, d) float64, ``target`` (b,) with numbers or texts, and the rows' ``part``, if the files give it."""

    X: np.ndarray
    target: np.ndarray
    part: Part | None


def read_blocks(card: Card, paths: list[Path]) -> Iterator[Block]:
    """The rows of ``card`` in the order of its files, from ``paths`` (one per file of the card).

    Raises DataError, which names the file, if a file cannot be read in the card's format.
    """
    if isinstance(card.format, SklearnFormat):
        yield _bundled(card.format)
    elif isinstance(card.format, SyntheticFormat):
        yield _synthetic(card, card.format)
    files = list(zip(card.files, paths, strict=True))
    if isinstance(card.format, IdxFormat):
        for inputs, labels in zip(files[::2], files[1::2], strict=True):
            yield from _idx_pair(card, inputs, labels)
        return
    for file, path in files:
        if file.part == "folds":
            continue
        with _naming(card, path):
            for member in members(path, file):
                opened: dict[str, Any] = {"limit": card.most_bytes, "text": isinstance(card.format, TEXTS)}
                with open_content(path, file.name, member, **opened) as stream:
                    try:
                        yield from _read_file(card, file, stream)
                    except UnicodeDecodeError:
                        with open_content(path, file.name, member, **opened) as lines:
                            raise not_utf8(f"{card.name}: {path}", lines) from None


def read_folds(card: Card, paths: list[Path]) -> np.ndarray:
    """The number of each row's fold, from 0, of shape (n,), for a card whose split has folds.

    The file has a line per row and a comma-separated column per fold, with 1 if the row is in the fold's test part,
    else 0. Raises DataError if a row is not in exactly one fold, or if a fold's number of rows differs from the card's.
    """
    file, path = next(each for each in zip(card.files, paths, strict=True) if each[0].part == "folds")
    with _naming(card, path), open_content(path, file.name, file.member, limit=card.most_bytes, text=True) as stream:
        return _fold_numbers(card, np.loadtxt(Lines(stream), delimiter=",", ndmin=2, comments=None))


def _fold_numbers(card: Card, mask: np.ndarray) -> np.ndarray:
    if len(mask) != card.rows:
        raise ValueError(f"it has {len(mask)} lines, the data {card.rows} rows")
    if len(wrong := np.flatnonzero((mask == 1).sum(axis=1) != 1)) or not np.isin(mask, (0, 1)).all():
        row = wrong[0] if len(wrong) else np.argwhere(~np.isin(mask, (0, 1)))[0][0]
        raise ValueError(f"line {row + 1} must have a single 1, in the column of its fold, and 0 elsewhere")
    sizes = mask.sum(axis=0).astype(int)
    if len(wrong := np.flatnonzero(abs(sizes - card.n_test) > 1)):
        raise ValueError(f"fold {wrong[0]} has {sizes[wrong[0]]} rows, the card says {card.n_test} test rows")
    return np.asarray(mask.argmax(axis=1), dtype=np.uint8 if mask.shape[1] <= 256 else np.int64)


@contextmanager
def _naming(card: Card, path: Path) -> Iterator[None]:
    """A context that turns errors of reading ``path`` into a DataError that names the path."""
    try:
        yield
    except DataError:
        raise
    except MemoryError as error:
        raise DataError(f"{card.name}: {path}: {TOO_LARGE}") from error
    except Exception as error:  # readers of other libraries raise many things
        if isinstance(error, OSError) and error.errno in OF_THE_DISK:
            raise DataError(f"{card.name}: {unreadable(path, error)}") from error
        what = f"it {error}" if isinstance(error, Unpackable) else error
        raise DataError(f"{card.name}: {path} is not readable as {card.format.kind}: {what}") from error


def _read_file(card: Card, file: File, stream: BinaryIO) -> Iterator[Block]:
    if isinstance(card.format, MatFormat):
        yield from _mat(card.format, stream)
        return
    if isinstance(card.format, NpzFormat):
        archive, done = Npz(stream), 0
        y = archive.target(card.format.target, archive.shape(card.format.inputs)[0], card.format.inputs)
        y = _spelled(y, card, card.format, card.format.target)
        for X in archive.rows(card.format.inputs):
            yield Block(X, y[done : done + len(X)], file.part)
            done += len(X)
        return
    if isinstance(card.format, ParquetFormat):
        yield Block(*_parquet(card, card.format, read_parquet(stream)), file.part)
        return
    if isinstance(card.format, LibsvmFormat):
        pairs = _libsvm(card, stream)
    elif isinstance(card.format, ArffFormat):
        pairs = _arff(card, card.format, stream)
    elif isinstance(card.format, XlsxFormat):
        pairs = _xlsx(card, card.format, stream)
    else:
        assert isinstance(card.format, CsvFormat)
        pairs = read_delimited(card, card.format, stream)
    for X, target in pairs:
        yield Block(X, target, file.part)


def _libsvm(card: Card, stream: BinaryIO) -> Pairs:
    assert isinstance(card.format, LibsvmFormat)
    together = card.format.one_hot or 1
    X, target = svmlight(stream, card.columns - 1 + together)
    if fault := not_finite(X, target, stream, card.missing):
        raise ValueError(fault)
    size = _block_rows(card)
    for start in range(0, X.shape[0], size):
        block = X[start : start + size].toarray()
        if together > 1:
            block = np.hstack([_index_of_one(block[:, :together], start), block[:, together:]])
        yield block, target[start : start + size]


def _index_of_one(X: np.ndarray, before: int) -> np.ndarray:
    """The index, from 1, of the single 1 in each row of X, of shape (b, 1). ValueError if a row is not like that."""
    is_one = X == 1
    if (wrong := (is_one.sum(axis=1) != 1) | ((X != 0).sum(axis=1) != 1)).any():
        row = before + int(np.flatnonzero(wrong)[0]) + 1
        raise ValueError(f"row {row}: the first {X.shape[1]} columns must hold a single 1, and zeros")
    return is_one.argmax(axis=1)[:, None] + 1.0


def _block_rows(card: Card) -> int:
    return max(1, BLOCK_BYTES // (8 * card.columns))


def read_parquet(stream: BinaryIO) -> Any:
    """A Parquet file as a pandas DataFrame."""
    import pandas

    magic = stream.read(len(PARQUET))
    try:
        if magic != PARQUET:
            raise ValueError
        content = io.BytesIO(magic + stream.read())
        table = pandas.read_parquet(content)
    except ImportError:
        missing = "Parquet is read by pyarrow, which is missing: pip install 'rffbench[shards]'; or save it as CSV"
        raise ValueError(missing) from None
    except ValueError as error:
        names: list[str] = []
        with suppress(Exception):  # pandas refuses names that are equal
            import pyarrow.parquet

            content.seek(0)
            names = pyarrow.parquet.read_schema(content).names
        _check_names(names)
        raise ValueError("it is not a Parquet file, or a damaged one") from error
    _check_names([str(name) for name in table.columns])
    return table


def _check_names(names: Sequence[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"several columns are called {twice[0]!r}; give each a name of its own")


def _parquet(card: Card, layout: ParquetFormat, table: Any) -> tuple[np.ndarray, np.ndarray]:
    names = [str(name) for name in table.columns]
    for name in (*layout.learnt, *(layout.ignore or ())):
        if name not in names:
            raise ValueError(f"it has no column {name!r}")
    spelling = spelling_of(layout.decimal, layout.thousands, layout.missing, layout.units)
    columns: list[np.ndarray] = []
    for i, name in enumerate(names):
        if name in layout.learnt or name in (layout.ignore or ()):
            continue
        values = numbers_or_texts(table.iloc[:, i], words=len(columns) in card.categories)
        if name in (layout.dates or {}):
            columns += [*dates.numbers(values.tolist(), (layout.dates or {})[name]).T]
        else:
            columns.append(_numbers(values, card.categories.get(len(columns)), name, spelling))
    targets = [
        _spelled(numbers_or_texts(table.iloc[:, names.index(name)]), card, layout, name) for name in layout.learnt
    ]
    return np.column_stack(columns), targets[0] if len(targets) == 1 else np.column_stack(targets)


def _numbers(values: np.ndarray, words: Sequence[str] | None, name: object, spelling: Spelling) -> np.ndarray:
    """A column as numbers; texts are `coded`."""
    if values.dtype != object:
        return values
    return coded(values.tolist(), words, lambda row: f"row {row + 1}, column {name!r}", spelling)


def _spelled(y: np.ndarray, card: Card, layout: ParquetFormat | NpzFormat, name: object) -> np.ndarray:
    """A target as the task has it: numbers, or labels in their usual spelling."""
    spelling = spelling_of(layout.decimal, layout.thousands, layout.missing, layout.units)
    if card.task == "regression":
        return _numbers(y, None, name, spelling)
    return y if y.dtype != object else np.array([spelling.label(text) for text in y], dtype=object)


def numbers_or_texts(column: Any, *, words: bool = False) -> np.ndarray:
    """A column of pandas as float64, with NaN for a missing value; also one of decimals. A column of text, of dates, of
    whole numbers that float64 cannot represent, or of ``words``, as texts, with an empty text for a missing value."""
    import pandas.api.types as types

    missing = column.isna().to_numpy()
    if types.is_object_dtype(column) and not words:
        there = column[~missing]
        if len(there) and all(isinstance(each, Decimal | int | float) for each in there):
            return np.array([math.nan if none else float(each) for none, each in zip(missing, column, strict=True)])
    if types.is_numeric_dtype(column) and not words:
        values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if not types.is_integer_dtype(column) or missing.any() or (abs(values) <= 2**53).all():
            return values
    if types.is_datetime64_any_dtype(column):
        column = column.dt.tz_localize(None) if getattr(column.dt, "tz", None) is not None else column
        midnight = column.isna() | (column == column.dt.normalize())
        column = column.dt.strftime("%Y-%m-%d" if midnight.all() else "%Y-%m-%d %H:%M:%S")
    return np.array(["" if none else str(each) for none, each in zip(missing, column, strict=True)], dtype=object)


def _arff(card: Card, layout: ArffFormat, stream: BinaryIO) -> Pairs:
    """The rows of an ARFF file. Of its header, only the number of attributes is used."""
    lines = Lines(stream, "%")
    width = len(attributes(lines))
    yield from read_rows(card, layout, arff_rows(lines, width))


def _xlsx(card: Card, layout: XlsxFormat, stream: BinaryIO) -> Pairs:
    rows = padded(xlsx_rows(stream, layout.sheet, layout.skip), card.cells)
    if layout.header:
        next(rows, None)
    yield from read_rows(card, layout, rows, row="row")


def _idx_pair(card: Card, inputs: tuple[File, Path], labels: tuple[File, Path]) -> Iterator[Block]:
    file, path = labels
    with _naming(card, path), open_content(path, file.name, file.member, limit=card.most_bytes) as stream:
        count, _ = _idx_shape(stream)
        target = np.frombuffer(exactly(stream, count), dtype=np.uint8)
    file, path = inputs
    with _naming(card, path), open_content(path, file.name, file.member, limit=card.most_bytes) as stream:
        rows, columns = _idx_shape(stream)
        if rows != count:
            raise ValueError(f"it has {rows} rows, {labels[0].name} {count} labels")
        size = _block_rows(card)
        for start in range(0, rows, size):
            part = target[start : start + size]
            X = np.frombuffer(exactly(stream, len(part) * columns), dtype=np.uint8)
            yield Block(X.reshape(-1, columns).astype(np.float64), part, file.part)


def _idx_shape(stream: BinaryIO) -> tuple[int, int]:
    """(n, d) of the array that follows, d being the product of its dimensions after the first."""
    zeros, kind, dimensions = struct.unpack(">HBB", exactly(stream, 4))
    if zeros or kind != 0x08 or not dimensions:
        raise ValueError("it does not begin as an idx file of unsigned bytes does")
    n, *rest = struct.unpack(f">{dimensions}I", exactly(stream, 4 * dimensions))
    return n, math.prod(rest)


def _mat(layout: MatFormat, stream: BinaryIO) -> Iterator[Block]:
    import scipy.io

    variables = scipy.io.loadmat(stream)
    parts: dict[Part | None, tuple[str, str] | None] = {"train": layout.train, "test": layout.test, None: layout.all}
    for part, names in parts.items():
        if names is None:
            continue
        if missing := [name for name in names if name not in variables]:
            known = [name for name in variables if not name.startswith("__")]
            raise ValueError(f"it has no variable {missing[0]!r}, but {', '.join(known)}")
        X, target = (_dense(variables[name]) for name in names)
        X = X.T if layout.samples == "columns" else X
        if X.shape[0] != target.size:
            raise ValueError(f"{names[0]} has {X.shape[0]} samples, {names[1]} {target.size}")
        yield Block(np.ascontiguousarray(X), target.ravel(), part)


def _dense(variable: Any) -> np.ndarray:
    """A variable of a MATLAB file as a dense array; sparse ones are scipy's."""
    return np.asarray(variable.toarray() if hasattr(variable, "toarray") else variable, dtype=np.float64)


def _bundled(layout: SklearnFormat) -> Block:
    import sklearn.datasets

    X, target = getattr(sklearn.datasets, layout.loader)(return_X_y=True)
    return Block(np.ascontiguousarray(X, dtype=np.float64), target, None)


def _synthetic(card: Card, draw: SyntheticFormat) -> Block:
    """f(x) = Σⱼ cos(wⱼᵀx + bⱼ), 20 frequencies wⱼ of the Gaussian kernel exp(−‖Δ‖²/(2σ²)); plus noise.

    f is standardised over the rows before the noise is added. For classification the target is the text
    ``1`` where that is above its median, else ``0``: two equal classes. For regression it is the number.
    """
    rng = np.random.default_rng(draw.seed)
    X = rng.random((card.rows, card.columns))
    W = rng.standard_normal((card.columns, 20)) / draw.sigma
    b = rng.uniform(0, 2 * np.pi, 20)
    value = np.cos(X @ W + b).sum(axis=1)
    value = (value - value.mean()) / value.std() + draw.noise * rng.standard_normal(card.rows)
    if card.task == "regression":
        return Block(X, value, None)
    return Block(X, np.where(value > np.median(value), "1", "0"), None)
