"""How each cell's score moved over runs, and whether it has a change point.

A run is a results folder, or a folder in a git commit. Its date, commit and version are those of the newest record in
its manifest.json. The series of a cell are its means, one per run, by date. A mean is over the trials that all runs
with the cell have, so that it does not move only because a run has more trials.

The change point is at the largest standardised shift of the mean: the largest over k of the difference between the mean
of runs k + 1 … n and that of runs 1 … k, times √(k(n − k)/n), over the series' standard deviation. Its p-value is the
share of permutations of the series with as large a shift: of all permutations for few runs, else of random ones. The
test assumes that runs without a change are exchangeable, and finds one change. It needs four runs.

The permutation test is SciPy's. No library for change points is used: ruptures returns positions for a given penalty or
number of changes, and no p-value (see "Written here, and why" in CONTRIBUTING.md).
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import permutation_test

from rffbench.arguments.seeds import generator, stream
from rffbench.errors import ResultsError
from rffbench.execution.manifest import runs_of
from rffbench.execution.places import experiment_folder
from rffbench.io.text import wrapped
from rffbench.report.frame import Protocols, each_cell, load_protocols
from rffbench.report.revision import results_at, revisions
from rffbench.report.summary import records
from rffbench.stats.intervals import LEVEL
from rffbench.trials.metrics import PERCENT

WIDTH = 80
FEWEST = 4  # runs that a test needs
ORDERS = 5040  # permutations: all of up to seven runs, random ones of more
DIGITS = 9  # of a standardised shift: those of two permutations that differ only by rounding are equal
SHOWN = 5  # values of a cell on its line


@dataclass(frozen=True)
class History:
    """``runs`` has a row for every run, oldest first: place, date, commit, version. ``cells`` has a row for every cell:
    protocol, dataset, size, method, metric, decimals, trials (the number that its runs have in common; 0: each mean is
    over other trials), values (a mean for every run, NaN if missing), and the largest shift: begins (the first run
    after it, counted from 1), shift and p; None and NaN if there is no test."""

    title: str
    runs: pd.DataFrame
    cells: pd.DataFrame


def history(places: Sequence[str]) -> History:
    """The history of one experiment over several results folders, or over the git commits that changed the log of a
    single folder (and its current state). ResultsError with fewer than two runs."""
    one = places[0] if len(places) == 1 else None
    if one:
        places = [*revisions(Path(one)), one]
    runs: list[tuple[dict[str, str], Protocols]] = []
    with ExitStack() as open_copies:
        for place in places:
            folder = experiment_folder(open_copies.enter_context(results_at(place)))
            about = _about(place, folder)
            if one and runs and about["date"] and about["date"] == runs[-1][0]["date"]:
                runs.pop()  # a commit that stored the same run in another format
            runs.append((about, load_protocols(folder)))
    if len(runs) < 2:
        raise ResultsError(
            f"{places[-1]}: is one run; a history needs several folders, or one whose log has several commits in git"
        )
    runs.sort(key=lambda run: run[0]["date"])  # stable: runs without a date keep their order
    table = pd.DataFrame([each for each, _ in runs])
    return History(runs[-1][1][0][1].title, table, _cells([protocols for _, protocols in runs]))


def _about(place: str, folder: Path) -> dict[str, str]:
    newest: dict[str, Any] = (runs_of(folder) or [{}])[-1]
    return {
        "place": place,
        "date": str(newest.get("finished") or newest.get("started") or ""),
        "commit": str(newest.get("git_commit") or ""),
        "version": str(newest.get("rffbench") or ""),
    }


def _cells(runs: Sequence[Protocols]) -> pd.DataFrame:
    series: dict[tuple[str, ...], dict[int, pd.Series]] = {}  # by run: the score of each trial
    decimals: dict[str, int] = {}
    for index, protocols in enumerate(runs):
        for labels, results in protocols:
            for dataset, _, size, method, trials in each_cell(results.trials):
                metric = results.score(dataset)
                key = (", ".join(labels.values()), dataset, size, method, metric.name)
                scored = trials.set_index("trial")[metric.name].dropna()
                series.setdefault(key, {}).update({index: scored} if len(scored) else {})
                decimals[metric.name] = 2 if metric.unit == PERCENT else 4
    rows = []
    for cell, scores in series.items():
        table = pd.DataFrame(scores, columns=range(len(runs)))
        common = table[list(scores)].dropna()
        values = (common.mean() if len(common) else table.mean()).reindex(table.columns).tolist()
        rows.append((*cell, decimals[cell[-1]], len(common), values, *change_point(values)))
    columns = [
        "protocol", "dataset", "size", "method", "metric", "decimals", "trials", "values", "begins", "shift", "p"
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


# ---- The change point --------------------------------------------------------------------------------------


def change_point(values: Sequence[float]) -> tuple[int | None, float, float]:
    """The first run after the largest standardised shift of the mean (counted from 1, runs without a value included),
    the shift itself and its permutation p-value; None and NaN with fewer than ``FEWEST`` values, or if all are
    equal."""
    series = np.asarray(values, float)
    present = np.flatnonzero(~np.isnan(series))
    series = series[present]
    n = len(series)
    if n < FEWEST or np.ptp(series) <= 16 * np.finfo(float).eps * np.abs(series).max():
        return None, math.nan, math.nan
    k = int(_shifts(series).argmax()) + 1
    test = permutation_test(
        (series,), lambda orders, axis: _shifts(orders).max(axis), permutation_type="pairings", vectorized=True,
        n_resamples=ORDERS, alternative="greater", random_state=generator(stream("history", n), "orders"),
    )  # fmt: skip
    return int(present[k]) + 1, float(series[k:].mean() - series[:k].mean()), float(test.pvalue)


def _shifts(series: np.ndarray) -> np.ndarray:
    """|mean after k − mean up to k|·√(k(n − k)/n) over the standard deviation, for each row and k = 1 … n − 1."""
    n = series.shape[-1]
    k = np.arange(1, n)
    sums = np.cumsum(series - series.mean(axis=-1, keepdims=True), axis=-1)
    before, after = sums[..., :-1] / k, (sums[..., -1:] - sums[..., :-1]) / (n - k)
    shifts = (after - before) * np.sqrt(k * (n - k) / n) / series.std(axis=-1, ddof=1, keepdims=True)
    return np.abs(shifts).round(DIGITS)


# ---- As text and JSON --------------------------------------------------------------------------------------


def to_text(found: History) -> str:
    """The runs, the cells that moved with their change points, and one line for the cells that did not move."""
    lines = [*textwrap.wrap(f"{found.title}: {len(found.runs)} runs", WIDTH), ""]
    for number, run in enumerate(found.runs.to_dict("records"), 1):
        dirty = "-dirty" if run["commit"].endswith("-dirty") else ""
        about = f"{run['date'][:16] or 'no date':<17}{run['commit'][:9] + dirty:<16}{run['version']:<8}"
        lines.append(f"{number:>3}  {about}{run['place']}")
    moved = [
        cell for cell in found.cells.to_dict("records") if len({_shown(cell, each) for each in cell["values"]}) > 1
    ]
    if moved:
        lines += ["", f"moved ({len(moved)})"]
        for cell in moved:
            lines.append(f"  {_place(cell)}")
            lines += wrapped(_course(cell), WIDTH, "      ")
        if not all(cell["trials"] for cell in moved):
            lines.append("other trials: the runs have none of the cell in common, as shards of one experiment.")
    still = len(found.cells) - len(moved)
    lines += ["", f"{still} of {len(found.cells)} cells did not move."]
    if any(cell["p"] == cell["p"] for cell in moved):
        lines += textwrap.wrap(
            f"p: of the largest standardised shift of the mean, by permuting the runs; * below {LEVEL:g}, for one cell "
            "alone: of many cells some are below it by chance.",
            WIDTH,
        )
    else:
        lines.append(f"Change points are looked for from {FEWEST} runs on.")
    return "\n".join(lines) + "\n"


def to_json(found: History) -> str:
    """The JSON of title, runs and cells; null for a missing number."""
    cells = records(found.cells.drop(columns="decimals"))
    every = {"title": found.title, "runs": found.runs.to_dict("records"), "cells": cells}
    return json.dumps(every, indent=1, ensure_ascii=False) + "\n"


def _place(cell: dict[Any, Any]) -> str:
    protocol = f"{cell['protocol']}: " if cell["protocol"] else ""
    apart = "" if cell["trials"] else ", other trials"
    return f"{protocol}{cell['dataset']} {cell['size']} {cell['method']} ({cell['metric']}{apart})"


def _course(cell: dict[Any, Any]) -> str:
    """``70.00 → 71.20 → 68.10; from run 3 on −2.50, p = 0.02 *``; the middle of a long series is left out."""
    values = [_shown(cell, each) for each in cell["values"]]
    if len(values) > SHOWN:
        values = [*values[:2], "…", *values[2 - SHOWN :]]
    text = " → ".join(values)
    if cell["p"] == cell["p"]:
        sign = " *" if cell["p"] < LEVEL else ""
        text += f"; from run {int(cell['begins'])} on {cell['shift']:+.{cell['decimals']}f}, p = {cell['p']:.2g}{sign}"
    return text


def _shown(cell: dict[Any, Any], value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.{cell['decimals']}f}"
