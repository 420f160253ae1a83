"""A dataset's files as blocks of rows, one reader a format.

Readers give their rows in blocks of bounded size, so that a dataset is never in memory as text and as numbers
at once. They do not interpret targets: numbers stay numbers, words stay words.
"""

from __future__ import annotations

import io
import math
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from rffbench.data.cards import (
    ArffFormat,
    Card,
    CsvFormat,
    File,
    IdxFormat,
    LibsvmFormat,
    MatFormat,
    SklearnFormat,
    SyntheticFormat,
)
from rffbench.data.fetch import UNPACKING_ERRORS, members, open_content
from rffbench.errors import DataError

BLOCK_BYTES = 1 << 25  # of a block's X


class Block(NamedTuple):
    """``X`` (b, d) float64, ``target`` (b,) of numbers or of text, and the given part they are of, if any."""

    X: np.ndarray
    target: np.ndarray
    part: Literal["train", "test"] | None


def read_blocks(card: Card, paths: list[Path]) -> Iterator[Block]:
    """The rows of ``card`` in the order of its files, from ``paths`` (one a file of the card).

    Raises DataError, naming the file, where one cannot be read as the card's format.
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
        with _naming(card, path):
            for member in members(path, file):
                with open_content(path, file.name, member) as stream:
                    yield from _read_file(card, file, stream)


@contextmanager
def _naming(card: Card, path: Path) -> Iterator[None]:
    """What goes wrong in reading ``path`` becomes a DataError that names it."""
    try:
        yield
    except (ValueError, *UNPACKING_ERRORS) as error:
        raise DataError(f"{card.name}: {path} is not readable as {card.format.kind}: {error}") from error


def _read_file(card: Card, file: File, stream: BinaryIO) -> Iterator[Block]:
    if isinstance(card.format, MatFormat):
        yield from _mat(card.format, stream)
        return
    if isinstance(card.format, LibsvmFormat):
        pairs = _libsvm(card, stream)
    elif isinstance(card.format, ArffFormat):
        pairs = _arff(card, stream)
    else:
        assert isinstance(card.format, CsvFormat)
        lines, options = _lines(stream), {"delimiter": card.format.delimiter, "comments": None}
        if card.format.header:
            next(lines, None)
        pairs = _table(card, lines, card.format.target, card.format.ignore or (), **options)
    for X, target in pairs:
        yield Block(X, target, file.part)


Pairs = Iterator[tuple[np.ndarray, np.ndarray]]


def _libsvm(card: Card, stream: BinaryIO) -> Pairs:
    from sklearn.datasets import load_svmlight_file

    X, target = load_svmlight_file(stream, n_features=card.columns, zero_based=False)
    size = _block_rows(card)
    for start in range(0, X.shape[0], size):
        yield X[start : start + size].toarray(), target[start : start + size]


def _block_rows(card: Card) -> int:
    return max(1, BLOCK_BYTES // (8 * card.columns))


def _table(
    card: Card, lines: Iterator[str], target: int, ignore: tuple[int, ...] = (), **options: Any
) -> Pairs:
    """Delimited numbers, read as exactly as ``float`` does; a class label is any text, kept as written."""
    vocabulary: dict[str, int] = {}
    converters: Any = None
    if card.task == "classification":
        converters = {target: lambda text: vocabulary.setdefault(text.strip(), len(vocabulary))}
    rows = 0
    while True:
        try:
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # that no line is left
                table = np.loadtxt(
                    lines, max_rows=_block_rows(card), ndmin=2, converters=converters, encoding="utf-8", **options
                )
        except ValueError as error:
            raise ValueError(f"after row {rows}: {error}" if rows else str(error)) from error
        if not len(table):
            return
        rows += len(table)
        width = table.shape[1]
        if absent := [number for number in (target, *ignore) if not -width <= number < width]:
            raise ValueError(f"its rows have {width} values, so there is no column {absent[0]}")
        column = table[:, target]
        values = np.array(list(vocabulary), dtype=object)[column.astype(int)] if vocabulary else column
        yield np.delete(table, (target, *ignore), axis=1), values


def _lines(stream: BinaryIO) -> Iterator[str]:
    return iter(io.TextIOWrapper(stream, encoding="utf-8"))


def _arff(card: Card, stream: BinaryIO) -> Pairs:
    """The header only has to be passed: names are not needed, and values are checked against the card."""
    attributes = 0
    lines = _lines(stream)
    for line in lines:
        keyword = line.strip().lower()
        attributes += keyword.startswith("@attribute")
        if keyword.startswith("@data"):
            break
    else:
        raise ValueError("it has no @data line")
    for X, target in _table(card, lines, -1, delimiter=",", comments="%", quotechar="'"):
        if X.shape[1] + 1 != attributes:
            raise ValueError(f"its rows have {X.shape[1] + 1} values, its header {attributes} attributes")
        yield X, target


def _idx_pair(card: Card, inputs: tuple[File, Path], labels: tuple[File, Path]) -> Iterator[Block]:
    file, path = labels
    with _naming(card, path), open_content(path, file.name, file.member) as stream:
        count, _ = _idx_shape(stream)
        target = np.frombuffer(_exactly(stream, count), dtype=np.uint8)
    file, path = inputs
    with _naming(card, path), open_content(path, file.name, file.member) as stream:
        rows, columns = _idx_shape(stream)
        if rows != count:
            raise ValueError(f"it has {rows} rows, {labels[0].name} {count} labels")
        size = _block_rows(card)
        for start in range(0, rows, size):
            part = target[start : start + size]
            X = np.frombuffer(_exactly(stream, len(part) * columns), dtype=np.uint8)
            yield Block(X.reshape(-1, columns).astype(np.float64), part, file.part)


def _idx_shape(stream: BinaryIO) -> tuple[int, int]:
    """(n, d) of the array that follows; its dimensions after the first are taken together."""
    zeros, kind, dimensions = struct.unpack(">HBB", _exactly(stream, 4))
    if zeros or kind != 0x08 or not dimensions:
        raise ValueError("it does not begin as an idx file of unsigned bytes does")
    n, *rest = struct.unpack(f">{dimensions}I", _exactly(stream, 4 * dimensions))
    return n, math.prod(rest)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise ValueError(f"it breaks off: {size} bytes are due, {len(content)} are left")
    return content


def _mat(layout: MatFormat, stream: BinaryIO) -> Iterator[Block]:
    import scipy.io

    variables = scipy.io.loadmat(stream)
    parts: tuple[tuple[Literal["train", "test"], tuple[str, str]], ...]
    parts = (("train", layout.train), ("test", layout.test))
    for part, names in parts:
        if missing := [name for name in names if name not in variables]:
            known = [name for name in variables if not name.startswith("__")]
            raise ValueError(f"it has no variable {missing[0]!r}, but {', '.join(known)}")
        X, target = (_dense(variables[name]) for name in names)
        X = X.T if layout.samples == "columns" else X
        if X.shape[0] != target.size:
            raise ValueError(f"{names[0]} has {X.shape[0]} samples, {names[1]} {target.size}")
        yield Block(np.ascontiguousarray(X), target.ravel(), part)


def _dense(variable: Any) -> np.ndarray:
    """MATLAB's sparse matrices arrive as scipy's."""
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
