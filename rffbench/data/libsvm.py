"""Files in LIBSVM's format: a label and index:value pairs per line."""

from __future__ import annotations

import codecs
import io
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from rffbench.data.texts import LINE_SHOWN

BLOCK_LINES = 1000
MOST_INDEX = 2**31 - 1  # the largest index: scikit-learn reads 32-bit numbers


def svmlight(stream: BinaryIO, columns: int | None = None) -> tuple[Any, np.ndarray]:
    """(X, y) of a LIBSVM file, X in CSR form; ValueError names the first line that cannot be read."""
    from sklearn.datasets import load_svmlight_file

    if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        stream.seek(0)
    try:
        return load_svmlight_file(stream, n_features=columns, zero_based=False)
    except (ValueError, OverflowError) as error:
        stream.seek(0)
        for number, line in _wrong_first(stream, columns):
            try:
                load_svmlight_file(io.BytesIO(line), n_features=columns, zero_based=False)
            except (ValueError, OverflowError):
                shown = line[:LINE_SHOWN].decode("utf-8", "replace").strip()
                what = "a line must be: label index:value …, the indices rising from 1, all of them numbers"
                fault = _svmlight_fault(line.decode("utf-8", "replace"), columns or MOST_INDEX)
                raise ValueError(f"line {number}, {shown!r}: {fault}{what}") from error
        raise


def _wrong_first(stream: BinaryIO, columns: int | None) -> Iterator[tuple[int, bytes]]:
    """The numbered lines from the first block on that cannot be read: to read each line by itself takes 100 µs."""
    from sklearn.datasets import load_svmlight_file

    if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        stream.seek(0)
    lines = enumerate(stream, 1)
    while block := list(islice(lines, BLOCK_LINES)):
        try:
            load_svmlight_file(io.BytesIO(b"".join(line for _, line in block)), n_features=columns, zero_based=False)
        except (ValueError, OverflowError):
            yield from block


def not_finite(X: Any, y: np.ndarray, stream: BinaryIO, missing: Collection[int] = ()) -> str:
    """A message on the first target or value of a LIBSVM file, read from ``stream``, that is not finite; empty without
    any. ``missing`` columns may have NaN."""
    if not np.isfinite(y).all():
        return f"line {_line(stream, int(np.argmin(np.isfinite(y))))}: the target is missing or not finite"
    wrong = ~np.isfinite(X.data) & ~(np.isnan(X.data) & np.isin(X.indices, [*missing]))
    if not wrong.any():
        return ""
    first = int(np.argmax(wrong))
    line = _line(stream, int(np.searchsorted(X.indptr, first, side="right")) - 1)
    return f"line {line}, index {X.indices[first] + 1}: the value is not finite"


def _line(stream: BinaryIO, row: int) -> int:
    """The line number of a LIBSVM file's row, which is counted from 0 without blank lines and comments."""
    stream.seek(0)
    rows = (number for number, line in enumerate(stream, 1) if line.partition(b"#")[0].strip())
    return next(islice(rows, row, None))


def _svmlight_fault(line: str, most: int) -> str:
    """The rule that a line of a LIBSVM file breaks, with ``most`` as the largest index; empty if it breaks no rule."""
    label, *pairs = line.partition("#")[0].split() or [""]
    if "," in label and all(map(_is_number, label.split(","))):
        return f"it has several labels, {label}: a multilabel file, of which rffbench learns one label at a time; "
    if not _is_number(label):
        return f"the label {label!r} is not a number; "
    last = 0
    for pair in pairs[1:] if pairs and pairs[0].startswith("qid:") else pairs:
        index, colon, value = pair.partition(":")
        if not (colon and index.isdecimal()):
            return f"{pair!r} is not index:value; "
        at = int(index)
        if at == 0:
            return "the index 0 (scikit-learn's dump_svmlight_file begins with 1 if told zero_based=False); "
        if at > most:
            return f"the index {index} is larger than {most}; "
        if at <= last:
            return f"the index {at} is there twice; " if at == last else f"the index {at} comes after {last}; "
        if not _is_number(value):
            return f"the value of index {at}, {value!r}, is not a number; "
        last = at
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
