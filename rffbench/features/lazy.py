"""Names that load their class on first use, so that a command imports only the maps that it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any


def classes_of(table: Mapping[str, str]) -> Callable[[str], Any]:
    """A family's ``__getattr__``: its classes by their own names. ``table`` maps config names to ``module:Class``."""
    modules = {place.partition(":")[2]: place.partition(":")[0] for place in table.values()}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"no {name!r} here; there are {', '.join(modules)}")
        return getattr(import_module(modules[name]), name)

    return find


def keep_old_paths(package: str, homes: Mapping[str, tuple[str, ...]]) -> dict[str, ModuleType]:
    """Modules of ``package`` under names whose files have moved; ``homes`` maps each name to the modules, relative to
    the package, that have its contents now. Imports and pickles of earlier versions keep working."""
    return {name: _old_module(f"{package}.{name}", [f"{package}.{home}" for home in homes[name]]) for name in homes}


def _old_module(name: str, homes: list[str]) -> ModuleType:
    def find(attribute: str) -> Any:
        if not attribute.startswith("__"):
            for home in map(import_module, homes):
                if hasattr(home, attribute):
                    return getattr(home, attribute)
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

    module = sys.modules[name] = module_from_spec(ModuleSpec(name, None))
    module.__doc__ = f"An old path: its contents are in {' and '.join(homes)}."
    module.__dict__["__getattr__"] = find
    return module
