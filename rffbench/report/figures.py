"""Figure 1 for every dataset: kernel error, score and time to generate the features against s."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from rffbench.errors import ConfigError
from rffbench.report.frame import METRICS, Metric, Results, size_label
from rffbench.report.summary import summarise

FORMATS = ("png", "pdf", "svg")

# Okabe and Ito's colours, which the colour-blind tell apart, ordered so that neighbours differ in lightness
# too; marker, filling and line style tell the methods apart in grey print.
_STYLES: list[dict[str, Any]] = [
    {"color": "#000000", "marker": "o", "linestyle": "-", "markerfacecolor": "white"},
    {"color": "#E69F00", "marker": "s", "linestyle": (0, (5, 1.6))},
    {"color": "#0072B2", "marker": "^", "linestyle": (0, (5, 1.4, 1, 1.4)), "markerfacecolor": "white"},
    {"color": "#D55E00", "marker": "D", "linestyle": (0, (1, 1.1))},
    {"color": "#56B4E9", "marker": "v", "linestyle": (0, (7, 1.4, 1, 1.4, 1, 1.4))},
    {"color": "#009E73", "marker": "P", "linestyle": (0, (3, 2)), "markerfacecolor": "white"},
    {"color": "#CC79A7", "marker": "X", "linestyle": (0, (8, 2))},
    {"color": "#7F7F7F", "marker": "*", "linestyle": "-"},
]

_RC: dict[Any, Any] = {
    "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 8, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "lines.markersize": 3.9,
    "lines.markeredgewidth": 0.9, "grid.linewidth": 0.4, "grid.color": "#DDDDDD", "xtick.major.width": 0.6,
    "ytick.major.width": 0.6, "ytick.minor.width": 0.4, "axes.axisbelow": True, "savefig.dpi": 200,
    "pdf.fonttype": 42, "svg.hashsalt": "rffbench",
}

# Nothing of the moment or the software goes into the files: the same results give the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None},
}


def draw_figures(results: Results, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Draw ``figures/<dataset>.<format>`` for every dataset with a finished trial; the paths written.

    Panels: the relative kernel error ‖K − ZZ′‖₂/‖K‖₂ (log), the score, and the seconds to generate the
    training features (log), each the mean over trials with bars of ± one standard deviation, against the
    number of frequencies s (log). A panel without a measurement is left out.

    Raises ConfigError for a format that is not one of ``FORMATS``.
    """
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"unknown figure format {name!r}: choose from {', '.join(FORMATS)}")
    summary = summarise(results)
    paths = []
    with mpl.rc_context(_RC):
        for dataset in results.datasets:
            figure = dataset_figure(results, summary[summary["dataset"] == dataset], dataset)
            if figure is None:
                continue
            (results.folder / "figures").mkdir(exist_ok=True)
            for name in formats:
                path = results.folder / "figures" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', dataset)}.{name}"
                figure.savefig(path, format=name, metadata=_METADATA[name])
                paths.append(path)
    return paths


def dataset_figure(results: Results, summary: pd.DataFrame, dataset: str) -> Figure | None:
    """One dataset's panels from its rows of the summary; None where nothing was measured."""
    wanted = [METRICS["kernel_error"], results.score(dataset), METRICS["feature_s"]]
    measured = set(summary.loc[summary["n_ok"] > 0, "metric"])
    metrics = [metric for metric in wanted if metric.name in measured]
    if not metrics:
        return None
    figure = Figure(figsize=(2.45 * len(metrics), 2.75), layout="constrained")
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    for letter, panel, metric in zip("abc", panels, metrics, strict=False):
        _draw_panel(panel, summary[summary["metric"] == metric.name], metric, results.methods)
        panel.set_title(f"({letter}) {metric.label}")
        panel.set_xlabel(_size_name(results, dataset))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 5), frameon=False,
                  handlelength=3.4, columnspacing=1.8)
    mark = results.mark(dataset)
    figure.suptitle(f"{dataset}: {mark}" if mark else dataset, fontsize=8.5)
    return figure


def _draw_panel(panel: Axes, summary: pd.DataFrame, metric: Metric, methods: list[str]) -> None:
    logarithmic = metric.name != "accuracy"
    for index, method in enumerate(methods):
        cells = summary[(summary["method"] == method) & (summary["n_ok"] > 0)]
        s, mean, std = (cells[name].to_numpy(float) for name in ("n_features", "mean", "std"))
        below = above = np.nan_to_num(std)
        if logarithmic:  # a bar that would reach zero ends a decade below the mean
            below = np.minimum(below, 0.9 * mean)
        # Methods that agree would hide each other: each stands a little to the side of its size.
        side = 1.11 ** (index / max(len(methods) - 1, 1) - 0.5)
        panel.errorbar(s * side, mean, yerr=np.stack([below, above]), label=method, capsize=1.8,
                       elinewidth=0.8, capthick=0.8, **_STYLES[index % len(_STYLES)])
    panel.set_xscale("log")
    if logarithmic:
        panel.set_yscale("log")
        low, high = panel.get_ylim()
        subs = (1.0, 2.0, 5.0) if high < 1000 * low else (1.0,)
        panel.yaxis.set_major_locator(LogLocator(subs=subs) if high > 10 * low else MaxNLocator(5))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter(NullFormatter())
    _size_axis(panel, summary[["n_features", "multiple"]].drop_duplicates().sort_values("n_features"))
    panel.grid(True)
    panel.spines[["top", "right"]].set_visible(False)


def _size_axis(panel: Axes, sizes: pd.DataFrame) -> None:
    """A tick a size, labelled where there is room."""
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


def _size_name(results: Results, dataset: str) -> str:
    """What s counts, and the input dimension where the sizes are multiples of it."""
    if results.config.get("count") == "columns":
        return "columns"
    sizes = results.trials.loc[results.trials["dataset"] == dataset, ["n_features", "multiple"]]
    if sizes["multiple"].isna().any():
        return "frequencies s"
    return f"frequencies s (d = {sizes['n_features'].iloc[0] // sizes['multiple'].iloc[0]})"
