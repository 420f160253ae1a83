"""The names of methods in tables and figures: a config's label, except for two names that would mislead.

The method that Liu et al. (2020) call "Ours" is shown as ``surrogate-RFF``, because it is not ours. The code that a
label calls "released" was published by a third party with another paper, and is shown as ``reweighted``. Configs, keys
and rows keep their labels; both names are understood everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SURROGATE = "surrogate-RFF"
REWEIGHTED = "reweighted"
STORED_VARIANT = "as-released"  # stands in rows and older configs for `variant: reweighted`
_REWEIGHTING = ("leverage", "surrogate-leverage")  # maps with that variant
MEANT_WITHOUT = {
    "sorf": {"lengths": "fixed"}, "nystroem": {"landmarks": "uniform"}, "tefm": {"sketch": "gaussian"},
}  # fmt: skip
"""Parameters of maps whose later default changes what the map does: their value in keys, rows and resolved configs
without them."""
_IN_EVERY_KEY = ("tefm",)  # maps that always had the parameter: keys contain it wherever a config gives it


def shown_label(label: str, features: Mapping[str, Any]) -> str:
    """The label under which a method with these ``features`` is shown: ``surrogate-RFF (reweighted)`` for
    ``Ours (released)``."""
    name = features.get("name")
    if name in _REWEIGHTING and stored_features(features).get("variant") == STORED_VARIANT:
        label = re.sub(r"\breleased\b", REWEIGHTED, label)
    return re.sub(r"^Ours(?![\w-])", SURROGATE, label) if name == "surrogate-leverage" else label


def shown_labels(features: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The shown label of every method, from their ``features``; the config's label if two would be the same."""
    shown = {label: shown_label(label, own) for label, own in features.items()}
    taken = [*shown.values()]
    return {label: each if taken.count(each) == 1 else label for label, each in shown.items()}


def shown_config(config: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any]:
    """A resolved config for display: methods under their ``shown`` labels, and variants by their current names."""
    methods = {shown[label]: _shown_method(own) for label, own in config["methods"].items()}
    found = {**config, "methods": methods}
    if isinstance(significance := config.get("significance"), Mapping) and significance.get("baselines"):
        baselines = [shown.get(label, label) for label in significance["baselines"]]
        found["significance"] = {**significance, "baselines": baselines}
    return found


def _shown_method(own: Mapping[str, Any]) -> dict[str, Any]:
    renamed = own.get("features") in _REWEIGHTING and own.get("variant") == STORED_VARIANT
    return {**own, "variant": REWEIGHTED} if renamed else dict(own)


def stored_features(features: Mapping[str, Any]) -> dict[str, Any]:
    """The features as in keys and rows of trials: ``as-released`` for ``variant: reweighted``, and without the values
    that keys imply."""
    name = str(features.get("name"))
    meant = {} if name in _IN_EVERY_KEY else MEANT_WITHOUT.get(name, {})
    stored = {key: value for key, value in features.items() if key not in meant or meant[key] != value}
    if name in _REWEIGHTING and stored.get("variant") == REWEIGHTED:
        stored["variant"] = STORED_VARIANT
    return stored
