"""Which code and data made a row, and which rows of a log a run would now make with other code or data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

from rffbench.execution.log import Cell, cell
from rffbench.execution.row import Row, has_own_key
from rffbench.features import MAPS
from rffbench.plugins import ownfile
from rffbench.plugins.registry import Registry
from rffbench.solvers import ON_DEVICE, SOLVERS
from rffbench.trials.spec import Key, TrialSpec

MadeBy = dict[str, Any]


NO_SOURCES: dict[str, Any] = {"source": None, "kernel_source": None, "score_sources": []}


def own_parts(spec: TrialSpec) -> list[str]:
    """The map, kernel and scores from the user's own files, by their names."""
    names = [str(spec.features.get("name")), str(spec.kernel.get("name")), *spec.scores]
    return [ownfile.portable(name) for name in names if ownfile.is_own(name)]


def made_by(spec: TrialSpec) -> MadeBy:
    """The code of a trial's feature map and solver, in the form of its row:
    `rffbench.plugins.registry.Registry.made_by`."""
    features = spec.source or _made_by(MAPS, spec.features)
    solver = _made_by(SOLVERS if spec.device == "cpu" else ON_DEVICE, spec.solver)
    found = {} if features is None else {"features": features}
    return found if solver is None else {**found, "solver": solver}


def _made_by(registry: Registry, part: dict[str, Any]) -> int | str | None:
    name = part["name"]
    return registry.made_by(name, part) if name in registry.built_in else _added(registry, name)


@lru_cache
def _added(registry: Registry, name: str) -> int | str | None:
    """Of another package's part; kept, because every row asks, and to find and hash a package takes long."""
    return registry.made_by(name)


class OtherCode:
    """Finds the rows of a log that belong to trials of a ``grid`` but were made by other code or from other data, and
    all rows whose fields were edited.

    ``specs`` are the grid's by key, ``found`` counts the rows by reason.

    Rows of before 0.1.0 lack ``made_by``. Nothing says what made them, and they are accepted.
    """

    def __init__(self, grid: Iterable[TrialSpec]) -> None:
        self.found: Counter[str] = Counter()
        self.specs = {spec.key: spec for spec in grid}

    @cached_property
    def _cells(self) -> set[Cell]:
        return {spec.cell for spec in self.specs.values()}

    @cached_property
    def _without_source(self) -> set[Key]:
        return {replace(spec, **NO_SOURCES).key for spec in self.specs.values() if own_parts(spec)}

    @cached_property
    def _without_data(self) -> set[Key]:
        return {replace(spec, data_hash="").key for spec in self.specs.values()}

    def reason(self, row: Row) -> str | None:
        """Why a row no longer counts, in words; None if it does, or if it belongs to no trial of the grid."""
        if not has_own_key(row):
            return "under keys that are not those of their fields, so the log was edited"
        if spec := self.specs.get(row["key"]):
            now, then = made_by(spec), row.get("made_by")
            if then is None or then == now:
                return None
            what = next((each for each in ("features", "solver") if now.get(each) != then.get(each)), None)
            if what is None:  # of parts that this version does not know
                return None
            name = spec.features["name"] if what == "features" else spec.solver["name"]
            return f"by other code: {name} was {then.get(what)} and is {now.get(what)}"
        if cell(row) not in self._cells:
            return None
        read = TrialSpec.from_row(row)
        if (own := own_parts(read)) and replace(read, **NO_SOURCES).key in self._without_source:
            return f"by other code: {' or '.join(own)} has been edited"
        if replace(read, data_hash="").key in self._without_data:
            return f"of other data: {read.dataset} has changed"
        return None

    def left_out_of(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows that count; the others are counted in ``found``."""
        for row in rows:
            if reason := self.reason(row):
                self.found[reason] += 1
            else:
                yield row

    def in_words(self) -> str:
        """The number of rows left out and the reasons, in one line."""
        each = (
            f"{count} row{' was' if count == 1 else 's were'} made {reason}" for reason, count in self.found.items()
        )
        return "; ".join(each)
