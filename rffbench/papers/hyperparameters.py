"""Released hyperparameters of fitted Gaussian processes, by dataset and fold.

The file of the table ``name`` is ``<name>.csv``, with - as _. Its columns are ``dataset``, by the paper's name,
``split`` (the fold, from 0), ``noise_scale`` and ``signal_scale`` (standard deviations σ and s; empty if not released)
and ``length_scales`` (one per input, separated by spaces). The mean of a Gaussian process with covariance
s²·k(x/ℓ, x′/ℓ) and noise σ² is kernel ridge regression on k with λ = σ²/s².
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rffbench.errors import ConfigError, unknown
from rffbench.papers import FOLDER, csvfile, references

SUFFIX = "hyperparameters"


@dataclass(frozen=True)
class Fitted:
    """For a dataset and fold: the ``lengths`` ℓ, one per input, and ``lambda_`` = σ²/s²; ``line`` of the file."""

    lengths: tuple[float, ...]
    lambda_: float
    line: int


def names() -> list[str]:
    """The names of the tables, which ship with the package."""
    return sorted(path.stem.replace("_", "-") for path in FOLDER.glob(f"*_{SUFFIX}.csv"))


def place(name: str) -> Path:
    """The file of the table ``name``; ConfigError if there is no such table."""
    if name not in (known := names()):
        raise ConfigError(unknown("table of parameters", name, known))
    return FOLDER / f"{name.replace('-', '_')}.csv"


def content_hash(name: str) -> str:
    """SHA-256 of the table's file."""
    return hashlib.sha256(place(name).read_bytes()).hexdigest()


@cache
def load(name: str) -> Mapping[tuple[str, int], Fitted]:
    """The table, by dataset (the paper's name) and fold. ConfigError, with the line, if a cell is wrong."""
    path = place(name)
    numbers = ["split", "noise_scale", "signal_scale"]
    table = csvfile.load(path, text=["dataset"], numbers=numbers, blank=numbers[1:])
    csvfile.check_whole(path, table, "split")
    csvfile.check_once(path, table, ["dataset", "split"])
    found = {}
    for line, row in zip(csvfile.lines_of(table), table.to_dict("records"), strict=True):
        if row["noise_scale"] != row["noise_scale"]:  # empty, so NaN: not released
            continue
        try:
            lengths = tuple(float(length) for length in row["length_scales"].split())
        except ValueError:
            raise ConfigError(
                f"{path}, line {line}, column 'length_scales': must be numbers separated by spaces"
            ) from None
        if min(*lengths, row["noise_scale"], row["signal_scale"]) <= 0:
            raise ConfigError(f"{path}, line {line}: every scale must be more than 0")
        fitted = Fitted(lengths, (row["noise_scale"] / row["signal_scale"]) ** 2, line)
        found[row["dataset"], int(row["split"])] = fitted
    return found


def fitted(name: str, dataset: str, fold: int, columns: int) -> Fitted:
    """The parameters of a dataset's fold; ConfigError, with file and line, if the table has none, or if it has lengths
    for another number of inputs than ``columns``."""
    table, path, paper = load(name), place(name), references()[name.removesuffix(f"-{SUFFIX}")]
    if dataset not in paper.datasets:
        raise ConfigError(f"{paper.place('..', 'datasets')}: {unknown('dataset', dataset, paper.datasets)}")
    theirs = paper.datasets[dataset]
    if (theirs, fold) not in table:
        lines = {each: found.line for (of, each), found in table.items() if of == theirs}
        line = max(lines.values() or [found.line for found in table.values()], default=1)
        has = f"the folds {', '.join(map(str, lines))}" if lines else "no fold"
        raise ConfigError(
            f"{path}, line {line}: up to here, there are scales of {has} of {theirs}; "
            f"{dataset} needs a row of {theirs}, fold {fold}"
        )
    if len((found := table[theirs, fold]).lengths) != columns:
        raise ConfigError(f"{path}, line {found.line}: {len(found.lengths)} lengths; {dataset} has {columns} inputs")
    return found
