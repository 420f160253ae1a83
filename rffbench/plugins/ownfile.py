"""A class in the user's own Python file, which a config names by its path: ``./mine.py:MyFeatures``.

The path is used for loading only. A trial's key and row contain the file's own name (``./mine.py:MyFeatures``) and the
SHA-256 of its source, which are the same on every machine.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import traceback
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from rffbench.errors import ConfigError, unknown, unreadable
from rffbench.io import files
from rffbench.plugins.guarded import while_it_is_loaded

MOST_BYTES = 10_000_000  # of a file of Python

_NAME = re.compile(r"(?P<file>.+\.py)(?::(?P<attribute>.*))?", re.DOTALL)


def is_own(name: object) -> bool:
    """Whether ``name`` names a class in a file: ``./mine.py:MyFeatures``."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def absolute(name: str, folder: Path) -> str:
    """The name with the file's absolute path; a relative path starts in ``folder``."""
    file, attribute = _parts(name)
    path = _whole(Path(folder, Path(file).expanduser()))
    return f"{path}:{attribute}" if attribute else str(path)


def check_unedited(name: str, sources: Collection[str | None]) -> None:
    """ConfigError if a class in the user's own file is not of one of these ``sources``, which were recorded when the
    run started; nothing is said of a name of another kind, nor without records."""
    if any(sources) and is_own(name) and source_hash(name) not in sources:
        raise ConfigError(f"{portable(name)} has been edited since the run started")


def portable(name: str) -> str:
    """The name as stored in keys and rows: without the file's folder. Other names are unchanged."""
    if not is_own(name):
        return name
    file, attribute = _parts(name)
    return f"./{Path(file).name}:{attribute}"


def path_of(name: str) -> Path:
    """The absolute path of the file."""
    return _whole(Path(_parts(name)[0]))


def source_hash(name: str) -> str:
    """The SHA-256 of the current file."""
    return hashlib.sha256(_read(path_of(name))).hexdigest()


def load(name: str) -> Any:
    """The object of that name in the file, which is run once for each content. ConfigError if it has no such name; the
    file's own exceptions are not caught."""
    path, attribute = path_of(name), _parts(name)[1]
    module = _module(path, _read(path))
    if found := vars(module).get(attribute):
        return found
    own = [
        key for key, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and not key.startswith("_")
    ]  # fmt: skip
    if attribute:
        raise ConfigError(f"{path}: {unknown('class', attribute, own)}")
    example = own[0] if own else "MyFeatures"
    raise ConfigError(f"{path}: say which class of the file is meant, for example {path.name}:{example}")


def place(name: str, error: BaseException) -> str:
    """``<file>, line N`` of an error's last line in the file; only the file if the error is elsewhere."""
    path = path_of(name)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f"{path}, line {lines[-1]}" if lines else str(path)


def folders() -> set[str]:
    """The folders of the loaded files."""
    return {str(path.parent) for path, _ in _loaded.values()}


def sources() -> list[tuple[Path, bytes]]:
    """The loaded files with their content at that time."""
    return list(_loaded.values())


def restore(sources: Iterable[tuple[Path, bytes]]) -> None:
    """Load files from their content, so that pickle finds their classes on a machine without the files. The files' own
    exceptions are not caught."""
    for path, source in sources:
        _module(path, source)


_loaded: dict[str, tuple[Path, bytes]] = {}  # by the module's name


def _whole(path: Path) -> Path:
    """The absolute path. Links are not resolved, because the link has the name that the user gave."""
    return Path(os.path.abspath(path))


def _parts(name: str) -> tuple[str, str]:
    found = _NAME.fullmatch(name)
    assert found is not None, f"{name} is no name of a file"
    return found["file"], found["attribute"] or ""


def _read(path: Path) -> bytes:
    try:
        return files.read_regular(path, MOST_BYTES)
    except OSError as error:
        raise ConfigError(unreadable(path, error)) from error


@cache
def _module(path: Path, source: bytes) -> ModuleType:
    module = ModuleType(f"rffbench_own_{path.stem}_{hashlib.sha256(source).hexdigest()[:12]}")
    module.__file__ = str(path)
    _loaded[module.__name__] = path, source
    sys.modules[module.__name__] = module  # dataclasses and pickle look a class's module up
    try:
        with while_it_is_loaded():
            exec(compile(source, str(path), "exec"), vars(module))
    except SyntaxError as error:
        del sys.modules[module.__name__]
        if "codec can't decode" in str(error.msg):
            raise ConfigError(f"{path}, line {error.lineno}: is not UTF-8 text; save it as UTF-8") from error
        raise
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module
