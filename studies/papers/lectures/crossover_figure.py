"""The figure of an experiment on synthetic data: errors and seconds of maps against the input dimension."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rffbench import Results
from rffbench import figures as draw
from studies.papers.lectures.crossover import by_dimension, crossovers

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
    names = [name for name in _PANELS if name in trials and trials[name].notna().any()]
    if not names:
        return None
    figure, axes = draw.panels(len(names), 2.6, 2.8, above=0.3)
    counts: list[pd.Series] = []
    for letter, panel, name in zip("abcd", axes, names, strict=False):
        for index, method in enumerate(results.methods):
            mine = trials[trials["method"] == method]
            cell, style = mine.groupby("d")[name], draw.style_of(index)
            counts.append(cell.count())
            middle = cell.median() if name == "feature_s" else cell.mean()
            if len(middle):
                std = cell.std().fillna(0)
                at = draw.aside(middle.index, index, len(results.methods))
                panel.errorbar(at, middle, yerr=draw.bars(middle, std), capsize=1.6, elinewidth=0.7,
                               label=draw.legend_label(method), **style)  # fmt: skip
                if name == "feature_s":
                    contended = mine.groupby("d")["contended"].any().to_numpy()
                    draw.hollow(panel, at[contended], middle[contended], style)
        panel.set_xscale("log")
        draw.log_axis(panel.yaxis)
        draw.size_axis(panel, pd.DataFrame({"n_features": np.sort(trials["d"].unique()), "multiple": None}))
        panel.set_title(f"({letter}) {results.metrics[name].label}")
        panel.set_xlabel("dimension d")
        draw.tidy_panel(panel)
    found = crossovers(results)
    if found and names[-1] == "feature_s":
        lines = [f"quicker than {found[0].baseline}:", *(draw.as_written(str(each)) for each in found)]
        draw.small_print(axes[-1], lines, "top")
    draw.legend_below(figure, draw.handles_of(axes[:1]))
    shows_hollow = "feature_s" in names and bool(trials["contended"].any())
    median = "of seconds the median" if "feature_s" in names else ""
    title = f"synthetic data, s = {int(trials['n_features'].iloc[0])} frequencies"
    draw.headline(figure, title, draw.spread(pd.concat(counts)), median, draw.HOLLOW if shows_hollow else "")
    return figure
