"""Fetches a dataset's files into the cache: from the mirror, else from each URL in turn.

A file is written to a temporary name, its checksum is compared with the card's, and then it is moved to its place, so a
file in its place is complete. Nothing here prints; progress goes to a callback.

pooch downloads each file. This module adds what pooch lacks: several sources of a file, files that are packed in one
source and plain in another, a limit on the bytes of an unpacked file, and a time limit for slow servers.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import lzma
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote, urlsplit

from rffbench.data import openml
from rffbench.data.cards import Card
from rffbench.data.formats import File, Source
from rffbench.data.unpack import CHUNK, TAR_ENDINGS, TOO_MUCH, Unpackable, open_content, packed_by
from rffbench.errors import DataError, DataUnavailable, amount
from rffbench.io import files
from rffbench.io.text import duration

Progress = Callable[[str, int, int | None], None]
"""Called with (file name, bytes so far, bytes in all or None if the server does not say)."""

ATTEMPTS = 3  # of one URL, if the fault looks transient
PAUSE = 0.5  # seconds before the second attempt; doubled before each further one
TIMEOUT = (10, 30)  # seconds to connect, and seconds without a byte of an answer
STALL_S = 60.0  # seconds without a PIECE of an answer
LIMIT_S = 3600.0  # seconds for one URL, all attempts together
PIECE = 1 << 16
ARCHIVE_BYTES = 4 << 30  # an archive may contain much more than the needed file
HOLDER_BYTES = 200  # of a lock file, which names the process that holds it
PATIENCE_S = 1.0  # seconds of waiting for a lock before a message

_log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """``RFFBENCH_CACHE``, else the platform's folder for caches."""
    if chosen := os.environ.get("RFFBENCH_CACHE"):
        return Path(chosen).expanduser().absolute()
    import pooch

    return Path(pooch.os_cache("rffbench"))


@contextmanager
def naming_cache(dataset: str) -> Iterator[None]:
    """A context that turns an OSError into a DataError which says how to choose another cache folder."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        if error.filename and error.errno in (errno.ELOOP, errno.EINVAL, errno.EMLINK):  # the fault of one file
            reason = f"{error.filename} {reason}"
        where = f"the cache folder {cache_folder()} cannot be used ({reason}); RFFBENCH_CACHE chooses another"
        raise DataError(f"{dataset}: {where}") from error


def raw_path(card: Card, file: File) -> Path:
    """The path in the cache of one file of a dataset."""
    return cache_folder() / card.folder / file.name


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A context that locks ``folder`` against other processes. The lock ends with its process, even if that is killed.

    After a short wait, a message names the process that holds the lock.
    """
    files.make_folder(folder)
    with open(files.open_lock(folder / ".lock"), "r+b", buffering=0) as file:
        if not _at_once(file):
            file.seek(0)
            holder = file.read(HOLDER_BYTES).decode("ascii", "replace") or "another process"
            _log.warning("waiting for %s, which is filling %s", holder, folder)
            files.lock(file.fileno(), wait=True)
        file.truncate(0)
        file.seek(0)
        file.write(f"process {os.getpid()}".encode())
        yield


def _at_once(file: FileIO) -> bool:
    """Take the lock of an open file if that is possible within PATIENCE_S; whether it was."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            files.lock(file.fileno(), wait=False)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)


def fetch_file(card: Card, file: File, progress: Progress | None = None) -> Path:
    """The path of one file of ``card``, in the cache and with a verified checksum. The caller holds the folder's lock.

    Raises DataUnavailable if no source has the file, DataError if a source had a wrong one.
    """
    place = raw_path(card, file)
    if place.is_file() and checksum_fault(place, file, card.most_bytes) is None:
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
            if fault := checksum_fault(arrived, file, card.most_bytes):
                failures.append(f"{where}: {fault}")
                delivered_wrong = True
                continue
            files.move(arrived, place)
            return place
    message = f"{card.name}: no source has a right copy of {file.name!r}"
    if not os.environ.get("RFFBENCH_MIRROR"):
        message += " (RFFBENCH_MIRROR is not set; it may name a folder or a URL of copies)"
    message = "\n  ".join([f"{message}:" if failures else message, *failures])
    raise (DataError if delivered_wrong else DataUnavailable)(message)


def checksum_fault(path: Path, file: File, limit: int) -> str | None:
    """The fault of the file at ``path``, of which at most ``limit`` bytes are unpacked; None if it is the card's."""
    if file.checksum:
        with open(path, "rb") as stream:
            found = _digest(stream, file.checksum)
        if found != file.checksum:
            return f"checksum is {found}, should be {file.checksum} ({path.stat().st_size} bytes)"
    if file.content:
        try:
            with open_content(path, file.name, file.member, limit=limit) as stream:
                found = _digest(stream, file.content)
        except Unpackable as error:
            return str(error)
        if found != file.content:
            return f"checksum of the content is {found}, should be {file.content}"
    return None


