"""The board's score of a map on a dataset: its gain over RFF, in units that no other entry moves.

gain = (L_RFF − L_map)/(L_constant − L_ref). L is the test error of a classification, the balanced error where one
class is rare (`BALANCED`), the mean squared error of a regression. L_constant is the loss of the best constant of the
training rows, L_ref that of RFF at 4,096 columns on seeds of its own: the share of what there is to be learnt. Both
are frozen in references.csv, which ships with the package. A trial that failed counts as the constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rffbench.data.cards import load_card
from rffbench.report.frame import Results

BALANCED = frozenset({"w8a"})
BASELINE = "RFF"
MSE = "mean squared error"
LEAST_ERRORS = 10.0  # standard errors that a dataset's unit must have, else it is left out
REFERENCES = Path(__file__).with_name("references.csv")
REFERENCE_COLUMNS = 4096  # of RFF there
CELL = ["dataset", "n_features", "method", "trial"]


@dataclass(frozen=True)
class Reference:
    """A dataset's unit: the ``constant``'s loss, the ``reference``'s, and the ``standard_error`` of their difference
    over ``trials`` trials."""

    dataset: str
    constant: float
    reference: float
    standard_error: float
    trials: int

    @property
    def unit(self) -> float:
        """What the reference gains over the constant."""
        return self.constant - self.reference

    @property
    def is_usable(self) -> bool:
        """Whether the unit is known well enough to divide by."""
        return bool(self.unit >= LEAST_ERRORS * self.standard_error and self.unit > 0)


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
    """A row for every trial of a map: dataset, n_features, method, trial, loss (NaN of one that failed) and failed."""
    trials = results.trials
    found = trials[CELL].copy()
    error = 1 - trials["accuracy"] / 100
    balanced = 1 - trials["balanced_accuracy"] / 100
    found["loss"] = error.where(~trials["dataset"].isin(BALANCED), balanced).fillna(trials["rmse"] ** 2)
    found["failed"] = trials["status"] != "ok"
    return found


def constant_loss(y_train: ArrayLike, y_test: ArrayLike, loss: str) -> float:
    """The test loss, so called, of the best constant of the training targets: their mean, or their commonest label."""
    train, test = np.asarray(y_train), np.asarray(y_test)
    if loss == MSE:
        return float(np.mean((test - train.mean()) ** 2))
    labels, counts = np.unique(train, return_counts=True)
    if loss == "balanced error":
        return 1 - 1 / len(np.unique(test))
    return float(np.mean(test != labels[counts.argmax()]))


def reference_of(dataset: str, constants: Sequence[float], losses: Sequence[float]) -> Reference:
    """A dataset's reference from the constant's and RFF's losses of the same trials."""
    difference = np.subtract(constants, losses)
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    return Reference(dataset, float(np.mean(constants)), float(np.mean(losses)), error, len(difference))


def gains(
    found: pd.DataFrame, known: dict[str, Reference], *, with_failures: bool = True, baseline: str = BASELINE
) -> pd.DataFrame:
    """Every trial's gain over the baseline at the same columns and on the same split: the rows of `losses` with the
    column gain, of datasets with a usable reference.

    A failure has the constant's loss, or, without ``with_failures``, no gain (NaN). Where the baseline failed there
    is no gain either way: nothing is known to compare with.
    """
    usable = {name: each for name, each in known.items() if each.is_usable}
    rows = found[found["dataset"].isin(usable)].copy()
    unit = rows["dataset"].map({name: each.unit for name, each in usable.items()}).astype(float)
    constant = rows["dataset"].map({name: each.constant for name, each in usable.items()}).astype(float)
    loss = rows["loss"].where(~rows["failed"], constant if with_failures else np.nan)
    of_baseline = rows[rows["method"] == baseline].set_index(["dataset", "n_features", "trial"])["loss"]
    place = pd.MultiIndex.from_frame(rows[["dataset", "n_features", "trial"]])
    rows["gain"] = (of_baseline.reindex(place).to_numpy() - loss) / unit
    return rows


def left_out(datasets: Sequence[str], known: dict[str, Reference]) -> dict[str, str]:
    """The datasets that have no score, and why."""
    why = {}
    for name in datasets:
        if name not in known:
            why[name] = "has no frozen reference"
        elif not known[name].is_usable:
            each = known[name]
            why[name] = (
                f"RFF at 4,096 columns gains {each.unit:.3g} over a constant, less than {LEAST_ERRORS:g} standard "
                f"errors of {each.standard_error:.2g}"
            )
    return why
