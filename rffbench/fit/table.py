"""The table in a file, and new rows for a model, by `rffbench.data.tables`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rffbench.data.sheet import ColumnName
from rffbench.data.tables import Table, read_new_rows, read_table
from rffbench.errors import ConfigError, DataError, TableError
from rffbench.fit.metrics import Metric


def options(target: ColumnName | None, metric: Metric | None, reading: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `read_table`: a target or several, the task where a metric says it, and the rest, ``reading``."""
    given: dict[str, Any] = {"dates": "parts", **reading}
    if target is not None:
        given["target"] = target
    if metric is not None:
        task = "classification" if metric.of_classes else "regression"
        if given.setdefault("task", task) != task:
            raise ConfigError(f"--metric {metric.name} is of a {task}, --task says {given['task']}: give one of them")
    return given


def read(path: Path, given: Mapping[str, Any]) -> Table:
    """The table; TableError, with line and column, if it cannot be used. What is wrong with its target as a number is
    said where it has too many values to be of classes."""
    try:
        return read_table(path, **given)
    except DataError as error:
        said = str(error)
        if "another one in each" in said and "task" not in given:
            try:
                read_table(path, **given, task="regression")
            except DataError as other:
                said += f". As a number: {str(other).removeprefix(f'{path.name}: ')}"
        raise TableError(as_options(said)) from error


def as_options(text: str) -> str:
    """A message that speaks of a config's keys, ``{path: …, decimal: ','}``, with the options of the command line."""

    def option(found: re.Match[str]) -> str:
        key, value = found[1], found[2].strip()
        if key == "header":
            return "--header" if value == "true" else "--no-header"
        words = [each.strip().strip("'\"") for each in value.strip("[]").split(", ")]
        said = ",".join(words).replace("…", "NAME")
        return f"--{key} {said if said and ' ' not in said else repr(said)}"

    return re.sub(r"\{path: …, (\w+): ((?:'[^']*'|\[[^\]]*\]|[^}])*)\}", option, text)


def read_new(path: Path, reading: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """The inputs of new rows, which are read with the options ``given``, and notes; TableError if a column is missing,
    or a cell is no number where one was."""
    try:
        frame, notes = read_new_rows(path, reading, **given)
    except DataError as error:
        raise TableError(as_options(str(error))) from error
    if not len(frame):
        raise TableError(f"{path.name}: has no rows")
    return frame, notes
