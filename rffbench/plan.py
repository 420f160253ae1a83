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


# What a trial's share of common work does not depend on: trials alike in all else are done together.
_OWN = ("method", "features", "n_features", "multiple")


def tasks(specs: Sequence[TrialSpec]) -> list[list[TrialSpec]]:
    """The trials in groups that share work, in order of first appearance; exclusive ones alone."""
    groups: dict[str, list[TrialSpec]] = {}
    for spec in specs:
        common = {key: value for key, value in spec.to_dict().items() if key not in _OWN}
        alone = spec.key if spec.exclusive else ""
        groups.setdefault(canonical_json([common, alone]), []).append(spec)
    return list(groups.values())


def run_group(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Do one task: its trials' results go to ``channel`` as they come."""
    from rffbench.shared import run_shared
    from rffbench.trial import run_alone

    if len(specs) > 1:
        specs = run_shared(specs, channel)
    for spec in specs:
        run_alone(spec, channel)
