"""The rows of the two boards, which ship with the package, by which protocol they were measured, and the board's first
tables. `studies/board/ship.py` writes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rffbench.errors import ResultsError
from rffbench.io.text import canonical_json
from rffbench.report.text_table import Table

COLUMNS = 512
"""The size of the main verdict, and of RFF in the costs that ship."""
SHIPPED = {name: Path(__file__).with_name(f"{name}.csv.gz") for name in ("board-small", "board")}
"""The files, by the config that their rows are of."""
FIRST_TABLES = Path(__file__).with_name("board.tables.jsonl")
"""The board's tables that cannot be made from its rows: which map to take, and the verdicts."""
OTHERS = ("name", "title", "methods", "datasets", "n_features", "trials", "preprocess", "significance", "time_limit")
"""What an entry has of its own, and the board otherwise."""


def protocol(config: dict[str, Any]) -> str:
    """What the trials of two boards must have in common for their gains to be compared, as a hash."""
    common = {key: value for key, value in config.items() if key not in OTHERS}
    return hashlib.sha256(canonical_json(common).encode()).hexdigest()


@dataclass(frozen=True)
class Shipped:
    """The losses of a board's trials, and the `protocol` by which they were measured. ``rows`` may have ``fit`` and
    ``memory``: the seconds of map, one fit and prediction, and the memory, as ratios to RFF's with 512 columns on the
    dataset."""

    rows: pd.DataFrame
    protocol: str


def shipped(of: str) -> Shipped | None:
    """The rows that ship with the package and were measured by the `protocol` ``of``, None where no board was;
    ResultsError where a file is not what was shipped."""
    boards = (read_shipped(path) for path in SHIPPED.values())
    return next((board for board in boards if board.protocol == of), None)


def read_shipped(path: Path) -> Shipped:
    """A board's rows; ResultsError where the file is not what was shipped."""
    try:
        whole = pd.read_csv(path)
        rows = whole.iloc[1:].astype({"n_features": int, "trial": int})
        return Shipped(rows.assign(failed=rows["failed"].astype(str) == "True"), str(whole["dataset"].iloc[0]))
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise _of_another_version(path, error) from None


def read_tables(path: Path) -> list[Table]:
    """Tables, one a line; ResultsError where the file is not what was shipped."""
    try:
        return [Table.from_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _of_another_version(path, error) from None


def _of_another_version(path: Path, error: Exception) -> ResultsError:
    return ResultsError(f"{path}: is no board that this version wrote ({error}); install rffbench again")
