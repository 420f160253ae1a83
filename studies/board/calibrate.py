"""How often are the board's verdicts right? python -m studies.board.calibrate results/board/board [DATASETS TRIALS]

Simulates boards with the noise of the results: datasets whose errors are those measured, and whose true gains differ
as much as the measured ones do beyond their noise. Where the median true gain is 0, or the region's edge, a false
"better" or "worse" must come in at most 5 % of the boards; a gain of twice the region must be found in at least 80 %.
DATASETS and TRIALS are of the simulated boards, those of the results unless given: a board of more datasets has errors
drawn from those measured. The same at equal seconds (map, one fit and prediction), where board-seconds has run, on the
datasets that have a gain there. Writes calibration.csv beside the trials, which the board's page shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.stats import REGION, calibration, noise
from studies.board.registered import COLUMNS, CONFIRMATORY
from studies.board.standing import CALIBRATION, Board, load_board

SIMULATIONS = 400


def measured(
    rows: pd.DataFrame, datasets: int | None = None, trials: int | None = None
) -> Iterator[tuple[dict[str, Any], NDArray[np.float64], float]]:
    """Of each map named beforehand that has gains in ``rows``: what its row begins with, the errors that are simulated,
    one a dataset, and the spread of its true gains."""
    for method in (name for name in CONFIRMATORY if name in set(rows["method"])):
        known = rows[rows["method"] == method].dropna(subset=["gain"])
        of_datasets = {str(name): each["gain"].to_numpy() for name, each in known.groupby("dataset")}
        errors = noise(of_datasets).dropna() * REGION
        if errors.empty:
            continue
        means = np.array([of_datasets[name].mean() for name in errors.index])
        beyond = means.var(ddof=1) - np.mean(errors**2) if len(means) > 1 else 0.0
        spread = float(np.sqrt(max(0.0, beyond)))
        there = np.mean([len(each) for each in of_datasets.values()])
        simulated = np.random.default_rng(0).choice(errors, datasets or len(errors), replace=datasets is not None)
        simulated = simulated * np.sqrt(there / (trials or there))
        row = {"map": method, "datasets": len(simulated), "trials": trials or round(there),
               "noise": float(np.median(simulated)) / REGION, "spread": spread / REGION}  # fmt: skip
        yield row, simulated, spread


def views(
    board: Board, datasets: int | None = None, trials: int | None = None
) -> Iterator[tuple[dict[str, Any], NDArray[np.float64], float]]:
    """What `measured` finds at equal columns, then at equal seconds."""
    timed = board.at_cost("fit", COLUMNS)
    at_seconds = [("seconds", timed.trials, None)] if timed else []
    for at, rows, count in (("columns", board.at_columns(COLUMNS), datasets), *at_seconds):
        for row, simulated, spread in measured(rows, count, trials):
            yield {"at": at, **row}, simulated, spread


def calibrate(folder: Path, datasets: int | None = None, trials: int | None = None) -> pd.DataFrame:
    """How often each verdict is reached, a row for each view and map named beforehand that the results have."""
    rows = []
    for row, simulated, of_map in views(load_board(folder.parent), datasets, trials):
        for kind, width in (("", 0.0), (" with spread", of_map)):
            none, edge, twice = (calibration(simulated, gain, SIMULATIONS, width) for gain in (0.0, REGION, 2 * REGION))
            row |= {f"false better{kind}": none["better"], f"false worse{kind}": none["worse"],
                    f"better at the edge{kind}": edge["better"], f"found{kind}": twice["better"]}  # fmt: skip
        rows.append(row)
    return pd.DataFrame(rows)


def main(folder: str, *size: str) -> None:
    found = calibrate(Path(folder), *map(int, size))
    found.to_csv(Path(folder) / CALIBRATION, index=False, float_format="%.3f", lineterminator="\n")
    print(found.round(3).T.to_string(header=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
