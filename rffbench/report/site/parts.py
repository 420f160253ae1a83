"""What the site shows: the boards whose rows ship with the package, and a user's own results, a part each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rffbench.config.loading import load_experiment
from rffbench.errors import ResultsError
from rffbench.execution.log import each_row
from rffbench.execution.places import experiment_folders
from rffbench.report.board.shipped import COLUMNS, SHIPPED, protocol, read_shipped
from rffbench.report.frame import Results, find_card, load_results
from rffbench.stats.costs import Cost, cost_ratios, with_cost
from rffbench.stats.gain import BALANCED, BASELINE, CELL, losses

COSTS: dict[Cost, str] = {"fit": "seconds", "memory": "memory"}
"""The costs of the rows, and what the pages call them."""
NO_MAP = "none"


@dataclass(frozen=True)
class Part:
    """Rows that were measured by one protocol. ``name`` is unique on the site.

    ``rows`` has dataset, n_features, method, trial, loss (NaN of a trial that failed), failed, and ``fit`` and
    ``memory``, ratios to the baseline's with `COLUMNS` columns, where they are known. ``maps`` has for each label the
    name and the parameters of its feature map; ``seconds`` the measured seconds of own trials; ``sources`` by label the
    SHA-256 of an own map's file.
    """

    name: str
    title: str
    rows: pd.DataFrame
    config: dict[str, Any]
    maps: dict[str, dict[str, Any]]
    is_own: bool = False
    is_of_board: bool = True
    """Whether the rows were measured by the protocol of a board that ships."""
    seconds: pd.DataFrame = field(default_factory=pd.DataFrame)
    sources: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def baseline(self) -> str:
        """Plain random Fourier features, by their label; empty if they were not run."""
        if BASELINE in self.maps:
            return BASELINE
        return next((label for label, features in self.maps.items() if features == {"name": "fourier"}), "")

    @cached_property
    def columns(self) -> int:
        """The budget that the part is judged at: `COLUMNS`, or the largest size where that was not run."""
        sizes = {int(size) for size in self.rows["n_features"].unique()}
        return COLUMNS if COLUMNS in sizes else max(sizes)

    @cached_property
    def methods(self) -> list[str]:
        """The labels that have rows, in the config's order."""
        there = set(self.rows["method"].unique())
        return [label for label in self.maps if label in there]

    @cached_property
    def datasets(self) -> list[str]:
        return [str(name) for name in self.rows["dataset"].unique()]

    def is_map(self, method: str) -> bool:
        return self.maps[method]["name"] != NO_MAP

    def kernel(self, method: str) -> str:
        """The kernel that a method's map approximates; empty of a method without one."""
        if not self.is_map(method):
            return ""
        own = self.config["methods"][method].get("kernel") or self.config.get("kernel") or {}
        return str(own.get("name", "gaussian"))


def shipped_parts() -> list[Part]:
    """The boards that ship with the package, the largest first."""
    found = []
    for name, path in SHIPPED.items():
        experiment = load_experiment(name)
        config = experiment.model_dump(mode="json", exclude_none=True, by_alias=True)
        found.append(Part(name, experiment.title or name, read_shipped(path).rows, config, _maps(config)))
    return sorted(found, key=lambda part: -len(part.rows))


def own_parts(places: Sequence[Path], taken: Sequence[str] = ()) -> list[Part]:
    """The experiments at ``places``, results folders or folders of such; ResultsError if one can't be read, if it has
    no score, or if two, or one and a part that is ``taken``, have the same name."""
    known = [read_shipped(path).protocol for path in SHIPPED.values()]
    found: dict[str, Part] = {}
    for folder in (each for place in places for each in experiment_folders(place)):
        results = load_results(folder)
        name = f"own-{folder.name}"
        if name in found or name in taken:
            raise ResultsError(f"{folder}: another experiment on the site is called {folder.name}; rename the folder")
        found[name] = _own(name, results, protocol(results.config) in known)
    return list(found.values())


def _own(name: str, results: Results, is_of_board: bool) -> Part:
    rows = losses(results.trials)
    if rows["loss"].isna().all():
        raise ResultsError(f"{results.folder}: no trial has an accuracy or an RMSE, so there is nothing to show")
    maps = {method: dict(results.grid.features(method)) for method in results.methods}
    part = Part(name, results.title, rows, dict(results.config), maps, True, is_of_board)
    trials = results.trials.assign(contended=False)  # as ratios within one run they count
    for of in COSTS:
        costs = with_cost(trials, of).dropna()
        if part.baseline and not costs.empty:
            ratios = cost_ratios(costs, part.columns, part.baseline).rename(of)
            rows = rows.join(ratios, on=["dataset", "method", "n_features"])
    seconds = trials[[*CELL]].assign(train_s=trials["feature_s"] + trials["fit_s"], predict_s=trials["predict_s"])
    log = each_row(results.folder / "trials.jsonl", lambda _: None)
    sources = {row["method"]: row["source"] for row in log if row.get("source")}
    return Part(name, results.title, rows, dict(results.config), maps, True, is_of_board, seconds, sources)


def _maps(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By label, the name and the parameters of the map."""
    not_of_map = {"features", "n_features", "datasets", "solver", "kernel", "trials"}
    return {
        label: {"name": method["features"], **{key: each for key, each in method.items() if key not in not_of_map}}
        for label, method in config["methods"].items()
    }


# ---- Facts about a dataset -------------------------------------------------------------------------------------------


def task_of(part: Part, dataset: str) -> str:
    """classification or regression, by the card; of own data without a card, by the config's scores."""
    card = find_card(dataset)
    if card is not None:
        return str(card.task)
    return "regression" if "rmse" in (part.config.get("scores") or ()) else "classification"


def metric_of(part: Part, dataset: str) -> str:
    """What the pages call a dataset's test error."""
    if task_of(part, dataset) == "regression":
        return "RMSE"
    return "balanced error" if dataset in BALANCED else "error rate"


def shape_of(part: Part, dataset: str) -> tuple[int | None, int | None]:
    """Training rows and input columns of a dataset; None where there is no card."""
    card = find_card(dataset)
    if card is None:
        return None, None
    given: Any = part.config.get("preprocess") or ()
    steps = given.get(dataset, given.get("default", ())) if isinstance(given, dict) else given
    steps = [steps] if isinstance(steps, str) else steps or ()
    return int(card.n_train), int(card.columns_after([step for step in steps if step != NO_MAP]))


def with_errors(part: Part) -> pd.DataFrame:
    """The rows with the test ``error`` in the units of `metric_of`: of a regression the root of the loss."""
    is_regression = part.rows["dataset"].map({name: task_of(part, name) == "regression" for name in part.datasets})
    return part.rows.assign(error=part.rows["loss"].where(~is_regression.astype(bool), np.sqrt(part.rows["loss"])))
