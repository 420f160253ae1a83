"""How every figure looks: colours, line styles, fonts, the axis of sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from rffbench.report.frame import size_label

# Okabe and Ito's colours, which the colour-blind tell apart, ordered so that neighbours differ in lightness
# too; marker, filling and line style tell the methods apart in grey print.
STYLES: list[dict[str, Any]] = [
    {"color": "#000000", "marker": "o", "linestyle": "-", "markerfacecolor": "white"},
    {"color": "#E69F00", "marker": "s", "linestyle": (0, (5, 1.6))},
    {"color": "#0072B2", "marker": "^", "linestyle": (0, (5, 1.4, 1, 1.4)), "markerfacecolor": "white"},
    {"color": "#D55E00", "marker": "D", "linestyle": (0, (1, 1.1))},
    {"color": "#56B4E9", "marker": "v", "linestyle": (0, (7, 1.4, 1, 1.4, 1, 1.4))},
    {"color": "#009E73", "marker": "P", "linestyle": (0, (3, 2)), "markerfacecolor": "white"},
    {"color": "#CC79A7", "marker": "X", "linestyle": (0, (8, 2))},
    {"color": "#7F7F7F", "marker": "*", "linestyle": "-"},
]

RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 8,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.9,
    "lines.markeredgewidth": 0.9,
    "grid.linewidth": 0.4,
    "grid.color": "#DDDDDD",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "ytick.minor.width": 0.4,
    "axes.axisbelow": True,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "rffbench",
}

# Nothing of the moment or the software goes into the files: the same results give the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None},
}


def size_axis(panel: Axes, sizes: pd.DataFrame) -> None:
    """One tick per size, labelled where there is room."""
    counts = sizes["n_features"].to_numpy(int)
    place = np.log(counts / counts[0]) / max(np.log(counts[-1] / counts[0]), 1e-9)
    labels: list[str] = []
    last = -np.inf
    for count, multiple, here in zip(counts, sizes["multiple"], place, strict=True):
        roomy = here - last > 0.11  # the width of "128d" with some space, as a share of the panel
        labels.append(size_label(count, multiple) if roomy else "")
        last = here if roomy else last
    panel.set_xticks(counts, labels)
    panel.xaxis.set_minor_locator(NullLocator())


def legend_label(label: str) -> str:
    """A label as Matplotlib shows it: behind a space of no width where it begins with an underscore, with which it
    would be left out of legends."""
    return f"\u200b{label}" if label.startswith("_") else label


def legend_below(figure: Figure, handles: Mapping[str, Any]) -> None:
    """A legend of the handles, by label, under the panels, in as many columns as the figure is wide enough for."""
    widest = 0.75 + 0.063 * max(len(label) for label in handles)  # inches of a line and of the longest label
    columns = max(1, min(len(handles), int(figure.get_figwidth() / widest)))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False,
                  handlelength=3.2, columnspacing=1.6)  # fmt: skip


def log_axis(panel: Axes) -> None:
    """A logarithmic y axis whose labels are plain numbers."""
    panel.set_yscale("log")
    low, high = panel.get_ylim()
    subs = (1.0, 2.0, 5.0) if high < 1000 * low else (1.0,)
    panel.yaxis.set_major_locator(LogLocator(subs=subs) if high > 10 * low else MaxNLocator(5))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter(NullFormatter())


def room_for_text(panel: Axes, lines: int, where: Literal["top", "bottom"]) -> None:
    """Lengthen a logarithmic y axis so that this many lines of small print hide no curve."""
    low, high = panel.get_ylim()
    share = min(0.06 * lines + 0.03, 0.7)  # of the axis as it will be
    factor = (high / low) ** (share / (1 - share))
    panel.set_ylim(low / (factor if where == "bottom" else 1), high * (factor if where == "top" else 1))


def tidy_panel(panel: Axes) -> None:
    """A grid, and no box around."""
    panel.grid(True)
    panel.spines[["top", "right"]].set_visible(False)


def saved(figure: Figure, folder: Path, stem: str, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write the figure into a results folder, as ``figures/<stem>.<format>``; the paths.

    A label with dollar signs is written as it is: taken for a formula, a wrong one could not be drawn.
    """
    _take_literally(figure)
    stem = re.sub(r"[^\w.-]+", "_", stem)
    paths = [folder / "figures" / f"{stem}.{name}" for name in formats]
    paths[0].parent.mkdir(exist_ok=True)
    for path, name in zip(paths, formats, strict=True):
        figure.savefig(path, format=name, metadata=METADATA[name])
    return paths


def _take_literally(figure: Figure) -> None:
    """No text of a figure is a formula, but for numbers at ticks."""
    texts = [text for text in figure.findobj(Text) if "$" in text.get_text()]
    axes = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)] if texts else []
    numbers = [tick.label1 for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks)]
    for text in texts:
        if text not in numbers:
            text.set_parse_math(False)
