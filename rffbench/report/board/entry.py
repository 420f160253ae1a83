"""Your own map, or your own data, on the board: the experiment that is run."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from rffbench.arguments.parameters import TIMES_MEDIAN
from rffbench.config.costs import shares, test_rows, train_rows
from rffbench.config.dryrun import run_seconds
from rffbench.config.experiment import Experiment
from rffbench.config.grid import Grid
from rffbench.config.loading import experiment_of, load_experiment
from rffbench.config.places import misplaced
from rffbench.config.values import Dataset
from rffbench.data.cards import Card, load_card
from rffbench.errors import ConfigError, unknown
from rffbench.features import make_features
from rffbench.io import yamlfile
from rffbench.io.text import duration, plural
from rffbench.plugins import ownfile
from rffbench.stats.gain import BASELINE
from rffbench.trials.spec import TrialSpec

SPOILING = ("columns", "global seeds", "seed")  # checks of a map without which its scores mean nothing
MOST_ROWS = 100_000  # of your own data
FEWEST_ROWS = 50
FEWEST_OF_CLASS = 10  # with half of them to learn from, one for each of five folds
LONGEST_S = 600.0  # a trial of your own map, or on your own data
PLANS: tuple[tuple[tuple[int, ...], int], ...] = (
    ((128, 512, 2048), 5), ((128, 512, 2048), 3), ((128, 512), 5), ((128, 512), 2), ((128,), 2), ((128,), 1),
)  # fmt: skip
"""Sizes and trials on your own data, from the dearest down."""
USUAL = ((128, 512), 3)
REST = "the rest of "
FIRST = ((128, 512), 2)  # what all methods get before one gets more, in case the time is up
FEWEST_METHODS = 4  # that a plan leaves; the dearest go first
WITHOUT_MAP = ("linear", "boosted trees", "kernel ridge")
"""Methods of the board that stand beside the maps on own data, as they need none."""
MOST_OF_KERNEL = 3_000  # training rows of own data that kernel ridge has: it takes n³
PLANS_OF_MAP: tuple[tuple[tuple[int, ...], int], ...] = (
    ((128, 512), 5), ((128, 512), 3), ((128, 512), 2), ((128, 512), 1), ((128,), 1)
)  # fmt: skip
PLANS_FULL: tuple[tuple[tuple[int, ...], int], ...] = (
    ((128, 256, 512, 1024, 2048), 5), ((128, 512, 2048), 3), *PLANS_OF_MAP
)  # fmt: skip
"""The same of your own map on the board's datasets, of which the last plan leaves out the dearest, too."""
FEWEST_DATASETS = 3
TIMED_ROWS = 1000  # on which it is measured how slow your own map is
LONG_S = 120.0  # for one dataset, of which a warning names the dataset
SLOW_S = 1e-4  # a row, above which it is the map that takes the time


@dataclass(frozen=True)
class Budget:
    """The time that a command may take: ``minutes``, counted from ``since``, a moment of `time.monotonic`."""

    minutes: float
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.minutes <= 0:
            raise ConfigError(f"--minutes must be greater than 0, got {self.minutes:g}; without it, all is run")

    @property
    def ends(self) -> float:
        """When it is used up, a moment of `time.monotonic`."""
        return self.since + 60 * self.minutes

    @property
    def seconds_left(self) -> float:
        return self.ends - time.monotonic()

    def exceeded(self, least: float, why: str, instead: str) -> ConfigError:
        """The error that not even what takes ``least`` seconds fits, with what would do."""
        enough = math.ceil(self.minutes + (least - self.seconds_left) / 60)
        return ConfigError(
            f"--minutes {self.minutes:g}: the least that there is to run takes about {duration(least)}{why}; "
            f"give --minutes {enough}, or {instead}"
        )


# ---- Your own map ----------------------------------------------------------------------------------------------------


def label_of(ref: str) -> str:
    """How tables call the map ``ref``: its class, or its registered name."""
    label = ref.rpartition(":")[2] if ownfile.is_own(ref) else ref
    return f"{label} (own)" if label == BASELINE else label


