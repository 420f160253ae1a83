"""Which map for which data: what the board's first lines say.

Datasets are in four classes, by rows and by inputs. In each class we choose the map with the largest median gain. The
gains that choose a map are too large on average, so another gain decides whether the choice pays. Each dataset has the
map that the *other* datasets of the class choose, without those of the same origin, and its gain is that map's. If the
interval of this gain does not lie above 0, the class has RFF. Else it has the chosen map, or one that is as good. The
page shows that map's own gain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rffbench.stats import BASELINE, FEWEST, REGION, bootstrap, gains_of, groups_of

MEASURED = 2 / 3  # of a class's datasets, that a map must be measured on to be named
MANY_ROWS, MANY_INPUTS = 10_000, 20


@dataclass(frozen=True)
class DataClass:
    """Datasets of a like shape; ``rows`` and ``inputs`` say which, in words."""

    rows: str
    inputs: str
    datasets: tuple[str, ...]


@dataclass(frozen=True)
class Gain:
    """A median gain over datasets, with its interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Advice:
    """What to take on a class of data: a ``method``, RFF where no map is told from it, its ``columns``, σ over the
    median distance, its ``own`` gain there, None of RFF, and the datasets that it is worse on, with its gain on each.
    ``best`` is the map of the largest median gain, ``choice`` the gain of choosing so."""

    data: DataClass
    method: str
    best: str
    columns: float
    times_median: float
    own: Gain | None
    worse_on: Mapping[str, float]
    choice: Gain


def classes(shapes: Mapping[str, tuple[int, int]]) -> list[DataClass]:
    """The datasets, of these training rows and inputs, in four classes."""
    found = []
    for many_rows in (False, True):
        for many_inputs in (False, True):
            names = tuple(
                name for name, (n, d) in shapes.items()
                if (n >= MANY_ROWS) == many_rows and (d > MANY_INPUTS) == many_inputs
            )  # fmt: skip
            rows = f"n {'≥' if many_rows else '<'} {MANY_ROWS:,}"
            found.append(DataClass(rows, f"d {'>' if many_inputs else '≤'} {MANY_INPUTS}", names))
    return found


def advise(
    rows: pd.DataFrame, data: DataClass, columns: pd.DataFrame | float, chosen: pd.DataFrame,
    instead: Mapping[str, str] | None = None,
) -> Advice | None:  # fmt: skip
    """The advice for a class of data from ``rows`` with dataset, method, trial and gain; None where too few of its
    datasets are measured. ``columns`` are those that each map has at this budget, by dataset and map, or a number;
    ``chosen`` the median σ over the median distance, by dataset and map; ``instead`` names a map in place of others
    that are as good."""
    here = rows[rows["dataset"].isin(data.datasets) & (rows["method"] != BASELINE)]
    means = here.pivot_table(index="dataset", columns="method", values="gain", sort=False)
    means = means.loc[:, means.notna().mean() >= MEASURED]
    if len(means) < FEWEST or means.empty:
        return None
    best = str(means.median().idxmax())
    choice = Gain(*bootstrap(_by_others(here, means)))
    named = (instead or {}).get(best, best)
    named = named if named in means else best
    is_told = choice.low > 0
    method = named if is_told else BASELINE
    worse = means[named].dropna().sort_values()
    worse = worse[worse < -REGION] if is_told else worse[:0]
    return Advice(
        data, method, best, _typical(columns, means.index, method) if isinstance(columns, pd.DataFrame) else columns,
        _typical(chosen, means.index, method), Gain(*bootstrap(gains_of(here, named))) if is_told else None,
        {str(name): float(gain) for name, gain in worse.items()}, choice,
    )  # fmt: skip


def _by_others(rows: pd.DataFrame, means: pd.DataFrame) -> dict[str, np.ndarray]:
    """On each dataset the gains of the map that the datasets of other origins would have named."""
    found = {}
    for group in groups_of([str(name) for name in means.index]):
        others = means.drop(index=group)
        if others.empty:
            continue
        named = others.median().idxmax()
        for dataset in group:
            mine = rows[(rows["dataset"] == dataset) & (rows["method"] == named)]
            found[dataset] = mine["gain"].to_numpy(float)
    return found


def _typical(values: pd.DataFrame, datasets: pd.Index, method: str) -> float:
    """The median over datasets; NaN without any."""
    if method not in values:
        return np.nan
    known = values[method].reindex(datasets).dropna()
    return float(known.median()) if len(known) else np.nan
