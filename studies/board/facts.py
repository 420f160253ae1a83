"""What the board's rows say, as numbers and verdicts for its pages.

A gain is a share of what 4,096 random Fourier features gain over a constant. All are gains over random Fourier features
of the Gaussian kernel with as many columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from rffbench import load_card
from rffbench.stats import BASELINE, Cost, Summary, cost_ratios, losses, percent, summaries
from studies.board import tables
from studies.board.columns import needed_table
from studies.board.registered import OF_KERNEL
from studies.board.standing import Board, load_board, shape

RESULTS = Path(__file__).resolve().parents[2] / "results"
GAUSSIAN = (BASELINE, "Nyström")
FOURIER = ("RFF", "Laplacian RFF", "Matérn RFF", "arc-cosine random layer", "polynomial Maclaurin")
SURELY = 0.001  # a mean gain below −SURELY is a loss


@cache
def board() -> Board:
    return load_board(RESULTS)


@cache
def gains(columns: int) -> dict[str, Summary]:
    """The gains of the maps with that many columns."""
    return {each.method: each for each in board().at_each_size[columns]}


def gain(method: str, columns: int = 512) -> Summary:
    return gains(columns)[method]


def verdict(method: str, columns: int = 512) -> str:
    """better, same, worse or undecided: with as many columns."""
    return gain(method, columns).posterior.verdict


@cache
def at_seconds(columns: int = 512, of: Cost = "fit") -> dict[str, Summary]:
    """The gains of the maps at the seconds of random Fourier features with that many columns, by method."""
    at = board().at_cost(of, columns)
    assert at is not None
    return {each.method: each for each in summaries(at.trials, board().compared)}


def verdict_at_seconds(method: str, columns: int = 512) -> str:
    return at_seconds(columns)[method].verdict


def any_gains_at_seconds(columns: int = 512) -> bool:
    """Whether any map is better at the seconds of random Fourier features."""
    return any(each.verdict == "better" for each in at_seconds(columns).values())


@cache
def within(method: str, columns: int) -> list[int]:
    """On how many datasets a map with that many columns is within 1, 2 and 5 % of 4,096 random Fourier features."""
    table = needed_table()
    row = next(row for row in table.rows if row[:2] == [method, "4,096 random Fourier features"])
    return [int(each) for each in row[table.header.index(str(columns))].split(" / ")]


# ---- A choice by cross-validation ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """What a choice by cross-validation gains, by dataset: the mean gains over trials, and the ratios of the test
    errors (of a regression the root mean squared ones) to those of random Fourier features."""

    gains: dict[str, float]
    errors: dict[str, float]

    @property
    def median(self) -> str:
        return percent(float(np.median([*self.gains.values()])))

    @property
    def worst(self) -> str:
        return percent(min(self.gains.values()))

    @property
    def losses(self) -> int:
        """On how many datasets it loses."""
        return sum(each < -SURELY for each in self.gains.values())

    @property
    def datasets(self) -> int:
        return len(self.gains)

    @property
    def less_error(self) -> str:
        """By how many percent the test error is smaller, the median over datasets."""
        return f"{100 * (1 - np.median([*self.errors.values()])):.0f}"


@cache
def choice(among: tuple[str, ...], columns: int = 512) -> Choice:
    """In each trial of board-kernels the method of ``among`` with the least cross-validation error is taken."""
    results, known = board().results["board-kernels"], board().known
    rows = losses(results.trials).assign(cv=results.trials["cv_error"].to_numpy())
    rows = rows[rows["n_features"] == columns]
    gained, ratios = {}, {}
    for dataset, here in rows.groupby("dataset"):
        of_trial = here.pivot(index="trial", columns="method", values=["cv", "loss"])
        errors, loss_of = (of_trial.xs(name, axis="columns")[list(among)].to_numpy() for name in ("cv", "loss"))
        loss = np.mean(np.take_along_axis(loss_of, np.nanargmin(errors, axis=1)[:, None], axis=1))
        baseline = of_trial["loss", BASELINE].mean()
        gained[str(dataset)] = float((baseline - loss) / known[str(dataset)].unit)
        is_square = load_card(str(dataset)).task == "regression"
        ratios[str(dataset)] = float((loss / baseline) ** (0.5 if is_square else 1))
    return Choice(gained, ratios)


KERNELS_AND_MAPS = tuple(name for names in OF_KERNEL.values() for name in names)


# ---- Costs, and learners without a map -------------------------------------------------------------------------------


@cache
def seconds_over_fourier(method: str, inputs: tuple[int, int], clock: Cost = "fit") -> tuple[float, float]:
    """The least and the largest ratio of a map's seconds to those of random Fourier features, both with 512 columns,
    on datasets with that many inputs (from, to)."""
    ratios = cost_ratios(board().costs(clock).dropna(), 512).xs((method, 512), level=("method", "n_features"))
    chosen = [ratios[name] for name in board().datasets if inputs[0] <= shape(name)[1] <= inputs[1]]
    return min(chosen), max(chosen)


@cache
def without_a_map(method: str, columns: int = 512) -> Summary:
    return next(each for each in board().without_a_map(columns) if each.method == method)


@cache
def losses_of(method: str, columns: int = 512) -> int:
    """On how many datasets a learner without a map is behind random Fourier features."""
    rows = tables.gains_of_learners(board(), columns)
    return int((rows[rows["method"] == method].groupby("dataset")["gain"].mean() < 0).sum())


FACTS = {
    name: globals()[name]
    for name in (
        "gain", "verdict", "at_seconds", "verdict_at_seconds", "any_gains_at_seconds", "within", "choice",
        "seconds_over_fourier", "without_a_map", "losses_of", "GAUSSIAN", "FOURIER", "KERNELS_AND_MAPS",
    )
}  # fmt: skip
