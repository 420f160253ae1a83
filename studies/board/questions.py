"""The board's five questions (docs/board/questions.md): what is measured for each, and what the answer is. The module
`kernels_or_maps` has the fifth.

A part without its trials has no answer. A map that is measured nowhere is left out of the numbers, and said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.stats import (
    BASELINE,
    Number,
    OfTrials,
    at_columns,
    beside,
    by_trial,
    correlation,
    losses,
    mean_of,
    means_of,
    median,
    over_datasets,
    summaries,
)
from studies.board.answers import Answer, strips, waiting
from studies.board.kernels_or_maps import kernels
from studies.board.registered import (
    COLUMNS,
    CONFIRMATORY,
    DRAWS,
    FAMILIES,
    OF_ANOTHER_KERNEL,
    POWER,
    SIZES_AT_COST,
)
from studies.board.standing import Board, shape

FEWEST_MAPS = 5  # of which a rank correlation says anything
AT_SECONDS = f"Gain over RFF at its seconds with {COLUMNS} columns"
RIDGE_DELTA, ROOT_DELTA = "ridge Δ", "root Δ"
"""‖(K + nλI)^−½(K̃ − K)(K + nλI)^−½‖₂, the first at the λ that kernel ridge chooses, the other at λ = 1/√n."""


# ---- 1, 3 and 4: gains -----------------------------------------------------------------------------------------------


def equal_seconds(board: Board) -> Answer:
    """Question 1."""
    answer = Answer(1, "At equal seconds, does any Gaussian map beat RFF?")
    at = board.at_cost("fit", COLUMNS)
    if at is None:
        return waiting(answer, "board-seconds")
    found = summaries(at.trials, CONFIRMATORY)
    maps = [(f"{AT_SECONDS}: map, one fit and prediction", found)]
    if (quick := board.at_cost("map", COLUMNS)) is not None:
        maps.append((f"{AT_SECONDS}: map and prediction alone", summaries(quick.trials, CONFIRMATORY)))
    depth = {name: np.log(shape(name)[1]) for name in board.datasets}
    numbers = _moderated(at.trials, CONFIRMATORY, depth, "log d")
    return _waits(replace(answer, maps=maps, numbers=numbers, notes=(POWER,)), board, CONFIRMATORY)


def data_dependent(board: Board) -> Answer:
    """Question 3."""
    asked = "Does a data-dependent draw pay once λ and σ are chosen?"
    maps = [(f"Gain over RFF at {COLUMNS} columns", summaries(board.at_columns(COLUMNS), DRAWS))]
    at = board.at_cost("fit", COLUMNS)
    if at is not None:
        maps.append((f"{AT_SECONDS}, the draw counted", summaries(at.trials, DRAWS)))
    numbers: list[Number] = []
    if dimensions := _moderator(board, "ridge_dimension"):
        share = {name: value / min(shape(name)[0], 1000) for name, value in dimensions.items()}
        numbers = _moderated(board.at_columns(COLUMNS), DRAWS, share, "d_eff/n")
    return _waits(Answer(3, asked, maps=maps, numbers=numbers), board, DRAWS)


def nystroem(board: Board) -> Answer:
    """Question 4."""
    asked = "Nyström or random features at equal time, and is RPCholesky worth its cost?"
    both = uniform, _ = ("Nyström", "Nyström RPCholesky")
    at, own = board.at_cost("fit", COLUMNS), board.at_cost("fit", COLUMNS, baseline=uniform)
    if at is None or own is None:
        return waiting(Answer(4, asked), "board-seconds")
    columns = _over(board, uniform)
    maps = [
        (AT_SECONDS, summaries(at.trials, both)),
        (f"Gain of RPCholesky over uniform landmarks at {COLUMNS} columns", summaries(columns, both[1:])),
        (f"Gain of RPCholesky over uniform landmarks at their seconds with {COLUMNS}", summaries(own.trials, both[1:])),
    ]
    numbers: list[Number] = []
    if decay := _moderator(board, "spectral_decay"):
        numbers = _moderated(at.trials, both, decay, "the decay")
    return _waits(Answer(4, asked, maps=maps, numbers=numbers), board, both)


def _over(board: Board, baseline: str) -> pd.DataFrame:
    return at_columns(board.losses_of_maps, board.known, COLUMNS, baseline)


# ---- 2: errors of the kernel -----------------------------------------------------------------------------------------

IS_RIDGE_DELTA = (
    f"The {RIDGE_DELTA} is the registered Δ: on 1,000 training rows, at the λ that kernel ridge chooses on them and at "
    f"the σ that RFF chose. The {ROOT_DELTA} beside the gains is another number, at λ = 1/√n and at each map's own σ."
)
KINDS = {
    "all": "over all maps", "Fourier": "over Fourier maps", "families": "between families",
    "estimates": "over maps that estimate this kernel (exploratory)",
}  # fmt: skip
"""Over which maps the errors and the losses are ranked."""


def kernel_errors(board: Board) -> Answer:
    """Question 2."""
    asked = "Does a smaller kernel error mean a smaller test error?"
    results = board.results.get("board-one-sigma")
    if results is None:
        return waiting(Answer(2, asked), "board-one-sigma")
    trials = results.trials.assign(loss=losses(results.trials)["loss"])
    found: dict[str, dict[tuple[str, str], OfTrials]] = {
        str(name): {(kind, error): _ranks(each, kind, error) for kind in KINDS
               for error in ("entry_error", "ridge_delta_error")}
        for name, each in trials.groupby("dataset", sort=False)
    }  # fmt: skip
    errors = {"ridge_delta_error": "Δ", "entry_error": "Frobenius error"}
    numbers = [
        _ridge(over_datasets({name: each[kind, error] for name, each in found.items()}, median, f"{sign}, {title}"))
        for kind, title in KINDS.items() for error, sign in errors.items()
    ]  # fmt: skip
    drawn = strips("Rank correlation of the error with the test loss", numbers, "Spearman's correlation", (-0.3, 0.3))
    pairs = {name: beside(each["all", "ridge_delta_error"], each["all", "entry_error"]) for name, each in found.items()}
    apart = over_datasets(pairs, lambda each: float(np.median(each[:, 0]) - np.median(each[:, 1])),
                          "Δ less the Frobenius error")  # fmt: skip
    apart = _ridge(apart)
    called = "losses of half the trials with those of the rest, {} (exploratory)"
    numbers += [
        over_datasets(_between_halves(trials, kind), median, called.format(KINDS[kind])) for kind in ("all", "Fourier")
    ]
    if dimensions := _moderator(board, "ridge_dimension"):
        share = {name: beside(means_of(value / COLUMNS), found[name]["all", "ridge_delta_error"])
                 for name, value in dimensions.items() if name in found}  # fmt: skip
        numbers.append(_ridge(over_datasets(share, correlation, "correlation of Δ's with d_eff over columns")))
    done = board.progress("board-one-sigma")
    return Answer(
        2, asked, numbers=[*numbers[:2], apart, *numbers[2:]],
        notes=(IS_RIDGE_DELTA, "Between families: with five of them, a rank correlation has few possible values.",
               "The intervals of halves are over datasets alone: a trial that is drawn twice would be in both halves."),
        waits=f"{done.planned - done.done} trials to come" if done and not done.is_complete else "",
        strips=(drawn,),
    )  # fmt: skip


def _ridge(number: Number) -> Number:
    """The number under the name that tells the two Δ apart. Its interval was drawn under the registered name."""
    return replace(number, name=number.name.replace("Δ", RIDGE_DELTA))


def _ranks(trials: pd.DataFrame, kind: str, error: str) -> OfTrials:
    """Spearman's correlation over maps of the log error with the loss, on one dataset."""
    tables = [by_trial(trials, of) for of in ("loss", error)]
    maps = tables[0].columns[_of_kind(tables[0].columns, kind)]
    losses_, errors = (table[maps].to_numpy(float) for table in tables)
    family = maps.map({name: family for family, names in FAMILIES.items() for name in names})
    groups = [family == each for each in FAMILIES] if kind == "families" else []

    def ranks(chosen: NDArray[np.int64]) -> float:
        pairs = np.column_stack([mean_of(errors[chosen]), mean_of(losses_[chosen])])
        pairs[np.isnan(pairs).any(axis=1)] = np.nan
        if groups:
            pairs[:, 0] = np.log(pairs[:, 0])
            pairs = np.array([mean_of(pairs[at]) for at in groups])
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
        return correlation(pairs) if len(pairs) >= FEWEST_MAPS else np.nan

    return OfTrials(len(losses_), ranks)


