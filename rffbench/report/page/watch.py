"""The state of a results folder during a run: trials done and left, the table so far, failures."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rffbench.config.costs import shares
from rffbench.config.grid import Grid
from rffbench.config.loading import filter_specs, load_resolved
from rffbench.errors import RffbenchError
from rffbench.execution.log import each_row, log_files
from rffbench.execution.manifest import runs_of
from rffbench.execution.places import experiment_folders
from rffbench.execution.run import compiling_seconds
from rffbench.io import files
from rffbench.io.text import printable
from rffbench.report.frame import load_protocols
from rffbench.report.page.origin import failures_sheet
from rffbench.report.table import folder_table
from rffbench.trials.spec import Key

LOCK = ".lock"  # the file that a run locks
MOST_LOCK = 1000  # its bytes

_Marks = tuple[tuple[str, int, int], ...]  # name, time of change and size of each file that a state is read from


class Watch:
    """The experiments at ``place``, a results folder or a folder of such folders. ``state()`` reads only the folders
    that changed since the last call; several threads may call it."""

    def __init__(self, place: Path) -> None:
        experiment_folders(place)  # raises ResultsError before anything is served
        self.place = place
        self._busy = threading.Lock()
        self._known: dict[Path, _Experiment] = {}

    def state(self) -> dict[str, Any]:
        """The page's content as values for JSON: for every experiment its name, title, counts of trials, ``running``
        (the process, empty without one), ``seconds_left`` (None if unknown), ``last`` (when the last trial finished,
        ISO 8601), table, failures, and ``problem`` (why there is no table). These are about the whole config; during a
        run with --only, ``part`` has ``only``, ``done``, ``total`` and ``seconds_left`` of the chosen trials."""
        with self._busy:
            try:
                folders = experiment_folders(self.place)
            except RffbenchError as error:  # the folder was moved
                return {"problem": printable(str(error)), "experiments": []}
            for folder in folders:
                marks = _marks(folder)
                if folder not in self._known or self._known[folder].marks != marks:
                    self._known[folder] = _read(folder, marks)
            return {"problem": "", "experiments": [self._known[folder].state() for folder in folders]}


@dataclass
class _Experiment:
    """The state of one folder. ``work`` and ``work_left`` are the costs of trials (`shares`), because small sizes come
    first and are quick. ``compiling`` is the time of the run's first trial beyond its cost, ``part_left`` the cost that
    is left in a run with --only."""

    marks: _Marks
    name: str
    title: str = ""
    statuses: Counter[str] = field(default_factory=Counter)
    total: int | None = None
    running: str = ""
    started: datetime | None = None
    last: str = ""
    compiling: float = 0.0
    work: float = 0.0
    work_left: float = 0.0
    part: dict[str, Any] | None = None
    part_left: float = 0.0
    table: dict[str, Any] | None = None
    failures: list[list[str]] = field(default_factory=list)
    problem: str = ""

    def state(self) -> dict[str, Any]:
        ok, unavailable = self.statuses["ok"], self.statuses["unavailable"]
        return {
            "name": self.name, "title": self.title, "total": self.total, "ok": ok, "unavailable": unavailable,
            "failed": self.statuses.total() - ok - unavailable, "running": self.running,
            "seconds_left": self._seconds_left(self.work_left),
            "part": self.part and {**self.part, "seconds_left": self._seconds_left(self.part_left)},
            "last": self.last, "table": self.table, "failures": self.failures, "problem": self.problem,
        }  # fmt: skip

    def _seconds_left(self, work: float) -> float | None:
        """The seconds for ``work`` at the pace up to the last finished trial, as the run itself estimates it; later
        time was spent on trials that are not done. None if nothing runs."""
        last = _time(self.last)
        if not (self.running and self.started and last and self.work and work):
            return None
        elapsed = (last - self.started).total_seconds() - self.compiling
        return max(elapsed, min(1.0, self.work)) * work / self.work


def _read(folder: Path, marks: _Marks) -> _Experiment:
    found = _Experiment(marks, printable(folder.name), printable(folder.name))
    try:
        _read_progress(folder, found)
        if not found.last:
            found.problem = "No trial has finished yet."
            return found
        protocols = load_protocols(folder)
        table = folder_table(protocols)
        found.title = printable(protocols[0][1].title)
        texts = [[printable(text) for text in row] for row in [table.header, *table.rows, table.notes]]
        found.table = {
            "sentence": printable(table.sentence), "header": texts[0], "rows": texts[1:-1], "notes": texts[-1],
            "stub": table.stub,
        }  # fmt: skip
        if (sheet := failures_sheet(protocols)) is not None:
            found.failures = [[printable(cell.text) for cell in line.cells] for line in sheet.lines]
    except Exception as error:  # the page still shows the other experiments
        known = isinstance(error, RffbenchError | OSError)
        found.problem = printable(str(error) if known else f"{type(error).__name__}: {error}")
    return found


def _read_progress(folder: Path, found: _Experiment) -> None:
    runs = runs_of(folder)
    if runs and not runs[-1].get("finished"):
        found.running = _holder(folder)
        found.started = _time(runs[-1].get("started"))
    log = each_row(folder / "trials.jsonl", lambda _: None)
    rows = {row["key"]: (row["status"], row.get("finished")) for row in log}
    planned = _planned(folder)
    of_these = rows if planned is None else {key: row for key, row in rows.items() if key in planned}
    found.statuses = Counter(status for status, _ in of_these.values())
    found.last = max((finished for _, finished in rows.values() if isinstance(finished, str)), default="")
    if planned is not None:
        found.total = len(planned)
        found.work_left = sum(cost for key, cost in planned.items() if key not in rows)
        if found.running and (only := runs[-1].get("only")) and isinstance(only, list):
            only = [str(each) for each in only]
            part = _planned(folder, only) or {}
            options = printable(" ".join(f"--only {each}" for each in only))
            found.part = {"only": options, "done": len(part.keys() & rows.keys()), "total": len(part)}
            found.part_left = sum(cost for key, cost in part.items() if key not in rows)
        if found.started:
            ended = {key: time for key, (_, end) in of_these.items() if (time := _time(end)) and time >= found.started}
            found.work = sum(planned[key] for key in ended)
            if ended:
                first = min(ended, key=ended.__getitem__)
                found.compiling = compiling_seconds((ended[first] - found.started).total_seconds(), planned[first])


def _planned(folder: Path, only: Sequence[str] = ()) -> dict[Key, float] | None:
    """The costs by key of the trials that the config asks for, or of those that ``only`` selects; None if a dataset is
    unknown."""
    try:
        specs = [spec for _, config in load_resolved(folder / "config.yaml") for spec in Grid(config).specs()]
        return shares(filter_specs(specs, only))
    except (RffbenchError, KeyError, TypeError, ValueError):
        return None


def _holder(folder: Path) -> str:
    """The process that runs into the folder: ``process 123 on host``; empty without a lock, or if the process was
    killed."""
    try:
        holder = files.read_regular(folder / LOCK, MOST_LOCK).decode(errors="replace")
    except OSError:
        return ""
    process = re.fullmatch(r"process (\d+) on (.*)", holder)
    if process and process[2] == socket.gethostname():
        try:
            os.kill(int(process[1]), 0)
        except (ProcessLookupError, OverflowError):
            return ""
        except OSError:  # it exists, and belongs to another user
            pass
    return holder


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (TypeError, ValueError):
        return None


def _marks(folder: Path) -> _Marks:
    marks = []
    for path in (*log_files(folder), folder / "config.yaml", folder / "manifest.json", folder / LOCK):
        try:
            status = path.stat()
        except OSError:
            continue
        marks.append((path.name, status.st_mtime_ns, status.st_size))
    return tuple(marks)
