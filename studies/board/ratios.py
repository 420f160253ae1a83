"""How large a map's test error is beside that of RFF with 512 columns: "5 % less test error" is a ratio of .95."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rffbench import Table, load_card
from rffbench.stats import BALANCED, BASELINE, NOT_RUN, bootstrap
from studies.board.registered import COLUMNS, CONFIRMATORY, MARK
from studies.board.standing import Board

TASKS = ("classification", "regression")
WIDE = 2048
"""The columns that are shown beside 512."""


def error_ratios(board: Board) -> pd.DataFrame:
    """A row for every trial of a map: dataset, task, method, n_features, trial and the ``ratio`` of its test error to
    RFF's with 512 columns on the same split. The test error of a regression is the RMSE."""
    rows = board.losses_of_maps.copy()
    rows["task"] = rows["dataset"].map({name: load_card(name).task for name in rows["dataset"].unique()})
    rows["error"] = np.where(rows["task"] == "regression", np.sqrt(rows["loss"]), rows["loss"])
    of_rff = rows[(rows["method"] == BASELINE) & (rows["n_features"] == COLUMNS)]
    errors = of_rff.set_index(["dataset", "trial"])["error"]
    place = pd.MultiIndex.from_frame(rows[["dataset", "trial"]])
    rows["ratio"] = rows["error"].to_numpy() / errors.reindex(place).to_numpy()
    return rows


def ratio_table(board: Board) -> Table:
    """The median ratio of every map over datasets, at 512 columns and at more, the smallest first."""
    rows = error_ratios(board)
    header = ["map", *(head for task in TASKS for head in (f"{task}, {COLUMNS}", "95 %", f"{WIDE:,}"))]
    table = Table(f"Test error over that of RFF with {COLUMNS} columns: the median ratio", header, stub=1)
    found = {name: [_cells(rows, name, task) for task in TASKS] for name in board.maps}
    for name, cells in sorted(found.items(), key=lambda each: each[1][0][0]):
        marked = f"{name} {MARK}" if name in CONFIRMATORY else name
        table.rows.append([marked, *(cell for of_task in cells for cell in of_task)])
    counts = rows.drop_duplicates("dataset")["task"].value_counts()
    balanced = "".join(f" ({name}: balanced)" for name in sorted(BALANCED & set(rows["dataset"])))
    table.notes = [
        f"Over {counts.get(TASKS[0], 0)} classifications, by the error rate{balanced}, and over "
        f"{counts.get(TASKS[1], 0)} regressions, by the RMSE. A trial is compared with RFF's of the same split; a "
        "dataset has the mean ratio over trials. Exploratory: the ratios were not registered."
    ]
    return table


def _cells(rows: pd.DataFrame, method: str, task: str) -> list[str]:
    mine = rows[(rows["method"] == method) & (rows["task"] == task)]
    found = []
    for columns in (COLUMNS, WIDE):
        at = mine[mine["n_features"] == columns].groupby("dataset")["ratio"]
        found.append(bootstrap({str(name): each.to_numpy() for name, each in at}))
    (median, low, high), (wide, _, _) = found
    return [_ratio(median), NOT_RUN if np.isnan(low) else f"{low:.2f} to {high:.2f}", _ratio(wide)]


def _ratio(value: float) -> str:
    return NOT_RUN if np.isnan(value) else f"{value:.3f}"
