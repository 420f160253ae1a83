"""Types of arguments, and the options that many commands have."""

from __future__ import annotations

import math
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
