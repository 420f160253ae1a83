"""The first page: which maps are better than random Fourier features, and every cell of the boards to filter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from rffbench.io.text import first_of, plural
from rffbench.report.board.entries import NO
from rffbench.report.figures.critical_difference import joined_runs
from rffbench.report.page.render import packed
from rffbench.report.site import figures
from rffbench.report.site.content import RFF, Content
from rffbench.report.site.parts import COSTS, Part, metric_of, shape_of, task_of
from rffbench.report.site.standing import View, mean_ranks
from rffbench.report.site.table import Cell, Table, interval, number
from rffbench.report.text_table import NOT_RUN
from rffbench.stats.datasets import FEWEST
from rffbench.stats.intervals import LEVEL

MOST_NAMED = 3
HEADS = {"fit": "same seconds", "memory": "same memory"}
CELLS = ("board", "map", "dataset", "task", "kernel", "d", "n", "columns", "metric", "test error", "± trials",
         "over RFF", "seconds", "memory", "trials", "failed")  # fmt: skip
"""The columns of the table of all cells."""


def context(content: Content) -> dict[str, Any]:
    """What the template board.html shows."""
    board = content.board
    own = [part for part in content.parts if part.is_own]
    views = content.views.get(board.name, {})
    return {
        "title": "The board",
        "said": sentence(views),
        "figure": figures.strips(views["columns"].of_maps, RFF) if views else "",
        "standings": [
            standing_table(content, part) for part in [*own, board] if part.name in content.views
        ],
        "own": [(part.title, own_sentence(content, part)) for part in own],
        "ranks": _ranks(views["columns"]) if views else None,
        "cells": packed({"columns": CELLS, "rows": [row for part in content.parts for row in cells(content, part)]}),
        "choices": _choices(content),
        "named": [part.title for part in content.parts],
    }  # fmt: skip


# ---- In words --------------------------------------------------------------------------------------------------------


def sentence(views: dict[str, View]) -> str:
    """How many maps are better than random Fourier features with as many columns, and for the same seconds."""
    if not views:
        return "There is nothing to compare."
    columns = views["columns"]
    better = columns.with_verdict("better")
    names = f": {first_of(better, MOST_NAMED)}" if better else ""
    said = (
        f"{len(better) or 'None'} of {len(columns.of_maps)} maps {_are(better)} better than {RFF} with as many columns"
    )
    if "fit" not in views:
        return f"{said}{names}."
    quicker = views["fit"].with_verdict("better")
    return f"{said}{names}. For the same seconds, {len(quicker) or 'none'} {_are(quicker)}."


def _are(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"


def own_sentence(content: Content, part: Part) -> str:
    """What the statistics say of own results, or why they say nothing."""
    if not part.baseline:
        return f"There are no {RFF} among these results to compare with: run them beside your methods."
    beside = (
        ""
        if part.is_of_board
        else " They were measured by another protocol than the board's: compare them among themselves."
    )
    view = content.views[part.name]["columns"]
    if len(part.datasets) < FEWEST:
        best = view.standings[0] if view.standings else None
        said = f"None of these has a smaller test error than {RFF}; " if best else ""
        if best and best.ratio < 1:
            said = f"{best.method} has the smallest test error, {best.ratio:.2f} of that of {RFF}; "
        return f"{said}{plural(len(part.datasets), 'dataset')} cannot tell how that is on others.{beside}"
    return sentence({"columns": view}) + beside


# ---- How maps stand --------------------------------------------------------------------------------------------------


def standing_table(content: Content, part: Part) -> Table:
    """A row for each map: at each budget the median ratio of test errors, its interval and the verdict; and who has
    looked at the entry."""
    views = content.views[part.name]
    by_map = {of: {each.method: each for each in view.standings} for of, view in views.items()}
    rows = []
    for each in views["columns"].standings:
        who = content.who_checked(each.method, part)
        row = [Cell(each.method, f"maps/{content.addresses[part.name, each.method]}.html")]
        for of in views:
            at = by_map[of].get(each.method)
            known = at is not None and part.is_map(each.method)
            row += [number(at.ratio) if at else Cell(NOT_RUN), interval(at.low, at.high) if at else Cell(NOT_RUN),
                    Cell(at.verdict if known and at else NOT_RUN)]  # fmt: skip
        rows.append([*row, *(Cell(NO if said == NO else "yes") for said in (who.repeated, who.authors))])
    heads = [f"{part.columns:,} columns", *(HEADS[of] for of in views if of != "columns")]
    header = [
        "map",
        *(head for name in heads for head in (name, "95 %", "verdict")),
        "trials repeated",
        "authors checked",
    ]
    costs = f", and for the seconds and in the memory of {RFF} with {part.columns:,} columns" if len(views) > 1 else ""
    notes = [
        f"Test error as a ratio to {RFF}', in the median over datasets: with as many columns{costs}.",
        "Intervals are a bootstrap over datasets and trials. Verdicts are by a Bayesian signed-rank test of gains; "
        "same is within 1 % of what 4,096 random Fourier features gain over a constant.",
    ]  # fmt: skip
    return Table(f"standing-{part.name}", part.title, header, rows, notes)


def _ranks(view: View) -> Any:
    """The critical-difference diagram; None with fewer than `FEWEST` datasets or maps."""
    means, pairs = mean_ranks(view)
    if len(means) < FEWEST or view.rows["dataset"].nunique() < FEWEST or pairs["p_holm"].isna().all():
        return None
    p = pd.DataFrame(np.nan, index=means.index, columns=means.index)
    for first, second, value in pairs.itertuples(index=False):
        p.loc[first, second] = p.loc[second, first] = value
    apart = int((pairs["p_holm"] < LEVEL).sum())
    by = f"by their errors with {view.part.columns:,} columns"
    return {
        "figure": figures.ranks(means, joined_runs(p.to_numpy())),
        "said": f"{apart} of {len(pairs)} pairs of maps differ by more than chance, {by}.",
    }


# ---- Every cell ------------------------------------------------------------------------------------------------------


def cells(content: Content, part: Part) -> list[list[Any]]:
    """A row of `CELLS` for every cell of a part, means over trials; the map and the dataset with their pages."""
    rows = content.rows[part.name]
    named = ["dataset", "n_features", "method"]
    groups = rows.groupby(named, sort=False)
    costs = [of for of in COSTS if of in rows]
    found = groups.agg(
        error=("error", "mean"), spread=("error", "std"), ratio=("ratio", "mean"), trials=("trial", "size"),
        failed=("failed", "sum"), **{of: (of, "first") for of in costs},
    ).reset_index()  # fmt: skip
    about = {name: (task_of(part, name), *shape_of(part, name)[::-1], metric_of(part, name)) for name in part.datasets}
    table = []
    for row in found.to_dict("records"):
        task, d, n, metric = about[row["dataset"]]
        table.append([
            part.name,
            [row["method"], content.addresses[part.name, row["method"]]],
            [row["dataset"], content.datasets[row["dataset"]]],
            task, part.kernel(row["method"]) or "none", d, n,
            row["n_features"] if part.is_map(row["method"]) else None, metric,
            _rounded(row["error"]), _rounded(row["spread"], 2), _rounded(row["ratio"], 4),
            *(_rounded(row.get(of, math.nan), 3) for of in COSTS), row["trials"], int(row["failed"]),
        ])  # fmt: skip
    return table


def _rounded(value: float, digits: int = 5) -> float | None:
    return None if math.isnan(value) else float(f"{value:.{digits}g}")


def _choices(content: Content) -> dict[str, list[str]]:
    """The values of the filters of the table of all cells."""
    parts = content.parts
    kernels = {part.kernel(name) or "none" for part in parts for name in part.methods}
    tasks = {task_of(part, name) for part in parts for name in part.datasets}
    metrics = {metric_of(part, name) for part in parts for name in part.datasets}
    sizes = sorted({
        int(size) for part in parts
        for size in part.rows.loc[part.rows["method"].map(part.is_map).astype(bool), "n_features"].unique()
    })  # fmt: skip
    return {
        "board": [part.name for part in parts],
        "map": list(dict.fromkeys(name for part in parts for name in part.methods)),
        "dataset": sorted(content.datasets),
        "kernel": sorted(kernels), "task": sorted(tasks), "metric": sorted(metrics),
        "columns": [str(size) for size in sizes],
    }  # fmt: skip
