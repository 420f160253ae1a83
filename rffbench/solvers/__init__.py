"""Solvers by name, for configs: their parameters, and how to build them.

A third-party package adds one through the entry-point group ``rffbench.solvers``: a factory, called by keyword. Its
signature has those of ``task``, ``features``, ``kernel``, ``gamma``, ``n_features``, ``random_state`` and ``memory``
that it needs, and the config's parameters with their defaults (`rffbench.plugins.registry`). Methods may name a feature
map only if the signature has ``features``, and must if it has no default. A factory may instead have the attribute
``parameters``, the config's parameters with their defaults: it then gets all of the above, and a map or none. The
parameter ``lambda`` is passed as a list of numbers.

The factory returns a scikit-learn estimator. Both may raise ValueError for wrong parameters, the estimator in
``check_parameters()``. A fitted estimator may have

- ``timing_``: seconds in 'feature_s', 'gram_s' and 'solve_s'; without it, training is timed as a whole;
- ``alpha_``: the chosen λ;
- ``metrics_``: numbers for tables ('model_size', 'objective', …), with ``own_metrics`` to describe those that this
  package does not know (`rffbench.trials.metrics.Metric`);
- ``curves_``: columns of equal length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rffbench.arguments.parameters import WrongParameter, is_number
from rffbench.arguments.seeds import RandomState
from rffbench.errors import ConfigError
from rffbench.features.hooks import makes_sparse
from rffbench.kernels import Kernel
from rffbench.kernels.served import check_kernel
from rffbench.plugins.parts import NotServed, SolverServes, Task, check_sparse, check_task, declared
from rffbench.plugins.recipe import Recipe
from rffbench.plugins.registry import NONE, Registry

__all__ = [
    "NONE",
    "Task",
    "check_installed",
    "check_map",
    "check_on_device",
    "check_solver",
    "make_solver",
    "parameters",
    "served",
    "spec",
]

_COMMON = ("task", "features", "kernel", "gamma", "n_features", "random_state", "memory")
_NONE = "No learner: the feature maps are measured by themselves."

BUILT_IN = {
    "ridge": "rffbench.solvers.ridge.make:make_ridge",
    "kernel-ridge": "rffbench.solvers.ridge.exact:make_kernel_ridge",
    "kernel-svm": "rffbench.solvers.svm.kernel:make_kernel_svm",
    "linear-svm": "rffbench.solvers.svm.linear:make_linear_svm",
    "logistic": "rffbench.solvers.logistic:make_logistic",
    "sparse-rf": "rffbench.solvers.sparse.sparse_rf:make_sparse_rf",
    "boosting": "rffbench.solvers.sparse.boosting:make_boosting",
    "linear": "rffbench.solvers.baselines:make_linear",
    "gradient-boosting": "rffbench.solvers.baselines:make_gradient_boosting",
    "pcg": "rffbench.solvers.iterative.pcg:make_pcg",
    "falkon": "rffbench.solvers.iterative.falkon:make_falkon",
    "eigenpro": "rffbench.solvers.iterative.eigenpro:make_eigenpro",
    "askotch": "rffbench.solvers.iterative.askotch:make_askotch",
    "gp": "rffbench.solvers.gaussian_process:make_gp",
}

SOLVERS = Registry("solver", BUILT_IN, "rffbench.solvers", common=_COMMON, none=_NONE)

ON_DEVICE = Registry(
    "solver", {"ridge": "rffbench.solvers.ridge.make:make_ridge_on_device"}, "",
    common=(*_COMMON, "device"), none=_NONE,
)  # fmt: skip
"""The solvers that run on other devices than the CPU, with the parameters in their factories' signatures."""

parameters = SOLVERS.defaults
describe = SOLVERS.describe


def served(name: str) -> SolverServes:
    """The ``serves`` of the solver called ``name``."""
    if name == NONE:
        return SolverServes(cost="0")
    found = declared(SOLVERS.factory(name), "serves")
    return found if isinstance(found, SolverServes) else SolverServes()


def cross_validates(config: Mapping[str, Any]) -> bool:
    """Whether the solver ``config``, in a trial's form, chooses λ by cross-validation, and has held-out errors."""
    return served(config["name"]).cross_validates and len(config.get("lambda", [])) > 1


def uses_kernel(config: Mapping[str, Any]) -> bool:
    """Whether the results of the solver ``config`` depend on the kernel; not if it learns on the inputs themselves."""
    return served(config["name"]).uses != "inputs"


def check_serves(name: str, task: str, kernel: str | Kernel) -> None:
    """ConfigError if the solver called ``name`` is not for this task or this kernel."""
    solver = served(name)
    instead: list[str] = []
    if task not in solver.tasks:  # only then, because this loads every solver
        instead = [each for each in BUILT_IN if served(each).uses == solver.uses and task in served(each).tasks]
    try:
        check_task(f"solver {name!r}", solver.tasks, task, instead[:1])
        if solver.uses != "features":
            check_kernel(name, solver.kernels, kernel)
    except ValueError as error:
        raise ConfigError(str(error), parameter=error.parameter if isinstance(error, NotServed) else "kernel") from None


def check_features(name: str, features: Any) -> None:
    """ConfigError if the solver called ``name`` does not take the features of the map ``features``."""
    if not makes_sparse(features):
        return
    instead = [each for each in BUILT_IN if served(each).sparse_cost is not None]
    try:
        check_sparse(f"solver {name!r}", served(name).sparse_cost is not None, type(features).__name__, instead)
    except NotServed as error:
        raise ConfigError(str(error), parameter=error.parameter) from None


