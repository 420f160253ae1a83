"""Figures of a comparison: reported and measured curves, a panel a dataset; and the critical-difference diagram."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rffbench.report.claims import paper_name
from rffbench.report.compare import Comparison, score_of
from rffbench.report.significance import LEVEL
from rffbench.report.statistics import Statistics, significance_matrix
from rffbench.report.style import METADATA, RC, STYLES, size_axis

_PANELS_A_ROW = 4
_MEASURED: dict[str, Any] = {"color": "#0072B2", "marker": "o", "linestyle": ""}
_REPORTED: dict[str, Any] = {"color": "#D55E00", "marker": "_", "linestyle": "", "markersize": 11,
                             "markeredgewidth": 1.6}


def draw_comparison(comparison: Comparison) -> list[Path]:
    """Write figures/compare.png: mean and ± one standard deviation, reported dashed, measured in full lines.

    A panel a dataset with a cell both measured and reported; nothing is written where there is none.
    """
    both = comparison.cells.dropna(subset=["reported", "measured"])
    datasets = list(dict.fromkeys(both["dataset"]))
    if not datasets:
        return []
    with mpl.rc_context(RC):
        return [_saved(_comparison_figure(comparison, datasets), comparison.results.folder, "compare")]


def draw_critical_difference(statistics: Statistics, folder: Path) -> list[Path]:
    """Write figures/critical_difference.png: the methods by mean rank, those that Wilcoxon's test with Holm's
    correction does not tell apart joined by a bar (Demšar 2006; Benavoli et al. 2016, JMLR 17). Nothing for fewer than
    three methods."""
    if len(statistics.ranks) < 3:
        return []
    import scikit_posthocs  # slow to load, and needed here alone

    with mpl.rc_context(RC):
        figure = Figure(figsize=(5.6, 0.75 + 0.22 * len(statistics.ranks)), layout="constrained")
        axes = figure.subplots()
        scikit_posthocs.critical_difference_diagram(
            statistics.ranks, significance_matrix(statistics), ax=axes, alpha=LEVEL, text_h_margin=0.03,
            label_fmt_left="{label} ({rank:.2f})", label_fmt_right="({rank:.2f}) {label}",
            color_palette=dict.fromkeys(statistics.ranks.index, "black"),
            crossbar_props={"color": "#D55E00", "linewidth": 2.5, "marker": None},
        )
        axes.set_title(f"mean rank over {statistics.cells} cells, 1 is best; joined: not told apart", fontsize=8)
        return [_saved(figure, folder, "critical_difference")]


def _saved(figure: Figure, folder: Path, name: str) -> Path:
    path = folder / "figures" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, format="png", metadata=METADATA["png"])
    return path


def _comparison_figure(comparison: Comparison, datasets: list[str]) -> Figure:
    rows = -(-len(datasets) // _PANELS_A_ROW)
    columns = min(len(datasets), _PANELS_A_ROW)
    sized = comparison.cells["multiple"].notna().any()
    width = 2.5 if sized else 3.4
    figure = Figure(figsize=(max(width * columns, 4.6), 2.6 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    labels = [score_of(comparison.reference, comparison.results, dataset).label for dataset in datasets]
    for panel, dataset in zip(panels, datasets, strict=False):
        cells = comparison.cells[comparison.cells["dataset"] == dataset]
        (_draw_curves if sized else _draw_points)(panel, cells, comparison)
        panel.set_title(dataset)
        panel.grid(True)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(datasets):]:
        panel.set_visible(False)
    for index, label in enumerate(labels):
        if index % columns == 0 or label != labels[index - 1]:
            panels[index].set_ylabel(label)
    handles = [Line2D([], [], label="measured", **_MEASURED), Line2D([], [], label="reported", **_REPORTED)]
    if sized:
        handles = [*(Line2D([], [], label=method, **_of_method(comparison, method) | {"linestyle": "-"})
                     for method in dict.fromkeys(comparison.cells["method"])),
                   Line2D([], [], label="measured", color="#444444"),
                   Line2D([], [], label="reported", color="#444444", linestyle="--")]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 3 if len(datasets) == 1 else 6),
                  frameon=False)
    figure.suptitle(f"{comparison.results.title} (± one standard deviation)", fontsize=8.5, wrap=True)
    return figure


def _draw_curves(panel: Axes, cells: pd.DataFrame, comparison: Comparison) -> None:
    for method, curve in cells.groupby("method", sort=False):
        style = _of_method(comparison, str(method))
        for which, line in (("reported", "--"), ("measured", "-")):
            points = curve.dropna(subset=[which])
            x = points["multiple"].to_numpy(float)
            mean, std = points[which].to_numpy(float), np.nan_to_num(points[f"{which}_std"].to_numpy(float))
            marker = {} if which == "measured" else {"marker": ""}
            panel.plot(x, mean, **style | {"linestyle": line} | marker)
            panel.fill_between(x, mean - std, mean + std, color=style["color"], linewidth=0,
                               alpha=0.22 if which == "measured" else 0.1)
    panel.set_xscale("log")
    sizes = pd.DataFrame({"multiple": sorted(set(cells["multiple"].dropna()))})
    size_axis(panel, sizes.assign(n_features=sizes["multiple"]))
    panel.set_xlabel("frequencies s")


def _draw_points(panel: Axes, cells: pd.DataFrame, comparison: Comparison) -> None:
    """A table without sizes: a line a method."""
    cells = cells[cells["reported"].notna()]
    places = np.arange(len(cells))
    panel.errorbar(places, cells["measured"], yerr=np.nan_to_num(cells["measured_std"].to_numpy(float)), capsize=1.8,
                   **_MEASURED)
    panel.plot(places, cells["reported"], **_REPORTED)
    panel.set_xticks(places, cells["method"], rotation=60, ha="right")


def _of_method(comparison: Comparison, method: str) -> dict[str, Any]:
    labels = list(dict.fromkeys([*comparison.results.methods, *comparison.cells["method"]]))
    name = method if method in labels else paper_name(method)
    return STYLES[labels.index(name) % len(STYLES)]
