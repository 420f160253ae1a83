"""The number of columns of each method's features, and the cells where methods differ."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence

from rffbench.config.costs import map_columns, rows_decide
from rffbench.config.experiment import Experiment
from rffbench.trials.spec import Key, TrialSpec

Cells = dict[tuple[str, str], dict[str, int]]
"""(dataset, size as written) → method → the columns of its features."""


def warnings_of_columns(experiment: Experiment, asked: Container[Key] | None = None) -> list[str]:
    """Warnings about columns before anything runs: cells whose methods have unequal numbers, and methods whose number
    is not known yet. ``asked`` are the cells that count, by the key of their trial 0 (None: all). Methods are compared
    within a protocol of a sweep."""
    found: dict[str, None] = {}
    for _, each in experiment.protocols():
        found |= dict.fromkeys(_warnings([spec for spec in each.firsts() if asked is None or spec.key in asked]))
    return list(found)


def _warnings(specs: Sequence[TrialSpec]) -> list[str]:
    found = [unequal] if (unequal := unequal_columns(planned_columns(specs))) else []
    undecided = list(dict.fromkeys(spec.method for spec in specs if rows_decide(spec)))
    if undecided and len({spec.method for spec in specs}) > 1:
        found.append(
            f"of {', '.join(undecided)} the training rows decide how many columns there are, with `count: columns` "
            "too: n_features, the numbers in a row, at least; a trial's row says it in `columns`"
        )
    return found


def planned_columns(firsts: Iterable[TrialSpec]) -> Cells:
    """The known numbers of columns of each method's features, from the first trial of every cell; methods without a map
    are left out."""
    found: Cells = {}
    for spec in firsts:
        if (columns := map_columns(spec)) is not None:
            found.setdefault((spec.dataset, spec.size), {})[spec.method] = columns
    return found


def unequal_columns(cells: Cells, undecided: Collection[str] = ()) -> str:
    """On the cells whose methods have unequal columns, with the extremes of the first such cell; empty without one.
    ``undecided`` are methods whose columns the training rows decide."""
    unequal = {cell: columns for cell, columns in cells.items() if len(set(columns.values())) > 1}
    if not unequal:
        return ""
    (dataset, _), columns = next(iter(unequal.items()))
    fewest, most = min(columns, key=columns.__getitem__), max(columns, key=columns.__getitem__)
    where = "in one cell" if len(unequal) == 1 else f"in {len(unequal)} cells"
    named = [*list(undecided)[:2], *([f"{len(undecided) - 2} more methods"] if len(undecided) > 2 else [])]
    but = f", but {', '.join(named)}, whose columns the training rows decide" if undecided else ""
    return (
        f"{where} the methods have unequal numbers of columns at one size. On {dataset} {fewest} has "
        f"{columns[fewest]} and {most} {columns[most]}; "
        f"`count: columns` in the config gives every method as many{but}"
    )
