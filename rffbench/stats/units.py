"""The units of the board's 28 datasets, for gains over random features of the Gaussian kernel.

The reference is RFF at 4,096 columns on seeds of its own. Its loss and that of the best constant are frozen in
references.csv, so that the gain of one method moves no other's. `studies/board/freeze_references.py` writes the file.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rffbench.data.cards import load_card
from rffbench.stats.gain import BALANCED, MSE, Reference

REFERENCES = Path(__file__).with_name("references.csv")
REFERENCE_COLUMNS = 4096  # of RFF there


def references(path: Path = REFERENCES) -> dict[str, Reference]:
    """The frozen references of the board's datasets, by name: the units that `gains` are in."""
    rows = pd.read_csv(path).to_dict("records")
    return {str(row["dataset"]): Reference(**{str(key): value for key, value in row.items()}) for row in rows}


def loss_name(dataset: str) -> str:
    """What the loss on a dataset of the suite is, in words: mean squared, balanced or test error."""
    if load_card(dataset).task == "regression":
        return MSE
    return "balanced error" if dataset in BALANCED else "test error"
