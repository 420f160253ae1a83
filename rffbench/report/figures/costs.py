"""Figures of the score against its costs, seconds and memory, with the Pareto front."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rffbench.report.figures import style as draw
from rffbench.report.frame import Results
from rffbench.report.pareto import pareto_front
from rffbench.trials.metrics import METRICS, SCORES, TIMES

COSTS = ("feature_s", "train_s", "predict_s", "own_memory_bytes")
_ALONE: dict[str, tuple[str, ...]] = {"shared": (), "features": ("feature_s",), "exclusive": TIMES}
"""By the config's `timing`, the seconds that are taken while nothing else runs."""
_FRONT: dict[str, Any] = {"color": "#999999", "linewidth": 3.5, "alpha": 0.5, "solid_capstyle": "round", "zorder": 1}


def cost_figure(results: Results, dataset: str, called: str | None = None) -> Figure | None:
    """The score against every measured cost, one panel each: means over trials with bars of ± one standard deviation,
    one curve per method through its sizes, and behind them the Pareto front.

    Of seconds only those are shown that were taken alone. None without a solver, or with a single point.
    """
    score, trials = _score_and_trials(results, dataset)
    possible = [each for each in COSTS if each not in TIMES or each in _ALONE[results.grid.timing]]
    costs = [name for name in draw.chosen(possible, possible) if (trials[name] > 0).any()]
    if score not in SCORES or trials.groupby(["method", "n_features"]).ngroups < 2 or not costs:
        return None
    figure, axes = draw.panels(len(costs), 2.6, 2.5, least=3.4, above=0.35)
    for panel, cost in zip(axes, costs, strict=True):
        _draw(panel, results, trials[trials[cost] > 0], cost, score)
        panel.set_xlabel(f"{METRICS[cost].short} ({METRICS[cost].unit})")
    axes[0].set_ylabel(METRICS[score].label)
    draw.legend_below(figure, draw.handles_of(axes))
    times = trials["contended"].any() and any(cost in TIMES for cost in costs)
    draw.headline(figure, f"{called or results.called(dataset)}: the score against its cost",
                  draw.spread(trials.groupby(["method", "n_features"]).size()), "grey: Pareto front",
                  draw.HOLLOW if times else "")  # fmt: skip
    return figure


def score_time_figure(results: Results, dataset: str, called: str | None = None) -> Figure | None:
    """The score (the relative RMSE, if the dataset has it) against the time to map the training rows and to learn:
    means over trials, one curve per method through its sizes, or a dot for a method without features.

    None if seconds are not comparable (the config lacks `timing: exclusive`), without a solver, or with a single point.
    """
    score, trials = _score_and_trials(results, dataset)
    trials = trials.dropna(subset=["train_s"])
    points = trials.groupby(["method", "n_features"]).ngroups
    if results.grid.timing != "exclusive" or score not in SCORES or points < 2:
        return None
    figure, (panel,) = draw.panels(1, 4.6, 3.4)
    _draw(panel, results, trials, "train_s", score, front=False)
    panel.set_xlabel("time to map the training rows and to learn (s)")
    panel.set_ylabel(METRICS[score].label)
    draw.legend_below(figure, draw.handles_of([panel]))
    spread = draw.spread(trials.groupby(["method", "n_features"]).size())
    draw.headline(figure, called or results.called(dataset), spread, draw.HOLLOW if trials["contended"].any() else "")
    return figure


def _score_and_trials(results: Results, dataset: str) -> tuple[str, pd.DataFrame]:
    """The score that figures show of a dataset, and the trials that have it."""
    trials = results.trials[(results.trials["dataset"] == dataset) & (results.trials["status"] == "ok")]
    score = "relative_rmse" if trials["relative_rmse"].notna().any() else results.score(dataset).name
    return score, trials.dropna(subset=[score])


def _draw(panel: Axes, results: Results, trials: pd.DataFrame, cost: str, score: str, *, front: bool = True) -> None:
    means = trials.groupby(["method", "n_features"])[[cost, score]].mean().dropna()
    if front:
        on = means[pareto_front(means[cost], means[score], str(METRICS[score].better))].sort_values(cost)
        panel.plot(on[cost], on[score], drawstyle="steps-post", **_FRONT)
    for index, method in enumerate(results.methods):
        mine, style = trials[trials["method"] == method], draw.style_of(index)
        sizes = mine.groupby("n_features")[[cost, score]]
        mean, std = sizes.mean(), sizes.std().fillna(0)
        if len(mean):
            xerr, label = draw.bars(mean[cost], std[cost]), draw.legend_label(method)
            panel.errorbar(mean[cost], mean[score], xerr=xerr, yerr=std[score], elinewidth=0.7, capsize=1.4,
                           label=label, **style)  # fmt: skip
            if cost in TIMES:
                contended = mine.groupby("n_features")["contended"].any()
                draw.hollow(panel, mean.loc[contended, cost], mean.loc[contended, score], style)
    draw.log_axis(panel.xaxis)
    draw.tidy_panel(panel)
