"""Standard streams that are closed, full or of another encoding, and Ctrl-C."""

from __future__ import annotations

import atexit
import codecs
import contextlib
import io
import os
import signal
import sys
from typing import NoReturn

from rffbench.cli.output import Progress
from rffbench.io.text import spelt_out

INTERRUPTED = 130


def replace_closed_streams() -> None:
    """Replace closed standard streams by empty ones; otherwise the next opened file would get their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing == number:
                os.set_inheritable(number, True)  # workers have standard streams, too
            else:
                os.dup2(nothing, number)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False))


def stop_at_second_interrupt() -> None:
    """The first Ctrl-C ends a command in order, the next one at once: workers end with their parent."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # it is ignored, as in the background
        return
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        if interrupted:
            with contextlib.suppress(OSError):
                os.write(
                    Progress.terminal.fileno() if Progress.terminal else 2,
                    b"\ninterrupted again: stopped at once; the same command carries on from here\n",
                )
            os._exit(INTERRUPTED)
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


def leave_at_once(status: int) -> NoReturn:
    """End the process without the interpreter's clean-up, which takes a third of a second with all libraries loaded,
    and seconds on a busy machine."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def adapt_standard_streams() -> None:
    """Characters that a stream's encoding lacks are spelt out; standard output may be closed."""
    codecs.register_error("spelt-out", spelt_out)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="spelt-out")
    if isinstance(old := sys.stdout, io.TextIOWrapper):
        encoding, by_line = old.encoding, old.line_buffering
        sys.stdout = _Output(old.detach(), encoding=encoding, errors="spelt-out", line_buffering=by_line)
        sys.__stdout__ = sys.stdout  # type: ignore[misc]  # the old one has nothing to write to any more


class _Output(io.TextIOWrapper):
    """Standard output whose reader may stop early, as `head` does: the command continues with the same exit status, and
    the rest of the output is dropped."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            self._write_nowhere()
            return len(text)
        except OSError as error:
            raise self._unwritten(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._write_nowhere()
            super().flush()
        except OSError as error:
            raise self._unwritten(error) from None

    def _unwritten(self, error: OSError) -> OSError:
        """The error with a name of what could not be written to, a full disk for one; the rest goes nowhere."""
        self._write_nowhere()
        return OSError(error.errno, error.strerror, "standard output")

    def _write_nowhere(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
