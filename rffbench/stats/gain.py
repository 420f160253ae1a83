"""The gain of a method over a baseline on a dataset, in units that no other method moves.

gain = (L_baseline − L_method)/(L_constant − L_ref). L is the test error of a classification, or the balanced error, and
the mean squared error of a regression. L_constant is the loss of the best constant of the training rows, L_ref that of
a reference, which is measured once: a gain is a share of what there is to be learnt. A trial that failed counts as the
constant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

BASELINE = "RFF"
BALANCED = frozenset({"w8a"})
"""Datasets with a rare class, whose loss is the balanced error."""
MSE = "mean squared error"
LEAST_ERRORS = 10.0  # standard errors that a dataset's unit must have, else it is left out
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


def losses(trials: pd.DataFrame, balanced: Collection[str] = BALANCED) -> pd.DataFrame:
    """A row for every trial: dataset, n_features, method, trial, loss (NaN of one that failed) and failed.

    ``trials`` is a frame as `rffbench.Results.trials`, with accuracies in %. Of the datasets named ``balanced``, the
    loss is one minus the balanced accuracy.
    """

    def metric(name: str) -> pd.Series:
        return trials[name] if name in trials else pd.Series(np.nan, trials.index)

    found = trials[CELL].copy()
    error, of_balanced = 1 - metric("accuracy") / 100, 1 - metric("balanced_accuracy") / 100
    found["loss"] = error.where(~trials["dataset"].isin(balanced), of_balanced).fillna(metric("rmse") ** 2)
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
    """A dataset's reference from the losses of the best ``constants`` (`constant_loss`) and the reference's ``losses``,
    of the same trials, two or more."""
    difference = np.subtract(constants, losses)
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    return Reference(dataset, float(np.mean(constants)), float(np.mean(losses)), error, len(difference))


def gains(
    found: pd.DataFrame, known: Mapping[str, Reference], *, with_failures: bool = True, baseline: str = BASELINE
) -> pd.DataFrame:
    """Every trial's gain over the baseline at the same columns and on the same split: the rows of `losses` with the
    column gain, (L_baseline − L)/(L_constant − L_ref), of datasets with a usable reference among the ``known``.

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


def left_out(datasets: Sequence[str], known: Mapping[str, Reference]) -> dict[str, str]:
    """The datasets without gains, and why: none of the ``known`` references is theirs, or it is not usable."""
    why = {}
    for name in datasets:
        if name not in known:
            why[name] = "has no frozen reference"
        elif not known[name].is_usable:
            each = known[name]
            why[name] = (
                f"its reference gains {each.unit:.3g} over a constant, less than {LEAST_ERRORS:g} standard "
                f"errors of {each.standard_error:.2g}"
            )
    return why
