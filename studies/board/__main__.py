"""Write the board's page: python -m studies.board [results]

Writes docs/board/results.md, its figures (results/board/figures) and all trials as one file (results/board), from the
results folders of the board's parts that there are.
"""

from __future__ import annotations

import sys
from pathlib import Path

from studies.board.page import ROWS, save_pictures, sections, to_markdown, write_rows
from studies.board.standing import load_board

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "board" / "results.md"
TITLE = "# The board\n\n"
ABOUT = """
Feature maps of the Gaussian kernel on 28 datasets, by one protocol: what they gain over random Fourier features. The
questions and the rules were [written down before the run](questions.md). `rffbench board` shows the gains of your own
run of it, and `rffbench board ./mine.py:MyMap` puts your map [beside some of these](small.md).
[All trials](../../results/board/{rows}) are one file.

"""
FIGURES = "../../results/board/figures"


def main(folder: str = "results") -> None:
    board = load_board(Path(folder))
    found = sections(board)
    write_rows(board, board.scores.folder / ROWS)
    save_pictures(found, board.scores.folder)
    first, rest = to_markdown(found[:1], FIGURES), to_markdown(found[1:], FIGURES)
    PAGE.write_text(TITLE + first + ABOUT.format(rows=ROWS) + rest, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
