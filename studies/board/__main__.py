"""Write the board's tables, figures and rows: python -m studies.board [results]

Writes results/board/tables.md, results/board/figures and all trials as one file, from the results folders of the
board's parts that there are. `python -m studies.pages` writes docs/board/results.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from studies.board.page import ROWS, save_pictures, sections, to_markdown, write_rows
from studies.board.standing import load_board

TABLES = "tables.md"


def main(folder: str = "results") -> None:
    board = load_board(Path(folder))
    found = sections(board)
    write_rows(board, board.scores.folder / ROWS)
    save_pictures(found, board.scores.folder)
    (board.scores.folder / TABLES).write_text(f"# The board\n\n{to_markdown(found)}", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
