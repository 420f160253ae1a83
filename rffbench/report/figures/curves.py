"""Figures of curves within trials: the score against the effective λ, and a solver's progress against time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rffbench.report.figures import style as draw
from rffbench.report.frame import Results, as_written, size_label
from rffbench.trials.metrics import METRICS, PERCENT

_PROGRESS = ("objective", "residual", "test_error", "nonzeros")
_FALLING = ("objective", "residual")  # they fall by orders of magnitude
_NARROWEST = 1.6  # inches of a panel, in a figure with one per size
_MARKED = 3  # every third point has a marker
LEAST_DIMENSION = 0.1  # below this effective dimension a fit is nearly constant


def path_figure(results: Results, dataset: str, called: str | None = None) -> Figure | None:
    """The test score at every λ against the effective λ, one panel per size, one curve per method; None if trials did
    not keep such paths.

    The effective λ is λ over the mean squared length of a row of features, so that curves coincide if methods differ
    only by a scale of their features. If trials kept the effective dimension of the training features at every λ, a
    second row of panels has the score against that. Points are means over trials, at the geometric mean of effective λ
    or dimension, with bands of ± one standard deviation; a dot is at the mean of the choices of cross-validation.
    """
    curves = results.curves[results.curves["dataset"] == dataset]
    score = results.score(dataset)
    if "effective_lambda" not in curves or score.name not in curves:
        return None
    at_zero = bool((curves["effective_lambda"] == 0).any())
    curves = curves[curves["effective_lambda"] > 0]
    if curves.empty:  # only trials of other datasets kept paths
        return None
    scales = {"effective_lambda": METRICS["effective_lambda"].label}
    if "effective_dimension" in curves and curves["effective_dimension"].notna().any():
        scales["effective_dimension"] = "effective dimension"
    sizes = draw.thinned(curves[["n_features", "multiple"]].drop_duplicates().sort_values("n_features"))
    narrowest = 4.2 if len(scales) == 1 else 5.8
    width = draw.fitting(max(2.05 * len(sizes), narrowest))
    sizes = draw.thinned(sizes, min(len(sizes), int(width / _NARROWEST)))
    figure = Figure(figsize=(width, 0.7 + 2.2 * len(scales)), layout="constrained")
    rows = figure.subplots(len(scales), len(sizes), squeeze=False, sharey=True)
    trials = results.trials[(results.trials["dataset"] == dataset) & (results.trials["status"] == "ok")]
    same: dict[str, list[str]] = {}
    for row, (scale, label) in zip(rows, scales.items(), strict=True):
        for panel, (n_features, multiple) in zip(row, sizes.itertuples(index=False), strict=True):
            here, chosen = curves[curves["n_features"] == n_features], trials[trials["n_features"] == n_features]
            for index, method in enumerate(results.methods):
                mine = here[here["method"] == method].dropna(subset=[scale])
                if not mine.empty:
                    picked = chosen[chosen["method"] == method]
                    _draw_path(panel, mine, picked, scale, score.name, method, index)
            panel.set_xscale("log")  # before its limits, whose margins depend on the scale
            if scale == "effective_dimension":
                panel.set_xlim(left=LEAST_DIMENSION)
            draw.log_axis(panel.xaxis)
            by_lambda = {as_written(str(method)): rows.groupby("lambda")[score.name].mean()
                         for method, rows in here.groupby("method", sort=False)}  # fmt: skip
            if scale == "effective_lambda":
                for each in draw.coinciding(by_lambda, False):
                    same.setdefault(each, []).append(size_label(n_features, multiple))
            panel.set_title(f"s = {size_label(n_features, multiple)}")
            panel.set_xlabel(label)
            draw.tidy_panel(panel)
        row[0].set_ylabel(score.label)
    draw.legend_below(figure, draw.handles_of([rows[0][0]]))
    counts = curves.groupby(["method", "n_features"])["trial"].nunique()
    notes = [f"at s\u00a0=\u00a0{', '.join(at)}, by λ, {each}" for each, at in same.items()]
    notes += ["λ = 0 has no place on the axis"] if at_zero else []
    title = f"{called or results.called(dataset)}: the score at every λ (large dots: λ by cross-validation)"
    draw.headline(figure, title, draw.spread(counts, "bands"), *notes)
    return figure


def _draw_path(
    panel: Axes, curve: pd.DataFrame, trials: pd.DataFrame, scale: str, score: str, method: str, index: int
) -> None:
    """Draw the curve of the method with this number. Every few points have a marker, and neighbouring methods have it
    at other points, so that they do not hide it if curves coincide."""
    style = draw.style_of(index)
    by_lambda = curve.groupby("lambda")
    at = np.exp(by_lambda[scale].apply(lambda values: np.log(values[values > 0]).mean()))
    mean, std = by_lambda[score].mean(), by_lambda[score].std().fillna(0)
    marked = {"markersize": 3.2, "markevery": (index % _MARKED, _MARKED)}
    panel.plot(at, mean, label=draw.legend_label(method), **{**style, **marked})
    panel.fill_between(at, mean - std, mean + std, color=style["color"], alpha=0.12, linewidth=0)
    chosen = trials[["trial", "lambda"]].merge(curve[["trial", "lambda", scale]], on=["trial", "lambda"])
    if chosen.empty:  # every trial chose λ = 0
        return
    x = float(np.exp(np.log(chosen[scale]).mean()))
    panel.plot([x], [trials[score].mean()], "o", color=style["color"], markersize=6, alpha=0.55, markeredgewidth=0)


def progress_figure(results: Results, dataset: str, called: str | None = None) -> Figure | None:
    """Objective, residual and test error against a solver's time, and below, if the solver counts them, against its
    passes over the rows: one curve per trial. None if no trial kept such curves. The test error is in percent, or the
    main metric of a regression.

    A method without curves, but with an objective or a score (the kernel machine), is a dashed horizontal line. Each
    size of a method has its own style.
    """
    curves = results.curves[results.curves["dataset"] == dataset]
    if "time" not in curves:
        return None
    curves = curves[curves["time"].notna()]
    shown = [name for name in draw.chosen(_PROGRESS, _PROGRESS) if name in curves and curves[name].notna().any()]
    if curves.empty or not shown:  # only trials of other datasets kept curves
        return None
    counted = "passes" in curves and curves["passes"].notna().any()
    figure, axes = draw.panels(len(shown), 2.6, 2.6, above=0.35, under=2.6 if counted else 0.0)
    lines = _lines(results, curves)
    for number, panel in enumerate(axes):
        name, against = shown[number % len(shown)], "passes" if number >= len(shown) else "time"
        factor = 100.0 if name == "test_error" and results.score(dataset).unit == PERCENT else 1.0
        for index, (label, method, mine) in enumerate(lines):
            style = {**draw.style_of(index), "marker": ""}
            for which, (_, trial) in enumerate(mine.groupby("trial")):
                panel.plot(trial[against], factor * trial[name], label=label if which == 0 else None, **style)
            if mine.empty and (level := _level(results, dataset, method, name)) is not None:
                panel.axhline(level, label=label, color=style["color"], linestyle=(0, (6, 3)), linewidth=0.9)
        panel.set_xlabel(METRICS["train_s" if against == "time" else "passes"].label)
        panel.set_title(_progress_title(results, dataset, name))
        if against == "time":
            draw.log_axis(panel.xaxis)
        if name in _FALLING:
            draw.log_axis(panel.yaxis)
        draw.tidy_panel(panel)
    handles = draw.handles_of(axes)
    draw.legend_below(figure, handles)
    with_curves = {label for label, _, mine in lines if not mine.empty}
    trials = results.trials[(results.trials["dataset"] == dataset) & results.trials["method"].isin(curves["method"])]
    beside = "some trials ran beside other work: their times are not comparable" if trials["contended"].any() else ""
    across = "dashed across: means of methods without a curve" if handles.keys() - with_curves else ""
    draw.headline(figure, called or results.called(dataset), "a line is a single trial", across, beside)
    return figure


def _lines(results: Results, curves: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    """(label, method, curves) of everything with its own style: each size of a method. The curves may be empty."""
    found = []
    for method in results.methods:
        mine = curves[curves["method"] == method]
        sizes = mine[["n_features", "multiple"]].drop_duplicates().sort_values("n_features")
        if len(sizes) < 2:
            found.append((draw.legend_label(method), method, mine))
            continue
        for size, multiple in sizes.itertuples(index=False):
            label = draw.legend_label(f"{method}, s = {size_label(size, multiple)}")
            found.append((label, method, mine[mine["n_features"] == size]))
    return found


def _progress_title(results: Results, dataset: str, name: str) -> str:
    if name != "test_error":
        return METRICS[name].label
    score = results.score(dataset)
    return f"test error ({PERCENT})" if score.unit == PERCENT else score.label


def _level(results: Results, dataset: str, method: str, name: str) -> float | None:
    """The final value of a curve's column for a method without curves; None if it has none."""
    trials = results.trials
    mine = trials[(trials["dataset"] == dataset) & (trials["method"] == method) & (trials["status"] == "ok")]
    score = results.score(dataset)
    if name == "test_error":
        value = 100 - mine["accuracy"].mean() if score == METRICS["accuracy"] else mine[score.name].mean()
    else:
        value = mine[name].mean() if name in mine else np.nan
    return None if pd.isna(value) else float(value)
