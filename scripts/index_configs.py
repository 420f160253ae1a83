"""Write the list that `rffbench configs` shows: python scripts/index_configs.py

Of each shipped config the title, the number of trials, and the minutes of a dry run without earlier results, with two
workers on two processors of the speed for which the budgets of experiments are given.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rffbench.config.dryrun import run_seconds  # noqa: E402
from rffbench.config.loading import load_experiment  # noqa: E402
from rffbench.io.resources import COLUMNS, INDEX, resource_folder, shipped_configs  # noqa: E402
from tests.helpers.budgets import RATE  # noqa: E402


def rows() -> Iterator[tuple[str, str, int, float]]:
    for name, path in shipped_configs().items():
        experiment = load_experiment(path)
        seconds = run_seconds(experiment.grid(), workers=2, rate=lambda: RATE)
        yield name, experiment.title, experiment.size(), round(seconds / 60, 1)


if __name__ == "__main__":
    with open(resource_folder("configs") / INDEX, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows())
