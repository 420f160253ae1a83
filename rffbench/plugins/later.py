"""Parameters that built-in maps and solvers got after results of them were published.

Trials and resolved configs state them, as all parameters. Keys and rows leave one out where it has the value that was
the only one before, so that earlier rows are still those of their config. A format of rows to come has them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEFT_OUT: dict[str, dict[str, Any]] = {
    **{name: {"rotation": "structured"} for name in ("sorf", "rom", "srht")},
    "orthogonal": {"lengths": "own"},
    "gp": {"learn": None, "diagonal": False},
    "linear-svm": {"calibrate": None},
    "kernel-svm": {"calibrate": None},
    "linear": {"class_weight": None},
    "gradient-boosting": {
        "leaves": 31, "early_stopping": False, "folds": 5, "rows": 10_000, "class_weight": None,
    },
}  # fmt: skip
"""Of a map or a solver, by name: such parameters, and their values in rows without them."""


def in_rows(part: Mapping[str, Any]) -> dict[str, Any]:
    """A trial's map or solver, {"name": …, its parameters …}, as keys and rows have it."""
    before = LEFT_OUT.get(str(part.get("name")), {})
    return {key: value for key, value in part.items() if key not in before or value != before[key]}


def of_row(part: Mapping[str, Any]) -> dict[str, Any]:
    """A row's map or solver as trials have it."""
    return {**part, **{key: value for key, value in LEFT_OUT.get(str(part.get("name")), {}).items() if key not in part}}
