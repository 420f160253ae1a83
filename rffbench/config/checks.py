"""Checks that involve more than one value of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rffbench.config.grid import Grid
from rffbench.config.values import DEFAULT, MOST_FEATURES, repeated
from rffbench.errors import ConfigError, unknown
from rffbench.parameters import is_chosen, is_chosen_once, is_rule
from rffbench.text import plural
from rffbench.yamlfile import Misplaced, problem

Value = TypeVar("Value")


def placed(check: Callable[[Any], Value], value: Any, *where: str | int) -> Value:
    """Call ``check(value)``; its errors are reported at ``where``."""
    try:
        return check(value)
    except ValidationError as error:
        raise misplaced(error, *where) from None


def misplaced(error: ValidationError, *where: str | int, model: type[BaseModel] | None = None) -> Misplaced:
    """Raise the first validation error of a ``model``, with its place below ``where``."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    inner = (*first["loc"], *getattr(cause, "where", ()))
    return Misplaced(problem(first, model), *where, *inner)


@contextmanager
def located(*where: str | int) -> Iterator[None]:
    """In the block a ConfigError is reported at ``where``, or at the parameter there that it names."""
    try:
        yield
    except ConfigError as error:
        raise Misplaced(str(error), *where, *([error.parameter] if error.parameter else [])) from None


@contextmanager
def under(*where: str | int) -> Iterator[None]:
    """In the block the place of an error is relative to ``where``."""
    try:
        yield
    except Misplaced as error:
        raise Misplaced(str(error), *where, *error.where) from None


def check_mapping(field: str, mapping: dict[str, Any], keys: Sequence[str], what: str) -> None:
    """Every key of a per-dataset or per-size mapping exists, and every key has a value or the default."""
    for key in mapping:
        if key != DEFAULT and key not in keys:
            raise Misplaced(unknown(what, key, [*dict.fromkeys(keys), DEFAULT]), field, key)
    if missing := [key for key in keys if key not in mapping and DEFAULT not in mapping]:
        raise Misplaced(f"has no value for {missing[0]}; add it, or {DEFAULT}", field)


def check_grid(grid: Grid) -> None:
    """Check that sizes, methods and datasets fit together, and that every trial's map and solver can be made."""
    sizes = [str(size) for dataset in grid.datasets for label in grid.methods for size in grid.sizes(dataset, label)]
    if isinstance(trials := grid.config["trials"], dict):
        check_mapping("trials", trials, sizes, "size of this experiment")
    for dataset in grid.datasets:
        written = grid.setting("n_features", dataset)
        if count := repeated(grid.n_features(dataset, size) for size in written):
            raise Misplaced(f"gives {count} features for {dataset} twice", "n_features", dataset)
    for label in grid.methods:
        _check_method(grid, label)


def check_inputs(grid: Grid) -> None:
    """Check that preprocess does what each dataset needs: fills missing values, makes numbers of words."""
    from rffbench.data.cards import load_card
    from rffbench.data.preprocess import check_fits

    for dataset in grid.datasets:
        with located("preprocess"):
            check_fits(load_card(dataset), grid.setting("preprocess", dataset) or ())


def check_fitted(grid: Grid) -> None:
    """Check that the table of fitted parameters has every dataset and fold of the experiment."""
    from rffbench.data.cards import load_card
    from rffbench.papers.hyperparameters import fitted

    if not (table := grid.setting("parameters_from")):
        return
    for dataset in grid.datasets:
        card = load_card(dataset)
        if card.split.rule != "folds":
            raise Misplaced(f"gives parameters by fold; the split of {dataset} is {card.split.rule}", "parameters_from")
        sizes = [size for label in grid.methods_on(dataset) for size in grid.sizes(dataset, label)]
        folds = round(card.rows / card.n_test)
        for fold in range(min(folds, max(map(grid.planned_trials, sizes)))):
            with located("parameters_from"):
                fitted(table, dataset, fold, card.columns_after(grid.setting("preprocess", dataset) or ()))


