"""How far the released solvers of Lin et al. 2023, and maps, are from the exact Gaussian process."""

import numpy as np
import pandas as pd

from studies.evidence import chosen, released, trials

NAME = "lin2023"
DATASETS = ("pol", "elevators", "bike", "protein", "keggdirected")


def _exact() -> pd.Series:
    """The exact solution's error by dataset and fold."""
    rows = trials(NAME)
    return rows[rows["method"] == "exact"].set_index(["dataset", "trial"])["rmse"]


def above(method: str, dataset: str) -> float:
    """How many percent a released solver's error is above that of the exact solution, the mean over its folds."""
    rows = chosen(released("lin2023_rmse.csv"), method=method, dataset=dataset).set_index("split")["rmse"]
    solved = _exact()[f"{dataset}-gp"]
    return 100 * float(np.mean([rows[fold] / solved[fold] - 1 for fold in solved.index]))


def over_exact(dataset: str, nystroem: bool) -> list[float]:
    """The errors with 2,048 columns over the exact solution's: of Nyström features, or of the other maps."""
    rows = trials(NAME)
    maps = rows[rows["n_features"] == 2048].set_index(["dataset", "trial"])
    ratios = maps.assign(ratio=maps["rmse"] / _exact().reindex(maps.index)).dropna(subset="ratio")
    means = ratios.groupby(["dataset", "method"])["ratio"].mean()[f"{dataset}-gp"]
    return [value for method, value in means.items() if (method == "Nystroem") == nystroem]


def apart(*datasets: str) -> list[float]:
    """How far the larger of two released errors of one system is above the other, in percent, by dataset and fold."""
    rows = chosen(released("lin2023_rmse.csv"), method=["cg", "precondcg"], dataset=list(datasets))
    pairs = rows.groupby(["dataset", "split"])["rmse"].agg(["min", "max"])
    return list(100 * (pairs["max"] / pairs["min"] - 1))


def seconds(method: str, dataset: str) -> list[float]:
    """Of the released runs."""
    return list(chosen(released("lin2023_rmse.csv"), method=method, dataset=dataset)["seconds"])


def larger(gaps: pd.Series) -> list[float]:
    """By how many percent the reported numbers are larger, of differences in percent of them."""
    return [100 * (1 / (1 + gap / 100) - 1) for gap in gaps]