class _Unreachable(Exception):
    """A source does not have the file; ``transient``: another attempt may succeed."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


def _sources(card: Card, file: File, progress: Progress | None) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """(name in messages, function that writes the file to a path) for the mirror, then for each URL."""
    mirror = _mirror()
    if mirror.startswith(("http://", "https://")):
        url = f"{mirror.rstrip('/')}/{quote(card.folder)}/{quote(file.name)}"
        yield f"mirror {url}", lambda path: _download(Source(url=url), card, file, path, progress)
    elif mirror and Path(mirror).expanduser().is_file():
        yield f"RFFBENCH_MIRROR: {mirror}", _refuse_mirror
    elif mirror:
        original = Path(mirror).expanduser() / card.folder / file.name
        yield f"mirror {original}", lambda path: _copy(original, path, _most_bytes(card, file.name))
    for source in file.urls:
        if source.url.startswith("file:"):  # no folders in messages, which go into logs
            original = Path(unquote(urlsplit(source.url).path))
            yield f"file {original.name}", lambda path, source=source: _take(source, card, file, path)  # type: ignore[misc]
        elif source.url.startswith(openml.SCHEME):
            yield source.url, lambda path, source=source: _ask_openml(source.url, path)  # type: ignore[misc]
        else:
            yield source.url, lambda path, source=source: _download(source, card, file, path, progress)  # type: ignore[misc]


def _refuse_mirror(path: Path) -> None:
    raise _Unreachable("is a file; it must be a folder of DATASET/FILE")


def _mirror() -> str:
    """RFFBENCH_MIRROR, or empty; DataUnavailable if it is neither a folder nor an HTTP URL."""
    mirror = os.environ.get("RFFBENCH_MIRROR", "")
    scheme = urlsplit(mirror).scheme if "://" in mirror else ""
    if scheme not in ("", "http", "https"):
        raise DataUnavailable(f"RFFBENCH_MIRROR: {mirror}: must be a folder, or an http:// or https:// URL")
    return mirror


def _most_bytes(card: Card, name: str, member: str | None = None) -> int:
    """The most bytes that a copy of the file ``name`` may have; an archive (with the needed ``member``) may have
    more."""
    archive = bool(member) or name.endswith((".zip", *TAR_ENDINGS))
    return max(card.most_bytes, ARCHIVE_BYTES) if archive else card.most_bytes


def _copy(original: Path, path: Path, limit: int) -> None:
    """Copy a file to ``path``. Errors of reading are _Unreachable, errors of writing OSErrors of the cache."""
    with open(path, "wb") as copy:
        for piece in _pieces(original, limit):
            copy.write(piece)


def _pieces(original: Path, limit: int) -> Iterator[bytes]:
    try:
        about = original.stat()
        if not stat.S_ISREG(about.st_mode):  # opening a pipe would block forever
            raise _Unreachable(f"is {_KINDS.get(stat.S_IFMT(about.st_mode), 'not a file')}")
        if about.st_size > limit:
            raise _Unreachable(f"has {amount(about.st_size)}, {TOO_MUCH}")
        with open(original, "rb") as source:
            while piece := source.read(CHUNK):
                yield piece
    except FileNotFoundError as error:
        raise _Unreachable("no such file") from error
    except OSError as error:
        raise _Unreachable((error.strerror or str(error)).lower()) from error


_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe (FIFO)", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
          stat.S_IFBLK: "a device"}  # fmt: skip


def _download(source: Source, card: Card, file: File, path: Path, progress: Progress | None) -> None:
    deadline = time.monotonic() + LIMIT_S
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            _transfer(source.url, path, _most_bytes(card, file.name, source.member), deadline, file.name, progress)
            break
        except _Unreachable as error:
            if attempt + 1 == ATTEMPTS or not error.transient:
                raise
    _repack(source, card, file, path)


def _ask_openml(url: str, path: Path) -> None:
    try:
        openml.download(openml.number_of(url), path)
    except DataUnavailable as error:
        raise _Unreachable(str(error)) from error


def _take(source: Source, card: Card, file: File, path: Path) -> None:
    """Copy a file of this machine to ``path``."""
    _copy(Path(unquote(urlsplit(source.url).path)), path, _most_bytes(card, file.name, source.member))
    _repack(source, card, file, path)


def _repack(source: Source, card: Card, file: File, path: Path) -> None:
    """Replace an archive at ``path`` by its needed member, and pack a plain file if the card's file is packed. Such a
    card knows only the checksum of the content."""
    if source.member is not None:
        archive = path.with_name("archive")
        path.rename(archive)
        try:
            opened = open_content(archive, source.url, source.member, limit=card.most_bytes)
            with opened as member, open(path, "wb") as file_there:
                shutil.copyfileobj(member, file_there, CHUNK)
        except Unpackable as error:
            raise _Unreachable(f"what it sent {error}") from error
    if file.checksum or not (opener := packed_by(file.name)):
        return
    with contextlib.suppress(OSError, EOFError, lzma.LZMAError), opener(path, "rb") as packed:
        packed.read(1)
        return
    plain = path.with_name("plain")
    path.rename(plain)
    with open(plain, "rb") as unpacked, opener(path, "wb") as packed:
        shutil.copyfileobj(unpacked, packed, CHUNK)


def _transfer(url: str, path: Path, limit: int, deadline: float, name: str, progress: Progress | None) -> None:
    """One attempt, in a thread, so that the caller can give up: reading from a server that sends a byte per second
    never ends."""
    with open(path, "wb") as file:
        arriving = _Arriving(url, file, limit, _Bar(name, progress) if progress else False)
        arriving.start()
        while arriving.is_alive():
            before = arriving.received
            arriving.join(max(0.0, min(STALL_S, deadline - time.monotonic())))
            if arriving.is_alive() and time.monotonic() >= deadline:
                raise _Unreachable(f"was not done after {duration(LIMIT_S)}")
            if arriving.is_alive() and arriving.received == before:
                raise _Unreachable(f"sent less than {amount(PIECE)} in {duration(STALL_S)}", transient=True)
    if arriving.unwritten:
        raise arriving.unwritten
    if arriving.fault:
        raise arriving.fault


class _Arriving(threading.Thread):
    """A download into ``file``. After ``file`` is closed it ends at its next write, at the latest with the process."""

    def __init__(self, url: str, file: BinaryIO, limit: int, bar: Any) -> None:
        super().__init__(daemon=True)
        self.received = 0
        self.fault: _Unreachable | None = None
        self.unwritten: OSError | None = None  # the error of a write to the disk
        self._url, self._file, self._limit, self._bar = url, file, limit, bar

    def run(self) -> None:
        import pooch

        # Without `identity`, a server may send a .gz as an encoding, and it would arrive unpacked.
        options = {"chunk_size": PIECE, "timeout": TIMEOUT, "headers": {"Accept-Encoding": "identity"}}
        try:
            pooch.HTTPDownloader(progressbar=self._bar, **options)(self._url, self, None)
        except _Unreachable as error:
            self.fault = error
        except Exception as error:  # from requests, or from its parsers of malformed answers
            self.fault = _Unreachable(_reason(error), transient=_transient(error))

    def write(self, piece: bytes) -> None:
        """Part of the file interface that pooch needs."""
        self.received += len(piece)
        if self.received > self._limit:
            raise _Unreachable(f"sent more than {amount(self._limit)}, {TOO_MUCH}")
        try:
            self._file.write(piece)
        except OSError as error:
            self.unwritten = error
            raise

    def flush(self) -> None:
        """Part of the file interface that pooch needs; closing the file is enough."""


def _transient(error: Any) -> bool:
    """Whether another attempt may succeed."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code >= 500 or error.response.status_code == 429
    kinds = requests.exceptions
    return not isinstance(error, kinds.ConnectTimeout | kinds.SSLError | kinds.InvalidURL)


def _reason(error: Any) -> str:
    """An error of a download in one short line, without dumps of objects."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not valid"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "broke off before the end"
    if isinstance(error, requests.ConnectionError):
        return "cannot be reached"
    if isinstance(error, requests.TooManyRedirects):
        return "redirects from one address to the next too often"
    return f"its answer is not valid HTTP ({type(error).__name__}: {error})"


class _Bar:
    """A progress bar for pooch that calls a Progress callback."""

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
