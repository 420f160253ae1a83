"""A dataset's page: which maps have the smallest test error on it, and what it is."""

from __future__ import annotations

from typing import Any

import pandas as pd

from rffbench.io.text import plural
from rffbench.report.frame import find_card
from rffbench.report.site import figures
from rffbench.report.site.content import RFF, Content
from rffbench.report.site.parts import COSTS, Part, metric_of, shape_of
from rffbench.report.site.standing import ALIKE, told_apart
from rffbench.report.site.table import Cell, Table, number
from rffbench.stats.units import references

MOST_COLORED = 4


def context(content: Content, dataset: str) -> dict[str, Any]:
    """What the template dataset.html shows."""
    parts = content.of_dataset(dataset)
    first = parts[0]
    card = find_card(dataset)
    n, d = shape_of(first, dataset)
    facts = {
        "task": card.task if card else "",
        "training rows": f"{n:,}" if n else "",
        "input columns": f"{d:,}" if d else "",
        "licence": card.licence if card else "",
        "source": card.citation if card else "",
        "notes": card.notes if card else "",
    }
    known = references().get(dataset)
    if known is not None:
        facts["a constant's loss"] = f"{known.constant:.4g}"
        facts[f"loss of 4,096 {RFF}"] = f"{known.reference:.4g}"
    return {
        "title": card.title if card else dataset,
        "name": dataset,
        "said": sentence(first, dataset, content.rows[first.name]),
        "facts": {key: value for key, value in facts.items() if value},
        "figures": [figure for part in parts if (figure := _curves(part, dataset, content.rows[part.name]))],
        "tables": [_maps(content, part, dataset) for part in parts],
    }


def sentence(part: Part, dataset: str, rows: pd.DataFrame) -> str:
    """Which map has the smallest test error with the part's columns, and how many are not told apart from it."""
    of_maps = rows[(rows["dataset"] == dataset) & (rows["n_features"] == part.columns)]
    of_maps = of_maps[of_maps["method"].map(part.is_map).astype(bool)]
    errors = of_maps.pivot_table(index="trial", columns="method", values="error").dropna(axis=1)
    if errors.empty:
        return f"No map was run on {dataset} with {part.columns:,} columns."
    best, size = str(errors.mean().idxmin()), f"{part.columns:,} columns"
    said = f"On {dataset}, {best} {'have' if best == 'RFF' else 'has'} the smallest test error with {size}"
    others = {str(name): list(errors[name] / errors[best]) for name in errors if name != best}
    if len(errors) < 2:
        return f"{said}, in a single trial."
    if not others:
        return f"{said}."
    alike = sum(verdict == ALIKE for verdict in told_apart(others).values())
    of = plural(len(others), "other map")
    if not alike:
        return f"{said}, and all of {of} a larger one."
    return f"{said}; {alike} of {of} {'is' if alike == 1 else 'are'} not told apart from it."


def _curves(part: Part, dataset: str, rows: pd.DataFrame) -> Any:
    """The test error against the columns; empty with a single size."""
    rows = rows[(rows["dataset"] == dataset) & rows["method"].map(part.is_map).astype(bool)]
    cells = rows.groupby(["method", "n_features"], sort=False)["error"].mean().dropna().reset_index()
    cells.columns = pd.Index(["map", "columns", "error"])
    if cells["columns"].nunique() < 2:
        return ""
    at = cells[cells["columns"] == part.columns].sort_values("error")["map"]
    named = list(dict.fromkeys([*([part.baseline] if part.baseline else []), *at]))[: MOST_COLORED + 1]
    return figures.curves(cells, named, metric_of(part, dataset))


def _maps(content: Content, part: Part, dataset: str) -> Table:
    """Every map at every size on the dataset."""
    rows = content.rows[part.name]
    rows = rows[rows["dataset"] == dataset]
    costs = [of for of in COSTS if of in rows]
    table = []
    for (label, columns), mine in rows.groupby(["method", "n_features"], sort=False):
        method = str(label)
        address = f"../maps/{content.addresses[part.name, method]}.html"
        table.append([
            Cell(method, address),
            number(float(str(columns)), ",.0f") if part.is_map(method) else Cell("–"),
            number(float(mine["error"].mean()), ".4g"), number(float(mine["error"].std()), ".2g"),
            number(float(mine["ratio"].mean())), *(number(float(mine[of].iloc[0]), ".2g") for of in costs),
            Cell(f"{len(mine)}{_lost(mine)}", value=len(mine)),
        ])  # fmt: skip
    table.sort(key=lambda row: (row[1].text != f"{part.columns:,}", row[2].value))
    header = [
        "map",
        "columns",
        metric_of(part, dataset),
        "± trials",
        "over RFF's",
        *(f"{COSTS[of]} over RFF's" for of in costs),
        "trials",
    ]
    note = f"Over RFF's: with as many columns. Seconds and memory: over those of {RFF} with {part.columns:,} columns."
    return Table(f"maps-{part.name}", part.title, header, table, [note] if part.baseline else [])


def _lost(trials: pd.DataFrame) -> str:
    """How many of the trials failed, in words; empty if none did."""
    failed = int(trials["failed"].sum())
    return f", {failed} failed" if failed else ""
