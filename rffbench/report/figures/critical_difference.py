"""The critical-difference diagram: methods by mean rank; a bar joins methods without a significant difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rffbench.report.figures.style import SCREEN, Style, drawn_in, fitting, headline, saved
from rffbench.report.frame import as_written
from rffbench.report.statistics import ALL, Statistics, significance_matrix
from rffbench.stats.intervals import LEVEL

FEWEST_DATASETS = 5  # ranks over fewer mean nothing
FEWEST_METHODS = 3
_BAR, _LABEL = 0.12, 0.2  # inches from one bar, and from one label, to the next
_STEM = 0.14  # inches from the axis to the first bar
_AROUND = 0.8  # inches for the title and the ticks
_AXIS, _LETTER = 3.2, 0.075  # inches of the axis, and of a letter


def draw_critical_difference(
    statistics: Statistics, folder: Path, formats: Sequence[str] = ("png",), style: Style = SCREEN
) -> list[Path]:
    """Write figures/critical_difference.png (Demšar 2006, JMLR 7); return the paths.

    The better half of the methods is to the left of the axis of mean ranks, the others are to its right. Bars join
    methods without a significant difference by Wilcoxon's test with Holm's correction (Benavoli et al. 2016, JMLR 17).
    Nothing is written for fewer than FEWEST_METHODS or FEWEST_DATASETS.
    """
    datasets = statistics.pairs.loc[statistics.pairs["dataset"] != ALL, "dataset"].nunique()
    if len(statistics.ranks) < FEWEST_METHODS or datasets < FEWEST_DATASETS:
        return []
    ranks = statistics.ranks.sort_values()
    bars = joined(list(ranks.index), statistics)
    half = -(-len(ranks) // 2)
    below = _STEM + _BAR * len(bars) + _LABEL * half
    with drawn_in(style):
        height = below + _AROUND
        left, right = (
            _LETTER * max(len(f"{as_written(str(name))}  0.00") for name in names)
            for names in (ranks.index[:half], ranks.index[half:])
        )
        width = fitting(_AXIS + left + right)
        axis = width - left - right
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((left / width, 0.1 / height, axis / width, below / height))
        axes.set_xlim(1, len(ranks))
        axes.set_ylim(-below, 0)
        axes.xaxis.tick_top()
        axes.set_xticks(range(1, len(ranks) + 1))
        axes.yaxis.set_visible(False)
        for side in ("left", "right", "bottom"):
            axes.spines[side].set_visible(False)
        for row, (first, last) in enumerate(bars):
            depth = -_STEM - _BAR * row
            margin = 0.008 * (len(ranks) - 1)
            ends = [ranks.iloc[first] - margin, ranks.iloc[last] + margin]
            axes.plot(ends, [depth, depth], color="#D55E00", linewidth=2.5, solid_capstyle="butt", clip_on=False)
        names = list(ranks.items())
        for row, (name, rank) in enumerate(names[:half]):
            _label(axes, f"{as_written(str(name))}  {rank:.2f}", rank, _depth(row, bars), 1, "right")
        for row, (name, rank) in enumerate(reversed(names[half:])):
            _label(axes, f"{rank:.2f}  {as_written(str(name))}", rank, _depth(row, bars), len(ranks), "left")
        headline(
            figure,
            f"mean rank by {statistics.measured}, over {statistics.cells} cells of {datasets} datasets; 1 is best",
            f"joined: not told apart (Wilcoxon, Holm, level {LEVEL:g})",
        )
        return saved(figure, folder, "critical_difference", formats)


def joined(methods: list[str], statistics: Statistics) -> list[tuple[int, int]]:
    """The longest runs of methods without a significant difference: (first, last) in the order of ranks."""
    return joined_runs(significance_matrix(statistics).loc[methods, methods].to_numpy())


def joined_runs(p: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The longest runs (first, last) of rows of ``p`` (n, n), of which no two differ at `LEVEL`."""
    runs: list[tuple[int, int]] = []
    for first in range(len(p)):
        last = first
        while last + 1 < len(p) and (p[first : last + 1, last + 1] >= LEVEL).all():
            last += 1
        if last > first and not (runs and runs[-1][1] >= last):
            runs.append((first, last))
    return runs


def _depth(row: int, bars: list[tuple[int, int]]) -> float:
    """The depth of a label, below all bars, so that no line crosses a name."""
    return -_STEM - _BAR * len(bars) - _LABEL * row - 0.05


def _label(axes: Axes, text: str, rank: float, depth: float, edge: float, align: str) -> None:
    """Draw a line down from the axis at the method's rank, then sideways to its name beside the axis."""
    axes.plot([rank, rank, edge], [0, depth, depth], color="#444444", linewidth=0.8, clip_on=False)
    axes.annotate(text, (edge, depth), xytext=(-4 if align == "right" else 4, 0), textcoords="offset points",
                  ha=align, va="center", annotation_clip=False)  # fmt: skip
