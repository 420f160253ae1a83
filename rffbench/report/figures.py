"""Figure 1 for every dataset: kernel error, score and time to generate the features against s."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rffbench.errors import ConfigError
from rffbench.report.bounds import bound_figures
from rffbench.report.curves import path_figure, progress_figure, score_time_figure
from rffbench.report.dimension import dimension_figure
from rffbench.report.frame import MAP_MEASURES, METRICS, SCORES, Metric, Protocols, Results
from rffbench.report.style import METADATA, RC, STYLES, legend_below, log_axis, size_axis, tidy_panel
from rffbench.report.summary import summarise

FORMATS = ("png", "pdf", "svg")

MOST_PROTOCOLS = 8
"""Combinations of a sweep that figures are drawn for each: of more than these, only those of all together."""


def draw_figures(protocols: Protocols, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Draw every dataset's figures of the protocols of one folder; the paths written.

    ``figures/<dataset>.<format>`` has what was measured against the number of frequencies s (log): the relative kernel
    error ‖K − ZZ′‖₂/‖K‖₂ (log) or whatever else was measured of the kernel matrix, the score, and the seconds to
    generate the training features (log), each the mean over trials with bars of ± one standard deviation. A panel
    without a measurement is left out, and so is a figure of one method at one size. ``<dataset>-lambda`` has the score
    at every λ and ``<dataset>-progress`` the progress of a solver, where trials kept these; ``<dataset>-time`` the
    score against training time, where this is comparable; ``<dataset>-bounds`` errors of maps alone beside what theory
    promises; ``dimension`` what maps measure and take on synthetic data of many dimensions. Of a sweep the names have
    the protocol's labels behind them.

    Raises ConfigError for a format that is not one of ``FORMATS``.
    """
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"unknown figure format {name!r}: choose from {', '.join(FORMATS)}")
    folder, paths = protocols[0][1].folder / "figures", []
    with mpl.rc_context(RC):
        for dataset, labels, beside_bounds in bound_figures(protocols):
            paths += _saved(beside_bounds, folder, "-".join([dataset, *labels.values(), "bounds"]), formats)
        for labels, results in protocols if len(protocols) <= MOST_PROTOCOLS else []:
            if (overview := dimension_figure(results)) is not None:
                paths += _saved(overview, folder, "-".join([*labels.values(), "dimension"]), formats)
            summary = summarise(results)
            for dataset in results.datasets:
                figures = {"lambda": path_figure(results, dataset), "progress": progress_figure(results, dataset)}
                cells = summary[(summary["dataset"] == dataset) & (summary["n_ok"] > 0)]
                if cells.groupby(["method", "n_features"]).ngroups > 1:
                    figures[""] = dataset_figure(results, cells, dataset)
                    figures["time"] = score_time_figure(results, dataset)
                for kind, figure in figures.items():
                    if figure is not None:
                        if labels:
                            figure.suptitle(", ".join([figure.get_suptitle(), *labels.values()]), fontsize=8.5)
                        stem = "-".join(part for part in (dataset, *labels.values(), kind) if part)
                        paths += _saved(figure, folder, stem, formats)
    return paths


def _saved(figure: Figure, folder: Path, stem: str, formats: Sequence[str]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    stem = re.sub(r"[^\w.-]+", "_", stem)
    paths = [folder / f"{stem}.{name}" for name in formats]
    for path in paths:
        name = path.suffix[1:]
        figure.savefig(path, format=name, metadata=METADATA[name])
    return paths


def dataset_figure(results: Results, summary: pd.DataFrame, dataset: str) -> Figure | None:
    """One dataset's panels from its rows of the summary; None where nothing was measured."""
    wanted = [METRICS[name] for name in
              dict.fromkeys([*MAP_MEASURES, results.score(dataset).name, "relative_rmse", "feature_s"])]  # fmt: skip
    no_map = (summary["metric"] == "feature_s") & (summary["mean"] == 0)
    summary = summary[(summary["n_ok"] > 0) & ~no_map]
    levels = _without_size(results, summary)
    measured = set(summary.loc[~summary["method"].isin(levels), "metric"])
    metrics = [metric for metric in wanted if metric.name in measured]
    if not metrics:
        return None
    figure = Figure(figsize=(2.45 * len(metrics), 2.75), layout="constrained")
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    handles: dict[str, Any] = {}
    for letter, panel, metric in zip(ascii_lowercase, panels, metrics, strict=False):
        here = summary[summary["metric"] == metric.name]
        sized = here[~here["method"].isin(levels)]
        _draw_panel(panel, sized, metric, results.methods)
        for method, mean in here.loc[here["method"].isin(levels), ["method", "mean"]].itertuples(index=False):
            if metric.name in SCORES:
                color = STYLES[results.methods.index(method) % len(STYLES)]["color"]
                panel.axhline(mean, label=method, color=color, linestyle=(0, (6, 3)), linewidth=0.9)
        panel.set_title(f"({letter}) {metric.label}")
        panel.set_xlabel(_size_name(results, sized))
        found, names = panel.get_legend_handles_labels()
        handles |= dict(zip(names, found, strict=True))
    legend_below(figure, {method: handles[method] for method in results.methods if method in handles})
    mark = results.mark(dataset)
    figure.suptitle(f"{dataset}: {mark}" if mark else dataset, fontsize=8.5)
    return figure


def _without_size(results: Results, summary: pd.DataFrame) -> list[str]:
    """The methods without a feature map that have a single size, which then means nothing: lines across the panels.
    None of them where there is no other method."""
    sizes = summary.groupby("method")["n_features"].nunique()
    levels = [method for method, count in sizes.items()
              if count == 1 and results.config["methods"][method].get("features") == "none"]  # fmt: skip
    return [str(method) for method in levels] if len(levels) < len(sizes) else []


def _draw_panel(panel: Axes, summary: pd.DataFrame, metric: Metric, methods: list[str]) -> None:
    logarithmic = metric.name != "accuracy"
    for index, method in enumerate(methods):
        cells = summary[summary["method"] == method]
        if cells.empty:
            continue
        s, mean, std = (cells[name].to_numpy(float) for name in ("n_features", "mean", "std"))
        below = above = np.nan_to_num(std)
        if logarithmic:  # a bar that would reach zero ends a decade below the mean
            below = np.minimum(below, 0.9 * mean)
        # Methods that agree would hide each other: each stands a little to the side of its size.
        side = 1.11 ** (index / max(len(methods) - 1, 1) - 0.5)
        panel.errorbar(s * side, mean, yerr=np.stack([below, above]), label=method, capsize=1.8,
                       elinewidth=0.8, capthick=0.8, **STYLES[index % len(STYLES)])
    panel.set_xscale("log")
    if logarithmic:
        log_axis(panel)
    size_axis(panel, summary[["n_features", "multiple"]].drop_duplicates().sort_values("n_features"))
    tidy_panel(panel)


def _size_name(results: Results, sizes: pd.DataFrame) -> str:
    """What s counts, and the input dimension where the sizes are multiples of it."""
    if results.config.get("count") == "columns":
        return "columns"
    if sizes["multiple"].isna().any():
        return "frequencies s"
    return f"frequencies s (d = {sizes['n_features'].iloc[0] // sizes['multiple'].iloc[0]})"
