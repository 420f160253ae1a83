"""The board's score of a map on a dataset: its gain over RFF (`rffbench.stats.gain`).

L is the test error of a classification, the balanced error where one class is rare (`BALANCED`), the mean squared error
of a regression. The reference is RFF at 4,096 columns on seeds of its own. Its loss and that of the best constant are
frozen in references.csv, which ships with the package.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rffbench import stats
from rffbench.data.cards import load_card
from rffbench.report.frame import Results
from rffbench.stats.gain import MSE, Reference

BALANCED = frozenset({"w8a"})
REFERENCES = Path(__file__).with_name("references.csv")
REFERENCE_COLUMNS = 4096  # of RFF there


def references(path: Path = REFERENCES) -> dict[str, Reference]:
    """The frozen references, by dataset."""
    rows = pd.read_csv(path).to_dict("records")
    return {str(row["dataset"]): Reference(**{str(key): value for key, value in row.items()}) for row in rows}


def loss_name(dataset: str) -> str:
    """What the board measures on a dataset, in words."""
    if load_card(dataset).task == "regression":
        return MSE
    return "balanced error" if dataset in BALANCED else "test error"


def scored_by(dataset: str) -> tuple[str, ...]:
    """The metrics of a trial's row that the board's score of a dataset comes from, and those that it shows as test
    error."""
    if load_card(dataset).task == "regression":
        return ("rmse",)
    return ("balanced_accuracy", "accuracy") if dataset in BALANCED else ("accuracy",)


def losses(results: Results) -> pd.DataFrame:
    """The losses of all trials (`rffbench.stats.losses`), as the board has them."""
    return stats.losses(results.trials, BALANCED)
