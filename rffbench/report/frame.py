"""An experiment's folder as a tidy table: one row a trial, in the order of its config."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import pandas as pd
import yaml

from rffbench.errors import ResultsError, RffbenchError
from rffbench.execution.log import Row, latest, read_rows
from rffbench.spec import ADDED


@dataclass(frozen=True)
class Metric:
    """What is measured in a trial: its name, an axis' label, and the better direction (None: neither)."""

    name: str
    label: str
    better: Literal["greater", "less"] | None


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "test accuracy (%)", "greater"),
        Metric("rmse", "test RMSE", "less"),
        Metric("relative_rmse", "relative test RMSE", "less"),
        Metric("kernel_error", "relative kernel error", "less"),
        Metric("spectral_error", "spectral error ‖K−K̃‖₂", "less"),
        Metric("sup_error", "largest entry error", "less"),
        Metric("entry_error", "entry error (RMS)", "less"),
        Metric("entry_quantile", "entry error (99th percentile)", "less"),
        Metric("marginal_ks", "Kolmogorov–Smirnov distance", "less"),
        Metric("marginal_energy", "energy distance", "less"),
        Metric("kernel_norm", "‖K‖₂", None),
        Metric("diameter", "diameter of the points", None),
        Metric("objective", "objective", None),
        Metric("model_size", "model size", None),
        Metric("train_s", "training time (s)", None),
        Metric("feature_s", "feature time (s)", None),
        Metric("fit_s", "fit time (s)", None),
        Metric("predict_s", "predict time (s)", None),
        Metric("peak_memory_bytes", "peak memory (bytes)", None),
        Metric("own_memory_bytes", "peak memory less what was held before (bytes)", None),
        Metric("lambda", "chosen λ", None),
        Metric("effective_lambda", "effective λ", None),
        Metric("gamma", "chosen γ", None),
        Metric("cv_error", "cross-validation error", None),
    )
}

MAP_MEASURES = (  # in panels' order
    "kernel_error", "spectral_error", "sup_error", "entry_error", "marginal_ks", "marginal_energy",
)  # fmt: skip
SCORES = ("accuracy", "rmse", "relative_rmse")  # what a dataset is judged by: the first that its trials hold

_CELL = ["dataset", "n_features", "method"]
_SETTINGS = {
    "seed", "kernel", "solver", "preprocess", "preprocess_fit", "count", "dtype", "device",
    "kernel_error_points", "measures", "train_rows",
}
# Of a method's entries, all but its map's parameters.
_OF_METHOD = ("features", "solver", "kernel", "n_features", "datasets")


@dataclass(frozen=True)
class Results:
    """What one experiment's folder holds.

    ``config`` is the resolved config.yaml. ``trials`` has a row for every trial of that config in the log and
    the columns dataset, n_features, multiple (n_features/d, missing where the config gave a count), method,
    trial, status, contended (bool), and one float column a metric of ``METRICS``: accuracy in %, times in
    seconds, memory in bytes, NaN where there is none. ``curves`` has a row for every point of the trials' curves:
    dataset, n_features, multiple, method, trial, and the curves' own columns.
    """

    folder: Path
    config: dict[str, Any]
    trials: pd.DataFrame
    curves: pd.DataFrame

    @property
    def title(self) -> str:
        return str(self.config.get("title") or self.config.get("name") or self.folder.name)

    @property
    def datasets(self) -> list[str]:
        """The datasets that have trials, in the config's order."""
        return [str(name) for name in self.trials["dataset"].unique()]

    @property
    def methods(self) -> list[str]:
        """The labels of the methods, in the config's order."""
        return [str(label) for label in self.config["methods"]]

    def methods_on(self, dataset: str) -> list[str]:
        """The labels of the methods that are for a dataset, in the config's order."""
        return [label for label in self.methods if _runs_on(self.config, label, dataset)]

    def score(self, dataset: str) -> Metric:
        """The metric the dataset is judged by: accuracy where it has one, else RMSE, else relative RMSE; where nothing
        was learnt, the first that was measured of maps; of a dataset without any, the score of its task."""
        trials = self.trials[self.trials["dataset"] == dataset]
        measured = [name for name in (*SCORES, *MAP_MEASURES) if trials[name].notna().any()]
        return METRICS[measured[0] if measured else _score_of_task(dataset)]

    def planned_trials(self, n_features: int, multiple: int | None) -> int:
        """How many trials the config asks for at one size."""
        return _planned_trials(self.config, n_features, multiple)

    def asks_for(self, dataset: str, method: str, size: str) -> bool:
        """Whether the config has a method at a size of a dataset: ``16d``, a count, or ``""`` for any."""
        return _has(self.config, dataset, method) and (not size or size in _sizes(self.config, dataset, method))

    def mark(self, dataset: str) -> str | None:
        """What the dataset's card says a reader of its results must know, if anything."""
        card = find_card(dataset)
        return card.mark if card else None


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
    return str(n_features) if multiple is None or pd.isna(multiple) else f"{int(multiple)}d"


