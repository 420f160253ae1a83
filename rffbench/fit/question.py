"""What is asked of a table: its target, its inputs, classes or values, the metric. What is guessed is said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.data.columns import WITH_SIGNS
from rffbench.data.sheet import ColumnName
from rffbench.data.tables import Table
from rffbench.errors import ConfigError, TableError
from rffbench.fit.metrics import METRICS, Metric, metric_called
from rffbench.fit.table import options, read
from rffbench.io.text import plural

FEWEST_ROWS = 30
FEWEST_OF_A_CLASS = 5
MOST_CLASSES = 100
RARE = 0.2  # a class is rare below this share of an equal share: of two classes below 10 %


@dataclass
class Question:
    """A table and what is asked of it. ``y``: codes (n,) of ``classes``, text in sorted order, or values (n, targets).
    ``given`` are the options with which the file was read."""

    table: Table
    given: dict[str, Any]
    targets: list[str]
    y: NDArray
    classes: NDArray | None
    metric: Metric
    class_weight: str | None
    said: list[str]

    @property
    def path(self) -> Path:
        return self.table.path

    @property
    def frame(self) -> pd.DataFrame:
        """The inputs."""
        frame: pd.DataFrame = self.table.frame
        return frame

    @property
    def inputs(self) -> list[str]:
        return list(self.frame.columns)

    @property
    def rows(self) -> int:
        return len(self.frame)

    def in_one_line(self) -> str:
        """The task as understood."""
        what = " and ".join(self.targets)
        if self.classes is None:
            asked = f"the number {what}" if len(self.targets) == 1 else f"the numbers {what}"
        elif len(self.classes) == 2:
            asked = f"{what}, {self.classes[1]} ({100 * self.y.mean():.2g} %) or {self.classes[0]}"
        else:
            asked = f"{what}, one of {len(self.classes)} classes"
        return f"Task: {asked}, from {plural(len(self.inputs), 'input')} and {self.rows:,} rows."


def ask(
    path: Path, target: ColumnName | None = None, metric: str | None = None, class_weight: str | None = None,
    **reading: Any,
) -> Question:  # fmt: skip
    """The question to the table at ``path``, which is read with the options ``reading``; ConfigError or TableError,
    naming the column, if it has no answer. ``class_weight``: "balanced" or "none"; None: by the data."""
    asked = metric_called(metric) if metric else None
    given = options(target, asked, reading)
    table = read(path, given)
    said = list(table.decisions)
    targets = [*table.target.columns] if isinstance(table.target, pd.DataFrame) else [str(table.target.name)]
    if target is None:
        said.insert(0, f"{targets[0]!r} is predicted, the last column; --target says otherwise")
    if len(table.frame) < FEWEST_ROWS:
        raise TableError(
            f"{path.name}: has {plural(len(table.frame), 'row')}; at least {FEWEST_ROWS} are needed, as with fewer no "
            "score tells a good model from a bad one"
        )
    if not len(table.frame.columns):
        raise TableError(f"{path.name}: no column is left to predict from: {'; '.join(said)}")
    if table.task == "regression":
        y, classes = np.asarray(table.target, dtype=np.float64).reshape(len(table.frame), -1), None
    else:
        y, classes = _codes(path, targets[0], table.target.to_numpy(dtype=object))
        if "task" not in given and len(classes) > 2 and all(each.lstrip("-").isdigit() for each in classes):
            said.append(f"{targets[0]!r} has {len(classes)} numbers, taken as classes; --metric rmse says otherwise")
    if class_weight and classes is None:
        raise ConfigError(f"--class-weight: is for classes, and {' and '.join(targets)} is a number")
    chosen, weight = _metric_of(targets, y, classes, asked, said)
    if class_weight:
        weight = None if class_weight == "none" else class_weight
    return Question(table, given, targets, y, classes, chosen, weight, said)


def _codes(path: Path, name: str, labels: NDArray) -> tuple[NDArray, NDArray]:
    """The labels as codes, and the classes."""
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) > MOST_CLASSES:
        hint = _as_numbers(labels, classes) or "; give another column with --target"
        raise TableError(
            f"{path.name}: the column {name!r} has {len(classes):,} different values; as classes at most "
            f"{MOST_CLASSES} are predicted{hint}"
        )
    if counts.min() < FEWEST_OF_A_CLASS:
        rarest = int(counts.argmin())
        raise TableError(
            f"{path.name}: row {int((codes == rarest).argmax()) + 1}, column {name!r}: the class "
            f"{str(classes[rarest])!r} has {plural(int(counts[rarest]), 'row')}, and at least {FEWEST_OF_A_CLASS} are "
            f"needed; leave these rows out, or give them another class{_as_numbers(labels, classes)}"
        )
    return codes, classes


def _as_numbers(labels: NDArray, classes: NDArray) -> str:
    """What would make numbers of labels that look like them; empty if they do not."""
    numbers = pd.to_numeric(pd.Series(labels), errors="coerce").notna().to_numpy()
    if numbers.all():
        return "; all are numbers: --metric rmse (or mae, r2) predicts them as such"
    row = int((~numbers).argmax())
    if all(WITH_SIGNS.fullmatch(str(each)) for each in classes):
        return f"; {labels[row]!r} in row {row + 1} is a number with a sign or a unit: write the numbers alone"
    if 2 * numbers.sum() > len(labels):
        return (
            f"; most are numbers, but not {labels[row]!r} in row {row + 1}: if all should be, correct such values, or "
            "leave their rows out"
        )
    return ""


def _metric_of(
    targets: list[str], y: NDArray, classes: NDArray | None, asked: Metric | None, said: list[str]
) -> tuple[Metric, str | None]:
    """The metric, and the weights of the classes."""
    if classes is None:
        if asked:
            return asked, None
        return METRICS["rmse" if len(targets) == 1 else "r2"], None
    shares = np.bincount(y) / len(y)
    rare = shares.min() < RARE / len(classes)
    if asked:
        return asked, "balanced" if asked.name == "balanced_accuracy" or (rare and asked.name == "auc") else None
    if not rare:
        return METRICS["accuracy"], None
    said.append(
        f"{classes[shares.argmin()]} is rare ({shares.min():.1%}): the score is AUC, the chance that a row of it ranks "
        "above another, and its rows weigh more; --metric says otherwise."
    )
    return METRICS["auc"], "balanced"
