"""A dataset's files as blocks of rows, one reader per format.

Readers give their rows in blocks of bounded size, so that a dataset is never in memory as text and as numbers
at once. They do not interpret targets: numbers stay numbers, words stay words.
"""

from __future__ import annotations

import io
import math
import re
import struct
import warnings
import zipfile
from collections.abc import Iterable, Iterator
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
    NpzFormat,
    ParquetFormat,
    SklearnFormat,
    SyntheticFormat,
)
from rffbench.data.unpack import Unpackable, members, open_content
from rffbench.errors import DataError

BLOCK_BYTES = 1 << 25  # of a block's X
LINE_SHOWN = 40  # characters of one that is no text
MOST_INDEX = 2**31 - 1  # of a LIBSVM file's columns, which scikit-learn reads as 32-bit numbers


class Block(NamedTuple):
    """``X`` (b, d) float64, ``target`` (b,) of numbers or of text, and the given part they are of, if any."""

    X: np.ndarray
    target: np.ndarray
    part: Literal["train", "test"] | None


def read_blocks(card: Card, paths: list[Path]) -> Iterator[Block]:
    """The rows of ``card`` in the order of its files, from ``paths`` (one per file of the card).

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
                with open_content(path, file.name, member, limit=card.most_bytes) as stream:
                    try:
                        yield from _read_file(card, file, stream)
                    except UnicodeDecodeError:
                        with open_content(path, file.name, member, limit=card.most_bytes) as lines:
                            raise not_utf8(f"{card.name}: {path}", lines) from None


def not_utf8(what: str, lines: Iterable[bytes]) -> DataError:
    """Of the file ``what``, its first of ``lines`` that is not UTF-8."""
    for number, line in enumerate(lines, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            shown = line.decode("utf-8", "replace").strip()[:LINE_SHOWN]
            return DataError(f"{what}: line {number}, {shown!r}, is not UTF-8 text; save it as UTF-8")
    return DataError(f"{what}: is not UTF-8 text; save it as UTF-8")


@contextmanager
def _naming(card: Card, path: Path) -> Iterator[None]:
    """What goes wrong in reading ``path`` becomes a DataError that names it."""
    try:
        yield
    except (DataError, MemoryError):
        raise
    except Exception as error:  # readers of other libraries raise many things
        what = f"it {error}" if isinstance(error, Unpackable) else error
        raise DataError(f"{card.name}: {path} is not readable as {card.format.kind}: {what}") from error


def _read_file(card: Card, file: File, stream: BinaryIO) -> Iterator[Block]:
    if isinstance(card.format, MatFormat):
        yield from _mat(card.format, stream)
        return
    if isinstance(card.format, NpzFormat):
        yield Block(*read_npz(stream, card.format.inputs, card.format.target), file.part)
        return
    if isinstance(card.format, ParquetFormat):
        table = read_parquet(stream)
        y = table[card.format.target]
        X = table.drop(columns=[card.format.target, *(card.format.ignore or ())])
        words = card.task == "classification" and not is_number(y)
        target = y.astype(str).to_numpy(dtype=object) if words else y.to_numpy(dtype=np.float64)
        yield Block(X.to_numpy(dtype=np.float64), target, file.part)
        return
    if isinstance(card.format, LibsvmFormat):
        pairs = _libsvm(card, stream)
    elif isinstance(card.format, ArffFormat):
        pairs = _arff(card, stream)
    else:
        assert isinstance(card.format, CsvFormat)
        layout = card.format
        between = None if layout.delimiter == " " else layout.delimiter  # for NumPy, any number of blanks
        options: dict[str, Any] = {"delimiter": between, "comments": None, "quotechar": layout.quote}
        lines = Lines(stream)
        if layout.header:
            next(filter(str.strip, lines), None)
        pairs = _table(card, lines, layout.target, layout.ignore or (), **options)
    for X, target in pairs:
        yield Block(X, target, file.part)


Pairs = Iterator[tuple[np.ndarray, np.ndarray]]


def _libsvm(card: Card, stream: BinaryIO) -> Pairs:
    X, target = svmlight(stream, card.columns)
    size = _block_rows(card)
    for start in range(0, X.shape[0], size):
        yield X[start : start + size].toarray(), target[start : start + size]


def svmlight(stream: BinaryIO, columns: int | None = None) -> tuple[Any, np.ndarray]:
    """(X, y) of a LIBSVM file, X in CSR form; ValueError names the first line that cannot be read."""
    from sklearn.datasets import load_svmlight_file

    try:
        return load_svmlight_file(stream, n_features=columns, zero_based=False)
    except (ValueError, OverflowError) as error:
        stream.seek(0)
        for number, line in enumerate(stream, 1):
            try:
                load_svmlight_file(io.BytesIO(line), n_features=columns, zero_based=False)
            except (ValueError, OverflowError):
                shown = line[:LINE_SHOWN].decode("utf-8", "replace").strip()
                what = "a line must be: label index:value …, the indices rising from 1, all of them numbers"
                fault = _svmlight_fault(line.decode("utf-8", "replace"), columns or MOST_INDEX)
                raise ValueError(f"line {number}, {shown!r}: {fault}{what}") from error
        raise


def _svmlight_fault(line: str, most: int) -> str:
    """Which rule a line of a LIBSVM file breaks, the largest index being ``most``; empty where it is none of these."""
    label, *pairs = line.partition("#")[0].split() or [""]
    if not _is_number(label):
        return f"the label {label!r} is no number; "
    last = 0
    for pair in pairs:
        index, colon, value = pair.partition(":")
        if not (colon and index.isdecimal()):
            return f"{pair!r} is no index:value; "
        at = int(index)
        if at == 0:
            return "the index 0 (scikit-learn's dump_svmlight_file begins with 1 if told zero_based=False); "
        if at > most:
            return f"the index {index} is larger than {most}; "
        if at <= last:
            return f"the index {at} stands there twice; " if at == last else f"the index {at} stands behind {last}; "
        if not _is_number(value):
            return f"the value of index {at}, {value!r}, is no number; "
        last = at
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _block_rows(card: Card) -> int:
    return max(1, BLOCK_BYTES // (8 * card.columns))


def _table(card: Card, lines: Lines, target: int, ignore: tuple[int, ...] = (), **options: Any) -> Pairs:
    """Delimited numbers, read as exactly as ``float`` does; a class label is any text, kept as written."""
    vocabulary: dict[str, int] = {}
    converters: dict[int | str, Any] = {column: lambda _: 0.0 for column in ignore}
    if card.task == "classification":
        converters[target] = lambda text: vocabulary.setdefault(text.strip(), len(vocabulary))
    while True:
        lines.numbers.clear()
        try:
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # that no line is left
                table = np.loadtxt(
                    lines, max_rows=_block_rows(card), ndmin=2, converters=converters or None, encoding="utf-8",
                    **options,
                )  # fmt: skip
        except UnicodeDecodeError:
            raise
        except ValueError as error:
            raise ValueError(_of_line(lines, str(error))) from error
        if not len(table):
            return
        width = table.shape[1]
        if absent := [number for number in (target, *ignore) if not -width <= number < width]:
            raise ValueError(f"its rows have {width} values, so there is no column {absent[0]}")
        if not (finite := np.isfinite(table)).all() and len(lines.numbers) >= len(table):
            row, column = np.argwhere(~finite)[0]
            place = f"line {lines.numbers[row]}, column {column + 1}"
            raise ValueError(f"{place}: {table[row, column]} is no finite number")
        column = table[:, target]
        values = np.array(list(vocabulary), dtype=object)[column.astype(int)] if vocabulary else column
        yield np.delete(table, (target, *ignore), axis=1), values


def _of_line(lines: Lines, message: str) -> str:
    """What numpy says of the line that it was at, which its reader asked for last."""
    if cell := re.search(r"could not convert string (.*) to float64 at row \d+, column (\d+)", message):
        return f"line {lines.number}, column {cell[2]}: {cell[1]} is no number"
    if widths := re.search(r"the number of columns changed from (\d+) to (\d+)", message):
        return f"line {lines.number} has {widths[2]} values, the lines before it {widths[1]}"
    if absent := re.search(r"converter specified for column (-?\d+), which is invalid .* fields (\d+)", message):
        return f"its rows have {absent[2]} values, so there is no column {absent[1]}"
    return f"line {lines.number}: {message}" if lines.number else message


class Lines(Iterator[str]):
    """A text's lines. ``number`` is that of the last one, counted as an editor does, ``numbers`` those of all that were
    not blank since it was last cleared. A mark of the byte order is left out."""

    def __init__(self, stream: BinaryIO) -> None:
        self._lines = iter(io.TextIOWrapper(stream, encoding="utf-8-sig"))
        self.number = 0
        self.numbers: list[int] = []

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        if line.strip():
            self.numbers.append(self.number)
        return line


def open_npz(stream: BinaryIO) -> Any:
    """A NumPy archive, opened; ValueError where it is none."""
    packed = io.BytesIO(stream.read())
    if not zipfile.is_zipfile(packed):
        raise ValueError("it is no archive that numpy.savez wrote")
    packed.seek(0)
    return np.load(packed, allow_pickle=False)


def read_npz(stream: BinaryIO, inputs: str, target: str) -> tuple[np.ndarray, np.ndarray]:
    """(X, y) of a NumPy archive: X (n, d) float64, y (n,) of numbers or of text."""
    with open_npz(stream) as arrays:
        if missing := [name for name in (inputs, target) if name not in arrays.files]:
            raise ValueError(f"it has no array {missing[0]!r}, but {', '.join(arrays.files) or 'none at all'}")
        try:
            X, y = arrays[inputs], arrays[target]
        except ValueError:  # they would have to be unpickled, which may run any code
            raise ValueError("it holds Python objects; save text as NumPy's: y.astype(str)") from None
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"{inputs} must be rows and columns of numbers; it is {X.dtype} of the shape {X.shape}")
    if y.shape not in ((len(X),), (len(X), 1)):
        raise ValueError(
            f"{target} must be one value per row; {inputs} has {len(X)} rows, {target} the shape {y.shape}"
        )
    y = y.ravel().astype(object if y.dtype.kind in "US" else np.float64)
    if y.dtype == object:
        y = np.array([each.decode() if isinstance(each, bytes) else str(each) for each in y], dtype=object)
    return np.ascontiguousarray(X, dtype=np.float64), y


def read_parquet(stream: BinaryIO) -> Any:
    """A Parquet file as pandas' table."""
    import pandas

    try:
        return pandas.read_parquet(io.BytesIO(stream.read()))
    except ImportError:
        missing = "Parquet is read by pyarrow, which is missing: pip install 'rffbench[shards]'; or save it as CSV"
        raise ValueError(missing) from None
    except ValueError as error:
        raise ValueError("it is no Parquet file, or a damaged one") from error


def is_number(column: Any) -> bool:
    """Whether a column of pandas holds numbers."""
    import pandas.api.types

    return bool(pandas.api.types.is_numeric_dtype(column))


def _arff(card: Card, stream: BinaryIO) -> Pairs:
    """The header only has to be passed: names are not needed, and values are checked against the card."""
    attributes = 0
    lines = Lines(stream)
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
    with _naming(card, path), open_content(path, file.name, file.member, limit=card.most_bytes) as stream:
        count, _ = _idx_shape(stream)
        target = np.frombuffer(_exactly(stream, count), dtype=np.uint8)
    file, path = inputs
    with _naming(card, path), open_content(path, file.name, file.member, limit=card.most_bytes) as stream:
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
