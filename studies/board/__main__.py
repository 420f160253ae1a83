"""Write the board's tables, figures and rows: python -m studies.board [FOLDER]

Writes tables.md, figures/ and all trials as one file into the board's folder of results, from the folders of its parts
that there are in FOLDER (default: where that of the board is, results/board). `python -m studies.pages` writes
docs/board/results.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from studies.board.page import ROWS, save_pictures, sections, to_markdown, write_rows
from studies.board.standing import load_board
from studies.evidence import folder_of

TABLES = "tables.md"


def main(folder: str = "") -> None:
    board = load_board(Path(folder) if folder else folder_of("board").parent)
    found = sections(board)
    write_rows(board, board.scores.folder / ROWS)
    save_pictures(found, board.scores.folder)
    (board.scores.folder / TABLES).write_text(f"# The board\n\n{to_markdown(found)}", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