def own_map(
    ref: str, datasets: Sequence[str] = (), full: bool = False, budget: Budget | None = None, workers: int = 1,
    slow: float = 0.0,
) -> Experiment:  # fmt: skip
    """The experiment that puts the map ``ref`` beside RFF: on the small board, on the whole one if ``full``, or on some
    ``datasets`` of that; within about the ``budget``, if there is one, with as many datasets, sizes and trials as that
    leaves. A row takes the map ``slow`` seconds more than is counted (`seconds_a_row`). ConfigError where the budget is
    too little."""
    config = board_config(ref, datasets, full)
    if budget is None:
        return experiment_of(fitting(config))
    config["time_limit"] = min(LONGEST_S, 60 * budget.minutes)
    least = np.inf
    for sizes, trials in PLANS_FULL if full else PLANS_OF_MAP:
        planned = config | {"n_features": list(sizes), "trials": trials}
        names = list(planned["datasets"])
        while names:
            experiment = experiment_of(fitting(planned | {"datasets": names}))
            runs = [(experiment.grid(), workers), (cost_of(experiment).grid(), 1)]
            if (least := min(least, _seconds(runs, label_of(ref), slow))) <= budget.seconds_left:
                return experiment
            if len(names) <= FEWEST_DATASETS or trials > 1 or len(sizes) > 1:
                break
            seconds = {name: _seconds(runs, label_of(ref), slow, name) for name in names}
            names.remove(max(seconds, key=lambda name: seconds[name]))
    why = f", as the map takes {1000 * slow:.2g} ms a row more than RFF" if slow > SLOW_S else ""
    raise budget.exceeded(least, why, "--datasets with fewer rows")


def to_try_twice(experiment: Experiment, ref: str) -> list[TrialSpec]:
    """Of the map ``ref`` the cheapest trial on every dataset, the cheapest of them first."""
    mine = [spec for spec in experiment.grid() if spec.method == label_of(ref)]
    mine.sort(key=lambda spec: train_rows(spec) * spec.n_features)
    return list({spec.dataset: spec for spec in reversed(mine)}.values())[::-1]


def check_datasets(datasets: Sequence[str]) -> None:
    """ConfigError, which names --datasets, if the board does not have one of these ``datasets``."""
    for name in datasets:
        if name not in (valid := load_experiment("board").datasets):
            raise ConfigError(f"--datasets: {unknown('dataset of the board', name, valid)}")


def board_config(ref: str, datasets: Sequence[str] = (), full: bool = False) -> dict[str, Any]:
    """The config that puts the map ``ref`` beside RFF on the small board, the whole one, or some of its datasets."""
    check_datasets(datasets)
    board = load_experiment("board" if full or datasets else "board-small")
    config = board.to_dict()
    if datasets and not full:
        small = load_experiment("board-small").to_dict()
        config |= {key: small[key] for key in ("n_features", "trials")}
    return config | {
        "name": f"board-{_slug(label_of(ref))}", "title": f"{label_of(ref)} on the board",
        "datasets": list(datasets) or board.datasets,
        "methods": {BASELINE: {"features": "fourier"}, label_of(ref): {"features": ref}},
    }  # fmt: skip


def seconds_a_row(ref: str) -> float:
    """The seconds by which the map ``ref`` is slower than RFF to be fitted to and to map a row, at 512 columns of 16
    inputs, measured on a few rows; at least 0. What a trial of it will say where that fails is left to the trial."""
    X = np.random.default_rng(0).standard_normal((TIMED_ROWS, 16))
    y = np.sign(X[:, 0])
    took = []
    for name in ("fourier", ref):
        try:
            features = make_features({"name": name}, kernel="gaussian", gamma=0.03, n_features=512, count="columns")
            features.fit(X[:9], y[:9]).transform(X[:9])  # what is compiled is, and does not count
            started = time.perf_counter()
            features.fit(X, y).transform(X)
            took.append(time.perf_counter() - started)
        except Exception:
            return 0.0
    return max(0.0, took[1] - took[0]) / TIMED_ROWS


