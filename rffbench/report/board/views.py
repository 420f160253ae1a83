"""Maps at equal columns, and at equal cost.

At equal cost, a map's loss is read from its own curve of loss over cost, at what RFF costs with so many columns: the
mean over trials at each size, joined by straight lines in the logarithm of the cost. Costs are ratios to RFF's in the
same trials, so that another machine's seconds would do. Outside the costs that a map was measured at, its loss is
unknown, and counted so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from rffbench.report.board.score import BASELINE, Reference, gains

Clock = Literal["map", "fit", "tuning"]
CLOCKS: dict[Clock, tuple[str, ...]] = {
    "map": ("feature_s", "predict_s"),
    "fit": ("feature_s", "fit_s", "predict_s"),
    "tuning": ("bandwidth_s", "feature_s", "fit_s", "predict_s"),
}
"""The seconds that each clock counts: map and prediction; one fit too, of a config with one λ; all tuning too."""


def at_columns(found: pd.DataFrame, known: dict[str, Reference], columns: int) -> pd.DataFrame:
    """The gains at so many columns: a row for every trial (`rffbench.report.board.score.gains`)."""
    return gains(found[found["n_features"] == columns], known)


def cost(trials: pd.DataFrame, clock: Clock) -> pd.Series:
    """The seconds of each trial by a clock; NaN where a part is missing, and where other work used the processors."""
    parts = trials.reindex(columns=list(CLOCKS[clock]))
    return parts.sum(axis=1, skipna=False).where(~trials["contended"])


@dataclass(frozen=True)
class AtCost:
    """Gains at RFF's cost, by dataset (rows) and map (columns), NaN where unknown; and of each map on how many
    datasets it was measured at no such cost."""

    gains: pd.DataFrame
    out_of_range: pd.Series


def at_cost(found: pd.DataFrame, costs: pd.DataFrame, known: dict[str, Reference], columns: int) -> AtCost:
    """The maps' gains at what RFF costs with so many ``columns``.

    ``found`` are rows of `rffbench.report.board.score.losses`; ``costs`` has dataset, n_features, method, trial and
    cost, of these or of other trials of the same grid: what counts is the median over trials of the ratio to RFF's
    cost at ``columns`` in the same trial.
    """
    usable = {name: each for name, each in known.items() if each.is_usable}
    of_baseline = costs[(costs["method"] == BASELINE) & (costs["n_features"] == columns)]
    base = of_baseline.set_index(["dataset", "trial"])["cost"]
    place = pd.MultiIndex.from_frame(costs[["dataset", "trial"]])
    ratios = costs.assign(ratio=costs["cost"].to_numpy() / base.reindex(place).to_numpy())
    ratio = ratios.groupby(["dataset", "method", "n_features"])["ratio"].median()
    constant = found["dataset"].map({name: each.constant for name, each in usable.items()})
    with_failures = found.assign(loss=found["loss"].where(~found["failed"], constant))
    loss = with_failures.groupby(["dataset", "method", "n_features"])["loss"].mean()
    both = pd.DataFrame({"ratio": ratio, "loss": loss}).dropna().reset_index()
    rows: dict[str, dict[str, float]] = {}
    outside: dict[str, int] = {}
    for dataset, of_dataset in both[both["dataset"].isin(usable)].groupby("dataset", sort=False):
        mine = of_dataset[(of_dataset["method"] == BASELINE) & (of_dataset["n_features"] == columns)]
        if mine.empty:
            continue
        row = rows.setdefault(str(dataset), {})
        for method, curve in of_dataset.groupby("method", sort=False):
            read = _read(curve["ratio"].to_numpy(), curve["loss"].to_numpy())
            outside[str(method)] = outside.get(str(method), 0) + int(np.isnan(read))
            row[str(method)] = (float(mine["loss"].iloc[0]) - read) / usable[str(dataset)].unit
    return AtCost(pd.DataFrame.from_dict(rows, orient="index"), pd.Series(outside, dtype=int))


def _read(ratios: np.ndarray, losses: np.ndarray) -> float:
    """The loss where the ratio is 1; NaN outside the ratios."""
    order = np.argsort(ratios)
    return float(np.interp(0.0, np.log(ratios[order]), losses[order], left=np.nan, right=np.nan))
