"""Checks of an experiment's methods: their kernels, feature maps and solvers, on every dataset and at every size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rffbench.arguments.parameters import is_chosen, is_chosen_once, is_rule
from rffbench.config.grid import Grid
from rffbench.config.places import located
from rffbench.config.values import DEFAULT, MOST_FEATURES
from rffbench.data.cards import Card, load_card, with_split
from rffbench.data.split import held_out_rows
from rffbench.errors import ConfigError, unknown
from rffbench.features import make_features
from rffbench.features.hooks import hook
from rffbench.io.text import plural
from rffbench.io.yamlfile import Misplaced
from rffbench.kernels import kernel_argument, kernel_of
from rffbench.kernels.checks import check_own_kernel
from rffbench.plugins.parts import declared
from rffbench.solvers import (
    SOLVERS,
    check_features,
    check_map,
    check_on_device,
    cross_validates,
    make_solver,
    uses_kernel,
)
from rffbench.trials.flaws import check_flaws
from rffbench.trials.metrics import CURVES, check_measurable
from rffbench.trials.scores import check_given


@dataclass(frozen=True)
class MethodSettings:
    """A method of an experiment, its settings, and where the config has them."""

    grid: Grid
    label: str

    @cached_property
    def features(self) -> dict[str, Any]:
        return self.grid.features(self.label)

    @cached_property
    def solver(self) -> dict[str, Any]:
        return dict(self.grid.setting("solver", method=self.label))

    @cached_property
    def kernel(self) -> dict[str, Any]:
        return dict(self.grid.setting("kernel", method=self.label))

    @cached_property
    def datasets(self) -> list[str]:
        return self.grid.datasets_of(self.label)

    @cached_property
    def tasks(self) -> list[Any]:
        return sorted({load_card(dataset).task for dataset in self.datasets})

    @cached_property
    def sizes(self) -> dict[str, list[int]]:
        """The numbers of features on each dataset."""
        return {dataset: list(self.grid.sizes_by_number(dataset, self.label)) for dataset in self.datasets}

    @property
    def gammas(self) -> list[float]:
        """The γ that the config names; 1 for one that depends on the data, which may be any."""
        gamma = self.kernel["gamma"]
        if gamma is None or is_rule(gamma) or is_chosen_once(gamma):
            return [1.0]
        return gamma if isinstance(gamma, list) else [gamma]

    @property
    def has_solver(self) -> bool:
        return bool(self.solver["name"] != "none")

    def place(self, setting: str) -> tuple[str, ...]:
        """Where the config has the method's kernel or solver: in the method, or for all methods."""
        return ("methods", self.label, setting) if self.grid.has_own(setting, self.label) else (setting,)


def check_method(grid: Grid, label: str) -> None:
    """Check that the method's map and solver can be made with these parameters, at every size of every dataset."""
    method = MethodSettings(grid, label)
    _check_parts(method)
    _check_datasets(method)
    _check_kernel(method)
    for gamma in method.gammas:
        for n_features in sorted({size for sizes in method.sizes.values() for size in sizes}):
            made = _checked_map(method, gamma, n_features)
            _check_measures(method, made)
            _check_device(method, made)
            if method.has_solver:
                _check_solver(method, made, gamma, n_features)
    if not method.has_solver:
        for task in method.tasks:
            _check_flaws(method, task, gives_scores=False)
    _check_folds(method)


def _check_parts(method: MethodSettings) -> None:
    """The map, the solver and the choice of γ go together."""
    if method.features["name"] == method.solver["name"] == "none":
        raise Misplaced("has neither a feature map nor a solver", "methods", method.label)
    with located("methods", method.label):
        check_map(method.solver["name"], method.features["name"])
    gamma = method.kernel["gamma"]
    if is_chosen(gamma) and not method.has_solver:
        raise Misplaced("a bandwidth is chosen by the errors of a solver, and solver: none has none",
                        *method.place("kernel"))  # fmt: skip
    keeps_lambda = is_chosen_once(gamma) and gamma.get("and_lambda") and uses_kernel(method.solver)
    if keeps_lambda and not cross_validates(method.solver):
        message = f"and_lambda keeps the best of two λ or more, and {method.solver['name']} chooses none here"
        raise Misplaced(message, *method.place("kernel"))


def _check_datasets(method: MethodSettings) -> None:
    grid, label = method.grid, method.label
    for index, dataset in enumerate(grid.config["methods"][label].get("datasets", [])):
        if dataset not in grid.datasets:
            message = unknown("dataset of this experiment", dataset, grid.datasets)
            raise Misplaced(message, "methods", label, "datasets", index)


def _check_kernel(method: MethodSettings) -> None:
    """The kernel suits the inputs, and the map and the solver that choose γ can be made."""
    kernel, place = method.kernel, method.place("kernel")
    for dataset in method.datasets:
        try:
            kernel_of({**kernel, "gamma": 1.0}).check_inputs(load_card(dataset).columns)
        except ValueError as error:
            raise Misplaced(f"of {dataset}: {error}", *place, "lengths") from None
    with located(*place):
        check_own_kernel(kernel)
        if is_chosen_once(chosen := kernel["gamma"]):
            features = {"name": chosen["features"]} if "features" in chosen else method.features
            argument, columns = kernel_argument(kernel), chosen["columns"]
            made = make_features(features, kernel=argument, gamma=1.0, n_features=columns, count="columns")
            for task in method.tasks if uses_kernel(method.solver) else ():
                make_solver(method.solver, task=task, features=made, kernel=argument, gamma=1.0, n_features=columns)


