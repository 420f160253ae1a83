"""Feature maps by name: what a config may ask, and what it is told when it asks for something else."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from rffbench import features
from rffbench.errors import ConfigError
from rffbench.features import FEATURES, describe, make_features, parameters, served
from rffbench.kernels import IsotropicKernel, kernel_class, with_trait
from rffbench.kernels.served import kernels_served
from rffbench.plugins import registry


def make(config, n_features=8, **kwargs):
    common = {"kernel": "laplacian", "gamma": 0.5, "random_state": 3}
    return make_features(config, n_features=n_features, **common, **kwargs)


def kernel_of(name):
    return kernels_served(served(name).kernels)[0]


@pytest.mark.parametrize("name", FEATURES)
def test_every_built_in_map_is_made_with_its_defaults(name):
    kernel, config = kernel_of(name), {"name": name}
    gamma = 0.5 if kernel_class(kernel).has_bandwidth else 1.0
    made = make_features(config, n_features=16, count="columns", kernel=kernel, gamma=gamma, random_state=3)
    assert (made.n_components, made.kernel, made.gamma, made.random_state) == (16, kernel, gamma, 3)
    assert {key: getattr(made, key) for key in parameters(name)} == parameters(name)


def test_the_families_tables_import_no_map():
    program = "import sys, rffbench.features; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = done.stdout.split()
    assert "rffbench.features.quadrature" in imported
    assert not {place.partition(":")[0] for place in FEATURES.values()} & set(imported)


def test_n_features_counts_frequencies_or_columns():
    assert make({"name": "fourier"}).n_components == 16
    assert make({"name": "fourier", "form": "offset"}).n_components == 8
    assert make({"name": "fourier"}, count="columns").n_components == 8
    with pytest.raises(ConfigError, match="n_components must be even"):
        make({"name": "qmc"}, n_features=7, count="columns")


@pytest.mark.parametrize("name", ["compact", "tefm", "nystroem", "activation", "perceptron"])
def test_a_frequency_is_a_column_where_columns_are_not_pairs(name):
    kernel = kernel_of(name)
    assert make_features({"name": name}, n_features=7, kernel=kernel, gamma=1.0).n_components == 7


@pytest.mark.parametrize("name", ["orthogonal", "simplex", "sorf", "rom", "fastfood"])
def test_maps_of_uniform_directions_take_isotropic_kernels_alone(name):
    config = {"name": name}
    for kernel in with_trait(IsotropicKernel):
        assert make_features(config, n_features=7, kernel=kernel, gamma=1.0).n_components == 14
    with pytest.raises(ConfigError, match=f"^{name} needs a kernel with an isotropic density; laplacian has none; "):
        make(config)


def test_parameters_reach_the_map():
    made = make({"name": "surrogate-leverage", "form": "eq12", "variant": "reweighted", "pool": 2.0})
    assert (made.form, made.variant, made.pool) == ("eq12", "reweighted", 2.0)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "need a name: one of fourier, moment-matching, low-precision, "),
        ({"name": "forier"}, r"unknown feature map 'forier'.*did you mean 'fourier'"),
        ({"name": "qmc", "sequnce": "sobol"}, r"parameter of feature map 'qmc': 'sequnce'.*mean 'sequence'"),
        ({"name": "fourier", "gamma": 2.0}, r"no parameter 'gamma' in a config: use kernel: \{gamma: …\}"),
        ({"name": "qmc", "n_components": 64}, "no parameter 'n_components' in a config: use n_features"),
        ({"name": "leverage", "variant": "written"}, "'leverage': variant must be one of 'as-written'"),
        ({"name": "leverage", "pool": 0.5}, "'leverage': pool must be a multiple of s, a number of 1 or more"),
        ({"name": "fourier", "pool": 2}, "unknown parameter of feature map 'fourier': 'pool'"),
        ({"name": "compact", "expansion": 0.5}, "'compact': expansion must be a number, 1 or more, to make at least"),
        ({"name": "tefm", "expansion": 0.9}, "'tefm': expansion must be a number, 1 or more, to make at least the 8"),
        ({"name": "tefm", "power": -1}, "'tefm': power must be a whole number, 0 or more, got -1"),
        ({"name": "tefm", "power": 0.5}, "'tefm': power must be a whole number, 0 or more, got 0.5"),
        ({"name": "tefm", "sketch": "srtt"}, "'tefm': sketch must be one of 'auto', 'gaussian', 'srht', 'countsketch'"),
    ],
)
def test_what_is_wrong_in_a_config_is_named_with_what_would_be_right(config, message):
    with pytest.raises(ConfigError, match=message):
        make(config)


def test_a_package_adds_a_map_by_entry_point_and_cannot_replace_a_built_in_one(monkeypatch):
    target = "sklearn.kernel_approximation:Nystroem"
    points = [
        EntryPoint("added", target, features.ENTRY_POINT_GROUP),
        EntryPoint("fourier", target, features.ENTRY_POINT_GROUP),
        EntryPoint("broken", "no_such_module:Map", features.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    made = make({"name": "added", "degree": 2}, n_features=9)
    assert type(made).__name__ == "Nystroem"
    assert (made.n_components, made.degree) == (9, 2)
    assert type(make({"name": "fourier"})).__name__ == "RandomFourierFeatures"
    with pytest.raises(ConfigError, match="'broken' cannot be loaded from no_such_module:Map"):
        make({"name": "broken"})


def test_a_built_in_map_costs_no_look_through_the_installed_packages(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda group: pytest.fail("looked"))
    assert type(make({"name": "leverage", "score_lambda": 0.1})).__name__ == "LeverageScoreFeatures"


def test_describe_lists_each_map_with_a_summary_and_its_parameters():
    rows = {row["name"]: row for row in describe()}
    assert set(rows) >= {*FEATURES, "none"}
    assert all(rows[name]["summary"].endswith(".") for name in FEATURES)
    assert rows["leverage"]["parameters"]["score_lambda"] == 0.05
