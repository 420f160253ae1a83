"""Scaling of inputs, fitted in passes over row blocks and applied block by block.

Column steps learn from the rows they are fitted on; sample steps look at one row at a time and learn nothing:

- ``none``
- ``minmax``: each column to [0, 1] over the fitted rows; a column constant over them becomes 0
- ``standard``: each column to mean 0, standard deviation 1 (n in the divisor); a constant column becomes 0
- ``clip``: each column's values below its 0.1 % quantile and above its 99.9 % quantile become these
- ``sample-minmax``: each row to [−1, 1]; a constant row stays as it is (what MATLAB's mapminmax does to an
  n×d matrix)
- ``sample-minmax01``: each row to [0, 1]; a constant row stays as it is
- ``sample-standard``: each row to mean 0, standard deviation 1 (d in the divisor); a constant row becomes 0
- ``sample-mapstd``: the same with d − 1 in the divisor (what MATLAB's mapstd does to an n×d matrix)
- ``sample-l2``: each row to Euclidean norm 1; a row of zeros stays as it is
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from rffbench.errors import ConfigError, unknown

CLIPPED = 0.001  # the share of a column's values that ``clip`` moves, at either end
QUANTILE_VALUES = 1 << 25  # values held at once to find quantiles: 256 MB

Blocks = Callable[[], Iterable[np.ndarray]]
"""Starts a pass over the rows a step is fitted on: float64 blocks (b, d) that the callee may overwrite."""


class Step(Protocol):
    def fit(self, blocks: Blocks) -> None: ...

    def apply(self, X: np.ndarray) -> None:
        """Scale a block in place."""


class _Columns:
    """x ↦ (x − shift) / scale, column by column."""

    shift: np.ndarray
    scale: np.ndarray

    def apply(self, X: np.ndarray) -> None:
        X -= self.shift
        X /= self.scale


class MinMax(_Columns):
    def fit(self, blocks: Blocks) -> None:
        low, high = _extremes(blocks())
        self.shift = low
        self.scale = _or_infinite(high - low, constant=high == low)


class Standard(_Columns):
    def fit(self, blocks: Blocks) -> None:
        count, mean, squares = 0, np.zeros(()), np.zeros(())
        low, high = np.array(np.inf), np.array(-np.inf)
        for X in blocks():
            # Blocks combined as by Chan, Golub & LeVeque (1983): no cancellation.
            block_mean = X.mean(axis=0)
            delta = block_mean - mean
            total = count + len(X)
            squares = squares + ((X - block_mean) ** 2).sum(axis=0) + delta**2 * (count * len(X) / total)
            mean = mean + delta * (len(X) / total)
            count = total
            low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
        self.shift = mean
        self.scale = _or_infinite(np.sqrt(squares / count), constant=high == low)


class Clip:
    def fit(self, blocks: Blocks) -> None:
        n, d = 0, 0
        for X in blocks():
            n, d = n + len(X), X.shape[1]
        self.low, self.high = np.empty(d), np.empty(d)
        columns = max(1, QUANTILE_VALUES // n)
        for start in range(0, d, columns):  # a pass for so many columns as memory shall hold
            some = slice(start, min(start + columns, d))
            values = np.concatenate([X[:, some].copy() for X in blocks()])
            self.low[some], self.high[some] = np.quantile(values, [CLIPPED, 1 - CLIPPED], axis=0)

    def apply(self, X: np.ndarray) -> None:
        np.clip(X, self.low, self.high, out=X)


class _Samples:
    def fit(self, blocks: Blocks) -> None:
        """Nothing to learn."""


class SampleMinMax(_Samples):
    def __init__(self, lowest: float = -1.0) -> None:
        self.lowest = lowest

    def apply(self, X: np.ndarray) -> None:
        low, high = X.min(axis=1, keepdims=True), X.max(axis=1, keepdims=True)
        varies = (high > low).ravel()
        X[varies] = (1 - self.lowest) * (X[varies] - low[varies]) / (high - low)[varies] + self.lowest


class SampleStandard(_Samples):
    def __init__(self, lost: int = 0) -> None:
        self.lost = lost  # degrees of freedom that the divisor leaves out

    def apply(self, X: np.ndarray) -> None:
        constant = X.max(axis=1, keepdims=True) == X.min(axis=1, keepdims=True)
        X -= X.mean(axis=1, keepdims=True)
        X /= _or_infinite(X.std(axis=1, keepdims=True, ddof=min(self.lost, X.shape[1] - 1)), constant)


class SampleL2(_Samples):
    def apply(self, X: np.ndarray) -> None:
        norm = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
        X /= np.where(norm > 0, norm, 1)


STEPS: dict[str, Callable[[], Step] | None] = {
    "none": None,
    "minmax": MinMax,
    "standard": Standard,
    "clip": Clip,
    "sample-minmax": SampleMinMax,
    "sample-minmax01": partial(SampleMinMax, lowest=0.0),
    "sample-standard": SampleStandard,
    "sample-mapstd": partial(SampleStandard, lost=1),
    "sample-l2": SampleL2,
}


def check_steps(names: Sequence[str]) -> None:
    """ConfigError where one of ``names`` is not a step, naming the nearest that is."""
    for name in names:
        if name not in STEPS:
            raise ConfigError(unknown("preprocess step", name, STEPS))


class Preprocessor:
    """Steps one after another, each fitted on what the steps before it make of the rows."""

    def __init__(self, names: Sequence[str]) -> None:
        check_steps(names)
        self.steps = [make() for name in names if (make := STEPS[name]) is not None]

    def fit(self, blocks: Blocks) -> Preprocessor:
        """Fit on the rows that ``blocks()`` passes over; one pass per column step, none for sample steps."""
        for done, step in enumerate(self.steps):
            step.fit(lambda done=done: self._scaled(blocks, self.steps[:done]))  # type: ignore[misc]
        return self

    def apply(self, X: np.ndarray) -> None:
        """Scale a float64 block (b, d) in place."""
        for step in self.steps:
            step.apply(X)

    @staticmethod
    def _scaled(blocks: Blocks, steps: Sequence[Step]) -> Iterator[np.ndarray]:
        for X in blocks():
            for step in steps:
                step.apply(X)
            yield X


def _extremes(blocks: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.array(np.inf), np.array(-np.inf)
    for X in blocks:
        low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
    return low, high


def _or_infinite(scale: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """The divisor of a constant column is infinite, so that it becomes exactly 0, on unseen rows too."""
    return np.where(constant | (scale == 0), np.inf, scale)
