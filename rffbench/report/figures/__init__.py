"""Every figure of an experiment: drawn from its trials, saved, named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from rffbench.errors import ConfigError
from rffbench.report.figures.bounds import bound_figures
from rffbench.report.figures.curves import path_figure, progress_figure, score_time_figure
from rffbench.report.figures.dataset import dataset_figure
from rffbench.report.figures.dimension import dimension_figure
from rffbench.report.figures.leverage import leverage_figures
from rffbench.report.figures.style import RC, saved
from rffbench.report.frame import Protocols
from rffbench.report.summary import summarise

FORMATS = ("png", "pdf", "svg")
MOST_PROTOCOLS = 8
"""Combinations of a sweep that figures are drawn for each: of more than these, only those of all together."""


def draw_figures(protocols: Protocols, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Draw every dataset's figures of the protocols of one folder; the paths written.

    ``figures/<dataset>.<format>`` has what was measured against the number of frequencies s (log): the relative
    kernel error ‖K − ZZ′‖₂/‖K‖₂ (log) or what else was measured of the kernel matrix, the score, and the seconds to
    generate the training features (log), each the mean over trials with bars of ± one standard deviation. A panel
    without a measurement is left out, and so is a figure of one method at one size. ``<dataset>-lambda`` has the
    score at every λ and ``<dataset>-progress`` the progress of a solver, where trials kept these; ``<dataset>-time``
    the score against training time, where this is comparable; ``<dataset>-bounds`` errors of maps alone next to what
    theory promises; ``<dataset>-leverage`` the dimensions and the error that leverage sampling's theory speaks of;
    ``dimension`` what maps measure and take on synthetic data of many dimensions. Of a sweep the names have the
    protocol's labels behind them.

    Raises ConfigError for a format that is not one of ``FORMATS``.
    """
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"unknown figure format {name!r}: choose from {', '.join(FORMATS)}")
    paths: list[Path] = []
    folder = protocols[0][1].folder
    with mpl.rc_context(RC):
        for dataset, labels, beside_bounds in bound_figures(protocols):
            paths += saved(beside_bounds, folder, "-".join([dataset, *labels.values(), "bounds"]), formats)
        for dataset, theory in leverage_figures(protocols):
            paths += saved(theory, folder, f"{dataset}-leverage", formats)
        for labels, results in protocols if len(protocols) <= MOST_PROTOCOLS else []:
            if (overview := dimension_figure(results)) is not None:
                paths += saved(overview, folder, "-".join([*labels.values(), "dimension"]), formats)
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
                        paths += saved(figure, folder, stem, formats)
    return paths
