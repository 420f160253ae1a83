"""Figures of your own, drawn as rffbench draws its own: import these names from ``rffbench.figures``.

================  ======================================================================================================
drawn_in          a context in which all is drawn in a style, such as ``SCREEN``
panels            a figure with as many panels of one size, and the panels
style_of          the colour, marker and line of the method with a number, the same in all figures; one of ``STYLES``
aside, bars       points of several methods side by side on a logarithmic axis; their error bars
hollow            marks points that cannot be compared, with the note ``HOLLOW``
headline          the title of a figure, with notes below it
spread            a note on what points and bars are; `coinciding`, on which curves lie on one another
legend_below      one legend for all panels, below them, of `handles_of` panels, with each `legend_label`
legend_inside     one in a panel, without_bars if need be, with short labels if it `is_narrow`; `small_print`, words
log_axis          an axis with a logarithmic scale and ticks that can be read; `size_axis`, with a tick for each size
as_written        a label as people write it; `protocol_names`, those of a sweep
tidy_panel        the last touch on a panel: grid, frame, ticks
Strip, Strips     a line of dots, one for every dataset, with its median and interval; a panel of them
gains_in_percent  the panel of the gains of some methods
strips_figure     the figure of such panels
Picture           a figure for a page, with the name of its file and what it shows in words
strips_pictures   the picture of such panels; none without a panel
Section           a part of a page: tables, pictures and sentences under a title
saved             writes a figure into the folder ``figures`` of a results folder
================  ======================================================================================================

The names load on first use, as matplotlib does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rffbench.report.board.page import Picture as Picture
    from rffbench.report.board.page import Section as Section
    from rffbench.report.board.page import strips_pictures as strips_pictures
    from rffbench.report.figures.strips import strips_figure as strips_figure
    from rffbench.report.figures.style import HOLLOW as HOLLOW
    from rffbench.report.figures.style import SCREEN as SCREEN
    from rffbench.report.figures.style import STYLES as STYLES
    from rffbench.report.figures.style import aside as aside
    from rffbench.report.figures.style import bars as bars
    from rffbench.report.figures.style import coinciding as coinciding
    from rffbench.report.figures.style import drawn_in as drawn_in
    from rffbench.report.figures.style import handles_of as handles_of
    from rffbench.report.figures.style import headline as headline
    from rffbench.report.figures.style import hollow as hollow
    from rffbench.report.figures.style import is_narrow as is_narrow
    from rffbench.report.figures.style import legend_below as legend_below
    from rffbench.report.figures.style import legend_inside as legend_inside
    from rffbench.report.figures.style import legend_label as legend_label
    from rffbench.report.figures.style import log_axis as log_axis
    from rffbench.report.figures.style import panels as panels
    from rffbench.report.figures.style import saved as saved
    from rffbench.report.figures.style import size_axis as size_axis
    from rffbench.report.figures.style import small_print as small_print
    from rffbench.report.figures.style import spread as spread
    from rffbench.report.figures.style import style_of as style_of
    from rffbench.report.figures.style import tidy_panel as tidy_panel
    from rffbench.report.figures.style import without_bars as without_bars
    from rffbench.report.frame import as_written as as_written
    from rffbench.report.frame import protocol_names as protocol_names
    from rffbench.report.strips import Strip as Strip
    from rffbench.report.strips import Strips as Strips
    from rffbench.report.strips import gains_in_percent as gains_in_percent

_NAMES = {
    "rffbench.report.figures.style": (
        "HOLLOW",
        "SCREEN",
        "STYLES",
        "aside",
        "bars",
        "coinciding",
        "drawn_in",
        "handles_of",
        "headline",
        "hollow",
        "is_narrow",
        "legend_below",
        "legend_inside",
        "legend_label",
        "log_axis",
        "panels",
        "saved",
        "size_axis",
        "small_print",
        "spread",
        "style_of",
        "tidy_panel",
        "without_bars",
    ),
    "rffbench.report.board.page": ("Picture", "Section", "strips_pictures"),
    "rffbench.report.frame": ("as_written", "protocol_names"),
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
