"""Attempts to refute the advice of the README and of choose-a-map.md with the rows alone: docs/board/refuted.md.

What is compared are test errors of the same split, as ratios: .95 is 5 % less. A dataset has the mean ratio over
trials, a comparison the median over datasets, looked at in many `views`. Nothing of choosing.py, ratios.py or
`rffbench.stats.at_cost` is used, so that a mistake of theirs would show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import binom

from rffbench.stats import BALANCED, BASELINE, FEWEST, REGION, SESSION, Cost, groups_of, references
from studies.board.registered import COLUMNS, OF_GAUSSIAN, OF_KERNEL
from studies.board.standing import Board, shape
from studies.evidence import results

Measure = Literal["test", "squared", "auc"]
"""The error rate and the RMSE; the balanced error and the MSE; or one minus the AUC, of classifications alone."""
MEASURES: tuple[Measure, ...] = ("test", "squared", "auc")
ENDS = {"times_median": (0.125, 8.0), "lambda": (1e-9, 1e-2)}
"""The first and the last value of the board's grids of σ, over the median distance, and of λ."""
SPLIT = ["dataset", "trial"]
RFF = (BASELINE,)
UNIFORM = ("Nyström",)
TREES = ("boosted trees",)
OF_NYSTROEM = tuple(names[1] for names in OF_KERNEL.values())
EVERY = tuple(name for names in OF_KERNEL.values() for name in names)
FOUR = (BASELINE, *(OF_KERNEL[kernel][1] for kernel in ("Gaussian", "Laplacian", "Matérn-3/2")))
"""Random Fourier features, and Nyström features of three kernels."""
TWO_KERNELS = (*OF_KERNEL["Gaussian"], *OF_KERNEL["arc-cosine"])
"""A pair of kernels that gains little."""
RANDOM = tuple(names[0] for names in OF_KERNEL.values())
"""Random features of the five kernels."""
KERNEL_FIRST = {names[0]: names for names in OF_KERNEL.values()}
"""The kernel by its random features, then the map of this kernel: six fits."""
MAP_FIRST = {name: tuple(names[at] for names in OF_KERNEL.values()) for at, name in enumerate(OF_KERNEL["Gaussian"])}
"""The map by the Gaussian kernel, then the kernel with this map: six fits, too."""


# ---- Errors ----------------------------------------------------------------------------------------------------------


def errors(trials: pd.DataFrame, measure: Measure = "test") -> pd.DataFrame:
    """A row for every trial: dataset, trial, method, n_features, task, error, cv (infinite without one) and at_end:
    whether σ or λ is the first or last of its grid. A classification with a rare class has the balanced error."""

    def column(name: str) -> pd.Series:
        return trials[name] if name in trials else pd.Series(np.nan, trials.index)

    rate, balanced = 1 - column("accuracy") / 100, 1 - column("balanced_accuracy") / 100
    of_classes = {
        "test": rate.mask(trials["dataset"].isin(BALANCED), balanced), "squared": balanced, "auc": 1 - column("auc")
    }[measure]  # fmt: skip
    of_numbers = {"test": column("rmse"), "squared": column("rmse") ** 2, "auc": column("rmse") * np.nan}[measure]
    found = trials[[*SPLIT, "method", "n_features"]].copy()
    is_number = column("rmse").notna()
    found["task"] = np.where(is_number, "regression", "classification")
    found["error"] = of_numbers.where(is_number, of_classes)
    found["cv"] = column("cv_error").fillna(np.inf)
    found["at_end"] = np.any([np.isclose(column(name), end) for name, ends in ENDS.items() for end in ends], axis=0)
    return found[found["error"].notna()]


@cache
def rows(part: str, measure: Measure = "test") -> pd.DataFrame:
    """The errors of one of the board's configs."""
    return errors(results(part).trials, measure)


def picked(found: pd.DataFrame, among: Sequence[str], columns: int) -> pd.DataFrame:
    """By dataset and trial what the method of the least cross-validation error has: error, the mean of those that share
    the least, and at_end. Of one method these are its own."""
    mine = found[found["method"].isin(among) & (found["n_features"] == columns)]
    least = mine[mine["cv"] == mine.groupby(SPLIT)["cv"].transform("min")]
    return least.groupby(SPLIT).agg(error=("error", "mean"), at_end=("at_end", "any"), task=("task", "first"))


