"""What maps measure and take against the dimension of the data: the figure of one experiment on synthetic data."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from rffbench.report.crossover import by_dimension, crossovers
from rffbench.report.figures.style import STYLES, legend_below, legend_label, log_axis, room_for_text, tidy_panel
from rffbench.report.frame import Results

_PANELS = ("kernel_error", "marginal_ks", "marginal_energy", "feature_s")


def dimension_figure(results: Results) -> Figure | None:
    """The kernel error, the distances of the projections to normal ones and the seconds to make the features against d,
    at the largest size, one curve per method; None if projections on synthetic data of several d were not measured.

    Means over trials (of seconds medians) with bars of ± one standard deviation, and from which d on a method is
    quicker than the baseline.
    """
    trials = by_dimension(results)
    if trials is None:
        return None
    names = [name for name in _PANELS if trials[name].notna().any()]
    figure = Figure(figsize=(2.6 * len(names), 3.0), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for letter, panel, name in zip("abcd", panels, names, strict=False):
        for index, method in enumerate(results.methods):
            cell = trials[trials["method"] == method].groupby("d")[name]
            middle = cell.median() if name == "feature_s" else cell.mean()
            if len(middle):
                std = cell.std().fillna(0)
                panel.errorbar(middle.index, middle, yerr=np.stack([np.minimum(std, 0.9 * middle), std]), capsize=1.6,
                               elinewidth=0.7, label=legend_label(method), **STYLES[index % len(STYLES)])  # fmt: skip
        panel.set_xscale("log")
        log_axis(panel)
        dimensions = np.sort(trials["d"].unique())
        panel.set_xticks(dimensions, [str(d) if i % 2 == 0 else "" for i, d in enumerate(dimensions)])
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_title(f"({letter}) {results.metrics[name].label}")
        panel.set_xlabel("dimension d")
        tidy_panel(panel)
    found = crossovers(results)
    if found and names[-1] == "feature_s":
        lines = [f"quicker than {found[0].baseline}:", *map(str, found)]
        room_for_text(panels[-1], len(lines), "top")
        panels[-1].text(0.03, 0.97, "\n".join(lines), transform=panels[-1].transAxes, fontsize=6.0, va="top",
                        bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.0})  # fmt: skip
    handles, labels = panels[0].get_legend_handles_labels()
    legend_below(figure, dict(zip(labels, handles, strict=True)))
    figure.suptitle(f"synthetic data, s = {int(trials['n_features'].iloc[0])} frequencies", fontsize=8.5)
    return figure
