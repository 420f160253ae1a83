"""Types of arguments, and the options that many commands have."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

QUIET, ONLY_JSON = "rffbench.quiet", "rffbench.only_json"  # keys of the command's context


def _quiet(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    _context.meta[QUIET] = value


def _json_file(context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    context.meta[ONLY_JSON] = value == "-"
    return value


quiet_option = click.option(
    "--quiet", "-q", is_flag=True, expose_value=False, callback=_quiet, help="Print only errors and warnings."
)
json_option = click.option(
    "--json", "json_file", is_flag=False, flag_value="-", metavar="[FILE]", callback=_json_file,
    help="Write the result as JSON into FILE; without FILE, print only the JSON.",
)  # fmt: skip

article_option = click.option(
    "--columns", type=click.IntRange(1, 2), default=2, show_default=True,
    help="How many columns of an article it is set across, in tex and typst.",
)  # fmt: skip


def column(text: str) -> str | int:
    """A column: its number, if it is one, or its name."""
    return int(text) if text.lstrip("-").isdigit() else text


def _columns(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str | int] | None:
    return None if value is None else [column(each.strip()) for each in value.split(",") if each.strip()]


def _words(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [each.strip() for each in value.split(",") if each.strip()]


_TABLE_OPTIONS: dict[str, dict[str, Any]] = {
    "target": {"metavar": "A[,B]", "help": "The target's column, by name or counted from 0; several for a regression of"
               " several targets. [default: the last]"},
    "task": {"type": click.Choice(["classification", "regression"]), "help": "What the target is."},
    "ignore": {"metavar": "A,B", "callback": _columns, "help": "Columns that are neither input nor target."},
    "keep": {"metavar": "A,B", "callback": _columns, "help": "Columns that are inputs although they look like IDs, or"
             " are constant."},
    "categories": {"metavar": "A,B", "callback": _columns, "help": "Columns whose numbers are codes for words."},
    "dates": {"metavar": "ignore|parts|FORMAT", "help": "What to do with dates: parts reads year, month, day, weekday"
              " and hour; a FORMAT such as %d/%m/%Y does, too. [default: ignore; of fit: parts]"},
    "delimiter": {"metavar": "C", "help": "The mark between cells: a character, or tab or blank."},
    "header/--no-header": {"default": None, "help": "Whether the first line has names."},
    "comment": {"metavar": "C", "help": "Skip lines that begin with it; '' for no such lines."},
    "decimal": {"type": click.Choice([".", ","]), "help": "The decimal mark."},
    "thousands": {"metavar": "C", "help": "The mark between thousands: , . ' or a blank; '' for none."},
    "missing": {"metavar": "A,B", "callback": _words, "help": "The words for a missing value, beside an empty cell; ''"
                " keeps NA and None as words. [default: ?, NA, N/A, NaN, null, None]"},
    "encoding": {"metavar": "NAME", "help": "The text's encoding, such as cp1252."},
    "sheet": {"metavar": "NAME", "help": "The sheet of a workbook. [default: the first]"},
    "skip": {"type": click.IntRange(min=0), "metavar": "N", "help": "How many lines come before the table."},
}  # fmt: skip


# What a user says of a table's columns; the other options are of how a file is written.
_OF_COLUMNS = ("target", "task", "ignore", "keep", "categories", "dates")


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that overrule what is decided of a user's file, by its content; the command gets those that are given as
    ``reading``, by the names of a config's keys."""
    return _with_reading(command, _TABLE_OPTIONS)


def writing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Those of `table_options` that say how a file is written, and nothing of its columns."""
    return _with_reading(command, {name: each for name, each in _TABLE_OPTIONS.items() if name not in _OF_COLUMNS})


def _with_reading(command: Callable[..., Any], options: dict[str, dict[str, Any]]) -> Callable[..., Any]:
    names = [name.partition("/")[0] for name in options]

    @functools.wraps(command)
    def with_reading(*args: Any, **given: Any) -> Any:
        reading = {name: value for name in names if (value := given.pop(name)) is not None}
        if isinstance(target := reading.get("target"), str):
            reading["target"] = column(target)
        return command(*args, reading=reading, **given)

    for name, settings in reversed(options.items()):
        with_reading = click.option(f"--{name}", **settings)(with_reading)
    return with_reading


class _Place(click.Path):
    """A file or folder. The empty text is refused; elsewhere it would mean the current folder."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if value == "":
            self.fail("must name a file or folder, and is empty", parameter, context)
        return super().convert(value, parameter, context)


class _Whole(click.IntRange):
    name = "whole number"


class _Points(click.FloatRange):
    """A finite number, 0 or more."""

    name = "number"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        number = super().convert(value, parameter, context)
        if not math.isfinite(number):
            self.fail(f"must be a number, not {number}", parameter, context)
        return number


FILE, TEXT, COUNT, POINTS = _Place(path_type=Path), _Place(), _Whole(min=1), _Points(min=0)
