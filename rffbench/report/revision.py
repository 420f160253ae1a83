"""Opens a results folder, also as of a git commit (``results/table3@HEAD~3``), or as of an earlier version of a user's
own file (``results/mine@source:1``)."""

from __future__ import annotations

import glob
import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from rffbench.errors import ResultsError
from rffbench.execution.leftovers import temporary_folder
from rffbench.execution.log import PART, log_files
from rffbench.execution.migrate import migrate
from rffbench.execution.places import found
from rffbench.report.versions import SOURCE, copy_version

LOGS = ("trials.jsonl", "trials.jsonl.xz", f"trials{PART}.jsonl.xz")
MEASURED = ("config.yaml", "manifest.json", *LOGS)  # as patterns; others are derived, except own files


@contextmanager
def results_at(place: str) -> Iterator[Path]:
    """The folder that ``place`` names: a folder, ``FOLDER@REVISION`` (as of a git commit), or ``FOLDER@source:NUMBER``
    (with the rows of a version of a user's own file, `rffbench.report.versions`).

    A revision is any name that git knows (``HEAD~3``, a tag, a branch, a hash). The measured files are copied to a
    temporary folder, which is removed after the ``with`` block. ResultsError if git is missing, or the revision, the
    version, or the folder in it does not exist.
    """
    if Path(place).exists() or "@" not in place:
        yield found(Path(place))
        return
    folder, revision = _split(place)
    with temporary_folder() as temporary:
        copy = temporary / folder.resolve().name
        if revision.startswith(SOURCE):
            copy_version(found(folder), revision.removeprefix(SOURCE), copy, place)
        else:
            _copy(folder, revision, copy, place)
            for each in sorted({log.parent for log in copy.rglob("trials*.jsonl*")}):
                migrate(each)  # an older commit may have an older format
        yield copy


def revisions(folder: Path) -> list[str]:
    """``FOLDER@HASH`` of every commit that changed the folder's log, oldest first, also elsewhere. The last one
    is left out if the log has not changed since. Empty if the folder is not in a git repository."""
    folder = found(folder)
    if not folder.is_dir():
        return []
    former = (f":(top,glob){glob.escape(each)}/{log}" for each in _former(folder) for log in LOGS)
    listed = _git(folder, "log", "--reverse", "--format=%h", "--diff-filter=AM", "--", *LOGS, *former)
    hashes = listed.decode().split() if listed else []
    if hashes and not _git(folder, "status", "--porcelain", "--", *LOGS):
        hashes.pop()
    return [f"{folder}@{each}" for each in hashes]


def _split(place: str) -> tuple[Path, str]:
    """(folder, revision), split at the first @ after an existing folder, else at the first @: both may contain one."""
    ends = [index for index, character in enumerate(place) if character == "@"]
    end = next((index for index in ends if Path(place[:index]).is_dir()), ends[0])
    return Path(place[:end]), place[end + 1 :]


def _copy(folder: Path, revision: str, copy: Path, place: str) -> None:
    now = found(folder).absolute()
    folder = folder.absolute()
    inside = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    top = _git(inside, "rev-parse", "--show-toplevel")
    if top is None:
        raise ResultsError(f"{place}: {inside} is in no git repository, so that it has no revisions")
    root = Path(top.decode().rstrip("\n"))
    commit = _git(inside, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise ResultsError(f"{place}: git knows no revision {revision!r} of {root}")
    paths = [each.resolve().relative_to(root.resolve()).as_posix() for each in (folder, now)]
    for path in (*paths, *_former(now)):
        archive = _git(inside, "-C", str(root), "archive", "--format=tar", f"{commit.decode().strip()}:{path}")
        if archive is not None:
            break
    else:
        raise ResultsError(f"{place}: revision {revision} has no folder {paths[0]}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            content = files.extractfile(member) if member.isfile() else None
            name = PurePosixPath(member.name)
            if content is not None and (any(fnmatch(name.name, each) for each in MEASURED) or name.suffix == ".py"):
                target = copy / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
    if not copy.exists():
        raise ResultsError(f"{place}: revision {revision} holds no results in {path}")


def _former(folder: Path) -> list[str]:
    """Where the folder's log has been in its repository: paths of folders from its root, the newest one first."""
    if not (logs := log_files(folder)):
        return []
    followed = _git(folder, "log", "--follow", "-M100%", "--format=", "--name-only", "-z", "--", logs[0].name) or b""
    return list(dict.fromkeys(PurePosixPath(name).parent.as_posix() for name in followed.decode().split("\0") if name))


def _git(folder: Path, *arguments: str) -> bytes | None:
    """The output of a git command; None if it fails."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True)
    except FileNotFoundError:
        raise ResultsError("a revision of results needs git, which is not installed") from None
    return done.stdout if done.returncode == 0 else None
