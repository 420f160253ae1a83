"""Compiles functions with numba, and keeps what is compiled on the disk if it can."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserWideCacheLocator


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit(nogil=True, cache=True, **options)``, but that the cache is optional.

    numba keeps what it compiles in NUMBA_CACHE_DIR, beside this package, or in the user's cache, and raises an error if
    none of them can be written to, as in a read-only installation without a home. Here a temporary folder is next, and
    then each process compiles anew. A cache that cannot be read, or a full disk, is no error either.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(nogil=True, **options)(function)
        with contextlib.suppress(RuntimeError):  # no place for it
            dispatcher._cache = _Cache(function)  # as numba's enable_caching does
        return dispatcher

    return decorate


class _InTemporaryFolder(UserWideCacheLocator):
    def __init__(self, function: Callable[..., Any], path: str) -> None:
        super().__init__(function, path)
        self._cache_path = str(temporary_cache() / self.get_suitable_cache_subpath(path))

    @classmethod
    def from_function(cls, function: Callable[..., Any], path: str) -> Any:
        with contextlib.suppress(OSError):
            return super().from_function(function, path)
        return None


def temporary_cache() -> Path:
    """A folder of this user's own in the temporary folder; OSError if another user could write to it: what is in the
    cache is run."""
    folder = Path(tempfile.gettempdir()) / f"rffbench-numba-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise PermissionError(f"{folder} is not this user's own folder")
    return folder


class _Place(CompileResultCacheImpl):
    _locator_classes = [*CompileResultCacheImpl._locator_classes, _InTemporaryFolder]  # noqa: RUF012


class _Cache(FunctionCache):
    _impl_class = _Place

    def load_overload(self, signature: Any, context: Any) -> Any:
        with contextlib.suppress(Exception):  # whatever damaged bytes are read as
            return super().load_overload(signature, context)
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        with contextlib.suppress(Exception):
            super().save_overload(signature, data)
