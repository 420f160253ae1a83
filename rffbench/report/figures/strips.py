"""A figure of gains: a line of dots for each map, one dot for every dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rffbench.report.figures.style import headline, style_of, tidy_panel
from rffbench.report.strips import Strips

OVER_DATASETS = "A dot for every dataset; diamond and bar: the median over datasets and its 95 % interval"
GREY: dict[str, Any] = {"color": "#B5B5B5", "linewidth": 0.7, "zorder": 1}


def strips_figure(shown: Sequence[Strips], title: str = OVER_DATASETS) -> Figure:
    """A panel below the other; in each, line by line, a dot for every dataset, and over them a bar from end to end of
    the median's interval with a diamond at the median. Grey: what counts as no difference. The axis spans the middle
    90 % of the dots and all intervals; values beyond it are arrows at its ends."""
    lines = [len(each.strips) for each in shown]
    figure = Figure(figsize=(6.4, 0.5 + sum(0.75 + 0.25 * count for count in lines)), layout="constrained")
    axes = figure.subplots(len(lines), 1, squeeze=False, gridspec_kw={"height_ratios": lines})
    for panel, each in zip(axes.flat, shown, strict=True):
        _strips(panel, each)
    headline(figure, title)
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
