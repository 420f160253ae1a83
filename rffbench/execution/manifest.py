"""manifest.json of a results folder: where its trials were measured, for the newest run and those before it."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rffbench import __version__
from rffbench.data import data_hash
from rffbench.errors import ResultsError, unreadable
from rffbench.execution import Announce, Executor, Experiment
from rffbench.execution.environment import now, record
from rffbench.execution.log import json_lines, log_files
from rffbench.io import files
from rffbench.trials.spec import TrialSpec

FORMAT = 2  # of a results folder: raise it when an older rffbench could not read, or would misread, the new format
BEFORE = 1  # what `rffbench migrate` rewrites
DEEPEST = 40  # levels of lists and objects; a manifest has 5
MOST_BYTES = 100_000_000  # a thousand runs over as many datasets


def runs_of(folder: Path) -> list[dict[str, Any]]:
    """The records of a folder's runs in its manifest.json, oldest first; empty without a manifest. ResultsError if the
    file is not a manifest."""
    path = folder / "manifest.json"
    try:
        manifest = _read(path)
        return sorted([*_earlier(manifest), manifest], key=lambda run: str(run.get("started") or ""))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ResultsError(_no_manifest(path, error)) from None


def check_format(folder: Path) -> None:
    """ResultsError if the folder has a format that this version of rffbench cannot read."""
    with contextlib.suppress(OSError, ValueError):  # a manifest that cannot be read says nothing of the trials
        _read(folder / "manifest.json")


def format_of(folder: Path) -> int:
    """The format of a results folder, `FORMAT` or `BEFORE`: as the manifest says, and without one as its first row
    looks. ResultsError for another one."""
    path = folder / "manifest.json"
    try:
        found = _parsed(path).get("format", BEFORE)
    except FileNotFoundError:
        rows = (row for file in log_files(folder) for _, row in json_lines(file))
        return BEFORE if "exclusive" in (next(rows, None) or ()) else FORMAT
    except (OSError, ValueError) as error:
        raise ResultsError(_no_manifest(path, error)) from None
    if found not in (BEFORE, FORMAT):
        raise ResultsError(_other_format(path, found))
    return int(found)


def _other_format(path: Path, found: Any) -> str:
    if found == BEFORE:
        return (
            f"{path}: the results have format {BEFORE}; rewrite them once with: rffbench migrate {path.parent} "
            f"(a copy takes their place, the former folder is kept)"
        )
    return (
        f"{path}: the results have format {found!r}, and rffbench {__version__} reads format {FORMAT}; use the version "
        "that wrote them"
    )


def _read(path: Path) -> dict[str, Any]:
    """The JSON object in a manifest; ValueError or OSError without one, ResultsError for another format."""
    manifest = _parsed(path)
    if (found := manifest.get("format", BEFORE)) != FORMAT:  # the first manifests had none
        raise ResultsError(_other_format(path, found))
    return manifest


def _parsed(path: Path) -> dict[str, Any]:
    """The JSON object in a manifest of any format; ValueError or OSError without one."""
    try:
        manifest = json.loads(files.read_regular(path, MOST_BYTES).decode())
        nested = _is_deeper(manifest, DEEPEST)
    except RecursionError:
        nested = True
    if nested:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    if not isinstance(manifest, dict):
        raise ValueError(f"must be a JSON object, not {type(manifest).__name__}")
    return manifest


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in inner)


def _earlier(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Remove the records of earlier runs from a manifest and return them."""
    earlier = manifest.pop("earlier_runs", [])
    if not isinstance(earlier, list) or not all(isinstance(run, dict) for run in earlier):
        raise ValueError("earlier_runs must be a list of objects")
    return earlier


def _no_manifest(path: Path, error: OSError | ValueError) -> str:
    if _may_be_whole(error):
        assert isinstance(error, OSError)
        return unreadable(path, error)
    words = error.strerror if isinstance(error, OSError) else None
    return f"{path}: is not the manifest of a run ({words or error})"


def _may_be_whole(error: OSError | ValueError) -> bool:
    """Whether the system could not read the file, which says nothing of what is in it."""
    return isinstance(error, OSError) and error.errno not in (errno.EINVAL, errno.EFBIG)  # `read_regular` raises these


class Manifest:
    """manifest.json during a run: the environment of the latest run, and of those before it under ``earlier_runs``.

    A file that a power cut has emptied is moved aside, and ``tell(message)`` is called; ResultsError for any other
    file that is not a manifest. At the end ``statuses`` is the number of trials by status.
    """

    def __init__(
        self,
        folder: Path,
        experiment: Experiment,
        grid: list[TrialSpec],
        executor: Executor,
        only: Sequence[str],
        statuses: Callable[[], Mapping[str, int]],
        tell: Announce | None,
    ) -> None:
        self._path = folder / "manifest.json"
        self._statuses = statuses
        self._executor = executor
        self._record: dict[str, Any] = {
            "format": FORMAT,
            "experiment": experiment.name,
            **record(),
            "executor": executor.name,
            "workers": executor.workers,
            "datasets": {spec.dataset: spec.data_hash for spec in grid},
            "data_checksums": {},
            "only": list(only),
            "started": now(),
            "finished": None,
            "statuses": {},
            "earlier_runs": self._runs_before(tell),
        }

    def __enter__(self) -> Manifest:
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        self._record["finished"] = now()
        if nodes := getattr(self._executor, "nodes", None):
            self._record["nodes"] = nodes
        self._record["statuses"] = dict(sorted(self._statuses().items()))
        self._write()

    def _runs_before(self, tell: Announce | None) -> list[dict[str, Any]]:
        try:
            if not files.read_regular(self._path, MOST_BYTES).strip(b"\0 \t\r\n"):
                aside = files.free(self._path.with_name("manifest.damaged"), ".json")
                files.move(self._path, aside)
                if tell:
                    tell(f"{self._path}: is empty, as a power cut may leave it; it is kept as {aside.name}")
                return []
            previous = _read(self._path)
            return [*_earlier(previous), previous]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            advice = "" if _may_be_whole(error) else "; move it away"
            raise ResultsError(f"{_no_manifest(self._path, error)}{advice}") from error

    def _write(self) -> None:
        self._record["data_checksums"] = {name: data_hash(name) for name in self._record["datasets"]}
        write_whole(self._path, json.dumps(self._record, indent=2, ensure_ascii=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file of a results folder atomically; a file with the same text is not touched."""
    content = text.encode(errors="backslashreplace")
    with contextlib.suppress(OSError):
        if files.read_regular(path) == content:
            return
    try:
        files.replace(path, content)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror}") from error
