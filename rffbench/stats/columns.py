"""How many columns are enough? A rule for test losses at growing sizes, and an interval for what it says.

The rule takes the loss with D columns to be L(D) = A + B/D, through the two largest sizes. A is the limit, which more
columns approach. C − A, with C the loss of the best constant, is all there is to gain. Enough columns are the smallest
number whose loss is above the limit by at most a share of that gain:

    L(D) − A ≤ within · (C − A)

The interval is conformal. On each dataset of the board the number was read from the mean curve of all trials up to
2,048 columns, and predicted from one trial's sizes up to 512 or 1,024. columns.csv has the median ratio of the two, and
the factor around it that holds nine of ten ratios. `studies/board/columns.py` writes it from results/;
docs/board/columns.md says how often the interval holds the number on datasets that it has not seen.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

CALIBRATION = Path(__file__).with_suffix(".csv")
REACH = 8  # times the largest size: an answer beyond is none
STEEPER = 2.0  # times the drop before: the last drop may not be larger
LEAST_ROWS = 800  # of test rows: the losses of fewer are too noisy
LEAST_GAIN = 0.05  # of the constant's loss: shares of a smaller gain are noise
FALLING = "the loss still falls too fast to say"


@dataclass(frozen=True)
class ColumnsNeeded:
    """How many columns are ``within`` a share of what more columns can give: the ``estimate``, and an interval ``low``
    to ``high`` that holds the number in nine of ten cases; all three to two digits. None of them is known where
    ``why_not`` has a reason. The smallest size that was tried stands for itself and all below it."""

    within: float
    estimate: int | None = None
    low: int | None = None
    high: int | None = None
    why_not: str = ""

    @property
    def is_known(self) -> bool:
        return not self.why_not

    def __str__(self) -> str:
        if self.estimate is None:
            return f"not known: {self.why_not}"
        goal = f"within {100 * self.within:g} % of what more columns can give"
        return f"about {self.estimate:,} columns ({self.low:,} to {self.high:,}) are {goal}"


@dataclass(frozen=True)
class Calibration:
    """Of answers whose ``largest`` size and share ``within`` are these: the rule's number times ``middle`` is the
    estimate; over and times ``factor`` it is the interval."""

    largest: int
    within: float
    middle: float
    factor: float


def columns_needed(
    sizes: ArrayLike, losses: ArrayLike, constant_loss: float, within: float = 0.01, *, test_rows: int | None = None
) -> ColumnsNeeded:
    """How many columns of a feature map are enough, from the test losses of one trial or more at growing sizes.

    The limit is A = L₂ − (L₁ − L₂)·D₁/(D₂ − D₁) of the two largest sizes D₁ < D₂, and not above L₂. Where L₂ is within
    the share, the answer is read from the measured curve, straight in 1/D between two sizes; else it is
    D₂·(L₂ − A)/(within·(C − A)).

    Parameters
    ----------
    sizes : (k,) numbers of columns, growing; each of the last three is twice the one before it.
    losses : (k,) test losses, the smaller the better, of the same test rows: an error rate, or a mean squared error and
        not its root. For a score such as the AUC, one minus it.
    constant_loss : the loss of the best constant on the same rows.
    within : the share of the gain that may be missing: 0.01, 0.02 or 0.05.
    test_rows : how many rows the losses were measured on, those of all trials together; None leaves that check to you.

    Returns
    -------
    The answer, or why there is none: there are fewer than 800 test rows, on which losses are too noisy; the last drop
    of the loss is so large that the answer is beyond 8 times the largest size; the drop is more than twice the one
    before, and more than the share; the gain is below 5 % of the constant's loss; there are no three sizes, each twice
    the one before, of which the largest has 512 columns or more.

    Raises
    ------
    ValueError : the arrays differ in length, sizes do not grow, a number is not finite, or ``within`` is another share.

    Examples
    --------
    >>> print(columns_needed([256, 512, 1024], [0.140, 0.120, 0.110], constant_loss=0.6))
    about 2,200 columns (720 to 6,600) are within 1 % of what more columns can give
    """
    D, L = _checked(sizes, losses, constant_loss)
    calibrated = [each for each in calibrations() if math.isclose(each.within, within)]
    if not calibrated:
        known = sorted({each.within for each in calibrations()})
        raise ValueError(f"within must be one of {', '.join(f'{share:g}' for share in known)}, got {within!r}")
    if test_rows is not None and test_rows < LEAST_ROWS:
        return ColumnsNeeded(within, why_not=f"fewer than {LEAST_ROWS} test rows ({test_rows:,})")
    fitting = [each for each in calibrated if each.largest <= D[-1]]
    if len(D) < 3 or not fitting or not np.allclose(D[-2:], 2 * D[-3:-1], rtol=0.05):
        least = min(each.largest for each in calibrated)
        sizes_wanted = f"three sizes, each twice the one before, the largest with {least} columns or more"
        return ColumnsNeeded(within, why_not=f"it takes losses at {sizes_wanted}")
    if refused := why_not(D, L, constant_loss, within):
        return ColumnsNeeded(within, why_not=refused)
    of = max(fitting, key=lambda each: each.largest)
    middle = enough(D, L, constant_loss, within) * of.middle
    estimate, low, high = (
        max(_two_digits(each), int(D[0])) for each in (middle, middle / of.factor, middle * of.factor)
    )
    return ColumnsNeeded(within, estimate, low, high)


def limit(sizes: NDArray[np.float64], losses: NDArray[np.float64]) -> float:
    """A of L(D) = A + B/D through the two largest sizes; the last loss where the loss does not fall."""
    drop = max(losses[-2] - losses[-1], 0.0)
    return float(losses[-1] - drop * sizes[-2] / (sizes[-1] - sizes[-2]))


def enough(sizes: NDArray[np.float64], losses: NDArray[np.float64], constant_loss: float, within: float) -> float:
    """The smallest number of columns within the share of the limit, by the rule alone: without guard and interval."""
    A = limit(sizes, losses)
    tolerance, above = within * (constant_loss - A), losses - A
    if above[-1] > tolerance:
        return float(sizes[-1] * above[-1] / tolerance)
    missing = np.flatnonzero(above > tolerance)
    if not len(missing):
        return float(sizes[0])
    i = missing[-1]  # from the next size on, all are within
    part = (above[i] - tolerance) / (above[i] - above[i + 1])
    return float(1 / (1 / sizes[i] + part * (1 / sizes[i + 1] - 1 / sizes[i])))


def why_not(sizes: NDArray[np.float64], losses: NDArray[np.float64], constant_loss: float, within: float) -> str:
    """The guard: why the rule has no answer for losses at three sizes or more; empty where it has one."""
    if not losses[-1] < constant_loss:
        return "the largest size is no better than a constant"
    gain = constant_loss - limit(sizes, losses)
    if gain < LEAST_GAIN * constant_loss:
        return f"it gains less than {100 * LEAST_GAIN:g} % over a constant"
    tolerance = within * gain
    before, last = -np.diff(losses[-3:])
    if last > max(STEEPER * before, tolerance) or enough(sizes, losses, constant_loss, within) > REACH * sizes[-1]:
        return FALLING
    return ""


@cache
def calibrations(path: Path = CALIBRATION) -> tuple[Calibration, ...]:
    """The rows of columns.csv."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            Calibration(int(row["largest"]), float(row["within"]), float(row["middle"]), float(row["factor"]))
            for row in csv.DictReader(file)
        )


def _checked(
    sizes: ArrayLike, losses: ArrayLike, constant_loss: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    D, L = np.asarray(sizes, dtype=float), np.asarray(losses, dtype=float)
    if D.ndim != 1 or D.shape != L.shape:
        raise ValueError(f"sizes and losses must be two lists of one length, got shapes {D.shape} and {L.shape}")
    if not (np.isfinite(D).all() and np.isfinite(L).all() and math.isfinite(constant_loss)):
        raise ValueError("sizes, losses and constant_loss must be finite numbers")
    if len(D) and (D[0] <= 0 or (np.diff(D) <= 0).any()):
        raise ValueError(f"sizes must be positive and growing, got {D.tolist()}")
    return D, L


def _two_digits(number: float) -> int:
    return int(float(f"{number:.2g}"))
