"""Feature maps by name: built-in ones, those of packages with the entry point ``rffbench.features``, and classes in the
user's own files (``./mine.py:MyFeatures``).

An added class follows scikit-learn's transformer contract. Its constructor takes ``n_components``, and those of
``kernel``, ``gamma`` and ``random_state`` that it uses; a config may set its other parameters
(`rffbench.plugins.registry`). It may have ``columns_per_frequency`` (1 without) and ``check_parameters()``, which
raises ValueError. ``random_state`` is a whole number, as scikit-learn takes it. A subclass of
`rffbench.features.base.FeatureMap` gets the stream itself, so that it is paired with the built-in maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from numpy.random import SeedSequence

from rffbench.arguments.parameters import check_count
from rffbench.arguments.seeds import RandomState
from rffbench.errors import ConfigError
from rffbench.features import (
    activation,
    binning,
    data_dependent,
    dot_product,
    fourier,
    quadrature,
    structured,
    weighted,
)
from rffbench.features.hooks import hook
from rffbench.kernels import Kernel
from rffbench.kernels.served import check_kernel
from rffbench.plugins.parts import MapServes, declared
from rffbench.plugins.recipe import Recipe
from rffbench.plugins.registry import NONE, Registry

FAMILIES = (fourier, quadrature, weighted, structured, data_dependent, activation, binning, dot_product)
"""The folders of built-in maps; each has a table FEATURES."""

FEATURES = {name: place for family in FAMILIES for name, place in family.FEATURES.items()}
"""The built-in feature maps: name in configs to ``module:Class``."""

ENTRY_POINT_GROUP = "rffbench.features"

MAPS = Registry(
    "feature map", FEATURES, ENTRY_POINT_GROUP, common=("n_components", "kernel", "gamma", "random_state"),
    none="No feature map: for solvers that use the kernel itself, or draw their own features.", own_files=True,
)  # fmt: skip

feature_class = MAPS.factory
parameters = MAPS.defaults
describe = MAPS.describe


def make_features(
    config: dict[str, Any], *, kernel: str | Kernel, gamma: float, n_features: int, count: Literal["frequencies",
    "columns"] = "frequencies", random_state: RandomState = None,
) -> Any:  # fmt: skip
    """The unfitted transformer for ``config``, as `build_map` makes it, and the check of all that a config says of it:
    ConfigError for an unknown name or parameter, a wrong value, or a kernel that the map does not serve. Nothing is
    drawn."""
    if (recipe := map_recipe(config)) is not None:
        check_serves(recipe.name, kernel)
    return build_map(
        recipe, kernel=kernel, gamma=gamma, n_features=n_features, count=count, random_state=random_state
    )  # fmt: skip


def map_recipe(config: Mapping[str, Any]) -> Recipe | None:
    """What builds the map of ``config``, {"name": …, its parameters …}; None for 'none'. ConfigError for an unknown
    name or parameter."""
    own = {key: value for key, value in config.items() if key != "name"}
    if "name" not in config:
        raise ConfigError(f"a method's features need a name: one of {', '.join(MAPS.names())}")
    name = config["name"]
    MAPS.check_names(name, own)
    return None if name == NONE else MAPS.recipe(name, own)


def build_map(
    recipe: Recipe | None, *, kernel: str | Kernel, gamma: float, n_features: int, count: Literal["frequencies",
    "columns"] = "frequencies", random_state: RandomState = None,
) -> Any:  # fmt: skip
    """The unfitted transformer; None without a recipe. ``n_features`` counts frequencies or columns, by ``count``; the
    map's ``n_components`` are its output columns. ConfigError for a wrong value."""
    if recipe is None:
        return None

    def size(features: Any) -> None:
        if MAPS.is_own(recipe.name):
            _check_is_map(features)
        columns = 1 if count == "columns" else hook(features, "columns_per_frequency")
        check_count("columns_per_frequency", columns, least=1)
        features.set_params(n_components=n_features * columns)

    state = _random_state(recipe.factory, random_state)
    return recipe.build(size, kernel=kernel, gamma=gamma, random_state=state)


def known_defaults(name: str) -> dict[str, Any]:
    """The parameters of a built-in map with their defaults, which resolved configs and keys contain. Empty for other
    maps: the key has the hash of their code, which fixes their defaults."""
    return MAPS.defaults(name) if name in MAPS.built_in else {}


def served(name: str) -> MapServes:
    """The ``serves`` of the map called ``name``."""
    found = hook(MAPS.factory(name), "serves")
    return found if isinstance(found, MapServes) else MapServes()


def check_serves(name: str, kernel: str | Kernel) -> None:
    """ConfigError if the map called ``name`` does not serve ``kernel``."""
    try:
        check_kernel(name, served(name).kernels, kernel)
    except ValueError as error:
        raise ConfigError(str(error), parameter="kernel") from None


def _random_state(factory: Any, random_state: RandomState) -> RandomState:
    """``random_state`` for the class ``factory``: for maps of other packages a stream becomes a whole number, which
    scikit-learn's ``check_random_state`` takes."""
    from rffbench.features.base import FeatureMap

    if not isinstance(random_state, SeedSequence) or (isinstance(factory, type) and issubclass(factory, FeatureMap)):
        return random_state
    return int(random_state.generate_state(1)[0])


def _check_is_map(features: Any) -> None:
    """ValueError unless ``features`` has the methods of a scikit-learn transformer, and ``n_components``."""
    if missing := [each for each in ("fit", "transform", "get_params", "set_params") if not declared(features, each)]:
        base = "derive the class from sklearn.base.TransformerMixin and sklearn.base.BaseEstimator, and give it fit(X, "
        raise ValueError(f"has no {', '.join(missing)}: {base}y=None) and transform(X)")
    if "n_components" not in features.get_params():
        raise ValueError("its constructor has no n_components, the number of columns that transform(X) gives")
