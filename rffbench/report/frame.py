"""An experiment's folder as a tidy table: one row per trial, in the order of its config."""

from __future__ import annotations

import math
import re
import warnings
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.arguments.parameters import is_chosen
from rffbench.config.grid import Grid, Sweep
from rffbench.config.loading import load_resolved
from rffbench.errors import LeftOut, ResultsError, RffbenchError
from rffbench.execution.log import Cell, each_row, log_files
from rffbench.execution.manifest import check_format
from rffbench.execution.row import PLACE, Row
from rffbench.kernels import KERNELS, bandwidth_in_words, kernel_in_words
from rffbench.stats.session import sessions
from rffbench.trials.metrics import MAP_MEASURES, METRICS, SCORES, TRIAL_COLUMNS, Metric
from rffbench.trials.spec import written_size

MOST_NAMED = 5  # unreadable lines of a log that a warning lists
_KNOWN = METRICS.keys() | set(TRIAL_COLUMNS)  # the numbers of a row that rffbench itself declares
_CELL = ["dataset", "n_features", "method"]


@dataclass(frozen=True)
class Results:
    """The results of one experiment's folder.

    - ``config``: the resolved config.yaml. Reports read its title, reference and significance, and ask ``grid`` for
      everything else.
    - ``trials``: one row per trial of the config in the log, with the columns dataset, n_features, multiple
      (n_features/d, missing if the config gave a count), method, trial, status, contended (bool), and one float column
      per metric: accuracy in %, times in seconds, memory in bytes, NaN if missing.
    - ``curves``: one row per point of the trials' curves: dataset, n_features, multiple, method, trial, and the curves'
      own columns.
    - ``metrics``: rffbench's metrics, then those that the trials' maps and solvers added, as their rows describe them.
    - ``columns``: the number of columns of the features by (dataset, n_features, method), if the rows have it.
    - ``edges``: one row per tuned value at the end of its grid: dataset, n_features, method, trial, ``tuned`` (lambda
      or gamma), and what the held-out error gains there, ``gain`` and ``standard_error``; see edges.py.
    - ``finished``: when each row of ``trials`` was measured, as ISO text in UTC; empty if the log does not say it.
    """

    folder: Path
    config: dict[str, Any]
    trials: pd.DataFrame
    curves: pd.DataFrame
    metrics: dict[str, Metric] = field(default_factory=lambda: METRICS)
    columns: dict[tuple[str, int, str], int] = field(default_factory=dict)
    edges: pd.DataFrame = field(default_factory=pd.DataFrame)
    finished: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return str(self.config.get("title") or self.config.get("name") or self.folder.name)

    @property
    def datasets(self) -> list[str]:
        """The datasets that have trials, in the config's order."""
        return [str(name) for name in self.trials["dataset"].unique()]

    @cached_property
    def grid(self) -> Grid:
        """The trials that the config asks for, and its settings by dataset and method."""
        return Grid(self.config)

    @property
    def methods(self) -> list[str]:
        """The labels of the methods, in the config's order."""
        return self.grid.methods

    def score(self, dataset: str) -> Metric:
        """The dataset's main metric: accuracy, else RMSE, else relative RMSE; without a solver the first measured
        metric of maps. If nothing was measured, the metric of the dataset's task."""
        if dataset not in self._scores:
            self._scores[dataset] = self.metrics[_score_of_task(dataset)]
        return self._scores[dataset]

    @cached_property
    def _scores(self) -> dict[str, Metric]:
        """The main metric of each dataset in which any was measured."""
        names = [*SCORES, *MAP_MEASURES, *self.own_metrics]
        measured = self.trials[names].notna().to_numpy()
        places = self.trials.groupby("dataset").indices
        has = {str(dataset): measured[rows].any(axis=0) for dataset, rows in places.items()}
        return {dataset: self.metrics[names[each.argmax()]] for dataset, each in has.items() if each.any()}

    @property
    def own_metrics(self) -> list[str]:
        """The metrics that the maps and solvers of other packages added."""
        return [name for name in self.metrics if name not in METRICS]

    def called(self, dataset: str) -> str:
        """The dataset's name as people write it: its card's short name, unless two datasets here share that."""
        return self._called.get(dataset, dataset)

    @cached_property
    def _called(self) -> dict[str, str]:
        cards = {name: find_card(name) for name in self.datasets}
        short = {name: (card.short if card else "") or as_written(name) for name, card in cards.items()}
        counts = Counter(short.values())
        return {name: each if counts[each] == 1 else name for name, each in short.items()}

    def kernels_differ(self, dataset: str, methods: Iterable[str]) -> str:
        """If the methods approximate different kernels on a dataset: a sentence that their errors cannot be compared,
        with the methods of each kernel. Empty if they share one kernel."""
        of_kernel: dict[str, list[str]] = {}
        for method in methods:
            if method not in self.grid.methods or self.grid.features(method)["name"] == "none":
                continue
            kernel = self.grid.setting("kernel", dataset, method) or {}
            written = as_written(kernel_in_words({"name": "kernel", **kernel}))
            if is_chosen(kernel.get("gamma")):  # each method has chosen its own
                of_method = self.trials[(self.trials["dataset"] == dataset) & (self.trials["method"] == method)]
                gamma = float(of_method["gamma"].quantile(interpolation="lower"))
                written += f"; in the median trial {bandwidth_in_words(str(kernel['name']), gamma)}"
            of_kernel.setdefault(written, []).append(as_written(method))
        if len(of_kernel) < 2:
            return ""
        listed = "; ".join(f"{', '.join(names)}: {kernel}" for kernel, names in of_kernel.items())
        return f"errors are against different kernels, so that they cannot be compared between them ({listed})"

    def mark(self, dataset: str) -> str | None:
        """The card's warning to readers of the dataset's results, if it has one."""
        card = find_card(dataset)
        return card.mark if card else None


