"""The board's figures: loss against cost, over all datasets and on each; profiles of cost; those of its questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from rffbench.figures import headline, legend_below, log_axis, panels, style_of, tidy_panel

GREY: dict[str, Any] = {"color": "#B5B5B5", "linewidth": 0.7, "zorder": 1}
GREY_STYLE = 7
"""The number of the first style that is grey."""
AXES = {"columns": "columns", "seconds": "seconds of map, one fit and prediction, over RFF's with 512 columns"}


def _coloured(index: int) -> dict[str, Any]:
    """The style of the named map with this number, without the grey one, as all other maps are grey."""
    return style_of(index + (index >= GREY_STYLE))


def front_figure(curves: pd.DataFrame, named: Sequence[str], axis: str) -> Figure:
    """The median loss over datasets against the cost, one curve per map. ``curves`` has method, x, y, low and high. The
    ``named`` maps have a colour, and the first of them a band (the median's interval); the others are grey."""
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


def each_map_figure(curves: pd.DataFrame, baseline: str, axis: str) -> Figure:
    """The curves of `front_figure`, a panel for each map but the ``baseline``: its own, the baseline's in black, and in
    grey those of the others."""
    names = [name for name in dict.fromkeys(curves["method"]) if name != baseline]
    figure, axes = panels(len(names), 1.75, 1.4, most=5, above=0.5)
    for panel, name in zip(axes, names, strict=True):
        _curves(panel, curves, (baseline, name))
        panel.set_title(name)
        _x_axis(panel, curves, axis)
    scale = "0 is RFF's with 4,096 columns, 1 is a constant's"
    headline(figure, f"Median loss against {AXES[axis]}", scale, f"black: {baseline}; grey: the other maps")
    return figure


def profile_figure(shares: pd.DataFrame, named: Sequence[str], columns: int) -> Figure:
    """Performance profiles (`rffbench.stats.performance_profile`) of the cost to come to RFF's loss
    with that many columns: a line of steps for each map. The ``named`` maps have a colour; the others are grey."""
    figure, (panel,) = panels(1, 6.4, 3.8, above=0.5)
    handles: dict[str, Any] = {}
    for index, name in enumerate(name for name in named if name in shares):
        style: dict[str, Any] = {"markevery": (3 * index, 30), "zorder": 3, **_coloured(index)}
        handles[name] = panel.step(shares.index, shares[name], where="post", **style)[0]
    for name in shares.columns.difference(list(named)):
        handles["others"] = panel.step(shares.index, shares[name], where="post", **GREY)[0]
    log_axis(panel.xaxis)
    tidy_panel(panel)
    panel.set_ylim(0, 1.02)
    panel.set_xlabel("τ: seconds of map, one fit and prediction, over the cheapest map's")
    panel.set_ylabel("share of datasets")
    legend_below(figure, handles)
    goal = f"to come to RFF's loss with {columns:,} columns, to within 1 %"
    headline(figure, "Datasets on which a map costs at most τ times what the cheapest one does", goal)
    return figure


def fronts_figure(curves: pd.DataFrame, named: Sequence[str], axis: str) -> Figure:
    """The loss against the cost on every dataset, one panel each. ``curves`` has dataset, method, x and y."""
    names = list(dict.fromkeys(curves["dataset"]))
    figure, axes = panels(len(names), 1.75, 1.55, most=5, above=0.5)
    handles: dict[str, Any] = {}
    for panel, name in zip(axes, names, strict=True):
        handles |= _curves(panel, curves[curves["dataset"] == name], named)
        panel.set_title(name)
        _x_axis(panel, curves, axis)
    legend_below(figure, {name: handles[name] for name in [*named, "others"] if name in handles})
    scale = "0 is RFF's with 4,096 columns, 1 is a constant's; means over trials"
    headline(figure, f"Loss against {AXES[axis]}", scale)
    return figure


def _x_axis(panel: Axes, curves: pd.DataFrame, axis: str) -> None:
    """Make the axis logarithmic, with a tick for every size if it shows columns."""
    log_axis(panel.xaxis)
    if axis == "columns":
        sizes = sorted(set(curves["x"]))
        panel.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
        panel.xaxis.set_minor_locator(NullLocator())
    tidy_panel(panel)


def _curves(panel: Axes, curves: pd.DataFrame, named: Sequence[str]) -> dict[str, Any]:
    """Draw one curve per map, the named ones in front; return their handles by name."""
    handles: dict[str, Any] = {}
    present = list(dict.fromkeys(curves["method"]))
    for method in [name for name in present if name not in named]:
        mine = curves[curves["method"] == method].sort_values("x")
        handles["others"] = panel.plot(mine["x"], mine["y"], **GREY)[0]
    for index, method in enumerate(name for name in named if name in present):
        mine = curves[curves["method"] == method].sort_values("x")
        handles[method] = panel.plot(mine["x"], mine["y"], **{**_coloured(index), "zorder": 3})[0]
    return dict(sorted(handles.items(), key=lambda item: item[0] == "others"))
