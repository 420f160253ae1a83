"""Running trials: what every executor takes and gives.

An executor takes tasks (lists of trials that one process does together) and gives one result for every
trial handed in, whatever happened to it. The local one keeps processes on this machine; one for a cluster
would have the same ``run``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from rffbench.spec import TrialResult, TrialSpec

Task: TypeAlias = list[TrialSpec]


@dataclass(frozen=True)
class Finished:
    """A trial came to its end: measured, failed or lost."""

    result: TrialResult


class Executor(Protocol):
    """Whatever runs trials."""

    def run(self, tasks: Iterable[Task]) -> Generator[Finished, None, None]:
        """Exactly one Finished for every spec in ``tasks``, as they finish; closing it stops the work.

        The specs handed in at once have different keys.
        """