def load_results(folder: str | Path) -> Results:
    """Read config.yaml and trials.jsonl of one experiment's folder.

    Of several rows of one trial the last counts. Rows that the config no longer asks for (another dataset,
    method, size, seed, solver, …, as after the config was changed) are left out. Of a sweep, the results of its
    first protocol.

    Raises ResultsError, naming the file and line, where there is no such folder, a file is missing or
    unreadable, or nothing in the log belongs to the config.
    """
    return load_protocols(folder)[0][1]


def load_protocols(folder: str | Path) -> Protocols:
    """The results of every protocol of a sweep that has trials, each with its labels, one an axis; where nothing
    is swept, the one set of results without labels. Raises as `load_results`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder")
    config = _read_config(folder / "config.yaml")
    rows = read_rows(folder / "trials.jsonl")
    protocols = _protocols(config, folder) if config.get("sweep") else [({}, config)]
    every = [(labels, _results(folder, each, rows)) for labels, each in protocols]
    found = [(labels, results) for labels, results in every if results is not None]
    if not found:
        raise ResultsError(f"{folder / 'trials.jsonl'}: holds no trial of the experiment in its config.yaml")
    return found


def _protocols(config: dict[str, Any], folder: Path) -> list[tuple[dict[str, str], dict[str, Any]]]:
    from pydantic import ValidationError

    from rffbench.experiment import Experiment  # a sweep's combinations are what it makes of them

    try:
        experiment = Experiment.model_validate(config)
    except ValidationError as error:
        raise ResultsError(f"{folder / 'config.yaml'}: not an experiment of this version: {error}") from None
    return [(labels, each.to_dict()) for labels, each in experiment.protocols()]


def _results(folder: Path, config: dict[str, Any], rows: list[Row]) -> Results | None:
    """The results of one config's rows; None where it has none."""
    rows = latest(_rows_of_config(rows, config))
    if not rows:
        return None
    datasets, methods = list(config["datasets"]), list(config["methods"])
    rows.sort(key=lambda row: (datasets.index(row["dataset"]), row["n_features"],
                               methods.index(row["method"]), row["trial"]))
    trials = pd.DataFrame([_tidy(row) for row in rows])
    trials["multiple"] = trials["multiple"].astype("Int64")
    points = [
        pd.DataFrame({name: row[name] for name in (*_CELL, "multiple", "trial")} | row["curves"])
        for row in rows if row.get("curves")
    ]  # fmt: skip
    curves = pd.concat(points, ignore_index=True) if points else pd.DataFrame(columns=[*_CELL, "multiple", "trial"])
    return Results(folder, config, trials.astype(dict.fromkeys(METRICS, float)), curves)


def cells(trials: pd.DataFrame) -> Iterable[tuple[str, int, str, pd.DataFrame]]:
    """(dataset, n_features, method, its trials) in the order of the table."""
    for key, cell in trials.groupby(_CELL, sort=False):
        dataset, n_features, method = cast(tuple[str, int, str], key)
        yield dataset, int(n_features), method, cell


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ResultsError(f"{path}: not readable YAML: {error}") from None
    if not isinstance(config, dict) or not config.get("datasets") or not config.get("methods"):
        raise ResultsError(f"{path}: not an experiment: it must have datasets and methods")
    return config


def _rows_of_config(rows: list[Row], config: dict[str, Any]) -> list[Row]:
    """The rows of the config's grid whose settings are its own.

    A setting that the config does not state is not compared. Of a dataset whose card changed, only the rows
    with the newest content hash count.
    """
    rows = [row for row in rows if _in_grid(row, config)]
    rows = [row for row in rows if row["features"] == _features(config, row["method"])]
    for name in _SETTINGS:
        rows = [row for row in rows if _as_configured(row, config, name)]
    newest = {row["dataset"]: row.get("data_hash") for row in rows}
    return [row for row in rows if row.get("data_hash") == newest[row["dataset"]]]


