"""The sweep of a config: settings that are run in every combination."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationInfo

from rffbench.config.grid import OF_METHOD
from rffbench.config.values import dataset_name
from rffbench.io import yamlfile
from rffbench.io.yamlfile import Misplaced, shown

NOT_SWEPT = ("name", "title", "cards", "reference", "figures", "table", "executor", "sweep")  # what no trial depends on
MOST_PROTOCOLS = 1_000  # combinations of a sweep's labels; each is checked as an experiment of its own


def swept(value: object) -> object:
    """An axis of a sweep: its labels, each with its changes."""
    if not isinstance(value, dict) or not all(isinstance(patch, dict) for patch in value.values()):
        example = "{narrow: {kernel: {sigma: 1}}, wide: {kernel: {sigma: 4}}}"
        plain = "kernel.sigma: [1, 4]"
        raise ValueError(
            f"must be labels and what each changes, such as {example}, or a key's values, {plain}, not {shown(value)}"
        )
    return value


def spelled_out(config: Any) -> Any:
    """``config`` with the axes of its sweep that are plain lists, ``kernel.sigma: [1, 4]``, as labels with their
    changes: ``kernel.sigma: {'1': {kernel: {sigma: 1}}, '4': {kernel: {sigma: 4}}}``. Misplaced if a value is given
    twice."""
    if not isinstance(config, dict) or not isinstance(sweep := config.get("sweep"), dict):
        return config
    axes = dict(sweep)
    for axis, values in sweep.items():
        if isinstance(axis, str) and isinstance(values, list):
            axes[axis] = labels = {}
            for place, value in enumerate(values):
                label = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                if label in labels:
                    raise Misplaced(f"gives {label} twice", "sweep", axis, place)
                patch = value
                for key in reversed(axis.split(".")):
                    patch = {key: patch}
                labels[label] = patch
    return {**config, "sweep": axes}


def named_datasets(sweep: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Replace the paths of datasets in a sweep by names, as in the experiment."""
    for axis, labels in sweep.items():
        for label, patch in labels.items():
            for key in patch:
                if key in NOT_SWEPT:
                    raise Misplaced(f"no trial depends on the {key}, so that it cannot be swept", axis, label, key)
            for i, dataset in enumerate(patch["datasets"] if isinstance(patch.get("datasets"), list) else []):
                try:
                    patch["datasets"][i] = dataset_name(dataset, info)
                except ValueError as error:
                    raise Misplaced(str(error), axis, label, "datasets", i) from None
    return sweep


def check_sweep(sweep: dict[str, dict[str, Any]]) -> None:
    """Misplaced if there are too many combinations, if two labels of an axis are equal, or if two axes change the same
    setting, so that one has no effect."""
    if (count := math.prod(map(len, sweep.values()))) > MOST_PROTOCOLS:
        raise Misplaced(f"has {count:,} combinations of labels; at most {MOST_PROTOCOLS:,} are run", "sweep")
    by_setting: dict[tuple[str, ...], str] = {}
    for axis, labels in sweep.items():
        for index, (label, patch) in enumerate(labels.items()):
            if same := [other for other in list(labels)[:index] if labels[other] == patch]:
                raise Misplaced(f"says the same as {same[0]}", "sweep", axis, label)
        for setting in dict.fromkeys(each for patch in labels.values() for each in _settings(patch)):
            if by_setting.setdefault(setting, axis) != axis:
                message = f"sets {yamlfile.dotted(setting)}, as {by_setting[setting]} does, which then has no effect"
                raise Misplaced(message, "sweep", axis)


def _settings(patch: dict[str, Any], *above: str) -> Iterator[tuple[str, ...]]:
    """The paths of the settings in a patch."""
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            yield from _settings(value, *above, key)
        else:
            yield (*above, key)


def combinations(
    config: dict[str, Any], sweep: dict[str, dict[str, Any]]
) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Every combination of one label per axis, with the config that it makes of ``config``."""
    for chosen in itertools.product(*sweep.values()):
        labels, changed = dict(zip(sweep, chosen, strict=True)), config
        for axis, label in labels.items():
            changed = patched(changed, sweep[axis][label])
        yield labels, changed


def patched(config: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """``config`` with the values of ``patch`` merged into it, mapping by mapping. A bandwidth replaces the old one,
    whether written as σ or as γ. Another solver replaces all settings of the old one, another map the parameters of
    the old one; another kernel keeps only the bandwidth."""
    result = dict(config)
    for key, value in patch.items():
        before = result.get(key)
        if not isinstance(value, dict) or not isinstance(before, dict):
            result[key] = value
            continue
        if key == "kernel" and {"sigma", "gamma"} & value.keys():
            before = {name: each for name, each in before.items() if name not in ("sigma", "gamma")}
        if key == "kernel" and value.get("name", before.get("name", "gaussian")) != before.get("name", "gaussian"):
            before = {name: each for name, each in before.items() if name in ("sigma", "gamma")}
        if key == "solver" and value.get("name", before.get("name", "ridge")) != before.get("name", "ridge"):
            before = {}
        if key == "split" and "rule" in value:  # one for all datasets
            before = {}
        if "features" in before and value.get("features", before["features"]) != before["features"]:
            before = {name: each for name, each in before.items() if name in OF_METHOD}
        result[key] = patched(before, value)
    return result