def _check_method(grid: Grid, label: str) -> None:
    """Check that the method's map and solver can be made with these parameters, at every size of every dataset."""
    from rffbench.data.cards import load_card
    from rffbench.features import make_features
    from rffbench.features.hooks import hook
    from rffbench.kernels import kernel_argument, kernel_of
    from rffbench.kernels.checks import check_own_kernel
    from rffbench.solvers import SOLVERS, check_features, check_map, check_on_device, make_solver
    from rffbench.trials.metrics import CURVES, check_measurable
    from rffbench.trials.scores import check_given

    features, device = grid.features(label), grid.setting("device")
    solver, kernel = grid.setting("solver", method=label), grid.setting("kernel", method=label)
    own = {name: ("methods", label, name) if grid.has_own(name, label) else (name,) for name in ("solver", "kernel")}
    if features["name"] == solver["name"] == "none":
        raise Misplaced("has neither a feature map nor a solver", "methods", label)
    with located("methods", label):
        check_map(solver["name"], features["name"])
    if is_chosen(kernel["gamma"]) and len(solver.get("lambda", [])) < 2:
        message = "bandwidths are chosen by the cross-validation of a ridge solver over two λ or more"
        raise Misplaced(message, *own["kernel"])
    for index, dataset in enumerate(grid.config["methods"][label].get("datasets", [])):
        if dataset not in grid.datasets:
            message = unknown("dataset of this experiment", dataset, grid.datasets)
            raise Misplaced(message, "methods", label, "datasets", index)
    datasets = grid.datasets_of(label)
    tasks: list[Any] = sorted({load_card(dataset).task for dataset in datasets})
    argument = kernel_argument(kernel)
    for dataset in datasets:
        try:
            kernel_of({**kernel, "gamma": 1.0}).check_inputs(load_card(dataset).columns)
        except ValueError as error:
            raise Misplaced(f"of {dataset}: {error}", *own["kernel"], "lengths") from None
    with located(*own["kernel"]):
        check_own_kernel(kernel)
    by_data = kernel["gamma"] is None or is_rule(kernel["gamma"]) or is_chosen_once(kernel["gamma"])
    known = 1.0 if by_data else kernel["gamma"]  # the data's may be any
    if is_chosen_once(kernel["gamma"]):
        with located(*own["kernel"]):
            columns = kernel["gamma"]["columns"]
            with_these = {"name": kernel["gamma"]["features"]} if "features" in kernel["gamma"] else features
            make_features(with_these, kernel=argument, gamma=1.0, n_features=columns, count="columns")
    for gamma in known if isinstance(known, list) else [known]:
        for n_features in sorted(
            {n_features for dataset in datasets for n_features in grid.sizes_by_number(dataset, label)}
        ):
            with located("methods", label):
                made = make_features(
                    features, kernel=argument, gamma=gamma, n_features=n_features, count=grid.setting("count")
                )
            if (check := hook(made, "check_inputs")) is not None:
                for dataset in datasets:
                    if n_features in grid.sizes_by_number(dataset, label):
                        try:
                            check(load_card(dataset).columns)
                        except ValueError as error:
                            raise Misplaced(f"of {dataset}: {error}", "methods", label) from None
            if (wide := hook(made, "n_expanded") or 0) > MOST_FEATURES:
                message = f"makes {wide:,} columns to choose {n_features:,} from; {MOST_FEATURES:,} at most"
                raise Misplaced(message, "methods", label)
            for i, measure in enumerate(grid.setting("measures") if made is not None else []):
                if measure in CURVES and (solver.get("path") or solver.get("record")):
                    message = f"{measure} keeps curves of its own, and the solver keeps its curves with path or record"
                    raise Misplaced(message, "measures", i)
                try:
                    check_measurable(measure, made)
                except ValueError as error:
                    raise Misplaced(str(error), "measures", i) from None
            if device != "cpu":
                try:
                    check_on_device(solver, device, made, features["name"])
                except ConfigError as error:
                    places = {"device": ("device",), "features": ("methods", label, "features")}
                    raise Misplaced(str(error), *places.get(str(error.parameter), own["solver"])) from None
            if solver["name"] != "none":
                with located("methods", label):
                    check_features(solver["name"], made)
            for task in tasks if solver["name"] != "none" else []:
                with located(*own["solver"]):
                    learner = make_solver(
                        solver, task=task, features=made, kernel=argument, gamma=gamma, n_features=n_features
                    )
                for dataset in datasets:
                    changed = grid.setting("solver", dataset, label)
                    if changed != solver and load_card(dataset).task == task:
                        with located("solver_of", dataset):
                            make_solver(changed, task=task, features=made, kernel=argument, n_features=n_features)
                for i, name in enumerate(grid.setting("scores")):
                    with located("scores", i):
                        check_given(name, task, solver, learner)
    for dataset in datasets:
        folds, rows = solver.get("folds"), _train_rows(grid, dataset)
        if folds and folds > rows:
            few = f"are more than the {plural(rows, 'training row')} of {dataset}"
            if folds != SOLVERS.parameters(solver["name"])["folds"].default:
                raise Misplaced(f"{folds} {few}", *own["solver"], "folds")
            asked = grid.setting("train_rows", dataset)
            place = ("train_rows", dataset) if asked else own["solver"]
            raise Misplaced(f"solver.folds, {folds} by default, {few}", *place)


def _train_rows(grid: Grid, dataset: str) -> int:
    """The number of training rows of a trial on the dataset; Misplaced if there are fewer than requested."""
    from rffbench.data.cards import load_card, with_split
    from rffbench.data.split import held_out_rows

    with located("split", dataset if dataset in (grid.config.get("split") or {}) else DEFAULT):
        there = with_split(load_card(dataset), grid.setting("split", dataset)).n_train
    held, asked = held_out_rows(grid.setting("held_out"), there), grid.setting("train_rows", dataset)
    if held >= there:
        raise Misplaced(f"leaves none of the {there} training rows of {dataset}", "held_out")
    if asked and asked > there - held:
        without = f", without the {held} that are held out" if held else ""
        problem = f"{asked} are more than the {there - held} training rows of {dataset}{without}"
        raise Misplaced(problem, "train_rows", dataset)
    return asked or there - held
