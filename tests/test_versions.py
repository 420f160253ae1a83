"""A built-in map or solver that gives other numbers gets another version, so that no run takes old rows for its own."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.random import SeedSequence

from rffbench import RandomFourierFeatures
from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.rowsource import dense_rows
from rffbench.errors import ConfigError
from rffbench.features import FEATURES, MAPS, make_features, served
from rffbench.features.dot_product import FEATURES as DOT_PRODUCT
from rffbench.kernels import kernel_class
from rffbench.kernels.served import kernels_served
from rffbench.plugins.later import of_row
from rffbench.solvers import SOLVERS, make_solver

PINS = Path(__file__).parent / "versions.json"
"""Of every name: its version, its parameters' defaults, and the hash of what it gives with them, and with each value
that a parameter may have in place of one of them."""
X = np.random.default_rng(0).uniform(size=(60, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1.0, -1.0)
TARGETS = {"classification": Y, "regression": X @ [1.0, -2.0, 0.5, 0.0] + X[:, 0] ** 2}
BUILT_IN = [("feature map", name) for name in FEATURES] + [("solver", name) for name in SOLVERS.built_in]


# An iteration that stops early leaves digits to the order of its sums: here it goes on until they are settled.
GIVEN = {
    "logistic": {"lambda": 0.1, "tolerance": 1e-9},
    "eigenpro": {"lambda": 0.1, "budget": {"tolerance": 1e-10}},
    "askotch": {"lambda": 0.1, "budget": {"tolerance": 1e-10}},
    "falkon": {"lambda": [0.05, 0.1, 0.5, 1.0], "budget": {"tolerance": 1e-12}},
    "pcg": {"lambda": [0.05, 0.1, 0.5, 1.0], "budget": {"tolerance": 1e-12}},
}
WITH_ALL_VALUES = dict.fromkeys(DOT_PRODUCT, "polynomial")  # kernels on which maps take every value of their parameters


def hashed(arrays, decimals):
    """Equal for arrays that are equal to so many decimals."""
    numbers = [np.round(array * 10**decimals).astype(np.int64) for array in arrays]
    return hashlib.sha256(b"".join(array.tobytes() for array in numbers)).hexdigest()[:16]


def variants(registry, name):
    """The parameters besides the defaults: none, and one value at a time of those that a parameter may have."""
    if registry is SOLVERS:
        return {"by default": {}}
    choices = {key: each.choices or () for key, each in registry.parameters(name).items()}
    return {"by default": {}} | {
        f"with {key}: {value}": {key: value} for key, values in choices.items() for value in values
    }  # fmt: skip


def of_map(name, own):
    """Of a map the kernel that it stands for."""
    kernel = WITH_ALL_VALUES.get(name) or kernels_served(served(name).kernels)[0]  # the Gaussian, where served
    features = make_features(
        of_row({"name": name, **own}), kernel=kernel, n_features=16, count="columns",
        gamma=0.5 if kernel_class(kernel).has_bandwidth else 1.0, random_state=SeedSequence(7),
    )  # fmt: skip
    Z = dense_rows(features.fit(X, Y).transform(X))
    return hashed([Z @ Z.T], 4)


def of_solver(name, own):
    """Of a solver what it predicts for each task that it has, with a map and without, where it has use for one."""
    needs, found = SOLVERS.needs(name, "features"), []
    for task, y in TARGETS.items():
        for mapped in [True] if needs else [False] if needs is False else [False, True]:
            features = RandomFourierFeatures(16, gamma=0.5, random_state=1) if mapped else None
            try:
                config = {"name": name, **own, **GIVEN.get(name, {})}
                solver = make_solver(
                    config, task=task, features=features, kernel="gaussian", gamma=0.5, n_features=100,
                    random_state=SeedSequence(7),
                )  # fmt: skip
            except ConfigError:  # not for this task
                continue
            solver.fit(X, y)
            found.append(np.asarray((solver.decision_function if task == "classification" else solver.predict)(X)))
    assert found, f"{name} is for no task"
    return hashed(found, 3)


def pin(what, name, defaults=None):
    """What is to be pinned of a name, with its parameters' defaults or with these."""
    registry, of = (MAPS, of_map) if what == "feature map" else (SOLVERS, of_solver)
    defaults = registry.defaults(name) if defaults is None else defaults
    gives = {}
    for label, own in variants(registry, name).items():
        with suppress(ConfigError, WrongParameter):  # a value for other kernels, or for more inputs
            gives[label] = of(name, {**defaults, **own})
    versions = getattr(registry.factory(name), "versions", None)  # of values of its parameters
    of_values = {"versions": versions} if versions else {}
    return {"version": registry.made_by(name), **of_values, "defaults": defaults, "gives": gives}


def problem(what, name, pinned):
    """What is to be done where what a name gives, its defaults or its version are not what is pinned."""
    now = pin(what, name)
    if now == pinned:
        return None
    write = f"write {json.dumps(now)} for {name!r} in {PINS.name}"
    if not pinned or any(now.get(key) != pinned.get(key) for key in ("version", "versions")):
        return write
    then = now if now["defaults"] == pinned["defaults"] else pin(what, name, pinned["defaults"])
    changed = [label for label, gave in pinned["gives"].items() if then["gives"].get(label, gave) != gave]
    if not changed:
        return f"{name} gives the same numbers, only its defaults or values are others: {write}"
    version = pinned["version"]
    return (
        f"{name} gives other numbers than its version {version} did {', '.join(changed)}: if that is meant, set "
        f"`version = {version + 1}` on its class or function, or the version of that value alone in `versions`"
    )


@pytest.mark.parametrize(("what", "name"), BUILT_IN)
def test_other_numbers_come_with_another_version(what, name, one_thread):
    assert problem(what, name, json.loads(PINS.read_text())[what].get(name)) is None


def test_every_pin_is_of_something_built_in():
    pins = json.loads(PINS.read_text())
    assert {(what, name) for what, names in pins.items() for name in names} == set(BUILT_IN)


def test_a_map_that_gives_other_numbers_under_its_old_version_is_found(monkeypatch):
    pinned = json.loads(PINS.read_text())["feature map"]["fourier"]
    fit = RandomFourierFeatures.fit

    def scaled(self, X, y=None):
        fit(self, X, y)
        if self.form == "offset":
            self.frequencies_ *= 1.001
        return self

    monkeypatch.setattr(RandomFourierFeatures, "fit", scaled)
    told = problem("feature map", "fourier", pinned)
    assert "fourier gives other numbers than its version 1 did with form: offset: if" in told
    monkeypatch.setattr(RandomFourierFeatures, "version", 2, raising=False)
    assert problem("feature map", "fourier", pinned).startswith('write {"version": 2')


def test_another_default_is_pinned_anew_and_is_no_other_version(one_thread):
    """Keys contain every parameter with its value: rows of the earlier default are still rows of that value."""
    before = pin("feature map", "sorf", {**MAPS.defaults("sorf"), "rotation": "structured", "lengths": "fixed"})
    assert before["gives"]["by default"] != pin("feature map", "sorf")["gives"]["by default"]
    told = problem("feature map", "sorf", before)
    assert told.startswith('sorf gives the same numbers, only its defaults or values are others: write {"version": 1, ')
