"""What a choice by cross-validation saves of the test error of RFF with 512 columns: question 1 of the second edition
(docs/board/questions-2.md). On rows of the first edition it is exploratory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rffbench import Table, load_card
from rffbench.stats import BASELINE, NOT_RUN, bootstrap, losses
from studies.board.registered import COLUMNS, OF_GAUSSIAN, OF_KERNEL

ALL, KERNELS, MAPS = "all", "kernels", "maps"
CHOICES = {
    ALL: tuple(name for names in OF_KERNEL.values() for name in names),
    KERNELS: tuple(names[0] for names in OF_KERNEL.values()),
    MAPS: OF_GAUSSIAN,
}
"""The three choices of question 1, and what each is among."""
REGION = 0.01
"""A median ratio within 1 ± REGION is as good as 1."""
LESS, SAME, MORE, UNDECIDED = "less error", "same", "more error", "undecided"
CONFIRMED, REFUTED = "confirmed", "refuted"
PLACE = ["dataset", "task", "trial"]


# ---- What is measured ------------------------------------------------------------------------------------------------


def measured(trials: pd.DataFrame, columns: Sequence[int] = (COLUMNS,)) -> pd.DataFrame:
    """The ``trials`` of `rffbench.Results` with these numbers of columns: dataset, task, method, trial, loss, error
    and cv.

    The ``loss`` of a failure is NaN. The ``error`` is the loss of a classification and the RMSE of a regression; a
    failure has the worst one of its split. ``cv`` is the cross-validation error. It is infinite where there is none.
    """
    rows = losses(trials).assign(cv=trials["cv_error"].fillna(np.inf))
    rows = rows[rows["n_features"].isin(columns)].copy()
    rows["task"] = tasks(rows["dataset"])
    rows["error"] = np.where(rows["task"] == "regression", np.sqrt(rows["loss"]), rows["loss"])
    return with_failures(rows)[["dataset", "task", "method", "trial", "loss", "error", "cv"]].reset_index(drop=True)


def tasks(datasets: pd.Series) -> pd.Series:
    """The task of each dataset."""
    return datasets.map({name: load_card(str(name)).task for name in datasets.unique()})


def with_failures(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the worst finished ``error`` of a split in place of those that ``failed`` on it."""
    worst = rows["error"].mask(rows["failed"]).groupby([rows["dataset"], rows["trial"]]).transform("max")
    return rows.assign(error=rows["error"].mask(rows["failed"], worst))


def whole(rows: pd.DataFrame, among: Sequence[str]) -> pd.DataFrame:
    """The `measured` rows of these methods, of the trials that have all of them."""
    mine = rows[rows["method"].isin(among)].dropna(subset="error")
    return mine[mine.groupby(PLACE)["method"].transform("nunique") == len(among)]


def chosen(rows: pd.DataFrame, among: Sequence[str], of: str = "error") -> pd.Series:
    """The error of the method with the least cross-validation error among these, by dataset, task and trial; the mean
    of those that share the least. Trials that lack a method are left out."""
    mine = whole(rows, among)
    least = mine[mine["cv"] == mine.groupby(PLACE)["cv"].transform("min")]
    return least.groupby(PLACE)[of].mean()


# ---- Ratios over datasets --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratio:
    """The median over the datasets of a task of the ratio of one test error to another, with its 95 % interval."""

    of: str
    over: str
    task: str
    datasets: int
    median: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        return verdict(self.low, self.high)

    @property
    def cells(self) -> list[str]:
        return [str(self.datasets), f"{self.median:.3f}", f"{self.low:.3f} to {self.high:.3f}", self.verdict]


def verdict(low: float, high: float) -> str:
    """What an interval of the median ratio says."""
    if np.isnan(low):
        return NOT_RUN
    if high < 1 - REGION:
        return LESS
    if low > 1 + REGION:
        return MORE
    return SAME if low >= 1 - REGION and high <= 1 + REGION else UNDECIDED


def ratios(rows: pd.DataFrame, among: Sequence[str], over: Sequence[str] = (BASELINE,)) -> pd.DataFrame:
    """In every trial of `measured` rows the error of the choice among these methods, over that of the choice among the
    others: dataset, task, trial, ratio."""
    return quotients(chosen(rows, among), chosen(rows, over))


def quotients(errors: pd.Series, others: pd.Series) -> pd.DataFrame:
    """One error over another, of the trials that have both: dataset, task, trial, ratio."""
    return (errors / others).rename("ratio").dropna().reset_index()


def by_task(found: pd.DataFrame, of: str, over: str) -> list[Ratio]:
    """What ratios of trials come to, in each task: a dataset has their mean."""
    return [
        Ratio(of, over, str(task), here["dataset"].nunique(), *bootstrap(by_dataset(here)))
        for task, here in found.groupby("task")
    ]


def by_dataset(found: pd.DataFrame) -> dict[str, np.ndarray]:
    return {str(name): each.to_numpy() for name, each in found.groupby("dataset")["ratio"]}


def ratio_table(title: str, found: Sequence[Ratio]) -> Table:
    header = ["error of", "over that of", "task", "datasets", "ratio", "95 %", "verdict"]
    return Table(title, header, [[each.of, each.over, each.task, *each.cells] for each in found], stub=3)


# ---- Question 1 ------------------------------------------------------------------------------------------------------


def choices(rows: pd.DataFrame) -> list[Ratio]:
    """Each choice over RFF, and *all* over the two others."""
    pairs = [(name, BASELINE) for name in CHOICES] + [(ALL, KERNELS), (ALL, MAPS)]
    among = {**CHOICES, BASELINE: (BASELINE,)}
    return [each for of, over in pairs for each in by_task(ratios(rows, among[of], among[over]), of, over)]


def answers(rows: pd.DataFrame) -> dict[str, str]:
    """By task, whether *all* has less error than RFF, and than the other choices."""
    found = [each for each in choices(rows) if each.of == ALL]
    tasks = dict.fromkeys(each.task for each in found)
    return {task: answered([(each.verdict, LESS) for each in found if each.task == task]) for task in tasks}


def answered(verdicts: Sequence[tuple[str, str]]) -> str:
    """What verdicts say of a hypothesis, each beside the one that it asks for: it is refuted by another one, but by
    none that is undecided."""
    if all(found == asked for found, asked in verdicts):
        return CONFIRMED
    return REFUTED if any(found not in (asked, UNDECIDED, NOT_RUN) for found, asked in verdicts) else UNDECIDED


def wrong_choices(rows: pd.DataFrame) -> Table:
    """What a wrong choice costs: the error of *all* over the least error of the ten on the test rows."""
    least = whole(rows, CHOICES[ALL]).groupby(PLACE)["error"].min()
    found = by_task(quotients(chosen(rows, CHOICES[ALL]), least), ALL, "the least of the ten")
    header = ["error of all over the least of the ten", "datasets", "ratio", "95 %"]
    return Table("What a wrong choice costs", header, [[each.task, *each.cells[:-1]] for each in found], stub=1)


def choice_table(rows: pd.DataFrame, *, is_registered: bool = False) -> Table:
    """The ratios of question 1, with intervals and verdicts, by task."""
    table = ratio_table(f"Test error of a choice with {COLUMNS} columns", choices(rows))
    if not is_registered:
        table.notes = ["Exploratory: these rows were looked at before the question was registered."]
    return table
