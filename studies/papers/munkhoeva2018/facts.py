"""Where the errors of Munkhoeva et al. 2018 differ, and what their released means say of their own map."""

import pandas as pd

from studies.evidence import Cells, cells, released, trials

NAME = "munkhoeva2018"
OTHERS = ("G", "Gort", "ROM", "QMC", "GQ")


def of_map(name: str) -> Cells:
    return cells(NAME).kind(name)


def apart_from_qmc() -> Cells:
    """Of the maps that the paper compares its own, B, with."""
    return cells(NAME, method=lambda method: not method.startswith(("B ", "QMC")))


def arc_cosine_on_mnist(order: int) -> Cells:
    return apart_from_qmc().where(dataset="mnist", method=lambda method: method.endswith(f"arccos{order}"))


def of_order_1(dataset: str) -> Cells:
    """Of the arc-cosine kernel of order 1, with which its own map is comparable."""
    return cells(NAME, dataset=dataset, method=lambda method: method.endswith("arccos1"))


def smaller(kernel: str, other: str) -> str:
    """By the released means, in how many cells its own map has the smaller error than another."""
    rows = released("munkhoeva2018_errors.csv")
    means = rows[rows["kernel"] == kernel].pivot_table("error_mean", ["dataset", "n"], "method")
    pair = means[["B", other]].dropna()
    return f"{(pair['B'] < pair[other]).sum()} of {len(pair)}"


def owen(dataset: str) -> pd.Series:
    """The error with Owen's permutations over that of the generalised Halton sequence, by kernel and size."""
    means = trials(NAME).groupby(["dataset", "n_features", "method"])["cross_error"].mean().unstack()
    kernels = ("gaussian", "arccos0", "arccos1")
    ratios = pd.DataFrame({name: means[f"Owen {name}"] / means[f"QMC {name}"] for name in kernels}).dropna()
    return ratios.loc[dataset].stack()
