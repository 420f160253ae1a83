"""The figure of each dataset: kernel error, score and time to generate the features against s."""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rffbench.report.figures import style as draw
from rffbench.report.frame import Results, as_written
from rffbench.trials.metrics import ERRORS, MAP_MEASURES, PERCENT, SCORES, TIMES, Metric

MOST_SAME = 4  # groups of curves that coincide which a headline names


def dataset_figure(results: Results, summary: pd.DataFrame, dataset: str, called: str | None = None) -> Figure | None:
    """The panels of one dataset, from its rows of the summary; None if nothing was measured at two sizes."""
    no_map = (summary["metric"] == "feature_s") & (summary["mean"] == 0)
    summary = summary[(summary["n_ok"] > 0) & ~no_map]
    levels = without_size(results, summary)
    sized = summary[~summary["method"].isin(levels)]
    metrics = panel_metrics(results, sized)
    if not metrics or sized["n_features"].nunique() < 2:
        return None
    figure, axes = draw.panels(len(metrics), 2.45, 2.55, above=0.35)
    contended, same = contended_cells(results, dataset), []
    for letter, panel, metric in zip(ascii_lowercase, axes, metrics, strict=False):
        here = summary[summary["metric"] == metric.name]
        mine = here[~here["method"].isin(levels)]
        logarithmic = metric.unit != PERCENT and bool((mine["mean"] > 0).all())
        _draw_panel(panel, mine, logarithmic, results.methods, contended if metric.name in TIMES else set())
        for method, mean in here.loc[here["method"].isin(levels), ["method", "mean"]].itertuples(index=False):
            if metric.name in (*SCORES, *results.own_metrics):
                color = draw.style_of(results.methods.index(method))["color"]
                panel.axhline(mean, label=draw.legend_label(method), color=color, linestyle=(0, (6, 3)), linewidth=0.9)
        panel.set_title(f"({letter}) {metric.label}")
        panel.set_xlabel(_size_name(results, mine))
        curves = {as_written(str(method)): rows.set_index("n_features")["mean"]
                  for method, rows in mine.groupby("method", sort=False)}  # fmt: skip
        same += [f"({letter}) {each}" for each in draw.coinciding(curves, logarithmic)]
    handles = draw.handles_of(axes)
    draw.legend_below(
        figure, {label: handles[label] for label in map(draw.legend_label, results.methods) if label in handles}
    )
    errors = [f"({letter})" for letter, metric in zip(ascii_lowercase, metrics, strict=False) if metric.name in ERRORS]
    drawn = [method for method in results.methods if method in set(sized["method"])]
    differ = results.kernels_differ(dataset, drawn) if errors else ""
    if len(same) > MOST_SAME:
        same[MOST_SAME - 1 :] = [f"{len(same) - MOST_SAME + 1} more groups of curves coincide"]
    shows_contended = any(metric.name in TIMES for metric in metrics) and bool(contended)
    draw.headline(figure, ": ".join(filter(None, [called or results.called(dataset), results.mark(dataset)])),
                  draw.spread(sized["n_ok"]), draw.HOLLOW if shows_contended else "",
                  f"{', '.join(errors)}: {differ}" if differ else "", *same)  # fmt: skip
    return figure


def panel_metrics(results: Results, summary: pd.DataFrame) -> list[Metric]:
    """The metrics that get panels, among those in the dataset's rows of the summary: the style's own, else the errors
    of the kernel matrix, the score, the metrics of other packages, and the seconds to generate the features, unless
    trials shared the machine."""
    measured = set(summary["metric"])
    scores = [name for name in SCORES if name in measured][:1]
    if scores == ["rmse"] and "relative_rmse" in measured:  # the same curves, in the papers' unit
        scores = ["relative_rmse"]
    usual = [*MAP_MEASURES, *scores, *results.own_metrics]
    if results.grid.timing != "shared":
        usual.append("feature_s")
    return [results.metrics[name] for name in draw.chosen(usual, results.metrics) if name in measured]


def contended_cells(results: Results, dataset: str) -> set[tuple[str, int]]:
    """The (method, n_features) with a trial that ran while other work used the processors."""
    trials = results.trials
    mine = trials[(trials["dataset"] == dataset) & (trials["status"] == "ok") & trials["contended"]]
    return set(zip(mine["method"], mine["n_features"], strict=True))


def without_size(results: Results, summary: pd.DataFrame) -> list[str]:
    """The methods without a feature map and with a single size, which means nothing for them: they are horizontal
    lines. Empty if there are no other methods."""
    sizes = summary.groupby("method")["n_features"].nunique()
    levels = [method for method in map(str, sizes.index[sizes == 1]) if results.grid.features(method)["name"] == "none"]
    return levels if len(levels) < len(sizes) else []


def _draw_panel(
    panel: Axes, summary: pd.DataFrame, logarithmic: bool, methods: list[str], contended: set[tuple[str, int]]
) -> None:
    for index, method in enumerate(methods):
        cells = summary[summary["method"] == method]
        beside = np.array([(method, size) in contended for size in cells["n_features"]])
        if len(cells):
            at = draw.aside(cells["n_features"], index, len(methods))
            draw_curve(panel, method, index, at, cells, logarithmic, beside)
    panel.set_xscale("log")
    if logarithmic:
        draw.log_axis(panel.yaxis)
    draw.size_axis(panel, summary[["n_features", "multiple"]].drop_duplicates().sort_values("n_features"))
    draw.tidy_panel(panel)


def draw_curve(
    panel: Axes, method: str, index: int, at: NDArray[np.float64], cells: pd.DataFrame, logarithmic: bool,
    contended: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Draw the means of a method's cells with bars of ± one standard deviation, and hollow markers at ``contended``
    cells."""
    mean, std, style = cells["mean"].to_numpy(float), cells["std"].to_numpy(float), draw.style_of(index)
    yerr = draw.bars(mean, std) if logarithmic else np.nan_to_num(std)
    panel.errorbar(at, mean, yerr=yerr, label=draw.legend_label(method), capsize=1.8, elinewidth=0.8, capthick=0.8,
                   **style)  # fmt: skip
    draw.hollow(panel, at[contended], mean[contended], style)


def _size_name(results: Results, sizes: pd.DataFrame) -> str:
    """The label of the axis of sizes, with the input dimension if sizes are multiples of it."""
    if results.grid.setting("count") == "columns":
        return "columns"
    if sizes["multiple"].isna().any():
        return "frequencies s"
    return f"frequencies s (d = {sizes['n_features'].iloc[0] // sizes['multiple'].iloc[0]})"
