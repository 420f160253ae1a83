"""The output of commands: results on standard output; messages and progress bars on standard error."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from operator import add
from pathlib import Path
from typing import Any, ClassVar, TextIO

import click

from rffbench.cli.options import ONLY_JSON, QUIET
from rffbench.io.files import named
from rffbench.io.terminal import LinesAboveBar, is_terminal
from rffbench.io.text import duration, printable


def name_files(paths: Sequence[Path]) -> None:
    for path in paths:
        echo(f"wrote {path}")


def echo(text: str, *, nl: bool = True) -> None:
    """Print a result on standard output."""
    if not _told(QUIET) and not _told(ONLY_JSON):
        with _beside_bars():
            click.echo(printable(text), nl=nl)


def write_json(value: Any, file: str = "-") -> None:
    write_json_text(json.dumps(value, indent=2, ensure_ascii=False), file)


def write_json_text(text: str, file: str) -> None:
    """Write to a file, or to standard output, with escapes for characters that its encoding lacks."""
    if file != "-":
        with named(Path(file)):
            Path(file).write_text(text.rstrip() + "\n", encoding="utf-8")
        return
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    click.echo(text.rstrip())


def note(message: str) -> None:
    """Print progress on standard error."""
    if not _told(QUIET):
        say(message)


def say(message: str) -> None:
    """Print an error or a warning on standard error."""
    beside = contextlib.nullcontext() if Progress.terminal else _beside_bars()
    with contextlib.suppress(OSError), beside:  # who has closed standard error wants none of it
        click.echo(printable(message), err=True)


def _told(what: str) -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(what))


def message_of(error: Exception) -> str:
    """An error's message; for a system error, the file and the reason."""
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)


def width() -> int:
    """The columns of the terminal; 80 without one."""
    return shutil.get_terminal_size().columns


def room() -> int:
    """The columns of the terminal; without one, lines have no limit."""
    return width() if is_terminal(sys.stdout) else sys.maxsize


@contextlib.contextmanager
def _beside_bars() -> Iterator[None]:
    """In the block no bar is on the terminal; it is drawn again below the new output."""
    bars = sys.modules.get("tqdm")
    with bars.tqdm.external_write_mode(file=Progress.terminal) if bars else contextlib.nullcontext():
        yield


class Progress:
    """Shows counts of ok and failed trials and the time left on stderr: a bar on a terminal, otherwise one line per
    minute, for example in the log of a cluster's job. A command of several runs has one bar: each must `begin`."""

    EVERY_S: ClassVar[float] = 60.0
    terminal: ClassVar[TextIO | None] = None  # the terminal itself, while standard error leads above the bar

    def __init__(self, name: str) -> None:
        self._name = name
        self._bar: Any = None
        self.shown = is_terminal(sys.stderr) and not _told(QUIET)
        self._lines = LinesAboveBar(_beside_bars)
        self._told = time.monotonic()
        self._counts: tuple[int, ...] = (0, 0, 0)
        self._before: tuple[int, ...] = (0, 0, 0)
        self._to_come = 0
        self._later: float | None = 0.0

    def begin(self, to_come: int = 0, seconds: float | None = 0.0) -> None:
        """A run begins whose counts go on from those of the runs before. After it are ``to_come`` trials, which take
        about ``seconds``; None where that is not known, and then no time is shown."""
        self._before, self._to_come, self._later = self._counts, to_come, seconds

    def __enter__(self) -> Progress:
        if self.shown:
            Progress.terminal = self._lines.__enter__().terminal
        return self

    def __call__(self, done: int, total: int, ok: int, failed: int, eta: float | None) -> None:
        total += self._before[0] + self._to_come
        self._counts = done, ok, failed = tuple(map(add, self._before, (done, ok, failed)))
        eta = None if eta is None or self._later is None else eta + self._later
        if not self.shown:
            if done < total and time.monotonic() - self._told >= self.EVERY_S:
                self._told = time.monotonic()
                left = "" if eta is None else f", about {duration(eta)} left"
                note(f"{self._name}: {done:,} of {total:,} trials, {ok:,} ok, {failed:,} failed{left}")
            return
        if self._bar is None:
            from tqdm import tqdm

            layout = "{desc} {bar} {n_fmt}/{total_fmt}, {elapsed} gone{postfix}"
            self._bar = tqdm(total=total, desc=self._name, file=self.terminal, bar_format=layout, dynamic_ncols=True)
        left = "" if eta is None else f", {self._bar.format_interval(eta)} left"
        self._bar.n, self._bar.total = done, total
        self._bar.set_postfix_str(f"{ok} ok, {failed} failed{left}", refresh=True)

    def __exit__(self, *error: object) -> None:
        if self.shown:
            self._lines.__exit__(*error)
        if self._bar is not None:
            self._bar.close()
        if self.terminal:
            self.terminal.close()
            Progress.terminal = None


class TimeLeft:
    """Shows on stderr how much of a command's time is left, and what it does: a bar on a terminal, else nothing."""

    def __init__(self, seconds: float, name: str) -> None:
        self._seconds, self._name = seconds, name
        self._bar: Any = None
        self._shown = sys.stderr.isatty() and not _told(QUIET)

    def __enter__(self) -> TimeLeft:
        return self

    def __call__(self, gone: float, doing: str) -> None:
        if not self._shown:
            return
        if self._bar is None:
            from tqdm import tqdm

            layout = "{desc}{percentage:3.0f}% |{bar}|{postfix}"
            self._bar = tqdm(
                total=self._seconds, desc=self._name, file=sys.stderr, bar_format=layout, dynamic_ncols=True
            )
        left = self._bar.format_interval(max(0, self._seconds - gone))
        self._bar.n = min(gone, self._seconds)
        self._bar.set_postfix_str(f"{left} left, {doing}", refresh=True)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.leave = False
            self._bar.close()


class Download:
    """A bar on stderr for the file being downloaded; nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> Callable[[str, int, int | None], None] | None:
        return self._show if is_terminal(sys.stderr) and not _told(QUIET) else None

    def _show(self, file: str, received: int, total: int | None) -> None:
        if self._bar is None or self._bar.desc != file:
            from tqdm import tqdm

            self.__exit__()
            self._bar = tqdm(desc=file, total=total, unit="B", unit_scale=True, file=sys.stderr, dynamic_ncols=True)
        self._bar.update(received - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
