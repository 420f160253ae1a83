"""Ship the small board: python scripts/ship_board.py [results/board-small]

Writes the losses that `rffbench board` shows beside one's own map, and the tables of docs/board/small.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rffbench.report.board.own_tables import map_tables
from rffbench.report.board.shipped import ship
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
    given = Path(*sys.argv[1:]) if sys.argv[1:] else FOLDER
    ship(load_results(given))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), given), encoding="utf-8")
