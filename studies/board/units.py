"""Which unit do people read? Question 4 of the second edition (docs/board/questions-2.md): gains, and ratios of test
errors, side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rffbench import Table
from rffbench.stats import BASELINE, Reference, gains, losses, percent
from studies.board.choosing import ALL, CHOICES, chosen, measured, ratios, tasks
from studies.board.registered import COLUMNS, CONFIRMATORY

UNITS = ["gain", "ratio"]


def both_units(choice: pd.DataFrame, first: pd.DataFrame, known: dict[str, Reference]) -> pd.DataFrame:
    """The mean ``gain`` and the mean ``ratio`` to RFF over trials: by method, task and dataset, of the choice *all*
    among the trials ``choice``, and of the confirmatory maps among those of the ``first`` edition."""
    rows = measured(choice)
    of_all = gains(pd.concat([_baseline(choice), _as_losses(chosen(rows, CHOICES[ALL], "loss"))]), known)
    found = {ALL: (of_all[of_all["method"] == ALL], ratios(rows, CHOICES[ALL]))}
    rows, of_maps = measured(first), gains(losses(first[first["n_features"] == COLUMNS]), known)
    found |= {name: (of_maps[of_maps["method"] == name], ratios(rows, (name,))) for name in CONFIRMATORY}
    parts = {
        name: pd.concat([gained.groupby("dataset")["gain"].mean(), of_rff.groupby("dataset")["ratio"].mean()], axis=1)
        for name, (gained, of_rff) in found.items()
    }
    both = pd.concat(parts, names=["method", "dataset"]).dropna().reset_index()
    return both.assign(task=tasks(both["dataset"]))


def _baseline(trials: pd.DataFrame) -> pd.DataFrame:
    return losses(trials[(trials["method"] == BASELINE) & (trials["n_features"] == COLUMNS)])


def _as_losses(of_choice: pd.Series) -> pd.DataFrame:
    """A choice's losses as a method's (`rffbench.stats.losses`)."""
    rows = of_choice.rename("loss").reset_index()
    return rows.assign(method=ALL, n_features=COLUMNS, failed=rows["loss"].isna()).drop(columns="task")


def differing(both: pd.DataFrame) -> pd.DataFrame:
    """The rows whose two units have not the same sign: less error is a gain above 0, and a ratio below 1."""
    return both[np.sign(both["gain"]) != np.sign(1 - both["ratio"])]


def unit_table(both: pd.DataFrame) -> Table:
    """The medians over datasets in both units, and the datasets whose signs differ."""
    names = ("classification", "regression")
    header = ["over RFF", *(f"{task}, {unit}" for task in names for unit in ("gain %", "ratio")), "sign differs on"]
    found = Table("Gains beside ratios of test errors", header, stub=1)
    for method, mine in both.groupby("method", sort=False):
        medians = mine.groupby("task")[UNITS].median().reindex(names)
        cells = [cell for gain, ratio in medians.to_numpy() for cell in (percent(gain), f"{ratio:.3f}")]
        found.rows.append([str(method), *cells, ", ".join(differing(mine)["dataset"]) or "none"])
    return found
