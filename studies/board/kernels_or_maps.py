"""The board's fifth question: does the kernel matter more than the map? The variance of losses between five kernels,
each by its better map, against that between five maps of the Gaussian kernel (docs/board/questions.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rffbench.stats import (
    MSE,
    Number,
    OfTrials,
    Reference,
    beside,
    by_trial,
    correlation,
    loss_name,
    losses,
    mean_of,
    means_of,
    median,
    over_datasets,
)
from studies.board.answers import Answer, strips, waiting
from studies.board.registered import COLUMNS, OF_GAUSSIAN, OF_KERNEL
from studies.board.standing import Board

DEVIATION = "in % of what RFF with 4,096 columns gains over a constant"
METHODS_OF_KERNELS = [name for names in OF_KERNEL.values() for name in names]
"""The methods of board-kernels that question 5 compares."""


def kernels(board: Board) -> Answer:
    """Question 5."""
    asked = "Does the kernel matter more than the map?"
    results = board.results.get("board-kernels")
    if results is None:
        return waiting(Answer(5, asked), "board-kernels")
    of_kernels = losses(results.trials).assign(cv=results.trials["cv_error"].to_numpy())
    of_kernels = of_kernels[of_kernels["n_features"].isin([COLUMNS, *whole_sizes(board)])]
    at_size = {
        size: {dataset: _variances(board, of_kernels, dataset, size) for dataset in results.datasets}
        for size in sorted({COLUMNS, *map(int, of_kernels["n_features"])})
    }
    known = at_size[COLUMNS]
    share, without = _shares(known, "share of datasets on which kernels vary more",
                             "the same without the worst kernel and the worst map (exploratory)")  # fmt: skip
    shares = _at_other_sizes(at_size)
    reached = best_scores(board, of_kernels)
    pairs = {name: beside(known[name].then(_log_ratio), reached[name]) for name in known if name in reached}
    called = "between five kernels", "between five maps of the Gaussian kernel"
    apart = [
        over_datasets({name: known[name].then(_deviation(at, board.known[name])) for name in pairs}, median, each)
        for at, each in enumerate(called)
    ]
    moderated = over_datasets(pairs, correlation, f"correlation of the log ratio with {BEST_SCORE}")
    numbers = [share, without, *chain.from_iterable(shares.values()), moderated, *apart,
               *_drawing_together(at_size, called)]  # fmt: skip
    missing = _kernels_to_come(board, COLUMNS)
    waits = f"{missing} trials to come" if missing else ""
    drawn = strips("Standard deviation of the loss", apart, DEVIATION, (0.0, 0.0))
    return Answer(5, asked, numbers=numbers, notes=(IS_BEST_SCORE, IS_BETWEEN), waits=waits, strips=(drawn,))


BEST_SCORE = "the best R² or accuracy"
"""The moderator of question 5."""
IS_BEST_SCORE = (
    "The best R² or accuracy is that of the entry with the least mean loss over trials, among all maps and kernels at "
    "all sizes. R² is 1 − L/L_constant; on w8a it is the balanced accuracy."
)

IS_BETWEEN = (
    f"Between kernels and between maps: the standard deviation of the loss, {DEVIATION}, the median over datasets; "
    "and the median ratio of those with the most columns to those with the fewest."
)


def best_scores(board: Board, of_kernels: pd.DataFrame) -> dict[str, OfTrials]:
    """On each dataset with a reference, the best R² or accuracy that any entry reaches.

    R² is 1 − L/L_constant, the accuracy is 1 − L, on w8a it is the balanced one. L is the least of the entries' mean
    losses over trials; an entry is a map of the board or of board-kernels at one size.
    """
    constant = {name: each.constant for name, each in board.known.items()}
    rows = pd.concat([board.losses_of_maps.assign(part="board"), of_kernels.assign(part="kernels")])
    rows = rows[rows["dataset"].isin(constant)]
    rows = rows.assign(loss=rows["loss"].where(~rows["failed"], rows["dataset"].map(constant)))

    def best(here: pd.DataFrame, unit: float) -> OfTrials:
        entries = here.pivot_table(index="trial", columns=["part", "method", "n_features"], values="loss")
        return means_of(entries).then(lambda means: 1 - np.nanmin(means) / unit)

    return {str(name): best(here, constant[str(name)] if loss_name(str(name)) == MSE else 1.0)
            for name, here in rows.groupby("dataset")}  # fmt: skip


def _at_other_sizes(at_size: Mapping[int, Mapping[str, OfTrials]]) -> dict[int, tuple[Number, Number]]:
    """The `_shares` at each other size, of the `_variances` by size and dataset."""
    found = {}
    for size, known in at_size.items():
        if size != COLUMNS:
            called = f"the share with {size:,} columns"
            without = f"{called} without the worst of each (exploratory)"
            found[size] = _shares(known, f"{called} (exploratory)", without)
    return found


def _drawing_together(at_size: Mapping[int, Mapping[str, OfTrials]], called: Sequence[str]) -> list[Number]:
    """The standard deviations of the loss between kernels and between maps with the most columns, over those with the
    fewest, and the same without the worst of each: of the `_variances` by size and dataset, the ratio on each dataset,
    its median over datasets. None where there is one size."""
    fewest, most = min(at_size), max(at_size)
    if fewest == most:
        return []
    ends = {name: beside(at_size[most][name], at_size[fewest][name]) for name in at_size[most]}

    def ratio(variances: Sequence[float], at: int) -> float:
        of_most, of_fewest = np.split(np.asarray(variances), 2)
        return float(np.exp(_log_ratio((of_most[at], of_fewest[at])) / 2))

    names = [f"{each}{which}: {most:,} over {fewest:,} columns (exploratory)"
             for which in ("", " without the worst") for each in called]  # fmt: skip
    return [over_datasets({name: each.then(partial(ratio, at=at)) for name, each in ends.items()}, median, said)
            for at, said in enumerate(names)]  # fmt: skip


def whole_sizes(board: Board) -> list[int]:
    """The sizes at which all trials have run of the kernels and maps that question 5 compares."""
    sizes = sorted(map(int, board.results["board-kernels"].trials["n_features"].unique()))
    return [size for size in sizes if not _kernels_to_come(board, size)]


def _kernels_to_come(board: Board, columns: int) -> int:
    """How many trials of the kernels and maps that question 5 compares are still to come at that many columns."""
    return board.missing(METHODS_OF_KERNELS, columns, "board-kernels") + board.missing(OF_GAUSSIAN, columns)


def _variances(board: Board, of_kernels: pd.DataFrame, dataset: str, columns: int = COLUMNS) -> OfTrials:
    """On one dataset the variance components of the loss: between kernels and between maps, and the same without the
    worst kernel and the worst map; NaN where a loss is missing."""
    here, there = (rows[(rows["dataset"] == dataset) & (rows["n_features"] == columns)]
                   for rows in (of_kernels, board.losses))  # fmt: skip
    tables = [by_trial(here, of).reindex(columns=METHODS_OF_KERNELS) for of in ("cv", "loss")]
    tables.append(by_trial(there, "loss").reindex(columns=list(OF_GAUSSIAN)))
    same = tables[1].index.intersection(tables[2].index)
    errors, of_methods, of_maps = (table.reindex(same).to_numpy(float) for table in tables)
    ends = np.cumsum([len(names) for names in OF_KERNEL.values()])[:-1]

    def variances(chosen: NDArray[np.int64]) -> list[float]:
        best = [np.where(np.isnan(each), np.inf, each).argmin() for each in np.split(mean_of(errors[chosen]), ends)]
        levels = of_methods[chosen][:, np.array([0, *ends]) + best], of_maps[chosen]
        few = [np.delete(each, each.mean(axis=0).argmax(), axis=1) for each in levels]
        return [between(each) for each in (*levels, *few)]

    return OfTrials(len(same), variances)


def _shares(known: Mapping[str, OfTrials], called: str, without: str) -> tuple[Number, Number]:
    """Of the `_variances` of all datasets, the share of datasets on which kernels vary more, and the same without the
    worst of each."""

    def share(first: int, name: str) -> Number:
        is_more = {each: of.then(lambda found: _is_more(*found[first : first + 2])) for each, of in known.items()}
        return over_datasets(is_more, lambda each: float(each.mean()), name)

    return share(0, called), share(2, without)


def _is_more(first: float, second: float) -> float:
    """1 where the first is larger, else 0; NaN where one is not known."""
    return np.nan if np.isnan([first, second]).any() else float(first > second)


def _log_ratio(variances: Sequence[float]) -> float:
    return float(np.log((variances[0] + 1e-12) / (variances[1] + 1e-12)))


def _deviation(at: int, known: Reference) -> Callable[[Sequence[float]], float]:
    """The standard deviation that belongs to one of some variances of losses, in % of a dataset's unit."""
    return lambda variances: 100 * float(np.sqrt(variances[at])) / known.unit


def between(table: ArrayLike) -> float:
    """The variance between the columns of a table of losses, trials × levels, less what the trials' noise adds to it:
    the component of a two-way layout without interaction, max(0, (MS_levels − MS_rest)/trials). NaN where a loss is
    missing."""
    values = np.asarray(table, float)
    trials, levels = values.shape
    if np.isnan(values).any() or levels < 2 or trials < 2:
        return np.nan
    mean = values.mean()
    of_levels, of_trials = values.mean(axis=0) - mean, values.mean(axis=1) - mean
    rest = values - mean - of_levels - of_trials[:, None]
    ms_levels = trials * float(of_levels @ of_levels) / (levels - 1)
    ms_rest = float((rest**2).sum()) / ((levels - 1) * (trials - 1))
    return max(0.0, (ms_levels - ms_rest) / trials)