def _checked_map(method: MethodSettings, gamma: float, n_features: int) -> Any:
    """The map with that many features, which suits the inputs of the datasets that have this size."""
    place = ("methods", method.label)
    with located(*place):
        made = make_features(
            method.features, kernel=kernel_argument(method.kernel), gamma=gamma, n_features=n_features,
            count=method.grid.setting("count"),
        )  # fmt: skip
    if (check := hook(made, "check_inputs")) is not None:
        for dataset in (name for name, sizes in method.sizes.items() if n_features in sizes):
            try:
                check(load_card(dataset).columns)
            except ValueError as error:
                raise Misplaced(f"of {dataset}: {error}", *place) from None
    if (wide := hook(made, "n_expanded") or 0) > MOST_FEATURES:
        raise Misplaced(f"makes {wide:,} columns to choose {n_features:,} from; {MOST_FEATURES:,} at most", *place)
    return made


def _check_measures(method: MethodSettings, made: Any) -> None:
    """The measures are those of a map, which ``made`` is or None."""
    for i, measure in enumerate(method.grid.setting("measures") if made is not None else []):
        if measure in CURVES and (method.solver.get("path") or method.solver.get("record")):
            message = f"{measure} keeps curves of its own, and the solver keeps its curves with path or record"
            raise Misplaced(message, "measures", i)
        try:
            check_measurable(measure, made)
        except ValueError as error:
            raise Misplaced(str(error), "measures", i) from None


def _check_device(method: MethodSettings, made: Any) -> None:
    device = method.grid.setting("device")
    if device == "cpu":
        return
    try:
        check_on_device(method.solver, device, made, method.features["name"])
    except ConfigError as error:
        places = {"device": ("device",), "features": ("methods", method.label, "features")}
        raise Misplaced(str(error), *places.get(str(error.parameter), method.place("solver"))) from None


def _check_solver(method: MethodSettings, made: Any, gamma: float, n_features: int) -> None:
    """The solver takes the map's features, and can be made for the tasks of all datasets, with every score."""
    grid, solver, kernel = method.grid, method.solver, kernel_argument(method.kernel)
    with located("methods", method.label):
        check_features(solver["name"], made)
    for task in method.tasks:
        with located(*method.place("solver")):
            learner = make_solver(solver, task=task, features=made, kernel=kernel, gamma=gamma, n_features=n_features)
        for dataset in method.datasets:
            changed = grid.setting("solver", dataset, method.label)
            if changed != solver and load_card(dataset).task == task:
                with located("solver_of", dataset):
                    make_solver(changed, task=task, features=made, kernel=kernel, n_features=n_features)
        for i, name in enumerate(grid.setting("scores")):
            with located("scores", i):
                check_given(name, task, solver, learner)
        if task == "regression":
            _check_targets(method, learner)
        _check_flaws(method, task, bool(declared(learner, "decision_function")))


def _check_targets(method: MethodSettings, learner: Any) -> None:
    """The solver learns as many targets as its datasets have. One without scikit-learn's tags is not checked."""
    if not declared(learner, "__sklearn_tags__") or learner.__sklearn_tags__().target_tags.multi_output:
        return
    for name in method.datasets:
        if (count := load_card(name).targets) > 1:
            problem = f"learns one target, and {name} has {count}; leave this method or {name} out"
            raise Misplaced(f"the solver {method.solver['name']} {problem}", *method.place("solver"))


def _check_flaws(method: MethodSettings, task: str, gives_scores: bool) -> None:
    """Every flaw has a meaning on its dataset of this task, with a solver that has decision scores or not."""
    for dataset in method.datasets:
        flaws = method.grid.setting("flaws", dataset, method.label)
        if flaws and load_card(dataset).task == task:
            card = _card(method.grid, dataset)
            with located(*method.place("flaws")):
                classes = 2 if card.labels else len(card.classes)
                inputs = {"missing values": card.missing, "columns of words": card.categories}
                gaps = [what for what, columns in inputs.items() if columns]
                check_flaws(flaws, dataset, classes, card.split.rule, gives_scores, gaps)


def _check_folds(method: MethodSettings) -> None:
    """Every dataset has a training row for each fold."""
    folds, place = method.solver.get("folds"), method.place("solver")
    for dataset in method.datasets:
        rows = _train_rows(method.grid, dataset)
        if folds and folds > rows:
            few = f"are more than the {plural(rows, 'training row')} of {dataset}"
            if folds != SOLVERS.parameters(method.solver["name"])["folds"].default:
                raise Misplaced(f"{folds} {few}", *place, "folds")
            few_rows_asked = method.grid.setting("train_rows", dataset)
            where = ("train_rows", dataset) if few_rows_asked else place
            raise Misplaced(f"solver.folds, {folds} by default, {few}", *where)


def _card(grid: Grid, dataset: str) -> Card:
    """The dataset's card, with the experiment's split; Misplaced if that does not fit."""
    with located("split", dataset if dataset in (grid.config.get("split") or {}) else DEFAULT):
        return with_split(load_card(dataset), grid.setting("split", dataset))


def _train_rows(grid: Grid, dataset: str) -> int:
    """The number of training rows of a trial on the dataset; Misplaced if there are fewer than requested."""
    there = _card(grid, dataset).n_train
    held, asked = held_out_rows(grid.setting("held_out"), there), grid.setting("train_rows", dataset)
    if held >= there:
        raise Misplaced(f"leaves none of the {there} training rows of {dataset}", "held_out")
    if asked and asked > there - held:
        without = f", without the {held} that are held out" if held else ""
        problem = f"{asked} are more than the {there - held} training rows of {dataset}{without}"
        raise Misplaced(problem, "train_rows", dataset)
    return asked or there - held
