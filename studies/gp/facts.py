"""How often intervals of Gaussian processes on features hold: results of the config gp, and of the exact process.

The results may not be there yet; then the page says so.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from studies import evidence
from studies.evidence import folder_of, is_finished

FOLDER = folder_of("gp")
EXACT, CONSTANT = FOLDER / "exact.csv", FOLDER / "constant.csv"
ROWS, EVERY_ROW = "3000", "all"
SCORES = ("nll", "coverage_50", "coverage_90", "coverage_95")
PROCESS = "exact process"


@cache
def trials() -> pd.DataFrame:
    """dataset, rows, method, n_features, trial, rmse and the scores, of trials that ended well; empty until all have
    run."""
    columns = ["dataset", "rows", "method", "n_features", "trial", "rmse", *SCORES]
    if not is_finished("gp"):
        return pd.DataFrame(columns=columns)
    return evidence.trials("gp")[columns]


@cache
def exact() -> pd.DataFrame:
    """dataset, rmse and the scores of scikit-learn's exact process; empty where it was not fitted."""
    return beside(EXACT)


@cache
def constant() -> pd.DataFrame:
    """The same of mean and deviation of the training rows, for every row."""
    return beside(CONSTANT)


def beside(path: Path) -> pd.DataFrame:
    """What `python -m studies.gp` has written there so far."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["dataset", "rmse", *SCORES])


def are_there() -> bool:
    return not trials().empty


def datasets(rows: str = ROWS) -> list[str]:
    return [str(name) for name in trials().loc[trials()["rows"] == rows, "dataset"].unique()]


def means(rows: str = ROWS) -> pd.DataFrame:
    """The mean over trials by dataset, method and number of columns."""
    mine = trials()[trials()["rows"] == rows]
    return mine.groupby(["dataset", "method", "n_features"], sort=False)[["rmse", *SCORES]].mean().reset_index()


def medians(rows: str = ROWS) -> list[list[str]]:
    """A row for each method and number of columns: the medians over datasets; the exact process last, of those rows
    that it was fitted to."""
    found = means(rows).groupby(["method", "n_features"], sort=False)[["rmse", *SCORES]].median().reset_index()
    table = [[str(row["method"]), f"{row['n_features']:,}", *_numbers(row)] for _, row in found.iterrows()]
    if rows == ROWS and not exact().empty:
        table.append([PROCESS, "–", *_numbers(exact()[["rmse", *SCORES]].median())])
    return table


def rows_of_datasets(n_features: int, rows: str = ROWS) -> list[list[str]]:
    """A row for each dataset and method, at that number of columns; and of the exact process."""
    found = means(rows)
    table = []
    for name in datasets(rows):
        mine = found[(found["dataset"] == name) & (found["n_features"] == n_features)]
        table += [[name, str(row["method"]), *_numbers(row)] for _, row in mine.iterrows()]
        if rows == ROWS:
            theirs = exact()[exact()["dataset"] == name]
            table += [[name, PROCESS, *_numbers(row)] for _, row in theirs.iterrows()]
    return table


def _numbers(row: pd.Series) -> list[str]:
    return [f"{row['rmse']:.3f}", f"{row['nll']:.2f}", *(f"{row[name]:.1f}" for name in SCORES[1:])]


def covered(method: str, n_features: int, within: tuple[float, float] = (93.0, 97.0)) -> int:
    """On how many datasets the 95 % intervals hold that share of the test rows, in percent, at 3,000 rows."""
    found = means()
    return within_of(found[(found["method"] == method) & (found["n_features"] == n_features)], within)


def covered_by_constant() -> int:
    """The same of a constant."""
    return within_of(constant())


def within_of(found: pd.DataFrame, within: tuple[float, float] = (93.0, 97.0)) -> int:
    """How many of these rows have a coverage of 95 % intervals between these percents."""
    return int(found["coverage_95"].between(*within).sum())


def smaller_nll(method: str, other: str, n_features: int) -> int:
    """On how many datasets a method has the smaller negative log-likelihood than another one, at 3,000 rows."""
    found = means()[means()["n_features"] == n_features].pivot(index="dataset", columns="method", values="nll")
    return int((found[method] < found[other]).sum())


def near_exact(method: str, n_features: int, within: float = 0.05) -> int:
    """On how many datasets its negative log-likelihood is at most so far above that of the exact process."""
    mine = means()[(means()["method"] == method) & (means()["n_features"] == n_features)].set_index("dataset")["nll"]
    return int((mine - exact().set_index("dataset")["nll"] <= within).sum())
