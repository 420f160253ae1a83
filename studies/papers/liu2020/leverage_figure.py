"""The figure of leverage sampling's theory: spectrum, dimensions against n and s, and Lemma 1's bound on the error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rffbench import Results
from rffbench import figures as draw
from studies.papers.liu2020.leverage_theory import (
    DIMENSIONS,
    Measured,
    delta_error_bound,
    exponent_in_n,
    mean_spectrum,
    measured,
    of_points,
)

DELTA = 0.01  # the probability with which Lemma 1 may fail
_THEORY: dict[str, Any] = {"color": "#A05195", "linestyle": (0, (6, 2)), "linewidth": 1.0}
_THEORY_LABEL = f"of K in (c), (d); Lemma 1 in (e), δ = {DELTA:g}"
_AGAINST_S = {
    "effective_dimension": "kernel_effective_dimension",
    "surrogate_dimension": "kernel_surrogate_dimension",
    "delta_error": None,
}


def leverage_figures(every: Results) -> Iterator[tuple[str, Figure]]:
    """(dataset, figure) for every dataset whose dimensions and spectrum were measured.

    (a) The eigenvalues of K over n for every n, with λ = 1/√n of the largest n. (b) d and D of Liu et al. 2020, Eqs. 5
    and 10, against n with their exponents. Against s, on the points with several sizes: (c) d and (d) D of the
    features' kernel matrix, with those of K dashed; (e) the Δ-spectral error with Lemma 1's bound. Points are means
    over trials with bars of ± one standard deviation.
    """
    found = measured(every)
    if found is None:
        return
    methods = list(dict.fromkeys(method for _, results in every.protocols for method in results.methods))
    for dataset in found.trials["dataset"].unique():
        called = next((each.called(dataset) for _, each in every.protocols if dataset in each.datasets), str(dataset))
        yield str(dataset), _figure(found, every, str(dataset), called, methods)


def _figure(found: Measured, every: Results, dataset: str, called: str, methods: list[str]) -> Figure:
    trials = found.trials[found.trials["dataset"] == dataset]
    sizes = trials.groupby("points")["n_features"].nunique()
    n = int(str(sizes.idxmax()))
    figure, axes = draw.panels(5, 7.6 / 3, 2.45, most=3, above=0.7)
    _draw_spectra(axes[0], found, dataset)
    _draw_growth(axes[1], of_points(trials))
    here = trials[trials["points"] == n]
    same: list[str] = []
    for letter, panel, (metric, exact) in zip("cde", axes[2:], _AGAINST_S.items(), strict=False):
        _draw_sizes(panel, here, metric, exact, methods)
        panel.set_title(f"({letter}) {every.metrics[metric].heading}")
        curves = {draw.as_written(str(method)): rows.groupby("n_features")[metric].mean()
                  for method, rows in here.groupby("method", sort=False)}  # fmt: skip
        same += [f"({letter}) {each}" for each in draw.coinciding(curves, True)]
    handles = draw.handles_of(axes[4:])
    draw.legend_below(
        figure, {label: handles[label] for label in sorted(handles, key=lambda label: label == _THEORY_LABEL)}
    )
    draw.headline(figure, f"{called}: λ = 1/√n; (c)–(e) on n = {n} points", _spread(trials, n), *same)
    return figure


def _spread(trials: pd.DataFrame, n: int) -> str:
    """The note on the bars of (b) to (e)."""
    cells = trials[trials["points"] == n].groupby(["method", "n_features"])["effective_dimension"]
    return draw.spread(pd.concat([cells.count(), of_points(trials).groupby("points").size()]))


def _draw_spectra(panel: Axes, found: Measured, dataset: str) -> None:
    counts = sorted(int(n) for n in found.curves.loc[found.curves["dataset"] == dataset, "points"].unique())
    shades = mpl.colormaps["viridis"](np.linspace(0.1, 0.85, len(counts)))
    for n, shade in zip(counts, shades, strict=True):
        spectrum = mean_spectrum(found.curves, dataset, n)
        label = f"n = {n}" if not draw.is_narrow(panel) or n in (counts[0], counts[-1]) else "_in between"
        panel.plot(spectrum["rank"], spectrum["eigenvalue"], color=shade, label=label, linewidth=1.0)
    panel.axhline(1 / np.sqrt(counts[-1]), color="#888888", linewidth=0.8, linestyle=(0, (1, 1.2)))
    draw.log_axis(panel.xaxis)
    draw.log_axis(panel.yaxis)
    panel.set_xlabel("rank i")
    panel.set_title("(a) eigenvalues of K/n (dots: λ)")
    draw.legend_inside(panel, *panel.get_legend_handles_labels())
    draw.tidy_panel(panel)


def _draw_growth(panel: Axes, kernels: pd.DataFrame) -> None:
    for (metric, symbol), style in zip(DIMENSIONS.items(), draw.STYLES, strict=False):
        by_n = kernels.groupby("points")[metric]
        slope = exponent_in_n(kernels, metric)
        how = " ~ n^" if draw.is_narrow(panel) else ", exponent "
        label = symbol if slope is None else f"{symbol}{how}{slope.exponent:.2f}"
        panel.errorbar(by_n.mean().index, by_n.mean(), yerr=by_n.std().fillna(0), capsize=1.6, label=label, **style)
    panel.set_xscale("log")
    draw.log_axis(panel.yaxis)
    counts = pd.DataFrame({"n_features": sorted(kernels["points"].unique())}).assign(multiple=None)
    draw.size_axis(panel, counts)
    panel.set_xlabel("points n")
    panel.set_title("(b) dimensions of K")
    handles, labels = panel.get_legend_handles_labels()
    draw.legend_inside(panel, draw.without_bars(handles), labels)
    draw.tidy_panel(panel)


def _draw_sizes(panel: Axes, trials: pd.DataFrame, metric: str, exact: str | None, methods: list[str]) -> None:
    for index, method in enumerate(methods):
        cell = trials[trials["method"] == method].groupby("n_features")[metric]
        if len(cell):
            mean, std = cell.mean(), cell.std().fillna(0)
            at = draw.aside(mean.index, index, len(methods))
            panel.errorbar(at, mean, yerr=draw.bars(mean, std), capsize=1.6, elinewidth=0.7,
                           label=draw.legend_label(method), **draw.style_of(index))  # fmt: skip
    kernel = trials[list(DIMENSIONS)].mean()
    if exact:
        panel.axhline(kernel[exact], **_THEORY)
    else:
        s = np.sort(trials["n_features"].unique()).astype(float)
        d, D = (kernel[name] for name in DIMENSIONS)
        panel.plot(s, delta_error_bound(s, D, d, DELTA), label=_THEORY_LABEL, **_THEORY)
    panel.set_xscale("log")
    draw.log_axis(panel.yaxis)
    draw.size_axis(panel, trials[["n_features", "multiple"]].drop_duplicates().sort_values("n_features"))
    panel.set_xlabel("frequencies s")
    draw.tidy_panel(panel)