def _of_kind(methods: pd.Index, kind: str) -> Any:
    """Which of the maps are of a kind of `KINDS`."""
    if kind == "Fourier":
        return methods.isin(FAMILIES["Fourier"])
    return ~methods.isin(OF_ANOTHER_KERNEL if kind == "estimates" else ())


def _between_halves(trials: pd.DataFrame, kind: str) -> dict[str, float]:
    """On each dataset, Spearman's correlation over maps of the mean loss of half the trials with that of the rest, the
    mean over all halves. It says how far the losses' ranks are more than chance: no error can predict chance."""
    found = {}
    for dataset, each in trials[_of_kind(pd.Index(trials["method"]), kind)].groupby("dataset", sort=False):
        table = each.pivot_table(index="method", columns="trial", values="loss").dropna()
        halves = combinations(table.columns, table.shape[1] // 2)
        pairs = [(table[list(half)].mean(axis=1), table.drop(columns=list(half)).mean(axis=1)) for half in halves]
        found[str(dataset)] = float(np.mean([correlation(np.column_stack(pair)) for pair in pairs]))
    return found


# ---- What they share -------------------------------------------------------------------------------------------------


ASKED = (equal_seconds, kernel_errors, data_dependent, nystroem, kernels)


@cache
def answers(board: Board) -> tuple[Answer, ...]:
    """All five, in order; kept, because the board's page and other pages ask for the same."""
    return tuple(each(board) for each in ASKED)


def _moderator(board: Board, measure: str) -> dict[str, pd.Series]:
    """A measure of the kernel matrix on each dataset, by trial, at the σ that RFF chose."""
    results = board.results.get("board-one-sigma")
    if results is None or measure not in results.trials:
        return {}
    known = results.trials.dropna(subset=[measure])
    return {str(name): each.groupby("trial")[measure].mean() for name, each in known.groupby("dataset")}


def _moderated(
    rows: pd.DataFrame, methods: Sequence[str], by: Mapping[str, float | pd.Series], called: str
) -> list[Number]:
    """The correlations over datasets of maps' gains with a moderator, a number or one a trial."""
    numbers = []
    for method in methods:
        mine = rows[rows["method"] == method].groupby("dataset")
        pairs = {
            str(name): means_of(each.set_index("trial")[["gain"]].assign(by=by[str(name)]))
            for name, each in mine if str(name) in by
        }  # fmt: skip
        numbers.append(over_datasets(pairs, correlation, f"{method}: correlation of the gain with {called}"))
    return numbers


def _waits(answer: Answer, board: Board, maps: Sequence[str]) -> Answer:
    reasons = list(dict.fromkeys(filter(None, (board.withheld(name, COLUMNS) for name in maps))))
    if "board-seconds" not in board.results:
        reasons.append("board-seconds has not run")
    elif missing := sum(
        board.missing((BASELINE, *maps), size, part) for part in ("board", "board-seconds") for size in SIZES_AT_COST
    ):
        reasons.append(f"{missing} trials to come of those that equal seconds need")
    return replace(answer, waits="; ".join(reasons))
