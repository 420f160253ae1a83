"""The page's interactive figures: Vega-Lite charts, and their data.

The page contains each chart once, without data. The page's script adds the rows that the reader selects (an experiment,
a dataset, a metric, methods) and the axes.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import vl_convert

from rffbench.io.text import printable
from rffbench.report.figures.dataset import without_size
from rffbench.report.figures.style import style_of
from rffbench.report.frame import Protocols, Results, as_written, cell_places, size_label
from rffbench.report.pareto import pareto_front
from rffbench.trials.metrics import BYTES, ERRORS, PERCENT, TIMES, Metric

ROWS = "rows"  # the name of a chart's data
_DIGITS = 6  # significant digits of a number in the page
# Vega's names for the markers of Matplotlib's figures.
_SHAPES = {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "P": "cross",
           "X": "triangle-left", "*": "triangle-right"}  # fmt: skip


# ---- The charts --------------------------------------------------------------------------------------------


def curves_chart() -> dict[str, Any]:
    """A metric against the size: one line per method, points with a tooltip, a band of ± one standard deviation. Rows
    have x, mean, low, high, and the texts of the tooltip."""
    x = alt.X("x:Q", axis=alt.Axis(grid=True))
    y = alt.Y("mean:Q", scale=alt.Scale(zero=False))
    rows = alt.Chart(alt.NamedData(name=ROWS)).encode(color=_color())
    line = alt.StrokeDash("dash:N", scale=None)
    return _spec(
        rows.mark_area(opacity=0.14, clip=True).encode(
            x=x, y=alt.Y("low:Q", scale=alt.Scale(zero=False)), y2="high:Q", detail="method:N"
        ),
        rows.mark_line(strokeWidth=1.8, clip=True).encode(x=x, y=y, detail="method:N", strokeDash=line),
        _points(rows, x, y),
    )


def plane_chart() -> dict[str, Any]:
    """The score against a cost: one point per method and size, and a line through the Pareto front."""
    x = alt.X("x:Q", axis=alt.Axis(grid=True))
    y = alt.Y("mean:Q", scale=alt.Scale(zero=False))
    rows = alt.Chart(alt.NamedData(name=ROWS))
    front = rows.transform_filter("datum.front").mark_line(interpolate="step-after", strokeWidth=1.2, opacity=0.7)
    return _spec(
        front.encode(x=x, y=y, order=alt.Order("x:Q")),
        rows.encode(color=_color()).mark_rule(opacity=0.5, clip=True).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        _points(rows.encode(color=_color()), x, y),
    )


def _color() -> alt.Color:
    return alt.Color("color:N", scale=None)


def _points(rows: alt.Chart, x: alt.X, y: alt.Y) -> alt.Chart:
    """Points with tooltips; the fill makes contended seconds hollow."""
    return rows.mark_point(size=46, strokeWidth=1.6, opacity=1).encode(
        x=x, y=y,
        shape=alt.Shape("shape:N", scale=None),
        fill=alt.Fill("fill:N", scale=None),
        tooltip=[
            alt.Tooltip("written:N", title="method"), alt.Tooltip("size:N", title="s"), alt.Tooltip("at:N", title="x"),
            alt.Tooltip("value:N", title="mean ± std"), alt.Tooltip("n:Q", title="trials"), alt.Tooltip("note:N"),
        ],
    )  # fmt: skip


def _spec(*layers: alt.Chart) -> dict[str, Any]:
    """The layers as one Vega-Lite chart, which is checked against its schema and fills the page's width."""
    chart = alt.layer(*layers).properties(width="container", height=300)
    return chart.configure_view(stroke=None).to_dict()


