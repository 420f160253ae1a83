"""Writes an experiment's results as a reference file, with which `compare` compares later runs.

A cell's expected score is its mean over trials. Its tolerance is the half-width of Student's 95 % interval of the
difference of two such means, t(n − 1)·s·√(2/n): a run with other seeds is within it in 19 cells of 20. The tolerance is
at least the effect of rounding on another machine: one test row in every trial, or 0.1 % of an error. A single trial
has no spread, so its tolerance is the effect of rounding.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

from rffbench.errors import ConfigError, ResultsError
from rffbench.io import files
from rffbench.io.text import plural
from rffbench.papers.recorded import COLUMNS, is_path, place, read_cells
from rffbench.report.frame import Results, each_cell, find_card, load_protocols
from rffbench.stats.intervals import LEVEL
from rffbench.trials.metrics import PERCENT, Metric

OF_AN_ERROR = 0.001  # the share of an error that rounding may change
DIGITS = 9
MOST = 6  # changed cells that a message lists


def record(folder: Path, output: Path | None = None, *, overwrite: bool = False) -> tuple[Path, int, list[str]]:
    """Write the reference file of one experiment's folder; return its path, its number of cells, and notes.

    The default ``output`` is the file that the config names as its reference, else ``<name>_reference.csv`` in the
    current folder. ResultsError if no trial is finished, or if the file exists with other content and ``overwrite`` is
    not set.
    """
    protocols = load_protocols(folder)
    results = protocols[0][1]
    rows: list[tuple[Any, ...]] = [
        _expected(results, dataset, size, method, trials)
        for dataset, _, size, method, trials in each_cell(results.trials)
    ]
    measured = [row for row in rows if not math.isnan(row[COLUMNS.index("expected")])]
    if not measured:
        raise ResultsError(f"{folder}: no trial has a score, so that there is nothing to record")
    notes = []
    if left := len(rows) - len(measured):
        notes.append(f"{plural(left, 'cell')} without a finished trial {'is' if left == 1 else 'are'} left out.")
    if single := sum(row[COLUMNS.index("trials")] == 1 for row in measured):
        notes.append(f"{plural(single, 'cell')} with a single trial, so no spread: the tolerance is that of rounding.")
    if len(protocols) > 1:
        notes.append("Of the sweep, its first protocol is recorded.")
    path = output or _default(results, folder)
    if path.suffix != ".csv":
        raise ResultsError(f"{path}: a reference is a file whose name ends in .csv")
    table = pd.DataFrame(measured, columns=COLUMNS)
    text = table.to_csv(index=False, lineterminator="\n", float_format=f"%.{DIGITS}g")
    if path.exists() and path.read_bytes() != text.encode():
        changes = "\n".join(f"  {change}" for change in _changes(path, table))
        if not overwrite:
            raise ResultsError(
                f"{path}: is there already, and this would change in it:\n{changes}\n"
                "--overwrite writes it all the same, --output FILE writes another file"
            )
        notes.append(f"Changed were:\n{changes}")
    files.replace(path.resolve(), text)
    return path, len(measured), notes


def _default(results: Results, folder: Path) -> Path:
    """The config's own reference file, else ``<name>_reference.csv``."""
    named = results.config.get("reference")
    if named and is_path(named):
        return place(named, folder)
    return Path(f"{results.config.get('name') or folder.resolve().name}_reference.csv")


def _changes(path: Path, table: pd.DataFrame) -> list[str]:
    """The changes that the new table makes in the existing file, cell by cell; at most ``MOST``."""
    try:
        cells = read_cells(path)
    except ConfigError as error:
        return [f"all of it, because it is not a reference: {error}"]
    sides: list[dict[Any, dict[Any, str]]] = [
        each.set_index(COLUMNS[:3]).map(_written).to_dict("index") for each in (cells, table)
    ]
    (old, new), changes = sides, []
    for cell in dict.fromkeys([*old, *new]):
        was, now = old.get(cell, {}), new.get(cell, {})
        different = [f"{name} {was[name]} → {now[name]}" for name in was.keys() & now.keys() if was[name] != now[name]]
        if said := ", ".join(sorted(different)) if was and now else "is new" if now else "is left out":
            changes.append(f"{' '.join(cell)}: {said}")
    more = len(changes) - MOST
    return [*changes[:MOST], *([f"and {more} more cells"] if more > 0 else [])] or ["no cell, but what else it holds"]


def _written(value: Any) -> str:
    """The value as in the file, and what is empty there as a word."""
    return value if isinstance(value, str) else "empty" if math.isnan(value) else f"{value:.{DIGITS}g}"


def _expected(
    results: Results, dataset: str, size: str, method: str, trials: pd.DataFrame
) -> tuple[str, str, str, str, float, float, int, float]:
    """The reference's row of a cell, with the columns COLUMNS."""
    metric = results.score(dataset)
    scores = trials[metric.name].dropna()
    n, mean = len(scores), float(scores.mean())
    std = float(scores.std(ddof=1)) if n > 1 else 0.0
    spread = float(stats.t.ppf(1 - LEVEL / 2, n - 1)) * std * math.sqrt(2 / n) if n > 1 else 0.0
    tolerance = max(spread, _rounding(dataset, metric, mean))
    return dataset, size, method, metric.name, mean, std or math.nan, n, tolerance


def _rounding(dataset: str, metric: Metric, mean: float) -> float:
    """The change of a score that rounding on another machine may cause."""
    card = find_card(dataset)
    if metric.unit == PERCENT and card is not None:
        return 100 / card.n_test
    return OF_AN_ERROR * abs(mean)
