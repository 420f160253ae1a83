"""Scaling of inputs, fitted in passes over row blocks and applied block by block.

Column steps are fitted on rows; sample steps (``sample-…``) scale each row by itself:

- ``none``
- ``impute-median``: a missing value becomes the median of its column over the fitted rows; for each column with missing
  values, a column is added at the end, with 1 where the value was missing, else 0
- ``impute-most-frequent``: the same with the most frequent value (the smallest of several); also for words
- ``onehot``: a column of words is replaced by one column per word, at the end, with 1 where it occurs, else 0
- ``minmax``: each column to [0, 1] over the fitted rows; a constant column becomes 0
- ``minmax-symmetric``: each column to [−1, 1] over the fitted rows, as LIBSVM's svm-scale; a constant column becomes 0
- ``from-zero``: each column less its smallest value over the fitted rows
- ``max-abs``: each column over its largest absolute value over the fitted rows; a column of zeros stays
- ``largest``: all numbers over the largest one in any column of the fitted rows
- ``standard-all``: all numbers of all columns to mean 0, standard deviation 1, by one mean and one deviation of the
  fitted rows (as images often are); a constant becomes 0
- ``standard``: each column to mean 0, standard deviation 1 (n in the divisor); a constant column becomes 0
- ``clip``: each column is clipped to its 0.1 % and 99.9 % quantiles
- ``quantile``: each value becomes its place in its column, from 0 of the smallest to 1 of the largest: piecewise linear
  between the 0 %, 0.1 %, …, 100 % quantiles of the fitted rows, or the middle of several equal ones; a constant column
  becomes 0
- ``sample-minmax``: each row to [−1, 1]; a constant row stays (as MATLAB's mapminmax with an n×d matrix)
- ``sample-minmax01``: each row to [0, 1]; a constant row stays
- ``sample-standard``: each row to mean 0, standard deviation 1 (d in the divisor); a constant row becomes 0
- ``sample-mapstd``: the same with d − 1 in the divisor (as MATLAB's mapstd with an n×d matrix)
- ``sample-l2``: each row to Euclidean norm 1; a row of zeros stays
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Protocol

import numpy as np

from rffbench.data.cards import IMPUTING, ONE_HOT, Card
from rffbench.errors import ConfigError, unknown
from rffbench.linalg.centring import origin_of

FAR = 100.0  # standard deviations from 0: a column's squares lose four digits. Nearer columns are as they always were
PLACES = 1001  # quantiles between which ``quantile`` is linear
CLIPPED = 0.001  # the share of a column's values that ``clip`` changes, at either end
QUANTILE_VALUES = 1 << 25  # values in memory at once to find quantiles: 256 MB

Blocks = Callable[[], Iterable[np.ndarray]]
"""Starts a pass over the rows that a step is fitted on: float64 blocks (b, d), which the callee may overwrite."""


class Step(Protocol):
    def fit(self, blocks: Blocks) -> None: ...

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The block X, scaled in place, or a new block with other columns."""


