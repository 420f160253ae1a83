"""Figures of what goes on within trials: the score against the effective λ, and a solver's progress against time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rffbench.report.frame import METRICS, SCORES, Results, size_label
from rffbench.report.style import STYLES, legend_below, log_axis, tidy_panel

MOST_SIZES = 4
"""Panels of a λ figure: more sizes than these are thinned out evenly."""


def path_figure(results: Results, dataset: str) -> Figure | None:
    """The test score at every λ against the effective λ, a panel a size, a curve a method; None without such paths.

    The effective λ is λ over the mean squared length of a row of features: where methods differ by a scale of their
    features only, their curves lie on one another. Means over trials, at the geometric mean of their effective λ, with
    bands of ± one standard deviation; a dot at the mean of what cross-validation chose.
    """
    curves = results.curves[results.curves["dataset"] == dataset]
    score = results.score(dataset)
    if "effective_lambda" not in curves or score.name not in curves:
        return None
    sizes = curves[["n_features", "multiple"]].drop_duplicates().sort_values("n_features")
    sizes = sizes.iloc[np.unique(np.linspace(0, len(sizes) - 1, MOST_SIZES).round().astype(int))]
    figure = Figure(figsize=(max(2.05 * len(sizes), 4.2), 2.7), layout="constrained")
    panels = figure.subplots(1, len(sizes), squeeze=False, sharey=True)[0]
    trials = results.trials[(results.trials["dataset"] == dataset) & (results.trials["status"] == "ok")]
    for panel, (n, multiple) in zip(panels, sizes.itertuples(index=False), strict=True):
        here = curves[curves["n_features"] == n]
        for index, method in enumerate(results.methods):
            mine = here[here["method"] == method]
            if mine.empty:
                continue
            style = STYLES[index % len(STYLES)]
            by_lambda = mine.groupby("lambda")
            at = np.exp(by_lambda["effective_lambda"].apply(lambda values: np.log(values).mean()))
            mean, std = by_lambda[score.name].mean(), by_lambda[score.name].std().fillna(0)
            panel.plot(at, mean, label=method, **{**style, "markersize": 2.6})
            panel.fill_between(at, mean - std, mean + std, color=style["color"], alpha=0.12, linewidth=0)
            chosen = trials[(trials["n_features"] == n) & (trials["method"] == method)]
            x = float(np.exp(np.log(chosen["effective_lambda"]).mean()))
            panel.plot([x], [chosen[score.name].mean()], "o", color=style["color"], markersize=6, alpha=0.55,
                       markeredgewidth=0)  # fmt: skip
        panel.set_xscale("log")
        panel.set_title(f"s = {size_label(n, multiple)}")
        panel.set_xlabel("effective λ")
        tidy_panel(panel)
    panels[0].set_ylabel(score.label)
    _legend(figure, panels[0])
    figure.suptitle(f"{dataset}: the score at every λ (large dots: λ by cross-validation)", fontsize=8.5)
    return figure


def progress_figure(results: Results, dataset: str) -> Figure | None:
    """Objective and test error against a solver's time, a curve a method that kept them; None where none did.

    Methods that kept no curve but have an objective or a score (the kernel machine) are dashed lines across.
    """
    curves = results.curves[results.curves["dataset"] == dataset]
    if "time" not in curves or "objective" not in curves:
        return None
    curves = curves[curves["time"].notna()]
    shown = [name for name in ("objective", "test_error", "nonzeros") if name in curves and curves[name].notna().any()]
    labels = {"objective": "objective", "test_error": "test error", "nonzeros": "features in the model"}
    figure = Figure(figsize=(2.6 * len(shown), 2.8), layout="constrained")
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    with_curves = set(curves["method"])
    for panel, name in zip(panels, shown, strict=True):
        for index, method in enumerate(results.methods):
            style = STYLES[index % len(STYLES)]
            if method in with_curves:
                for number, (_, mine) in enumerate(curves[curves["method"] == method].groupby("trial")):
                    panel.plot(mine["time"], mine[name], label=method if number == 0 else None,
                               **{**style, "marker": "", "linewidth": 1.0})  # fmt: skip
            elif (level := _level(results, dataset, method, name)) is not None:
                panel.axhline(level, label=method, color=style["color"], linestyle=(0, (6, 3)), linewidth=0.9)
        panel.set_xlabel("training time (s)")
        panel.set_title(labels[name])
        panel.set_xscale("log")
        if name == "objective":
            log_axis(panel)
        tidy_panel(panel)
    _legend(figure, panels[0])
    figure.suptitle(dataset, fontsize=8.5)
    return figure


def score_time_figure(results: Results, dataset: str) -> Figure | None:
    """The score against the time to make the training features and to learn, both means over trials: a curve a method
    through its sizes, a dot for one without features. Where a dataset has a relative RMSE, it is that.

    None where the trials' seconds are not comparable (timing: exclusive was not asked for) or nothing was learnt.
    """
    trials = results.trials[(results.trials["dataset"] == dataset) & (results.trials["status"] == "ok")]
    score = METRICS["relative_rmse"] if trials["relative_rmse"].notna().any() else results.score(dataset)
    trials = trials.dropna(subset=[score.name, "train_s"])
    if results.config.get("timing") != "exclusive" or score.name not in SCORES or trials.empty:
        return None
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    panel = figure.subplots()
    for index, method in enumerate(results.methods):
        sizes = trials[trials["method"] == method].groupby("n_features")[["train_s", score.name]]
        mean, std = sizes.mean(), sizes.std().fillna(0)
        if len(mean):
            panel.errorbar(mean["train_s"], mean[score.name], xerr=np.minimum(std["train_s"], 0.9 * mean["train_s"]),
                           yerr=std[score.name], label=method, elinewidth=0.7, capsize=1.4,
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
