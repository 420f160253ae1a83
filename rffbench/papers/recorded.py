"""A user's own reference: a CSV file of expected scores, whose path is a config's ``reference``.

Its columns are dataset, size (``16d`` or a number), method (the label in the config), metric, expected and tolerance
(in the metric's unit), and optionally std and trials, the spread and number of the recorded trials; std is empty if
they do not differ. ``rffbench record`` writes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd

from rffbench.errors import ConfigError, unknown
from rffbench.papers import Reference, Table, csvfile, load_reference

COLUMNS = ["dataset", "size", "method", "metric", "expected", "std", "trials", "tolerance"]
_TEXT, _NUMBERS, _OPTIONAL = COLUMNS[:4], ["expected", "tolerance"], ["std", "trials"]


class OwnReference(Reference):
    """Expected scores from a file; datasets and methods have the config's names."""

    path: Path
    metrics: dict[str, str]

    @property
    def given(self) -> str:
        return "recorded"

    @property
    def citation(self) -> str:
        return self.path.name

    @property
    def claims(self) -> Path:
        return self.path.with_name(f"{self.path.stem}_claims.yaml")

    def metric_of(self, dataset: str) -> str | None:
        return self.metrics.get(dataset)

    def numbers(self) -> pd.DataFrame:
        """As for a paper, with ``size``, as written, in place of ``multiple``."""
        read = read_cells(self.path)
        return pd.DataFrame(
            {
                "paper_dataset": read["dataset"],
                "method": read["method"],
                "size": read["size"],
                "reported": read["expected"],
                "reported_std": read.get("std", math.nan),
                "reported_significant": math.nan,
                "reported_trials": read.get("trials", math.nan),
                "tolerance": read["tolerance"],
                "metric": None,
                "reported_method": read["method"],
                "absent": "",
                "because": "",
            }
        )

    def dataset_statistics(self) -> pd.DataFrame:
        return pd.DataFrame()

    def check_places(
        self, asked: Mapping[str, Mapping[str, Collection[str]]], metrics: Mapping[str, Collection[str]], config: str
    ) -> None:
        """ConfigError, with the line, if a row matches no cell of the experiment, which would then be compared with
        nothing, silently. ``asked`` has the experiment's sizes by dataset and method, ``metrics`` what its trials have
        by dataset, if known; ``config`` is its file's name."""
        read = read_cells(self.path)
        for line, row in zip(read.attrs["lines"], read.to_dict("records"), strict=True):
            methods = asked.get(row["dataset"], {})
            sizes = methods.get(row["method"], ())
            measured = metrics.get(row["dataset"], [row["metric"]])
            for column, known in (("dataset", asked), ("method", methods), ("size", sizes), ("metric", measured)):
                if row[column] not in known:
                    raise ConfigError(
                        f"{self.path}, line {line}, column {column!r}: {unknown(column, row[column], known)} "
                        f"(every line must match a cell of {config}; remove lines that match none)"
                    )


def is_path(name: str) -> bool:
    """Whether a config's ``reference`` is a file's path, not a paper's name."""
    return name.endswith(".csv") or "/" in name


def find_reference(name: str, folder: Path) -> Reference:
    """The reference that a config in ``folder`` names: a file's path relative to the folder, or the name of one that
    ships with the package. ConfigError, with line and column, if it is wrong."""
    return load_own(place(name, folder)) if is_path(name) else load_reference(name)


def place(name: str, folder: Path) -> Path:
    """The path of the reference file that a config in ``folder`` names: normalised, and relative to the current folder
    if it is below it, as in ``results/mine/../../mine.csv``."""
    path = folder / name
    path = path.parent.resolve() / path.name
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def load_own(path: Path) -> OwnReference:
    """The reference in a file; ConfigError, with line and column, if it is wrong."""
    if not path.exists():
        raise ConfigError(f"{path}: no such reference file; `rffbench record RESULTS` writes one")
    read = read_cells(path)
    metrics = dict(zip(read["dataset"], read["metric"], strict=True))
    table = Table(title=path.name, columns={"reported": "expected"}, tolerance=1.0)
    names = {dataset: dataset for dataset in metrics}
    return OwnReference(
        name=path.name, paper="", datasets=names, stated={}, table=table, path=path, metrics=metrics
    )  # fmt: skip


def read_cells(path: Path) -> pd.DataFrame:
    """The rows of a reference file; ConfigError, with line and column, if it is wrong."""
    read = csvfile.load(path, text=_TEXT, numbers=_NUMBERS, optional=_OPTIONAL, blank=["std"])
    if read.empty:
        raise ConfigError(f"{path}: has no rows, only the line with the columns' names")
    csvfile.check_once(path, read, ["dataset", "size", "method"])
    metrics: dict[str, str] = {}
    for line, row in zip(read.attrs["lines"], read.to_dict("records"), strict=True):
        for column, wrong, right in (
            ("size", not re.fullmatch(r"[1-9]\d*d?", row["size"]), "a number, or a multiple of the inputs, as 16d"),
            ("tolerance", row["tolerance"] < 0, "a finite number, 0 or more"),
            ("std", row.get("std", math.nan) <= 0,
             "a finite number, more than 0, or empty if runs do not differ or no spread is known"),
            ("std", row.get("trials") == 1 and not math.isnan(row.get("std", math.nan)),
             "empty, as one trial has no spread"),
            ("trials", row.get("trials", 1) < 1 or row.get("trials", 1) % 1, "a whole number, 1 or more"),
            ("metric", metrics.setdefault(row["dataset"], row["metric"]) != row["metric"],
             f"the same in all rows of {row['dataset']}: {metrics[row['dataset']]!r}"),
        ):  # fmt: skip
            if wrong:
                raise ConfigError(f"{path}, line {line}, column {column!r}: must be {right}, not {row[column]!r}")
    return read
