"""Figures against a swept parameter: measurements at every value of an axis of a sweep, one curve per method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from string import ascii_lowercase

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from rffbench.report.figures import style as draw
from rffbench.report.figures.dataset import contended_cells, draw_curve, panel_metrics
from rffbench.report.frame import Protocols, Results, as_written, protocol_names, size_label
from rffbench.trials.metrics import ERRORS, PERCENT, TIMES

MOST_FIGURES = 8
"""With more combinations of the other axes' labels, no figure is drawn for an axis."""
_LOGARITHMIC = 5  # the axis is logarithmic if the ratio of its largest to its smallest value is at least this


def sweep_figures(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """(name, figure) for every dataset, every axis whose labels are numbers, and every combination of the other axes'
    labels.

    A label is a number, ``0.5``, or an equation, ``l/s = 0.5``. A figure has one panel per metric and size, with means
    over trials and bars of ± one standard deviation against the axis's values. Metrics that were measured at a single
    value are left out.
    """
    for axis in protocols[0][0]:
        name, values = axis_values(axis, dict.fromkeys(labels[axis] for labels, _ in protocols))
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, (labels, _) in enumerate(protocols):
            others = tuple(label for other, label in labels.items() if other != axis)
            groups.setdefault(others, []).append(number)
        if len(values) < 2 or len(groups) > MOST_FIGURES:
            continue
        for others, numbers in groups.items():
            points = pd.concat(
                [_points(protocols[each][1], summaries[each], values[protocols[each][0][axis]]) for each in numbers]
            )
            shared = {other: label for other, label in protocols[numbers[0]][0].items() if other != axis}
            for dataset in points["dataset"].unique():
                results = next(each for _, each in (protocols[n] for n in numbers) if dataset in each.datasets)
                methods = list(dict.fromkeys(each for n in numbers for each in protocols[n][1].methods))
                called = ", ".join([results.called(dataset), *protocol_names(shared)])
                figure = _figure(results, points[points["dataset"] == dataset], methods, name, called)
                if figure is not None:
                    yield "-".join([dataset, *others, f"by-{axis}"]), figure


def axis_values(axis: str, labels: Iterable[str]) -> tuple[str, dict[str, float]]:
    """The name of an axis of a sweep, and the number in each of its labels. No numbers if a label has none, if two
    labels have the same number, or if they name different quantities."""
    values, names = {}, set()
    for label in labels:
        name, _, number = as_written(label).rpartition("=")
        try:
            values[label] = float(Fraction(number.strip().replace("−", "-")))
        except (ValueError, ZeroDivisionError, OverflowError):
            return axis, {}
        names.add(name.strip())
    if len(names) > 1 or len(set(values.values())) < len(values):
        return axis, {}
    return names.pop() or axis, values


def _points(results: Results, summary: pd.DataFrame, x: float) -> pd.DataFrame:
    """The measured rows of one protocol's summary, each at its value of the axis."""
    rows = summary[summary["n_ok"] > 0].assign(x=x)
    beside = {(dataset, *cell) for dataset in results.datasets for cell in contended_cells(results, dataset)}
    rows["contended"] = [
        cell in beside for cell in zip(rows["dataset"], rows["method"], rows["n_features"], strict=True)
    ]
    return rows


def _figure(results: Results, points: pd.DataFrame, methods: list[str], name: str, called: str) -> Figure | None:
    """The panels of one dataset; None if nothing was measured at two values of the axis."""
    swept = points.groupby(["metric", "n_features"])["x"].transform("nunique") > 1
    points = points[swept]
    metrics = panel_metrics(results, points)
    sizes = draw.thinned(points[["n_features", "multiple"]].drop_duplicates().sort_values("n_features"))
    shown = [(metric, n_features, multiple)
             for metric in metrics for n_features, multiple in sizes.itertuples(index=False)
             if ((points["metric"] == metric.name) & (points["n_features"] == n_features)).any()]  # fmt: skip
    if not shown:
        return None
    figure, axes = draw.panels(len(shown), 2.45, 2.4, most=len(sizes) if len(sizes) > 1 else len(shown), above=0.35)
    same: list[str] = []
    for letter, panel, (metric, n_features, multiple) in zip(ascii_lowercase, axes, shown, strict=False):
        here = points[(points["metric"] == metric.name) & (points["n_features"] == n_features)]
        logarithmic = metric.unit != PERCENT and bool((here["mean"] > 0).all())
        _draw_panel(panel, here, methods, logarithmic, metric.name in TIMES)
        size = f", s = {size_label(n_features, multiple)}" if len(sizes) > 1 else ""
        panel.set_title(f"({letter}) {metric.label}{size}")
        panel.set_xlabel(name)
        curves = {
            as_written(str(method)): rows.set_index("x")["mean"] for method, rows in here.groupby("method", sort=False)
        }
        same += [f"({letter}) {each}" for each in draw.coinciding(curves, logarithmic)]
    handles = draw.handles_of(axes)
    draw.legend_below(figure, {label: handles[label] for label in map(draw.legend_label, methods) if label in handles})
    errors = any(metric.name in ERRORS for metric in metrics)
    differ = results.kernels_differ(str(points["dataset"].iloc[0]), methods) if errors else ""
    at = "" if len(sizes) > 1 else f", s = {size_label(*sizes.iloc[0])}"
    times = points["metric"].isin([metric.name for metric in metrics if metric.name in TIMES])
    draw.headline(figure, f"{called}{at}, against {name}", draw.spread(points["n_ok"]),
                  draw.HOLLOW if points.loc[times, "contended"].any() else "", differ, *same)  # fmt: skip
    return figure


def _draw_panel(panel: Axes, points: pd.DataFrame, methods: list[str], logarithmic: bool, of_time: bool) -> None:
    values = np.sort(points["x"].unique())
    spread_out = values[0] > 0 and values[-1] >= _LOGARITHMIC * values[0]
    for index, method in enumerate(methods):
        mine = points[points["method"] == method].sort_values("x")
        if len(mine):
            at = draw.aside(mine["x"], index, len(methods)) if spread_out else mine["x"].to_numpy(float)
            draw_curve(panel, method, index, at, mine, logarithmic, mine["contended"].to_numpy() & of_time)
    if spread_out:
        panel.set_xscale("log")
    if logarithmic:
        draw.log_axis(panel.yaxis)
    panel.set_xticks(values, [f"{value:g}" for value in values])
    panel.xaxis.set_minor_locator(NullLocator())
    draw.tidy_panel(panel)
