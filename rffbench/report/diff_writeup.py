"""A difference of two results folders as text for a terminal of 80 columns, as JSON and as JUnit XML."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rffbench.errors import amount
from rffbench.io.text import wrapped
from rffbench.report import diff
from rffbench.report.junit import Case
from rffbench.report.settled import MOST_TRIALS
from rffbench.report.summary import records
from rffbench.report.text_table import significant_digits
from rffbench.trials.metrics import METRICS, PERCENT, TIMES

WIDTH = 80
NOT_COMPARED = (diff.UNMEASURED, diff.ONLY_OLD, diff.ONLY_NEW)


def to_text(difference: diff.Difference) -> str:
    """How many cells changed, then one line per changed cell."""
    lines = wrapped(f"{difference.title}: {difference.old} → {difference.new}", WIDTH)
    lines += wrapped(summary(difference), WIDTH)
    lines += [line for note in difference.notes for line in wrapped(note, WIDTH)]
    for kind in (diff.LOST, diff.WORSE, diff.BETTER, diff.CHANGED):
        cells = difference.cells[difference.cells["verdict"] == kind]
        if kind == diff.LOST:
            lines += _section("lost: finished before, now failed", cells, _lost)
        else:
            lines += _section(f"{kind}{_beyond(difference)}", cells, change)
    lines += _section(diff.UNSETTLED, difference.cells[difference.cells["verdict"] == diff.UNSETTLED], _unsettled)
    for kind in (diff.SLOWER, diff.FASTER, diff.LARGER, diff.SMALLER):
        lines += _section(kind, difference.costs[difference.costs["verdict"] == kind], _ratio)
    return "\n".join(lines) + "\n"


def summary(difference: diff.Difference) -> str:
    """Sentences: the number of cells by verdict, the number of unchanged costs, and of cells not compared; of a strict
    difference how many are not shown to be alike."""
    counts = difference.cells["verdict"].value_counts()
    said = [f"{counts.get(diff.WORSE, 0)} of {difference.compared} cells are worse{_beyond(difference)}"]
    if diff.LOST in counts:
        said.append(f"{counts[diff.LOST]} lost trials")
    said += [f"{counts[kind]} are {kind}" for kind in (diff.BETTER, diff.CHANGED) if kind in counts]
    if difference.tolerance:
        said.append(f"{counts.get(diff.WITHIN, 0)} are within that")
    said.append(f"{counts.get(diff.SAME, 0)} are unchanged")
    if diff.UNSETTLED in counts:
        said.append(f"{counts[diff.UNSETTLED]} are not settled")
    costs, steady = difference.costs, difference.costs["verdict"] == diff.SAME
    seconds = costs["metric"].isin(TIMES)
    alike = [
        f"{(steady & of_kind).sum()} of {of_kind.sum()} {what}"
        for what, of_kind in (("times", seconds), ("amounts of memory", ~seconds))
        if of_kind.any()
    ]
    left = [f"{counts[kind]} {kind}" for kind in NOT_COMPARED if kind in counts]
    return (
        "; ".join(said) + "."
        + (f" {' and '.join(alike)} are about the same." if alike else "")
        + (f" Not compared: {', '.join(left)}." if left else "")
        + (f" {_strictly(difference)}" if difference.strict else "")
    )  # fmt: skip


def _strictly(difference: diff.Difference) -> str:
    units = " or ".join(dict.fromkeys(difference.cells["unit"]))
    alike = f"to be within {difference.tolerance:g} {units}" if difference.tolerance else "to be unchanged"
    if not difference.outside:
        return f"Strict: all {len(difference.cells)} cells are shown {alike}."
    return f"Strict: {difference.outside} of {len(difference.cells)} cells are not shown {alike}."


def to_json(differences: Sequence[diff.Difference]) -> str:
    """The JSON of a list with one object per experiment; numbers in full precision, null if missing."""
    return json.dumps(
        [
            {
                "experiment": each.name, "title": each.title, "old": each.old, "new": each.new,
                "tolerance": each.tolerance, "strict": each.strict,
                "outside": each.outside, "compared": each.compared, "notes": each.notes,
                "cells": records(each.cells), "costs": records(each.costs),
            }
            for each in differences
        ],
        indent=1,
        ensure_ascii=False,
    ) + "\n"  # fmt: skip


def cases(difference: diff.Difference) -> list[Case]:
    """One JUnit test per cell."""
    return [
        Case(
            f"{difference.name}.{cell['dataset']}",
            " ".join(part for part in (cell["protocol"], cell["size"], cell["method"]) if part),
            failure=_failure(cell) if difference.is_outside(cell["verdict"]) else "",
            skipped=cell["verdict"] if cell["verdict"] in NOT_COMPARED and not difference.strict else "",
            said="" if math.isnan(cell["difference"]) else change(cell),
        )
        for cell in difference.cells.to_dict("records")
    ]


def _failure(cell: Mapping[Any, Any]) -> str:
    if cell["verdict"] in NOT_COMPARED:
        return str(cell["verdict"])
    return f"{cell['verdict']}: {_lost(cell) if cell['verdict'] == diff.LOST else change(cell)}"


def _beyond(difference: diff.Difference) -> str:
    """`` by more than 0.5 points``, or ``%``, or both units; empty without a tolerance."""
    units = " or ".join(dict.fromkeys(difference.cells["unit"]))
    return f" by more than {difference.tolerance:g} {units}" if difference.tolerance else ""


def change(cell: Mapping[Any, Any]) -> str:
    """``68.45 → 67.10, −1.35 points (−1.60 to −1.10)``."""
    metric = METRICS.get(cell["metric"])
    decimals = 2 if metric and metric.unit == PERCENT else significant_digits(max(abs(cell["old"]), 1e-6), 3)
    interval = f" ({_signed(cell['low'])} to {_signed(cell['high'])})" if math.isfinite(cell["high"]) else ""
    means = f"{cell['old']:.{decimals}f} → {cell['new']:.{decimals}f}"
    return f"{means}, {_signed(cell['difference'])} {cell['unit']}{interval}"


def _lost(cell: Mapping[Any, Any]) -> str:
    return f"trials that were ok: {cell['lost']}"


def _unsettled(cell: Mapping[Any, Any]) -> str:
    """The change, and the number of trials that would settle it."""
    if cell["settled_by"] == cell["settled_by"] and cell["settled_by"] is not None:
        return f"{change(cell)}; about {int(cell['settled_by'])} trials would settle it"
    few = "a single trial says nothing of the noise" if cell["trials"] < 2 else f"more than {MOST_TRIALS} trials would"
    return f"{change(cell)}; {few}"


def _ratio(cost: Mapping[Any, Any]) -> str:
    show = (lambda value: f"{value:.2g} s") if cost["metric"] in TIMES else amount
    interval = f" ({cost['low']:.2f} to {cost['high']:.2f})" if math.isfinite(cost["high"]) else ""
    name = METRICS[cost["metric"]].title.partition(" less ")[0]
    return f"{name} {show(cost['old'])} → {show(cost['new'])}, ×{cost['ratio']:.2f}{interval}"


def _section(heading: str, rows: pd.DataFrame, said: Any) -> list[str]:
    """A heading and one line per row, with the row's place and text; two lines if they are too long for one."""
    if rows.empty:
        return []
    lines = ["", f"{heading} ({len(rows)})"]
    places = [" ".join(part for part in (f"{row['protocol']}:" if row["protocol"] else "", row["dataset"], row["size"],
                                         row["method"]) if part) for row in rows.to_dict("records")]  # fmt: skip
    texts = [said(row) for row in rows.to_dict("records")]
    fitting = [len(place) for place, text in zip(places, texts, strict=True) if len(place) + len(text) + 4 <= WIDTH]
    room = min(max(fitting, default=0), WIDTH - 4 - max(map(len, texts)))
    for place, text in zip(places, texts, strict=True):
        if len(place) <= room:
            lines.append(f"  {place:<{room}}  {text}")
        else:
            lines += wrapped(place, WIDTH, "  ")
            lines += wrapped(text, WIDTH, " " * 6)
    return lines


def _signed(value: float) -> str:
    return f"{value:+.3f}" if 0 < abs(value) < 0.095 else f"{value + 0.0:+.2f}"
