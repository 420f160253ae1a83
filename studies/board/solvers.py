"""How many seconds a solver takes to come within 1 % of the test error of the direct solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench import Results, Table
from rffbench.stats import NOT_RUN
from studies.board.standing import Protocols

WITHIN = 0.01
EQUATIONS = {
    "Nyström": ("Nyström ridge", ("Nyström pcg", "Nyström falkon")),
    "RFF": ("RFF ridge", ("RFF pcg",)),
    "whole kernel": ("kernel ridge", ("kernel pcg", "kernel eigenpro", "kernel askotch")),
}
"""Methods of board-solvers and board-askotch that solve the same equations: the direct one, and the iterative ones."""


OWN_LANDMARKS = ("Nyström falkon",)
"""Solvers that draw landmarks of their own: their equations have another solution than the direct solve's."""
Mark = Literal["direct", "least", "own"]
"""Whose test error a solver has to come near: the direct solve's. If the direct solve does not fit, it is the least
error that an iterative solver ends with. A solver with landmarks of its own has to come near its own last error."""
SIGNS: dict[Mark, str] = {"direct": "", "least": " *", "own": " †"}
NOTES: dict[Mark, str] = {
    "least": "* The direct solve does not fit: the least error that a solver of the equations ends with.",
    "own": "† It draws landmarks of its own: the error that it ends with.",
}


@dataclass(frozen=True)
class Reached:
    """One solver on one dataset: the medians over trials of the seconds and passes to within 1 % of ``error``, and of
    the ``ratio`` of these seconds to the direct solve's in the same trial, as trials may be of different machines. They
    are NaN unless more than half of the trials come there, the ratio also without a direct solve. ``of`` says whose
    error it is."""

    solver: str
    error: float
    of: Mark
    seconds: float
    passes: float
    ratio: float


def reached(results: Results, dataset: str, equation: str) -> list[Reached]:
    """The direct solve of an equation, where it was done, and the iterative ones."""
    direct, iterative = EQUATIONS[equation]
    trials = results.trials[(results.trials["dataset"] == dataset) & (results.trials["status"] == "ok")]
    trials = trials.assign(error=trials["rmse"].fillna(1 - trials["accuracy"] / 100))
    errors = trials.pivot(index="trial", columns="method", values="error").reindex(columns=[direct, *iterative])
    of_direct = trials[trials["method"] == direct].set_index("trial")
    solved_in = (of_direct["feature_s"].fillna(0) + of_direct["fit_s"]).reindex(errors.index)
    known, found = bool(errors[direct].notna().any()), []
    if known:
        found.append(Reached(direct, float(errors[direct].median()), "direct", float(solved_in.median()), np.nan, 1.0))
    least = errors.drop(columns=[direct, *OWN_LANDMARKS], errors="ignore").min(axis=1)
    for method in iterative:
        mine = errors.index[errors[method].notna()]
        if mine.empty:
            continue
        of: Mark = "own" if method in OWN_LANDMARKS else "direct" if known else "least"
        target = {"own": errors[method], "direct": errors[direct], "least": least}[of]
        curves = results.curves[(results.curves["dataset"] == dataset) & (results.curves["method"] == method)]
        there = [_first(curves[curves["trial"] == trial], float(target[trial])) for trial in mine]
        seconds, passes = np.transpose(there)
        medians = (_median(each) for each in (seconds, passes, seconds / solved_in[mine].to_numpy()))
        found.append(Reached(method, float(target[mine].median()), of, *medians))
    return found


def _first(curve: pd.DataFrame, target: float) -> tuple[float, float]:
    """Seconds and passes where a solver's test error is first within 1 % of the target; infinity where it never is."""
    near = curve[curve["test_error"] <= (1 + WITHIN) * target]
    return (np.inf, np.inf) if near.empty else (float(near["time"].iloc[0]), float(near["passes"].iloc[0]))


def _median(values: NDArray[np.float64]) -> float:
    """Of those that are known; NaN where it is infinite, or none is known."""
    known = values[~np.isnan(values)]
    middle = float(np.median(known)) if len(known) else np.nan
    return middle if np.isfinite(middle) else np.nan


def over_the_direct_solve(protocols: Protocols) -> dict[tuple[str, str], list[float]]:
    """By an iterative solver and the direct one, its seconds over the direct solve's on each dataset that has both; NaN
    where it does not come there in most trials."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for _, results in protocols:
        for dataset in results.datasets:
            for equation, (direct, _) in EQUATIONS.items():
                found = {each.solver: each.ratio for each in reached(results, dataset, equation)}
                if found.pop(direct, None) is not None:
                    for solver, ratio in found.items():
                        ratios.setdefault((solver, direct), []).append(ratio)
    return ratios


def solver_table(protocols: Protocols) -> Table | None:
    """Of every problem and equation, the seconds of each solver; None where nothing was measured."""
    header = ["problem", "equations", "solver", "test error to reach", "seconds", "passes", "over the direct solve"]
    table = Table("Seconds to within 1 % of the direct solve's test error", header, stub=2)
    marked, disturbed, trials = set(), [], 0
    for labels, results in protocols:
        trials = max(trials, results.trials["trial"].nunique())
        for dataset in results.datasets:
            problem = next(iter(labels.values()), dataset)
            mine = results.trials[(results.trials["dataset"] == dataset) & results.trials["contended"]]
            disturbed += [f"{problem} ({solver})" for solver in mine["method"].unique()]
            for equation in EQUATIONS:
                for each in reached(results, dataset, equation):
                    marked.add(each.of)
                    table.rows.append([
                        problem, equation, each.solver,
                        f"{each.error:.4g}{SIGNS[each.of]}",
                        "not reached" if np.isnan(each.seconds) else f"{each.seconds:.3g}",
                        "" if np.isnan(each.passes) else f"{each.passes:.0f}",
                        NOT_RUN if np.isnan(each.ratio) else f"{each.ratio:.2f}",
                    ])  # fmt: skip
    of_trials = "One trial each" if trials == 1 else f"Medians over {trials} trials"
    table.notes = [f"{of_trials}, one at a time."]
    if trials > 1:
        table.notes.append("Over the direct solve: the median of the ratios in the same trial.")
    if disturbed:
        table.notes.append(
            f"Other work used the processors, or it cannot be told, during {', '.join(disturbed)}: these seconds are "
            "rough."
        )
    table.notes += [NOTES[of] for of in NOTES if of in marked]
    return table if table.rows else None
