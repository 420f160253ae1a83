"""A results folder of paths of λ: features that are longer by a known factor."""

import numpy as np

from tests.helpers import report_log as log

LAMBDAS = np.logspace(-6, 2, 17)
LENGTH = 1e3  # Ours' features are √LENGTH times as long as RFF's


def path(scale, dimension=True):
    """A path of λ of features that are √scale times as long: the score depends on the effective dimension alone."""
    d = 20 / (1 + (LAMBDAS / scale) ** 0.2)
    curves = {"lambda": LAMBDAS, "effective_lambda": LAMBDAS / scale, "accuracy": 90 - np.square(np.log(d))}
    if dimension:
        curves |= {"median_lambda": LAMBDAS / scale**2, "effective_dimension": d}
    return {name: values.tolist() for name, values in curves.items()}


def folder(tmp_path, **changes):
    rows = []
    for trial in range(3):
        for method, scale in (("RFF", 1.0), ("surrogate-RFF", LENGTH)):
            row = log.ok(log.spec(method=method, trial=trial), 80.0)
            row["metrics"]["effective_lambda"] = 1e-3 / scale
            rows.append(row | {"curves": path(scale, **changes), "lambda": float(LAMBDAS[6])})
    methods = {name: log.METHODS[name] for name in ("RFF", "surrogate-RFF")}
    return log.write(tmp_path / "run", log.config(methods=methods), rows)
