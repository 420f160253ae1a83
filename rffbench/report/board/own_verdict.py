"""What your own map comes to: one sentence, and a table of few rows. The page has all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rffbench.io.text import plural
from rffbench.report.board.own_tables import own_costs
from rffbench.report.board.shipped import COLUMNS
from rffbench.report.frame import Results
from rffbench.report.text_table import Table
from rffbench.stats.costs import at_columns, cost_ratios
from rffbench.stats.datasets import FEWEST, REGION, noise, smallest_gain
from rffbench.stats.gain import BASELINE, losses
from rffbench.stats.summary import Gains, Summary, gains_of, in_percent, summary_of
from rffbench.stats.units import references

MOST_ROWS = 10
_WORDS = {
    "better": "better than random Fourier features",
    "same": "the same as random Fourier features",
    "worse": "worse than random Fourier features",
    "undecided": "not shown to differ from random Fourier features",
}


def main_size(results: Results) -> int:
    """The size of the board's questions; the largest, where that was not run."""
    sizes = {int(size) for size in results.trials["n_features"].unique()}
    return COLUMNS if COLUMNS in sizes else max(sizes)


def verdict_of(results: Results, label: str, timed: Results | None = None) -> str:
    """The verdict on the map called ``label`` at the `main_size`, what it costs there, and on how many datasets it is
    better at other sizes; and the smallest gain that the board can decide. Two sentences."""
    found, known, columns = losses(results.trials), references(), main_size(results)
    sizes = sorted(int(size) for size in found["n_features"].unique())
    at = {size: _summary(at_columns(found, known, size), label) for size in sizes}
    if not at[columns].is_known:
        return f"{label} has no gain at {columns} columns: its trials or those of random Fourier features failed."
    said = f"{label} is {_WORDS[at[columns].verdict]} at {columns} columns{_cost(timed, label, columns)}"
    for size in (each for each in sizes if each != columns and at[each].is_known):
        if better := sum(mean > REGION for mean in at[size].means):
            said += f"; more than {in_percent(REGION)} better with {size} on {better} of {at[size].datasets} datasets"
    return f"{said}. {_decides(gains_of(at_columns(found, known, columns), label))}"


def short_table(gains: Table, label: str, columns: int) -> Table:
    """At most `MOST_ROWS` rows of the table of ``gains``: the map called ``label`` at every size, and the maps next to
    it with as many ``columns``."""
    mine = [row for row in gains.rows if row[1].removesuffix(" *") == label]
    group = [row for row in gains.rows if row[0] == str(columns)]
    centre = next((place for place, row in enumerate(group) if row in mine), 0)
    near = sorted((row for row in group if row not in mine), key=lambda row: abs(group.index(row) - centre))
    chosen = [*mine, *near][:MOST_ROWS]
    rows = [row for row in gains.rows if row in chosen]
    notes = list(gains.notes)
    if more := len(gains.rows) - len(rows):
        notes.append(f"{plural(more, 'more row')}, each dataset and what maps cost are on the page.")
    return Table(gains.title, gains.header, rows, notes, stub=gains.stub)


def _summary(rows: pd.DataFrame, label: str) -> Summary:
    return summary_of(label, gains_of(rows, label), view=rows["dataset"].nunique())


def _cost(timed: Results | None, label: str, columns: int) -> str:
    """At how many times RFF's seconds, in words; empty where that was not measured."""
    if timed is None:
        return ""
    ratios = cost_ratios(own_costs(timed)["fit"], columns).reset_index()
    mine = ratios[(ratios["method"] == label) & (ratios["n_features"] == columns)]["ratio"]
    if mine.empty or label == BASELINE:
        return ""
    times = f"{mine.median():.2g}"
    return ", at their seconds" if times == "1" else f", at {times} times their seconds"


def _decides(gains: Gains) -> str:
    """The smallest gain that the board with these gains' noise and spread over datasets can decide, in a sentence."""
    errors = REGION * np.nan_to_num(noise(gains).to_numpy())
    means = np.array([np.nanmean(each) for each in gains.values() if not np.isnan(each).all()])
    spread = float(np.sqrt(max(0.0, means.var(ddof=1) - np.mean(errors**2)))) if len(means) > 1 else 0.0
    smallest = smallest_gain(errors[: len(means)], spread)
    if np.isnan(smallest):
        few = "are too few" if len(means) < FEWEST else "differ too much"
        return f"These {plural(len(means), 'dataset')} {few} to decide any gain: run more."
    return f"The smallest gain that these {plural(len(means), 'dataset')} can decide is {in_percent(smallest, 1)}."
