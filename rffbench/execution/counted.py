"""The rows of a results folder that count: the last one of each trial that its config asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rffbench.config.grid import Grid, Sweep
from rffbench.config.loading import load_resolved
from rffbench.execution.log import Cell, cell, each_row
from rffbench.execution.row import Row


class Counted(NamedTuple):
    """A row, and the labels of its protocol, one per axis of the sweep."""

    labels: dict[str, str]
    row: Row


def counted_rows(folder: Path, left_out: Callable[[str], object] | None = None) -> list[Counted]:
    """The last row of each trial of each protocol, in the order of the trials' first rows; ``left_out`` as of
    `each_row`. A trial that two protocols have in common counts for the first of them.

    The variants of a sweep have labels and sizes in common, so that only the config can tell them apart. A trial that
    was measured again under another key, because its data has changed, counts once.
    """
    configs = load_resolved(folder / "config.yaml")
    sweep = Sweep([Grid(config) for _, config in configs])
    last: dict[tuple[int, Cell], Row] = {}
    for row in each_row(folder / "trials.jsonl", left_out):
        for number in sweep.wanting(row)[:1]:
            last[number, cell(row)] = row
    return [Counted(configs[number][0], row) for (number, _), row in last.items()]
