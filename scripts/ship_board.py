"""Ship the boards: python scripts/ship_board.py

Writes what `rffbench board` shows without results, and beside your own map: the first tables of results/board, and the
losses and costs of results/board-small and results/board; and the tables of docs/board/small.md.
"""

from __future__ import annotations

import re
from pathlib import Path

from rffbench.report.board.own_tables import COSTS, map_tables
from rffbench.report.board.shipped import FIRST_TABLES, SHIPPED, ship, ship_tables
from rffbench.report.board.standing import load_board
from rffbench.report.board.tables import first_lines, verdicts
from rffbench.report.frame import load_results

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "board" / "small.md"
FOLDER = ROOT / "results" / "board-small"
TABLES = re.compile(r"(<!-- board -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text: str, folder: Path = FOLDER) -> str:
    """The text of the page with the tables of the results in ``folder``."""
    tables = "\n".join(table.to_markdown() for table in map_tables(load_results(folder)))
    return TABLES.sub(lambda found: f"{found[1]}{tables}\n{found[2]}", text)


if __name__ == "__main__":
    board = load_board(ROOT / "results")
    costs = {of: board.costs(of) for of in COSTS}  # of one fit alone: the same on both boards
    ship(load_results(FOLDER), SHIPPED["board-small"], costs)
    ship(board.scores, SHIPPED["board"], costs)
    ship_tables([first_lines(board), verdicts(board)], FIRST_TABLES)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
