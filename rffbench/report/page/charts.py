"""The page's interactive figures: Vega-Lite charts, and the numbers that they are drawn from.

A chart is described once for the whole page, without data; the page's script puts in the rows of what a reader chooses
(an experiment, a dataset, a metric, methods), and what the axes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from rffbench.report.figures.dataset import without_size
from rffbench.report.figures.style import style_of
from rffbench.report.frame import Protocols, Results, as_written, cell_places, size_label
from rffbench.report.pareto import pareto_front
from rffbench.trials.metrics import BYTES, ERRORS, PERCENT, TIMES, Metric

ROWS = "rows"  # the name of a chart's data
_DIGITS = 6  # significant ones of a number in the page
# Vega's names of the marks that the figures on paper have.
_SHAPES = {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "P": "cross",
           "X": "triangle-left", "*": "triangle-right"}  # fmt: skip


# ---- The charts --------------------------------------------------------------------------------------------


def curves_chart() -> dict[str, Any]:
    """A metric against the size: a line a method, points with what they stand for on hover, a band of ± one standard
    deviation. A row has x, mean, low, high, and what is shown."""
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
    """The score against a cost: a point a method and size, and a line through those on the Pareto front."""
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
    """Hollow where seconds were taken while other work used the processors."""
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
    """The chart as Vega-Lite, checked against its schema; as wide as the page lets it."""
    chart = alt.layer(*layers).properties(width="container", height=300)
    return chart.configure_view(stroke=None).to_dict()


# ---- Their numbers -----------------------------------------------------------------------------------------


def chart_data(protocols: Protocols, summaries: Sequence[pd.DataFrame]) -> dict[str, Any]:
    """The numbers of an experiment's charts, from its protocols and their summaries: what its methods look like, what
    was measured, and every cell. Names are those of the config, and as people write them.

    Of a dataset ``levels`` are the methods without a size, whose numbers are lines across. A cell is a list: the place
    of its protocol, dataset and method in their lists, the size, the size as written, whether seconds are contended,
    and of every metric mean, standard deviation (None of a single trial) and number of trials; behind these the costs
    by which it is on the Pareto front of its dataset.
    """
    results = protocols[0][1]
    methods = list(dict.fromkeys(name for _, each in protocols for name in each.methods))
    datasets = list(dict.fromkeys(name for _, each in protocols for name in each.datasets))
    metrics = {name: metric for _, each in protocols for name, metric in each.metrics.items()}
    cells: list[list[Any]] = []
    for place, ((_, each), summary) in enumerate(zip(protocols, summaries, strict=True)):
        cells += _cells_of(each, summary, place, datasets, methods)
    measured = {name for cell in cells for name in cell[6]}
    levels = {
        dataset: [
            methods.index(name) for name in without_size(results, summaries[0][summaries[0]["dataset"] == dataset])
        ]
        for dataset in datasets
    }
    return {
        "methods": [{"name": name, "written": as_written(name), **_style(index)} for index, name in enumerate(methods)],
        "protocols": [", ".join(labels.values()) for labels, _ in protocols],
        "datasets": [
            {
                "name": name,
                "written": _called(protocols, name),
                "score": _score(protocols, name),
                "levels": levels[name],
                "kernels": next(
                    each.kernels_differ(name, each.methods_on(name)) for _, each in protocols if name in each.datasets
                ),
            }
            for name in datasets
        ],
        "metrics": {name: _about(metric) for name, metric in metrics.items() if name in measured},
        "costs": [name for name, metric in metrics.items() if name in measured and _is_cost(metric)],
        "counts": "columns" if results.grid.setting("count") == "columns" else "frequencies s",
        "cells": cells,
    }


def _cells_of(
    results: Results, summary: pd.DataFrame, protocol: int, datasets: list[str], methods: list[str]
) -> list[list[Any]]:
    """One protocol's, by dataset."""
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
    """Add to a dataset's cells the costs by which they are on the Pareto front."""
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
    return {
        "color": style["color"],
        "shape": _SHAPES[style["marker"]],
        "dash": [round(3 * each / 2) for each in line[1]] if isinstance(line, tuple) else [1, 0],
    }


def _about(metric: Metric) -> dict[str, Any]:
    return {
        "label": metric.label,
        "log": metric.unit != PERCENT,
        "time": metric.name in TIMES,
        "error": metric.name in ERRORS,
    }


def _is_cost(metric: Metric) -> bool:
    return metric.unit == BYTES or metric.name in TIMES or metric.name == "model_size"


def _score(protocols: Protocols, dataset: str) -> str:
    return next(each.score(dataset).name for _, each in protocols if dataset in each.datasets)


def _called(protocols: Protocols, dataset: str) -> str:
    return next(each.called(dataset) for _, each in protocols if dataset in each.datasets)


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.{_DIGITS}g}")
