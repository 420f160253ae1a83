"""Loss against cost: what the board's figures of it show."""

from __future__ import annotations

import pandas as pd

from rffbench.stats import BASELINE, bootstrap, cost_curves, performance_profile
from studies.board.registered import COLUMNS, CONFIRMATORY
from studies.board.standing import Board

DRAWN = (BASELINE, *CONFIRMATORY, "Nyström", "Nyström k-means")
"""The maps that the figures of cost tell apart: RFF, those named beforehand, and those that the page's first lines name
besides."""


def others(board: Board) -> str:
    """Which maps are grey in the figures of cost, in a sentence."""
    found = [name for name in board.maps if name not in DRAWN]
    if not found:
        return ""
    return f"Grey are the {len(found)} other maps: {', '.join(found)}. One figure has a panel for each map."


def points(board: Board) -> tuple[pd.DataFrame, str]:
    """Of every trial of a map on the datasets with a usable reference: dataset, method, n_features, trial, x and y; and
    what x is. y is the loss, 0 that of RFF at 4,096 columns and 1 a constant's. x is the ratio to RFF's seconds with
    512 columns ('seconds'), or, where seconds have not been measured, the columns."""
    found = board.losses_of_maps
    usable = {name: each for name, each in board.known.items() if each.is_usable}
    costs = board.costs("fit").dropna()
    if costs.empty:
        rows, axis = found[found["dataset"].isin(usable)].copy(), "columns"
        constant = rows["dataset"].map({name: each.constant for name, each in usable.items()}).astype(float)
        rows["loss"], rows["x"] = rows["loss"].where(~rows["failed"], constant), rows["n_features"].astype(float)
    else:
        rows, axis = cost_curves(found, costs, board.known, COLUMNS), "seconds"
        rows["x"] = rows["ratio"]
    reference = rows["dataset"].map({name: each.reference for name, each in usable.items()})
    unit = rows["dataset"].map({name: each.unit for name, each in usable.items()}).astype(float)
    rows["y"] = (rows["loss"] - reference) / unit
    rows = rows.sort_values("method", key=lambda names: names.map(board.maps.index), kind="stable")
    return rows[["dataset", "method", "n_features", "trial", "x", "y"]], axis


def medians(rows: pd.DataFrame) -> pd.DataFrame:
    """Over datasets, of every map and size that all datasets of the map's largest set have: method, x, y, low, high."""
    found = []
    for (method, size), mine in rows.groupby(["method", "n_features"], sort=False):
        values = {str(name): each["y"].to_numpy(float) for name, each in mine.groupby("dataset")}
        middle, low, high = bootstrap(values)
        x = float(mine.groupby("dataset")["x"].median().median())
        found.append({"method": method, "n_features": size, "datasets": len(values), "x": x, "y": middle, "low": low,
                      "high": high})  # fmt: skip
    every = pd.DataFrame(found)
    most = every.groupby("method")["datasets"].transform("max")
    return every[every["datasets"] == most]


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """On each dataset the means over trials: dataset, method, x and y."""
    return rows.groupby(["dataset", "method", "n_features"], sort=False)[["x", "y"]].mean().reset_index()


# ---- Performance profiles --------------------------------------------------------------------------------------------

TARGET = 1024
"""The columns with which RFF's loss is the one to come to: the most that all maps but TEFM
were timed with."""


def profiles(board: Board) -> pd.DataFrame | None:
    """The performance profiles of the seconds to come to RFF's loss with `TARGET` columns: RFF first, then the maps
    named beforehand; None where these seconds are not measured."""
    reached = board.cost_to_reach("fit", TARGET)
    if reached is None:
        return None
    first = [name for name in (BASELINE, *CONFIRMATORY) if name in reached]
    return performance_profile(reached[[*first, *reached.columns.difference(first)]])
