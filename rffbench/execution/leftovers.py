"""Temporary folders of runs. Each holds its owner's lock, so that the folders of killed runs are found and removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import process, util
from pathlib import Path

from rffbench.io import files

OURS = "rffbench-"
PREFIXES = (OURS, "pymp-")  # the second is multiprocessing's, for the sockets to its processes
OWNER = "rffbench.lock"  # in such a folder: locked while the process lives that made it


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A temporary folder of this process; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix=OURS) as folder:
        file = _claim(Path(folder))
        try:
            yield Path(folder)
        finally:
            os.close(file)


def tidy_up() -> None:
    """Remove the temporary folders of this user's killed runs, and lock the folder of multiprocessing, which
    multiprocessing removes itself at a normal end.

    A folder without a lock is kept: another program may have made it.
    """
    for folder in Path(tempfile.gettempdir()).iterdir():
        if folder.name.startswith(PREFIXES):
            with contextlib.suppress(OSError):  # no lock, one that is held, another user's
                _remove(folder)
    sockets = Path(util.get_temp_dir())
    if (sockets / OWNER).exists() or not sockets.is_dir():  # handed down by the process that started this one
        process.current_process()._config["tempdir"] = None  # type: ignore[attr-defined]
        sockets = Path(util.get_temp_dir())
    _claim(sockets)
    # The temporary folder may have been cleared: multiprocessing would complain at the end (priority -100) that its own
    # is gone.
    util.Finalize(None, os.makedirs, args=(sockets,), kwargs={"exist_ok": True}, exitpriority=-99)


def _claim(folder: Path) -> int:
    """Put a lock into a folder. The system frees it when this process ends. It is never there unlocked."""
    new = folder / f"{OWNER}.new"
    file = files.open_lock(new)
    files.lock(file, wait=False)
    new.rename(folder / OWNER)
    return file


def _remove(folder: Path) -> None:
    """OSError unless the folder is this user's and its process has ended."""
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    file = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW)
    try:
        files.lock(file, wait=False)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(file)
