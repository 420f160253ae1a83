"""Whether the gain of Liu et al. 2020 is one of features or of λ."""

from functools import cache

import pandas as pd

from studies.evidence import Gain, cells, gain, results, trials
from studies.papers.liu2020 import lambda_scales
from studies.papers.liu2020.lambda_scales import LAMBDA_SCALES

RFF, QMC, LEVERAGE, SURROGATE = "RFF", "QMC", "leverage-RFF", "surrogate-RFF"
POOLS = ("1", "4", "10", "32")


def exchanged(*pairs: tuple[str, str], everywhere: str = "") -> int:
    """How many cells of Table 3 would be within the tolerance with the measured numbers of other methods: those of
    ``everywhere`` for all, or of two methods exchanged."""
    rows = cells("table3").compared
    other = {**dict(pairs), **{second: first for first, second in pairs}}
    measured = rows.set_index(["dataset", "n_features", "method"])["measured"]
    whose = rows["method"].map(lambda method: everywhere or other.get(method, method))
    places = zip(rows["dataset"], rows["n_features"], whose, strict=True)
    return int(((measured.loc[list(places)].to_numpy() - rows["reported"]).abs() <= rows["tolerance"]).sum())


def protocols() -> int:
    """Those that the three searches tried; the second repeats ten of the first, the third has one of them again."""
    axes = ["scaling", "bandwidth", "penalty", "folds", "variant"]
    found = trials("protocol-search")[axes].drop_duplicates()
    first = {f"{row.scaling}, {row.bandwidth}, {row.folds} folds" for row in found.itertuples()}
    of_accuracy = trials("protocol-search-accuracy")["protocol"].unique()
    again = [name for name in of_accuracy if name.replace(" squared error,", "") in first]
    return len(found) + len(of_accuracy) - len(again)


def gains(experiment: str, method: str, dataset: str) -> list[float]:
    """The method less RFF at every size of a dataset, in points."""
    rows = trials(experiment)
    sizes = sorted(rows.loc[(rows["dataset"] == dataset) & (rows["method"] == method), "n_features"].unique())
    return [gain(experiment, method, RFF, dataset=dataset, n_features=size).mean for size in sizes]


def from_pool(dataset: str, multiple: int, pool: str, method: str = SURROGATE) -> Gain:
    """A method as written less RFF, choosing from ``pool`` times as many frequencies."""
    return gain("pool", method, RFF, **{"dataset": dataset, "multiple": multiple, "l/s": pool})


@cache
def seeds(dataset: str, multiple: int, method: str) -> float:
    """The mean over two other seeds less the reported accuracy."""
    rows = trials("table3-seeds")
    mine = rows[(rows["dataset"] == dataset) & (rows["multiple"] == multiple) & (rows["method"] == method)]
    reported = cells("table3", dataset=dataset, multiple=multiple, method=method).rows["reported"].iloc[0]
    return float(mine["accuracy"].mean() - reported)


def kernel_errors(protocol: str, metric: str) -> pd.DataFrame:
    """On EEG, by size (rows) and method (columns)."""
    rows = trials("figure1-errors")
    mine = rows[rows["protocol"] == protocol]
    return mine.pivot_table(index="multiple", columns="method", values=metric)


def distances(method: str) -> list[float]:
    """How far a method's curve of accuracy is from RFF's at an equal λ, trace, median column and effective dimension:
    means over datasets and sizes."""
    found = _distances()
    return [float(found.loc[found["method"] == method, scale].mean().round(2)) for scale in LAMBDA_SCALES]


@cache
def _distances() -> pd.DataFrame:
    return lambda_scales.distances(results("effective-dimension").protocols[0][1])


@cache
def dimensions() -> pd.DataFrame:
    """d and D, the effective dimension and its surrogate, of 2,000 rows of each dataset."""
    rows = trials("leverage-theory")
    largest = rows[rows["points"] == "n = 2000"]
    means = largest.groupby("dataset")[["kernel_effective_dimension", "kernel_surrogate_dimension"]].mean()
    return means.set_axis(["d", "D"], axis=1)
