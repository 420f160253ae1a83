"""The figure of a comparison: reported and measured curves, with their differences below, one panel per dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rffbench.papers.recorded import OwnReference
from rffbench.report.cells import score_of
from rffbench.report.claims import paper_name
from rffbench.report.compare import Comparison
from rffbench.report.figures import style as draw
from rffbench.report.frame import as_written

_PANELS_A_ROW = 4
_DIFFERENCES = 1.5  # inches of height of the panels below the curves
_LETTER = 0.045  # inches of height of a letter of a method's name, which is slanted
_MEASURED: dict[str, Any] = {"color": "#0072B2", "marker": "o", "linestyle": ""}
_REPORTED: dict[str, Any] = {"color": "#D55E00", "marker": "_", "linestyle": "", "markersize": 11,
                             "markeredgewidth": 1.6}  # fmt: skip


def draw_comparison(
    comparison: Comparison, formats: Sequence[str] = ("png",), style: draw.Style = draw.SCREEN
) -> list[Path]:
    """Write figures/compare.png; return the paths.

    Reported means are dashed lines, measured ones solid lines, both with ± one standard deviation. Below are their
    differences with intervals, because lines that coincide cannot be compared by eye. Datasets with a cell that is both
    measured and reported have a panel; without any, nothing is written.
    """
    cells = comparison.cells
    score = cells.loc[cells["reported"].notna() & cells["measured"].notna(), "metric"]
    if score.empty:
        return []
    if score.nunique() > 1 and comparison.reference.table and comparison.reference.table.metrics:
        first = next(name for name in comparison.reference.table.metrics if (score == name).any())
        comparison = replace(comparison, cells=cells[cells["metric"] == first])
    if comparison.cells["trial"].notna().any():  # cells of single trials have no mean
        return []
    both = comparison.cells.dropna(subset=["reported", "measured"])
    datasets = list(dict.fromkeys(both["dataset"]))
    with draw.drawn_in(style):
        return draw.saved(comparison_figure(comparison, datasets), comparison.results.folder, "compare", formats)


def comparison_figure(comparison: Comparison, datasets: list[str]) -> Figure:
    by = _size_column(comparison)
    both = comparison.cells.dropna(subset=["reported", "measured"])
    sized = both.groupby("dataset")[by].nunique().max() > 1
    width = 2.5 if sized else 3.4
    named = 0.0 if sized else _LETTER * both["method"].map(lambda name: len(as_written(name))).max()
    figure, axes = draw.panels(
        len(datasets), width, 2.6 + named, most=_PANELS_A_ROW, least=4.6, above=0.6, under=_DIFFERENCES * sized
    )
    labels = [score_of(comparison.reference, comparison.results, dataset).label for dataset in datasets]
    for panel, dataset in zip(axes, datasets, strict=False):
        cells = comparison.cells[comparison.cells["dataset"] == dataset]
        (_draw_curves if sized else _draw_points)(panel, cells, comparison)
        panel.set_title(comparison.results.called(dataset))
        draw.tidy_panel(panel)
    for index, label in enumerate(labels):
        place = axes[index].get_subplotspec()
        if (place is not None and place.is_first_col()) or label != labels[index - 1]:
            axes[index].set_ylabel(label)
    for index, (panel, dataset) in enumerate(zip(axes[len(datasets) :], datasets, strict=False)):
        _draw_differences(panel, comparison.cells[comparison.cells["dataset"] == dataset], comparison)
        panel.set_xlim(axes[index].get_xlim())
        draw.tidy_panel(panel)
        axes[index].set_xlabel("")
        if (place := panel.get_subplotspec()) is not None and place.is_first_col():
            panel.set_ylabel(f"difference ({comparison.unit})")
    given = comparison.reference.given
    handles = [Line2D([], [], label="measured", **_MEASURED), Line2D([], [], label=given, **_REPORTED)]
    if sized:
        handles = [
            *(
                Line2D([], [], label=draw.legend_label(method), **_of_method(comparison, method) | {"linestyle": "-"})
                for method in dict.fromkeys(comparison.cells["method"])
            ),
            Line2D([], [], label="measured", color="#444444"),
            Line2D([], [], label=f"{given} (small marks)", color="#444444", linestyle="--"),
        ]
    draw.legend_below(figure, {str(handle.get_label()): handle for handle in handles})
    shaded = ", shaded: within the tolerance" if both["tolerance"].nunique() == 1 else ""
    differences = f"below: measured less {given}, bars: its 95 % interval{shaded}" if sized else ""
    draw.headline(
        figure, comparison.results.title, draw.spread(both["n_ok"], "bands" if sized else "bars"), differences
    )
    return figure


def _size_column(comparison: Comparison) -> str:
    """The column of the sizes to draw: multiples of d, as in most papers, or counts."""
    counts = isinstance(comparison.reference, OwnReference) or comparison.cells["multiple"].isna().all()
    return "n_features" if counts else "multiple"


def _draw_curves(panel: Axes, cells: pd.DataFrame, comparison: Comparison) -> None:
    by = _size_column(comparison)
    for method, curve in cells.groupby("method", sort=False):
        style = _of_method(comparison, str(method))
        for which, line in (("reported", "--"), ("measured", "-")):
            points = curve.dropna(subset=[which, by])
            x = draw.aside(points[by], *_place(comparison, str(method)))
            mean, std = points[which].to_numpy(float), np.nan_to_num(points[f"{which}_std"].to_numpy(float))
            marker = {} if which == "measured" else {"markersize": 2.0}
            panel.plot(x, mean, **style | {"linestyle": line} | marker)
            panel.fill_between(
                x, mean - std, mean + std, color=style["color"], linewidth=0, alpha=0.22 if which == "measured" else 0.1
            )
    _size_axis(panel, cells, by)


def _draw_differences(panel: Axes, cells: pd.DataFrame, comparison: Comparison) -> None:
    """Draw measured less reported with the interval, if there is one, and the tolerance, if all cells have the same.
    The axis covers at least the tolerance, so that small differences look small."""
    by = _size_column(comparison)
    both = cells.dropna(subset=["difference", by])
    panel.axhline(0, color="#888888", linewidth=0.8)
    tolerance = float(both["tolerance"].min())
    if comparison.cells["tolerance"].nunique() == 1:
        panel.axhspan(-tolerance, tolerance, color="#888888", alpha=0.15, linewidth=0)
    for method, curve in both.groupby("method", sort=False):
        x = draw.aside(curve[by], *_place(comparison, str(method)))
        difference = curve["difference"].to_numpy(float)
        interval = np.nan_to_num(np.abs(curve[["low", "high"]].to_numpy(float).T - difference))
        look = {"linestyle": "-", "linewidth": 0.9, "markersize": 3.2}
        panel.errorbar(
            x, difference, yerr=interval, capsize=1.4, elinewidth=0.7, **_of_method(comparison, str(method)) | look
        )
    low, high = panel.get_ylim()
    panel.set_ylim(min(low, -tolerance), max(high, tolerance))
    _size_axis(panel, cells, by)


def _size_axis(panel: Axes, cells: pd.DataFrame, by: str) -> None:
    panel.set_xscale("log")
    sizes = pd.DataFrame({"n_features": cells[by], "multiple": cells["multiple"]}).dropna(subset=["n_features"])
    draw.size_axis(panel, sizes.drop_duplicates().sort_values("n_features"))
    panel.set_xlabel("frequencies s")


def _draw_points(panel: Axes, cells: pd.DataFrame, comparison: Comparison) -> None:
    """Draw one point per method, for a table without sizes or with a single one."""
    cells = cells[cells["reported"].notna()]
    places = np.arange(len(cells))
    panel.errorbar(
        places, cells["measured"], yerr=np.nan_to_num(cells["measured_std"].to_numpy(float)), capsize=1.8, **_MEASURED
    )
    panel.plot(places, cells["reported"], **_REPORTED)
    panel.set_xticks(places, cells["method"].map(as_written).str.replace("$", r"\$"), rotation=60, ha="right")


def _of_method(comparison: Comparison, method: str) -> dict[str, Any]:
    return draw.style_of(_place(comparison, method)[0])


def _place(comparison: Comparison, method: str) -> tuple[int, int]:
    """(the method's number, the number of methods)."""
    labels = list(dict.fromkeys([*comparison.results.methods, *comparison.cells["method"]]))
    return labels.index(method if method in labels else paper_name(method)), len(labels)
