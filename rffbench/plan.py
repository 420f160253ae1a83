"""Which trials are done together: tasks for an executor, and the worker's end of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rffbench.spec import TrialResult, TrialSpec, canonical_json


class Channel(Protocol):
    """How a task tells its parent what it does; see execution.worker.Channel."""

    memory_limit: int | None

    def begin(self, spec: TrialSpec) -> None: ...

    def result(self, result: TrialResult) -> None: ...

    def fail(self, spec: TrialSpec, error: BaseException) -> None: ...


# What the rows, their split and scaling do not depend on: trials alike in all else are done in one process.
_OWN = ("method", "features", "n_features", "multiple")


def tasks(specs: Sequence[TrialSpec]) -> list[list[TrialSpec]]:
    """The trials in groups that have the rows in common, in order of first appearance."""
    groups: dict[str, list[TrialSpec]] = {}
    for spec in specs:
        common = {key: value for key, value in spec.to_dict().items() if key not in _OWN}
        groups.setdefault(canonical_json(common), []).append(spec)
    return list(groups.values())


def run_group(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Do one task: its trials' results go to ``channel`` as they come.

    Trials share work where they can, unless they are exclusive: then each is measured alone, one after another.
    """
    from rffbench.shared import run_shared
    from rffbench.trial import Problem, run_alone

    problem = Problem.of(specs[0])
    if len(specs) > 1 and not specs[0].exclusive:
        specs = run_shared(specs, problem, channel)
    for spec in specs:
        run_alone(spec, problem, channel)
