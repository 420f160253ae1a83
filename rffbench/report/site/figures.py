"""The site's figures: Vega-Lite charts as SVG inside the pages, in the colours of the page, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import vl_convert
from markupsafe import Markup

from rffbench.io.text import printable
from rffbench.report.site.standing import BETTER, WORSE, Standing

TEXT, GRID = "currentColor", "#80808060"
COLORS = {"better": "#0072b2", "worse": "#d55e00", "same": "#6b7280", "undecided": "#9a7d0a"}
"""Of verdicts; each can be told from the others by the colour-blind, and is a word in the table beside."""
OWN = "#cc79a7"
WIDTH = 620
WIDER = 0.8
"""Pixels for each letter of a name, by which a reader's font may be wider than the one that Vega measures."""
SILENT: dict[str, Any] = {"aria": False, "clip": True}
"""Of marks that the figure's words do not read out, one by one."""


def strips(standings: Sequence[Standing], baseline: str) -> Markup:
    """A line for each map: its median ratio of test errors with the interval, and a dot for every dataset."""
    order = [printable(each.method) for each in standings]
    medians = pd.DataFrame([
        {"map": each.method, "ratio": each.ratio, "low": each.low, "high": each.high, "verdict": each.verdict}
        for each in standings
    ])  # fmt: skip
    dots = pd.DataFrame([
        {"map": each.method, "dataset": name, "ratio": ratio} for each in standings for name, ratio in each.on.items()
    ])  # fmt: skip
    y = alt.Y("map:N", sort=order, title=None)
    x = alt.X("ratio:Q", scale=_log(dots["ratio"], medians["ratio"]), title=f"test error over that of {baseline}")
    color = alt.Color("verdict:N", scale=alt.Scale(domain=list(COLORS), range=list(COLORS.values())))
    return _svg(
        alt.Chart(dots).mark_tick(color=TEXT, opacity=0.3, thickness=1.5, size=10, **SILENT).encode(x=x, y=y),
        alt.Chart(medians).mark_rule(strokeWidth=3, **SILENT).encode(x="low:Q", x2="high:Q", y=y, color=color),
        alt.Chart(medians).mark_point(size=70, filled=True, opacity=1).encode(x=x, y=y, color=color),
        _line(1.0),
        names=order,
        shows=f"Median ratio of test errors over datasets, by map: "
        f"{', '.join(f'{each.method} {each.ratio:.3f}' for each in standings)}.",
    )  # fmt: skip


def by_dataset(rows: Sequence[dict[str, Any]], baseline: str) -> Markup:
    """One map on every dataset: the ratio of test errors, with keys dataset, ratio, low, high and verdict."""
    table = pd.DataFrame(list(rows))
    order = [printable(name) for name in table["dataset"]]
    y = alt.Y("dataset:N", sort=order, title=None)
    x = alt.X("ratio:Q", scale=_log(table["ratio"], table["ratio"]), title=f"test error over that of {baseline}")
    kinds = {BETTER: COLORS["better"], WORSE: COLORS["worse"], "not told apart": COLORS["same"]}
    color = alt.Color("verdict:N", scale=alt.Scale(domain=list(kinds), range=list(kinds.values())), title="test error")
    return _svg(
        alt.Chart(table).mark_rule(strokeWidth=2, **SILENT).encode(x="low:Q", x2="high:Q", y=y, color=color),
        alt.Chart(table).mark_point(size=60, filled=True, opacity=1).encode(x=x, y=y, color=color),
        _line(1.0),
        names=order,
        shows="Ratio of test errors by dataset: "
        + ", ".join(f"{row['dataset']} {row['ratio']:.3f}" for row in rows) + ".",
    )  # fmt: skip


