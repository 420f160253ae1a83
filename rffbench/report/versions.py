"""The versions of a user's own file that have rows in a results folder: ``results/mine@source:1``.

If the file was edited, a run moves the earlier rows to trials.aside.jsonl (`rffbench.execution.provenance`). Each row
has the SHA-256 of its version of the file.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rffbench.errors import ResultsError
from rffbench.execution.log import ASIDE, each_row
from rffbench.execution.row import Row
from rffbench.io.text import plural
from rffbench.plugins import ownfile

SOURCE = "source:"  # comes before a version's number, where a git revision might be
HASH_SHOWN = 12  # digits


@dataclass(frozen=True)
class Version:
    """The version of ``file`` with the SHA-256 ``source``."""

    file: str
    source: str


def copy_version(folder: Path, number: str, copy: Path, place: str) -> None:
    """Make ``copy`` the results folder as of the version with this number (counted from 1, oldest first): the rows of
    that version, and those rows of the log that do not depend on its file. ResultsError, with a list of the versions,
    for an unknown number."""
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder")
    counts = versions(folder)
    if number not in map(str, range(1, len(counts) + 1)):
        raise ResultsError(f"{place}: {_listed(folder, counts)}")
    version = [*counts][int(number) - 1]
    copy.mkdir(parents=True)
    for file in folder.iterdir():  # config.yaml, and the users' own files beside it
        if file.is_file() and not file.name.startswith(("trials.", "trials-")):
            shutil.copyfile(file, copy / file.name)
    with (copy / "trials.jsonl").open("w", encoding="utf-8") as log:
        for row, aside in _rows(folder):
            source = _sources(row).get(version.file)
            if source == version.source or (source is None and not aside):
                log.write(json.dumps(row) + "\n")


def versions(folder: Path) -> dict[Version, int]:
    """For each own file with rows of several versions: the versions, oldest first, with their numbers of rows."""
    counts = Counter(Version(*source) for row, _ in _rows(folder) for source in _sources(row).items())
    edited = [version.file for version in counts]
    return {version: count for version, count in counts.items() if edited.count(version.file) > 1}


def _rows(folder: Path) -> Iterator[tuple[Row, bool]]:
    """(row, whether it was set aside) for the rows that were set aside, then for those of the log."""
    for name in (ASIDE, "trials.jsonl"):
        for row in each_row(folder / name, other_keys=name == ASIDE):
            yield row, name == ASIDE


def _sources(row: Row) -> dict[str, str]:
    """The SHA-256 of each own file that a row depends on, by the file's name."""
    scores = [name for name in row.get("scores") or [] if ownfile.is_own(name)]
    parts = [
        (row["features"].get("name"), row.get("source")),
        (row["kernel"].get("name"), row.get("kernel_source")),
        *zip(scores, row.get("score_sources") or [], strict=False),
    ]
    return {ownfile.portable(name).rpartition(":")[0]: source for name, source in parts if source}


def _listed(folder: Path, counts: dict[Version, int]) -> str:
    if not counts:
        one = "rows of one version of each own file"
        return f"{folder} has {one}; when a file is edited, the next run keeps the rows of the version before"
    each = (
        f"{SOURCE}{number} ({version.file}, {version.source[:HASH_SHOWN]}, {plural(count, 'row')})"
        for number, (version, count) in enumerate(counts.items(), 1)
    )
    return f"{folder} has {', '.join(each)}"
