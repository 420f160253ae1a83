"""Trials whose config asks for new ``measures`` of the feature map: their scores are kept, and the new measures are
taken from the map alone, without its solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from rffbench.arguments.parameters import is_chosen
from rffbench.execution.provenance import made_by
from rffbench.execution.row import Row
from rffbench.plugins.registry import NONE
from rffbench.trials.metrics import CURVES
from rffbench.trials.spec import Key, TrialResult, TrialSpec


class Remeasured:
    """The trials of a grid whose rows lack only some measures.

    If the solver's cross-validation chooses the bandwidth, or a measure is a curve, the whole trial is run again.
    """

    def __init__(self, grid: Iterable[TrialSpec]) -> None:
        self._grid = grid
        self._rows: dict[Key, Row] = {}
        self._of_maps: dict[Key, TrialSpec] = {}  # the trials, by the key of what is run in place of them

    @cached_property
    def _by_rest(self) -> dict[Key, TrialSpec]:
        return {_without_measures(spec).key: spec for spec in self._grid}

    def knows(self, row: Row) -> bool:
        """Whether a row belongs to a trial of the grid except for its measures; its scores are then kept."""
        before = TrialSpec.from_row(row)
        spec = self._by_rest.get(_without_measures(before).key)
        if spec is None or spec.key == before.key:
            return False
        whole = is_chosen(spec.kernel["gamma"]) or CURVES.keys() & {*before.measures, *spec.measures}
        if row["status"] == "ok" and row.get("made_by") == made_by(spec) and not whole:
            self._rows[spec.key] = row
        return True

    def of_map(self, spec: TrialSpec) -> TrialSpec | TrialResult:
        """What to run for a trial: the trial, or its map alone; or its result, if no new measure is asked for."""
        if (row := self._rows.get(spec.key)) is None:
            return spec
        before = TrialSpec.from_row(row)
        new = [name for name in spec.measures if name not in before.measures]
        if not new or spec.features["name"] == NONE:
            return self._joined(spec, {})
        alone = replace(spec, solver={"name": NONE}, measures=new, scores=[], score_sources=[], timing="shared")
        self._of_maps[alone.key] = spec
        return alone

    def whole(self, result: TrialResult) -> TrialResult:
        """The trial's result, from the result of what was run for it."""
        spec = self._of_maps.get(result.spec.key)
        if spec is None:
            return result
        if result.status != "ok":
            return replace(result, spec=spec)
        return self._joined(spec, {name: result.metrics[name] for name in result.spec.measures})

    def _joined(self, spec: TrialSpec, measured: dict[str, float]) -> TrialResult:
        row = self._rows[spec.key]
        left_out = {*TrialSpec.from_row(row).measures} - {*spec.measures}
        kept: dict[str, Any] = {name: value for name, value in row["metrics"].items() if name not in left_out}
        return TrialResult(
            spec, "ok", kept | measured, row["timing"], row["peak_memory_bytes"], row["lambda"],
            curves=row.get("curves", {}), own_metrics=row.get("own_metrics", {}), warnings=row.get("warnings", []),
        )  # fmt: skip


def _without_measures(spec: TrialSpec) -> TrialSpec:
    return replace(spec, measures=[])
