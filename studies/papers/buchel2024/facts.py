"""What the chip of Büchel et al. 2024 loses by the released numbers, and where our cells differ."""

import pandas as pd

from studies.evidence import Cells, cells, chosen, mean, released

NAME = "buchel2024"
CELL = ["dataset", "method", "kernel", "n_features"]


def _by_precision(column: str) -> pd.DataFrame:
    """The released means of a column: on the chip, and in single precision (fp)."""
    table = released("buchel2024_ridge.csv").set_index([*CELL, "precision"])[column].unstack("precision")
    return table.rename(columns={name: "chip" for name in table if name != "fp"}).dropna()


def lost() -> pd.Series:
    """By cell, how many points of accuracy the chip loses."""
    accuracy = _by_precision("accuracy_mean")
    return 100 * (accuracy["fp"] - accuracy["chip"])


def times_the_error() -> float:
    """The chip's kernel error over that of single precision, the median over cells."""
    error = _by_precision("error_mean")
    return float((error["chip"] / error["fp"]).median())


def accuracies() -> Cells:
    return cells(NAME, metric="accuracy")


def kernel_errors() -> Cells:
    return cells(NAME, metric="frobenius_error")


def share_of_three() -> float:
    """Of the cells that differ, the share that are kernel errors on ijcnn1, letter and skin."""
    named = kernel_errors().where(dataset=["ijcnn1-pulse", "letter-libsvm", "skin"])
    return named.differ / cells(NAME).differ


def on_skin(method: str) -> list[str]:
    """The arc-cosine kernel's error with 91 frequencies, here and released."""
    where = {"dataset": "skin", "method": method, "kernel": "arccos0", "n_features": 91, "precision": "fp"}
    (row,) = chosen(released("buchel2024_ridge.csv"), **where)["error_mean"]
    here = mean(NAME, "frobenius_error", dataset="skin", method=f"{method} arccos0", n_features=91)
    return [f"{here:.3f}", f"{row:.3f}"]
