"""What an iterative solver may spend, and what it keeps of how it went: ``budget`` and ``curves_``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rffbench.errors import unknown
from rffbench.parameters import WrongParameter, check_count, check_positive
from rffbench.rowsource import clock, since

FEWEST_PASSES = 3  # right sides, a step, and what is left
ROUNDINGS = 8  # a tolerance below this many times the rounding of the numbers that are multiplied says nothing


@dataclass(frozen=True)
class Budget:
    """When to stop: after ``passes`` over the rows, after ``seconds`` of the fit (a pass begun is finished), or where
    what is left is at most ``tolerance``, as a share."""

    passes: int = 1000
    seconds: float | None = None
    tolerance: float = 1e-6

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Budget:
        """``given`` completed by defaults; WrongParameter where it holds something else, or a wrong number."""
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
            check_count("passes", made.passes, least=FEWEST_PASSES)
            check_positive("tolerance", made.tolerance)
            if made.seconds is not None:
                check_positive("seconds", made.seconds)
        except WrongParameter as error:
            raise WrongParameter("budget", str(error)) from None
        return made

    def within(self, dtype: Any) -> tuple[float, str]:
        """The tolerance that numbers of ``dtype`` can meet, and what to say where ``tolerance`` is below it."""
        smallest = ROUNDINGS * float(np.finfo(dtype).eps)
        if self.tolerance >= smallest:
            return self.tolerance, ""
        said = f"a tolerance of {self.tolerance:g} is beyond the precision of {np.dtype(dtype).name}"
        return smallest, f"{said}: {smallest:.1g} was asked for, the smallest that can be had"


class Clock:
    """The seconds of a fit so far, but those in which something was only measured."""

    def __init__(self) -> None:
        self._started, self._left_out = clock(), 0.0

    @property
    def seconds(self) -> float:
        return max(0.0, since(self._started) - self._left_out)

    def __enter__(self) -> None:
        self._measuring = clock()

    def __exit__(self, *_: object) -> None:
        self._left_out += since(self._measuring)