def picked_in_order(found: pd.DataFrame, then: Mapping[str, Sequence[str]], columns: int) -> pd.DataFrame:
    """By dataset and trial what is `picked` in two steps: a key of ``then``, and one of the methods that it has."""
    mine = found[found["n_features"] == columns]
    keys = mine[mine["method"].isin(list(then))]
    first = keys.loc[keys.groupby(SPLIT)["cv"].idxmin()].set_index(SPLIT)["method"]
    here = first.reindex(pd.MultiIndex.from_frame(mine[SPLIT])).map(lambda name: then.get(name, ()))
    follows = [method in names for method, names in zip(mine["method"], here, strict=True)]
    return picked(mine[follows], [name for names in then.values() for name in names], columns)


def at_random(found: pd.DataFrame, among: Sequence[str], columns: int) -> pd.Series:
    """By dataset and trial the mean error: what a method that is drawn from these has."""
    return found[found["method"].isin(among) & (found["n_features"] == columns)].groupby(SPLIT)["error"].mean()


def ratios(
    found: pd.DataFrame, of: Sequence[str], over: Sequence[str], columns: int, over_columns: int | None = None
) -> pd.DataFrame:
    """By dataset and trial the `picked` error of the first methods over that of the others: ratio, at_end, task."""
    return quotients(picked(found, of, columns), picked(found, over, over_columns or columns))


