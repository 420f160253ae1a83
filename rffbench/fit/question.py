"""What is asked of a table: its target, its inputs, classes or values, the metric. What is guessed is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.errors import ConfigError, TableError, unknown
from rffbench.fit.metrics import METRICS, Metric, metric_called
from rffbench.text import first_of, plural

FEWEST_ROWS = 30
FEWEST_OF_A_CLASS = 5
MOST_CLASSES = 100
FEW_WHOLE = 20  # whole numbers with at most this many values are classes
RARE = 0.2  # a class is rare below this share of an equal share: of two classes below 10 %
SHOWN_NAMES = 4


@dataclass
class Question:
    """A table and what is asked of it: ``frame``, the rows that have a target, ``read``, all as they were read; ``y``,
    codes (n,) of ``classes``, or values (n, targets)."""

    path: Path
    frame: pd.DataFrame
    read: pd.DataFrame
    targets: list[str]
    inputs: list[str]
    y: NDArray
    classes: NDArray | None
    metric: Metric
    class_weight: str | None
    said: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return len(self.frame)

    @property
    def labels(self) -> Any:
        """The targets as the file has them: what a model is fitted to."""
        if self.classes is not None:
            return self.classes[self.y]
        return self.y[:, 0] if len(self.targets) == 1 else self.y

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


def ask(path: Path, frame: pd.DataFrame, target: str | None, metric: str | None) -> Question:
    """The question to a table; ConfigError or TableError, naming the column, where it cannot be answered."""
    read, frame = frame, frame.rename(columns=str)
    said: list[str] = []
    targets = _targets(path, frame, target, said)
    whole = frame[targets].notna().all(axis=1).to_numpy()
    if not whole.any():
        raise TableError(f"{path.name}: the column {targets[0]!r}, which is to be predicted, is empty")
    if not whole.all():
        said.append(f"{plural(int((~whole).sum()), 'row')} without {' or '.join(targets)}: left out.")
    lines = np.flatnonzero(whole) + 2
    frame = frame[whole].reset_index(drop=True)
    asked = metric_called(metric) if metric else None
    y, classes = _answers(path, frame, targets, asked, lines, said)
    if len(frame) < FEWEST_ROWS:
        raise TableError(
            f"{path.name}: has {plural(len(frame), 'row')}; at least {FEWEST_ROWS} are needed, as with fewer no score "
            "tells a good model from a bad one"
        )
    chosen, weight = _metric_of(targets, y, classes, asked, said)
    inputs = _inputs(path, frame, targets, said)
    return Question(path, frame, read, targets, inputs, y, classes, chosen, weight, said)


def _targets(path: Path, frame: pd.DataFrame, target: str | None, said: list[str]) -> list[str]:
    names = list(frame.columns)
    if len(names) < 2:
        raise TableError(f"{path.name}: has {plural(len(names), 'column')}; it must have a target and an input")
    if target is None:
        if not (found := [name for name in names if name.casefold() in ("target", "label", "class", "y")][:1]):
            found = names[-1:]
        said.append(f"{found[0]!r} is predicted, {'the last column' if found[0] == names[-1] else 'by its name'}; "
                    "--target says otherwise.")  # fmt: skip
        return found
    found = [target] if target in names else [each.strip() for each in target.split(",")]
    for each in found:
        if each not in names:
            raise ConfigError(f"{path.name}: --target: {unknown('column', each, names)}")
    if len(set(found)) == len(names):
        raise ConfigError(f"{path.name}: --target: all columns are targets; leave some to predict from")
    return list(dict.fromkeys(found))


def _answers(
    path: Path, frame: pd.DataFrame, targets: list[str], asked: Metric | None, lines: NDArray, said: list[str]
) -> tuple[NDArray, NDArray | None]:
    """The targets as codes with their classes, or as values (n, targets)."""
    for name in targets:
        if frame[name].nunique() < 2:
            raise TableError(
                f"{path.name}: the column {name!r} is {frame[name].iloc[0]!r} in all {plural(len(frame), 'row')}: "
                "there is nothing to predict; give another with --target, or a file with a second class"
            )
    if len(targets) == 1 and _is_of_classes(frame[targets[0]], targets[0], asked, said):
        return _codes(path, frame[targets[0]], targets[0], lines)
    if asked and asked.of_classes:
        of_classes = f"{path.name}: --metric {asked.name} is of classes"
        raise ConfigError(f"{of_classes}, and several targets must be numbers; give one target")
    return np.column_stack([_values(path, frame[name], name, lines) for name in targets]), None


def _is_of_classes(column: pd.Series, name: str, asked: Metric | None, said: list[str]) -> bool:
    """Whether a target is one of classes: as the metric asked for says, else text, booleans, and few whole numbers."""
    if asked is not None:
        return asked.of_classes
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return not _looks_numeric(column)
    values = column.unique()
    if len(values) > FEW_WHOLE or not np.equal(np.mod(values.astype(float), 1), 0).all():
        return False
    if len(values) > 2:
        said.append(f"{name!r} has {len(values)} whole numbers, taken as classes; --metric rmse takes it as a number.")
    return True


def _looks_numeric(column: pd.Series) -> bool:
    """Whether a column of text has many values, and most of them are numbers."""
    if column.nunique() <= FEW_WHOLE:
        return False
    return bool(pd.to_numeric(column.astype(str), errors="coerce").notna().mean() > 0.5)


def _values(path: Path, column: pd.Series, name: str, lines: NDArray) -> NDArray[np.float64]:
    values = pd.to_numeric(column.astype(str) if column.dtype == object else column, errors="coerce")
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if (wrong := ~np.isfinite(numbers)).any():
        at = int(wrong.argmax())
        raise TableError(
            f"{path.name}: line {lines[at]}, column {name!r}: {str(column.iloc[at])!r} is not a number, and "
            f"{plural(int(wrong.sum()), 'value')} of {len(numbers)} are not; correct them, or give --metric accuracy "
            "to predict classes"
        )
    return numbers


def _codes(path: Path, column: pd.Series, name: str, lines: NDArray) -> tuple[NDArray, NDArray]:
    labels = column.to_numpy()
    if labels.dtype == object or not pd.api.types.is_numeric_dtype(column):
        labels = labels if column.dtype == bool else column.astype(str).to_numpy(dtype=object)
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) > MOST_CLASSES:
        raise TableError(
            f"{path.name}: the column {name!r} has {len(classes):,} different values; as classes at most "
            f"{MOST_CLASSES} are predicted. Give another --target, or --metric rmse if they are numbers"
        )
    if counts.min() < FEWEST_OF_A_CLASS:
        rarest = int(counts.argmin())
        raise TableError(
            f"{path.name}: line {lines[int((codes == rarest).argmax())]}, column {name!r}: the class "
            f"{str(classes[rarest])!r} has {plural(int(counts[rarest]), 'row')}, and at least {FEWEST_OF_A_CLASS} are "
            "needed; leave these rows out, or give them another class"
        )
    return codes, classes


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


def _inputs(path: Path, frame: pd.DataFrame, targets: Sequence[str], said: list[str]) -> list[str]:
    """The columns to predict from: not those that are empty, constant, or another in each row."""
    reasons: dict[str, list[str]] = {"empty": [], "the same in all rows": [], "another in each row, as an ID": []}
    inputs = []
    for name in (each for each in frame.columns if each not in targets):
        column = frame[name]
        if not column.notna().any():
            reasons["empty"].append(name)
        elif column.nunique(dropna=False) == 1:
            reasons["the same in all rows"].append(name)
        elif _is_id(column, name):
            reasons["another in each row, as an ID"].append(name)
        else:
            inputs.append(name)
    for reason, names in reasons.items():
        if names:
            said.append(f"{first_of([repr(name) for name in names], SHOWN_NAMES)}: {reason}; left out.")
    if not inputs:
        raise TableError(f"{path.name}: no column is left to predict from: {' '.join(said)}")
    return inputs


def _is_id(column: pd.Series, name: str) -> bool:
    """Whether a column is another value in each row and means nothing: short text, or whole numbers that count the
    rows or are called an ID."""
    if column.nunique() < len(column):
        return False
    if pd.api.types.is_integer_dtype(column):
        named = name.casefold().replace("-", "_").split("_")[-1] in ("id", "index") or name.endswith("ID")
        return named or int(column.max()) - int(column.min()) == len(column) - 1
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return False
    text = column.astype(str)
    if pd.to_datetime(text.head(50), errors="coerce", format="mixed").notna().all():
        return False
    return bool(text.str.count(" ").mean() < 2)
