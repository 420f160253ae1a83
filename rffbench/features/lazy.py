"""Names that load their class on first use, so that a command imports only the maps that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def classes_of(table: Mapping[str, str]) -> Callable[[str], Any]:
    """A family's ``__getattr__``: its classes by their own names. ``table`` maps config names to ``module:Class``."""
    modules = {place.partition(":")[2]: place.partition(":")[0] for place in table.values()}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"no {name!r} here; there are {', '.join(modules)}")
        return getattr(import_module(modules[name]), name)

    return find