@dataclass(frozen=True)
class Forecast:
    """About how long a run takes, in ``seconds``, of which the scores ``of_scores``; the datasets for which your own
    map wants minutes, with its seconds there (``slow_on``); and those on which a trial of it may not fit the time limit
    (``too_long_on``)."""

    seconds: float
    of_scores: float
    slow_on: dict[str, float] = field(default_factory=dict)
    too_long_on: tuple[str, ...] = ()

    def said(self, label: str) -> list[str]:
        """It in sentences; ``label`` is the own map's."""
        told = [f"this takes about {duration(self.seconds)}"]
        if self.slow_on:
            listed = ", ".join(f"{name} (about {duration(took)})" for name, took in self.slow_on.items())
            told.append(f"warning: {label} wants minutes for {listed}; --minutes N or --datasets runs less")
        if self.too_long_on:
            told.append(
                f"warning: a trial of {label} may take longer than {duration(LONGEST_S)} on "
                f"{', '.join(self.too_long_on)}; it is stopped then, and counts as a constant"
            )
        return told


def forecast(
    experiment: Experiment, workers: int, ref: str | None = None, done: Container[str] = frozenset(), slow: float = 0.0
) -> Forecast:
    """How long the scores of an experiment and then `cost_of` it take, without the trials whose keys are ``done``. A
    row takes the map ``ref`` ``slow`` seconds more than is counted (`seconds_a_row`)."""
    label = label_of(ref) if ref else ""
    grids = ((experiment.grid(), workers), (cost_of(experiment).grid(), 1))
    runs = [([spec for spec in specs if spec.key not in done], at_once) for specs, at_once in grids]
    scores, cost = (_seconds([run], label, slow) if run[0] else 0.0 for run in runs)
    if slow <= SLOW_S:
        return Forecast(scores + cost, scores)
    slow_on, too_long_on = {}, []
    for name in experiment.datasets:
        mine = [[spec for spec in specs if (spec.dataset, spec.method) == (name, label)] for specs, _ in runs]
        if (took := slow * sum(_rows_mapped(each, label) for each in mine)) > LONG_S:
            slow_on[name] = took
        if slow * max((_rows_mapped([spec], label) for each in mine for spec in each), default=0.0) > LONGEST_S:
            too_long_on.append(name)
    return Forecast(scores + cost, scores, slow_on, tuple(too_long_on))


def parts_of(experiment: Experiment, ref: str | None = None) -> dict[str, set[str]]:
    """The keys of an experiment's trials by what is left out where the time is up, which comes last. On several
    datasets these are parts, the cheapest first. On one the methods are: RFF and the map ``ref``, the cheapest maps,
    the learners without a map; first `FIRST` of each, then the rest."""
    grid = experiment.grid()
    seconds = shares(grid)
    beside = [BASELINE, label_of(ref)] if ref else [BASELINE]
    parts: dict[str, set[str]] = {}
    order: dict[str, tuple[bool, bool, bool, float]] = {}
    for spec in grid:
        name, later, is_first = spec.dataset, False, False
        if len(experiment.datasets) == 1:
            is_first = spec.method in beside
            name = " and ".join(beside) if is_first else spec.method
            if later := spec.n_features > max(FIRST[0]) or spec.trial >= FIRST[1]:
                name = f"{REST}{name}"
        parts.setdefault(name, set()).add(spec.key)
        *places, took = order.get(name, (later, not is_first, spec.features["name"] == "none", 0.0))
        order[name] = (places[0], places[1], places[2], took + seconds[spec.key])
    return {name: parts[name] for name in sorted(parts, key=lambda name: order[name])}


def listed(parts: Sequence[str]) -> str:
    """The names of parts in words."""
    whole = [name for name in parts if not name.startswith(REST)]
    rest = [each for name in parts if name not in whole and (each := name.removeprefix(REST)) not in whole]
    return ", ".join([*whole, *([f"{REST}{', '.join(rest)}"] if rest else [])])