_GREEK = dict(zip(["alpha", "beta", "gamma", "delta", "lambda", "mu", "rho", "sigma"], "αβγδλμρσ", strict=True))
_NAMED_AFTER = [name for name, kernel in KERNELS.items() if kernel.named_after]


def as_written(label: str) -> str:
    """A label as people write it: ``σ = 1`` for ``sigma=1``, and a capital for a kernel that is named after a
    person."""
    label = re.sub(rf"\b({'|'.join(_GREEK)})(?=\s*=)", lambda match: _GREEK[match[1]], label)
    label = re.sub(rf"\b({'|'.join(_NAMED_AFTER)})\b", lambda match: match[1].capitalize(), label)
    return re.sub(r"(?<=[^\s=<>!:/?&])=(?=[^\s=])", " = ", label)


def protocol_names(labels: Mapping[str, str]) -> list[str]:
    """The labels of a sweep's protocol as people write them: ``bandwidth: median``, but ``σ = 1`` for a label that
    names its quantity itself."""
    return [as_written(label if "=" in label else f"{axis}: {label}") for axis, label in labels.items()]


def protocol_labels(labels: Mapping[str, str], config: Mapping[str, Any]) -> list[str]:
    """The labels of a sweep's protocol in a row of a table: ``landmarks=kmeans`` where the axis is a setting of the
    config that the label does not name itself."""
    return [
        label if "=" in label or axis.partition(".")[0] not in config else f"{axis.rpartition('.')[2]}={label}"
        for axis, label in labels.items()
    ]


