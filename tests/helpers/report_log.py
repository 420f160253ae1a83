"""Synthetic results folders for the report's tests."""

import json
from pathlib import Path

import pandas as pd
import yaml

from rffbench.report.frame import Results
from rffbench.trials.metrics import METRICS
from rffbench.trials.spec import TrialResult, TrialSpec, key_of

METHODS = {
    "RFF": {"features": "fourier"},
    "QMC": {"features": "qmc", "sequence": "halton"},
    "leverage-RFF": {"features": "leverage", "variant": "as-written"},
    "surrogate-RFF": {"features": "surrogate-leverage", "variant": "as-written"},
}
SOLVER = {"name": "ridge", "lambda": [0.01, 0.05, 0.5], "folds": 5}


def config(**changes):
    """A resolved config: one dataset of d = 14 at one size, four methods, three trials, timed alone."""
    return {
        "name": "synthetic",
        "title": "A synthetic experiment",
        "datasets": ["eeg"],
        "preprocess": ["minmax"],
        "kernel": {"name": "gaussian", "gamma": 0.5},
        "n_features": ["1d"],
        "methods": METHODS,
        "solver": SOLVER,
        "trials": 3,
        "seed": 0,
        "timing": "features",
        **changes,
    }


def spec(dataset="eeg", method="RFF", multiple=1, trial=0, n_features=None, **changes):
    features = dict(METHODS[method])
    return TrialSpec(
        **{
            "dataset": dataset,
            "data_hash": "0" * 64,
            "method": method,
            "trial": trial,
            "seed": 0,
            "n_features": 14 * multiple if n_features is None else n_features,
            "multiple": multiple,
            "features": {"name": features.pop("features"), **features},
            "solver": SOLVER,
            "kernel": {"name": "gaussian", "gamma": 0.5},
            "preprocess": ["minmax"],
            "timing": "features",
            **changes,
        }
    )


def ok(spec, score, *, metric="accuracy", feature_s=0.5, kernel_error=0.1, contended=False):
    """The row of a finished trial."""
    timing = {"feature_s": feature_s, "fit_s": 0.2, "predict_s": 0.1, "contended": contended}
    metrics = {
        name: value for name, value in {metric: score, "kernel_error": kernel_error}.items() if value is not None
    }
    return TrialResult(spec, "ok", metrics, timing, 10**9, 0.05).to_row()


def lost(spec, status):
    """The row of a trial that did not finish."""
    return TrialResult.failed(spec, status, "Lost", "it was lost").to_row()


def results(rows, config, folder=Path("run")):
    """Results from rows of (dataset, n_features, method, trial, {metric: value}), without a log."""
    trials = pd.DataFrame(
        [
            {
                "dataset": dataset,
                "n_features": n,
                "multiple": None,
                "method": method,
                "trial": trial,
                "status": "ok",
                "contended": False,
                **dict.fromkeys(METRICS),
                **measured,
            }
            for dataset, n, method, trial, measured in rows
        ]
    )
    trials = trials.astype({"multiple": "Int64", **dict.fromkeys(METRICS, float)})
    return Results(folder, config, trials, pd.DataFrame())


def keyed(row):
    """The row with the key that its fields have: tests change fields of rows."""
    return {**row, "key": key_of(row)} if row else row


def write(folder, config, rows):
    """A results folder with this config and log; the keys are those of the rows' fields."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    (folder / "trials.jsonl").write_text("".join(json.dumps(keyed(row) if row else row) + "\n" for row in rows))
    return folder
