"""How many of 512 columns are distinct, where frequencies are drawn again? python -m scripts.distinct_columns

Leverage and surrogate features, as written, draw frequencies with replacement: some come twice, and others not at all.
Their maps of the first trial of results/board are made again, on every dataset, from the same random numbers and with
the σ that was chosen, and the columns are counted that differ from all others: results/board/distinct-columns.csv,
which the board's page shows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from rffbench.features.base import fitted_map
from rffbench.report.frame import load_results
from rffbench.trials.problem import Problem
from studies.board.draws import DISTINCT
from studies.board.registered import COLUMNS, DRAWS

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "results" / "board"


def count(folder: Path = FOLDER) -> pd.DataFrame:
    """A row for each dataset and draw: dataset, method, columns, and how many of these are distinct."""
    results = load_results(folder)
    first = results.trials[results.trials["trial"] == 0].set_index(["dataset", "method", "n_features"])["gamma"]
    rows = []
    for spec in results.grid.specs():
        if spec.trial or spec.n_features != COLUMNS or spec.method not in DRAWS:
            continue
        gamma = float(first[spec.dataset, spec.method, COLUMNS])
        spec = replace(spec, kernel={"name": spec.kernel["name"], "gamma": gamma}, measures=[])
        problem = Problem.of(spec)
        features = fitted_map(problem.features(spec), problem.split.X_train, problem.targets, problem.learnt)
        found = features.distinct()
        rows.append([spec.dataset, spec.method, COLUMNS, found.features.n_components if found else COLUMNS])
        print(*rows[-1], flush=True)
    return pd.DataFrame(rows, columns=["dataset", "method", "columns", "distinct"])


if __name__ == "__main__":
    count().to_csv(FOLDER / DISTINCT, index=False, lineterminator="\n")
