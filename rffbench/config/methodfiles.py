"""The files of feature maps, kernels and scores in a config: their paths start from its folder, and results store only
their names. Files of numbers are replaced by their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rffbench.errors import unreadable
from rffbench.io.files import read_regular
from rffbench.io.yamlfile import Misplaced
from rffbench.plugins import ownfile

Config = dict[str, Any]
Place = tuple[str, ...]

MOST_BYTES = 40_000_000  # of a file of numbers: two million of them


def found_from(config: Any, folder: Path) -> Any:
    """``config``, as loaded from YAML, with absolute paths; ``./mine.py`` is in ``folder``. A file of a kernel's
    ``lengths`` is replaced by its numbers."""

    def change(place: Place, value: str) -> Any:
        if place[-1] == "lengths":
            return numbers_of(folder / Path(value).expanduser(), place)
        return ownfile.absolute(value, folder) if ownfile.is_own(value) else value

    return _changed(config, change)


def portable(config: Config) -> Config:
    """``config`` with only the name of every file, for the results folder, which holds copies of the files."""
    renamed: Config = _changed(config, lambda _, value: ownfile.portable(value))
    return renamed


def files(config: Config) -> list[Path]:
    """The files that hold the config's feature maps, kernels and scores. Misplaced where two have one name."""
    found: dict[str, Path] = {}
    for place, name in _names(config):
        if ownfile.is_own(name):
            path = ownfile.path_of(name)
            if found.setdefault(path.name, path) != path:
                both = f"{path} and {found[path.name]}"
                raise Misplaced(f"{both} have one name, by which results name them; rename one", *place)
    return list(found.values())


def numbers_of(path: Path, place: Place) -> list[float]:
    """The positive numbers of a CSV file, one a line or several. Misplaced, with the file's line, where it has none."""
    try:
        lines = read_regular(path, MOST_BYTES).decode().splitlines()
    except OSError as error:
        raise Misplaced(unreadable(path, error), *place) from None
    except UnicodeDecodeError:
        raise Misplaced(f"{path}: is not UTF-8 text", *place) from None
    found: list[float] = []
    for number, line in enumerate(lines, start=1):
        for text in line.split(",") if line.strip() else []:
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not 0 < value < math.inf:
                raise Misplaced(f"{path}, line {number}: must be positive numbers, not {text.strip()!r}", *place)
            found.append(value)
    if not found:
        raise Misplaced(f"{path}: holds no numbers", *place)
    return found


def _changed(config: Any, change: Callable[[Place, str], Any], *above: str) -> Any:
    """``config`` with ``change(place, value)`` applied to each name of a map, kernel or score, and to each file of
    lengths; also within the labels of its sweep."""
    if not isinstance(config, dict):
        return config
    result = dict(config)
    if "kernel" in config:
        result["kernel"] = _kernel(config["kernel"], change, *above, "kernel")
    if isinstance(methods := config.get("methods"), dict):
        result["methods"] = {
            label: _method(method, change, *above, "methods", label) for label, method in methods.items()
        }
    if isinstance(scores := config.get("scores"), list):
        result["scores"] = [change((*above, "scores"), each) if isinstance(each, str) else each for each in scores]
    if isinstance(sweep := config.get("sweep"), dict):
        result["sweep"] = {
            axis: {label: _changed(patch, change, *above, "sweep", axis, label) for label, patch in labels.items()}
            if isinstance(labels, dict) else labels
            for axis, labels in sweep.items()
        }  # fmt: skip
    return result


def _method(method: Any, change: Callable[[Place, str], Any], *place: str) -> Any:
    if not isinstance(method, dict):
        return method
    result, name = dict(method), method.get("features")
    if isinstance(name, dict) and isinstance(name.get("name"), str):
        result["features"] = {**name, "name": change((*place, "features", "name"), name["name"])}
    elif isinstance(name, str):
        result["features"] = change((*place, "features"), name)
    if "kernel" in method:
        result["kernel"] = _kernel(method["kernel"], change, *place, "kernel")
    return result


def _kernel(kernel: Any, change: Callable[[Place, str], Any], *place: str) -> Any:
    if not isinstance(kernel, dict):
        return kernel
    texts = {key: kernel[key] for key in ("name", "lengths") if isinstance(kernel.get(key), str)}
    return {**kernel, **{key: change((*place, key), text) for key, text in texts.items()}}


def _names(config: Config) -> list[tuple[Place, str]]:
    """Each name of a map, a kernel or a score, and its place."""
    found: list[tuple[Place, str]] = []
    _changed(config, lambda place, name: found.append((place, name)))
    return found
