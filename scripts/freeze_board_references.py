"""Freeze what the board's gains are measured in: python scripts/freeze_board_references.py results/board-reference

Writes rffbench/report/board/references.csv from the trials of RFF at 4,096 columns, and from the best constant of the
same splits. Datasets that the results do not have keep the row that they had.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from rffbench.data import train_test
from rffbench.report.board.score import REFERENCES, loss_name, losses, references
from rffbench.report.frame import load_results
from rffbench.stats.gain import Reference, constant_loss, reference_of


def freeze(folder: Path) -> dict[str, Reference]:
    """The references of the results' datasets."""
    results = load_results(folder)
    found, seed = losses(results), int(results.config["seed"])
    frozen = {}
    for dataset, trials in found[~found["failed"]].groupby("dataset", sort=False):
        constants = []
        for trial in trials["trial"]:
            split = train_test(str(dataset), seed=seed, trial=int(trial))
            constants.append(constant_loss(split.y_train, split.y_test, loss_name(str(dataset))))
        frozen[str(dataset)] = reference_of(str(dataset), constants, trials["loss"].tolist())
    return frozen


def main(folder: str) -> None:
    before = references() if REFERENCES.exists() else {}
    rows = [vars(each) for _, each in sorted((before | freeze(Path(folder))).items())]
    pd.DataFrame(rows).to_csv(REFERENCES, index=False, lineterminator="\n")
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
