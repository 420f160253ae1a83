"""What a choice by cross-validation saves of the test error of RFF with 512 columns: question 1 of the second edition
(docs/board/questions-2.md). On rows of the first edition it is exploratory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rffbench import Table, load_card
from rffbench.stats import BASELINE, NOT_RUN, bootstrap, losses
from studies.board.registered import COLUMNS, OF_GAUSSIAN, OF_KERNEL

CHOICES = {
    "five kernels, random features and Nyström": tuple(name for names in OF_KERNEL.values() for name in names),
    "five kernels, random features": tuple(names[0] for names in OF_KERNEL.values()),
    "five Gaussian maps": OF_GAUSSIAN,
}
"""The three choices of question 1: all, kernels, maps."""
REGION = 0.01
"""A median ratio within 1 ± REGION is as good as 1."""


def measured(trials: pd.DataFrame) -> pd.DataFrame:
    """Of ``trials`` (`rffbench.Results.trials`) those with 512 columns: dataset, task, method, trial, the ``error``, of
    a regression the RMSE, and the cross-validation error ``cv``. A failure has the worst error of its split."""
    rows = losses(trials).assign(cv=trials["cv_error"].to_numpy())
    rows = rows[rows["n_features"] == COLUMNS].copy()
    rows["task"] = rows["dataset"].map({name: load_card(str(name)).task for name in rows["dataset"].unique()})
    rows["error"] = np.where(rows["task"] == "regression", np.sqrt(rows["loss"]), rows["loss"])
    worst = rows.groupby(["dataset", "trial"])["error"].transform("max")
    rows["error"] = rows["error"].where(~rows["failed"], worst)
    rows["cv"] = rows["cv"].where(~rows["failed"], rows["cv"].fillna(np.inf))
    return rows[["dataset", "task", "method", "trial", "error", "cv"]].reset_index(drop=True)


def ratios(rows: pd.DataFrame, among: Sequence[str], over: Sequence[str] = (BASELINE,)) -> pd.DataFrame:
    """In every trial of `measured` rows the error of the method with the least cross-validation error among these, over
    that of the one so chosen from ``over``: dataset, task, trial, ratio. Trials that lack a method are left out."""
    error, of_others = _chosen(rows, among), _chosen(rows, over)
    both = error.index.intersection(of_others.index)
    return both.to_frame(index=False).assign(ratio=(error[both] / of_others[both]).to_numpy())


def _chosen(rows: pd.DataFrame, among: Sequence[str]) -> pd.Series:
    """The error of the choice, by dataset, task and trial."""
    mine = rows[rows["method"].isin(among)].dropna()
    place = [mine[name] for name in ("dataset", "task", "trial")]
    whole = mine[mine.groupby(place)["method"].transform("nunique") == len(among)]
    best = whole.loc[whole.groupby(["dataset", "task", "trial"])["cv"].idxmin()]
    return best.set_index(["dataset", "task", "trial"])["error"]


def verdict(low: float, high: float) -> str:
    """What an interval of the median ratio says."""
    if np.isnan(low):
        return NOT_RUN
    if high < 1 - REGION:
        return "less error"
    if low > 1 + REGION:
        return "more error"
    return "same" if low >= 1 - REGION and high <= 1 + REGION else "undecided"


def choice_table(rows: pd.DataFrame, *, is_registered: bool = False) -> Table:
    """The median ratio of each choice to RFF, and of the first to the others, over the datasets of each task, with its
    interval and verdict."""
    header = ["chosen by cross-validation among", "over", "task", "datasets", "ratio", "95 %", "verdict"]
    table = Table(f"Test error of a choice with {COLUMNS} columns", header, stub=3)
    everything, *parts = CHOICES.items()
    pairs: list[tuple[str, Sequence[str], str, Sequence[str]]]
    pairs = [(name, among, BASELINE, (BASELINE,)) for name, among in CHOICES.items()]
    pairs += [(*everything, name, among) for name, among in parts]
    for name, among, other, over in pairs:
        for task, here in ratios(rows, among, over).groupby("task"):
            of_datasets = {str(key): each.to_numpy() for key, each in here.groupby("dataset")["ratio"]}
            median, low, high = bootstrap(of_datasets)
            cells = [str(len(of_datasets)), f"{median:.3f}", f"{low:.3f} to {high:.3f}", verdict(low, high)]
            table.rows.append([name, other, str(task), *cells])
    if not is_registered:
        table.notes = ["Exploratory: these rows were looked at before the question was registered."]
    return table
