"""What the board's rows say, as numbers and verdicts for its pages.

A gain is a share of what 4,096 random Fourier features gain over a constant. All are gains over random Fourier features
of the Gaussian kernel with as many columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from rffbench import Table
from rffbench.stats import BASELINE, Cost, Number, Summary, cost_ratios, percent, summaries
from studies.board import choosing, confirm_columns, questions, run_tables, second, solvers, tables
from studies.board import refuting as refuting
from studies.board.answers import Answer
from studies.board.columns import needed_table
from studies.board.registered import COLUMNS
from studies.board.standing import Board, load_board, shape
from studies.evidence import folder_of, results
from studies.learners import facts as learners  # noqa: F401 -- choose-a-map.md names it

GAUSSIAN = (BASELINE, "Nyström")
FOURIER = ("RFF", "Laplacian RFF", "Matérn RFF", "arc-cosine random layer", "polynomial Maclaurin")
SURELY = 0.001  # a mean gain below −SURELY is a loss


@cache
def board() -> Board:
    return load_board(folder_of("board").parent)


@cache
def gains(columns: int) -> dict[str, Summary]:
    """The gains of the maps with that many columns."""
    return {each.method: each for each in board().at_each_size[columns]}


def gain(method: str, columns: int = 512) -> Summary:
    return gains(columns)[method]


def verdict(method: str, columns: int = 512) -> str:
    """better, same, worse or undecided: with as many columns."""
    return gain(method, columns).verdict


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
    rows = choosing.measured(board().results["board-kernels"].trials, (columns,))
    by_trial = {name: choosing.chosen(rows, of, "loss") for name, of in (("own", among), ("rff", (BASELINE,)))}
    losses = pd.DataFrame(by_trial).groupby(["dataset", "task"]).mean()
    gained, ratios = {}, {}
    for (dataset, task), own, rff in losses.itertuples(name=None):
        gained[dataset] = float((rff - own) / board().known[dataset].unit)
        ratios[dataset] = float((own / rff) ** (0.5 if task == "regression" else 1))
    return Choice(gained, ratios)


KERNELS_AND_MAPS = choosing.CHOICES[choosing.ALL]


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


# ---- How many columns are enough, and the small board ----------------------------------------------------------------

LARGE = ("pumadyn32nm", "naval-compressor", "ujiindoorloc")  # with 800 test rows or more
SMALL = ("airfoil", "concrete", "energy", "housing", "yacht-resistance", "breast-cancer")


@dataclass(frozen=True)
class Confirmation:
    """What the rule for the number of columns said of data that is not on the board: a row for each trial of a map."""

    rows: pd.DataFrame

    @property
    def _known(self) -> pd.DataFrame:
        return self.rows[self.rows["answers"]]

    @property
    def answers(self) -> int:
        return len(self._known)

    @property
    def answered(self) -> float:
        """The share of the trials that have an answer."""
        return self.answers / len(self.rows)

    @property
    def share(self) -> float:
        """Of the answers, the share whose interval holds the true number."""
        return float(self._known["holds"].mean())

    @property
    def held(self) -> str:
        return f"{self._known['holds'].sum()} of {self.answers}"

    @property
    def missed(self) -> list[str]:
        """The datasets on which an interval misses the true number."""
        return list(dict.fromkeys(self._known.loc[~self._known["holds"].astype(bool), "dataset"]))

    @property
    def error(self) -> float:
        """How far the rule's loss at four times the size is off, in % of the gain: the median over trials."""
        return 100 * float(self.rows["error"].median())

    def known(self, dataset: str) -> int:
        """How many answers are of a dataset."""
        return int((self._known["dataset"] == dataset).sum())


@cache
def confirmed(largest: int | None = None, on: tuple[str, ...] = (*LARGE, *SMALL)) -> Confirmation:
    """From sizes up to ``largest``, or from all; of maps whose gain is known well enough."""
    found = confirm_columns.answers()
    found = found[found["usable"] & found["dataset"].isin(on)]
    return Confirmation(found if largest is None else found[found["largest"] == largest])


def trials_of_each() -> list[int]:
    """How many trials a dataset of the confirmation has: each number once."""
    return sorted(set(confirm_columns.answers().groupby("dataset")["trial"].nunique()))


def with_most_columns() -> list[str]:
    """The datasets of the confirmation that have 4,096 columns."""
    found = confirm_columns.answers()
    return sorted(set(found.loc[found["most"] == 4096, "dataset"]))


def small_board() -> str:
    """The table of the small board."""
    return results("board-small").gains().to_markdown().strip()


def seconds_of_small() -> float:
    """What the trials of the small board took on the whole board, with two workers."""
    small = results("board-small")
    cells = small.trials[["dataset", "method", "n_features", "trial"]]
    same = board().scores.trials.merge(cells[cells["n_features"] > 1])
    of_map = same[["feature_s", "fit_s", "predict_s"]].sum(axis=1)
    once = same["bandwidth_s"].where(same["n_features"] == COLUMNS, 0)  # σ is chosen once for all sizes
    return float((of_map + once).sum()) / 2


# ---- The page of the board -------------------------------------------------------------------------------------------


def question(number: int) -> Answer:
    """What the trials say of one of the five questions."""
    return questions.answers(board())[number - 1]


def gains_for(number: int, view: int = 0) -> dict[str, Summary]:
    """The gains that a question is about, by map, in one of its views."""
    return {each.method: each for each in question(number).maps[view][1]}


def waiting() -> list[str]:
    """What is missing for the questions to have answers."""
    return [each.waits for each in map(question, range(1, 6)) if each.waits]


def number(of_question: int, name: str) -> Number:
    """A number of a question, by how its name begins."""
    return next(each for each in question(of_question).numbers if each.name.startswith(name))


def with_verdict(found: dict[str, Summary], verdict: str) -> list[str]:
    return [name for name, each in found.items() if each.verdict == verdict]


def bare(table: Table) -> str:
    """A table without its title and notes."""
    return "\n".join(line for line in table.to_markdown().splitlines() if line.startswith("|"))


@cache
def before() -> dict[str, Summary]:
    """The gains at equal seconds by the seconds that were measured before."""
    earlier = board().before
    at = earlier.at_cost("fit", COLUMNS) if earlier else None
    return {each.method: each for each in summaries(at.trials, board().compared)} if at else {}


def less_sure(method: str) -> bool:
    """Whether simulated boards reach false verdicts on a map at equal seconds too often."""
    return bool(run_tables.less_sure(board(), (method,)))


def solver_ratios() -> dict[tuple[str, str], list[float]]:
    """By an iterative solver and the direct one, its seconds over the direct solve's on each dataset."""
    return solvers.over_the_direct_solve(board().solvers)


def spread(ratios: list[float]) -> str:
    """The smallest and the largest of those that are known, and on how many datasets none is."""
    known = [each for each in ratios if np.isfinite(each)]
    late = len(ratios) - len(known)
    return f"{min(known):.2g} to {max(known):.2g}" + (f"; not there on {late}" if late else "")


# ---- The second edition ----------------------------------------------------------------------------------------------


@cache
def edition() -> second.Edition:
    """The second edition as far as its rows are in results/."""
    return second.load_edition(folder_of("board").parent)