def check_solver(config: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``config``, without its name, with the defaults of those that it omits. λ becomes a checked
    list; `make_solver` checks the other values. ConfigError for an unknown name or parameter."""
    name = config.get("name", "ridge")
    given = {key: value for key, value in config.items() if key != "name"}
    SOLVERS.check_names(name, given)
    if "lambda" in given:
        with SOLVERS.recipe(name, given).refusing():
            given["lambda"] = _penalties(given["lambda"], zero=name in ("ridge", "eigenpro"))
    return {**parameters(name), **given}


def _penalties(value: Any, zero: bool) -> list[float]:
    """λ as a list, from a number or a list of numbers. ``zero``: whether λ may be 0. YAML reads 1e-3 as text."""
    written = list(value) if isinstance(value, (list, tuple)) else [value]
    grid = [_number(each) for each in written]
    wrong = [
        each
        for each, number in zip(written, grid, strict=True)
        if not is_number(number) or number < 0 or not (number or zero)
    ]
    if wrong or not grid:
        needed = "a number, 0 or more" if zero else "a positive number"
        problem = f"must be {needed}, or a list of them, got {wrong[0] if wrong else value!r}"
        raise WrongParameter("lambda", problem)
    values = [float(number) for number in grid]
    often, count = Counter(values).most_common(1)[0]
    if count > 1:
        raise WrongParameter("lambda", f"gives {often:g} twice")
    return values


def _number(written: Any) -> Any:
    try:
        return float(written) if isinstance(written, str) else written
    except ValueError:
        return None


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """``config`` in a trial's spec: the name and all parameters of the solver, with defaults."""
    return {"name": config.get("name", "ridge"), **check_solver(config)}


def check_map(name: str, features: str) -> None:
    """ConfigError if the solver called ``name`` takes no feature map, but ``features`` names one; or if it needs one,
    and ``features`` is 'none'."""
    needs = True if name == NONE else SOLVERS.needs(name, "features")
    if features != NONE and needs is False:
        message = f"the solver {name} takes no feature map, and would not use {features}: write features: {NONE}"
        raise ConfigError(message, parameter="features")
    if features == NONE and needs:
        raise ConfigError(f"the solver {name} needs a feature map, not {NONE}", parameter="features")


def check_on_device(config: Mapping[str, Any], device: str, features: Any, map_name: str | None = None) -> None:
    """ConfigError if ``device`` does not run this solver, one of its parameters in ``config``, or the map
    ``features``."""
    from rffbench.features.base import FourierFeatures

    name, runs = config.get("name", "ridge"), [each for each in ON_DEVICE.names() if each != NONE]
    if name not in runs:
        raise ConfigError(f"{device} runs the solver {', '.join(runs)}, not {name}", parameter="device")
    known = ON_DEVICE.parameters(name)
    for key, default in parameters(name).items():
        if key not in known and config.get(key, default) != default:
            raise ConfigError(f"{device} runs {name} without {key}", parameter=key)
    if not isinstance(features, FourierFeatures):
        named = map_name or type(features).__name__
        raise ConfigError(f"device: {device} runs Fourier feature maps, not {named}", parameter="features")


def check_installed(config: Mapping[str, Any]) -> None:
    """ConfigError, with what to install, if the solver's library is missing. Making the solver does not need it, so
    that configs can be checked without."""
    if served(config["name"]).libraries:
        make_solver(config, task="classification").check_installed()


def make_solver(
    config: Mapping[str, Any], *, task: Task, features: Any = None, kernel: str | Kernel = "gaussian",
    gamma: float | None = 1.0, memory: int | None = None, n_features: int | None = None,
    random_state: RandomState = None, device: str = "cpu",
) -> Any:  # fmt: skip
    """The unfitted estimator for ``config``, {"name": …, parameters}, as `build_solver` makes it, and the check of all
    that a config says of it: ConfigError if that is wrong, or if the solver is not for this task, kernel or map."""
    name = config.get("name", "ridge")
    check_solver(config)
    check_serves(name, task, kernel)
    check_features(name, features)
    if device != "cpu":
        check_on_device(config, device, features)
    return build_solver(
        solver_recipe(config, device), task=task, features=features, kernel=kernel, gamma=gamma, memory=memory,
        n_features=n_features, random_state=random_state, device=device,
    )  # fmt: skip


def solver_recipe(config: Mapping[str, Any], device: str = "cpu") -> Recipe:
    """What builds the solver of ``config``, {"name": …, parameters}, on ``device``; ConfigError for an unknown name or
    parameter."""
    name, values = config.get("name", "ridge"), check_solver(config)
    if device == "cpu":
        return SOLVERS.recipe(name, values)
    return ON_DEVICE.recipe(name, {key: values[key] for key in ON_DEVICE.parameters(name)})


def build_solver(
    recipe: Recipe, *, task: Task, features: Any = None, kernel: str | Kernel = "gaussian", gamma: float | None = 1.0,
    memory: int | None = None, n_features: int | None = None, random_state: RandomState = None, device: str = "cpu",
) -> Any:  # fmt: skip
    """The unfitted estimator; ConfigError for a wrong value.

    ``features`` is the map that it applies; ``kernel`` and ``gamma`` are for solvers that use the kernel itself,
    ``n_features`` and ``random_state`` for those that draw their own features; ``memory`` is the budget in bytes.
    """
    common: dict[str, Any] = {
        "task": task, "features": features, "kernel": kernel, "gamma": gamma, "memory": memory,
        "n_features": n_features, "random_state": random_state,
    } | ({} if device == "cpu" else {"device": device})  # fmt: skip
    return recipe.build(**common)
