"""An experiment's folder as a tidy table: one row per trial, in the order of its config."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from rffbench.config.grid import Grid, Sweep
from rffbench.config.loading import load_resolved
from rffbench.errors import LeftOut, ResultsError, RffbenchError
from rffbench.execution.log import each_row, latest, log_files
from rffbench.execution.row import PLACE, Row
from rffbench.trials.metrics import MAP_MEASURES, METRICS, SCORES, TRIAL_COLUMNS, Metric
from rffbench.trials.spec import written_size

MOST_NAMED = 5  # lines of a log that are named as unreadable
_KEPT = (*PLACE, "status", "data_hash", "metrics", "timing", "lambda", "peak_memory_bytes", "curves", "own_metrics")
_CELL = ["dataset", "n_features", "method"]


@dataclass(frozen=True)
class Results:
    """What one experiment's folder holds.

    ``config`` is the resolved config.yaml: its title, reference and significance are for the report to read, all else
    is the ``grid``'s to say. ``trials`` has a row for every trial of that config in the log and
    the columns dataset, n_features, multiple (n_features/d, missing where the config gave a count), method,
    trial, status, contended (bool), and one float column a metric of ``metrics``: accuracy in %, times in
    seconds, memory in bytes, NaN where there is none. ``curves`` has a row for every point of the trials' curves:
    dataset, n_features, multiple, method, trial, and the curves' own columns. ``metrics`` are those known here, and
    behind them what else the trials' maps and solvers measured, as their rows describe it.
    """

    folder: Path
    config: dict[str, Any]
    trials: pd.DataFrame
    curves: pd.DataFrame
    metrics: dict[str, Metric] = field(default_factory=lambda: METRICS)

    @property
    def title(self) -> str:
        return str(self.config.get("title") or self.config.get("name") or self.folder.name)

    @property
    def datasets(self) -> list[str]:
        """The datasets that have trials, in the config's order."""
        return [str(name) for name in self.trials["dataset"].unique()]

    @cached_property
    def grid(self) -> Grid:
        """What the config means."""
        return Grid(self.config)

    @property
    def methods(self) -> list[str]:
        """The labels of the methods, in the config's order."""
        return self.grid.methods

    def methods_on(self, dataset: str) -> list[str]:
        """The labels of the methods that are for a dataset, in the config's order."""
        return self.grid.methods_on(dataset)

    def score(self, dataset: str) -> Metric:
        """The metric the dataset is judged by: accuracy where it has one, else RMSE, else relative RMSE; where nothing
        was learnt, the first that was measured of maps; of a dataset without any, the score of its task."""
        if dataset not in self._scores:
            trials = self.trials[self.trials["dataset"] == dataset]
            measured = [name for name in (*SCORES, *MAP_MEASURES, *self.own_metrics) if trials[name].notna().any()]
            self._scores[dataset] = self.metrics[measured[0] if measured else _score_of_task(dataset)]
        return self._scores[dataset]

    @cached_property
    def _scores(self) -> dict[str, Metric]:
        return {}

    @property
    def own_metrics(self) -> list[str]:
        """What only the maps and solvers of another package measured."""
        return [name for name in self.metrics if name not in METRICS]

    def planned_trials(self, n_features: int, multiple: int | None) -> int:
        """How many trials the config asks for at one size."""
        return self.grid.planned_trials(size_label(n_features, multiple))

    def asks_for(self, dataset: str, method: str, size: str) -> bool:
        """Whether the config has a method at a size of a dataset: ``16d``, a count, or ``""`` for any."""
        return self.grid.asks_for(dataset, method, size)

    def called(self, dataset: str) -> str:
        """The dataset's name as people write it: its card's, unless another dataset here is called the same."""
        return self._called.get(dataset, dataset)

    @cached_property
    def _called(self) -> dict[str, str]:
        cards = {name: find_card(name) for name in self.datasets}
        short = {name: (card.short if card else "") or as_written(name) for name, card in cards.items()}
        counts = Counter(short.values())
        return {name: each if counts[each] == 1 else name for name, each in short.items()}

    def mark(self, dataset: str) -> str | None:
        """What the dataset's card says a reader of its results must know, if anything."""
        card = find_card(dataset)
        return card.mark if card else None


