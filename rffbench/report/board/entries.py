"""Who has looked at an entry of the board: whether its trials were repeated, and whether its authors checked it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, RootModel

from rffbench.io import files, yamlfile

ENTRIES = Path(__file__).with_name("entries.yaml")
"""What ships with the package, and the site shows."""
NO = "no"


class Checked(BaseModel):
    """When an entry's trials were repeated, and where its authors said that they checked it. ``sha256`` is that of the
    map's file; empty for a map of the package."""

    model_config = ConfigDict(extra="forbid")
    repeated: str = NO
    authors: str = NO
    sha256: str = ""


class _Entries(RootModel[dict[str, Checked]]):
    pass


def read_entries(path: Path = ENTRIES) -> dict[str, Checked]:
    """Who has looked at each entry, by its label; ConfigError where the file lists something else."""
    return yamlfile.load(path, _Entries).root


def write_entry(path: Path, label: str, entry: Checked) -> None:
    """Put an entry into the file, or into a new one. The comments stay; so does what the authors said of the same file
    of the map."""
    entries = read_entries(path) if path.exists() else {}
    old = entries.get(label)
    if old and old.sha256 == entry.sha256 and entry.authors == NO:
        entry = entry.model_copy(update={"authors": old.authors})
    entries[label] = entry
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    comment = [line for line in lines if line.startswith("#")]
    found = {name: each.model_dump(exclude_defaults=True) for name, each in sorted(entries.items())}
    files.replace(path, "".join(comment) + yamlfile.dump(found))
