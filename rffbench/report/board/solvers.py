"""How many seconds a solver takes to come within 1 % of the test error of the direct solve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rffbench.report.frame import Protocols, Results
from rffbench.report.text_table import NOT_RUN, Table

WITHIN = 0.01
EQUATIONS = {
    "Nyström": ("Nyström ridge", ("Nyström pcg", "Nyström falkon")),
    "RFF": ("RFF ridge", ("RFF pcg",)),
    "whole kernel": ("kernel ridge", ("kernel pcg", "kernel eigenpro")),
}
"""Methods of board-solvers that solve the same equations: the direct one, and the iterative ones."""


@dataclass(frozen=True)
class Reached:
    """Of one solver on one dataset, the median over trials of the seconds to within 1 % of ``error``, the direct
    solve's test error, NaN where fewer than half of the trials come there; the median passes; and whether the error is
    the direct solve's, or, where there is none, what the first iterative solver ends with."""

    solver: str
    error: float
    seconds: float
    passes: float
    is_direct_known: bool


def reached(results: Results, dataset: str, equation: str) -> list[Reached]:
    """The direct solve of an equation, where it was done, and the iterative ones."""
    direct, iterative = EQUATIONS[equation]
    trials = results.trials[(results.trials["dataset"] == dataset) & (results.trials["status"] == "ok")]
    trials = trials.assign(error=trials["rmse"].fillna(1 - trials["accuracy"] / 100))
    of_direct = trials[trials["method"] == direct].set_index("trial")
    known = not of_direct.empty
    target = of_direct["error"] if known else trials[trials["method"] == iterative[0]].set_index("trial")["error"]
    found = []
    if known:
        took = of_direct["feature_s"].fillna(0) + of_direct["fit_s"]
        found.append(Reached(direct, float(target.median()), float(took.median()), np.nan, True))
    for method in iterative:
        mine = trials.loc[trials["method"] == method, "trial"]
        if mine.empty:
            continue
        curves = results.curves[(results.curves["dataset"] == dataset) & (results.curves["method"] == method)]
        there = [_first(curves[curves["trial"] == trial], float(target.get(trial, np.nan))) for trial in mine]
        seconds, passes = np.median(np.array(there), axis=0)
        found.append(Reached(method, float(target.median()), float(_finite(seconds)), float(_finite(passes)), known))
    return found


def _first(curve: pd.DataFrame, target: float) -> tuple[float, float]:
    """Seconds and passes where a solver's test error is first within 1 % of the target; infinity where it never is."""
    near = curve[curve["test_error"] <= (1 + WITHIN) * target]
    return (np.inf, np.inf) if near.empty else (float(near["time"].iloc[0]), float(near["passes"].iloc[0]))


def _finite(value: float) -> float:
    return value if np.isfinite(value) else np.nan


def solver_table(protocols: Protocols) -> Table | None:
    """Of every problem and equation, the seconds of each solver; None where nothing was measured."""
    header = ["problem", "equations", "solver", "test error to reach", "seconds", "passes", "over the direct solve"]
    table = Table("Seconds to within 1 % of the direct solve's test error", header, stub=2)
    guessed = contended = False
    for labels, results in protocols:
        contended |= bool(results.trials["contended"].any())
        for dataset in results.datasets:
            for equation in EQUATIONS:
                found = reached(results, dataset, equation)
                of_direct = next(
                    (each.seconds for each in found if np.isnan(each.passes) and each.is_direct_known), np.nan
                )
                for each in found:
                    guessed |= not each.is_direct_known
                    ratio = each.seconds / of_direct
                    table.rows.append([
                        next(iter(labels.values()), dataset), equation, each.solver,
                        f"{each.error:.4g}{'' if each.is_direct_known else ' *'}",
                        "not reached" if np.isnan(each.seconds) else f"{each.seconds:.3g}",
                        "" if np.isnan(each.passes) else f"{each.passes:.0f}",
                        NOT_RUN if np.isnan(ratio) else f"{ratio:.2f}",
                    ])  # fmt: skip
    table.notes = ["Medians over trials, one at a time with nothing else at work."]
    if guessed:
        table.notes.append("* the direct solve does not fit: what the first iterative solver ends with.")
    if contended:
        table.notes.append(
            "Other work used the processors during some trials, or it cannot be told: the seconds are rough."
        )
    return table if table.rows else None
