"""Rows of a small table, and their results."""

from rffbench.report import frame
from tests.helpers import report_log as log

SCORES = {  # RFF and QMC are beaten by surrogate-RFF in every trial, by leverage-RFF in none
    "RFF": [70.0, 71.0, 72.0],
    "QMC": [70.5, 70.0, 71.0],
    "leverage-RFF": [69.0, 70.0, 70.0],
    "surrogate-RFF": [75.0, 75.5, 77.0],
}


def grid(scores=SCORES, **changes):
    return [
        log.ok(log.spec(method=method, trial=trial, **changes), score, feature_s=0.5 + trial / 100)
        for method, values in scores.items()
        for trial, score in enumerate(values)
    ]


def loaded(folder, rows, **config):
    return frame.load_results(log.write(folder / "run", log.config(**config), rows))
