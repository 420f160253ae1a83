"""Getting a dataset's files into the cache: from the mirror first, then from each URL in turn.

A file is written to a temporary name, its checksum compared with the card's, and only then moved to its
place; what stands at a file's place is therefore whole. Nothing here prints: progress goes to a callback.
"""

from __future__ import annotations

import bz2
import fcntl
import fnmatch
import gzip
import hashlib
import lzma
import os
import shutil
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote

from rffbench.data.cards import Card, File, Source
from rffbench.errors import DataError, DataUnavailable

Progress = Callable[[str, int, int | None], None]
"""Called with (file name, bytes so far, bytes in all or None where the server does not say)."""

ATTEMPTS = 3  # of one URL, where the fault looks transient
PAUSE = 0.5  # seconds before the second attempt; doubled before each further one
TIMEOUT = (10, 30)  # seconds to connect, and between two pieces of an answer
CHUNK = 1 << 20
UNPACKING_ERRORS = (
    OSError, EOFError, KeyError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError,
)


def cache_folder() -> Path:
    """``RFFBENCH_CACHE``, else the platform's folder for caches."""
    if chosen := os.environ.get("RFFBENCH_CACHE"):
        return Path(chosen).expanduser().absolute()
    import pooch

    return Path(pooch.os_cache("rffbench"))


def raw_path(card: Card, file: File) -> Path:
    """Where the cache keeps one file of a dataset."""
    return cache_folder() / card.folder / file.name


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold ``folder`` against other processes; however its holder ends, the lock ends with it."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch_file(card: Card, file: File, progress: Progress | None = None) -> Path:
    """One file of ``card``, in the cache with its checksum verified; the caller holds the folder's lock.

    Raises DataUnavailable where no source has it, DataError where what a source gave is not the card's file.
    """
    place = raw_path(card, file)
    if place.exists() and checksum_fault(place, file) is None:
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    delivered_wrong = False
    for where, get in _sources(card, file, progress):
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=place.parent) as scratch:
            arrived = Path(scratch) / "file"
            try:
                get(arrived)
            except _Unreachable as error:
                failures.append(f"{where}: {error}")
                continue
            if fault := checksum_fault(arrived, file):
                failures.append(f"{where}: {fault}")
                delivered_wrong = True
                continue
            os.replace(arrived, place)
            return place
    if not os.environ.get("RFFBENCH_MIRROR"):
        failures.append("RFFBENCH_MIRROR: not set")
    message = f"{card.name}: no source has a right copy of {file.name!r}:\n  " + "\n  ".join(failures)
    raise (DataError if delivered_wrong else DataUnavailable)(message)


def checksum_fault(path: Path, file: File) -> str | None:
    """What is wrong with the bytes of ``path``, or None where they are the card's."""
    if file.checksum:
        with open(path, "rb") as stream:
            found = _digest(stream, file.checksum)
        if found != file.checksum:
            return f"checksum is {found}, should be {file.checksum} ({path.stat().st_size} bytes)"
    if file.content:
        try:
            with open_content(path, file.name, file.member) as stream:
                found = _digest(stream, file.content)
        except UNPACKING_ERRORS as error:
            return f"cannot be unpacked ({type(error).__name__}: {error})"
        if found != file.content:
            return f"checksum of the content is {found}, should be {file.content}"
    return None


