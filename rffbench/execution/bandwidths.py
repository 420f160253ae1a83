"""A bandwidth that an earlier trial has chosen: trials of another size do not choose it again.

Where γ is chosen once for all sizes of a method (`rffbench.trials.tuning`), the choice depends on the trial without its
size and on nothing else. A trial to come, whose log has one of another size, is run with that one's γ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rffbench.arguments.parameters import is_chosen_once
from rffbench.execution.provenance import made_by
from rffbench.execution.row import Row
from rffbench.solvers import uses_kernel
from rffbench.trials.spec import Key, TrialResult, TrialSpec
from rffbench.trials.tuning import Choice, choosing_key, with_choice


class Bandwidths:
    """The bandwidths in the ``rows`` of a log that the ``pending`` trials would choose again."""

    def __init__(self, pending: Iterable[TrialSpec], rows: Iterable[Row]) -> None:
        self._choices: dict[Key, Choice] = {}
        self._run: dict[Key, tuple[TrialSpec, Choice]] = {}  # the trials, by the key of what is run in place of them
        if not (wanted := {choosing_key(spec) for spec in pending if _may_be_known(spec)}):
            return
        of_rows = ((TrialSpec.from_row(row), row) for row in rows if row["status"] == "ok")
        for spec, row in of_rows:
            if _may_be_known(spec) and (name := choosing_key(spec)) in wanted and row.get("made_by") == made_by(spec):
                self._choices[name] = Choice.of_row(row)

    def given(self, spec: TrialSpec) -> TrialSpec:
        """What to run for a trial: itself, or the same with the γ that is known."""
        if not _may_be_known(spec) or (choice := self._choices.get(choosing_key(spec))) is None:
            return spec
        with_gamma = replace(spec, kernel={**spec.kernel, "gamma": choice.gamma})
        self._run[with_gamma.key] = spec, choice
        return with_gamma

    def whole(self, result: TrialResult) -> TrialResult:
        """The trial's result, from the result of what was run for it."""
        if (found := self._run.get(result.spec.key)) is None:
            return result
        spec, choice = found
        result = replace(result, spec=spec)
        return with_choice(result, choice) if result.status == "ok" else result


def _may_be_known(spec: TrialSpec) -> bool:
    """Whether another trial's choice will do: not where the seconds of the choice count, and where only the trial's own
    map chooses, and σ alone."""
    gamma = spec.kernel["gamma"]
    return (
        is_chosen_once(gamma)
        and uses_kernel(spec.solver)
        and spec.timing == "shared"
        and not {"features", "and_lambda"} & gamma.keys()
    )
