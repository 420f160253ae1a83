"""Maps at equal columns, and at equal cost: of seconds, by one of three clocks, or of memory.

At equal cost, a map's loss is read from its own curve of loss over cost, at what the baseline (RFF) costs with a given
number of columns: the losses of a trial at each size, joined by a monotone cubic in the logarithm of the cost. Straight
lines lie above such curves. They would count against every map but the baseline, which is read where it was measured.
Costs are ratios to the baseline's in the same trials, so that another machine's seconds would do. Outside the costs
that a map was measured at, its loss is unknown, and counted so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import pchip_interpolate
from scipy.optimize import brentq

from rffbench.stats.datasets import REGION
from rffbench.stats.gain import BASELINE, CELL, Reference, gains

Clock = Literal["map", "fit", "tuning"]
Cost = Literal["map", "fit", "tuning", "memory", "columns"]
CLOCKS: dict[Clock, tuple[str, ...]] = {
    "map": ("feature_s", "predict_s"),
    "fit": ("feature_s", "fit_s", "predict_s"),
    "tuning": ("bandwidth_s", "feature_s", "fit_s", "predict_s"),
}
"""The seconds that each clock counts: map and prediction; one fit too, of a config with one λ; all tuning too."""
SESSION = "session"
"""The column with the number of the session that measured a trial: ratios are to the baseline's trial in the same."""
MEMORY = "own_memory_bytes"
"""What a trial alone in its process comes to hold besides the rows: the map and the fit. Rows of `timing: exclusive`
have it."""


def at_columns(
    found: pd.DataFrame, known: dict[str, Reference], columns: int, baseline: str = BASELINE
) -> pd.DataFrame:
    """The `gains` of those of `losses` with that many columns: a row for every trial."""
    return gains(found[found["n_features"] == columns], known, baseline=baseline)


def cost(trials: pd.DataFrame, of: Cost) -> pd.Series:
    """What each trial costs: seconds by a clock, NaN where a part is missing and where other work used the processors;
    or bytes of memory, NaN where the row has none; or the number of columns."""
    if of == "columns":
        return trials["n_features"].astype(float)
    if of == "memory":
        return trials[MEMORY] if MEMORY in trials else pd.Series(np.nan, trials.index)
    seconds = trials.reindex(columns=list(CLOCKS[of])).sum(axis=1, skipna=False)
    if of == "fit" and "train_s" in trials:  # of a learner whose training is timed as a whole
        seconds = seconds.fillna(trials["train_s"] + trials["predict_s"])
    return seconds.where(~trials["contended"])


def with_cost(trials: pd.DataFrame, of: Cost) -> pd.DataFrame:
    """The trials' cells, and sessions where these are known, with their ``cost``: what `at_cost` takes."""
    return trials[[*CELL, *trials.columns.intersection([SESSION])]].assign(cost=cost(trials, of))


@dataclass(frozen=True)
class AtCost:
    """Every map at the baseline's cost: ``trials`` has a row for every dataset, method and trial with its ``gain``, NaN
    where it was measured at no such cost, and then `outside`, "dearer" or "cheaper"; ``columns``, by dataset (rows) and
    map (columns), the size nearest to that cost."""

    trials: pd.DataFrame
    columns: pd.DataFrame

    @property
    def gains(self) -> pd.DataFrame:
        """The mean gains over trials by dataset (rows) and map (columns)."""
        return self.trials.pivot_table(index="dataset", columns="method", values="gain", dropna=False, sort=False)

    @property
    def out_of_range(self) -> pd.Series:
        """Of each map, on how many datasets it was measured at no such cost."""
        return self.gains.isna().sum()


def outside(rows: pd.DataFrame, method: str) -> str:
    """The datasets on which a map has no gain, counted in words: "2 dearer, 1 cheaper". Dearer: every size of the map
    costs more than the baseline; cheaper: every size costs less. The text is empty if all datasets have a gain, and for
    rows at equal columns, which have no column ``outside``."""
    if "outside" not in rows:
        return ""
    counts = rows[(rows["method"] == method) & (rows["outside"] != "")].groupby("outside")["dataset"].nunique()
    return ", ".join(f"{counts[word]} {word}" for word in ("dearer", "cheaper") if word in counts)