def with_labels(frame: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """The frame of one protocol with one more column per axis, which holds the protocol's label. The column is called
    ``mean (axis)`` if the frame already has a column ``mean``."""
    labelled = frame.copy()
    for axis, label in labels.items():
        labelled[f"{axis} (axis)" if axis in frame else axis] = label
    return labelled


def find_card(dataset: str) -> Any:
    """The dataset's card; None if this version of rffbench has no card for it."""
    from rffbench.data.cards import load_card

    try:
        return load_card(dataset)
    except RffbenchError:
        return None


def _score_of_task(dataset: str) -> str:
    card = find_card(dataset)
    return "rmse" if card and card.task == "regression" else SCORES[0]


Protocols = list[tuple[dict[str, str], Results]]
"""The results of one folder: one (labels, results) per combination of a sweep's values; without a sweep a single one,
without labels."""


def size_label(n_features: int, multiple: int | None) -> str:
    """``16d`` if the config gave a multiple of the input dimension, else the count itself."""
    return written_size(n_features, None if pd.isna(multiple) else multiple)


def load_results(folder: str | Path) -> Results:
    """Read config.yaml and trials.jsonl of one experiment's folder.

    The last row of a trial counts. Rows that the config does not ask for (any more) are left out: another dataset,
    method, size, seed, solver, …. For a sweep, the results of its first protocol.

    Warns (`LeftOut`) of unreadable lines and files of the log, and reads the others. Raises ResultsError, which names
    the file, if the folder does not exist, its config is missing or unreadable, or no row of the log belongs to it.
    """
    return load_protocols(folder)[0][1]


def load_protocols(folder: str | Path) -> Protocols:
    """The results of every protocol of a sweep that has trials, each with its labels, one per axis; without a sweep
    the one set of results, without labels. Raises as `load_results`."""
    folder = Path(folder)
    unreadable: list[str] = []
    every = [(labels, _results(folder, config, grid, rows)) for labels, config, grid, rows in _read(folder, unreadable)]
    found = [(labels, results) for labels, results in every if results is not None]
    if not found:
        log = [*log_files(folder), folder / "trials.jsonl"][0]
        why = f"; left out: {unreadable[0]}" if unreadable else ""
        raise ResultsError(f"{log}: holds no trial of the experiment in its config.yaml{why}")
    more = len(unreadable) - MOST_NAMED
    for message in [*unreadable[:MOST_NAMED], *([f"{more} more lines of that log"] if more > 0 else [])]:
        warnings.warn(f"left out: {message}", LeftOut, stacklevel=2)
    return found


def load_sessions(folder: str | Path) -> list[Results]:
    """The results of each session of measuring (`rffbench.stats.sessions`) apart, in the order of the log; of a sweep,
    those of its first protocol."""
    folder = Path(folder)
    _, config, grid, rows = _read(folder, [])[0]
    numbers = sessions(rows.finished)
    each = (np.flatnonzero(numbers == number).tolist() for number in dict.fromkeys(numbers.tolist()))
    return [found for among in each if (found := _results(folder, config, grid, rows, among)) is not None]


def _read(folder: Path, unreadable: list[str]) -> list[tuple[dict[str, str], dict[str, Any], Grid, _Rows]]:
    """The labels, the config, the grid and the rows of every protocol; the lines that are ``unreadable`` are added to
    these."""
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder")
    check_format(folder)
    configs = load_resolved(folder / "config.yaml")
    grids = [Grid(config) for _, config in configs]
    rows, sweep = [_Rows() for _ in grids], Sweep(grids)
    for row in each_row(folder / "trials.jsonl", unreadable.append):
        for number in sweep.wanting(row):
            rows[number].add(row)
    return [(*config, grid, mine) for config, grid, mine in zip(configs, grids, rows, strict=True)]


class _Rows:
    """The trials of one config, stored by column, which takes a tenth of the memory of the log's rows."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.multiples: list[int | None] = []
        self.statuses: list[str] = []
        self.hashes: list[str | None] = []
        self.finished: list[str] = []
        self.contended: list[bool] = []
        self.numbers: dict[str, array[float]] = {}  # NaN if a row has no number; a column may end early
        self.own: dict[int, dict[str, float]] = {}  # by row: the numbers of metrics that other packages added
        self.described: dict[int, dict[str, Any]] = {}  # by row: the declarations of those metrics
        self.curves: dict[int, dict[str, Any]] = {}
        self.columns: dict[tuple[str, int, str], int] = {}
        self.edges: dict[int, dict[str, Any]] = {}

    def add(self, row: Row) -> None:
        at, seconds = len(self.cells), row.get("timing") or {}
        self.cells.append((intern(row["dataset"]), intern(row["method"]), row["n_features"], row["trial"]))
        self.multiples.append(row.get("multiple"))
        self.statuses.append(intern(row["status"]))
        self.finished.append(str(row.get("finished") or ""))
        self.hashes.append(data_hash := row.get("data_hash"))
        if at and data_hash == self.hashes[at - 1]:
            self.hashes[at] = self.hashes[at - 1]  # share one string
        self.contended.append(bool(seconds) and seconds.get("contended") is not False)  # unknown counts as contended
        if not row["metrics"].keys() <= _KNOWN:
            self.own[at] = {name: value for name, value in row["metrics"].items() if name not in _KNOWN}
        for name, kept in (("own_metrics", self.described), ("curves", self.curves), ("edges", self.edges)):
            if row.get(name):
                kept[at] = row[name]
        if row["status"] != "ok":
            return
        if row.get("columns"):
            self.columns[row["dataset"], row["n_features"], row["method"]] = row["columns"]
        for name, value in _numbers(row, seconds).items():
            if name in METRICS and value is not None:
                if (column := self.numbers.get(name)) is None:
                    column = self.numbers[name] = array("d")
                if len(column) < at:
                    column.extend([math.nan] * (at - len(column)))
                column.append(value)

    def counted(self, datasets: list[str], methods: list[str], among: Sequence[int] | None = None) -> list[int]:
        """The numbers of the rows that count, ``among`` these or all, in the config's order: the last row of each trial
        (`rffbench.execution.log.latest`), and only rows with the dataset's newest content hash."""
        newest = {cell[0]: data_hash for cell, data_hash in zip(self.cells, self.hashes, strict=True)}
        places = range(len(self.cells)) if among is None else among
        last = {self.cells[at]: at for at in places if self.hashes[at] == newest[self.cells[at][0]]}
        first, second = ({name: at for at, name in enumerate(names)} for names in (datasets, methods))
        ordered = sorted(last, key=lambda cell: (first[cell[0]], cell[2], second[cell[1]], cell[3]))
        return [last[cell] for cell in ordered]

    def column(self, name: str, rows: list[int]) -> NDArray[np.float64]:
        """The numbers of a metric; NaN if missing."""
        whole = np.full(len(self.cells), np.nan)
        if known := self.numbers.get(name):
            whole[: len(known)] = known
        return whole[rows]

    def own_column(self, name: str, rows: list[int]) -> NDArray[np.float64]:
        """The numbers of a metric that another package added; NaN if missing."""
        found = [self.own.get(at, {}).get(name) if self.statuses[at] == "ok" else None for at in rows]
        return np.array(found, dtype=float)


def _results(
    folder: Path, config: dict[str, Any], grid: Grid, rows: _Rows, among: Sequence[int] | None = None
) -> Results | None:
    """The results of the rows that one config asks for, of all rows or of those with the numbers ``among``. None where
    there is no such row."""
    counted = rows.counted(grid.datasets, grid.methods, among)
    if not counted:
        return None
    own = _own_metrics(rows, counted)
    dataset, method, n_features, trial = zip(*(rows.cells[at] for at in counted), strict=True)
    place: dict[str, list[Any]] = {
        "dataset": list(dataset), "n_features": list(n_features), "method": list(method),
        "multiple": [rows.multiples[at] for at in counted], "trial": list(trial),
    }  # fmt: skip
    trials = pd.DataFrame(place | {"status": [rows.statuses[at] for at in counted]})
    trials["multiple"] = trials["multiple"].astype("Int64")
    trials["contended"] = [rows.contended[at] for at in counted]
    columns = {name: rows.column(name, counted) for name in METRICS}
    columns |= {name: rows.own_column(name, counted) for name in own}
    trials = pd.concat([trials, pd.DataFrame(columns)], axis=1)
    points = [
        pd.DataFrame({name: place[name][number] for name in PLACE} | rows.curves[at])
        for number, at in enumerate(counted) if at in rows.curves
    ]  # fmt: skip
    curves = pd.concat(points, ignore_index=True) if points else pd.DataFrame(columns=PLACE)
    curves = curves.astype({name: float for name in curves if name not in PLACE})  # None becomes NaN
    edges = pd.DataFrame([
        {name: place[name][number] for name in (*_CELL, "trial")} | {"tuned": tuned, **gain}
        for number, at in enumerate(counted) for tuned, gain in rows.edges.get(at, {}).items()
    ])  # fmt: skip
    finished = [rows.finished[at] for at in counted]
    return Results(folder, config, trials, curves, METRICS | own, dict(rows.columns), edges, finished)


def cell_places(trials: pd.DataFrame) -> dict[tuple[str, int, str], list[int]]:
    """(dataset, n_features, method) → the row numbers of its trials, in the table's order."""
    found: dict[tuple[str, int, str], list[int]] = {}
    for place, cell in enumerate(zip(*(trials[name].tolist() for name in _CELL), strict=True)):
        found.setdefault(cast(tuple[str, int, str], cell), []).append(place)
    return found


def each_cell(trials: pd.DataFrame) -> Iterable[tuple[str, int, str, str, pd.DataFrame]]:
    """(dataset, n_features, size as written, method, its trials) of every cell, in the table's order."""
    for key, cell in trials.groupby(_CELL, sort=False):
        dataset, n_features, method = cast(tuple[str, int, str], key)
        yield dataset, int(n_features), size_label(n_features, cell["multiple"].iloc[0]), method, cell


def _own_metrics(rows: _Rows, counted: list[int]) -> dict[str, Metric]:
    """The metrics of the rows that other packages added: as the last row declares them, else by their names alone."""
    names = sorted({name for at in counted if at in rows.own for name in rows.own[at]})
    about = {name: each for at in counted if at in rows.described for name, each in rows.described[at].items()}
    return {name: Metric(name, **about.get(name, {})) for name in names}


def _numbers(row: Row, seconds: dict[str, Any]) -> dict[str, Any]:
    """The numbers that a finished trial measured, by metric."""
    flat = {**row["metrics"], **seconds}
    flat["lambda"], flat["peak_memory_bytes"] = row.get("lambda"), row.get("peak_memory_bytes")
    if "feature_s" in flat and "fit_s" in flat:
        flat["train_s"] = flat["feature_s"] + flat["fit_s"]
    return flat
