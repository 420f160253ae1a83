"""The board's figures: loss against cost, over all datasets and on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from rffbench.report.figures.style import headline, legend_below, log_axis, panels, style_of, tidy_panel

GREY: dict[str, Any] = {"color": "#B5B5B5", "linewidth": 0.7, "zorder": 1}
AXES = {
    "columns": "columns",
    "fit": "seconds of map, one fit and prediction, over RFF's with 512 columns",
}


def front_figure(curves: pd.DataFrame, named: Sequence[str], axis: str) -> Figure:
    """The median loss over datasets against the cost, a curve a map: ``curves`` has method, x, y, low and high. The
    ``named`` ones have a colour, and the first of them a band, the interval of the median; the others are grey."""
    figure, (panel,) = panels(1, 6.4, 3.8, above=0.5)
    handles = _curves(panel, curves, named)
    mine = curves[curves["method"] == named[0]].sort_values("x")
    panel.fill_between(mine["x"], mine["low"], mine["high"], color=style_of(0)["color"], alpha=0.12, linewidth=0)
    _x_axis(panel, curves, axis)
    panel.set_xlabel(AXES[axis])
    panel.set_ylabel("loss: 0 is RFF's with 4,096 columns,\n1 is a constant's")
    legend_below(figure, handles)
    headline(figure, "Median loss over datasets", f"band: the 95 % interval of {named[0]}'s", "grey: all other maps")
    return figure


def fronts_figure(curves: pd.DataFrame, named: Sequence[str], axis: str) -> Figure:
    """The same on every dataset, a panel each: ``curves`` has dataset, method, x and y."""
    names = list(dict.fromkeys(curves["dataset"]))
    figure, axes = panels(len(names), 1.75, 1.55, most=5, above=0.5)
    handles: dict[str, Any] = {}
    for panel, name in zip(axes, names, strict=True):
        handles |= _curves(panel, curves[curves["dataset"] == name], named)
        panel.set_title(name)
        _x_axis(panel, curves, axis)
    legend_below(figure, {name: handles[name] for name in [*named, "others"] if name in handles})
    headline(
        figure, f"Loss against {AXES[axis]}", "0 is RFF's with 4,096 columns, 1 is a constant's; means over trials"
    )
    return figure


def _x_axis(panel: Axes, curves: pd.DataFrame, axis: str) -> None:
    """A logarithmic axis, with a tick for every size where it has columns."""
    log_axis(panel.xaxis)
    if axis == "columns":
        sizes = sorted(set(curves["x"]))
        panel.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
        panel.xaxis.set_minor_locator(NullLocator())
    tidy_panel(panel)


def _curves(panel: Axes, curves: pd.DataFrame, named: Sequence[str]) -> dict[str, Any]:
    """Draw a curve a map, the named ones in front; their handles by name."""
    handles: dict[str, Any] = {}
    present = list(dict.fromkeys(curves["method"]))
    for method in [name for name in present if name not in named]:
        mine = curves[curves["method"] == method].sort_values("x")
        handles["others"] = panel.plot(mine["x"], mine["y"], **GREY)[0]
    for index, method in enumerate(name for name in named if name in present):
        mine = curves[curves["method"] == method].sort_values("x")
        handles[method] = panel.plot(mine["x"], mine["y"], **{**style_of(index), "zorder": 3})[0]
    return {**{name: handles[name] for name in handles if name != "others"},
            **({"others": handles["others"]} if "others" in handles else {})}  # fmt: skip
