"""The board's figures: loss against cost, over all datasets and on each; profiles of cost; those of its questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from rffbench.report.figures.style import headline, legend_below, log_axis, panels, style_of, tidy_panel
from rffbench.report.strips import Strips

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
    """Performance profiles (`rffbench.report.board.statistics.performance_profile`) of the cost to come to RFF's loss
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


def strips_figure(shown: Sequence[Strips]) -> Figure:
    """A panel below the other; in each, line by line, a dot for every dataset, and over them a bar from end to end of
    the median's interval with a diamond at the median. Grey: what counts as no difference. The axis spans the middle
    90 % of the dots and all intervals; values beyond it are arrows at its ends."""
    lines = [len(each.strips) for each in shown]
    figure = Figure(figsize=(6.4, 0.5 + sum(0.75 + 0.25 * count for count in lines)), layout="constrained")
    axes = figure.subplots(len(lines), 1, squeeze=False, gridspec_kw={"height_ratios": lines})
    for panel, each in zip(axes.flat, shown, strict=True):
        _strips(panel, each)
    headline(figure, "A dot for every dataset; diamond and bar: the median over datasets and its 95 % interval")
    return figure


def _strips(panel: Axes, shown: Strips) -> None:
    dots = np.concatenate([each.values for each in shown.strips])
    ends = [end for each in shown.strips for end in (each.low, each.high) if not np.isnan(end)]
    spanned = [*np.quantile(dots, [0.05, 0.95]), *ends, *shown.band]
    margin = 0.05 * (max(spanned) - min(spanned))
    low, high = min(spanned) - margin, max(spanned) + margin
    colour, of_median = style_of(0)["color"], style_of(3)["color"]
    for at, each in enumerate(shown.strips):
        for value in each.values:
            marker = "<" if value < low else ">" if value > high else "o"
            panel.plot(np.clip(value, low, high), at, marker, color=colour, alpha=0.3, markersize=3, clip_on=False)
        panel.plot([each.low, each.high], [at, at], color=of_median, linewidth=2.2, solid_capstyle="butt")
        panel.plot(each.median, at, "D", color=of_median, markersize=4.5)
    panel.axvspan(*shown.band, color="#E8E8E8", zorder=0)
    panel.axvline(0, color=GREY["color"], linewidth=0.7, zorder=1)
    panel.set_xlim(low, high)
    panel.set_ylim(len(shown.strips) - 0.5, -0.5)
    panel.set_yticks(range(len(shown.strips)), [each.name for each in shown.strips])
    panel.set_title(shown.title, loc="left")
    panel.set_xlabel(shown.axis)
    tidy_panel(panel)
    panel.grid(False, axis="y")


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
