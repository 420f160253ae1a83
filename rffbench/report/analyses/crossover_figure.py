"""The figure of an experiment on synthetic data: errors and seconds of maps against the input dimension."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rffbench.report.analyses.crossover import by_dimension, crossovers
from rffbench.report.figures.style import (
    HOLLOW,
    aside,
    bars,
    chosen,
    handles_of,
    headline,
    hollow,
    legend_below,
    legend_label,
    log_axis,
    panels,
    size_axis,
    small_print,
    spread,
    style_of,
    tidy_panel,
)
from rffbench.report.frame import Results, as_written

_PANELS = ("kernel_error", "marginal_ks", "marginal_energy", "feature_s")


def dimension_figure(results: Results) -> Figure | None:
    """The kernel error, the distances of the projections to normal ones, and the seconds to make the features against
    d, at the largest size, one curve per method. None if projections on synthetic data of several d were not measured.

    Points are means over trials (for seconds medians) with bars of ± one standard deviation. The panel of seconds lists
    the dimensions from which a method is quicker than the baseline.
    """
    trials = by_dimension(results)
    if trials is None:
        return None
    names = [name for name in chosen(_PANELS, _PANELS) if trials[name].notna().any()]
    if not names:
        return None
    figure, axes = panels(len(names), 2.6, 2.8, above=0.3)
    counts: list[pd.Series] = []
    for letter, panel, name in zip("abcd", axes, names, strict=False):
        for index, method in enumerate(results.methods):
            mine = trials[trials["method"] == method]
            cell, style = mine.groupby("d")[name], style_of(index)
            counts.append(cell.count())
            middle = cell.median() if name == "feature_s" else cell.mean()
            if len(middle):
                std = cell.std().fillna(0)
                at = aside(middle.index, index, len(results.methods))
                panel.errorbar(at, middle, yerr=bars(middle, std), capsize=1.6, elinewidth=0.7,
                               label=legend_label(method), **style)  # fmt: skip
                if name == "feature_s":
                    contended = mine.groupby("d")["contended"].any().to_numpy()
                    hollow(panel, at[contended], middle[contended], style)
        panel.set_xscale("log")
        log_axis(panel.yaxis)
        size_axis(panel, pd.DataFrame({"n_features": np.sort(trials["d"].unique()), "multiple": None}))
        panel.set_title(f"({letter}) {results.metrics[name].label}")
        panel.set_xlabel("dimension d")
        tidy_panel(panel)
    found = crossovers(results)
    if found and names[-1] == "feature_s":
        lines = [f"quicker than {found[0].baseline}:", *(as_written(str(each)) for each in found)]
        small_print(axes[-1], lines, "top")
    legend_below(figure, handles_of(axes[:1]))
    shows_hollow = "feature_s" in names and bool(trials["contended"].any())
    headline(figure, f"synthetic data, s = {int(trials['n_features'].iloc[0])} frequencies", spread(pd.concat(counts)),
             "of seconds the median" if "feature_s" in names else "", HOLLOW if shows_hollow else "")  # fmt: skip
    return figure
