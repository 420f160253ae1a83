"""Tables, figures and comparisons, which can be made from a results folder at any time.

Everything here reads config.yaml and trials.jsonl, and writes files into the same folder; nothing prints.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rffbench.errors import ConfigError
from rffbench.execution.log import log_files
from rffbench.execution.places import experiment_folders
from rffbench.io import files
from rffbench.report.frame import Protocols, load_protocols
from rffbench.report.summary import summarise, summary_csv, summary_records
from rffbench.report.table import FILES, KEPT, Shown, folder_table, folder_tables, measured_metric
from rffbench.report.table import table_files as _table_files
from rffbench.report.text_table import Table
from rffbench.report.typeset import to_latex, to_typst

if TYPE_CHECKING:
    import pandas as pd

    from rffbench.report.compare import Comparison
    from rffbench.report.figures.style import Style
    from rffbench.report.statistics import Statistics

__all__ = [
    "FILES", "Shown", "Table", "compare_folder", "compare_methods", "compare_with_reference", "described",
    "experiment_folders", "make_table", "make_tables", "redraw", "set_table", "table_files", "up_to_date",
    "write_comparison", "write_statistics", "write_tables", "written_tables",
]  # fmt: skip


def redraw(
    folder: str | Path, formats: Sequence[str] = ("png",), style: str = "screen", columns: int | None = None,
    panels: Sequence[str] = (),
) -> list[Path]:  # fmt: skip
    """Write summary.csv, the tables, and the figures that the config's `figures` name into one experiment's
    folder; return the paths.

    ``style`` is the style of the figures. In the style paper, figures are 1 or 2 ``columns`` wide, by default as many
    as they need. ``panels`` are the metrics that get a panel in figures with a panel per metric. Raises ConfigError for
    an unknown style or metric, ResultsError for a metric that no trial has, and EnvironmentFault if matplotlib cannot
    draw here; the tables are then written.
    """
    protocols = load_protocols(folder)
    metrics = [measured_metric(protocols, name).name for name in panels]
    summaries = [summarise(results) for _, results in protocols]
    texts = {"summary.csv": summary_csv(protocols, summaries), **_table_files(protocols, summaries)[1]}
    written = _written(Path(folder), texts)
    # After the tables: matplotlib is slow to load, and cannot be loaded everywhere.
    from rffbench.report.figures import draw_figures
    from rffbench.report.figures.style import figure_style

    look = figure_style(style, columns, metrics)
    figures = draw_figures(protocols, formats, look, summaries)
    return [*written, *figures, *_compared(protocols, formats, look, summaries)]


def _compared(
    protocols: Protocols, formats: Sequence[str], style: Style, summaries: Sequence[pd.DataFrame]
) -> list[Path]:
    """Draw the comparison with the reference, if it has something in common with the results, and the comparison of
    methods; return the paths. Statistics that `compare` wrote are written again."""
    from rffbench.report.compare import NotComparable, compare
    from rffbench.report.figures.comparison import draw_comparison
    from rffbench.report.figures.critical_difference import draw_critical_difference
    from rffbench.report.statistics import compute_statistics

    results = protocols[0][1]
    paths = []
    if results.config.get("reference"):
        with contextlib.suppress(NotComparable, ConfigError):
            paths += draw_comparison(compare(results, summary=summaries[0], judged=False), formats, style)
    statistics = compute_statistics(results)
    if (results.folder / "statistics.md").exists():  # `compare` wrote it, perhaps from older rows
        paths += _statistics_files(statistics, results.folder)
    if statistics is not None:
        paths += draw_critical_difference(statistics, results.folder, formats, style)
    return paths


def up_to_date(folder: str | Path) -> bool:
    """Whether the tables of an experiment's folder are newer than its log and config."""
    folder = Path(folder)
    made_from = [*log_files(folder), folder / "config.yaml"]
    tables = [folder / f"table.{suffix}" for suffix in ("csv", "md", "tex")]
    if not all(path.is_file() for path in (*made_from, *tables)):
        return False
    return max(path.stat().st_mtime_ns for path in made_from) <= min(path.stat().st_mtime_ns for path in tables)


def written_tables(folder: str | Path) -> list[Table]:
    """The tables that an experiment's table.md shows: the stored ones, or new ones if those are missing or older."""
    kept, shown = Path(folder) / KEPT, Path(folder) / "table.md"
    if kept.is_file() and kept.stat().st_mtime_ns >= shown.stat().st_mtime_ns:
        with contextlib.suppress(ValueError, TypeError):  # of another version
            return [Table.from_json(line) for line in kept.read_text(encoding="utf-8").split("\n") if line]
    return make_tables(folder, FILES)


def write_tables(folder: str | Path) -> tuple[list[Table], list[Path]]:
    """Write one experiment's summary.csv and table.csv/.md/.tex; return the tables and the paths."""
    tables, texts = table_files(folder)
    return tables, _written(Path(folder), texts)


