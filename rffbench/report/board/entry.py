"""Your own map, or your own data, on the board: the experiment that is run."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rffbench.config.costs import test_rows, train_rows
from rffbench.config.dryrun import run_seconds
from rffbench.config.experiment import Experiment
from rffbench.config.loading import experiment_of, load_experiment
from rffbench.data.userfile import look
from rffbench.errors import ConfigError, unknown
from rffbench.features import make_features
from rffbench.parameters import TIMES_MEDIAN
from rffbench.plugins import ownfile
from rffbench.report.board.score import BASELINE
from rffbench.text import duration
from rffbench.trials.spec import TrialSpec

SPOILING = ("columns", "global seeds", "seed")  # checks of a map without which its scores mean nothing
MOST_ROWS = 100_000  # of your own data
LONGEST_S = 600.0  # a trial of your own map, or on your own data
PLANS: tuple[tuple[tuple[int, ...], int], ...] = (
    ((128, 512, 2048), 5), ((128, 512, 2048), 3), ((128, 512), 5), ((128, 512), 2), ((128,), 2), ((128,), 1),
)  # fmt: skip
"""Sizes and trials on your own data, from the dearest down."""
USUAL = ((128, 512), 3)
PLANS_OF_MAP: tuple[tuple[tuple[int, ...], int], ...] = (
    ((128, 512), 5), ((128, 512), 3), ((128, 512), 2), ((128, 512), 1), ((128,), 1)
)  # fmt: skip
PLANS_FULL: tuple[tuple[tuple[int, ...], int], ...] = (
    ((128, 256, 512, 1024, 2048), 5), ((128, 512, 2048), 3), *PLANS_OF_MAP
)  # fmt: skip
"""The same of your own map on the board's datasets, of which the last plan leaves out the dearest, too."""
FEWEST_DATASETS = 3
TIMED_ROWS = 1000  # on which it is measured how slow your own map is


# ---- What is run -----------------------------------------------------------------------------------------------------


def label_of(ref: str) -> str:
    """How tables call the map ``ref``: its class, or its registered name."""
    label = ref.rpartition(":")[2] if ownfile.is_own(ref) else ref
    return f"{label} (own)" if label == BASELINE else label


def own_map(
    ref: str, datasets: Sequence[str] = (), full: bool = False, minutes: float | None = None, workers: int = 1
) -> Experiment:
    """The experiment that puts the map ``ref`` beside RFF: on the small board, on the whole one if ``full``, or on some
    ``datasets`` of that; within about ``minutes`` where they are given, with as many datasets, sizes and trials as that
    leaves. ConfigError where it is too little."""
    config = board_config(ref, datasets, full)
    if minutes is None:
        return experiment_of(fitting(config))
    config["time_limit"] = min(LONGEST_S, 60 * minutes)
    slow = seconds_a_row(ref)
    least = np.inf
    for sizes, trials in PLANS_FULL if full else PLANS_OF_MAP:
        planned = config | {"n_features": list(sizes), "trials": trials}
        names = list(planned["datasets"])
        while names:
            experiment = experiment_of(fitting(planned | {"datasets": names}))
            seconds = dict.fromkeys(names, 0.0)
            specs = experiment.grid()
            for name in names:
                mine = [spec for spec in specs if spec.dataset == name]
                seconds[name] = run_seconds(mine, workers) + slow * _rows_mapped(mine, label_of(ref)) / workers
            if (least := min(least, sum(seconds.values()))) <= 60 * minutes:
                return experiment
            if len(names) <= FEWEST_DATASETS or trials > 1 or len(sizes) > 1:
                break
            names.remove(max(seconds, key=lambda name: seconds[name]))
    raise ConfigError(f"--minutes {minutes:g}: the least that there is to run takes about {duration(least)}")


def board_config(ref: str, datasets: Sequence[str] = (), full: bool = False) -> dict[str, Any]:
    """The config that puts the map ``ref`` beside RFF on the small board, the whole one, or some of its datasets."""
    board = load_experiment("board" if full or datasets else "board-small")
    for name in datasets:
        if name not in board.datasets:
            raise ConfigError(f"--datasets: {unknown('dataset of the board', name, board.datasets)}")
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


def _rows_mapped(specs: Sequence[TrialSpec], label: str) -> float:
    """The rows that the trials of a method map, in units of 512 columns: of tuning, of the fit and of the test."""
    mine = [spec for spec in specs if spec.method == label]
    tuned = {(spec.dataset, spec.trial): spec for spec in mine}.values()
    grid = [
        len(spec.kernel["gamma"][TIMES_MEDIAN]) * min(spec.kernel["gamma"]["rows"], train_rows(spec)) for spec in tuned
    ]
    return sum(grid) + sum((train_rows(spec) + test_rows(spec)) * spec.n_features / 512 for spec in mine)


def own_data(path: str, ref: str | None = None, minutes: float | None = None, workers: int = 1) -> Experiment:
    """The experiment that puts the small board's maps, and the map ``ref``, on the data of a file; within about
    ``minutes`` where they are given. ConfigError where that is too little."""
    card = look(Path(path).expanduser()).card()
    small = load_experiment("board-small")
    maps = {label: {"features": each.features} | each.spec() for label, each in small.methods.items()}
    methods: dict[str, Any] = {
        label: {key: value for key, value in each.items() if key != "name"}
        for label, each in maps.items() if each["features"] != "none"
    }  # fmt: skip
    if ref:
        methods[label_of(ref)] = {"features": ref}
    words = card.missing.keys() & card.categories.keys()
    steps = ["impute-median"] * bool(card.missing.keys() - words) + ["impute-most-frequent"] * bool(words)
    steps += ["onehot"] * bool(card.categories)
    few = card.n_train > MOST_ROWS
    config = small.to_dict() | {
        "name": f"board-on-{_slug(card.name)}", "title": f"Maps on {card.name}", "datasets": [path],
        "methods": methods, "preprocess": [*steps, "clip", "standard"],
        "train_rows": MOST_ROWS if few else None,
    }  # fmt: skip
    for sizes, trials in [USUAL] if minutes is None else PLANS:
        experiment = experiment_of(fitting(config | {"n_features": list(sizes), "trials": trials}))
        seconds = run_seconds(experiment.grid(), workers)
        if minutes is None or seconds <= 60 * minutes:
            return experiment
    raise ConfigError(f"--minutes {minutes:g}: the least that there is to run takes about {duration(seconds)}")


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