_GREEK = dict(zip(["alpha", "beta", "gamma", "delta", "lambda", "mu", "rho", "sigma"], "αβγδλμρσ", strict=True))


def as_written(label: str) -> str:
    """A label as people write it: ``σ = 1`` for ``sigma=1``."""
    label = re.sub(rf"\b({'|'.join(_GREEK)})(?=\s*=)", lambda match: _GREEK[match[1]], label)
    return re.sub(r"(?<=[^\s=<>!:/?&])=(?=[^\s=])", " = ", label)


def find_card(dataset: str) -> Any:
    """The dataset's card; None for results of a dataset that this version has no card for."""
    from rffbench.data.cards import load_card

    try:
        return load_card(dataset)
    except RffbenchError:
        return None


def _score_of_task(dataset: str) -> str:
    card = find_card(dataset)
    return "rmse" if card and card.task == "regression" else SCORES[0]


Protocols = list[tuple[dict[str, str], Results]]
"""The results of one folder: of each combination of a sweep its labels and its results; without a sweep a single one,
with no labels."""


def size_label(n_features: int, multiple: int | None) -> str:
    """``16d`` where the config gave a multiple of the input dimension, else the count itself."""
    return written_size(n_features, None if pd.isna(multiple) else multiple)


def load_results(folder: str | Path) -> Results:
    """Read config.yaml and trials.jsonl of one experiment's folder.

    Of several rows of one trial the last counts. Rows that the config no longer asks for (another dataset,
    method, size, seed, solver, …, as after the config was changed) are left out. Of a sweep, the results of its
    first protocol.

    Warns (`LeftOut`) of lines and files of the log that cannot be read; the others count. Raises ResultsError, naming
    the file, where there is no such folder, its config is missing or unreadable, or nothing in the log belongs to it.
    """
    return load_protocols(folder)[0][1]