def at_cost(
    found: pd.DataFrame, costs: pd.DataFrame, known: dict[str, Reference], columns: int, baseline: str = BASELINE
) -> AtCost:
    """The maps' gains at what the ``baseline`` costs with that many ``columns``.

    ``found`` are rows of `rffbench.stats.losses`; ``costs`` has dataset, n_features, method, trial and
    cost, of these or of other trials of the same grid (`with_cost`): what counts is the median over trials of the ratio
    to the baseline's cost at ``columns`` in the same trial. A failed trial has the constant's loss, also where what it
    would have cost is not known.
    """
    curves = cost_curves(found, costs, known, columns, baseline)
    trials = _with_failures(_read(curves), found, curves, known)
    own = curves[(curves["method"] == baseline) & (curves["n_features"] == columns)]
    target = own.set_index(["dataset", "trial"])["loss"].reindex(pd.MultiIndex.from_frame(trials[["dataset", "trial"]]))
    unit = trials["dataset"].map({name: each.unit for name, each in known.items()}).astype(float)
    trials["gain"] = (target.to_numpy() - trials["loss"].to_numpy()) / unit
    trials = trials[target.notna().to_numpy()].reset_index(drop=True)
    first = trials.drop_duplicates(["dataset", "method"])
    of_map = first.pivot_table(index="dataset", columns="method", values="columns", dropna=False, sort=False)
    return AtCost(trials.drop(columns=["columns", "loss"]), of_map)


def _read(curves: pd.DataFrame) -> pd.DataFrame:
    """The curves at the baseline's cost: dataset, method, trial, ``loss`` (NaN if the map was not measured at
    that cost), and then `outside`, and the ``columns`` of the nearest size."""
    groups = curves.groupby(["dataset", "method", "trial"], sort=False)
    number = groups.ngroup().to_numpy()
    order = np.lexsort((curves["ratio"], number))
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    trials = curves.iloc[order[starts]][["dataset", "method", "trial"]].reset_index(drop=True)

    def split(values: NDArray) -> list[NDArray]:
        return [values[order[start:stop]] for start, stop in pairwise([*starts, len(order)])]

    places = split(np.log(curves["ratio"].to_numpy()))
    losses, sizes = split(curves["loss"].to_numpy()), split(curves["n_features"].to_numpy())
    read = np.empty(len(trials))
    for same in _alike(trials, places):  # a map's trials cost alike
        read[same] = between(places[same[0]], np.stack([losses[at] for at in same], axis=-1), 0.0)
    trials["loss"] = read
    is_dearer = np.array([each[0] > 0 for each in places], dtype=bool)
    trials["outside"] = np.where(~np.isnan(read), "", np.where(is_dearer, "dearer", "cheaper"))
    nearest = np.array([each[np.abs(at).argmin()] for each, at in zip(sizes, places, strict=True)], dtype=float)
    trials["columns"] = np.where(np.isnan(read), np.nan, nearest)
    return trials


def _with_failures(
    trials: pd.DataFrame, found: pd.DataFrame, curves: pd.DataFrame, known: dict[str, Reference]
) -> pd.DataFrame:
    """The ``trials`` of `_read`, with the constant's loss where a failure is why a map has none at this cost: where
    every size failed, or one that failed is smaller than all of a curve that is dearer, or larger than all of one that
    is cheaper. What a failed trial would have cost is known only where another trial was timed."""
    place = ["dataset", "method", "trial"]
    constants = {name: each.constant for name, each in known.items() if each.is_usable}
    lost = found[found["failed"] & found["dataset"].isin(constants)]
    if lost.empty:
        return trials
    sizes = lost.groupby(place, sort=False)["n_features"].agg(smallest="min", largest="max")
    measured = curves.groupby(place, sort=False)["n_features"].agg(first="min", last="max")
    every = sizes.join(measured).join(trials.set_index(place)["outside"])
    is_why = every["outside"].isna()
    is_why |= (every["outside"] == "dearer") & (every["smallest"] < every["first"])
    is_why |= (every["outside"] == "cheaper") & (every["largest"] > every["last"])
    as_constant = every.index[is_why].to_frame(index=False)
    as_constant = as_constant.assign(loss=as_constant["dataset"].map(constants), outside="", columns=np.nan)
    return pd.concat([trials, as_constant]).drop_duplicates(place, keep="last").reset_index(drop=True)


def _alike(trials: pd.DataFrame, places: Sequence[NDArray]) -> list[list[int]]:
    """The rows of ``trials`` in groups of one dataset, map and ``places``."""
    found: dict[tuple[str, str, bytes], list[int]] = {}
    for at, (dataset, method, mine) in enumerate(zip(trials["dataset"], trials["method"], places, strict=True)):
        found.setdefault((dataset, method, mine.tobytes()), []).append(at)
    return list(found.values())


def between(places: NDArray, values: NDArray, at: ArrayLike) -> Any:
    """The curves through ``values`` (places, …) at increasing ``places``, read ``at`` a number or numbers in between: a
    cubic that is monotone where they are (PCHIP; Fritsch and Butland 1984). NaN outside; values of one place count as
    their mean."""
    places, values = _in_order(places, values)
    at = np.asarray(at, dtype=float)
    if len(places) == 1:
        read = np.broadcast_to(values[0], at.shape + values.shape[1:])
    else:
        read = pchip_interpolate(places, values, at)
    is_inside = (places[0] <= at) & (at <= places[-1])
    return np.where(is_inside.reshape(at.shape + (1,) * (values.ndim - 1)), read, np.nan)


