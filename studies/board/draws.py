"""Maps that draw frequencies again, with repeats: how many of their columns are distinct."""

from __future__ import annotations

import pandas as pd

from studies.board.registered import DRAWS
from studies.board.standing import Board

DISTINCT = "distinct-columns.csv"
"""What distinct_columns.py writes beside the scores: dataset, method, columns, and how many are distinct."""


def distinct(board: Board) -> pd.DataFrame | None:
    """The file's rows; None without it."""
    path = board.scores.folder / DISTINCT
    return pd.read_csv(path) if path.is_file() else None


def in_words(board: Board, these: str = "Both") -> str:
    """How many columns of ``these`` maps are distinct, in sentences; empty if that is not known."""
    found = distinct(board)
    if found is None:
        return ""
    (columns,) = found["columns"].unique()
    counts = {name: found.loc[found["method"] == name, "distinct"] for name in DRAWS}
    said = " and ".join(
        f"{each.median():.0f} of {name} ({each.min()} to {each.max()})" for name, each in counts.items()
    )
    return (
        f"{these} draw frequencies with repeats, counted here with {columns} columns. In the median over datasets the "
        f"distinct ones are {said}. A repeat is computed once, which saves seconds and memory."
    )
