"""Predictions for new rows by a model that `fit` wrote, which is checked before it is loaded."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rffbench.errors import ConfigError
from rffbench.fit.table import read_new
from rffbench.fit.writing import CARD, FORMAT, MODEL, SKOPS, trusted_types, versions

Tell = Callable[[str], object]
READING = {"columns", "targets", "header", "width", "decimal", "thousands", "missing"}  # of `rffbench.data.tables`


def load(path: Path, tell: Tell) -> tuple[Any, dict[str, Any]]:
    """The model at ``path``, a file or its folder, and its card. ConfigError, before anything is loaded, if it is not
    one of `fit`, or was made by other versions."""
    if path.is_dir():
        path = path / MODEL
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; give the model.joblib that rffbench fit wrote")
    card = _card(path)
    of_file = path.with_name(SKOPS) if SKOPS in card["sha256"] and path.with_name(SKOPS).is_file() else path
    if card["sha256"].get(of_file.name) != hashlib.sha256(of_file.read_bytes()).hexdigest():
        raise ConfigError(
            f"{of_file}: is not the file that {CARD} beside it describes, so it was not loaded; run rffbench fit again"
        )
    _check_versions(path, card["versions"])
    if of_file.name == SKOPS:
        from skops import io

        return io.load(of_file, trusted=trusted_types(of_file)), card
    import joblib

    tell(f"loading {path.name}, a pickle, which runs the code that it names: right only if you trust who made it")
    return joblib.load(path), card


def _card(path: Path) -> dict[str, Any]:
    refused = (
        "so it was not loaded: a joblib file is a pickle, and loading it runs any code that it holds. If you trust who "
        "made it, load it in Python: joblib.load"
    )
    beside = path.with_name(CARD)
    if not beside.is_file():
        raise ConfigError(f"{path}: is not known to be a model of rffbench fit, as {CARD} is not beside it, {refused}")
    try:
        card = json.loads(beside.read_text(encoding="utf-8"))
        for key, kind in {"versions": dict, "sha256": dict, "reading": dict, "target": list}.items():
            if not isinstance(card[key], kind):
                raise TypeError(key)
        if not card["reading"].keys() >= READING or not isinstance(card["classes"], list | None):
            raise KeyError("reading")
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{beside}: is not the description of a model of rffbench fit, {refused}") from None
    if card.get("format") != FORMAT:
        made = card["versions"].get("rffbench", "another version")
        raise ConfigError(f"{path}: is of another format, made by rffbench {made}; fit the model again")
    found: dict[str, Any] = card
    return found


def _check_versions(path: Path, made: dict[str, str]) -> None:
    here = versions()
    for name, version in here.items():
        if made.get(name) != version:
            raise ConfigError(
                f"{path}: was made with {name} {made.get(name)}, and here is {version}: pickles of one do not fit the "
                f"other. Install {name}=={made.get(name)}, or fit the model again: rffbench fit, or python model.py"
            )


def predict(
    model: Any, card: dict[str, Any], path: Path, tell: Tell, given: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """The predictions for the rows of a file: labels and a probability for each class, or values. ``given`` are options
    of how the file is written; without them it is read as the model's table was."""
    inputs, notes = read_new(path, card["reading"], given or {})
    for each in notes:
        tell(each)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = np.asarray(model.predict(inputs))
    if any("unknown categories" in str(each.message) for each in caught):
        tell("some texts are new to the model: they count as none of those that it knows")
    if card["classes"] is None:
        return pd.DataFrame(found.reshape(len(inputs), -1), columns=card["target"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        P = np.asarray(model.predict_proba(inputs))
    likeliest = np.asarray(card["classes"])[P.argmax(axis=1)]
    if getattr(model[-1], "class_weight", None) == "balanced" and (found.astype(str) != likeliest).any():
        tell(
            "as a class is rare, a label is the class that is more probable in the row than among all rows, and not "
            "always the likeliest"
        )
    result = pd.DataFrame({card["target"][0]: found})
    for at, label in enumerate(card["classes"]):
        result[f"prob_{label}"] = P[:, at]
    return result
