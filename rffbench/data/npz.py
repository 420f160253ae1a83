"""NumPy archives, read in blocks of rows."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from rffbench.data.unpack import exactly

BLOCK_BYTES = 1 << 25  # bytes of a block's X


class Npz:
    """A NumPy archive whose arrays are read in blocks of rows; ValueError if that is not possible."""

    def __init__(self, stream: BinaryIO) -> None:
        try:
            if stream.read(2) != b"PK":  # else ZipFile seeks the end, and would unpack a packed file of zeros to there
                raise zipfile.BadZipFile
            self._archive = zipfile.ZipFile(stream)
        except zipfile.BadZipFile:
            raise ValueError("it is not an archive that numpy.savez wrote") from None
        self.names = [name.removesuffix(".npy") for name in self._archive.namelist()]

    def shape(self, name: str) -> tuple[int, int]:
        """(n, d) of an array of numbers."""
        with self._open(name) as (_, shape, _, dtype):
            if len(shape) != 2 or dtype.kind not in "fiub":
                raise ValueError(f"{name} must be rows and columns of numbers; it is {dtype} of the shape {shape}")
            return shape

    def rows(self, name: str) -> Iterator[np.ndarray]:
        """The rows in order, float64, in blocks of bounded size; an array that is stored by columns is one block."""
        n, d = self.shape(name)
        with self._open(name) as (content, _, by_columns, dtype):
            size = n if by_columns and d > 1 else max(1, BLOCK_BYTES // (8 * d))
            for start in range(0, n, size):
                some = min(size, n - start)
                flat = np.frombuffer(exactly(content, some * d * dtype.itemsize), dtype=dtype)
                block = flat.reshape(d, some).T if by_columns and d > 1 else flat.reshape(some, d)
                yield np.ascontiguousarray(block, dtype=np.float64)

    def target(self, name: str, rows: int, inputs: str) -> np.ndarray:
        """The value of each of the rows: float64 or text. Whole numbers that float64 cannot represent are texts."""
        with self._open(name) as (content, shape, _, dtype):
            if shape not in ((rows,), (rows, 1)):
                problem = f"must be one value per row; {inputs} has {rows} rows, {name} the shape {shape}"
                raise ValueError(f"{name} {problem}")
            y = np.frombuffer(exactly(content, rows * dtype.itemsize), dtype=dtype)
        if dtype.kind == "S":
            try:
                return np.array([each.decode() for each in y], dtype=object)
            except UnicodeDecodeError:
                raise ValueError(
                    f"{name} has bytes that are not UTF-8 text; save text as NumPy's: y.astype(str)"
                ) from None
        exact = dtype.kind not in "iu" or np.array_equal(y.astype(np.float64).astype(dtype), y)
        return y.astype(np.float64) if dtype.kind in "fiub" and exact else np.array([*map(str, y)], dtype=object)

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[Any, Any, bool, np.dtype]]:
        """(content, shape, whether it is stored by columns, dtype) of an array."""
        if name not in self.names:
            raise ValueError(f"it has no array {name!r}, but {', '.join(self.names) or 'none at all'}")
        with self._archive.open(self._archive.namelist()[self.names.index(name)]) as content:
            version = np.lib.format.read_magic(content)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, by_columns, dtype = read(content)
            if dtype.hasobject:  # unpickling may run any code
                raise ValueError("it holds Python objects; save text as NumPy's: y.astype(str)")
            yield content, shape, by_columns, dtype