def load_protocols(folder: str | Path) -> Protocols:
    """The results of every protocol of a sweep that has trials, each with its labels, one per axis; if nothing
    is swept, the one set of results, without labels. Raises as `load_results`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder")
    configs = load_resolved(folder / "config.yaml")
    unreadable: list[str] = []
    grids = [Grid(config) for _, config in configs]
    rows: list[list[Row]] = [[] for _ in grids]
    sweep = Sweep(grids)
    for row in each_row(folder / "trials.jsonl", unreadable.append):
        if wanting := sweep.wanting(row):
            kept = {name: row[name] for name in _KEPT if name in row}
            for number in wanting:
                rows[number].append(kept)
    every = [
        (labels, _results(folder, config, grid, mine))
        for (labels, config), grid, mine in zip(configs, grids, rows, strict=True)
    ]
    found = [(labels, results) for labels, results in every if results is not None]
    if not found:
        log = [*log_files(folder), folder / "trials.jsonl"][0]
        why = f"; left out: {unreadable[0]}" if unreadable else ""
        raise ResultsError(f"{log}: holds no trial of the experiment in its config.yaml{why}")
    for message in _shortened(unreadable):
        warnings.warn(f"left out: {message}", LeftOut, stacklevel=2)
    return found


def _shortened(messages: list[str]) -> list[str]:
    """The first messages, and how many more there are."""
    more = len(messages) - MOST_NAMED
    return [*messages[:MOST_NAMED], *([f"{more} more lines of that log"] if more > 0 else [])]


def _results(folder: Path, config: dict[str, Any], grid: Grid, rows: list[Row]) -> Results | None:
    """The results of the rows that one config asks for; None where there are none."""
    rows = latest(_of_newest_data(rows))
    if not rows:
        return None
    datasets, methods = grid.datasets, grid.methods
    rows.sort(
        key=lambda row: (datasets.index(row["dataset"]), row["n_features"], methods.index(row["method"]), row["trial"])
    )
    own = _own_metrics(rows)
    metrics = METRICS | own
    trials = pd.DataFrame({name: [row.get(name) for row in rows] for name in (*_CELL, "multiple", "trial", "status")})
    trials["multiple"] = trials["multiple"].astype("Int64")
    trials["contended"] = [_contended(row.get("timing") or {}) for row in rows]
    numbers = [_numbers(row, own) for row in rows]
    known = set().union(*numbers)
    nothing = np.full(len(rows), np.nan)
    columns = {
        name: np.array([each.get(name) for each in numbers], dtype=float) if name in known else nothing
        for name in metrics
    }
    trials = pd.concat([trials, pd.DataFrame(columns)], axis=1)
    points = [
        pd.DataFrame({name: row[name] for name in PLACE} | row["curves"])
        for row in rows if row.get("curves")
    ]  # fmt: skip
    curves = pd.concat(points, ignore_index=True) if points else pd.DataFrame(columns=PLACE)
    curves = curves.astype({name: float for name in curves if name not in PLACE})  # None is no number, here NaN
    return Results(folder, config, trials, curves, metrics)


def cell_places(trials: pd.DataFrame) -> dict[tuple[str, int, str], list[int]]:
    """(dataset, n_features, method) → the places of its trials, in the order of the table."""
    found: dict[tuple[str, int, str], list[int]] = {}
    for place, cell in enumerate(zip(*(trials[name].tolist() for name in _CELL), strict=True)):
        found.setdefault(cast(tuple[str, int, str], cell), []).append(place)
    return found


def cells(trials: pd.DataFrame) -> Iterable[tuple[str, int, str, pd.DataFrame]]:
    """(dataset, n_features, method, its trials) in the order of the table."""
    for key, cell in trials.groupby(_CELL, sort=False):
        dataset, n_features, method = cast(tuple[str, int, str], key)
        yield dataset, int(n_features), method, cell


def _of_newest_data(rows: list[Row]) -> list[Row]:
    """Of a dataset whose card changed, the rows with the newest content hash."""
    newest = {row["dataset"]: row.get("data_hash") for row in rows}
    return [row for row in rows if row.get("data_hash") == newest[row["dataset"]]]


def _own_metrics(rows: list[Row]) -> dict[str, Metric]:
    """The numbers that the rows measured and that are not known here: as the last row describes them, else by their
    names alone."""
    names = sorted({name for row in rows for name in row["metrics"]} - METRICS.keys() - set(TRIAL_COLUMNS))
    about = {name: each for row in rows for name, each in (row.get("own_metrics") or {}).items()}
    return {name: Metric(name, **about.get(name, {})) for name in names}


def _contended(timing: dict[str, Any]) -> bool:
    return bool(timing) and timing.get("contended") is not False  # what cannot be told counts


def _numbers(row: Row, own: dict[str, Metric]) -> dict[str, Any]:
    """What a trial measured, by the names of metrics; nothing of one that failed."""
    if row["status"] != "ok":
        return {}
    flat = {**row["metrics"], **(row.get("timing") or {})}
    flat["lambda"], flat["peak_memory_bytes"] = row.get("lambda"), row.get("peak_memory_bytes")
    if "feature_s" in flat and "fit_s" in flat:
        flat["train_s"] = flat["feature_s"] + flat["fit_s"]
    for name in own:
        flat[name] = row["metrics"].get(name)
    return flat


def experiment_folders(path: str | Path) -> list[Path]:
    """The experiments at ``path``: the folder itself, or the folders in it, by name.

    Folders that ``--fresh`` moved aside (``name.old-<time>``) are passed over. Raises ResultsError if there
    is none.
    """
    path = Path(path)
    if not path.is_dir():
        problem = "is a file; results are a folder" if path.exists() else "no such results folder"
        raise ResultsError(f"{path}: {problem}")
    if log_files(path):
        return [path]
    found = sorted(folder for folder in path.iterdir() if log_files(folder) and ".old-" not in folder.name)
    if not found:
        raise ResultsError(f"{path}: neither a results folder (no trials.jsonl) nor a folder of such folders")
    return found
