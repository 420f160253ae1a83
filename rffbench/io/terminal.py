"""The terminal that a progress bar shares with whatever writes to standard error: workers, plug-ins, libraries."""

from __future__ import annotations

import codecs
import io
import os
import re
import select
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

from rffbench.io.text import printable


def is_terminal(stream: Any) -> bool:
    """Whether a standard stream is a terminal; not if it is None or closed, or is an object that does not say."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


BEGUN_S = 0.2  # how long a line may have begun before it is shown as it is: it may be a question
MOST = 2**16  # bytes read at once, and of a line without an end


class LinesAboveBar:
    """In the block, output of this process and its children to standard error, file descriptor 2, is shown on separate
    lines above the bar.

    The output goes through a pipe, whose reader writes it to ``terminal`` within ``beside()``, a block without a bar.
    The bar itself is drawn on ``terminal``, which stays open after the block, for the bar's end.
    """

    def __init__(self, beside: Callable[[], AbstractContextManager[object]]) -> None:
        self._beside = beside

    def __enter__(self) -> LinesAboveBar:
        sys.stderr.flush()
        self.terminal = io.TextIOWrapper(
            os.fdopen(os.dup(2), "wb"), encoding=sys.stderr.encoding, errors=sys.stderr.errors, line_buffering=True
        )
        self._heard, into = os.pipe()
        self._ended, self._end = os.pipe()
        os.dup2(into, 2)
        os.close(into)
        os.set_blocking(self._heard, False)
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        sys.stderr.flush()
        os.dup2(self.terminal.fileno(), 2)
        os.close(self._end)  # the pipe has no end of its own: a process that outlives the block has it open
        self._thread.join()
        os.close(self._heard)
        os.close(self._ended)

    def _pass_on(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        begun, ready = "", list[int]()
        while self._ended not in ready:
            ready, _, _ = select.select([self._heard, self._ended], [], [], BEGUN_S if begun else None)
            while data := self._read():
                *lines, begun = re.split(r"\r\n|[\r\n]", begun + decoder.decode(data))
                if len(begun) > MOST:
                    lines, begun = [*lines, begun], ""
                self._show(lines)
            if begun and (not ready or self._ended in ready):
                self._show([begun])
                begun = ""

    def _read(self) -> bytes:
        try:
            return os.read(self._heard, MOST)
        except BlockingIOError:
            return b""

    def _show(self, lines: list[str]) -> None:
        if lines:
            with suppress(OSError), self._beside():  # the terminal may be gone
                self.terminal.write("".join(f"{printable(line)}\n" for line in lines))
