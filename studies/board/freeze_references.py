"""Freeze what the board's gains are measured in: python -m studies.board.freeze_references RESULTS

RESULTS is results/board/board-reference. Writes rffbench/stats/references.csv from the trials of RFF at 4,096 columns,
and from the best constant of the same splits. Datasets that the results do not have keep the row that they had.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import rffbench
from rffbench import train_test
from rffbench.stats import REFERENCES, Reference, constant_loss, loss_name, losses, reference_of, references


def freeze(folder: Path) -> dict[str, Reference]:
    """The references of the results' datasets."""
    results = rffbench.load(folder)
    found, seed = losses(results.trials), int(results.config["seed"])
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