def _seconds(runs: Sequence[tuple[Sequence[TrialSpec], int]], label: str, slow: float, dataset: str = "") -> float:
    """About the seconds of ``runs``, pairs of trials and of how many run at once; of one ``dataset``, if it is named. A
    row takes the map called ``label`` ``slow`` seconds more than is counted."""
    seconds = 0.0
    for specs, at_once in runs:
        mine = [spec for spec in specs if dataset in ("", spec.dataset)]
        seconds += run_seconds(mine, at_once) + slow * _rows_mapped(mine, label) / at_once
    return seconds


def _rows_mapped(specs: Sequence[TrialSpec], label: str) -> float:
    """The rows that the trials of a method map, in units of 512 columns: of tuning, of the fit and of the test."""
    mine = [spec for spec in specs if spec.method == label]
    chosen = [spec for spec in mine if TIMES_MEDIAN in spec.kernel["gamma"]]
    tuned = {(spec.dataset, spec.trial): spec for spec in chosen}.values()
    grid = [
        len(spec.kernel["gamma"][TIMES_MEDIAN]) * min(spec.kernel["gamma"]["rows"], train_rows(spec)) for spec in tuned
    ]
    return sum(grid) + sum((train_rows(spec) + test_rows(spec)) * spec.n_features / 512 for spec in mine)


# ---- Your own data ---------------------------------------------------------------------------------------------------


def own_data(
    data: str, ref: str | None = None, budget: Budget | None = None, workers: int = 1,
    reading: Mapping[str, Any] | None = None,
) -> Experiment:  # fmt: skip
    """The experiment that puts the board's maps and the map ``ref`` on ``data``: a file, or as a config has it,
    ``{path: …, target: …}`` as text; ``reading`` are more keys of it. Beside them stand the `WITHOUT_MAP`. Within about
    the ``budget``, if there is one, with as many sizes, trials and then maps as that leaves. ConfigError where that is
    too little, or the data."""
    started = time.monotonic()
    card = _card_of(data, reading or {})
    read = time.monotonic() - started  # as the run reads the file again
    config = _data_config(card, ref)

    def planned(sizes: Sequence[int], trials: int, left_out: Container[str] = ()) -> Experiment:
        methods = {label: each for label, each in config["methods"].items() if label not in left_out}
        return experiment_of(fitting(config | {"n_features": list(sizes), "trials": trials, "methods": methods}))

    if budget is None:
        return planned(*USUAL)
    for plan in PLANS:
        experiment = planned(*plan)
        if forecast(experiment, workers, ref).seconds + read <= budget.seconds_left:
            return experiment
    kept = {BASELINE, label_of(ref)} if ref else {BASELINE}
    dearest = sorted(set(config["methods"]) - kept, key=lambda label: -_seconds_of(experiment, label))
    least = np.inf
    for count in range(1, len(dearest) - FEWEST_METHODS + len(kept) + 1):
        experiment = planned(*PLANS[-1], dearest[:count])
        if (least := forecast(experiment, workers, ref).seconds + read) <= budget.seconds_left:
            return experiment
    raise budget.exceeded(least, "", "a file with fewer rows")


def _data_config(card: Card, ref: str | None) -> dict[str, Any]:
    """The small board's config with the data of ``card``, the methods of the whole board, and the map ``ref``."""
    words = card.missing.keys() & card.categories.keys()
    steps = ["impute-median"] * bool(card.missing.keys() - words) + ["impute-most-frequent"] * bool(words)
    steps += ["onehot"] * bool(card.categories)
    return load_experiment("board-small").to_dict() | {
        "name": f"board-on-{_slug(card.name)}", "title": f"Maps on {card.name}", "datasets": [card.name],
        "methods": _data_methods(card.n_train) | ({label_of(ref): {"features": ref}} if ref else {}),
        "preprocess": [*steps, "clip", "standard"],
        "train_rows": MOST_ROWS if card.n_train > MOST_ROWS else None,
    }  # fmt: skip


