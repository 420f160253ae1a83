"""The budget of an iterative solver, and a clock for its ``curves_``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rffbench.arguments.parameters import WrongParameter, check_count, check_positive
from rffbench.arguments.rowsource import clock, since
from rffbench.errors import unknown

FEWEST_PASSES = 3  # for the right sides, a step, and the residual
ROUNDINGS = 8  # the smallest useful tolerance, in units of rounding


@dataclass(frozen=True)
class Budget:
    """Stop after ``passes`` over the rows, after ``seconds`` of the fit (a pass that has begun is finished), or when
    the relative residual is at most ``tolerance``."""

    passes: int = 1000
    seconds: float | None = None
    tolerance: float = 1e-6

    @classmethod
    def of(cls, given: Mapping[str, Any] | None, fewest: int = FEWEST_PASSES) -> Budget:
        """``given`` with defaults for what it omits; WrongParameter for an unknown entry, a wrong number, or less than
        ``fewest`` passes."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise WrongParameter("budget", f"must be null or {{passes, seconds, tolerance}}, got {given!r}")
        names = list(cls.__dataclass_fields__)
        for name in given:
            if name not in names:
                raise WrongParameter("budget", f"has an {unknown('entry', name, names)}")
        made = cls(**{key: value for key, value in given.items() if value is not None})
        try:
            check_count("passes", made.passes, least=fewest)
            check_positive("tolerance", made.tolerance)
            if made.seconds is not None:
                check_positive("seconds", made.seconds)
        except WrongParameter as error:
            raise WrongParameter("budget", str(error)) from None
        return made

    def within(self, dtype: Any) -> tuple[float, str]:
        """The tolerance, raised if ``dtype`` needs that, and the warning if it was raised, else ""."""
        smallest = ROUNDINGS * float(np.finfo(dtype).eps)
        if self.tolerance >= smallest:
            return self.tolerance, ""
        below = f"a tolerance of {self.tolerance:g} is below the precision of {np.dtype(dtype).name}"
        return smallest, f"{below}: {smallest:.1g}, the smallest possible one, is used"


def passes_of_a_fit(usual: int) -> Callable[[Mapping[str, Any]], dict[str, float]]:
    """The letter i of a solver's cost: ``usual`` passes, or those of the budget, if they are fewer."""
    return lambda config: {"i": min(usual, Budget.of(config.get("budget"), fewest=1).passes)}


class Clock:
    """The seconds of a fit so far, without those of ``with`` blocks, which only measure something."""

    def __init__(self) -> None:
        self._started, self._left_out = clock(), 0.0

    @property
    def seconds(self) -> float:
        return max(0.0, since(self._started) - self._left_out)

    def __enter__(self) -> None:
        self._measuring = clock()

    def __exit__(self, *_: object) -> None:
        self._left_out += since(self._measuring)
