"""Every figure of an experiment: drawn from its trials, saved, named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from rffbench.errors import ConfigError
from rffbench.report.figures.bounds import bound_figures
from rffbench.report.figures.costs import cost_figure, score_time_figure
from rffbench.report.figures.curves import path_figure, progress_figure
from rffbench.report.figures.dataset import dataset_figure
from rffbench.report.figures.dimension import dimension_figure
from rffbench.report.figures.leverage import leverage_figures
from rffbench.report.figures.style import SCREEN, Style, drawn_in, saved
from rffbench.report.figures.sweep import sweep_figures
from rffbench.report.frame import Protocols, protocol_names
from rffbench.report.summary import summarise

FORMATS = ("png", "pdf", "svg")
MOST_PROTOCOLS = 8
"""Combinations of a sweep that figures are drawn for each: of more than these, only those of all together."""


def draw_figures(
    protocols: Protocols,
    formats: Sequence[str] = ("png",),
    style: Style = SCREEN,
    summaries: Sequence[pd.DataFrame] | None = None,
) -> list[Path]:
    """Draw every dataset's figures of the protocols of one folder; the paths written.

    ``figures/<dataset>.<format>`` has what was measured against the number of frequencies s (log): the relative
    kernel error ‖K − ZZ′‖₂/‖K‖₂ (log) or what else was measured of the kernel matrix, the score, and the seconds to
    generate the training features (log), each the mean over trials with bars of ± one standard deviation. A panel
    without a measurement is left out, and so is a figure of one method at one size. ``<dataset>-lambda`` has the
    score at every λ and ``<dataset>-progress`` the progress of a solver, where trials kept these; ``<dataset>-time``
    the score against training time, where this is comparable; ``<dataset>-cost`` the score against every cost;
    ``<dataset>-bounds`` errors of maps alone next to what theory promises; ``<dataset>-leverage`` the dimensions and
    the error that leverage sampling's theory speaks of; ``<dataset>-by-<axis>`` what was measured against an axis of a
    sweep whose labels are numbers; ``dimension`` what maps measure and take on synthetic data of many dimensions. Of a
    sweep the names have the protocol's labels behind them. A dataset of a single size has no figure of what depends on
    the size.

    Raises ConfigError for a format that is not one of ``FORMATS``.
    """
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"unknown figure format {name!r}: choose from {', '.join(FORMATS)}")
    paths: list[Path] = []
    folder = protocols[0][1].folder
    with drawn_in(style):
        for dataset, labels, beside_bounds in bound_figures(protocols):
            paths += saved(beside_bounds, folder, "-".join([dataset, *labels.values(), "bounds"]), formats)
        for dataset, theory in leverage_figures(protocols):
            paths += saved(theory, folder, f"{dataset}-leverage", formats)
        if protocols[0][0]:
            summaries = summaries or [summarise(results) for _, results in protocols]
            for stem, swept in sweep_figures(protocols, summaries):
                paths += saved(swept, folder, stem, formats)
        for number, (labels, results) in enumerate(protocols if len(protocols) <= MOST_PROTOCOLS else []):
            if (overview := dimension_figure(results)) is not None:
                paths += saved(overview, folder, "-".join([*labels.values(), "dimension"]), formats)
            summary = summaries[number] if summaries else summarise(results)
            for dataset in results.datasets:
                called = ", ".join([results.called(dataset), *protocol_names(labels)])
                figures = {
                    "lambda": path_figure(results, dataset, called),
                    "progress": progress_figure(results, dataset, called),
                }
                cells = summary[(summary["dataset"] == dataset) & (summary["n_ok"] > 0)]
                if cells.groupby(["method", "n_features"]).ngroups > 1:
                    figures[""] = dataset_figure(results, cells, dataset, called)
                    figures["time"] = score_time_figure(results, dataset, called)
                    figures["cost"] = cost_figure(results, dataset, called)
                for kind, figure in figures.items():
                    if figure is not None:
                        stem = "-".join(part for part in (dataset, *labels.values(), kind) if part)
                        paths += saved(figure, folder, stem, formats)
    return paths