def quotients(mine: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """By dataset and trial one error over another, of tables such as those of `picked`: ratio, at_end, task."""
    both = mine.join(others.add_suffix("_over"), how="inner")
    at_end = both["at_end"] | both["at_end_over"]
    return pd.DataFrame({"ratio": both["error"] / both["error_over"], "at_end": at_end, "task": both["task"]})


def spread(found: pd.DataFrame, levels: Sequence[Sequence[str]], columns: int, but: int = 0) -> pd.DataFrame:
    """By dataset and trial how far the errors `picked` of these levels are apart: as ``error`` their standard
    deviation, without the ``but`` largest; at_end and task."""
    each = pd.concat([picked(found, names, columns) for names in levels], keys=range(len(levels)), names=["level"])
    kept = each[each["error"].groupby(SPLIT).rank(method="first") <= len(levels) - but]
    found_all = each["error"].groupby(SPLIT).size() == len(levels)
    of_levels = kept.groupby(SPLIT).agg(error=("error", "std"), at_end=("at_end", "any"), task=("task", "first"))
    return of_levels[found_all]


def by_dataset(ratio: pd.Series) -> pd.Series:
    return ratio.groupby("dataset").mean()


# ---- One comparison, looked at in many ways --------------------------------------------------------------------------


@dataclass(frozen=True)
class Views:
    """The mean ratios of a comparison ``on`` each dataset, and the median over datasets in each of its views."""

    on: pd.Series
    medians: dict[str, float]

    @property
    def median(self) -> float:
        return float(self.on.median())

    @property
    def least(self) -> float:
        return min(self.medians.values())

    @property
    def most(self) -> float:
        return max(self.medians.values())

    @property
    def less(self) -> int:
        """On how many datasets the error is smaller by more than 1 %."""
        return int((self.on < 1 - REGION).sum())

    @property
    def more(self) -> int:
        return int((self.on > 1 + REGION).sum())

    @property
    def worst(self) -> str:
        return str(self.on.idxmax())

    @property
    def said(self) -> str:
        return f"{self.median:.2f} ({self.least:.2f} to {self.most:.2f}), {self.counts}"

    @property
    def counts(self) -> str:
        return f"less on {self.less}, more on {self.more}"


def views(
    by_measure: dict[Measure, pd.DataFrame], of: Sequence[str], over: Sequence[str], columns: int,
    over_columns: int | None = None,
) -> Views:  # fmt: skip
    """The comparison of `ratios`: all datasets; each task; trials of even and of odd number; without each group of
    datasets; without those where a trial is at the end of a grid; and by the other measures."""
    return viewed({name: ratios(each, of, over, columns, over_columns) for name, each in by_measure.items()})


def viewed(found: dict[Measure, pd.DataFrame]) -> Views:
    """The `views` of ratios by each measure."""
    first = found["test"]
    on, medians = by_dataset(first["ratio"]), dict[str, float]()
    for name, each in found.items():
        medians[name] = _median(each["ratio"])
    for task, mine in first.groupby("task"):
        medians[str(task)] = _median(mine["ratio"])
    is_even = first.index.get_level_values("trial") % 2 == 0
    medians |= {"even trials": _median(first[is_even]["ratio"]), "odd trials": _median(first[~is_even]["ratio"])}
    for group in groups_of([str(name) for name in on.index]):
        medians[f"without {', '.join(group)}"] = float(on.drop(group).median())
    inside = on[~first.groupby("dataset")["at_end"].any()]
    if len(inside) >= FEWEST:
        medians["inside the grids"] = float(inside.median())
    return Views(on, {name: each for name, each in medians.items() if not np.isnan(each)})


def _median(ratio: pd.Series) -> float:
    return float(by_dataset(ratio).median()) if len(ratio) else np.nan


@cache
def seen(
    part: str, of: tuple[str, ...], over: tuple[str, ...] = RFF, columns: int = COLUMNS,
    over_columns: int | None = None,
) -> Views:  # fmt: skip
    """The `views` of two methods, or choices, of one of the board's configs."""
    return views({each: rows(part, each) for each in MEASURES}, of, over, columns, over_columns)


@cache
def kernel_first(part: str, columns: int = COLUMNS) -> Views:
    """The kernel chosen before the map, over the map chosen before the kernel, with as many fits."""
    ways = {each: [picked_in_order(rows(part, each), then, columns) for then in (KERNEL_FIRST, MAP_FIRST)]
            for each in MEASURES}  # fmt: skip
    return viewed({each: quotients(*both) for each, both in ways.items()})


@cache
def kernels_vary(part: str, of_maps: str, columns: int = COLUMNS, but: int = 0) -> Views:
    """The `spread` of errors among five kernels, each by the better of its maps, over that among five maps of the
    Gaussian kernel, without the ``but`` worst of each."""
    maps = [(name,) for name in OF_GAUSSIAN]
    return viewed({
        each: quotients(spread(rows(part, each), list(OF_KERNEL.values()), columns, but),
                        spread(rows(of_maps, each), maps, columns, but))
        for each in MEASURES
    })  # fmt: skip


@cache
def drawn(part: str, among: tuple[str, ...] = EVERY) -> float:
    """The median ratio to RFF of a method drawn at random."""
    return _median(at_random(rows(part), among, COLUMNS) / picked(rows(part), RFF, COLUMNS)["error"])


@cache
def trees_over_choice(columns: int) -> Views:
    """Boosted trees over the choice of kernel and map with this number of columns, on the splits that both have."""
    found = dict[Measure, pd.DataFrame]()
    for each in MEASURES:
        trees = rows("board", each)
        found[each] = pd.concat([rows("board-kernels", each), trees[trees["method"].isin(TREES)]])
    return views(found, TREES, EVERY, 1, columns)


def coin(wins: int, of: int) -> float:
    """With what probability a coin wins as often, or more."""
    return float(binom.sf(wins - 1, of, 0.5))


# ---- Columns ---------------------------------------------------------------------------------------------------------


def close_by_gain(loss: pd.Series, reference: pd.Series, constant: pd.Series, share: float = 0.05) -> int:
    """On how many datasets a loss gains all but this ``share`` of what the reference gains over a constant."""
    return int((constant - loss >= (1 - share) * (constant - reference)).sum())


def close_by_error(error: pd.Series, reference: pd.Series, share: float = 0.05) -> int:
    """On how many datasets an error is at most this ``share`` larger than the reference's."""
    return int((error <= (1 + share) * reference).sum())


def _means(part: str, method: str, columns: int, power: bool) -> pd.Series:
    """The mean errors on the datasets; with ``power`` of a regression the mean squared ones."""
    found = rows(part)
    mine = found[(found["method"] == method) & (found["n_features"] == columns)]
    error = mine["error"].where((mine["task"] == "classification") | (not power), mine["error"] ** 2)
    return error.groupby(mine["dataset"]).mean()


@cache
def close(method: str, columns: int, by: str, share: float = 0.05) -> int:
    """On how many datasets a map is as close to 4,096 random Fourier features, by its gain or by its error."""
    most = 4096
    if by == "error":
        return close_by_error(_means("board", method, columns, False),
                              _means("board-reference", BASELINE, most, False), share)  # fmt: skip
    constant = pd.Series({name: each.constant for name, each in references().items()})
    mine, reference = _means("board", method, columns, True), _means("board-reference", BASELINE, most, True)
    return close_by_gain(mine, reference, constant.reindex(mine.index), share)


def next_gain(losses: Sequence[pd.Series]) -> float:
    """Of losses on the datasets at three sizes, each twice the one before: what the second doubling gains over what the
    first one does, the median over datasets."""
    small, middle, large = losses
    return float(((middle - large) / (small - middle)).median())


@cache
def doubling(method: str, columns: int) -> float:
    """`next_gain` of a map, with that many columns in the middle."""
    return next_gain([_means("board", method, size, True) for size in (columns // 2, columns, 2 * columns)])


# ---- Seconds ---------------------------------------------------------------------------------------------------------


def over_fourier(costs: pd.DataFrame, columns: int) -> pd.Series:
    """By dataset, method and size: the cost over that of random Fourier features with this number of ``columns``, in
    the same trial of the same session; the median over trials."""
    same = [*SPLIT, *costs.columns.intersection([SESSION])]
    base = costs[(costs["method"] == BASELINE) & (costs["n_features"] == columns)].set_index(same)["cost"]
    ratio = costs["cost"].to_numpy() / base.reindex(pd.MultiIndex.from_frame(costs[same])).to_numpy()
    return costs.assign(ratio=ratio).groupby(["dataset", "method", "n_features"])["ratio"].median().dropna()


def at_equal_cost(mean_errors: pd.Series, cost: pd.Series, method: str, columns: int) -> pd.Series:
    """By dataset the error of a map over RFF's at RFF's cost, read from straight lines in both logarithms; without
    datasets on which the map has no such cost. Both series are by dataset, method and size."""
    found = {}
    for dataset in cost.index.unique("dataset"):
        of_maps = cost[dataset]
        if method not in of_maps.index.unique("method"):
            continue
        mine = of_maps[method]
        mine = mine[mine.index.isin(mean_errors[dataset][method].index)].sort_values()
        if len(mine) and mine.iloc[0] <= 1 <= mine.iloc[-1]:
            error = np.log(mean_errors[dataset][method].reindex(mine.index))
            base = mean_errors[dataset][BASELINE][columns]
            found[dataset] = float(np.exp(np.interp(0, np.log(mine), error)) / base)
    return pd.Series(found, dtype=float)


@cache
def _mean_errors() -> pd.Series:
    return rows("board").groupby(["dataset", "method", "n_features"])["error"].mean()


def at_seconds(board: Board, method: str, columns: int, clock: Cost = "fit") -> pd.Series:
    """`at_equal_cost` of a map, by the board's seconds."""
    return at_equal_cost(_mean_errors(), over_fourier(board.costs(clock).dropna(), columns), method, columns)


def quickest(board: Board, columns: int) -> tuple[str, float]:
    """The map with the least median ratio at the seconds of random Fourier features with this number of ``columns``,
    and the ratio. The map must be measured there on most datasets."""
    found = {name: at_seconds(board, name, columns) for name in board.compared}
    medians = {name: float(each.median()) for name, each in found.items() if len(each) > len(board.datasets) / 2}
    best = min(medians, key=lambda name: medians[name])
    return best, medians[best]


def with_many_inputs(board: Board, inputs: int = 100) -> list[str]:
    """The datasets with at least this number of inputs."""
    return [name for name in board.datasets if shape(name)[1] >= inputs]


def seconds_of(board: Board, method: str, columns: int) -> pd.Series:
    """By dataset with many inputs a map's seconds over RFF's, both with the same number of columns."""
    ratio = over_fourier(board.costs("fit").dropna(), columns).xs((method, columns), level=("method", "n_features"))
    return ratio.reindex(with_many_inputs(board))


def times_as_long(trials: pd.DataFrame, among: Sequence[str]) -> pd.Series:
    """By dataset the seconds of all candidates, tuning included, over those of random Fourier features alone."""
    parts = ["bandwidth_s", "feature_s", "fit_s", "predict_s"]
    mine = trials[trials["method"].isin(among) & (trials["n_features"] == COLUMNS)]
    seconds = mine[parts].sum(axis=1).groupby([mine["dataset"], mine["method"]]).mean().unstack()
    return seconds.sum(axis=1) / seconds[BASELINE]


# ---- Errors of the kernel, and bandwidths ----------------------------------------------------------------------------


def kernel_ratio(trials: pd.DataFrame, method: str, columns: int = COLUMNS) -> pd.Series:
    """By dataset the kernel error of a map over that of random Fourier features."""
    mine = trials[trials["n_features"] == columns].set_index(["method", *SPLIT])["kernel_error"]
    return by_dataset(mine[method] / mine[BASELINE])


def share_of_scales(trials: pd.DataFrame, method: str, within: float) -> float:
    """The share of trials whose σ is the median distance to within this factor."""
    times = trials[(trials["method"] == method) & (trials["n_features"] == COLUMNS)]["times_median"].astype(float)
    return float(((times <= within) & (times >= 1 / within)).mean())