def _in_grid(row: Row, config: dict[str, Any]) -> bool:
    if not _has(config, row["dataset"], row["method"]):
        return False
    n_features, multiple = row["n_features"], row.get("multiple")
    sizes = _sizes(config, row["dataset"], row["method"])
    wanted = bool(sizes & {str(n_features), size_label(n_features, multiple)})
    return wanted and row["trial"] < _planned_trials(config, n_features, multiple)


def _has(config: dict[str, Any], dataset: str, method: str) -> bool:
    """Whether the config has the method on the dataset."""
    if dataset not in config["datasets"] or method not in config["methods"]:
        return False
    return _runs_on(config, method, dataset)


def _runs_on(config: dict[str, Any], method: str, dataset: str) -> bool:
    """Whether a method is for a dataset: it names none, or this one."""
    return dataset in (config["methods"][method].get("datasets") or [dataset])


def _sizes(config: dict[str, Any], dataset: str, method: str) -> set[str]:
    """A method's sizes on a dataset, as the config writes them."""
    own = config["methods"][method].get("n_features")
    return {str(size) for size in own or of_dataset(config.get("n_features", []), dataset)}


def _features(config: dict[str, Any], method: str) -> dict[str, Any]:
    """A method's feature map as the rows have it: the map's name and its parameters."""
    own = config["methods"][method]
    return {"name": own.get("features"), **{key: value for key, value in own.items() if key not in _OF_METHOD}}


def _as_configured(row: Row, config: dict[str, Any], name: str) -> bool:
    """Whether a row was measured with one of the config's settings: its method's own, or the experiment's.

    A setting that the config or the row does not state is not compared, but for those of which a row that does not
    state them is known to have the default.
    """
    method = config["methods"][row["method"]]
    default = ADDED.get(name)
    wanted, found = method.get(name, config.get(name, default)), row.get(name, default)
    if name not in ADDED and None in (wanted, found):
        return True
    if name in ("preprocess", "kernel_error_points", "train_rows"):
        wanted = of_dataset(wanted, row["dataset"])
    if name == "preprocess" and isinstance(wanted, str):
        wanted = [wanted]
    return bool(found == wanted)


def of_dataset(value: Any, dataset: str) -> Any:
    """A config's value for one dataset: the value itself, or its entry in a mapping with a ``default``."""
    return value.get(dataset, value.get("default", [])) if isinstance(value, dict) else value


def _planned_trials(config: dict[str, Any], n_features: int, multiple: int | None) -> int:
    trials = config.get("trials", 1)
    if not isinstance(trials, dict):
        return int(trials)
    by_size = {str(size): int(count) for size, count in trials.items()}
    default = by_size.get("default", 1)
    return by_size.get(size_label(n_features, multiple), by_size.get(str(n_features), default))


def _tidy(row: Row) -> Row:
    timing = row.get("timing") or {}
    flat = {**(row.get("metrics") or {}), **timing, **row}
    tidy = {name: row.get(name) for name in (*_CELL, "multiple", "trial", "status")}
    tidy["contended"] = bool(timing.get("contended"))
    measured = row["status"] == "ok"
    if measured and "feature_s" in flat and "fit_s" in flat:
        flat["train_s"] = flat["feature_s"] + flat["fit_s"]
    return tidy | {name: flat.get(name) if measured else None for name in METRICS}


def experiment_folders(path: str | Path) -> list[Path]:
    """The experiments at ``path``: the folder itself, or the folders in it, by name.

    Folders that ``--fresh`` moved aside (``name.old-<time>``) are passed over. Raises ResultsError if there
    is none.
    """
    path = Path(path)
    if not path.is_dir():
        raise ResultsError(f"{path}: no such results folder")
    if (path / "trials.jsonl").exists():
        return [path]
    found = sorted(log.parent for log in path.glob("*/trials.jsonl") if ".old-" not in log.parent.name)
    if not found:
        raise ResultsError(f"{path}: neither a results folder (no trials.jsonl) nor a folder of such folders")
    return found
