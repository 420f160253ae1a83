"""Checks of parameters of feature maps and solvers, with messages that name the parameter.

scikit-learn's ``check_scalar`` accepts True as a number and NaN as a positive number.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

GAMMA_RULES = ("scale", "median")
"""The names that γ may have in place of a number (`rffbench.kernels.bandwidth.gamma_of_rows`)."""


TIMES_MEDIAN = "times_median"
"""The key of multiples of the median distance, among which cross-validation chooses σ."""


class WrongParameter(ValueError):
    """The value of ``parameter`` is wrong; ``problem`` says what would be right."""

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(parameter, problem)
        self.parameter = parameter

    def __str__(self) -> str:
        return " ".join(self.args)


def check_choice(name: str, value: object, allowed: Sequence[object]) -> None:
    """WrongParameter if ``value`` is not one of ``allowed``; true is not 1."""
    if not any(_is_truth(value) == _is_truth(each) and value == each for each in allowed):
        raise WrongParameter(name, f"must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_count(name: str, value: Any, least: int) -> None:
    """WrongParameter if ``value`` is not a whole number of at least ``least``."""
    if _is_truth(value) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise WrongParameter(name, f"must be a whole number, {least} or more, got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """WrongParameter if ``value`` is not a positive, finite number."""
    if not is_number(value) or value <= 0:
        raise WrongParameter(name, f"must be a positive number, got {value!r}")


def check_memory(value: Any) -> None:
    """WrongParameter if ``value`` is not a budget: a number of bytes, or None. A negative number is allowed: the
    process already holds too much, and MemoryBudgetError will say by how much."""
    if value is not None and not is_number(value):
        raise WrongParameter("memory", f"must be None or a number of bytes, such as 2_000_000_000, got {value!r}")


def checked_labels(y: Any, name: str = "y") -> Any:
    """The labels y (n,) as they are; numbers or booleans that come as objects, as an array of such. ValueError, which
    names the row, if a label is missing (None, NaN, NaT, pandas' NA), or labels are of several types."""
    array = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if array.ndim == 0 or array.size != len(array):  # no column of labels: the caller's checks say so
        return y
    labels = array.ravel()
    objects = labels.dtype.kind == "O"
    missing = np.fromiter(map(_is_missing, labels), bool, len(labels)) if objects else labels != labels
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(
            f"{name}[{row}] is {labels[row]}: a row without a target cannot be learnt from; leave it out, or give it a "
            "label of its own"
        )
    if not objects:
        return y
    first: dict[str, int] = {}
    for row, label in enumerate(labels):
        first.setdefault(_type_of_label(label), row)
    if len(first) > 1:
        shown = ", ".join(f"{name}[{row}] is {labels[row]!r} ({kind})" for kind, row in first.items())
        raise ValueError(f"{name} has labels of several types: {shown}; make them one, such as text: str(label)")
    return y if {*first}.isdisjoint({"number", "boolean"}) else np.array(array.tolist())


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas' NA is neither equal nor different
        return not hasattr(label, "__len__")


def _type_of_label(label: Any) -> str:
    if isinstance(label, (bool, np.bool_)):
        return "boolean"
    if isinstance(label, numbers.Real):
        return "number"
    return "text" if isinstance(label, str) else type(label).__name__


def check_map(value: Any) -> None:
    """WrongParameter if ``value`` is neither a feature map nor None; the class of a map is not a map."""
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


def is_chosen_once(gamma: Any) -> bool:
    """Whether cross-validation chooses γ once for all sizes of a map (`rffbench.trials.tuning`)."""
    return isinstance(gamma, dict)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite number; true and false are not."""
    return isinstance(value, numbers.Real) and not _is_truth(value) and bool(np.isfinite(float(value)))


def _is_truth(value: object) -> bool:
    return isinstance(value, (bool, np.bool_))
