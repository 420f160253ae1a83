"""Feature maps by name: the built-in ones, and those of packages with the entry point ``rffbench.features``.

An added class follows scikit-learn's transformer contract and takes ``n_components``, ``kernel``, ``gamma``
and ``random_state``. It may have ``columns_per_frequency`` (else 1) and ``check_parameters()``, which raises
ValueError.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from rffbench.errors import ConfigError, unknown
from rffbench.seeds import RandomState

FEATURES = {
    "fourier": "rffbench.features.fourier:RandomFourierFeatures",
    "qmc": "rffbench.features.qmc:QuasiMonteCarloFeatures",
    "leverage": "rffbench.features.leverage:LeverageScoreFeatures",
    "surrogate-leverage": "rffbench.features.leverage:SurrogateLeverageFeatures",
    "orthogonal": "rffbench.features.structured:OrthogonalRandomFeatures",
    "sorf": "rffbench.features.structured:StructuredOrthogonalFeatures",
    "fastfood": "rffbench.features.structured:FastfoodFeatures",
    "srht": "rffbench.features.sketched:SRHTFeatures",
    "countsketch-gaussian": "rffbench.features.sketched:CountSketchGaussianFeatures",
    "compact": "rffbench.features.compact:CompactFeatures",
    "tefm": "rffbench.features.tefm:TrainingEfficientFeatureMap",
    "nystroem": "rffbench.features.nystroem:NystroemFeatures",
    "perceptron": "rffbench.features.perceptron:PerceptronFeatures",
}
"""The built-in feature maps: name to dotted path, loaded when used."""

NONE = "none"
"""No feature map: for solvers that use the kernel itself, or draw features of their own."""

ENTRY_POINT_GROUP = "rffbench.features"

# What the experiment says about all methods alike, not a method's own config.
_COMMON = ("n_components", "kernel", "gamma", "random_state")


def registry() -> dict[str, str]:
    """Name to 'module:class' of every feature map there is; a built-in name can't be taken over."""
    added = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**added, **FEATURES}


def feature_class(name: str) -> Any:
    """The class of the feature map called ``name``; ConfigError, naming the nearest, where there is none."""
    known = FEATURES if name in FEATURES else registry()  # looking through installed packages takes 15 ms
    if name not in known:
        raise ConfigError(unknown("feature map", name, [*known, NONE]))
    module, _, attribute = known[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"feature map {name!r} cannot be loaded from {known[name]}: {error}") from error


def parameters(name: str) -> dict[str, Any]:
    """The feature map's own parameters and their defaults, as a config may set them."""
    if name == NONE:
        return {}
    signature = inspect.signature(feature_class(name))
    return {key: p.default for key, p in signature.parameters.items() if key not in _COMMON}


def make_features(
    config: dict[str, Any], *, kernel: str, gamma: float, n_features: int,
    count: Literal["frequencies", "columns"] = "frequencies", random_state: RandomState = None,
) -> Any:
    """The unfitted transformer that ``config``, {"name": …, own parameters …}, asks for; None for 'none'.

    ``n_features`` counts frequencies, or output columns with ``count='columns'``. Raises ConfigError for an
    unknown name or parameter, or a value that's wrong. Nothing is drawn here, so this is also the check.
    """
    own = {key: value for key, value in config.items() if key != "name"}
    if "name" not in config:
        raise ConfigError(f"a method's features need a name: one of {', '.join(registry())}")
    name = config["name"]
    known = parameters(name)
    for key in own:
        if key not in known:
            raise ConfigError(unknown(f"parameter of feature map {name!r}", key, known))
    if name == NONE:
        return None
    features = feature_class(name)(**own, kernel=kernel, gamma=gamma, random_state=random_state)
    columns = 1 if count == "columns" else getattr(features, "columns_per_frequency", 1)
    features.set_params(n_components=n_features * columns)
    if hasattr(features, "check_parameters"):
        try:
            features.check_parameters()
        except ValueError as error:
            raise ConfigError(f"feature map {name!r}: {error}") from error
    return features


def describe() -> list[dict[str, Any]]:
    """One row a feature map, for listings: name, class, its docstring's first line, its own parameters."""
    rows = []
    for name, path in registry().items():
        summary = (inspect.getdoc(feature_class(name)) or "").partition("\n")[0]
        rows.append({"name": name, "class": path, "summary": summary, "parameters": parameters(name)})
    return rows