def card(results: Results, summary: pd.DataFrame) -> str:
    """A small figure of an experiment as an image's URL: the score of its first dataset against the size, a line per
    method; empty where nothing was measured."""
    dataset = next((name for name in results.datasets if (summary["dataset"] == name).any()), "")
    if not dataset:
        return ""
    score = results.score(dataset)
    rows = summary[(summary["dataset"] == dataset) & (summary["metric"] == score.name) & (summary["n_ok"] > 0)]
    if rows.empty:
        return ""
    colors = [style_of(results.methods.index(name))["color"] for name in dict.fromkeys(rows["method"])]
    rows = rows.assign(method=rows["method"].map(printable))  # Vega's fonts abort at a control character
    methods = list(dict.fromkeys(rows["method"]))
    alone = rows["n_features"].nunique() == 1
    if alone:
        x = alt.X("method:N", sort=methods, title=None, axis=alt.Axis(labels=False, ticks=False))
    else:
        axis = alt.Axis(tickCount=4, format="~s")
        x = alt.X("n_features:Q", title="s", scale=alt.Scale(type="log", nice=False), axis=axis)
    y = alt.Y("mean:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
    longest = max(map(len, methods))
    beside = 3 if longest <= 14 else 2 if longest <= 22 else 1  # as many names as have room, each whole
    legend = alt.Legend(title=None, orient="bottom", columns=beside, labelLimit=240 // beside, symbolLimit=6)
    color = alt.Color("method:N", scale=alt.Scale(domain=methods, range=colors), legend=legend)
    drawn = alt.Chart(
        rows[["n_features", "method", "mean"]], width=210, height=110, title=printable(f"{dataset}: {score.label}"),
        padding={"left": 5, "top": 5, "bottom": 5, "right": 20},  # a reader's font may be wider than Vega's
    )  # fmt: skip
    marked = drawn.mark_point(size=20, filled=True) if alone else drawn.mark_line(strokeWidth=1.6, point={"size": 12})
    spec = marked.encode(x=x, y=y, color=color).configure_view(stroke=None).configure_title(fontWeight="normal")
    svg = vl_convert.vegalite_to_svg(spec.to_dict())
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


# ---- Their data --------------------------------------------------------------------------------------------


def chart_data(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> dict[str, Any]:
    """The data of an experiment's charts: the styles of its methods, its datasets, metrics and cells. Names are in the
    config's form, and ``written`` as people write them.

    A dataset's ``levels`` are the methods without a size, which are drawn as horizontal lines. A cell is a list: the
    numbers of its protocol, dataset and method in their lists, the size, the size as written, whether its seconds are
    contended, for every metric [mean, standard deviation (None of a single trial), number of trials], and the costs for
    which it is on the dataset's Pareto front.
    """
    results = protocols[0][1]
    methods = list(dict.fromkeys(name for _, each in protocols for name in each.methods))
    datasets = list(dict.fromkeys(name for _, each in protocols for name in each.datasets))
    metrics = {name: metric for _, each in protocols for name, metric in each.metrics.items()}
    cells: list[list[Any]] = []
    for place, ((_, each), summary) in enumerate(zip(protocols, summaries, strict=True)):
        cells += _cells_of(each, summary, place, datasets, methods)
    measured = {name for cell in cells for name in cell[6]}
    return {
        "methods": [{"name": name, "written": as_written(name), **_style(index)} for index, name in enumerate(methods)],
        "protocols": [", ".join(labels.values()) for labels, _ in protocols],
        "datasets": [_about_dataset(protocols, summaries[0], name, methods) for name in datasets],
        "metrics": {name: _about(metric) for name, metric in metrics.items() if name in measured},
        "costs": [name for name, metric in metrics.items() if name in measured and _is_cost(metric)],
        "counts": "columns" if results.grid.setting("count") == "columns" else "frequencies s",
        "cells": cells,
    }


def _about_dataset(protocols: Protocols, summary: pd.DataFrame, name: str, methods: list[str]) -> dict[str, Any]:
    results = next(each for _, each in protocols if name in each.datasets)
    levels = without_size(protocols[0][1], summary[summary["dataset"] == name])
    return {
        "name": name, "written": results.called(name), "score": results.score(name).name,
        "levels": [methods.index(method) for method in levels],
        "kernels": results.kernels_differ(name, results.grid.methods_on(name)),
    }  # fmt: skip


def _cells_of(
    results: Results, summary: pd.DataFrame, protocol: int, datasets: list[str], methods: list[str]
) -> list[list[Any]]:
    """The cells of one protocol, by dataset."""
    statuses, contended = (results.trials[name].tolist() for name in ("status", "contended"))
    disturbed = {
        cell for cell, places in cell_places(results.trials).items()
        if any(contended[place] for place in places if statuses[place] == "ok")
    }  # fmt: skip
    found: dict[str, dict[tuple[int, str], list[Any]]] = {dataset: {} for dataset in results.datasets}
    columns = ("dataset", "n_features", "multiple", "method", "metric", "mean", "std", "n_ok")
    measured = zip(*(summary[name] for name in columns), strict=True)
    for dataset, n_features, multiple, method, metric, *numbers, ok in measured:
        if not ok:
            continue
        cell = n_features, method
        if cell not in found[dataset]:
            place = [protocol, datasets.index(dataset), methods.index(method), n_features]
            beside = (dataset, *cell) in disturbed
            found[dataset][cell] = [*place, size_label(n_features, multiple), beside, {}, []]
        found[dataset][cell][6][metric] = [*map(_rounded, numbers), ok]
    for dataset, cells in found.items():
        _mark_fronts(results, dataset, list(cells.values()))
    return [cell for cells in found.values() for cell in cells.values()]


def _mark_fronts(results: Results, dataset: str, cells: list[list[Any]]) -> None:
    """Add the costs for which a cell is on the dataset's Pareto front to the cell."""
    score = results.score(dataset)
    for name in (name for name, metric in results.metrics.items() if _is_cost(metric) and score.better):
        numbers = [[cell[6].get(each, [np.nan])[0] for each in (name, score.name)] for cell in cells]
        costs, scores = np.array(numbers, float).reshape(-1, 2).T
        for cell, is_on_front in zip(cells, pareto_front(costs, scores, str(score.better)), strict=True):
            if is_on_front:
                cell[7].append(name)


def _style(index: int) -> dict[str, Any]:
    style = style_of(index)
    line = style["linestyle"]
    dash = [round(3 * each / 2) for each in line[1]] if isinstance(line, tuple) else [1, 0]
    return {"color": style["color"], "shape": _SHAPES[style["marker"]], "dash": dash}


def _about(metric: Metric) -> dict[str, Any]:
    log, of_time, of_error = metric.unit != PERCENT, metric.name in TIMES, metric.name in ERRORS
    return {"label": metric.label, "log": log, "time": of_time, "error": of_error}


def _is_cost(metric: Metric) -> bool:
    return metric.unit == BYTES or metric.name in TIMES or metric.name == "model_size"


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.{_DIGITS}g}")
