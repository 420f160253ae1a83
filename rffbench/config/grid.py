"""The grid of trials of a config: the only place that interprets a config.

A run takes its trials from the grid; a report asks it which rows of a log belong to the config. It reads the resolved
config, from config.yaml or ``Experiment.to_dict``. It judges rows without a card, so that results of a changed card or
an unknown dataset can still be read.

A setting, such as ``dtype``, is a field of TrialSpec that the config gives under the same name. A new one needs its
place in the model of the config and in TrialSpec, and the code that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, get_args

from rffbench.config.values import DEFAULT, listed
from rffbench.features import by_inputs
from rffbench.io.text import canonical_json
from rffbench.plugins import ownfile
from rffbench.plugins.later import in_rows, of_row
from rffbench.trials.spec import Timing, TrialSpec, written_size

# A method's entries, besides its map's parameters.
OF_METHOD = ("features", "solver", "kernel", "n_features", "datasets", "trials", "flaws")
_OF_METHOD_OR_ALL = ("solver", "kernel")  # settings that a method may have of its own; the others may differ by dataset
_OF_CELL = ("dataset", "data_hash", "method", "n_features", "multiple", "trial")
# Fields of a spec that a config expresses differently.
_DERIVED = ("features", "source", "kernel_source", "score_sources", "timing", "parameters_hash")
SETTINGS = tuple(each.name for each in fields(TrialSpec) if each.name not in (*_OF_CELL, *_DERIVED))


@dataclass(frozen=True)
class Grid:
    """Datasets × sizes × methods × trials of one resolved ``config`` without a sweep, and every cell's settings."""

    config: Mapping[str, Any]

    @property
    def datasets(self) -> list[str]:
        return [str(name) for name in self.config["datasets"]]

    @property
    def methods(self) -> list[str]:
        """The labels of the methods."""
        return [str(label) for label in self.config["methods"]]

    @property
    def timing(self) -> Timing:
        """The config's ``timing``: which of the trials' seconds are comparable."""
        return next((each for each in get_args(Timing) if each == self.config.get("timing")), "shared")

    def datasets_of(self, method: str) -> list[str]:
        """The datasets of a method: those it names, or all."""
        return [dataset for dataset in self.datasets if method in self.methods_on(dataset)]

    def methods_on(self, dataset: str) -> list[str]:
        """The methods that are for a dataset."""
        own = {label: method.get("datasets") for label, method in self.config["methods"].items()}
        return [label for label in self.methods if dataset in (own[label] or [dataset])]

    def has_own(self, name: str, method: str) -> bool:
        """Whether a method has a solver, a kernel, sizes or trials of its own."""
        return self.config["methods"][method].get(name) is not None

    def features(self, method: str) -> dict[str, Any]:
        """A method's feature map: its name and its parameters in the config."""
        own = self.config["methods"][method]
        return {"name": own.get("features"), **{key: value for key, value in own.items() if key not in OF_METHOD}}

    def setting(self, name: str, dataset: str = DEFAULT, method: str | None = None) -> Any:
        """A setting's value for a dataset and a method; None if the config states none."""
        value: Any = self.config.get(name)
        if name in _OF_METHOD_OR_ALL:
            own = self.config["methods"][method][name] if method and self.has_own(name, method) else value
            there = (self.config.get(f"{name}_of") or {}).get(dataset)
            return {**own, **there} if there and own.get("name") == value.get("name") else own
        if name == "flaws" and method and self.has_own(name, method):
            value = self.config["methods"][method][name]
        return value.get(dataset, value.get(DEFAULT)) if isinstance(value, Mapping) else value

    def sizes(self, dataset: str, method: str) -> list[str | int]:
        """A method's sizes on a dataset, as written: ``"16d"`` or a count."""
        own = self.config["methods"][method].get("n_features")
        own = own.get(dataset, own.get(DEFAULT)) if isinstance(own, Mapping) else own
        return list(own or self.setting("n_features", dataset) or [])

    def n_features(self, dataset: str, size: str | int) -> int:
        """The number that a size as written is on a dataset, which has a card."""
        return size if isinstance(size, int) else int(size[:-1]) * self._inputs(dataset)

    def _inputs(self, dataset: str) -> int:
        """The input dimension d of a dataset, which has a card, after the preprocessing."""
        from rffbench.data.cards import load_card

        return load_card(dataset).columns_after(self.setting("preprocess", dataset) or ())

    def sizes_by_number(self, dataset: str, method: str) -> dict[int, str | int]:
        """A method's sizes on a dataset: ``n_features`` → the size as written."""
        return {self.n_features(dataset, size): size for size in self.sizes(dataset, method)}

    def planned_trials(self, dataset: str, method: str, size: str | int) -> int:
        """How many trials a method has on a dataset at a size as written."""
        own = self.config["methods"][method].get("trials") or {}
        if found := own.get(dataset, own.get(DEFAULT)):
            return int(found)
        trials = self.config.get("trials", 1)
        if not isinstance(trials, Mapping):
            return int(trials)
        by_size = {str(key): count for key, count in trials.items()}
        return int(by_size.get(str(size), by_size.get(DEFAULT, 1)))

    def asks_for(self, dataset: str, method: str, size: str = "") -> bool:
        """Whether there is a method at a size of a dataset: ``16d``, a count, or ``""`` for any."""
        cell = self._cells.get((dataset, method))
        return cell is not None and (not size or size in cell.sizes)

    def wants(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of trials.jsonl is one of the grid's trials, measured with the grid's settings.

        A setting that the config does not state is not compared.
        """
        if not self._has_place_for(row):
            return False
        return self._cells[row["dataset"], row["method"]].settings.items() <= row.items()

    def _has_place_for(self, row: Mapping[str, Any]) -> bool:
        """Whether the grid has the row's cell and enough trials in it."""
        cell = self._cells.get((row["dataset"], row["method"]))
        if cell is None:
            return False
        here = (written_size(row["n_features"], row.get("multiple")), str(row["n_features"]))
        size = next((each for each in here if each in cell.sizes), None)
        return size is not None and row["trial"] < self.planned_trials(row["dataset"], row["method"], size)

    def _agrees(self, name: str, row: Mapping[str, Any]) -> bool:
        """Whether a row was measured with the cell's setting, or the config does not state it."""
        has = row[name]
        return bool(self._cells[row["dataset"], row["method"]].settings.get(name, has) == has)

    def specs(self) -> Iterator[TrialSpec]:
        """Every trial, ordered by dataset, trial, size, method."""
        for dataset in self.datasets:
            cells = [(first.numbered(count), count) for first, count in self._cells_of(dataset)]
            for trial in range(max((count for _, count in cells), default=0)):
                yield from (next(trials) for trials, count in cells if trial < count)

    def cells(self) -> Iterator[tuple[TrialSpec, int]]:
        """The first trial of every method at every size of every dataset, and the cell's number of trials."""
        for dataset in self.datasets:
            yield from self._cells_of(dataset)

    def states(self, stated: Mapping[str, Any]) -> bool:
        """Whether the config contains everything in ``stated``; a single value equals a list of it."""
        return _says(self.config, stated)

    def identity(self, *, without: tuple[str, ...]) -> str:
        """A form of the config that is equal for configs which differ only in the keys ``without``."""
        return canonical_json({key: value for key, value in self.config.items() if key not in without})

    def _cells_of(self, dataset: str) -> Iterator[tuple[TrialSpec, int]]:
        from rffbench.data.cards import load_card

        methods = self.methods_on(dataset)
        data_hash = load_card(dataset).content_hash
        sizes = {method: self.sizes_by_number(dataset, method) for method in methods}
        numbers = list(dict.fromkeys(n_features for each in sizes.values() for n_features in each))
        if any(self.has_own("n_features", method) for method in methods):
            numbers.sort()
        for n_features in numbers:
            for method in methods:
                if n_features in sizes[method]:
                    size = sizes[method][n_features]
                    first = TrialSpec(
                        dataset=dataset,
                        data_hash=data_hash,
                        method=method,
                        n_features=n_features,
                        multiple=int(size[:-1]) if isinstance(size, str) else None,
                        trial=0,
                        timing=self.timing,
                        source=_source(self.features(method)),
                        parameters_hash=_parameters_hash(self.config.get("parameters_from")),
                        kernel_source=_source(self.setting("kernel", dataset, method)),
                        score_sources=[
                            ownfile.source_hash(name) for name in self.setting("scores") or () if ownfile.is_own(name)
                        ],
                        **{
                            **self._cells[dataset, method].settings,
                            "features": self._map_on(dataset, method),
                            "solver": of_row(self.setting("solver", dataset, method)),
                        },
                    )
                    yield first, self.planned_trials(dataset, method, size)

    @cached_property
    def _cells(self) -> dict[tuple[str, str], _Cell]:
        """For every dataset and method: the sizes as text, the feature map, and the stated settings."""
        return {
            (dataset, method): _Cell({*map(str, self.sizes(dataset, method))}, self._settings(dataset, method))
            for method in self.methods
            for dataset in self.datasets_of(method)
        }

    def _settings(self, dataset: str, method: str) -> dict[str, Any]:
        stated = {name: self.setting(name, dataset, method) for name in SETTINGS if name in self.config}
        if solver := stated.get("solver"):
            stated["solver"] = in_rows(solver)
        features = self._map_on(dataset, method)
        return stated if by_inputs.is_undecided(features) else {"features": in_rows(features), **stated}

    def _map_on(self, dataset: str, method: str) -> dict[str, Any]:
        """A method's map in the trials of a dataset; undecided if the number of inputs decides and there is no card."""
        from rffbench.data.cards import is_card

        features = of_row(self.features(method))
        if not by_inputs.is_undecided(features) or not is_card(dataset):
            return features
        return by_inputs.decided(features, self._inputs(dataset))


def _parameters_hash(table: str | None) -> str | None:
    from rffbench.papers.hyperparameters import content_hash

    return content_hash(table) if table else None


def _source(part: Mapping[str, Any] | None) -> str | None:
    """The hash of the user's own file of a map or a kernel."""
    name = (part or {}).get("name")
    return ownfile.source_hash(str(name)) if ownfile.is_own(name) else None


class _Cell(NamedTuple):
    sizes: set[str]
    settings: dict[str, Any]


class Sweep:
    """Asks all grids of a sweep which of them want a row, as `Grid.wants` does.

    A log of many protocols has few values of a setting, so a grid's answer for each value is remembered.
    """

    def __init__(self, grids: Sequence[Grid]) -> None:
        self._grids = grids
        self._with_place: dict[tuple[Any, ...], set[int]] = {}
        self._agreeing: dict[tuple[str, ...], set[int]] = {}

    def wanting(self, row: Mapping[str, Any]) -> list[int]:
        """The places of the grids that want the row."""
        if len(self._grids) == 1:
            return [0] if self._grids[0].wants(row) else []
        place = tuple(row.get(name) for name in ("dataset", "method", "n_features", "multiple", "trial"))
        if place not in self._with_place:
            self._with_place[place] = {i for i, grid in enumerate(self._grids) if grid._has_place_for(row)}
        found = self._with_place[place]
        for name in ("features", *SETTINGS):
            if found:
                found = found & self._all_agreeing(name, row)
        return sorted(found)

    def _all_agreeing(self, name: str, row: Mapping[str, Any]) -> set[int]:
        key = row["dataset"], row["method"], name, repr(row[name])
        if key not in self._agreeing:
            here = (row["dataset"], row["method"])
            every = enumerate(self._grids)
            self._agreeing[key] = {number for number, grid in every if here in grid._cells and grid._agrees(name, row)}
        return self._agreeing[key]


def asked_for(grids: Iterable[Grid]) -> dict[str, dict[str, set[str]]]:
    """The sizes, as written, that the grids of an experiment have by dataset and method."""
    asked: dict[str, dict[str, set[str]]] = {}
    for grid in grids:
        for dataset in grid.datasets:
            methods = asked.setdefault(dataset, {})
            for method in grid.methods_on(dataset):
                methods.setdefault(method, set()).update(map(str, grid.sizes(dataset, method)))
    return asked


def _says(config: Any, stated: Any) -> bool:
    if isinstance(stated, Mapping):
        return (
            bool(stated)
            and isinstance(config, Mapping)
            and all(key in config and _says(config[key], value) for key, value in stated.items())
        )
    return bool(listed(stated) == listed(config))
