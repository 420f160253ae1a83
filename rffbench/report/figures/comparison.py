"""Figures of a comparison: reported and measured curves, one panel per dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rffbench.papers.own import OwnReference
from rffbench.report.claims import paper_name
from rffbench.report.compare import Comparison, score_of
from rffbench.report.figures.style import RC, STYLES, legend_label, saved, size_axis, tidy_panel

_PANELS_A_ROW = 4
_MEASURED: dict[str, Any] = {"color": "#0072B2", "marker": "o", "linestyle": ""}
_REPORTED: dict[str, Any] = {
    "color": "#D55E00",
    "marker": "_",
    "linestyle": "",
    "markersize": 11,
    "markeredgewidth": 1.6,
}


def draw_comparison(comparison: Comparison) -> list[Path]:
    """Write figures/compare.png: mean and ± one standard deviation, reported dashed, measured in full lines.

    One panel per dataset with a cell both measured and reported; nothing is written if no dataset has one.
    """
    both = comparison.cells.dropna(subset=["reported", "measured"])
    datasets = list(dict.fromkeys(both["dataset"]))
    if not datasets:
        return []
    with mpl.rc_context(RC):
        return saved(_comparison_figure(comparison, datasets), comparison.results.folder, "compare")


def _comparison_figure(comparison: Comparison, datasets: list[str]) -> Figure:
    rows = -(-len(datasets) // _PANELS_A_ROW)
    columns = min(len(datasets), _PANELS_A_ROW)
    by = _size_column(comparison)
    sized = comparison.cells[by].notna().any()
    width = 2.5 if sized else 3.4
    figure = Figure(figsize=(max(width * columns, 4.6), 2.6 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    labels = [score_of(comparison.reference, comparison.results, dataset).label for dataset in datasets]
    for panel, dataset in zip(panels, datasets, strict=False):
        cells = comparison.cells[comparison.cells["dataset"] == dataset]
        (_draw_curves if sized else _draw_points)(panel, cells, comparison)
        panel.set_title(dataset)
        tidy_panel(panel)
    for panel in panels[len(datasets) :]:
        panel.set_visible(False)
    for index, label in enumerate(labels):
        if index % columns == 0 or label != labels[index - 1]:
            panels[index].set_ylabel(label)
    handles = [Line2D([], [], label="measured", **_MEASURED), Line2D([], [], label="reported", **_REPORTED)]
    if sized:
        handles = [
            *(
                Line2D([], [], label=legend_label(method), **_of_method(comparison, method) | {"linestyle": "-"})
                for method in dict.fromkeys(comparison.cells["method"])
            ),
            Line2D([], [], label="measured", color="#444444"),
            Line2D([], [], label="reported", color="#444444", linestyle="--"),
        ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), 3 if len(datasets) == 1 else 6),
        frameon=False,
    )
    figure.suptitle(f"{comparison.results.title} (± one standard deviation)", fontsize=8.5, wrap=True)
    return figure


def _size_column(comparison: Comparison) -> str:
    """What sizes are drawn by: a paper's table has multiples of d alone, a file of one's own counts too."""
    return "n_features" if isinstance(comparison.reference, OwnReference) else "multiple"


def _draw_curves(panel: Axes, cells: pd.DataFrame, comparison: Comparison) -> None:
    by = _size_column(comparison)
    for method, curve in cells.groupby("method", sort=False):
        style = _of_method(comparison, str(method))
        for which, line in (("reported", "--"), ("measured", "-")):
            points = curve.dropna(subset=[which])
            points = points.dropna(subset=[by])
            x = points[by].to_numpy(float)
            mean, std = points[which].to_numpy(float), np.nan_to_num(points[f"{which}_std"].to_numpy(float))
            marker = {} if which == "measured" else {"marker": ""}
            panel.plot(x, mean, **style | {"linestyle": line} | marker)
            panel.fill_between(
                x, mean - std, mean + std, color=style["color"], linewidth=0, alpha=0.22 if which == "measured" else 0.1
            )
    panel.set_xscale("log")
    sizes = pd.DataFrame({"n_features": cells[by], "multiple": cells["multiple"]}).dropna(subset=["n_features"])
    size_axis(panel, sizes.drop_duplicates().sort_values("n_features"))
    panel.set_xlabel("frequencies s")


def _draw_points(panel: Axes, cells: pd.DataFrame, comparison: Comparison) -> None:
    """A table without sizes: one line per method."""
    cells = cells[cells["reported"].notna()]
    places = np.arange(len(cells))
    panel.errorbar(
        places, cells["measured"], yerr=np.nan_to_num(cells["measured_std"].to_numpy(float)), capsize=1.8, **_MEASURED
    )
    panel.plot(places, cells["reported"], **_REPORTED)
    panel.set_xticks(places, cells["method"].str.replace("$", r"\$"), rotation=60, ha="right")


def _of_method(comparison: Comparison, method: str) -> dict[str, Any]:
    labels = list(dict.fromkeys([*comparison.results.methods, *comparison.cells["method"]]))
    name = method if method in labels else paper_name(method)
    return STYLES[labels.index(name) % len(STYLES)]