@contextmanager
def open_content(path: Path, name: str, member: str | None = None) -> Iterator[BinaryIO]:
    """A file's content, unpacked; ``name`` says how it is packed, ``member`` which file of an archive."""
    with ExitStack() as stack:
        stream: Any
        if name.endswith(".zip"):
            archive = stack.enter_context(zipfile.ZipFile(path))
            stream = stack.enter_context(archive.open(member or _only_member(archive.namelist())))
        elif name.endswith((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")):
            tar = stack.enter_context(tarfile.open(path))
            files = [entry.name for entry in tar.getmembers() if entry.isfile()]
            inside = tar.extractfile(member or _only_member(files))
            if inside is None:
                raise KeyError(f"{member!r} is not a file of the archive")
            stream = stack.enter_context(inside)
        else:
            opener: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(Path(name).suffix, open)
            stream = stack.enter_context(opener(path, "rb"))
        yield cast(BinaryIO, stream)


def members(path: Path, file: File) -> list[str | None]:
    """What ``open_content`` is to be asked for, one after the other, to read all that ``file`` is."""
    if file.member is None or "*" not in file.member:
        return [file.member]
    if file.name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    else:
        with tarfile.open(path) as tar:
            names = tar.getnames()
    found = sorted(fnmatch.filter(names, file.member))
    if not found:
        raise KeyError(f"no member of the archive matches {file.member!r}")
    return [*found]


class _Unreachable(Exception):
    """A source does not have the file."""


def _sources(
    card: Card, file: File, progress: Progress | None
) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """(its name in messages, a function that puts its copy at a path) for the mirror, then for each URL."""
    mirror = os.environ.get("RFFBENCH_MIRROR", "")
    if mirror.startswith(("http://", "https://")):
        url = f"{mirror.rstrip('/')}/{quote(card.folder)}/{quote(file.name)}"
        yield f"mirror {url}", lambda path: _download(Source(url=url), file, path, progress)
    elif mirror:
        original = Path(mirror).expanduser() / card.folder / file.name
        yield f"mirror {original}", lambda path: _copy(original, path)
    for source in file.urls:
        yield source.url, lambda path, source=source: _download(source, file, path, progress)  # type: ignore[misc]


def _copy(original: Path, path: Path) -> None:
    try:
        shutil.copyfile(original, path)
    except FileNotFoundError as error:
        raise _Unreachable("no such file") from error
    except (PermissionError, IsADirectoryError) as error:
        raise _Unreachable(error.strerror) from error


def _download(source: Source, file: File, path: Path, progress: Progress | None) -> None:
    import pooch
    import requests

    # Asking for identity keeps a server from sending a .gz as an encoding, which would be undone on arrival.
    options = {"chunk_size": CHUNK, "timeout": TIMEOUT, "headers": {"Accept-Encoding": "identity"}}
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        bar = _Bar(file.name, progress) if progress else False
        try:
            pooch.HTTPDownloader(progressbar=bar, **options)(source.url, str(path), None)
            break
        except requests.RequestException as error:
            if attempt + 1 == ATTEMPTS or not _transient(error):
                raise _Unreachable(_reason(error)) from error
    if source.member:
        packed = path.with_name("archive")
        path.rename(packed)
        try:
            with open_content(packed, source.url, source.member) as stream, open(path, "wb") as unpacked:
                shutil.copyfileobj(stream, unpacked, CHUNK)
        except UNPACKING_ERRORS as error:
            reason = f"no {source.member!r} in what it sent ({type(error).__name__}: {error})"
            raise _Unreachable(reason) from error


def _transient(error: Any) -> bool:
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code >= 500 or error.response.status_code == 429
    kinds = requests.exceptions
    return not isinstance(error, kinds.ConnectTimeout | kinds.SSLError | kinds.InvalidURL)


def _reason(error: Any) -> str:
    """An error of requests in one short line, without the object dumps it likes to include."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not valid"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "broke off before the end"
    return "cannot be reached" if isinstance(error, requests.ConnectionError) else str(error)


class _Bar:
    """What pooch tells its progress bar, passed on to a Progress callback."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name, self.progress, self.total, self.received = name, progress, 0, 0

    def update(self, count: int) -> None:
        self.received += count
        total = self.total or None
        self.progress(self.name, min(self.received, total) if total else self.received, total)

    def reset(self) -> None:
        self.received = 0

    def close(self) -> None:
        pass


def _digest(stream: BinaryIO, like: str) -> str:
    algorithm = like.partition(":")[0]
    state = hashlib.new(algorithm)
    while chunk := stream.read(CHUNK):
        state.update(chunk)
    return f"{algorithm}:{state.hexdigest()}"


def _only_member(names: list[str]) -> str:
    if len(names) != 1:
        raise KeyError(f"the card must say which member of the archive: {', '.join(names)}")
    return names[0]
