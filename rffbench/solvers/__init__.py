"""Solvers by name, for configs: what each one's parameters are, and how to build it.

A third-party package adds one through the entry-point group ``rffbench.solvers``: a factory that takes, by
keyword, ``task``, ``features``, ``kernel``, ``gamma``, ``n_features``, ``random_state``, ``memory`` and the
config's parameters, and whose attribute ``parameters`` maps their names to defaults. What it returns is a
scikit-learn estimator. It may have ``check_parameters()``, which raises ValueError where one is wrong. Once fitted
it has ``timing_``, seconds in 'feature_s', 'gram_s' and 'solve_s', and may have ``alpha_``, the λ it took,
``metrics_``, numbers that a table shows ('model_size', 'objective', …), and ``curves_``, columns of equal length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal

from rffbench.errors import ConfigError, unknown
from rffbench.seeds import RandomState

NONE = "none"  # the solver of an experiment that measures feature maps alone

Task = Literal["classification", "regression"]

RIDGE_PARAMETERS: dict[str, Any] = {
    "lambda": [0.05, 0.1, 0.5, 1.0],
    "folds": 5,
    "lambda_scale": "n",
    "center": True,
    "scoring": None,
    "path": False,
}
RIDGES = ("ridge", "kernel-ridge")
_KERNEL_RIDGE = {key: value for key, value in RIDGE_PARAMETERS.items() if key != "path"}

_SPARSE: dict[str, Any] = {
    "lambda": [1.0], "lambda_scale": 1, "steps": 100, "tol": 1e-2, "validation": 0.1, "target_score": None,
    "record": False,
}  # fmt: skip

# name: (module of the factory, its name, parameters and their defaults, one line)
_BUILT_IN: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "ridge": (
        "rffbench.solvers.ridge", "make_ridge", RIDGE_PARAMETERS,
        "ridge regression on the features, streamed over row blocks; lambda by k-fold cross-validation",
    ),
    "kernel-ridge": (
        "rffbench.solvers.kernel_ridge", "make_kernel_ridge", _KERNEL_RIDGE,
        "exact kernel ridge regression, the reference without features; n×n memory",
    ),
    "kernel-svm": (
        "rffbench.solvers.kernel_svm", "make_kernel_svm",
        {"loss": "squared-hinge", "C": 1.0, "bias": True, "tolerance": 1e-3, "cache": "200MB"},
        "exact support vector machine: squared hinge for every kernel, or hinge by LIBSVM; K is never held",
    ),
    "linear-svm": (
        "rffbench.solvers.linear_svm", "make_linear_svm",
        {"loss": "squared-hinge", "C": 1.0, "bias": 1.0, "method": "auto", "tolerance": 0.01},
        "linear support vector machine on the features: Newton steps on Z held or streamed, or LIBLINEAR",
    ),
    "sparse-rf": (
        "rffbench.solvers.sparse_rf", "make_sparse_rf", {**_SPARSE, "subproblem": "descent"},
        "sparse random features: n_features drawn in steps, each minimised over with an ℓ1 penalty, zeros dropped",
    ),
    "boosting": (
        "rffbench.solvers.boosting", "make_boosting", {**_SPARSE, "candidates": 100, "threshold": "surrogate"},
        "boosting: the steepest function at each step, then minimised over all with an ℓ1 penalty",
    ),
}  # fmt: skip


def _added() -> dict[str, Any]:
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    return {point.name: point for point in entry_points(group="rffbench.solvers")}


def solver_names() -> list[str]:
    """The names a config may give, built-in ones first."""
    return [*_BUILT_IN, *sorted(set(_added()) - set(_BUILT_IN)), NONE]


def parameters(name: str) -> dict[str, Any]:
    """The config parameters of solver ``name`` with their defaults. ConfigError for an unknown name."""
    if name == NONE:
        return {}
    if name in _BUILT_IN:
        return dict(_BUILT_IN[name][2])
    return dict(_factory(name).parameters)


def _entry_point(name: str) -> Any:
    added = _added()
    if name not in added:
        raise ConfigError(unknown("solver", name, solver_names()))
    return added[name]


def _factory(name: str) -> Any:
    """What the entry point ``name`` stands for; ConfigError where it cannot be loaded."""
    point = _entry_point(name)
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"solver {name!r} cannot be loaded from {point.value}: {error}") from error


def check_solver(config: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``config`` (without its name) completed by defaults and checked; builds nothing."""
    name = config.get("name", "ridge")
    known = parameters(name)
    given = {key: value for key, value in config.items() if key != "name"}
    for key in given:
        if key not in known:
            raise ConfigError(unknown(f"parameter of solver {name!r}:", key, known))
    complete = {**known, **given}
    if name in RIDGES:
        _check_ridge(name, complete)
    return complete


def _check_ridge(name: str, values: dict[str, Any]) -> None:
    def refuse(key: str, wanted: str) -> None:
        raise ConfigError(f"solver {name!r}: {key} must be {wanted}, got {values[key]!r}")

    grid = values["lambda"] if isinstance(values["lambda"], (list, tuple)) else [values["lambda"]]
    if not grid or not all(_is_number(value) and value > 0 for value in grid):
        refuse("lambda", "a positive number or a list of them")
    folds = values["folds"]
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        refuse("folds", "an integer of at least 2")
    if values["lambda_scale"] not in ("n", 1) or isinstance(values["lambda_scale"], bool):
        refuse("lambda_scale", "'n' (the penalty is n·λ) or 1 (it is λ)")
    if values["center"] not in (True, False, "target", "both"):
        refuse("center", "true, false, 'target' or 'both'")
    if values["scoring"] not in (None, "accuracy"):
        refuse("scoring", "null (λ by squared error) or 'accuracy'")
    if not isinstance(values.get("path", False), bool):
        refuse("path", "true (the test score at every λ too) or false")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value < float("inf")


def make_solver(
    config: Mapping[str, Any],
    *,
    task: Task,
    features: Any = None,
    kernel: str = "gaussian",
    gamma: float | None = 1.0,
    memory: int | None = None,
    n_features: int | None = None,
    random_state: RandomState = None,
) -> Any:
    """The unfitted estimator that ``config`` ({"name": …, parameters}) asks for; ConfigError if it is wrong.

    ``features`` is the map it applies; ``kernel`` and ``gamma`` are for solvers that use the kernel itself,
    ``n_features`` and ``random_state`` for those that draw features of their own; ``memory`` is its budget in bytes.
    """
    values = check_solver(config)
    name = config.get("name", "ridge")
    if task == "regression" and values.get("scoring") == "accuracy":
        raise ConfigError(f"solver {name!r}: scoring: accuracy is for classification; this task is a regression")
    factory: Callable[..., Any]
    if name in _BUILT_IN:
        module, function, *_ = _BUILT_IN[name]
        factory = getattr(import_module(module), function)
    else:
        factory = _factory(name)
    solver = factory(
        task=task, features=features, kernel=kernel, gamma=gamma, memory=memory, n_features=n_features,
        random_state=random_state, **values,
    )  # fmt: skip
    if hasattr(solver, "check_parameters"):
        try:
            solver.check_parameters()
        except ValueError as error:
            raise ConfigError(f"solver {name!r}: {error}") from error
    return solver


def describe() -> list[tuple[str, str, dict[str, Any]]]:
    """(name, one line, parameters with defaults) of every solver."""
    rows = []
    for name in solver_names():
        if name == NONE:
            line = "no learner: the feature maps are measured by themselves"
        else:
            line = _BUILT_IN[name][3] if name in _BUILT_IN else str(_entry_point(name).value)
        rows.append((name, line, parameters(name)))
    return rows
