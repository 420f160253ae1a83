"""What an answer to one of the board's questions consists of: maps' gains, and numbers over datasets with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata

from rffbench.report.board.statistics import DRAWS as BOOTSTRAPS
from rffbench.report.board.statistics import REGION, groups_of
from rffbench.report.board.summary import Summary, signed
from rffbench.report.significance import LEVEL
from rffbench.report.strips import Strip, Strips
from rffbench.report.text_table import NOT_RUN
from rffbench.seeds import generator, stream


@dataclass(frozen=True)
class Number:
    """A number of an answer, with its interval, and the ``values`` that it comes from, the first of each dataset."""

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
class Answer:
    """What a question comes to in words (``said``), the fate of the ``hypothesis``, what the ``moderator`` does.
    Then the maps' gains by the title of their table, other numbers, and ``notes`` on these; ``waits`` says what is
    missing for it to count as an answer."""

    number: int
    asked: str
    said: str = ""
    hypothesis: str = ""
    moderator: str = ""
    maps: list[tuple[str, list[Summary]]] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    waits: str = ""
    changes: str = ""
    strips: tuple[Strips, ...] = ()

    def panels(self) -> list[Strips]:
        """The panels of its figure: the gains of its maps, then what else has a value on each dataset."""
        return [*(gains_in_percent(title, found) for title, found in self.maps if found), *self.strips]


def gains_in_percent(title: str, found: Sequence[Summary]) -> Strips:
    """The gains of maps, in %."""
    strips = tuple(
        Strip(each.method, tuple(100 * mean for mean in each.means), 100 * each.median, 100 * each.low, 100 * each.high)
        for each in found
    )
    return Strips(title, strips, "gain, %", (-100 * REGION, 100 * REGION))


def over_datasets(values: Mapping[str, Any], of: Callable[[np.ndarray], float], name: str, seed: int = 0) -> Number:
    """A number ``of`` values, one a dataset or several in a row, with its interval by a bootstrap over groups of
    datasets."""
    known = {key: np.atleast_1d(np.asarray(each, float)) for key, each in values.items()}
    known = {key: each for key, each in known.items() if not np.isnan(each).any()}
    if not known:
        return Number(name, np.nan, np.nan, np.nan, 0)
    groups, rng = groups_of(list(known)), generator(stream("answer", seed), name)
    drawn = []
    for _ in range(BOOTSTRAPS // 10):
        chosen = [key for at in rng.integers(len(groups), size=len(groups)) for key in groups[at]]
        drawn.append(of(np.array([known[key] for key in chosen])))
    low, high = np.nanquantile(drawn, [LEVEL / 2, 1 - LEVEL / 2]) if not np.isnan(drawn).all() else (np.nan, np.nan)
    every = np.array(list(known.values()))
    return Number(name, of(every), float(low), float(high), len(known), tuple(every[:, 0].tolist()))


def median(values: np.ndarray) -> float:
    return float(np.median(values[:, 0]))


def strips(title: str, numbers: Sequence[Number], axis: str, band: tuple[float, float]) -> Strips:
    """A panel of numbers that are medians over datasets; those without a dataset are left out."""
    known = [each for each in numbers if each.datasets]
    return Strips(title, tuple(Strip(each.name, each.values, each.value, each.low, each.high) for each in known),
                  axis, band)  # fmt: skip


def correlation(pairs: np.ndarray) -> float:
    """Spearman's, of the two columns; NaN where one of them is constant."""
    centred = rankdata(pairs[:, :2], axis=0) - (len(pairs) + 1) / 2
    scale = np.sqrt(np.square(centred).sum(axis=0).prod())
    return float(centred[:, 0] @ centred[:, 1] / scale) if scale else np.nan
