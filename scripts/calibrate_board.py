"""Are the board's verdicts right as often as they say? python scripts/calibrate_board.py results/board 512

Simulates boards of the results' own datasets, trials and noise. Where the true gain is 0 or the region's edge, a false
"better" or "worse" must come in at most 5 % of the boards; a gain of twice the region must be found in at least 80 %.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from rffbench.report.board.score import BASELINE, gains, losses, references
from rffbench.report.board.statistics import REGION, calibration, noise
from rffbench.report.frame import load_results

SIMULATIONS = 1000


def main(folder: str, columns: str = "512") -> None:
    results = load_results(Path(folder))
    found = gains(losses(results), references())
    found = found[found["n_features"] == int(columns)]
    print(
        f"{'map':<18}{'noise':>8}{'false +':>9}{'false −':>9}{'at edge':>9}{'found':>8}   noise: median over datasets"
    )
    for method in results.methods:
        mine = found[(found["method"] == method) & (method != BASELINE)]
        units = noise({str(name): each["gain"].to_numpy() for name, each in mine.groupby("dataset")}).dropna()
        if units.empty:
            continue
        errors = units.to_numpy() * REGION
        none, edge, twice = (calibration(errors, gain, SIMULATIONS) for gain in (0.0, REGION, 2 * REGION))
        print(
            f"{method:<18}{np.median(units):>8.2f}{none['better']:>9.1%}{none['worse']:>9.1%}{edge['better']:>9.1%}"
            f"{twice['better']:>8.1%}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
