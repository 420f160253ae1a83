"""The catalogue of all feature maps, solvers, kernels and metrics with what they serve, as rows for listings and
pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rffbench import features, solvers
from rffbench.errors import ConfigError, unknown
from rffbench.features.hooks import hook
from rffbench.kernels import KERNELS, NAMED, kernel_class
from rffbench.kernels.served import kernels_served, needed, serves_kernel
from rffbench.plugins.parts import TASKS, printed
from rffbench.plugins.registry import NONE
from rffbench.trials.metrics import METRICS
from rffbench.trials.scores import SCORES, task_of

Row = dict[str, Any]
KEYS = ("kernel", "task")
"""The keys of ``wanted`` in `catalogue`."""


def catalogue(wanted: Mapping[str, str] | None = None) -> dict[str, list[Row]]:
    """The rows of 'maps', 'solvers', 'kernels' and 'metrics'; of ``wanted``, {'kernel': …, 'task': …}, those that serve
    it. ConfigError for another key, an unknown kernel or task."""
    kernel, task = _checked(wanted or {})
    rows = {"maps": maps(), "solvers": learners(), "kernels": kernels(), "metrics": metrics()}
    if kernel:
        rows["maps"] = [row for row in rows["maps"] if _serves(features.served, row["name"], kernel)]
        rows["solvers"] = [row for row in rows["solvers"] if _serves(solvers.served, row["name"], kernel)]
        rows["kernels"] = [_of_kernel(kernel)]
        rows["metrics"] = [row for row in rows["metrics"] if serves_kernel(METRICS[row["name"]].kernels, kernel)]
    if task:
        rows["solvers"] = [row for row in rows["solvers"] if task in row["tasks"]]
        rows["metrics"] = [row for row in rows["metrics"] if row["task"] in (None, task)]
    return rows


def _serves(served: Callable[[str], Any], name: str, kernel: str) -> bool:
    try:
        return name == NONE or serves_kernel(served(name).kernels, kernel)
    except ConfigError:  # what can't be loaded serves nothing
        return False


def maps() -> list[Row]:
    """Every feature map: the kernels it serves, whether it is biased, what it fits on, and its costs."""
    return [row | (_of_map(row["name"]) if row["name"] != NONE else _of_none()) for row in features.describe()]


def learners() -> list[Row]:
    """Every solver: what it learns on, the kernels and tasks it serves, and its cost."""
    return [row | _of_solver(row["name"]) for row in solvers.describe()]


def kernels() -> list[Row]:
    """Every kernel: its exact form, its parameters and traits, and the built-in maps and solvers that serve it."""
    return [_of_kernel(name) for name in NAMED.names() if name != NONE]


def _of_kernel(name: str) -> Row:
    kernel = kernel_class(name)
    bandwidth = {"sigma": None if kernel.scaled_by_data else 1.0, "gamma": None} if kernel.has_bandwidth else {}
    return {
        "name": name,
        "summary": NAMED.summary(kernel.name if kernel.name in KERNELS else name),
        "formula": kernel.formula,
        "parameters": {**bandwidth, **NAMED.defaults(kernel.name if kernel.name in KERNELS else name)},
        "traits": kernel.traits(),
        "maps": [each for each in features.FEATURES if serves_kernel(features.served(each).kernels, name)],
        "solvers": [each for each in solvers.BUILT_IN if serves_kernel(solvers.served(each).kernels, name)],
    }


def metrics() -> list[Row]:
    """Every metric: title, unit, better direction, and what it is of."""
    return [
        {
            "name": metric.name,
            "title": metric.title,
            "unit": metric.unit,
            "better": metric.better,
            "of": "predictions" if metric.score or metric.name in SCORES else "a map" if metric.measure else "a trial",
            "task": task_of(metric),
            "needs": getattr(SCORES.get(metric.name), "needs", metric.needs),
            "kernels": kernels_served(metric.kernels),
        }
        for metric in METRICS.values()
    ]


def in_words(row: Row) -> str:
    """What the part of a row serves, in one line."""
    kernels = "every kernel" if row.get("kernels") == list(KERNELS) else ", ".join(row.get("kernels", []))
    if "row_cost" in row:
        words = {True: "unbiased", False: f"biased: {row['bias']}".removesuffix(": ")}
        unbiased = words.get(row["unbiased"], f"unbiased {row['unbiased']}")
        sparse = "; sparse" if row["sparse"] else ""
        return f"{kernels}; {unbiased}; fits on {row['fits_on']}; a row costs {row['row_cost']}{sparse}"
    if "uses" in row and row["name"] != NONE:
        of = "" if row["uses"] in ("features", "inputs") else f" of {kernels}"
        return f"{' and '.join(row['tasks'])}; learns on {row['uses']}{of}{'; iterative' if row['iterative'] else ''}"
    if "traits" in row:
        return f"{row['formula']}; maps: {', '.join(row['maps']) or 'none'}"
    if "of" in row:
        task, unit = (f", {row[key]}" if row[key] else "" for key in ("task", "unit"))
        return f"of {row['of']}{task}{unit}{'; ' + row['better'] + ' is better' if row['better'] else ''}"
    return ""


def _of_map(name: str) -> Row:
    try:
        serves, factory = features.served(name), features.feature_class(name)
    except ConfigError:  # its summary says why it can't be loaded
        return _of_none()
    served = kernels_served(serves.kernels)
    unbiased: bool | str = f"if {serves.unbiased_if}" if serves.unbiased_if else not serves.bias
    if unbiased is True and hook(factory, "unbiased") is False:  # of another package
        unbiased = False
    return {
        "kernels": served,
        "needs": needed(serves.kernels),
        "unbiased": unbiased,
        "bias": serves.bias,
        "fits_on": serves.fits_on,
        "row_cost": printed(serves.row_cost),
        "fit_cost": printed(_sum(serves.fit_sums, serves.fit_cost)),
        "columns_per_frequency": _columns(name, served),
        "sparse": serves.sparse,
        "nests": list(serves.nests),
        "source": serves.source,
    }


def _columns(name: str, served: list[str]) -> int | None:
    try:
        made = features.make_features({"name": name}, kernel=served[0], gamma=1.0, n_features=8)
    except Exception:  # whatever a package's attributes may do where they are read
        return None
    return int(hook(made, "columns_per_frequency"))


def _of_none() -> Row:
    return {"kernels": list(KERNELS)}


def _of_solver(name: str) -> Row:
    try:
        serves = solvers.served(name)
    except ConfigError:
        return {"kernels": [], "tasks": []}
    cost = None if serves.cost is None else printed(_sum(serves.sums, serves.cost))
    return {
        "uses": "nothing" if name == NONE else serves.uses,
        "kernels": kernels_served(serves.kernels),
        "needs": needed(serves.kernels),
        "tasks": list(serves.tasks),
        "iterative": serves.iterative,
        "takes_sparse": serves.sparse_cost is not None,
        "cost": cost,
        "libraries": list(serves.libraries),
        "source": serves.source,
    }


def _sum(*formulas: str) -> str:
    return " + ".join(each for each in formulas if each != "0") or "0"


def _checked(wanted: Mapping[str, str]) -> tuple[str | None, str | None]:
    for key in wanted:
        if key not in KEYS:
            raise ConfigError(unknown("key of --for", key, KEYS))
    kernel, task = wanted.get("kernel"), wanted.get("task")
    if kernel is not None:
        try:
            kernel_class(kernel)
        except ValueError as error:
            raise ConfigError(str(error)) from None
    if task is not None and task not in TASKS:
        raise ConfigError(unknown("task", task, TASKS))
    return kernel, task
