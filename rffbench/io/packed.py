"""The content of .xz and .bz2 files, whole or not at all.

`lzma.open` and `bz2.open` take a damaged stream behind the first one for the end, and rows would be lost unnoticed.
(`gzip.open` refuses it.)
"""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import Any, BinaryIO

PIECE = 1 << 16  # bytes read at a time


class Damaged(ValueError):
    """A packed file is cut off, or has something that is no stream behind a stream."""


class Streams(io.RawIOBase):
    """The content of all streams of a packed file, with the zeros that may pad them.

    Reading raises Damaged, LZMAError or OSError for a damaged file. With ``times``, it raises Damaged where the
    content is larger than ``times`` its packed size, and than ``least`` bytes.
    """

    def __init__(
        self,
        packed: BinaryIO,
        begin: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor],
        *,
        padding: int,
        times: int | None = None,
        least: int = 0,
    ) -> None:
        self._packed, self._begin, self._padding, self._times, self._least = packed, begin, padding, times, least
        self._input = b""
        self._stream: lzma.LZMADecompressor | bz2.BZ2Decompressor | None = None
        self._begun = False
        self._taken = self._position = 0  # bytes packed and unpacked

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._packed.seekable()

    def readinto(self, buffer: Any) -> int:
        while self._stream or self._another():
            assert self._stream is not None
            if self._stream.needs_input and not self._fill():
                raise Damaged("it ends too early")
            piece = self._stream.decompress(self._input, len(buffer))
            self._input = b""
            if self._stream.eof:
                self._input, self._stream = self._stream.unused_data, None
            self._position += len(piece)
            if self._times and self._position > max(self._least, self._times * self._taken):
                raise Damaged(f"it holds more than {self._times:,} times its size")
            if piece:
                buffer[: len(piece)] = piece
                return len(piece)
        return 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place of the content by unpacking all before it."""
        if whence == io.SEEK_END:
            while self.read(PIECE):
                pass
        place = max(0, offset + (0 if whence == io.SEEK_SET else self._position))
        if place < self._position:
            self._packed.seek(0)
            self._input, self._stream, self._begun, self._taken, self._position = b"", None, False, 0, 0
        while self._position < place and self.read(min(PIECE, place - self._position)):
            pass
        return self._position

    def tell(self) -> int:
        return self._position

    def _fill(self) -> bool:
        """Read on if nothing is left; whether there is something."""
        if not self._input:
            self._input = self._packed.read(PIECE)
            self._taken += len(self._input)
        return bool(self._input)

    def _another(self) -> bool:
        """Begin the next stream, behind padding; False at the end."""
        zeros = 0
        while self._fill() and self._begun:
            rest = self._input.lstrip(b"\0")
            zeros += len(self._input) - len(rest)
            self._input = rest
            if rest:
                break
        if zeros % self._padding:
            raise Damaged(f"{zeros:,} zeros are no padding")
        if not self._input and self._begun:
            return False
        self._stream, self._begun = self._begin(), True
        return True


def open_xz(packed: BinaryIO, *, times: int | None = None, least: int = 0) -> Streams:
    """The content of an open .xz file, see `Streams`. Streams are padded by four zeros or a multiple of it."""
    return Streams(packed, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), padding=4, times=times, least=least)


def open_bz2(packed: BinaryIO) -> Streams:
    """The content of an open .bz2 file."""
    return Streams(packed, bz2.BZ2Decompressor, padding=1)
