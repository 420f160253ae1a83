"""Tables, figures and comparisons, all derived from a results folder and re-derivable at any time.

Everything here reads config.yaml and trials.jsonl, and writes files into the same folder; nothing prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rffbench.report.frame import experiment_folders, load_protocols
from rffbench.report.summary import write_summary
from rffbench.report.table import Table
from rffbench.report.table import write_table as _write_table

if TYPE_CHECKING:
    from rffbench.report.compare import Comparison
    from rffbench.report.search import Search
    from rffbench.report.statistics import Statistics

__all__ = ["Table", "compare_folder", "experiment_folders", "redraw", "search_folder", "write_table"]


def redraw(folder: str | Path, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write summary.csv, the tables, the figures and what is read off them (slopes.csv, crossover.csv) of one
    experiment's folder anew; the paths written."""
    from rffbench.report.crossover import write_crossover
    from rffbench.report.figures import draw_figures  # matplotlib is slow to load, and needed here alone
    from rffbench.report.slopes import write_slopes

    protocols = load_protocols(folder)
    findings = [*write_slopes(protocols), *write_crossover(protocols)]
    return [write_summary(protocols), *_write_table(protocols)[1], *findings, *draw_figures(protocols, formats)]


def write_table(folder: str | Path) -> tuple[Table, list[Path]]:
    """Write one experiment's summary.csv and table.csv/.md/.tex; the table, and the paths written."""
    protocols = load_protocols(folder)
    summary = write_summary(protocols)
    table, paths = _write_table(protocols)
    return table, [summary, *paths]


def compare_folder(
    folder: str | Path, tolerance: float | None = None
) -> tuple[Comparison, Statistics | None, list[Path]]:
    """One experiment's folder measured against its config's reference, and its methods against each other.

    Writes compare.csv, compare.md, figures/compare.png, and statistics.csv, statistics.md and
    figures/critical_difference.png where two methods share a cell; the paths written come third. Of a sweep, its first
    protocol is compared. Raises as :func:`rffbench.report.compare.compare`.
    """
    from rffbench.report import compare_figures, writeup
    from rffbench.report.compare import compare
    from rffbench.report.statistics import compute_statistics

    labels, results = load_protocols(folder)[0]
    comparison = compare(results, tolerance)
    if labels:
        protocol = ", ".join(f"{axis}: {label}" for axis, label in labels.items())
        comparison.missing.append(f"Of the sweep, its first protocol is compared ({protocol}).")
    statistics = compute_statistics(results)
    texts = {"compare.csv": writeup.to_csv(comparison), "compare.md": writeup.to_markdown(comparison)}
    if statistics:
        texts |= {"statistics.csv": statistics.to_csv(), "statistics.md": statistics.table().to_markdown()}
    paths = [*_written(results.folder, texts), *compare_figures.draw_comparison(comparison)]
    if statistics:
        paths += compare_figures.draw_critical_difference(statistics, results.folder)
    return comparison, statistics, paths


def search_folder(folder: str | Path) -> tuple[Search, list[Path]]:
    """Rank the protocols of a sweep by their distance to the reference; writes search.csv and search.md."""
    from rffbench.report.search import search

    found = search(load_protocols(folder))
    return found, _written(Path(folder), {"search.csv": found.to_csv(), "search.md": found.table().to_markdown()})


def _written(folder: Path, texts: dict[str, str]) -> list[Path]:
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
