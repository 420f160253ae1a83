"""How many columns each method's features have, and where those of one cell differ."""

from __future__ import annotations

from collections.abc import Iterable

from rffbench.config.costs import map_columns
from rffbench.trials.spec import TrialSpec

Cells = dict[tuple[str, str], dict[str, int]]
"""(dataset, size as written) → method → the columns of its features."""


def planned_columns(firsts: Iterable[TrialSpec]) -> Cells:
    """Of the first trial of every cell: the columns of each method's features; methods without a map are left out."""
    found: Cells = {}
    for spec in firsts:
        if (columns := map_columns(spec)) is not None:
            found.setdefault((spec.dataset, spec.size), {})[spec.method] = columns
    return found


def unequal_columns(cells: Cells) -> str:
    """A sentence on the cells whose methods have unequal columns, with the numbers of the first; empty if there is
    none."""
    unequal = {cell: columns for cell, columns in cells.items() if len(set(columns.values())) > 1}
    if not unequal:
        return ""
    (dataset, size), columns = next(iter(unequal.items()))
    by_columns: dict[int, list[str]] = {}
    for method, count in columns.items():
        by_columns.setdefault(count, []).append(method)
    numbers = "; ".join(f"{', '.join(methods)}: {count} columns" for count, methods in by_columns.items())
    more = f", and in {len(unequal) - 1} more cells" if len(unequal) > 1 else ""
    size = size if size.endswith("d") else f"s={size}"
    return (
        f"at one size the methods have unequal numbers of columns: {dataset} {size}: {numbers}{more}; "
        "`count: columns` in the config gives every method as many"
    )
