"""Trials of foreign code, which is of a user's own file or of another package: which they are, and how they leave
others' trials as they were."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn

from rffbench.errors import DataError, OwnCodeError
from rffbench.features import MAPS
from rffbench.kernels import ALIASES, NAMED
from rffbench.plugins.ownfile import portable
from rffbench.plugins.surroundings import restored
from rffbench.solvers import NONE, SOLVERS
from rffbench.trials.scores import SCORES
from rffbench.trials.spec import TrialSpec

if TYPE_CHECKING:
    from rffbench.trials.problem import Problem

USUAL = {
    "assume_finite": False, "array_api_dispatch": False, "transform_output": "default",
    "enable_metadata_routing": False,
}  # fmt: skip
"""scikit-learn's configuration for trials, as far as their scores depend on it."""


def foreign_code(spec: TrialSpec) -> list[str]:
    """The names of a trial's map, solver, kernel and scores that are not built in, as in its row."""
    gamma, kernel, solver = spec.kernel.get("gamma"), str(spec.kernel["name"]), str(spec.solver["name"])
    maps = [str(spec.features["name"]), str((isinstance(gamma, dict) and gamma.get("features")) or NONE)]
    found = [
        *(name for name in maps if MAPS.is_foreign(name)),
        *([solver] if SOLVERS.is_foreign(solver) else []),
        *([kernel] if kernel not in ALIASES and NAMED.is_foreign(kernel) else []),
        *(name for name in spec.scores if name not in SCORES),
    ]
    return [portable(name) for name in found]


class ChangedRows(OwnCodeError):
    """Foreign code has changed the rows or targets that its other trials would read next. It ends the task, and these
    are run in a new process, on rows read anew."""


@contextmanager
def leaving_others_alone(spec: TrialSpec, problem: Problem) -> Iterator[None]:
    """A context for a trial, or a part of it, in which scikit-learn has its usual configuration.

    After foreign code, this process's surroundings are restored (`rffbench.plugins.surroundings`). ChangedRows if it
    changed a number of ``problem``: it may have done so in spite of the read-only flag, for example by compiled code.
    """
    known = sklearn.get_config()
    usual = {name: value for name, value in USUAL.items() if name in known}
    code = foreign_code(spec)
    if not code:
        with sklearn.config_context(**usual):
            yield
        return
    before, failed = _hash(problem), None
    with restored(), sklearn.config_context(**usual):
        try:
            yield
        except Exception as error:
            failed = error
        if _hash(problem) != before:
            raise ChangedRows(
                f"{' or '.join(code)} changes the rows or targets that it is given, which its other trials use too; "
                "it must copy an array first (X = X.copy()) or compute into a new one"
            )
        if failed:
            raise failed


def _hash(problem: Problem) -> str:
    """A hash of all numbers that the trials of a problem have in common and keep in memory. Memory-mapped files are
    left out: the system lets nobody write to them. Empty where rows cannot be read, as each trial will say itself."""
    try:
        arrays = problem.kept()
    except DataError:
        return ""
    found = hashlib.blake2b()
    for array in arrays:
        if not _is_mapped(array):
            found.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return found.hexdigest()


def _is_mapped(array: Any) -> bool:
    return isinstance(array, np.memmap) and array.mode == "r"
