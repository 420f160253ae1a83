"""Figure 1 for every dataset: kernel error, score and time to generate the features against s."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rffbench.report.figures.style import STYLES, legend_below, legend_label, log_axis, size_axis, tidy_panel
from rffbench.report.frame import Results
from rffbench.trials.metrics import MAP_MEASURES, PERCENT, SCORES, Metric


def dataset_figure(results: Results, summary: pd.DataFrame, dataset: str) -> Figure | None:
    """One dataset's panels from its rows of the summary; None where nothing was measured."""
    own, score = results.own_metrics, results.score(dataset).name
    wanted = [results.metrics[name] for name in
              dict.fromkeys([*MAP_MEASURES, score, "relative_rmse", *own, "feature_s"])]  # fmt: skip
    no_map = (summary["metric"] == "feature_s") & (summary["mean"] == 0)
    summary = summary[(summary["n_ok"] > 0) & ~no_map]
    levels = without_size(results, summary)
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
            if metric.name in (*SCORES, *own):
                color = STYLES[results.methods.index(method) % len(STYLES)]["color"]
                panel.axhline(mean, label=legend_label(method), color=color, linestyle=(0, (6, 3)), linewidth=0.9)
        panel.set_title(f"({letter}) {metric.label}")
        panel.set_xlabel(_size_name(results, sized))
        found, names = panel.get_legend_handles_labels()
        handles |= dict(zip(names, found, strict=True))
    labels = map(legend_label, results.methods)
    legend_below(figure, {label: handles[label] for label in labels if label in handles})
    mark = results.mark(dataset)
    figure.suptitle(f"{dataset}: {mark}" if mark else dataset, fontsize=8.5)
    return figure


def without_size(results: Results, summary: pd.DataFrame) -> list[str]:
    """The methods without a feature map that have a single size, which then means nothing: lines across the panels.
    None of them where there is no other method."""
    sizes = summary.groupby("method")["n_features"].nunique()
    levels = [method for method in map(str, sizes.index[sizes == 1]) if results.grid.features(method)["name"] == "none"]
    return levels if len(levels) < len(sizes) else []


def _draw_panel(panel: Axes, summary: pd.DataFrame, metric: Metric, methods: list[str]) -> None:
    logarithmic = metric.unit != PERCENT and bool((summary["mean"] > 0).all())
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
        panel.errorbar(
            s * side,
            mean,
            yerr=np.stack([below, above]),
            label=legend_label(method),
            capsize=1.8,
            elinewidth=0.8,
            capthick=0.8,
            **STYLES[index % len(STYLES)],
        )
    panel.set_xscale("log")
    if logarithmic:
        log_axis(panel)
    size_axis(panel, summary[["n_features", "multiple"]].drop_duplicates().sort_values("n_features"))
    tidy_panel(panel)


def _size_name(results: Results, sizes: pd.DataFrame) -> str:
    """What s counts, and the input dimension where the sizes are multiples of it."""
    if results.grid.setting("count") == "columns":
        return "columns"
    if sizes["multiple"].isna().any():
        return "frequencies s"
    return f"frequencies s (d = {sizes['n_features'].iloc[0] // sizes['multiple'].iloc[0]})"
