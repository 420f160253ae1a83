"""Small configs drawn at random, whose trials must have the scores that each has alone: methods with and without
variants, several sizes, a bandwidth that is given, a rule or chosen, settings that a sweep changes."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from rffbench.config.experiment import Experiment
from rffbench.execution.log import read_rows
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from rffbench.trials.spec import Key, TrialResult, TrialSpec
from rffbench.trials.tasks import run_group, tasks
from tests.helpers.faults import Place, promise
from tests.helpers.small_trials import Heard

DATASETS = ("breast-cancer", "digits", "synthetic", "synthetic-regression")
KERNELS: tuple[dict[str, Any], ...] = (
    {"name": "gaussian"}, {"name": "gaussian"}, {"name": "matern", "nu": 1.5}, {"name": "matern", "nu": 2.5},
    {"name": "rational-quadratic", "alpha": 2.0}, {"name": "laplacian"}, {"name": "cauchy"},
)  # fmt: skip
# By name, the values of the parameters by which variants differ.
MAPS: dict[str, dict[str, list[Any]]] = {
    "fourier": {"form": ["paired", "offset"]},
    "qmc": {"sequence": ["halton", "sobol"]},
    "nystroem": {"landmarks": ["uniform", "kmeans", "minibatch", "rpcholesky"]},
    "orthogonal": {"signs": ["haar", "qr"]},
    "leverage": {"score_lambda": [0.01, 0.05], "pool": [1, 2]},
    "surrogate-leverage": {"form": ["eq14", "eq12"], "pool": [1, 2]},
    "low-precision": {"bits": [4, 8]},
    "compact": {"expansion": [2, 4]},
}
SOLVERS: tuple[dict[str, Any], ...] = (
    {"name": "ridge", "lambda": [1e-4, 1e-2], "folds": 3},
    {"name": "ridge", "lambda": [1e-4, 1e-3, 1e-2], "folds": 4, "center": False},
    {"name": "pcg", "lambda": [1e-3, 1e-2], "folds": 3},
    {"name": "ridge", "lambda": [1e-3], "folds": 3}, {"name": "gp"},
)  # fmt: skip
OF_CLASSES: tuple[dict[str, Any], ...] = (
    {"name": "logistic", "lambda": [1e-3, 1e-2], "folds": 3}, {"name": "logistic", "lambda": [1e-2], "folds": 2},
    {"name": "linear-svm"},
)  # fmt: skip
WITHOUT_MAP: tuple[dict[str, Any], ...] = (
    {"name": "kernel-ridge", "lambda": [1e-3, 1e-2], "folds": 3}, {"name": "kernel-ridge", "lambda": [1e-2]},
    {"name": "linear"}, {"name": "gradient-boosting", "trees": 3},
)  # fmt: skip
SINGLE = ("surrogate-leverage",)  # alone it is scored in single precision
ROUNDING, OF_SINGLE = 1e-7, 1e-4


def drawn(dice: random.Random) -> Experiment:
    """A config of at most some dozen trials."""
    while True:
        try:
            return Experiment.model_validate(_config(dice))
        except ValidationError:  # the map is not for the kernel, or the solver not for the task
            continue


def _config(dice: random.Random) -> dict[str, Any]:
    columns = dice.random() < 0.7
    names = dice.sample(sorted(MAPS), dice.randint(1, 3))
    labels = {f"M{number}": name for number, name in enumerate([*names, *names[: dice.randint(0, 1)]])}
    methods = {label: _method(dice, name) for label, name in labels.items()}
    if dice.random() < 0.25:
        methods["none"] = {"features": "none", "solver": dict(dice.choice(WITHOUT_MAP))}
    datasets = dice.sample(DATASETS, 2 if dice.random() < 0.2 else 1)
    config = {
        "name": "drawn", "datasets": datasets, "preprocess": dice.choice(["minmax", "standard"]),
        "train_rows": dice.randint(60, 120), "kernel": {**dice.choice(KERNELS), **_bandwidth(dice)},
        "methods": methods, "solver": _solver(dice, datasets),
        "n_features": dice.sample([4, 6, 12, 16], dice.randint(1, 2)),
        "count": "columns" if columns else "frequencies", "trials": dice.randint(1, 2), "seed": dice.randint(0, 9),
        "kernel_error_points": 30, "scores": dice.choice([[], [], ["balanced_accuracy", "mae"]]),
    }  # fmt: skip
    axes = [_axis_of_method(dice, labels)] if dice.random() < 0.8 else []
    if dice.random() < 0.4:
        axes.append(_axis_of_all(dice, config))
    return {**config, "sweep": dict(axes)}


def _method(dice: random.Random, name: str) -> dict[str, Any]:
    own = {key: dice.choice(values) for key, values in MAPS[name].items() if dice.random() < 0.3}
    method = {"features": name, **own}
    if dice.random() < 0.1:
        method["n_features"] = [dice.choice([8, 12])]
    if dice.random() < 0.1:
        method["kernel"] = {**dice.choice(KERNELS), **_bandwidth(dice)}
    return method


def _solver(dice: random.Random, datasets: list[str]) -> dict[str, Any]:
    of_values = any(name.endswith("regression") for name in datasets)
    return dict(dice.choice(SOLVERS if of_values else (*SOLVERS, *OF_CLASSES)))


def _bandwidth(dice: random.Random) -> dict[str, Any]:
    """σ or γ, in the ways that a config may give it; mostly one that is chosen."""
    times = sorted(dice.sample([0.1, 0.3, 0.6, 1.0, 2.0, 8.0], dice.randint(2, 3)))
    once = {"times_median": times, "columns": dice.choice([8, 24]), "rows": dice.choice([40, 500])}
    more = [{}, {}, {"and_lambda": True}, {"features": "fourier"}]
    return dice.choice([
        {"sigma": 1.5}, {"sigma": "median"}, {"sigma": sorted(dice.sample([0.3, 0.8, 2.0, 6.0], 2))},
        {"sigma": sorted(dice.sample([0.3, 0.8, 2.0, 6.0], 3))},
        {"sigma": {**once, **dice.choice(more)}}, {"sigma": {**once, **dice.choice(more)}},
    ])  # fmt: skip


def _axis_of_method(dice: random.Random, labels: dict[str, str]) -> tuple[str, list[Any]]:
    label = dice.choice(sorted(labels))
    parameter, values = dice.choice(sorted(MAPS[labels[label]].items()))
    return f"methods.{label}.{parameter}", dice.sample(values, len(values))


def _axis_of_all(dice: random.Random, config: dict[str, Any]) -> tuple[str, list[Any]]:
    d = {"breast-cancer": 30, "digits": 64}.get(config["datasets"][0], 10)
    return dice.choice([
        ("n_features", [["1d"], [d]] if d == 10 else [[8], [4, 8]]),  # a multiple is another trial than its number
        ("preprocess", ["minmax", "standard"]), ("seed", [1, 2]), ("train_rows", [60, 90]),
        ("count", ["columns", "frequencies"]), ("solver.folds", [2, 3]), ("kernel.sigma", [0.7, [0.7, 3.0]]),
    ])  # fmt: skip


def different_alone(experiment: Experiment, dice: random.Random, folder: Path) -> Iterator[str]:
    """In words, each trial whose result is another one together with others than alone. Together, they run in random
    order and in two parts: as tasks in this process, or as runs into ``folder``, where the second part knows what the
    first one has chosen."""
    specs = experiment.grid()
    first = set(dice.sample([spec.key for spec in specs], len(specs) // 2))
    if dice.random() < 0.5:
        together = _in_a_folder(experiment, first, folder)
    else:
        mixed = dice.sample(specs, len(specs))
        parts = [[spec for spec in mixed if (spec.key in first) is which] for which in (True, False)]
        together = {key: result.to_row() for part in parts for key, result in _as_tasks(part)}
    if missing := [spec.label for spec in specs if spec.key not in together]:
        yield f"without a result: {', '.join(missing)}"
        return
    for spec in dice.sample(specs, len(specs)):
        ((_, alone),) = _as_tasks([spec])
        if off := _difference(alone.to_row(), together[spec.key]):
            yield f"{spec.label} {spec.features}: {off}"


def grids(place: Place, dice: random.Random) -> Iterator[str]:
    """Configs are drawn at random: methods, variants of a sweep, sizes, kernels and their options, a bandwidth that is
    given, a rule or chosen. Each trial has the scores that it has alone, in whatever order and parts the grid runs."""
    for number in range(5):
        experiment = drawn(dice)
        yield f"a grid of {len(experiment.grid())} trials"
        different = [*different_alone(experiment, dice, place.folder / str(number))]
        promise(not different, "; ".join(different[:5]))


def _as_tasks(specs: list[TrialSpec]) -> Iterable[tuple[Key, TrialResult]]:
    heard = Heard()
    for task in tasks(specs):
        run_group(task, heard)
    return heard.results.items()  # type: ignore[return-value]


def _in_a_folder(experiment: Experiment, first: set[Key], folder: Path) -> dict[Key, dict[str, Any]]:
    for keys in (first, None):
        run_experiment(experiment, folder, executor=SerialExecutor(), keys=keys)
    return {row["key"]: row for row in read_rows(folder / "trials.jsonl")}


def _difference(alone: dict[str, Any], together: dict[str, Any]) -> str:
    for name in ("status", "lambda", "columns"):
        if alone.get(name) != together.get(name):
            return f"{name} {together.get(name)} for {alone.get(name)}: {together['error']}"
    if alone["metrics"].keys() != together["metrics"].keys():
        return f"has {[*together['metrics']]} for {[*alone['metrics']]}"
    of_map = alone["features"]["name"] in SINGLE
    for name, value in alone["metrics"].items():
        rounding = 0.0 if name in ("accuracy", "times_median") else OF_SINGLE if of_map else ROUNDING
        if not np.isclose(together["metrics"][name], value, rtol=rounding, atol=0.0):
            return f"{name} {together['metrics'][name]} for {value}"
    return ""
