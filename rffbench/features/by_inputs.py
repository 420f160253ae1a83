"""Parameters of built-in maps that 'auto' leaves to the number of input columns.

A trial has what was decided for its dataset, so that its key says what was done. No map is loaded: reports read this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

AUTO: Literal["auto"] = "auto"
FEW_INPUTS = 4  # padded to a power of two they are fewer than eight
FEWEST_INPUTS = 3


def rotation_of(d: int) -> str:
    """'dense' for d inputs that are padded to fewer than eight: there products of Hadamard matrices have so few
    directions that the kernel is wrong. Else 'structured'."""
    return "dense" if d <= FEW_INPUTS else "structured"


def points_of(d: int) -> int:
    """The points of a subsampled Gauss–Hermite grid of d inputs: 3; in few inputs, where three are wrong for most pairs
    of rows, 100."""
    return 100 if d <= FEWEST_INPUTS else 3


_DECIDED: dict[str, tuple[str, Callable[[int], Any]]] = {
    "sorf": ("rotation", rotation_of), "rom": ("rotation", rotation_of), "srht": ("rotation", rotation_of),
    "gauss-hermite": ("points", points_of),
}  # fmt: skip


def is_undecided(features: Mapping[str, Any]) -> bool:
    """Whether a parameter of the map ``features``, {"name": …, its parameters …}, is left to the number of inputs."""
    found = _DECIDED.get(str(features.get("name")))
    return found is not None and features.get(found[0]) == AUTO


def decided(features: Mapping[str, Any], d: int) -> dict[str, Any]:
    """The map as trials on d inputs have it."""
    if not is_undecided(features):
        return dict(features)
    parameter, value = _DECIDED[features["name"]]
    return {**features, parameter: value(d)}
