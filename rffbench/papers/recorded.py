"""A reference of one's own: a CSV file of expected scores that a config's ``reference`` names by its path.

Its columns are dataset, size (``16d`` or a count), method (the label in the config), metric, expected and tolerance (in
the metric's unit). std and trials, of what is behind the expected mean, may be left out. ``rffbench record`` writes it.
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
    """Expected scores from a file; a ``Reference`` whose datasets and methods are called as in the config."""

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
        """As a paper's, with ``size`` as written in place of ``multiple``."""
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

    def check_places(self, asked: Mapping[str, Mapping[str, Collection[str]]], config: Path) -> None:
        """ConfigError, with the line, where a row is of no cell of the experiment in ``config``, of which ``asked`` has
        the sizes by dataset and method: what was measured would be held against nothing, and nobody told."""
        read = read_cells(self.path)
        for line, row in zip(read.attrs["lines"], read.to_dict("records"), strict=True):
            methods = asked.get(row["dataset"], {})
            sizes = methods.get(row["method"], ())
            for column, known in (("dataset", asked), ("method", methods), ("size", sizes)):
                if row[column] not in known:
                    raise ConfigError(
                        f"{self.path}, line {line}, column {column!r}: {unknown(column, row[column], known)} "
                        f"(every line must be of a cell of {config}; remove one that is of none)"
                    )


def is_path(name: str) -> bool:
    """Whether a config's ``reference`` is a file, and not the name of a paper."""
    return name.endswith(".csv") or "/" in name


def find_reference(name: str, folder: Path) -> Reference:
    """The reference that a config in ``folder`` names: a file, its path relative to the folder, or one that ships with
    the package. ConfigError, with line and column, where it is wrong."""
    return load_own(place(name, folder)) if is_path(name) else load_reference(name)


def place(name: str, folder: Path) -> Path:
    """Where the reference file lies that a config in ``folder`` names: from the current folder if it lies below that,
    without the detours of ``results/mine/../../mine.csv``."""
    path = folder / name
    path = path.parent.resolve() / path.name
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def load_own(path: Path) -> OwnReference:
    """The reference in a file; ConfigError, with line and column, where it is wrong."""
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
    """The rows of a reference file, with COLUMNS but those left out; ConfigError, with line and column, where it is
    wrong."""
    read = csvfile.load(path, text=_TEXT, numbers=_NUMBERS, optional=_OPTIONAL)
    if read.empty:
        raise ConfigError(f"{path}: holds no cell: only its first line, the columns' names")
    csvfile.check_once(path, read, ["dataset", "size", "method"])
    metrics: dict[str, str] = {}
    for line, row in zip(read.attrs["lines"], read.to_dict("records"), strict=True):
        for column, wrong, right in (
            ("size", not re.fullmatch(r"[1-9]\d*d?", row["size"]), "a count, or a multiple of the dimension, as 16d"),
            ("expected", not math.isfinite(row["expected"]), "a finite number"),
            ("tolerance", not 0 <= row["tolerance"] < math.inf, "a finite number, 0 or more"),
            ("std", not 0 <= row.get("std", 0) < math.inf, "a finite number, 0 or more"),
            ("trials", not 1 <= row.get("trials", 1) < math.inf or row.get("trials", 1) % 1, "a count, 1 or more"),
            ("metric", metrics.setdefault(row["dataset"], row["metric"]) != row["metric"],
             f"one for all of {row['dataset']}, and above it is {metrics[row['dataset']]!r}"),
        ):  # fmt: skip
            if wrong:
                raise ConfigError(f"{path}, line {line}, column {column!r}: must be {right}, not {row[column]!r}")
    return read
