"""A made-up board, of which the site shows what is known: how much smaller each method's loss is."""

import numpy as np
import pandas as pd

from rffbench.report.site.parts import Part

DATASETS = ("eeg", "magic04", "letter", "kin8nm")
FACTORS = {"RFF": 1.0, "QMC": 0.8, "SRHT": 1.25, "linear": 2.0}
"""What each method's loss is over that of RFF."""


def made_up(name="board"):
    """A board of two maps beside RFF and a learner without a map, two sizes and three trials."""
    rng = np.random.default_rng(0)
    rows = []
    for dataset in DATASETS:
        for trial in range(3):
            noise = 1 + 0.01 * rng.normal()
            for method, factor in FACTORS.items():
                for columns in (1,) if method == "linear" else (128, 512):
                    loss = 0.1 * factor * noise * (128 / max(columns, 128)) ** 0.2 * (1 + 0.005 * rng.normal())
                    cost = np.nan if method == "linear" else columns / 512 * (2 if method == "QMC" else 1)
                    rows.append((dataset, columns, method, trial, loss, False, cost, cost))
    columns = ["dataset", "n_features", "method", "trial", "loss", "failed", "fit", "memory"]
    maps = {"RFF": {"name": "fourier"}, "QMC": {"name": "qmc"}, "SRHT": {"name": "srht"}, "linear": {"name": "none"}}
    methods = {label: {"features": each["name"]} for label, each in maps.items()}
    config = {"kernel": {"name": "gaussian"}, "methods": methods, "preprocess": {"default": ["standard"]}}
    return Part(name, "A made-up board", pd.DataFrame(rows, columns=columns), config, maps)