def table_files(folder: str | Path) -> tuple[list[Table], dict[str, str]]:
    """One experiment's tables, and the texts that `write_tables` writes, by file name."""
    protocols = load_protocols(folder)
    summaries = [summarise(results) for _, results in protocols]
    tables, texts = _table_files(protocols, summaries)
    return tables, {"summary.csv": summary_csv(protocols, summaries), **texts}


def described(folder: str | Path) -> dict[str, Any]:
    """One experiment's name, title and summary (one entry per cell and metric) for JSON."""
    protocols = load_protocols(folder)
    cells = summary_records(protocols, [summarise(results) for _, results in protocols])
    return {"name": Path(folder).name, "folder": str(folder), "title": protocols[0][1].title, "cells": cells}


def make_table(folder: str | Path, shown: Shown) -> Table:
    """One experiment's table, without writing it."""
    return folder_table(load_protocols(folder), shown)


def make_tables(folder: str | Path, shown: Shown) -> list[Table]:
    """One experiment's table, and one for each of the config's ``scores``, without writing them."""
    return folder_tables(load_protocols(folder), shown)


def set_table(table: Table, form: str, columns: int = 2, caption: str | None = None, label: str | None = None) -> str:
    """A table as ``tex``, ``typst``, ``csv`` or ``md``; columns, caption and label are for tex and typst."""
    if form in ("tex", "typst"):
        return (to_latex if form == "tex" else to_typst)(table, columns, caption, label)
    return table.to_csv() if form == "csv" else table.to_markdown()


def compare_folder(folder: str | Path, tolerance: float | None = None) -> tuple[Comparison, Statistics | None]:
    """One experiment compared with its config's reference (`compare_with_reference`), and its methods with each
    other."""
    from rffbench.report.statistics import compute_statistics

    comparison = compare_with_reference(folder, tolerance)
    return comparison, compute_statistics(comparison.results)


def compare_with_reference(
    folder: str | Path, tolerance: float | None = None, protocols: Protocols | None = None
) -> Comparison:
    """One experiment compared with its config's reference; its ``protocols``, if they are read already.

    For a sweep, the numbers are those of the first protocol, and claims are judged under every protocol. Raises as
    :func:`rffbench.report.compare.compare`.
    """
    from rffbench.report.compare import compare

    protocols = protocols or load_protocols(folder)
    labels, results = protocols[0]
    comparison = compare(results, tolerance, protocols)
    if labels:
        protocol = ", ".join(f"{axis}: {label}" for axis, label in labels.items())
        comparison.missing.append(
            f"Of the sweep, the numbers of its first protocol are compared ({protocol}); claims are judged under each."
        )
    return comparison


def write_comparison(comparison: Comparison, statistics: Statistics | None) -> list[Path]:
    """Write compare.csv, compare.md, figures/compare.png, and the files of `write_statistics`; return the paths."""
    from rffbench.report import writeup

    folder = comparison.results.folder
    texts = {"compare.csv": writeup.to_csv(comparison), "compare.md": writeup.to_markdown(comparison)}
    written = [*_written(folder, texts), *_statistics_files(statistics, folder)]
    from rffbench.report.figures.comparison import draw_comparison

    return [*written, *draw_comparison(comparison), *_ranks_drawn(statistics, folder)]


def compare_methods(folder: str | Path) -> Statistics | None:
    """An experiment's methods compared with each other, without a reference: Wilcoxon's and Friedman's tests over
    cells, with Holm's correction, mean ranks and critical differences.

    None if fewer than two methods share a cell. For a sweep, the first protocol.
    """
    from rffbench.report.statistics import compute_statistics

    return compute_statistics(load_protocols(folder)[0][1])


def write_statistics(statistics: Statistics | None, folder: Path) -> list[Path]:
    """Write statistics.csv, statistics.md and, if three methods share cells of five datasets,
    figures/critical_difference.png; return the paths. Without statistics, remove these files."""
    return [*_statistics_files(statistics, folder), *_ranks_drawn(statistics, folder)]


def _ranks_drawn(statistics: Statistics | None, folder: Path) -> list[Path]:
    if statistics is None:
        return []
    from rffbench.report.figures.critical_difference import draw_critical_difference

    return draw_critical_difference(statistics, folder)


def _statistics_files(statistics: Statistics | None, folder: Path) -> list[Path]:
    if statistics is not None:
        texts = {"statistics.csv": statistics.to_csv(), "statistics.md": statistics.table().to_markdown()}
        return _written(folder, texts)
    for old in (*folder.glob("statistics.*"), *folder.glob("figures/critical_difference.*")):
        old.unlink()
    return []


def _written(folder: Path, texts: dict[str, str]) -> list[Path]:
    for name, text in texts.items():
        files.replace(folder / name, text)
    return [folder / name for name in texts if name != KEPT]
