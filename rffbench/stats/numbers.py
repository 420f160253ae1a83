"""Any number over datasets, with its interval by a bootstrap over groups of datasets and over trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from rffbench.arguments.seeds import generator, stream
from rffbench.io.text import NOT_RUN
from rffbench.stats.datasets import DRAWS as BOOTSTRAPS
from rffbench.stats.datasets import GROUPS, Groups, groups_of
from rffbench.stats.intervals import LEVEL
from rffbench.stats.summary import signed


@dataclass(frozen=True)
class Number:
    """A number with its interval, and the ``values`` that it comes from, the first of each dataset."""

    name: str
    value: float
    low: float
    high: float
    datasets: int
    values: tuple[float, ...] = ()

    @property
    def cells(self) -> tuple[str, str]:
        """The value and its interval as cells have them."""
        value = NOT_RUN if np.isnan(self.value) else signed(self.value, 2)
        return value, NOT_RUN if np.isnan(self.low) else f"{signed(self.low, 2)} to {signed(self.high, 2)}"

    @property
    def is_apart(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    @property
    def said(self) -> str:
        """The value and its interval as sentences have them."""
        value, ends = self.cells
        return f"{value} ({ends})"


@dataclass(frozen=True)
class OfTrials:
    """A dataset's value, or several in a row, as a function ``of`` the trials that it comes from. They are given by
    their numbers, from 0 to ``count`` − 1, in ascending order; the same one may be there twice."""

    count: int
    of: Callable[[NDArray[np.int64]], ArrayLike]
    _found: dict[bytes, ArrayLike] = field(default_factory=dict, init=False, repr=False, compare=False)

    def at(self, trials: NDArray[np.int64]) -> Any:
        """The value that these trials give. It is kept: of few trials there are few draws, and several numbers come
        from one value."""
        drawn = trials.tobytes()
        if drawn not in self._found:
            self._found[drawn] = self.of(trials)
        return self._found[drawn]

    def then(self, what: Callable[[Any], ArrayLike]) -> OfTrials:
        """What another function makes of the value."""
        return OfTrials(self.count, lambda trials: what(self.at(trials)))

    @property
    def of_all(self) -> Any:
        """The value that all trials give, each once."""
        return self.at(np.arange(self.count))

    def drawn(self, draws: int, rng: np.random.Generator) -> list[NDArray[np.float64]]:
        """The values that as many trials give, drawn with replacement, that often."""
        chosen = np.sort(rng.integers(self.count, size=(draws, self.count)), axis=1)
        distinct, which = np.unique(chosen, axis=0, return_inverse=True)
        found = [_row(self.at(trials)) for trials in distinct]
        return [found[at] for at in which.ravel()]


def beside(first: OfTrials, second: OfTrials) -> OfTrials:
    """Two values of the same trials, in a row."""
    return OfTrials(second.count, lambda trials: [*np.atleast_1d(first.at(trials)), *np.atleast_1d(second.at(trials))])


def by_trial(trials: pd.DataFrame, of: str) -> pd.DataFrame:
    """One column of one dataset's trials: trials × maps, NaN where a map has none."""
    return trials.pivot_table(index="trial", columns="method", values=of, dropna=False)


def means_of(table: ArrayLike) -> OfTrials:
    """The means over trials (rows) of each column, NaN left out."""
    values = np.asarray(table, float)
    return OfTrials(len(values), lambda trials: mean_of(values[trials]))


def mean_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The means over rows, NaN left out; NaN of a column without a number."""
    with np.errstate(invalid="ignore"):
        return np.nansum(values, axis=0) / np.isfinite(values).sum(axis=0)


def over_datasets(
    values: Mapping[str, Any],
    of: Callable[[np.ndarray], float],
    name: str,
    seed: int = 0,
    groups: Groups = GROUPS,
) -> Number:
    """A number ``of`` values, one a dataset or several in a row, with its 95 % interval by a bootstrap over ``groups``
    of datasets and over trials. ``of`` takes them as an array (datasets, values in a row).

    A draw takes as many groups of datasets as there are, with replacement, and of every dataset in them as many trials
    as it has, the same ones where a dataset is there twice. Only values that are `OfTrials` have trials to draw.
    """
    known = {key: _row(each.of_all if isinstance(each, OfTrials) else each) for key, each in values.items()}
    known = {key: each for key, each in known.items() if not np.isnan(each).any()}
    if not known:
        return Number(name, np.nan, np.nan, np.nan, 0)
    parts, rng = groups_of(list(known), groups), generator(stream("answer", seed), name)
    chosen = rng.integers(len(parts), size=(BOOTSTRAPS // 10, len(parts)))
    drawn = {key: each.drawn(len(chosen), rng) if isinstance(each := values[key], OfTrials) else [fixed] * len(chosen)
             for key, fixed in known.items()}  # fmt: skip
    found = [of(np.array([drawn[key][at] for group in row for key in parts[group]])) for at, row in enumerate(chosen)]
    low, high = np.nanquantile(found, [LEVEL / 2, 1 - LEVEL / 2]) if not np.isnan(found).all() else (np.nan, np.nan)
    every = np.array(list(known.values()))
    return Number(name, of(every), float(low), float(high), len(known), tuple(every[:, 0].tolist()))


def _row(value: ArrayLike) -> NDArray[np.float64]:
    return np.atleast_1d(np.asarray(value, float))


def median(values: np.ndarray) -> float:
    """The median over datasets of the first value in a row."""
    return float(np.median(values[:, 0]))


def correlation(pairs: np.ndarray) -> float:
    """Spearman's, of the two columns; NaN where one of them is constant."""
    centred = rankdata(pairs[:, :2], axis=0) - (len(pairs) + 1) / 2
    scale = np.sqrt(np.square(centred).sum(axis=0).prod())
    return float(centred[:, 0] @ centred[:, 1] / scale) if scale else np.nan
