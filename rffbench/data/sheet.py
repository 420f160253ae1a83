"""A table as its container has it, before anything is decided of its columns; and what a user says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from rffbench.data.cells import Spelling, spelling_of
from rffbench.errors import ConfigError, unknown

ColumnName = str | int
Block = tuple[Sequence[int], Sequence[Sequence[str] | np.ndarray]]  # places, and the cells of each column


@dataclass(frozen=True)
class Options:
    """What is said of a file; everything else is decided by its content.

    ``target`` (one, or several), ``ignore``, ``categories`` (numbers that mean words) and ``keep`` (inputs although
    they look like IDs, or are constant) are columns, by name or number from 0, negative from the end. ``dates`` is
    "ignore", "parts" or their format. ``missing`` are the texts of a missing value beside the empty one. ``comment``
    may be empty: no line is one. ``sheet`` is that of a workbook, ``skip`` the number of lines before the table.
    """

    target: ColumnName | tuple[ColumnName, ...] | None = None
    task: Any = None  # classification or regression
    ignore: tuple[ColumnName, ...] = ()
    categories: tuple[ColumnName, ...] = ()
    keep: tuple[ColumnName, ...] = ()
    dates: str = "ignore"
    header: bool | None = None
    delimiter: str | None = None
    comment: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] | None = None
    encoding: str | None = None
    sheet: str | None = None
    skip: int | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """The options by name; lists are tuples. ConfigError for an unknown name, or marks that are the same."""
        known = [each.name for each in fields(cls)]
        for key in given:
            if key not in known:
                raise ConfigError(unknown("option", key, known))
        values: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in given.items()}
        if (delimiter := values.get("delimiter")) in _WORDS:
            values["delimiter"] = _WORDS[str(delimiter)]
        options = cls(**values)
        for key, allowed in {"decimal": (".", ","), "thousands": ("", ",", ".", " ", "'")}.items():
            if (value := getattr(options, key)) is not None and value not in allowed:
                raise ConfigError(f"{key}: must be one of {', '.join(map(repr, allowed))}, not {value!r}")
        for key in ("delimiter", "comment"):
            if len(getattr(options, key) or "") > 1:
                raise ConfigError(f"{key}: must be a single character, not {getattr(options, key)!r}")
        if options.delimiter in ("", '"', "\n", "\r"):
            raise ConfigError(f"delimiter: must be a single character and no quote, not {options.delimiter!r}")
        if options.decimal and options.decimal == options.thousands:
            raise ConfigError(f"decimal and thousands: are the same, {options.decimal!r}")
        return options

    @property
    def targets(self) -> tuple[ColumnName, ...]:
        """The columns of the target, as given; empty for the last."""
        if self.target is None:
            return ()
        return self.target if isinstance(self.target, tuple) else (self.target,)

    def spelling(self, decimal: str, thousands: str) -> Spelling:
        return spelling_of(decimal, thousands, self.missing)

    def only(self, path: Any, *keys: str) -> None:
        """ConfigError if another option than ``keys`` is given."""
        for each in fields(self):
            if each.name not in (*keys, "task") and getattr(self, each.name) != each.default:
                raise ConfigError(f"{path.name}: {each.name} is for columns of text, which this file does not have")


_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " ", "blanks": " ", "comma": ",", "semicolon": ";"}


@dataclass(frozen=True)
class Sheet:
    """The columns of a container.

    ``layout`` is the card's format without its columns. ``blocks(size=None)`` are the rows in blocks, of at most
    ``size`` rows where the container can give so few. ``place(place, column)`` is the place of a cell in words,
    ``notes`` are pairs (what, how it was decided).

    ``names`` are empty without a header. ``by_name``: the card's format has columns by name. ``left_out`` are columns
    that are none of the table's, with the reason.
    """

    layout: dict[str, Any]
    names: list[str]
    width: int
    blocks: Callable[..., Iterator[Block]]
    place: Callable[[int, int], str]
    notes: list[tuple[str, str]] = field(default_factory=list)
    by_name: bool = False
    left_out: dict[int, str] = field(default_factory=dict)
    first: str = ""  # the line or row of the names, or of the first cells

    def name(self, column: int) -> str:
        return self.names[column] if self.names else ""

    def written(self, column: int) -> ColumnName:
        """The column as a config names it: by its name, if no other has it."""
        name = self.name(column)
        return name if name and self.names.count(name) == 1 else column
