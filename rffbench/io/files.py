"""Files that survive a power cut, and that no other user can redirect.

Every writer of the package that replaces a file or a folder does it here: the new content is synced to the disk, then
renamed into place, then the folder is synced. After a power cut the old content is there or the new one, never an
empty file. New files are created, never opened through a link that somebody has put in their place; locks and logs are
regular files, never a link, a pipe or a device. What is read must be a regular file, too: a pipe would be waited for,
and ``/dev/zero`` has no end.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a Unix: nothing is locked, and two runs into one folder are not kept apart
    fcntl = None  # type: ignore[assignment]

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for its other end
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # an answer of file systems in a network
_NOT_SYNCED = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}  # some systems' answer of a folder


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Name the file in an OSError of the block: those of reading, writing and syncing an open file have no name."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def lock(file: int, *, wait: bool) -> None:
    """Take the exclusive lock of an open file; BlockingIOError if another process has it, unless it may ``wait``. On a
    file system without locks nothing is locked."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def open_lock(path: Path) -> int:
    """Open a lock file for reading and writing; it is created if missing.

    OSError if ``path`` is a symbolic link, is not a regular file, or has a second name (a hard link): writing into it
    would overwrite another file.
    """
    return _open_regular(path, os.O_RDWR | os.O_CREAT, alone=True)


def open_log(path: Path) -> int:
    """Open a file to read it and append to it, made where it is missing, durably; OSError if it is a symbolic link
    or not a regular file."""
    new = not path.exists()
    file = _open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    if new:
        sync_folder(path.parent)
    return file


def _open_regular(path: Path, flags: int, *, alone: bool = False) -> int:
    try:
        file = os.open(path, flags | _NO_LINK | _NO_WAIT, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a symbolic link; remove it", str(path)) from None
        if error.errno in (errno.ENXIO, errno.EISDIR):
            raise OSError(error.errno, "is not a regular file", str(path)) from None
        raise
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    if alone and about.st_nlink > 1:
        os.close(file)
        raise OSError(errno.EMLINK, "is a second name of another file (a hard link); remove it", str(path))
    return file


def read_regular(path: Path, most: int | None = None) -> bytes:
    """The content of a file; OSError if it is not a regular file, or longer than ``most`` bytes."""
    with named(path), open(os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | _NO_WAIT), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            kind = "is a folder" if stat.S_ISDIR(about.st_mode) else "is not a regular file"
            raise OSError(errno.EINVAL, kind, str(path))
        if most is not None and about.st_size > most:
            raise OSError(errno.EFBIG, f"has {about.st_size:,} bytes; at most {most:,} are read", str(path))
        return file.read()


def free(path: Path, ending: str = "") -> Path:
    """The path with ``ending``; with a number between them if that is taken."""
    names = itertools.chain([path.name], (f"{path.name}-{number}" for number in itertools.count(2)))
    return next(each for name in names if not (each := path.with_name(name + ending)).exists())


def replace(path: Path, content: str | bytes | Iterable[bytes]) -> None:
    """Write a file whole, durably: after a power cut at any moment it has the old content or the new one."""
    parts = [content.encode()] if isinstance(content, str) else [content] if isinstance(content, bytes) else content
    temporary, file = _new_beside(path)
    try:
        with named(path), open(file, "wb") as writing:
            writing.writelines(parts)
            writing.flush()
            os.fsync(writing.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def append(path: Path, content: bytes) -> None:
    """Append to a file durably; it is created if missing."""
    file = open_log(path)
    try:
        with named(path):
            write(file, content)
    finally:
        os.close(file)


def write(file: int, content: bytes) -> None:
    """Write all of it to an open file and sync. On an OSError, for example of a full disk, no part of it stays."""
    end = os.fstat(file).st_size
    try:
        while content:
            content = content[os.write(file, content) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, end)
        raise


def move(source: Path, target: Path) -> None:
    """Rename a file or a folder to ``target`` durably: its content is synced to the disk first."""
    sync(source)
    os.replace(source, target)
    sync_folder(target.parent)
    if source.parent != target.parent:
        sync_folder(source.parent)


def put_in_place(new: Path, folder: Path, former: Path) -> None:
    """Give the folder ``new`` the name ``folder``, and what had that name the name ``former``, durably. Where the
    system can exchange two names in one step, as Linux can, there is a folder of that name at any moment."""
    sync(new)
    if exchange(new, folder):
        os.replace(new, former)
    else:
        os.replace(folder, former)
        os.replace(new, folder)
    sync_folder(folder.parent)


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; False where the system cannot."""
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of <fcntl.h> and <stdio.h>
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), swap) == 0)


def make_folder(path: Path) -> None:
    """Make a folder and its parents durably; an existing folder is kept."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in reversed(missing):
        sync_folder(each.parent)


def sync(path: Path) -> None:
    """Sync a file, or a folder with everything in it, to the disk."""
    if path.is_symlink():
        return
    if path.is_dir():
        for each in path.iterdir():
            sync(each)
        sync_folder(path)
    elif path.is_file():
        file = os.open(path, os.O_RDONLY | _NO_LINK)
        try:
            with named(path):
                os.fsync(file)
        finally:
            os.close(file)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk, if the system can do that."""
    try:
        file = os.open(folder, os.O_RDONLY)
    except OSError:  # one that may be written to and not read; elsewhere folders cannot be opened
        return
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in _NOT_SYNCED:
            error.filename = str(folder)
            raise
    finally:
        os.close(file)


def _new_beside(path: Path) -> tuple[Path, int]:
    """A new file in the same folder with an unpredictable name, opened for writing."""
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            return temporary, os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666)
        except FileExistsError:
            continue