def _in_order(places: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
    """The places in ascending order, each once, with the mean of its values."""
    places, same, often = np.unique(places, return_inverse=True, return_counts=True)
    sums = np.zeros((len(places), *values.shape[1:]))
    np.add.at(sums, same, values)
    return places, sums / often.reshape(-1, *[1] * (values.ndim - 1))


def cost_to_reach(
    found: pd.DataFrame, costs: pd.DataFrame, known: dict[str, Reference], columns: int, baseline: str = BASELINE
) -> pd.DataFrame:
    """By dataset (rows) and map (columns), the least cost at which a map's mean loss over trials exceeds that of the
    ``baseline`` with that many ``columns`` by no more than `REGION`: as a ratio to the baseline's cost there, infinite
    where the map comes there at no size. ``found`` and ``costs`` are as in `at_cost`."""
    curves = cost_curves(found, costs, known, columns, baseline)
    means = curves.groupby(["dataset", "method", "n_features"])[["loss", "ratio"]].mean()
    targets = means["loss"].unstack("dataset").reindex([(baseline, columns)]).iloc[0].dropna()
    reached: dict[str, dict[str, float]] = {}
    for place, curve in means.groupby(["dataset", "method"], sort=False):
        dataset, method = str(place[0]), str(place[1])
        if dataset in targets:
            most = targets[dataset] + REGION * known[dataset].unit
            cost_ = first_below(np.log(curve["ratio"].to_numpy()), curve["loss"].to_numpy(), most)
            reached.setdefault(method, {})[dataset] = np.exp(cost_)
    return pd.DataFrame(reached)


def first_below(places: NDArray, values: NDArray, most: float) -> float:
    """The first place at which the curve of `between` is at most that value; infinite where it never is."""
    places, values = _in_order(places, values)
    below = np.flatnonzero(values <= most)
    if not len(below):
        return np.inf
    first = below[0]
    if first == 0:
        return float(places[0])
    return float(brentq(lambda at: between(places, values, at) - most, places[first - 1], places[first]))


def cost_curves(
    found: pd.DataFrame, costs: pd.DataFrame, known: dict[str, Reference], columns: int, baseline: str = BASELINE
) -> pd.DataFrame:
    """Every trial's curve of loss over cost, on the datasets with a usable reference: dataset, method, n_features,
    trial, ``loss`` (of a failure the constant's) and ``ratio``, the median over trials of the cost over the baseline's
    with ``columns``. Between two sizes whose cost was measured it is read from the monotone cubic of the logarithms of
    cost and size."""
    usable = {name: each for name, each in known.items() if each.is_usable}
    measured = cost_ratios(costs, columns, baseline)
    rows = found[found["dataset"].isin(usable)].copy()
    constant = rows["dataset"].map({name: each.constant for name, each in usable.items()}).astype(float)
    rows["loss"] = rows["loss"].where(~rows["failed"], constant)
    cell = list(measured.index.names)
    ratio = _at_sizes(measured[measured > 0], rows[cell].drop_duplicates())
    rows["ratio"] = ratio.reindex(pd.MultiIndex.from_frame(rows[cell])).to_numpy()
    return rows[rows["ratio"].notna() & rows["loss"].notna()]


def cost_ratios(costs: pd.DataFrame, columns: int, baseline: str = BASELINE) -> pd.Series:
    """By dataset, method and n_features, the median over trials of the cost over the baseline's with that many
    ``columns`` in the same trial, of the same session."""
    of_baseline = costs[(costs["method"] == baseline) & (costs["n_features"] == columns)]
    same = ["dataset", "trial", *costs.columns.intersection([SESSION])]
    base = of_baseline.set_index(same)["cost"]
    place = pd.MultiIndex.from_frame(costs[same])
    ratios = costs.assign(ratio=costs["cost"].to_numpy() / base.reindex(place).to_numpy())
    return ratios.groupby(["dataset", "method", "n_features"])["ratio"].median().dropna()


def _at_sizes(measured: pd.Series, wanted: pd.DataFrame) -> pd.Series:
    """The measured ratios, by dataset, method and size, and those of ``wanted`` sizes in between."""
    found: dict[Any, float] = measured.to_dict()
    places = wanted[measured.index.names].itertuples(index=False, name=None)
    missing = wanted[np.array([place not in found for place in places], dtype=bool)]
    curves = dict(iter(measured.groupby(level=["dataset", "method"])))
    for place, of_map in missing.groupby(["dataset", "method"], sort=False):
        if (mine := curves.get(place)) is None:
            continue
        sizes = of_map["n_features"].to_numpy(float)
        read = between(np.log(mine.index.get_level_values("n_features").to_numpy(float)), np.log(mine.to_numpy()),
                       np.log(sizes))  # fmt: skip
        found.update({(*place, size): ratio for size, ratio in zip(of_map["n_features"], np.exp(read), strict=True)})
    return pd.Series(found, index=pd.MultiIndex.from_tuples(found, names=measured.index.names), dtype=float)
