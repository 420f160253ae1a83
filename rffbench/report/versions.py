"""The versions of a user's own file with rows in a results folder: ``results/mine@source:1``.

A run moves the rows of a file that was edited since to trials.aside.jsonl (`rffbench.execution.provenance`). They have
the SHA-256 of that version of the file, which identifies it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rffbench.errors import ResultsError
from rffbench.execution.log import ASIDE, each_row
from rffbench.execution.row import Row
from rffbench.plugins import ownfile
from rffbench.text import plural

SOURCE = "source:"  # what a version's number stands behind, in place of a git revision
HASH_SHOWN = 12  # digits


@dataclass(frozen=True)
class Version:
    """A ``file`` as it was when its SHA-256 was ``source``."""

    file: str
    source: str


def copy_version(folder: Path, number: str, copy: Path, place: str) -> None:
    """Make ``copy`` the results folder as of the version with this number, counted from 1, oldest first: the rows of
    that version, and those of the log that don't depend on its file. ResultsError, naming the versions there are,
    where there is not one of that number."""
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder")
    counts = versions(folder)
    if number not in map(str, range(1, len(counts) + 1)):
        raise ResultsError(f"{place}: {_told(folder, counts)}")
    version = [*counts][int(number) - 1]
    copy.mkdir(parents=True)
    for file in folder.iterdir():  # the config's own files are beside it
        if file.is_file() and not file.name.startswith("trials."):
            shutil.copyfile(file, copy / file.name)
    with (copy / "trials.jsonl").open("w", encoding="utf-8") as log:
        for row, aside in _rows(folder):
            source = _sources(row).get(version.file)
            if source == version.source or (source is None and not aside):
                log.write(json.dumps(row) + "\n")


def versions(folder: Path) -> dict[Version, int]:
    """For each own file with rows of several versions: the versions, oldest first, with their numbers of rows."""
    counts: dict[Version, int] = {}
    for row, _ in _rows(folder):
        for file, source in _sources(row).items():
            version = Version(file, source)
            counts[version] = counts.get(version, 0) + 1
    edited = [version.file for version in counts]
    return {version: count for version, count in counts.items() if edited.count(version.file) > 1}


def _rows(folder: Path) -> Iterator[tuple[Row, bool]]:
    """The rows that were set aside, and then those of the log; and which of both each is."""
    for name in (ASIDE, "trials.jsonl"):
        for row in each_row(folder / name):
            yield row, name == ASIDE


def _sources(row: Row) -> dict[str, str]:
    """The SHA-256 of each own file that a row depends on, by its name."""
    scores = [name for name in row.get("scores") or [] if ownfile.is_own(name)]
    parts = [
        (row["features"].get("name"), row.get("source")),
        (row["kernel"].get("name"), row.get("kernel_source")),
        *zip(scores, row.get("score_sources") or [], strict=False),
    ]
    return {ownfile.portable(name).rpartition(":")[0]: source for name, source in parts if source}


def _told(folder: Path, counts: dict[Version, int]) -> str:
    if not counts:
        return (
            f"{folder} has rows of one version of each own file; of an edited one the next run keeps the "
            "rows that it has so far"
        )
    each = (
        f"{SOURCE}{number} ({version.file}, {version.source[:HASH_SHOWN]}, {plural(count, 'row')})"
        for number, (version, count) in enumerate(counts.items(), 1)
    )
    return f"{folder} has {', '.join(each)}"
