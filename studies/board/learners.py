"""What learners without a map reach, chosen with the same care: question 2 of the second edition
(docs/board/questions-2.md)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pandas as pd

from rffbench import Results, Table
from rffbench.stats import BASELINE, NOT_RUN
from studies.board.choosing import (
    ALL,
    CHOICES,
    LESS,
    MORE,
    REFUTED,
    SAME,
    Ratio,
    answered,
    by_task,
    measured,
    ratio_table,
    ratios,
    tasks,
)
from studies.board.registered import COLUMNS, TIMES_MEDIAN

TREES, LINEAR, EXACT = "boosted trees", "linear", "kernel ridge"
MOST_AT_ENDS = 1 / 20
"""The share of kernel ridge's choices at an end of its σ grid, above which the grid was too small."""


def rows_of(choice: pd.DataFrame, learners: pd.DataFrame) -> pd.DataFrame:
    """The `measured` rows of the trials of both configs. Their splits are the same, so that a failure of either has the
    worst error that any method of both has on its split."""
    both = pd.concat([choice[choice["n_features"] == COLUMNS], learners], ignore_index=True)
    return measured(both, (COLUMNS, *learners["n_features"].unique()))


def over_maps(rows: pd.DataFrame) -> list[Ratio]:
    """The error of each learner over RFF's, and over that of the choice *all*, of the same splits."""
    others = {BASELINE: (BASELINE,), ALL: CHOICES[ALL]}
    pairs = [(name, over) for name in (TREES, LINEAR, EXACT) for over in others]
    return [each for name, over in pairs for each in by_task(ratios(rows, (name,), others[over]), name, over)]


def table(rows: pd.DataFrame) -> Table:
    return ratio_table("Test error without a map", over_maps(rows))


ASKED = {
    "(a) trees have less error than all": ("regression", [(TREES, ALL, LESS)]),
    "(a) trees and all have the same error": ("classification", [(TREES, ALL, SAME)]),
    "(b) linear ridge has more error than RFF": ("both", [(LINEAR, BASELINE, MORE)]),
    "(c) kernel ridge has less error than RFF, and the same as all":
        ("both", [(EXACT, BASELINE, LESS), (EXACT, ALL, SAME)]),
}  # fmt: skip
"""The hypotheses: in which task, and which verdict on whose error over whose each asks for."""


def answers(rows: pd.DataFrame, at_ends: float) -> Table:
    """The answer to each hypothesis; ``at_ends`` is the share of kernel ridge's choices at an end of its σ grid."""
    found = {(each.of, each.over, each.task): each.verdict for each in over_maps(rows)}
    answer = Table("What came of the hypotheses", ["hypothesis", "task", "answer"], stub=1)
    for hypothesis, (where, asked) in ASKED.items():
        for task in ("classification", "regression") if where == "both" else (where,):
            verdicts = [(found.get((of, over, task), NOT_RUN), wanted) for of, over, wanted in asked]
            is_too_small = at_ends > MOST_AT_ENDS and asked[0][0] == EXACT
            answer.rows.append([hypothesis, task, REFUTED if is_too_small else answered(verdicts)])
    return answer


def at_ends(learners: Results) -> tuple[int, int]:
    """How many of kernel ridge's choices are at an end of its σ grid, and how many there are."""
    trials, grid = learners.trials, learners.tuned(EXACT)[TIMES_MEDIAN]
    found = trials.loc[(trials["method"] == EXACT) & (trials["status"] == "ok"), TIMES_MEDIAN]
    return int(found.isin([min(grid), max(grid)]).sum()), len(found)


# ---- What a choice costs ---------------------------------------------------------------------------------------------


def cost_table(choice: Results, learners: Results) -> Table:
    """The fits of each choice, and its seconds: medians over the datasets of a task."""
    names = ("classification", "regression")
    header = ["learner", "fits", *(f"{task}, s of {part}" for task in names for part in ("choice", "fit")), "trials"]
    found = Table("What the choice costs", header, stub=1)
    of_learner = {name: (choice, among) for name, among in {BASELINE: (BASELINE,), ALL: CHOICES[ALL]}.items()}
    of_learner |= {name: (learners, (name,)) for name in (TREES, LINEAR, EXACT)}
    for name, (results, methods) in of_learner.items():
        rows = seconds(results.trials, methods)
        means = rows.groupby(["task", "dataset"])[["choice", "fit"]].mean()
        medians = means.groupby("task").median().reindex(names).to_numpy().ravel()
        cells = [NOT_RUN if np.isnan(each) else f"{each:.3g}" for each in medians]
        fits = sum(fits_of_choice(results, each) for each in methods)
        found.rows.append([name, f"{fits:,}", *cells, f"{len(rows.dropna()):,} of {len(rows):,}"])
    return found


def fits_of_choice(results: Results, method: str) -> int:
    """What its rows say, ``choice_fits``; else folds × all combinations of the values that its settings list."""
    said = results.trials.loc[results.trials["method"] == method].get("choice_fits", pd.Series(dtype=float)).dropna()
    if len(said):
        return int(said.median())
    solver = results.setting("solver", method=method)
    lists = [each for each in solver.values() if isinstance(each, list)]
    return int(solver["folds"] * prod(map(len, [*lists, results.tuned(method).get(TIMES_MEDIAN, [1])])))


def seconds(trials: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Of each trial of all these methods together: dataset, task, trial, the seconds of the ``choice`` of σ, and those
    of the ``fit`` with what else is chosen in it. NaN where other work disturbed one."""
    rows = trials[trials["method"].isin(methods)].copy()
    rows["choice"] = rows["bandwidth_s"].fillna(0.0)
    rows["fit"] = rows["train_s"]
    rows.loc[rows["contended"].astype(bool), ["choice", "fit"]] = np.nan
    found = rows.groupby(["dataset", "trial"])[["choice", "fit"]].sum(min_count=len(methods))
    found = found.reset_index()
    return found.assign(task=tasks(found["dataset"]))
