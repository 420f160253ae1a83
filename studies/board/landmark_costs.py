"""What does a point of gain cost by landmarks? Question 5 of the second edition (docs/board/questions-2.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from rffbench import Table
from rffbench.stats import NOT_RUN, bootstrap
from studies.board.choosing import (
    CONFIRMED,
    MORE,
    REFUTED,
    SAME,
    UNDECIDED,
    answered,
    by_dataset,
    measured,
    quotients,
    verdict,
)

UNIFORM, PIVOTED, LEVERAGE = "Nyström", "Nyström RPCholesky", "Nyström RLS"
KMEANS, MINIBATCH = "Nyström k-means", "Nyström mini-batch"
RULES = (PIVOTED, LEVERAGE, KMEANS, MINIBATCH)
MORE_COLUMNS = "more columns"
NEXT = {512: 1024, 1024: 2048, 2048: 3072}
"""How many uniform landmarks are "more columns"."""
CHEAPER_AT = {512: [(MINIBATCH, PIVOTED), (MINIBATCH, LEVERAGE)],
              2048: [(MORE_COLUMNS, rule) for rule in (MINIBATCH, PIVOTED, LEVERAGE)]}  # fmt: skip
"""Hypotheses (a) and (b): what is cheaper than what."""
SHARE, LEAST_SHARE = 2 / 3, 1 / 2
"""Of the datasets, and what the interval of that share must be above."""
THIRD = 1 / 3
"""Of the seconds in which k-means of scikit-learn draws, (c)."""


def means(trials: pd.DataFrame) -> pd.DataFrame:
    """By dataset, columns and method: the mean ``error`` over trials, and the medians over undisturbed trials of the
    ``seconds`` to draw, map and fit and of those to ``draw``, which are those of the map beyond uniform landmarks'."""
    quiet = trials[(trials["status"] == "ok") & trials["contended"].eq(False)]
    place = ["dataset", "n_features", "method"]
    timed = quiet.assign(seconds=quiet["feature_s"] + quiet["fit_s"]).groupby(place)[["seconds", "feature_s"]].median()
    sizes = [int(size) for size in trials["n_features"].unique()]
    errors = [measured(trials, [size]).assign(n_features=size) for size in sizes]
    found = timed.join(pd.concat(errors).groupby(place)["error"].mean(), how="outer").reset_index()
    uniform = found[found["method"] == UNIFORM].set_index(["dataset", "n_features"])["feature_s"]
    at = pd.MultiIndex.from_frame(found[["dataset", "n_features"]])
    return found.assign(draw=found["feature_s"] - uniform.reindex(at).to_numpy()).drop(columns="feature_s")


def costs(found: pd.DataFrame) -> pd.DataFrame:
    """Seconds per percent of test error saved, of each rule and of more columns: dataset, n_features, method, cost.
    Infinite where no error is saved, 0 where some is and no second more is taken, NaN where seconds are not known."""
    place = found[["dataset", "n_features", "method"]].itertuples(index=False, name=None)
    cells = dict(zip(place, found[["seconds", "error"]].to_numpy(), strict=True))
    rows = []
    for dataset, size, method in cells:
        if method != UNIFORM or size not in NEXT:
            continue
        others = {**{rule: (dataset, size, rule) for rule in RULES}, MORE_COLUMNS: (dataset, NEXT[size], UNIFORM)}
        base = cells[dataset, size, UNIFORM]
        rows += [[dataset, size, name, _cost(*cells[at], *base)] for name, at in others.items() if at in cells]
    return pd.DataFrame(rows, columns=["dataset", "n_features", "method", "cost"])


def _cost(seconds: float, error: float, least_seconds: float, most_error: float) -> float:
    saved = 100 * (most_error - error) / most_error
    if np.isnan(saved) or np.isnan(seconds - least_seconds):
        return float("nan")
    return float("inf") if saved <= 0 else max(0.0, seconds - least_seconds) / saved


# ---- (a) and (b) -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cheaper:
    """On how many of the ``datasets`` a point costs ``less`` by ``of`` than by ``over``, and on how many it costs
    ``more``, with this number of ``columns``."""

    columns: int
    of: str
    over: str
    less: int
    more: int
    datasets: int

    @property
    def verdict(self) -> str:
        if not self.datasets:
            return NOT_RUN
        if _most(self.less, self.datasets):
            return CONFIRMED
        return REFUTED if _most(self.more, self.datasets) else UNDECIDED


def _most(count: int, of: int) -> bool:
    """Two thirds of the datasets, and Wilson's interval of that share above one half."""
    return count >= SHARE * of and binomtest(count, of).proportion_ci(method="wilson").low > LEAST_SHARE


