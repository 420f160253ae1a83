"""Where an experiment's results lie in a folder of results.

One rule: an experiment's folder is found by its name, in the folder of results itself or in its groups, which are
folders of such folders (``results/papers/wu2016/wu2016``). One that is not there yet is made as ``results/NAME``; where
the group of a shipped config has a card, as in the repository, in that group: ``results/GROUP/NAME``.
"""

from __future__ import annotations

import contextlib
from os import PathLike
from pathlib import Path

from rffbench.errors import ResultsError
from rffbench.execution.log import log_files
from rffbench.io.resources import CARD, resource_folder, shipped_configs

USUAL = Path("results")
DEEPEST = 2  # groups within each other, as in papers/wu2016


def experiment_folders(path: str | PathLike[str]) -> list[Path]:
    """The experiments at ``path``: the folder itself, or the folders in it, by name, then those in its groups.

    A folder that is not there is found by its name, see `found`. Folders that ``--fresh`` moved aside
    (``name.old-<time>``) and hidden ones are skipped. ResultsError if there is no experiment.
    """
    path = found(Path(path))
    if not path.is_dir():
        problem = "is a file; results are a folder" if path.exists() else "no such results folder"
        raise ResultsError(f"{path}: {problem}")
    if log_files(path):
        return [path]
    if folders := _inside(path):
        return folders
    raise ResultsError(f"{path}: neither a results folder (no trials.jsonl) nor a folder of such folders")


def experiment_folder(path: str | PathLike[str]) -> Path:
    """The one experiment at ``path``, or of this name, where ``path`` is a group (``results/board``). ResultsError if
    it is a folder of several, or has no results."""
    path = found(Path(path))
    if experiment_folders(path) == [path]:
        return path
    if named := _called(path.name, path.parent):
        return named
    raise ResultsError(f"{path}: holds the folders of experiments; give one of these")


def found(path: Path) -> Path:
    """What a user calls ``path``: this folder, if it is there; else the experiment of this name in the groups beside
    it (``results/wu2016``) or, where the name is all that is given, in ``results``; else ``path`` again."""
    if path.exists():
        return path
    return _called(path.name, USUAL if path.parent == Path() else path.parent) or path


def folder_of(results: str | PathLike[str], name: str) -> Path:
    """Where a run of the experiment ``name`` finds its earlier trials, and writes."""
    results = Path(results)
    if there := _called(name, results):
        return there
    if config := shipped_configs().get(name):
        group = results / config.parent.relative_to(resource_folder("configs"))
        if (group / CARD).is_file():
            return group / name
    return results / name


def _called(name: str, results: Path) -> Path | None:
    """The experiment of this name in a folder of results; the first one, if groups have several."""
    if log_files(results / name):
        return results / name
    return next((each for each in _inside(results) if each.name == name), None) if results.is_dir() else None


def _inside(folder: Path, deepest: int = DEEPEST) -> list[Path]:
    """The experiments in a folder, and then those in its groups."""
    beside = sorted(each for each in folder.iterdir() if each.name[:1] != "." and ".old-" not in each.name)
    experiments = [each for each in beside if log_files(each)]
    for group in beside:
        if deepest and group not in experiments and group.is_dir() and not group.is_symlink():
            with contextlib.suppress(PermissionError):
                experiments += _inside(group, deepest - 1)
    return experiments