def curves(cells: pd.DataFrame, named: Sequence[str], metric: str) -> Markup:
    """On one dataset the test error against the columns: a line for each map; the ``named`` ones have colours, and the
    others are grey. ``cells`` has map, columns and error."""
    palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#9a7d0a", "#56b4e9"]
    x = alt.X("columns:Q", scale=alt.Scale(type="log", base=2), title="columns")
    y = alt.Y("error:Q", scale=alt.Scale(type="log", nice=False, padding=8), title=metric)
    named = [printable(name) for name in named]
    cells = cells.assign(map=cells["map"].map(printable))
    others, mine = cells[~cells["map"].isin(named)], cells[cells["map"].isin(named)]
    color = alt.Color("map:N", scale=alt.Scale(domain=list(named), range=palette[: len(named)]), title=None)
    layers = [
        alt.Chart(others)
        .mark_line(aria=False, color=TEXT, opacity=0.22, strokeWidth=1)
        .encode(x=x, y=y, detail="map:N"),
        alt.Chart(mine).mark_line(strokeWidth=2.2, point=alt.OverlayMarkDef(size=40)).encode(x=x, y=y, color=color),
    ]
    shows = f"{metric} against columns; grey: {', '.join(others['map'].unique()) or 'none'}."
    return _svg(*layers, height=320, shows=shows)


def ranks(means: pd.Series, joined: Sequence[tuple[int, int]]) -> Markup:
    """The critical-difference diagram: each method at its mean rank, 1 is best; a bar joins methods that are not told
    apart. ``joined`` has the first and last of each bar, in the order of ``means``."""
    order = [printable(str(name)) for name in means.index]
    dots = pd.DataFrame({"map": order, "rank": means.to_numpy()})
    bars = pd.DataFrame([
        {"map": order[at], "low": means.iloc[first], "high": means.iloc[last], "bar": number}
        for number, (first, last) in enumerate(joined) for at in (last,)
    ], columns=["map", "low", "high", "bar"])  # fmt: skip
    y = alt.Y("map:N", sort=order, title=None)
    scale = alt.Scale(domain=[1, len(order)], nice=False, zero=False)
    axis = alt.Axis(tickMinStep=1)
    x = alt.X("rank:Q", title="mean rank over datasets; 1 is best", scale=scale, axis=axis)
    return _svg(
        alt.Chart(dots).mark_rule(aria=False, color=TEXT, opacity=0.15).encode(x=alt.X("rank:Q"), x2=alt.datum(1), y=y),
        alt.Chart(bars).mark_rule(color=COLORS["worse"], strokeWidth=3).encode(x="low:Q", x2="high:Q", y=y),
        alt.Chart(dots).mark_point(size=60, filled=True, opacity=1, color=COLORS["better"]).encode(x=x, y=y),
        names=order,
        shows="Mean ranks: " + ", ".join(f"{name} {rank:.1f}" for name, rank in means.items()) + ".",
    )


def _log(values: pd.Series, points: pd.Series) -> alt.Scale:
    """A logarithmic axis that holds all but the farthest values, and every one of the ``points``."""
    low = min(float(values.quantile(0.005)), float(points.min()) * 0.98, 0.9)
    high = max(float(values.quantile(0.985)), float(points.max()) * 1.02, 1.1)
    return alt.Scale(type="log", domain=[low, high], nice=False, clamp=False)


def _line(at: float) -> alt.Chart:
    return alt.Chart(pd.DataFrame({"at": [at]})).mark_rule(color=TEXT, strokeDash=[4, 3]).encode(x="at:Q")


def _svg(*layers: alt.Chart, shows: str, names: Sequence[str] = (), height: int = 0) -> Markup:
    """The layers as one SVG element that fills the page's width, with what it shows in words; of the ``names`` on the
    left each has a line, or else the figure is ``height`` tall."""
    axis = {"labelColor": TEXT, "titleColor": TEXT, "gridColor": GRID, "domainColor": TEXT, "tickColor": TEXT,
            "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 220}  # fmt: skip
    legend = {"labelColor": TEXT, "titleColor": TEXT, "orient": "top", "labelFontSize": 12, "titleFontSize": 12}
    for layer in layers:
        texts = layer.data.select_dtypes(exclude="number")
        layer.data[texts.columns] = texts.map(printable)  # Vega's fonts abort at a control character
    room = {"left": 5 + WIDER * max(map(len, names), default=0), "right": 5, "top": 5, "bottom": 5}
    size = {"width": WIDTH, "height": 17 * len(names) or height}
    chart = alt.layer(*layers).properties(**size, padding=room, background="transparent")
    spec = chart.configure_view(stroke=None).configure_axis(**axis).configure_legend(**legend).to_dict()
    drawn = vl_convert.vegalite_to_svg(spec)
    _, _, inside = drawn.partition("<svg ")
    label = Markup.escape(printable(shows))
    return Markup('<svg role="img" aria-label="{}" {}').format(label, Markup(inside))
