"""Figures of your own, drawn as rffbench draws its own: import these names from ``rffbench.figures``.

================  ======================================================================================================
drawn_in          a context in which all is drawn in a style, such as ``SCREEN``
panels            a figure with as many panels of one size, and the panels
style_of          the colour, marker and line of the method with a number, the same in all figures
headline          the title of a figure, with notes below it
legend_below      one legend for all panels, below them
log_axis          an axis with a logarithmic scale and ticks that can be read
tidy_panel        the last touch on a panel: grid, frame, ticks
Strip, Strips     a line of dots, one for every dataset, with its median and interval; a panel of them
gains_in_percent  the panel of the gains of some methods
strips_figure     the figure of such panels
saved             writes a figure into the folder ``figures`` of a results folder
================  ======================================================================================================

The names load on first use, as matplotlib does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rffbench.report.figures.strips import strips_figure as strips_figure
    from rffbench.report.figures.style import SCREEN as SCREEN
    from rffbench.report.figures.style import drawn_in as drawn_in
    from rffbench.report.figures.style import headline as headline
    from rffbench.report.figures.style import legend_below as legend_below
    from rffbench.report.figures.style import log_axis as log_axis
    from rffbench.report.figures.style import panels as panels
    from rffbench.report.figures.style import saved as saved
    from rffbench.report.figures.style import style_of as style_of
    from rffbench.report.figures.style import tidy_panel as tidy_panel
    from rffbench.report.strips import Strip as Strip
    from rffbench.report.strips import Strips as Strips
    from rffbench.report.strips import gains_in_percent as gains_in_percent

_NAMES = {
    "rffbench.report.figures.style": (
        "SCREEN", "drawn_in", "headline", "legend_below", "log_axis", "panels", "saved", "style_of", "tidy_panel",
    ),
    "rffbench.report.figures.strips": ("strips_figure",),
    "rffbench.report.strips": ("Strip", "Strips", "gains_in_percent"),
}  # fmt: skip
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'rffbench.figures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
