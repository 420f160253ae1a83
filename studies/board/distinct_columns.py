"""How many of 512 columns are distinct, where frequencies are drawn again? python -m studies.board.distinct_columns

Leverage and surrogate features, as written, draw frequencies with replacement: some come twice, and others not at all.
The board's maps of the first trial are made again, on every dataset, from the same random numbers and with the σ that
was chosen, and the columns are counted that differ from all others: distinct-columns.csv beside its trials, which the
board's page shows.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import rffbench
from studies.board.draws import DISTINCT
from studies.board.registered import COLUMNS, DRAWS
from studies.evidence import folder_of

FOLDER = folder_of("board")


def count(folder: Path = FOLDER) -> pd.DataFrame:
    """A row for each dataset and draw: dataset, method, columns, and how many of these are distinct."""
    results = rffbench.load(folder)
    rows = []
    for cell in results.planned[results.planned["n_features"] == COLUMNS].itertuples():
        if cell.method not in DRAWS:
            continue
        _, features = results.refit(str(cell.dataset), str(cell.method), COLUMNS, trial=0)
        found = features.distinct()
        rows.append([cell.dataset, cell.method, COLUMNS, found.features.n_components if found else COLUMNS])
        print(*rows[-1], flush=True)
    return pd.DataFrame(rows, columns=["dataset", "method", "columns", "distinct"])


if __name__ == "__main__":
    count().to_csv(FOLDER / DISTINCT, index=False, lineterminator="\n")
