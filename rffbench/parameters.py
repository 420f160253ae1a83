"""Checks of parameters, for feature maps and solvers alike: what is wrong is told by the parameter's name.

scikit-learn's ``check_scalar`` takes True for a number and NaN for a positive one, and its words are a library's.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

GAMMA_RULES = ("scale", "median")
"""The names that γ may have in place of a number (`rffbench.kernels.bandwidth.gamma_of_rows`)."""


TIMES_MEDIAN = "times_median"
"""The key of a γ that the data shall give: multiples of the median distance for cross-validation to choose σ from."""


class WrongParameter(ValueError):
    """The value of ``parameter`` is wrong; ``problem`` says what would be right."""

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(parameter, problem)
        self.parameter = parameter

    def __str__(self) -> str:
        return " ".join(self.args)


def check_choice(name: str, value: object, allowed: Sequence[object]) -> None:
    """WrongParameter where ``value`` is none of ``allowed``; true is not 1."""
    if not any(_is_truth(value) == _is_truth(each) and value == each for each in allowed):
        raise WrongParameter(name, f"must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_count(name: str, value: Any, least: int) -> None:
    """WrongParameter where ``value`` is not a whole number of at least ``least``."""
    if _is_truth(value) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise WrongParameter(name, f"must be a whole number, {least} or more, got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """WrongParameter where ``value`` is not a positive, finite number."""
    if not is_number(value) or value <= 0:
        raise WrongParameter(name, f"must be a positive number, got {value!r}")


def check_memory(value: Any) -> None:
    """WrongParameter where ``value`` is no budget: a number of bytes, or None. Below 0 is what a process has left that
    holds too much already: MemoryBudgetError says by how much."""
    if value is not None and not is_number(value):
        raise WrongParameter("memory", f"must be None or a number of bytes, such as 2_000_000_000, got {value!r}")


def check_map(value: Any) -> None:
    """WrongParameter where ``value`` is neither a feature map nor None; a map's class is none yet."""
    if value is not None and (isinstance(value, type) or not hasattr(value, "transform")):
        got = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        problem = f"must be None or a feature map, such as RandomFourierFeatures(1000), got {got}"
        raise WrongParameter("features", problem)


def is_rule(gamma: Any) -> TypeGuard[str]:
    """Whether ``gamma`` is the name of a rule, not a number."""
    return isinstance(gamma, str) and gamma in GAMMA_RULES


def is_chosen(gamma: Any) -> bool:
    """Whether cross-validation chooses γ: from a list, or from multiples of the median distance."""
    return isinstance(gamma, list | dict)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite number; true and false are none."""
    return isinstance(value, numbers.Real) and not _is_truth(value) and bool(np.isfinite(float(value)))


def _is_truth(value: object) -> bool:
    return isinstance(value, (bool, np.bool_))