def comparisons(trials: pd.DataFrame) -> list[Cheaper]:
    """All of (a) and (b)."""
    found = costs(means(trials))
    made = []
    for columns, pairs in CHEAPER_AT.items():
        table = found[found["n_features"] == columns].pivot(index="dataset", columns="method", values="cost")
        for of, over in pairs:
            both = table.reindex(columns=[of, over]).dropna()
            less, more = (int((both[a] < both[b]).sum()) for a, b in ((of, over), (over, of)))
            made.append(Cheaper(columns, of, over, less, more, len(both)))
    return made


# ---- (c) -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Alike:
    """The error of our mini-batches over that of scikit-learn's, with its interval over all datasets, and on how many
    of them ours draws in a third of the seconds."""

    columns: int
    ratio: float
    low: float
    high: float
    quick: int
    datasets: int

    @property
    def verdict(self) -> str:
        if np.isnan(self.ratio) or not self.datasets:
            return NOT_RUN
        said = verdict(self.low, self.high)
        if said == MORE or self.quick < SHARE * self.datasets:
            return REFUTED
        return CONFIRMED if said == SAME else UNDECIDED


def alike(trials: pd.DataFrame) -> list[Alike]:
    """(c), at each number of columns."""
    found, made = means(trials), []
    for columns in NEXT:
        rows = measured(trials, [columns])
        errors = {name: _errors(rows, name) for name in (MINIBATCH, KMEANS)}
        ratio, low, high = bootstrap(by_dataset(quotients(errors[MINIBATCH], errors[KMEANS])))
        here = found[found["n_features"] == columns].pivot(index="dataset", columns="method", values="draw")
        both = here.reindex(columns=[MINIBATCH, KMEANS]).dropna()
        quick = int((both[MINIBATCH] <= THIRD * both[KMEANS]).sum())
        made.append(Alike(columns, ratio, low, high, quick, len(both)))
    return made


def _errors(rows: pd.DataFrame, method: str) -> pd.Series:
    return rows[rows["method"] == method].set_index(["dataset", "task", "trial"])["error"].rename("ratio")


def answers(trials: pd.DataFrame) -> dict[str, str]:
    """By the letter of the hypothesis."""
    cheaper = comparisons(trials)
    of_letter: dict[str, list[Cheaper] | list[Alike]] = {
        **{letter: [each for each in cheaper if each.columns == columns]
           for letter, columns in zip("ab", CHEAPER_AT, strict=True)},
        "c": alike(trials),
    }  # fmt: skip
    return {letter: answered([(each.verdict, CONFIRMED) for each in found]) for letter, found in of_letter.items()}


# ---- Tables ----------------------------------------------------------------------------------------------------------


def cost_table(trials: pd.DataFrame) -> Table:
    """(a) and (b): on how many datasets one is cheaper a point than another."""
    header = ["columns", "is cheaper", "than", "on", "dearer on", "of", "verdict"]
    rows = [
        [str(each.columns), each.of, each.over, str(each.less), str(each.more), str(each.datasets), each.verdict]
        for each in comparisons(trials)
    ]
    return Table("What a point of test error costs", header, rows, stub=3)


def alike_table(trials: pd.DataFrame) -> Table:
    """(c): our mini-batches beside scikit-learn's."""
    header = ["columns", "error, ours over scikit-learn's", "95 %", "a third of its seconds on", "of", "verdict"]
    rows = [
        [str(each.columns), f"{each.ratio:.3f}", f"{each.low:.3f} to {each.high:.3f}", str(each.quick),
         str(each.datasets), each.verdict]
        for each in alike(trials)
    ]  # fmt: skip
    return Table("Mini-batch k-means, ours and scikit-learn's", header, rows, stub=1)


def seconds_table(trials: pd.DataFrame) -> Table:
    """Medians over datasets: the error over that of as many uniform landmarks, the seconds over theirs, the draw's; and
    on how many datasets a rule has the least cost a point."""
    found = means(trials)
    each_cost = costs(found)
    base = found[found["method"] == UNIFORM].set_index(["dataset", "n_features"])[["error", "seconds"]]
    header = ["columns", "landmarks", "error over uniform", "seconds over uniform", "draw, s", "cheapest a point on"]
    table = Table("Chosen landmarks beside as many uniform ones", header, stub=2)
    for columns in NEXT:
        here = each_cost[(each_cost["n_features"] == columns) & np.isfinite(each_cost["cost"])]
        least = here.loc[here.groupby("dataset")["cost"].idxmin(), "method"].value_counts()
        for rule in RULES:
            mine = found[(found["n_features"] == columns) & (found["method"] == rule)].set_index(
                ["dataset", "n_features"]
            )
            over = (mine[["error", "seconds"]] / base.reindex(mine.index)).median()
            table.rows.append([
                str(columns), rule, f"{over['error']:.3f}", f"{over['seconds']:.2f}", f"{mine['draw'].median():.3g}",
                str(int(least.get(rule, 0))),
            ])  # fmt: skip
        table.rows.append([str(columns), MORE_COLUMNS, "", "", "", str(int(least.get(MORE_COLUMNS, 0)))])
    return table
