"""The files of feature maps that a config names: found from its folder, and written down by their own names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rffbench import ownfile
from rffbench.yamlfile import Misplaced

Config = dict[str, Any]


def found_from(config: Any, folder: Path) -> Any:
    """``config``, as YAML gives it, with every file's whole path: ``./mine.py`` lies in ``folder``."""
    return _renamed(config, lambda name: ownfile.absolute(name, folder) if ownfile.is_own(name) else name)


def portable(config: Config) -> Config:
    """``config`` with every file by its own name, as the results folder has it, where a copy lies beside it."""
    renamed: Config = _renamed(config, ownfile.portable)
    return renamed


def files(config: Config) -> list[Path]:
    """The files that hold the config's feature maps. Misplaced where two have one name."""
    found: dict[str, Path] = {}
    for label, name in _names(config):
        if ownfile.is_own(name):
            path = ownfile.path_of(name)
            if found.setdefault(path.name, path) != path:
                both = f"{path} and {found[path.name]}"
                raise Misplaced(f"{both} have one name, by which results name them; rename one", "methods", label)
    return list(found.values())


def _renamed(config: Any, change: Callable[[str], str]) -> Any:
    """The same for a config and for what the labels of its sweep change."""
    if not isinstance(config, dict):
        return config
    result = dict(config)
    if isinstance(methods := config.get("methods"), dict):
        result["methods"] = {label: _method(method, change) for label, method in methods.items()}
    if isinstance(sweep := config.get("sweep"), dict):
        result["sweep"] = {
            axis: {label: _renamed(patch, change) for label, patch in labels.items()}
            if isinstance(labels, dict) else labels
            for axis, labels in sweep.items()
        }  # fmt: skip
    return result


def _method(method: Any, change: Callable[[str], str]) -> Any:
    name = method.get("features") if isinstance(method, dict) else None
    if isinstance(name, dict) and isinstance(name.get("name"), str):
        return {**method, "features": {**name, "name": change(name["name"])}}
    return {**method, "features": change(name)} if isinstance(name, str) else method


def _names(config: Any) -> Iterator[tuple[str, str]]:
    for label, method in (config.get("methods") or {}).items():
        if isinstance(method, dict) and isinstance(name := method.get("features"), str):
            yield label, name
    for labels in (config.get("sweep") or {}).values():
        for patch in labels.values():
            yield from _names(patch)
