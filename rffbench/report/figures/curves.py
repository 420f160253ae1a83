"""Figures of what happens within trials: the score against the effective λ, and a solver's progress against time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rffbench.report.figures.style import STYLES, legend_below, legend_label, log_axis, tidy_panel
from rffbench.report.frame import Results, size_label
from rffbench.trials.metrics import METRICS, SCORES

MOST_SIZES = 4
"""Panels of a λ figure: more sizes than these are thinned out evenly."""
LEAST_DIMENSION = 0.1  # below this effective dimension a fit is all but constant


def path_figure(results: Results, dataset: str) -> Figure | None:
    """The test score at every λ against the effective λ, a panel per size, a curve per method; None without such paths.

    The effective λ is λ over the mean squared length of a row of features: where methods differ by a scale of their
    features only, their curves lie on one another. Where trials kept the effective dimension of the training features
    at every λ, a second row of panels has the score against that. Means over trials, at the geometric mean of their
    effective λ or dimension, with bands of ± one standard deviation; a dot at the mean of what cross-validation chose.
    """
    curves = results.curves[results.curves["dataset"] == dataset]
    score = results.score(dataset)
    if "effective_lambda" not in curves or score.name not in curves:
        return None
    yardsticks = {"effective_lambda": METRICS["effective_lambda"].label}
    if "effective_dimension" in curves and curves["effective_dimension"].notna().any():
        yardsticks["effective_dimension"] = "effective dimension"
    sizes = curves[["n_features", "multiple"]].drop_duplicates().sort_values("n_features")
    sizes = sizes.iloc[np.unique(np.linspace(0, len(sizes) - 1, MOST_SIZES).round().astype(int))]
    narrowest = 4.2 if len(yardsticks) == 1 else 5.8
    figure = Figure(figsize=(max(2.05 * len(sizes), narrowest), 0.5 + 2.2 * len(yardsticks)), layout="constrained")
    rows = figure.subplots(len(yardsticks), len(sizes), squeeze=False, sharey=True)
    trials = results.trials[(results.trials["dataset"] == dataset) & (results.trials["status"] == "ok")]
    for panels, (yardstick, label) in zip(rows, yardsticks.items(), strict=True):
        for panel, (n, multiple) in zip(panels, sizes.itertuples(index=False), strict=True):
            here, chosen = curves[curves["n_features"] == n], trials[trials["n_features"] == n]
            for index, method in enumerate(results.methods):
                mine = here[here["method"] == method].dropna(subset=[yardstick])
                if not mine.empty:
                    style = STYLES[index % len(STYLES)]
                    _draw_path(panel, mine, chosen[chosen["method"] == method], yardstick, score.name, method, style)
            panel.set_xscale("log")
            if yardstick == "effective_dimension":
                panel.set_xlim(left=LEAST_DIMENSION)
            panel.set_title(f"s = {size_label(n, multiple)}")
            panel.set_xlabel(label)
            tidy_panel(panel)
        panels[0].set_ylabel(score.label)
    _legend(figure, rows[0][0])
    figure.suptitle(f"{dataset}: the score at every λ (large dots: λ by cross-validation)", fontsize=8.5)
    return figure


def _draw_path(
    panel: Axes,
    curve: pd.DataFrame,
    trials: pd.DataFrame,
    yardstick: str,
    score: str,
    method: str,
    style: dict[str, Any],
) -> None:
    by_lambda = curve.groupby("lambda")
    at = np.exp(by_lambda[yardstick].apply(lambda values: np.log(values).mean()))
    mean, std = by_lambda[score].mean(), by_lambda[score].std().fillna(0)
    panel.plot(at, mean, label=legend_label(method), **{**style, "markersize": 2.6})
    panel.fill_between(at, mean - std, mean + std, color=style["color"], alpha=0.12, linewidth=0)
    chosen = trials[["trial", "lambda"]].merge(curve[["trial", "lambda", yardstick]], on=["trial", "lambda"])
    x = float(np.exp(np.log(chosen[yardstick]).mean()))
    panel.plot([x], [trials[score].mean()], "o", color=style["color"], markersize=6, alpha=0.55, markeredgewidth=0)


def progress_figure(results: Results, dataset: str) -> Figure | None:
    """Objective and test error against a solver's time, one curve per method that kept them; None if none did.

    Methods that kept no curve but have an objective or a score (the kernel machine) are dashed lines across.
    """
    curves = results.curves[results.curves["dataset"] == dataset]
    if "time" not in curves or "objective" not in curves:
        return None
    curves = curves[curves["time"].notna()]
    shown = [name for name in ("objective", "test_error", "nonzeros") if name in curves and curves[name].notna().any()]
    figure = Figure(figsize=(2.6 * len(shown), 2.8), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    with_curves = set(curves["method"])
    for panel, name in zip(panels, shown, strict=True):
        for index, method in enumerate(results.methods):
            style = STYLES[index % len(STYLES)]
            if method in with_curves:
                for number, (_, mine) in enumerate(curves[curves["method"] == method].groupby("trial")):
                    panel.plot(mine["time"], mine[name], label=legend_label(method) if number == 0 else None,
                               **{**style, "marker": "", "linewidth": 1.0})  # fmt: skip
            elif (level := _level(results, dataset, method, name)) is not None:
                panel.axhline(
                    level, label=legend_label(method), color=style["color"], linestyle=(0, (6, 3)), linewidth=0.9
                )
        panel.set_xlabel(METRICS["train_s"].label)
        panel.set_title(METRICS[name].label)
        panel.set_xscale("log")
        if name == "objective":
            log_axis(panel)
        tidy_panel(panel)
    _legend(figure, panels[0])
    figure.suptitle(dataset, fontsize=8.5)
    return figure


def score_time_figure(results: Results, dataset: str) -> Figure | None:
    """The score against the time to make the training features and to learn, both means over trials: one curve per
    method through its sizes, or a dot if it has no features. Where a dataset has a relative RMSE, it is that.

    None where the trials' seconds are not comparable (timing: exclusive was not asked for) or nothing was learnt.
    """
    trials = results.trials[(results.trials["dataset"] == dataset) & (results.trials["status"] == "ok")]
    score = METRICS["relative_rmse"] if trials["relative_rmse"].notna().any() else results.score(dataset)
    trials = trials.dropna(subset=[score.name, "train_s"])
    if results.grid.exclusive is not True or score.name not in SCORES or trials.empty:
        return None
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    panel = figure.subplots()
    for index, method in enumerate(results.methods):
        sizes = trials[trials["method"] == method].groupby("n_features")[["train_s", score.name]]
        mean, std = sizes.mean(), sizes.std().fillna(0)
        if len(mean):
            panel.errorbar(mean["train_s"], mean[score.name], xerr=np.minimum(std["train_s"], 0.9 * mean["train_s"]),
                           yerr=std[score.name], label=legend_label(method), elinewidth=0.7, capsize=1.4,
                           **STYLES[index % len(STYLES)])  # fmt: skip
    panel.set_xscale("log")
    panel.set_xlabel("time to map the training rows and to learn (s)")
    panel.set_ylabel(score.label)
    tidy_panel(panel)
    _legend(figure, panel)
    contended = " (seconds not comparable: other work ran beside some)" if trials["contended"].any() else ""
    figure.suptitle(dataset + contended, fontsize=8.5)
    return figure


def _level(results: Results, dataset: str, method: str, name: str) -> float | None:
    """What a method without a curve comes to, as the curve's column has it; None where it has no such figure."""
    trials = results.trials
    mine = trials[(trials["dataset"] == dataset) & (trials["method"] == method) & (trials["status"] == "ok")]
    score = results.score(dataset)
    if name == "test_error":
        value = 1 - mine["accuracy"].mean() / 100 if score == METRICS["accuracy"] else mine[score.name].mean()
    else:
        value = mine[name].mean() if name in mine else np.nan
    return None if pd.isna(value) else float(value)


def _legend(figure: Figure, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    legend_below(figure, dict(zip(labels, handles, strict=True)))
