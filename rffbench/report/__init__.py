"""Tables, figures and comparisons, all derived from a results folder and re-derivable at any time.

Everything here reads config.yaml and trials.jsonl, and writes files into the same folder; nothing prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rffbench.report.compare import Comparison, NoReference, compare
from rffbench.report.crossover import write_crossover
from rffbench.report.frame import experiment_folders, load_protocols, load_results
from rffbench.report.slopes import write_slopes
from rffbench.report.summary import write_summary
from rffbench.report.table import Table
from rffbench.report.table import write_table as _write_table

__all__ = [
    "Comparison", "NoReference", "Table", "compare_folder", "experiment_folders", "redraw", "write_table",
]


def redraw(folder: str | Path, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write summary.csv, the tables, the figures and what is read off them (slopes.csv, crossover.csv) of one
    experiment's folder anew; the paths written."""
    from rffbench.report.figures import draw_figures  # matplotlib is slow to load, and needed here alone

    protocols = load_protocols(folder)
    findings = [*write_slopes(protocols), *write_crossover(protocols)]
    return [write_summary(protocols), *_write_table(protocols)[1], *findings, *draw_figures(protocols, formats)]


def write_table(folder: str | Path) -> tuple[Table, list[Path]]:
    """Write one experiment's summary.csv and table.csv/.md/.tex; the table, and the paths written."""
    protocols = load_protocols(folder)
    summary = write_summary(protocols)
    table, paths = _write_table(protocols)
    return table, [summary, *paths]


def compare_folder(folder: str | Path, tolerance: float | None = None) -> Comparison:
    """One experiment's folder measured against its config's reference; ``tolerance`` in points."""
    return compare(load_results(folder), tolerance)
