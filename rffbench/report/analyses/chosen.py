"""The analyses of single papers, which run if an experiment's config names them under `figures`."""

from __future__ import annotations

import rffbench.report.drawing  # noqa: F401

# isort: split
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from rffbench.report.analyses.bounds_figure import bound_figures
from rffbench.report.analyses.crossover import write_crossover
from rffbench.report.analyses.crossover_figure import dimension_figure
from rffbench.report.analyses.error_slopes import write_slopes
from rffbench.report.analyses.lambda_scales import write_lambda_scales
from rffbench.report.analyses.leverage_figure import leverage_figures
from rffbench.report.analyses.leverage_theory import write_leverage
from rffbench.report.figures import asked_figures
from rffbench.report.figures.style import SCREEN, Style, drawn_in, saved
from rffbench.report.frame import Protocols

Figures = Iterator[tuple[str, Figure]]  # each with the name of its file


class Analysis(NamedTuple):
    """``write`` writes tables into the experiment's folder and returns their paths; ``draw`` yields figures."""

    write: Callable[[Protocols], list[Path]]
    draw: Callable[[Protocols], Figures]


def run_analyses(protocols: Protocols, formats: Sequence[str] = ("png",), style: Style = SCREEN) -> list[Path]:
    """Run the analyses that the config names; return the paths of their tables and figures."""
    chosen = [ANALYSES[name] for name in asked_figures(protocols) if name in ANALYSES]
    paths = [path for analysis in chosen for path in analysis.write(protocols)]
    with drawn_in(style):
        for analysis in chosen:
            for stem, figure in analysis.draw(protocols):
                paths += saved(figure, protocols[0][1].folder, stem, formats)
    return paths


def _bounds(protocols: Protocols) -> Figures:
    for dataset, labels, figure in bound_figures(protocols):
        yield "-".join([dataset, *labels.values(), "bounds"]), figure


def _dimensions(protocols: Protocols) -> Figures:
    for labels, results in protocols:
        if (figure := dimension_figure(results)) is not None:
            yield "-".join([*labels.values(), "dimension"]), figure


def _leverage(protocols: Protocols) -> Figures:
    for dataset, figure in leverage_figures(protocols):
        yield f"{dataset}-leverage", figure


ANALYSES = {
    "error-bounds": Analysis(write_slopes, _bounds),
    "crossover": Analysis(write_crossover, _dimensions),
    "lambda-scales": Analysis(write_lambda_scales, lambda _: iter(())),
    "leverage-theory": Analysis(write_leverage, _leverage),
}
