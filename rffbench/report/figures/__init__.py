"""Draws an experiment's figures from its trials and saves them."""

from __future__ import annotations

import rffbench.report.drawing  # noqa: F401

# isort: split
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from rffbench.config.values import USUAL_FIGURES
from rffbench.errors import ConfigError
from rffbench.report.figures.costs import cost_figure, score_time_figure
from rffbench.report.figures.curves import path_figure, progress_figure
from rffbench.report.figures.dataset import dataset_figure
from rffbench.report.figures.style import SCREEN, Style, drawn_in, saved
from rffbench.report.figures.sweep import sweep_figures
from rffbench.report.frame import Protocols, Results, protocol_names
from rffbench.report.summary import summarise

FORMATS = ("png", "pdf", "svg")
MOST_PROTOCOLS = 8
"""Up to this number of a sweep's protocols, each has its own figures; with more, only the figures of all together."""


def draw_figures(
    protocols: Protocols,
    formats: Sequence[str] = ("png",),
    style: Style = SCREEN,
    summaries: Sequence[pd.DataFrame] | None = None,
) -> list[Path]:
    """Draw every dataset's figures of the protocols of one folder; return the paths.

    The config's `figures` choose the kinds:

    - ``scores``: ``figures/<dataset>.<format>`` shows, against the number of frequencies s, the relative kernel error
      ‖K − ZZ′‖₂/‖K‖₂ or other errors of the kernel matrix, the score, and the seconds to generate the training
      features: means over trials with bars of ± one standard deviation. Panels without a measurement are left out.
    - ``lambda`` (``<dataset>-lambda``): the score at every λ, if trials kept it.
    - ``progress`` (``<dataset>-progress``): the progress of a solver, if trials kept it.
    - ``time`` (``<dataset>-time``): the score against training time, if times are comparable.
    - ``cost`` (``<dataset>-cost``): the score against every cost.
    - ``sweep`` (``<dataset>-by-<axis>``): measurements against an axis of a sweep whose labels are numbers.

    For a sweep, the file names also have the protocol's labels. With a single size, figures against the size are left
    out. Raises ConfigError for a format that is not one of ``FORMATS``.
    """
    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"unknown figure format {name!r}: choose from {', '.join(FORMATS)}")
    paths: list[Path] = []
    folder = protocols[0][1].folder
    asked = asked_figures(protocols)
    with drawn_in(style):
        if protocols[0][0] and "sweep" in asked:
            summaries = summaries or [summarise(results) for _, results in protocols]
            for stem, swept in sweep_figures(protocols, summaries):
                paths += saved(swept, folder, stem, formats)
        for number, (labels, results) in enumerate(protocols if len(protocols) <= MOST_PROTOCOLS else []):
            summary = summaries[number] if summaries else summarise(results)
            for dataset in results.datasets:
                called = ", ".join([results.called(dataset), *protocol_names(labels)])
                cells = summary[(summary["dataset"] == dataset) & (summary["n_ok"] > 0)]
                has_sizes = cells.groupby(["method", "n_features"]).ngroups > 1
                for name, draw in _DRAWN.items():
                    if name not in asked or (name in _OF_SIZES and not has_sizes):
                        continue
                    if (figure := draw(results, cells, dataset, called)) is not None:
                        kind = "" if name == "scores" else name
                        stem = "-".join(part for part in (dataset, *labels.values(), kind) if part)
                        paths += saved(figure, folder, stem, formats)
    return paths


_DRAWN: dict[str, Callable[[Results, pd.DataFrame, str, str], Figure | None]] = {
    "lambda": lambda results, _, dataset, called: path_figure(results, dataset, called),
    "progress": lambda results, _, dataset, called: progress_figure(results, dataset, called),
    "scores": dataset_figure,
    "time": lambda results, _, dataset, called: score_time_figure(results, dataset, called),
    "cost": lambda results, _, dataset, called: cost_figure(results, dataset, called),
}
_OF_SIZES = ("scores", "time", "cost")


def asked_figures(protocols: Protocols) -> list[str]:
    """The figures that the config names under `figures`, else the usual ones."""
    return list(protocols[0][1].config.get("figures") or USUAL_FIGURES)
