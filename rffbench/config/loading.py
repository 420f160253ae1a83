"""Loads a config by its path or name, or from a results folder, and selects the requested part of a grid."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rffbench.config import methodfiles
from rffbench.config.experiment import Experiment
from rffbench.config.grid import Grid, asked_for
from rffbench.config.places import misplaced
from rffbench.config.plain import plain
from rffbench.data.cards import Card, add_card, load_card
from rffbench.errors import ConfigError, ResultsError, unknown
from rffbench.features import MAPS
from rffbench.io import yamlfile
from rffbench.io.yamlfile import Misplaced, counted, dotted
from rffbench.solvers import SOLVERS
from rffbench.trials.scores import SCORES, metrics_of
from rffbench.trials.spec import TrialSpec


def load_experiment(config: str | Path) -> Experiment:
    """The experiment of a YAML file, or of a config that ships with the package, by its name.

    ConfigError names the file and line, what is wrong and the nearest valid name.
    """
    path = _find(config)
    experiment = yamlfile.load(path, Experiment)
    experiment.reference = _placed_reference(experiment, path.parent, path)
    return experiment


def experiment_of(config: Mapping[str, Any]) -> Experiment:
    """The experiment of a config that is given as a dictionary; its paths start from the current folder. Its values may
    be NumPy's, or paths, see `rffbench.config.plain.plain`.

    ConfigError names the key, what is wrong and the nearest valid name.
    """
    here = Path.cwd()
    try:
        experiment = Experiment.model_validate(plain(config), context={"folder": here})
    except (ValidationError, Misplaced) as error:
        wrong = error if isinstance(error, Misplaced) else misplaced(error, model=Experiment)
        raise ConfigError(f"the config's {dotted(counted(wrong.where)) or 'keys'}: {wrong}") from None
    experiment.reference = _placed_reference(experiment, here)
    return experiment


def _placed_reference(experiment: Experiment, folder: Path, config: Path | None = None) -> str | None:
    """The experiment's reference, as an absolute path if it is the user's own file; it is relative to ``folder``. All
    its lines must belong to cells of the experiment, whose file is ``config`` if it has one."""
    from rffbench.papers.recorded import is_path, load_own, place

    reference = experiment.reference
    if reference is None or not is_path(reference):
        return reference
    path = place(reference, folder)
    try:
        grids = (Grid(protocol.to_dict()) for _, protocol in experiment.protocols())
        load_own(path).check_places(asked_for(grids), _metrics_of(experiment), str(config or "the config"))
    except ConfigError as error:
        where = f"{yamlfile.place(config, 'reference')}: " if config else "the config's "
        raise ConfigError(f"{where}reference: {error}") from None
    return str(path.resolve())


def _metrics_of(experiment: Experiment) -> dict[str, list[str]]:
    """The metrics that the trials may have on each dataset. Empty if a map, solver or score is not built in, as these
    may add others."""
    named = {(spec.features["name"], spec.solver["name"], *spec.scores) for spec in experiment.grid()}
    if {name for names in named for name in names} - {"none", *MAPS.built_in, *SOLVERS.built_in, *SCORES}:
        return {}
    return {dataset: metrics_of(load_card(dataset).task) for dataset in experiment.datasets}


def _find(config: str | Path) -> Path:
    from rffbench.io.resources import shipped_configs

    path = Path(config)
    if path.is_file():
        return path
    if path.is_dir():
        raise ConfigError(f"{path}: is a folder; a config is a YAML file")
    if os.path.lexists(path):
        raise ConfigError(f"{path}: is not a regular file, but a pipe, a device or a broken link; give a copy of it")
    shipped = shipped_configs()
    if str(config) in shipped:
        return shipped[str(config)]
    names = sorted(shipped)
    if path.stem in names:
        raise ConfigError(f"{config}: no such file; the config of that name that ships with rffbench is {path.stem!r}")
    raise ConfigError(f"{config}: no such file; {unknown('config', path.stem, names)}")


def load_resolved(path: Path) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """The resolved configs of a results folder's config.yaml: one for each combination of a sweep, with its labels, one
    per axis. Without a sweep the only one, unchanged, even if this version does not know its names.

    ResultsError if the file cannot be read or is no experiment.
    """
    try:
        config = yamlfile.read(path)
    except ConfigError as error:
        raise ResultsError(str(error)) from None
    if not isinstance(config, dict) or not config.get("datasets") or not config.get("methods"):
        raise ResultsError(f"{path}: not an experiment: it must have datasets and methods")
    if not isinstance(config["datasets"], list) or not isinstance(config["methods"], dict):
        raise ResultsError(f"{path}: not an experiment: datasets must be a list, methods a mapping")
    if not all(isinstance(method, dict) for method in config["methods"].values()):
        raise ResultsError(f"{path}: not an experiment: each of its methods must have keys, as features")
    for card in cards.values() if isinstance(cards := config.get("cards"), dict) else []:
        with suppress(ValidationError, ConfigError):  # a card of another version: what needs it goes without
            add_card(Card.model_validate(card))
    if not config.get("sweep"):
        return [({}, config)]
    try:
        experiment = Experiment.model_validate(config, context={"folder": path.parent})
    except ValidationError as error:
        wrong = misplaced(error)
        raise ResultsError(
            f"{path}: not an experiment of this version: {dotted(counted(wrong.where))}: {wrong}"
        ) from None
    return [(labels, methodfiles.portable(each.to_dict())) for labels, each in experiment.protocols()]


def filter_specs(specs: Iterable[TrialSpec], only: Iterable[str]) -> list[TrialSpec]:
    """The specs that meet every ``KEY=VALUE[,VALUE…]`` of ``only``.

    Keys: dataset, method, n_features (``16d`` or a count), trial (a number, or ``1-3``). ConfigError for another key, a
    value that occurs nowhere in ``specs``, or if nothing is left.
    """
    chosen = every = list(specs)
    for condition in only:
        key, equals, text = condition.partition("=")
        if not equals or not text:
            raise ConfigError(f"--only {condition}: must be KEY=VALUE, for example dataset=eeg")
        if key not in _SELECTORS:
            raise ConfigError(f"--only {condition}: {unknown('key', key, _SELECTORS)}")
        names = _SELECTORS[key]
        valid = list(dict.fromkeys(name for spec in every for name in names(spec)))
        values = {value for part in text.split(",") for value in _numbers(key, part.strip())}
        for value in sorted(values.difference(valid)):
            raise ConfigError(f"--only {condition}: {unknown(key, value, valid)}")
        chosen = [spec for spec in chosen if values.intersection(names(spec))]
        if not chosen:
            raise ConfigError(f"--only {condition}: no trial meets both this and the conditions before it")
    return chosen


def _numbers(key: str, value: str) -> list[str]:
    """The numbers of a range of trials, ``1-3``; any other value alone."""
    first, dash, last = value.partition("-")
    if key != "trial" or not (dash and first.isdecimal() and last.isdecimal()):
        return [value]
    if int(first) > int(last):
        raise ConfigError(f"--only {key}={value}: the range ends before it begins; write {last}-{first}")
    return [str(number) for number in range(int(first), int(last) + 1)]


_SELECTORS: dict[str, Callable[[TrialSpec], tuple[str, ...]]] = {
    "dataset": lambda spec: (spec.dataset,),
    "method": lambda spec: (spec.method,),
    "n_features": lambda spec: tuple(dict.fromkeys((spec.size, str(spec.n_features)))),
    "trial": lambda spec: (str(spec.trial),),
}
