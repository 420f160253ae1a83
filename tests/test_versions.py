"""A built-in map or solver that gives other numbers gets another version, so that no run takes old rows for its own."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.random import SeedSequence

from rffbench import RandomFourierFeatures
from rffbench.arguments.rowsource import dense_rows
from rffbench.errors import ConfigError
from rffbench.features import FEATURES, MAPS, make_features, served
from rffbench.features.dot_product import FEATURES as DOT_PRODUCT
from rffbench.kernels import kernel_class
from rffbench.kernels.served import kernels_served
from rffbench.solvers import SOLVERS, make_solver

PINS = Path(__file__).parent / "versions.json"  # of every name: its version, and the hash of what it gives
X = np.random.default_rng(0).uniform(size=(60, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1.0, -1.0)
TARGETS = {"classification": Y, "regression": X @ [1.0, -2.0, 0.5, 0.0] + X[:, 0] ** 2}
BUILT_IN = [("feature map", name) for name in FEATURES] + [("solver", name) for name in SOLVERS.built_in]


# An iteration that stops early leaves digits to the order of its sums: here it goes on until they are settled. The λ of
# ridge are given, because rows name theirs: other ones by default are no other version.
GIVEN = {
    "logistic": {"lambda": 0.1, "tolerance": 1e-9},
    "eigenpro": {"lambda": 0.1, "budget": {"tolerance": 1e-10}},
    "falkon": {"lambda": [0.05, 0.1, 0.5, 1.0], "budget": {"tolerance": 1e-12}},
    "pcg": {"lambda": [0.05, 0.1, 0.5, 1.0], "budget": {"tolerance": 1e-12}},
    "ridge": {"lambda": [0.05, 0.1, 0.5, 1.0]},
    "kernel-ridge": {"lambda": [0.05, 0.1, 0.5, 1.0]},
}
WITH_ALL_VALUES = dict.fromkeys(DOT_PRODUCT, "polynomial")  # kernels on which maps take every value of their parameters


def hashed(arrays, decimals):
    """Equal for arrays that are equal to so many decimals."""
    numbers = [np.round(array * 10**decimals).astype(np.int64) for array in arrays]
    return hashlib.sha256(b"".join(array.tobytes() for array in numbers)).hexdigest()[:16]


def of_map(name):
    """Of a map the kernel that it stands for, by default and with each value that a parameter may have."""
    return of_variants(
        name, [{}, *({key: value} for key, each in MAPS.parameters(name).items() for value in each.choices or ())]
    )


def of_variants(name, variants):
    kernel = WITH_ALL_VALUES.get(name) or kernels_served(served(name).kernels)[0]  # the Gaussian, where served
    kernels = []
    for own in variants:
        try:
            features = make_features(
                {"name": name, **own}, kernel=kernel, gamma=0.5 if kernel_class(kernel).has_bandwidth else 1.0,
                n_features=16, count="columns", random_state=SeedSequence(7),
            )  # fmt: skip
        except ConfigError:  # a value for other kernels
            continue
        Z = dense_rows(features.fit(X, Y).transform(X))
        kernels.append(Z @ Z.T)
    return hashed(kernels, 4)


def of_solver(name):
    """Of a solver what it predicts for each task that it has, with a map and without, where it has use for one."""
    needs, found = SOLVERS.needs(name, "features"), []
    for task, y in TARGETS.items():
        for mapped in [True] if needs else [False] if needs is False else [False, True]:
            features = RandomFourierFeatures(16, gamma=0.5, random_state=1) if mapped else None
            try:
                config = {"name": name, **GIVEN.get(name, {})}
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


def found(what, name):
    registry, of = (MAPS, of_map) if what == "feature map" else (SOLVERS, of_solver)
    versions = getattr(registry.factory(name), "versions", None)  # of values of its parameters
    return {"version": registry.made_by(name), **({"versions": versions} if versions else {}), "gives": of(name)}


def problem(name, pinned, now):
    """What is to be done where what a name gives, or its version, is not what is pinned."""
    if now == pinned:
        return None
    same_versions = pinned and all(now.get(key) == pinned.get(key) for key in ("version", "versions"))
    if same_versions and now["gives"] != pinned["gives"]:
        version = pinned["version"]
        change = f"if that is meant, set `version = {version + 1}` on its class or function"
        return f"{name} gives other numbers than its version {version} did: {change}"
    return f"write {json.dumps(now)} for {name!r} in {PINS.name}"


@pytest.mark.parametrize(("what", "name"), BUILT_IN)
def test_other_numbers_come_with_another_version(what, name, one_thread):
    assert problem(name, json.loads(PINS.read_text())[what].get(name), found(what, name)) is None


def test_sorf_of_fixed_lengths_has_the_numbers_of_before_there_was_a_choice(one_thread):
    assert of_variants("sorf", [{"lengths": "fixed"}]) == "19d30e6483ed2b45"
    assert of_variants("sorf", [{}]) == of_variants("sorf", [{"lengths": "chi"}]) != "19d30e6483ed2b45"


def test_orthogonal_and_activation_have_the_numbers_of_before_there_were_other_choices(one_thread):
    assert of_variants("orthogonal", [{}]) == of_variants("orthogonal", [{"lengths": "own"}]) == "45538ceb400d305b"
    weights = [{}] + [{"weights": each} for each in ("iid", "orthogonal", "sorf", "qmc")]
    assert of_variants("activation", weights) == "eb28fa756b87549c"


def test_every_pin_is_of_something_built_in():
    pins = json.loads(PINS.read_text())
    assert {(what, name) for what, names in pins.items() for name in names} == set(BUILT_IN)


def test_a_map_that_gives_other_numbers_under_its_old_version_is_found(monkeypatch):
    pinned = json.loads(PINS.read_text())["feature map"]["fourier"]
    fit = RandomFourierFeatures.fit

    def scaled(self, X, y=None):
        fit(self, X, y)
        self.frequencies_ *= 1.001
        return self

    monkeypatch.setattr(RandomFourierFeatures, "fit", scaled)
    now = found("feature map", "fourier")
    assert "fourier gives other numbers than its version 1 did" in problem("fourier", pinned, now)
    monkeypatch.setattr(RandomFourierFeatures, "version", 2, raising=False)
    assert problem("fourier", pinned, found("feature map", "fourier")).startswith('write {"version": 2')


@pytest.mark.parametrize(
    ("name", "before"), [("maclaurin", "99f46c3fa09f4e2d"), ("complex-to-real", "bad6ceb13d26fd91")]
)
def test_maps_of_projections_have_the_numbers_of_before_there_was_a_choice(name, before, one_thread):
    degrees = [{"degrees": each} for each in ("optimised", "truncated", "geometric", "product")]
    assert of_variants(name, [{}, *degrees]) == before


def test_tefm_and_tensor_sketch_have_the_numbers_of_before_there_were_other_choices(one_thread):
    sketches = [{"sketch": each} for each in ("gaussian", "srht", "countsketch", "none")]
    assert of_variants("tefm", [{}, *sketches]) == "fd2e53a491eb644f"
    degrees = [{"degrees": each} for each in MAPS.parameters("tensor-sketch")["degrees"].choices]
    assert of_variants("tensor-sketch", [{}, *degrees]) == "0d8b5b859ea1ebcd"
