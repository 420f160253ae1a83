"""The errors a user can cause or meet, each with the exit status the command line gives it."""

import difflib
from collections.abc import Iterable


class RffbenchError(Exception):
    """An error with a message meant for the user: what is wrong, where, and what would be right."""

    exit_status = 2


class ConfigError(RffbenchError):
    """The config, a card or a command-line value is wrong (exit status 2)."""


class ResultsError(RffbenchError):
    """A results folder is missing, or cannot be read or written (exit status 2)."""


class DataError(RffbenchError):
    """A dataset's files are not what its card says: a checksum, a shape, a class count (exit status 3)."""

    exit_status = 3


class DataUnavailable(DataError):
    """A dataset's files cannot be had: no mirror, no server answers (exit status 3)."""


class MemoryBudgetError(RffbenchError, MemoryError):
    """The work cannot fit the memory budget; raised before it starts, with both figures in bytes."""

    def __init__(self, what: str, needed: int, budget: int) -> None:
        super().__init__(f"{what} needs {needed / 1e9:.2f} GB, more than the budget of {budget / 1e9:.2f} GB")
        self.needed = needed
        self.budget = budget

    def __reduce__(self) -> tuple:  # keep the figures when it crosses a process boundary
        return (_memory_budget_error, (str(self), self.needed, self.budget))


def unknown(what: str, name: object, valid: Iterable[object]) -> str:
    """``unknown dataset 'egg'; did you mean 'eeg'?``, with all valid names where none is near."""
    names = [str(each) for each in valid]
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(names) or 'none'}"
    return f"unknown {what} {name!r}; {hint}"


def _memory_budget_error(message: str, needed: int, budget: int) -> MemoryBudgetError:
    error = MemoryBudgetError.__new__(MemoryBudgetError)
    Exception.__init__(error, message)
    error.needed, error.budget = needed, budget
    return error
