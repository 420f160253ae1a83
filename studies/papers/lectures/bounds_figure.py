"""Figures of errors and their bounds against the number of features: the largest entry, an entry, the spectral norm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rffbench import Results, load_card
from rffbench import figures as draw
from rffbench.plugin import make_kernel
from rffbench.stats import fitted_slope
from studies.papers.lectures import error_bounds as bounds
from studies.papers.lectures.error_slopes import EQUAL, FIXED, SQUARE, measured_of_maps, series

DELTA = 1 - 0.99  # of the metric entry_quantile: the probability with which a bound may fail
UNIFORM, ENTRY = "uniform bound (Rahimi & Recht)", "Hoeffding"
FROM_ENTRIES, CONCENTRATION = "from entries", "matrix concentration"
_BOUND_STYLES: dict[str, dict[str, Any]] = {
    UNIFORM: {"color": "#555555", "linestyle": (0, (6, 2)), "linewidth": 1.0},
    ENTRY: {"color": "#555555", "linestyle": (0, (1, 1.2)), "linewidth": 1.0},
    FROM_ENTRIES: {"color": "#A05195", "linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.0},
    CONCENTRATION: {"color": "#A05195", "linestyle": "-", "linewidth": 1.0},
}
_RELATION_LINES = {EQUAL: (0, (1, 1.2)), SQUARE: "-"}


@dataclass(frozen=True)
class _Panel:
    """A panel: a metric of trials, the relations of n and m that it shows, its bounds, and a title (default: the
    metric's)."""

    metric: str
    relations: tuple[str, ...]
    bounds: dict[str, Callable[[NDArray[np.float64], pd.DataFrame], NDArray[np.float64]]]
    title: str = ""


def bound_figures(every: Results) -> Iterator[tuple[str, dict[str, str], Figure]]:
    """(dataset, labels, figure) for every dataset whose points' diameter was measured.

    The panels are log-log, against the frequencies m: the largest entry error with Rahimi and Recht's uniform bound; an
    entry's error with Hoeffding's bound; the spectral error on n fixed points with the bounds from entries and from
    matrix concentration; and the spectral error over √n for n = m and n = m². Points are means over trials with bars of
    ± one standard deviation. The bounds hold with probability 1 − δ. Fitted exponents have intervals.
    """
    for labels, results, trials in measured_of_maps(every):
        for dataset in results.datasets:
            mine = trials[trials["dataset"] == dataset]
            if "diameter" in mine and mine["diameter"].notna().any():
                figure = _figure(results, dataset, mine, labels)
                if figure is not None:
                    yield dataset, labels, figure


def _figure(results: Results, dataset: str, trials: pd.DataFrame, labels: dict[str, str]) -> Figure | None:
    found = {relation: rows for relation, _, rows in series(trials)}
    every = _panels(results, dataset, trials)
    shown = [panel for panel in every if panel.metric in trials
             if any(rel in found and found[rel][panel.metric].notna().any() for rel in panel.relations)]  # fmt: skip
    if not shown:
        return None
    figure, axes = draw.panels(len(shown), 3.7, 3.0, most=2, above=0.4)
    for letter, axis, panel in zip("abcd", axes, shown, strict=False):
        _draw(axis, panel, found, results.methods)
        axis.set_title(f"({letter}) {panel.title or results.metrics[panel.metric].heading}")
    handles = draw.handles_of(axes)
    names = sorted(handles, key=lambda name: name in _BOUND_STYLES)  # methods, then bounds
    draw.legend_below(figure, {name: handles[name] for name in names})
    called = ", ".join([results.called(dataset), *draw.protocol_names(labels)])
    counts = trials.groupby(["method", "n_features", "points"])["trial"].nunique()
    draw.headline(figure, f"{called}: errors of {_points(found)} and bounds, δ = {DELTA:.2g}", draw.spread(counts))
    return figure


def _points(found: dict[str, pd.DataFrame]) -> str:
    return f"k̃ on n = {int(found[FIXED]['points'].iloc[0])} points" if FIXED in found else "k̃"


def _panels(results: Results, dataset: str, trials: pd.DataFrame) -> list[_Panel]:
    kernel, d = results.setting("kernel"), load_card(dataset).columns
    gamma = trials["gamma"].mean() if isinstance(kernel["gamma"], str) else kernel["gamma"]
    sigma_p = float(np.sqrt(d * make_kernel(kernel["name"], gamma).spectral_variance))
    diameter = float(trials["diameter"].max())

    def pairs(rows: pd.DataFrame) -> float:
        n = rows["points"].mean()
        return float(n * (n - 1) / 2)

    def per_root(bound: Callable[..., NDArray[np.float64]]) -> Callable[..., NDArray[np.float64]]:
        return lambda m, rows: bound(m, rows) / np.sqrt(_at(m, rows, "points"))

    def concentration(m: NDArray[np.float64], rows: pd.DataFrame) -> NDArray[np.float64]:
        return bounds.spectral_bound_by_concentration(m, _at(m, rows, "points"), _at(m, rows, "kernel_norm"))

    def from_entries(m: NDArray[np.float64], rows: pd.DataFrame) -> NDArray[np.float64]:
        return bounds.spectral_bound_from_entries(m, _at(m, rows, "points"), DELTA)

    return [
        _Panel("sup_error", (FIXED,), {
            UNIFORM: lambda m, rows: bounds.sup_error_bound(m, d, sigma_p, diameter, DELTA),
            ENTRY: lambda m, rows: bounds.entry_error_bound(m, DELTA / pairs(rows)),
        }),
        _Panel("entry_quantile", (FIXED,), {
            ENTRY: lambda m, rows: bounds.entry_error_bound(m, DELTA),
        }),
        _Panel("spectral_error", (FIXED,), {
            FROM_ENTRIES: from_entries, CONCENTRATION: concentration,
        }),
        _Panel("spectral_error", (SQUARE, EQUAL), {
            CONCENTRATION: per_root(concentration),
        }, title="‖K̃−K‖₂ / √n,  n = m² (lines), n = m (dots)"),
    ]  # fmt: skip


def _at(m: NDArray[np.float64], rows: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """The mean of a column over the trials at each size m."""
    return rows.groupby("n_features")[column].mean().reindex(m).to_numpy(float)


def _draw(axis: Axes, panel: _Panel, found: dict[str, pd.DataFrame], methods: list[str]) -> None:
    over_root = FIXED not in panel.relations
    slopes = []
    for relation in panel.relations:
        if relation not in found:
            continue
        rows = found[relation]
        root = np.sqrt(rows["points"]) if over_root else 1.0
        values = rows.assign(value=rows[panel.metric] / root)
        for index, method in enumerate(methods):
            cell = values[values["method"] == method].groupby("n_features")["value"]
            mean, std = cell.mean(), cell.std().fillna(0)
            style, name = draw.style_of(index), draw.as_written(method)
            if relation in _RELATION_LINES:
                style["linestyle"] = _RELATION_LINES[relation]
            at = draw.aside(mean.index, index, len(methods))
            axis.errorbar(at, mean, yerr=draw.bars(mean, std), capsize=1.6, elinewidth=0.7,
                          label=None if over_root else draw.legend_label(method), **style)  # fmt: skip
            slope = fitted_slope(values[values["method"] == method], "value")
            if slope is not None and (not over_root or index == 0):
                exponent = str(slope).replace("-", "−")  # the minus sign of ticks
                slopes.append(f"{name}{f', {relation}' if over_root else ''}: {exponent}")
        m = np.sort(rows["n_features"].unique()).astype(float)
        for name, bound in panel.bounds.items():
            line = _BOUND_STYLES[name] | ({"linestyle": _RELATION_LINES[relation]} if over_root else {})
            axis.plot(m, bound(m, rows), label=None if over_root else name, **line)
    axis.set_xscale("log")
    if over_root:
        axis.axhline(1.0, color="#BBBBBB", linewidth=0.8)
    axis.set_yscale("log")
    draw.small_print(axis, ["exponents:", *slopes], "bottom")
    draw.log_axis(axis.yaxis)
    axis.set_xlabel("frequencies m")
    every = pd.concat([found[relation] for relation in panel.relations if relation in found])
    draw.size_axis(axis, every[["n_features", "multiple"]].drop_duplicates().sort_values("n_features"))
    draw.tidy_panel(axis)