def _data_methods(rows: int) -> dict[str, Any]:
    """The methods that are tried on own data with ``rows`` training rows: the board's maps, at the sizes of the plan,
    and the `WITHOUT_MAP`, kernel ridge on `MOST_OF_KERNEL` rows at most."""
    found = {}
    for label, each in load_experiment("board").to_dict()["methods"].items():
        if each["features"] != "none":
            found[label] = {key: value for key, value in each.items() if key != "n_features"}
        elif label in WITHOUT_MAP and (rows <= MOST_OF_KERNEL or each["solver"]["name"] != "kernel-ridge"):
            found[label] = {key: value for key, value in each.items() if key != "datasets"}
    return found


def _seconds_of(experiment: Experiment, label: str) -> float:
    """About the seconds of one method's trials."""
    return run_seconds([spec for spec in experiment.grid() if spec.method == label], 1)


def maps_left_out(experiment: Experiment) -> str:
    """Which of the board's maps an experiment on own data is without, in words; empty if none."""
    (dataset,) = experiment.datasets
    names = [name for name in _data_methods(load_card(dataset).n_train) if name not in experiment.methods]
    return f"left out, to take no longer: {', '.join(names)}" if names else ""


def _card_of(data: str, reading: Mapping[str, Any]) -> Card:
    """The card of own data; ConfigError if there are too few rows for a comparison."""
    given: dict[str, Any] = yamlfile.parsed(data, "--data") if data.lstrip().startswith("{") else {"path": data}
    if twice := given.keys() & reading.keys():
        raise ConfigError(f"--data: {min(twice)} is also given as --{min(twice)}; leave one of them out")
    given.update(reading)
    try:
        card = load_card(TypeAdapter(Dataset).validate_python(given, context={"folder": Path.cwd()}))
    except ValidationError as error:
        raise ConfigError(f"--data: {misplaced(error)}") from None
    if card.rows < FEWEST_ROWS:
        parts = f"{card.n_train} to learn from, {card.n_test} to test on"
        raise ConfigError(f"--data: {card.name}: {plural(card.rows, 'row')}: {parts}; {FEWEST_ROWS} or more are needed")
    for label, count in (card.classes or {}).items():
        if count < FEWEST_OF_CLASS:
            raise ConfigError(
                f"--data: {card.name}: {plural(count, 'row')} of class {label!r}; {FEWEST_OF_CLASS} or more are "
                "needed, half of them to learn from in five folds; leave the class out, or join it with another"
            )
    return card


def rows_used(grid: Grid) -> str:
    """How many of the training rows of own data are used, in words; empty if all are."""
    (dataset,) = grid.datasets
    used, there = grid.setting("train_rows", dataset), load_card(dataset).n_train
    return f"{used:,} of {there:,} training rows are used" if used and used < there else ""


# ---- Configs ---------------------------------------------------------------------------------------------------------


def cost_of(experiment: Experiment) -> Experiment:
    """What the maps of an experiment cost: one fit of each on every dataset and at every size, alone on the machine, as
    in board-seconds."""
    own = experiment.to_dict()
    same = {
        key: own.get(key) for key in ("datasets", "preprocess", "methods", "n_features", "train_rows", "time_limit")
    }
    names = {"name": f"{experiment.name}-seconds", "title": f"{experiment.title}: seconds and memory"}
    return experiment_of(fitting(load_experiment("board-seconds").to_dict() | same | names | {"trials": 1}))


def fitting(config: dict[str, Any]) -> dict[str, Any]:
    """The config without what is for methods, datasets and sizes that it does not have."""
    config = {key: value for key, value in config.items() if key != "significance"}
    datasets = config["datasets"]
    for key in ("preprocess", "train_rows", "n_features", "kernel_error_points"):
        if isinstance(value := config.get(key), dict):
            config = {**config, key: {name: each for name, each in value.items() if name in (*datasets, "default")}}
    sizes = {str(size) for size in config["n_features"]} if isinstance(config["n_features"], list) else set()
    if isinstance(trials := config["trials"], dict):
        config = {**config, "trials": {size: each for size, each in trials.items() if size in {*sizes, "default"}}}
    return {"time_limit": LONGEST_S} | {key: value for key, value in config.items() if value is not None}


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.").lower() or "own"
