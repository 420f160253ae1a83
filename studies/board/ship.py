"""Ship the boards: python -m studies.board.ship

Writes what `rffbench board` shows without results, and beside your own map: the board's first tables, and the losses
and costs of the board and of the small one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from rffbench import Results, Table
from rffbench.stats import Cost, Summary, cost_ratios, losses, summaries
from studies.board.registered import COLUMNS
from studies.board.standing import Board, load_board
from studies.board.tables import first_lines, verdicts
from studies.evidence import ROOT, folder_of
from studies.evidence import results as results_of

FOLDER = folder_of("board-small")
SHIPPED = ROOT / "rffbench" / "report" / "board"
COSTS: tuple[Cost, ...] = ("fit", "memory")  # of one fit alone: the same on both boards


def ship(results: Results, path: Path, costs: Mapping[Cost, pd.DataFrame] | None = None) -> None:
    """Write the losses of a board's trials where the package reads them, below a line with the protocol; with the
    ``costs`` of trials (`rffbench.stats.with_cost`) that are measured, as ratios to RFF's with 512 columns."""
    head = pd.DataFrame([{"dataset": results.protocol}])
    rows = losses(results.trials)
    columns = list(rows)
    for of, measured in (costs or {}).items():
        ratios = cost_ratios(measured.dropna(), COLUMNS).round(4).rename(of)
        rows, columns = rows.join(ratios, on=["dataset", "method", "n_features"]), [*columns, of]
    pd.concat([head, rows])[columns].to_csv(
        path, index=False, compression={"method": "gzip", "mtime": 0}, lineterminator="\n"
    )


def first_tables(board: Board) -> list[Table]:
    """The board's first tables: which map to take, below how many are better, and the verdicts."""
    return [replace(first_lines(board), sentence=who_is_better(board)), verdicts(board)]


def who_is_better(board: Board) -> str:
    """Which maps are better than random Fourier features with as many columns, and for the same seconds."""
    better = _better(board.at_each_size.get(COLUMNS, []))
    count, named = len(better) or "None", f": {', '.join(better)}" if better else ""
    said = (
        f"{count} of {len(board.compared)} maps {'is' if len(better) < 2 else 'are'} better than random Fourier "
        f"features with as many columns{named}."
    )
    if timed := board.at_cost("fit", COLUMNS):
        quicker = _better(summaries(timed.trials, board.compared))
        said += f" For the same seconds, {', '.join(quicker) or 'none'} {'is' if len(quicker) < 2 else 'are'}."
    return said


def _better(found: Sequence[Summary]) -> list[str]:
    return [each.method for each in found if each.verdict == "better"]


def ship_tables(tables: Sequence[Table], path: Path) -> None:
    """Write tables where the package reads them, one a line."""
    path.write_text("".join(f"{table.to_json()}\n" for table in tables), encoding="utf-8")


if __name__ == "__main__":
    board = load_board(folder_of("board").parent)
    of_board = {of: board.costs(of) for of in COSTS}
    ship(results_of("board-small"), SHIPPED / "board-small.csv.gz", of_board)
    ship(board.scores, SHIPPED / "board.csv.gz", of_board)
    ship_tables(first_tables(board), SHIPPED / "board.tables.jsonl")
