"""Are rare classes another question? Question 3 of the second edition (docs/board/questions-2.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from rffbench import Table
from rffbench.stats import BASELINE, NOT_RUN, bootstrap, correlation
from studies.board.choosing import ALL, CHOICES, REGION, UNDECIDED, by_dataset, ratios, tasks, with_failures
from studies.board.registered import COLUMNS, MARK

BALANCED, AREA, PRECISION = "balanced error", "1 − AUC", "1 − average precision"
MEASURES = {BALANCED: ("balanced_accuracy", 100), AREA: ("auc", 1), PRECISION: ("average_precision", 1)}
"""What is measured: one minus which score, and the best that score can be."""
SIZES = (COLUMNS, 2048)
"""The columns; verdicts are at the first."""
AGREE, DISAGREE = 0.7, 0.3
"""The median correlation from which on the orders agree, and that below which they disagree."""
FAR = 1.1
"""How much more of 1 − average precision the method with the least balanced error has where it refutes."""


def measured(trials: pd.DataFrame, measure: str, columns: int = COLUMNS) -> pd.DataFrame:
    """The trials of the maps with this number of columns, and of the learners without a map, as `choosing.measured` has
    them. Their error is that of one of `MEASURES`."""
    score, best = MEASURES[measure]
    without_map = ~trials["method"].isin(trials.loc[trials["n_features"] == COLUMNS, "method"])
    rows = trials[without_map | (trials["n_features"] == columns)]
    found = rows[["dataset", "method", "trial"]].assign(
        task=tasks(rows["dataset"]),
        error=1 - rows[score] / best,
        cv=rows["cv_error"].fillna(np.inf),
        failed=rows["status"] != "ok",
    )
    return with_failures(found).reset_index(drop=True)


def mean_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean ratio over trials of each method's error to RFF's: datasets × methods."""
    return pd.DataFrame({name: ratios(rows, (name,)).groupby("dataset")["ratio"].mean() for name in _methods(rows)})


def correlations(trials: pd.DataFrame, columns: int = COLUMNS) -> pd.DataFrame:
    """On each dataset, Spearman's correlation over methods of the balanced error with either other measure."""
    orders = {measure: mean_ratios(measured(trials, measure, columns)) for measure in MEASURES}
    return pd.DataFrame([
        {"dataset": name} | {
            other: correlation(np.column_stack([orders[BALANCED].loc[name], orders[other].loc[name]]))
            for other in (AREA, PRECISION)
        }
        for name in orders[BALANCED].index
    ]).set_index("dataset")  # fmt: skip


def agreement(found: pd.DataFrame) -> str:
    """Whether the measures agree, by the medians over datasets of their `correlations`."""
    medians = found.median()
    if (medians >= AGREE).all():
        return "agree"
    return "disagree" if (medians < DISAGREE).any() else UNDECIDED


def refuting(trials: pd.DataFrame, columns: int = COLUMNS) -> dict[str, tuple[str, str]]:
    """The datasets on which the method with the least balanced error has a tenth more of 1 − average precision than
    another one, with both. Of several with the least, the one with the most of it counts."""
    balanced, precision = (mean_ratios(measured(trials, each, columns)) for each in (BALANCED, PRECISION))
    found = {}
    for name in balanced.index:
        errors, here = balanced.loc[name], precision.loc[name]
        worst = str(here[errors == errors.min()].idxmax())
        if here[worst] >= FAR * here.min():
            found[str(name)] = (worst, str(here.idxmin()))
    return found


# ---- Tables ----------------------------------------------------------------------------------------------------------


def measure_table(trials: pd.DataFrame, measure: str, columns: int = COLUMNS) -> Table:
    """Every ratio to RFF's error by a measure on each dataset, with its interval over trials."""
    names = list(dict.fromkeys(trials["dataset"]))
    found = Table(f"{measure} over that of RFF with {columns:,} columns", ["error of", *names], stub=1)
    for method, here in _over_fourier(trials, measure, columns).items():
        said = [_number(here, name) for name in names]
        found.rows.append([method, *(f"{value} ({low:.2f} to {high:.2f})" for value, low, high in said)])
    return found


def ratio_table(trials: pd.DataFrame, columns: int = COLUMNS) -> Table:
    """Every ratio to RFF's error on each dataset, by all measures, without intervals."""
    names = list(dict.fromkeys(trials["dataset"]))
    found = Table(f"{' / '.join(MEASURES)}, over those of RFF with {columns:,} columns", ["error of", *names], stub=1)
    by_measure = [_over_fourier(trials, measure, columns) for measure in MEASURES]
    for method in by_measure[0]:
        cells = [" / ".join(_number(each[method], name)[0] for each in by_measure) for name in names]
        found.rows.append([method, *cells])
    return found


def order_table(trials: pd.DataFrame) -> Table:
    """The correlations of the orders on each dataset, and their medians."""
    header = ["dataset", *(f"{other}, {columns:,}" for columns in SIZES for other in (AREA, PRECISION))]
    found = pd.concat([correlations(trials, columns) for columns in SIZES], axis=1)
    lines = {**{str(name): each for name, each in found.iterrows()}, "median": found.median()}
    rows = [[name, *(f"{value:.2f}" for value in each)] for name, each in lines.items()]
    return Table("Spearman's correlation with the order by balanced error", header, rows, stub=1)


def _over_fourier(trials: pd.DataFrame, measure: str, columns: int) -> dict[str, dict[str, np.ndarray]]:
    """By method, and for the choice among those of *all* that ran here, the ratios of trials on each dataset."""
    rows = measured(trials, measure, columns)
    among = {name: [name] for name in _methods(rows) if name != BASELINE}
    among[ALL] = [name for name in CHOICES[ALL] if name in _methods(rows)]
    return {name: by_dataset(ratios(rows, each)) for name, each in among.items()}


def _methods(rows: pd.DataFrame) -> list[str]:
    return [str(name) for name in rows["method"].unique()]


def _number(of_datasets: Mapping[str, np.ndarray], dataset: str) -> tuple[str, float, float]:
    """The mean ratio on a dataset, marked where it is a gain, and its interval over trials."""
    value, low, high = bootstrap({dataset: of_datasets.get(dataset, [])})
    return NOT_RUN if np.isnan(value) else f"{value:.2f}{MARK if high < 1 - REGION else ''}", low, high
