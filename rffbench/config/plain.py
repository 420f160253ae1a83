"""A config from Python as the plain data that YAML has: mappings, lists, texts, numbers, true, false and nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, MappingView
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any

import numpy as np

from rffbench.io.yamlfile import DEEPEST, MOST_VALUES, Misplaced

Place = tuple[str | int, ...]


def plain(value: Any, *where: str | int) -> Any:
    """``value``, which is at ``where`` in a config, as plain data.

    Scalars of NumPy become Python's. Arrays, columns of pandas, tuples, ranges and other sequences become lists, and a
    `Path` becomes the text of a path. Misplaced for anything else, with what to give instead.
    """
    if len(where) > DEEPEST:
        raise Misplaced(f"is nested deeper than {DEEPEST} levels", *where[:3])
    if value is None:
        return None
    for kind, like in _KINDS.items():
        if isinstance(value, like) and not isinstance(value, np.timedelta64):  # which NumPy counts among the integers
            return kind(value)
    if isinstance(value, os.PathLike):
        return _path(value, where)
    if isinstance(value, Mapping):
        return {_key(key, where): plain(each, *where, str(key)) for key, each in value.items()}
    if getattr(value, "ndim", None) == 0 and hasattr(value, "tolist"):  # an array of one value, and no list
        inner = value.tolist()
        if type(inner) is type(value):
            raise _refused(value, where)
        return plain(inner, *where)
    return [plain(each, *where, i) for i, each in enumerate(_listed(value, where))]


_KINDS: dict[Any, Any] = {bool: bool | np.bool_, int: int | np.integer, float: float | np.floating, str.__str__: str}
"""How a scalar becomes Python's own, and what is taken for one; str.__str__ gives the text of an Enum, too."""


def _path(value: os.PathLike[Any], where: Place) -> str:
    """A path as text that is no name: ``./eeg`` for Path("eeg")."""
    path = os.fspath(value)
    if isinstance(path, bytes):
        raise _refused(value, where, "a path must be text")
    return path if os.path.dirname(path) else os.path.join(os.curdir, path)


def _key(key: Any, where: Place) -> Any:
    if isinstance(key, tuple(_KINDS.values())) or key is None:
        return plain(key)
    raise _refused(key, where, "a key must be text")


def _listed(value: Any, where: Place) -> list[Any]:
    """The elements of a value that is used as a list."""
    if isinstance(value, AbstractSet) and not isinstance(value, MappingView):
        raise _refused(value, where, "a set has no order; give a list")
    if hasattr(value, "columns"):  # it would be a list of their names
        raise _refused(value, where, "give one of its columns, or a list")
    if hasattr(value, "tolist"):
        return list(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray | memoryview | type):
        listed = list(islice(value, MOST_VALUES + 1))
        if len(listed) > MOST_VALUES:
            raise _refused(value, where, f"it has more than {MOST_VALUES:,} values")
        return listed
    if hasattr(type(value), "__float__"):  # Decimal, Fraction
        raise _refused(value, where, "give int(…) or float(…) of it")
    raise _refused(value, where)


def _refused(
    value: Any, where: Place, instead: str = "give text, a number, True, False, None, a list or a dict"
) -> Misplaced:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return Misplaced(f"is of the type {name}, which a config does not have; {instead}", *where)