class Impute:
    """Fills missing values of ``columns``, and adds a column for each that marks where they were."""

    def __init__(self, strategy: str, columns: Sequence[int]) -> None:
        self.strategy, self.columns = strategy, list(columns)

    def fit(self, blocks: Blocks) -> None:
        from sklearn.impute import SimpleImputer  # late: it takes a third of a second

        self.fill = np.empty(len(self.columns))
        n = sum(map(len, blocks())) if self.columns else 1
        group = max(1, QUANTILE_VALUES // n)
        for start in range(0, len(self.columns), group):
            some = slice(start, start + group)
            values = np.concatenate([X[:, self.columns[some]] for X in blocks()])
            imputer = SimpleImputer(strategy=self.strategy, keep_empty_features=True)
            self.fill[some] = imputer.fit(values).statistics_

    def apply(self, X: np.ndarray) -> np.ndarray:
        if not self.columns:
            return X
        missing = np.isnan(X[:, self.columns])
        X[:, self.columns] = np.where(missing, self.fill, X[:, self.columns])
        return np.hstack([X, missing])


class OneHot:
    """Replaces columns of words (their indices) by one column per word. ``categories``: column → number of words."""

    def __init__(self, categories: Mapping[int, int]) -> None:
        self.columns, self.sizes = list(categories), list(categories.values())

    def fit(self, blocks: Blocks) -> None:
        from sklearn.preprocessing import OneHotEncoder

        places = [np.arange(size, dtype=np.float64) for size in self.sizes]
        first = np.zeros((1, len(self.columns)))
        self.encoder = OneHotEncoder(categories=places, sparse_output=False).fit(first) if self.columns else None

    def apply(self, X: np.ndarray) -> np.ndarray:
        if self.encoder is None:
            return X
        return np.hstack([np.delete(X, self.columns, axis=1), self.encoder.transform(X[:, self.columns])])


class _Columns:
    """x ↦ (x − shift) / scale, column by column."""

    shift: np.ndarray
    scale: np.ndarray

    def apply(self, X: np.ndarray) -> np.ndarray:
        X -= self.shift
        X /= self.scale
        return X


class _FromOrigin(_Columns):
    """The same of x − origin, with ``origin`` near the values of a column that is far from 0 (a time in seconds since
    1970): the difference has their digits, which x − shift loses. It is 0 for other columns."""

    origin: np.ndarray

    def apply(self, X: np.ndarray) -> np.ndarray:
        X -= self.origin
        return super().apply(X)


class MinMax(_Columns):
    def fit(self, blocks: Blocks) -> None:
        low, high = _extremes(blocks())
        self.shift = low
        self.scale = _or_infinite(high - low, constant=high == low)


class MinMaxSymmetric(_FromOrigin):
    def fit(self, blocks: Blocks) -> None:
        low, high = _extremes(blocks())
        half = high / 2 - low / 2
        self.origin = np.where(np.abs(low) > FAR * half, low, 0.0)
        self.shift = (low - self.origin) / 2 + (high - self.origin) / 2
        self.scale = _or_infinite(half, constant=high == low)


class FromZero(_Columns):
    def fit(self, blocks: Blocks) -> None:
        self.shift, high = _extremes(blocks())
        self.scale = np.ones_like(high)


class MaxAbs(_Columns):
    def fit(self, blocks: Blocks) -> None:
        low, high = _extremes(blocks())
        self.shift, self.scale = np.zeros_like(high), np.maximum(-low, high)
        self.scale[self.scale == 0] = 1


class Largest(_Columns):
    def fit(self, blocks: Blocks) -> None:
        _, high = _extremes(blocks())
        self.shift, self.scale = np.zeros_like(high), np.full_like(high, high.max() if high.max() > 0 else np.inf)


class Standard(_FromOrigin):
    def fit(self, blocks: Blocks) -> None:
        count, mean, squares = 0, np.zeros(()), np.zeros(())
        low, high = np.array(np.inf), np.array(-np.inf)
        for X in blocks():
            if not count:
                self.origin = origin_of(X, FAR)
            low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
            X -= self.origin
            # Chan, Golub & LeVeque (1983) combine blocks without cancellation.
            block_mean = X.mean(axis=0)
            delta = block_mean - mean
            total = count + len(X)
            squares = squares + ((X - block_mean) ** 2).sum(axis=0) + delta**2 * (count * len(X) / total)
            mean = mean + delta * (len(X) / total)
            count = total
        self.shift = mean
        self.scale = _or_infinite(np.sqrt(squares / count), constant=high == low)


class StandardAll(Standard):
    def fit(self, blocks: Blocks) -> None:
        super().fit(lambda: (X.reshape(-1, 1) for X in blocks()))  # views or copies, which may be overwritten


def _quantiles(blocks: Blocks, shares: Sequence[float] | np.ndarray) -> np.ndarray:
    """The quantiles of each column, (shares, d)."""
    n, d = 0, 0
    for X in blocks():
        n, d = n + len(X), X.shape[1]
    found, columns = np.empty((len(shares), d)), max(1, QUANTILE_VALUES // n)
    for start in range(0, d, columns):  # each pass handles as many columns as memory allows
        some = slice(start, min(start + columns, d))
        values = np.concatenate([X[:, some].copy() for X in blocks()])
        found[:, some] = np.quantile(values, shares, axis=0)
    return found


class Clip:
    def fit(self, blocks: Blocks) -> None:
        self.low, self.high = _quantiles(blocks, [CLIPPED, 1 - CLIPPED])

    def apply(self, X: np.ndarray) -> np.ndarray:
        return np.clip(X, self.low, self.high, out=X)


class Quantile:
    """As scikit-learn's QuantileTransformer of 1,001 quantiles, but for constant columns."""

    def fit(self, blocks: Blocks) -> None:
        self.places = np.linspace(0, 1, PLACES)
        self.at = np.maximum.accumulate(_quantiles(blocks, self.places))  # rounding may put one before the last

    def apply(self, X: np.ndarray) -> np.ndarray:
        for j, at in enumerate(self.at.T):
            if at[0] == at[-1]:
                X[:, j] = 0
                continue
            x = X[:, j].copy()
            from_below, from_above = np.interp(x, at, self.places), np.interp(-x, -at[::-1], self.places)
            X[:, j] = (from_below + 1 - from_above) / 2
            X[x <= at[0], j], X[x >= at[-1], j] = 0, 1
        return X


class _Samples:
    def fit(self, blocks: Blocks) -> None:
        """Sample steps are not fitted."""


class SampleMinMax(_Samples):
    def __init__(self, lowest: float = -1.0) -> None:
        self.lowest = lowest

    def apply(self, X: np.ndarray) -> np.ndarray:
        low, high = X.min(axis=1, keepdims=True), X.max(axis=1, keepdims=True)
        varies = (high > low).ravel()
        X[varies] = (1 - self.lowest) * (X[varies] - low[varies]) / (high - low)[varies] + self.lowest
        return X


class SampleStandard(_Samples):
    def __init__(self, lost: int = 0) -> None:
        self.lost = lost  # subtracted from d in the divisor

    def apply(self, X: np.ndarray) -> np.ndarray:
        constant = X.max(axis=1, keepdims=True) == X.min(axis=1, keepdims=True)
        first = X[:, :1]
        far = np.abs(first) > FAR * (X - first).std(axis=1, keepdims=True)
        X -= np.where(far, first, 0.0)  # so that digits stay
        X -= X.mean(axis=1, keepdims=True)
        X /= _or_infinite(X.std(axis=1, keepdims=True, ddof=min(self.lost, X.shape[1] - 1)), constant)
        return X


class SampleL2(_Samples):
    def apply(self, X: np.ndarray) -> np.ndarray:
        norm = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
        X /= np.where(norm > 0, norm, 1)
        return X


STEPS: dict[str, Callable[[], Step] | None] = {
    "none": None,
    **dict.fromkeys((*IMPUTING, ONE_HOT)),  # Preprocessor makes them for a card
    "minmax": MinMax,
    "minmax-symmetric": MinMaxSymmetric,
    "max-abs": MaxAbs,
    "from-zero": FromZero,
    "largest": Largest,
    "standard-all": StandardAll,
    "standard": Standard,
    "clip": Clip,
    "quantile": Quantile,
    "sample-minmax": SampleMinMax,
    "sample-minmax01": partial(SampleMinMax, lowest=0.0),
    "sample-standard": SampleStandard,
    "sample-mapstd": partial(SampleStandard, lost=1),
    "sample-l2": SampleL2,
}


def check_steps(names: Sequence[str]) -> None:
    """ConfigError, with the nearest valid name, if one of ``names`` is not a step."""
    for name in names:
        if name not in STEPS:
            raise ConfigError(unknown("preprocess step", name, STEPS))


def check_fits(card: Card, names: Sequence[str]) -> None:
    """ConfigError if the order of the steps cannot work, or a step is missing that the card's data needs."""
    asked = [name for name in names if name in (*IMPUTING, ONE_HOT)]
    if asked != list(names)[: len(asked)]:
        raise ConfigError(f"{asked[-1]} comes before the steps that scale: [{', '.join(_in_order(names))}]")
    if ONE_HOT in asked[:-1]:
        raise ConfigError(f"{ONE_HOT} comes after the steps that fill: [{', '.join(_in_order(names))}]")
    words = card.missing.keys() & card.categories.keys()
    needed = {
        IMPUTING[0]: bool(card.missing.keys() - words) and not set(IMPUTING) & set(asked),
        IMPUTING[1]: bool(words) and IMPUTING[1] not in asked,
        ONE_HOT: bool(card.categories) and ONE_HOT not in asked,
    }
    lacking = [name for name, is_needed in needed.items() if is_needed]
    if not lacking:
        return
    if card._advice and not set(IMPUTING) & set(asked):
        about = [each for each in card._advice if (ONE_HOT in each) in {name == ONE_HOT for name in lacking}]
        raise ConfigError("; ".join(about))
    kinds = {IMPUTING[0]: "missing values", IMPUTING[1]: "missing words", ONE_HOT: "columns of words"}
    steps = ", ".join([*lacking, "…"])
    raise ConfigError(f"{card.name}: has {' and '.join(kinds[each] for each in lacking)}: preprocess: [{steps}]")


def _in_order(names: Sequence[str]) -> list[str]:
    """The steps in an order that works."""
    order = [*IMPUTING, ONE_HOT]
    return [*sorted(set(names) & set(order), key=order.index), *(name for name in names if name not in order)]


class Preprocessor:
    """Steps one after another, for the data of ``card``; each is fitted on the output of the steps before it."""

    def __init__(self, names: Sequence[str], card: Card | None = None) -> None:
        check_steps(names)
        if card is not None:
            check_fits(card, names)
        self.names, self.card = list(names), card
        self.steps: list[Step] = []
        left = [] if card is None else sorted(card.missing)
        for name in names:
            if card is not None and name in IMPUTING:
                mine = [column for column in left if name == IMPUTING[1] or column not in card.categories]
                left = [column for column in left if column not in mine]
                self.steps.append(Impute(name.removeprefix("impute-").replace("-", "_"), mine))
            elif card is not None and name == ONE_HOT:
                self.steps.append(OneHot({column: len(card.categories[column]) for column in sorted(card.categories)}))
            elif (make := STEPS[name]) is not None:
                self.steps.append(make())

    def columns(self, given: int) -> int:
        """The number of columns of the output for ``given`` columns of the input."""
        return given if self.card is None else self.card.columns_after(self.names)

    def fit(self, blocks: Blocks) -> Preprocessor:
        """Fit on the rows of ``blocks()``, with one pass per column step."""
        for done, step in enumerate(self.steps):
            step.fit(lambda done=done: self._scaled(blocks, self.steps[:done]))  # type: ignore[misc]
        return self

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The scaled block; X, float64 (b, d), is scaled in place if its columns stay."""
        for step in self.steps:
            X = step.apply(X)
        return X

    def with_first(self, others: Preprocessor) -> Preprocessor:
        """These steps, of which the first are replaced by those of ``others``, as they were fitted."""
        found = copy(self)
        found.steps = [*others.steps, *self.steps[len(others.steps) :]]
        return found

    @staticmethod
    def _scaled(blocks: Blocks, steps: Sequence[Step]) -> Iterator[np.ndarray]:
        for X in blocks():
            for step in steps:
                X = step.apply(X)
            yield X


def _extremes(blocks: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value of each column."""
    low, high = np.array(np.inf), np.array(-np.inf)
    for X in blocks:
        low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
    return low, high


def _or_infinite(scale: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """The divisors, infinite for a constant column, so that it becomes exactly 0, also in unseen rows."""
    return np.where(constant | (scale == 0), np.inf, scale)
