"""Random binning at equal rank and at equal seconds, and what the flaws of the released code are worth."""

from functools import cache

import numpy as np
import pandas as pd

from rffbench.stats import cost
from studies.evidence import Cells, cells, listed, signed, span, trials

MAPS = ("binning", "RFF", "Nyström")
NAMES = {"binning": "random binning", "RFF": "Fourier features", "Nyström": "Nyström"}
STORED = ("wu2016", "wu2016-covtype")  # the runs that Wu et al. stored
CELL = ["dataset", "map", "n_features"]
BY_CV = {
    name: (8, 16) if name == "letter-libsvm" else (16, 64)
    for name in ("penbased", "california", "cpu-small", "letter-libsvm", "a9a", "cod-rna", "ijcnn1")
}
WITH_SECONDS = {**BY_CV, "mnist": (16,), "covtype": (16,)}
HOW = {"on test": "σ on the test part", "sigma": "σ by cross-validation", "both": "σ and λ by cross-validation"}


def scored(experiment: str) -> pd.DataFrame:
    """Its trials, with the ``map`` and the ``score``: accuracy, or the relative error, negative, in percent."""
    rows = trials(experiment)
    score, errors = (rows.get(name, pd.Series(np.nan, rows.index)) for name in ("accuracy", "relative_rmse"))
    score = score.fillna(-100 * errors)
    return rows.assign(map=rows["method"].str.partition(" ")[0], score=score)


@cache
def without_flaws() -> pd.DataFrame:
    """The trials of the stored runs, those with a flaw of the code replaced by those without."""
    every = pd.concat([scored(name) for name in ("wu2016-without-flaws", *STORED)])
    return every.drop_duplicates(["dataset", "method", "n_features", "trial"])


@cache
def by_rank() -> pd.DataFrame:
    """A row for each dataset, rank and map: the mean score with σ of the best mean test score, with σ by
    cross-validation, both with λ = 0.01, and with σ and λ by cross-validation. Random binning is solved to rounding."""
    every = without_flaws()
    solved = pd.concat([every[every["map"] != "binning"], scored("wu2016-solved")])
    best = solved.groupby([*CELL, "method"])["score"].mean().groupby(CELL).max()
    of_sigma, of_both = (scored(name).groupby(CELL)["score"].mean() for name in ("wu2016-sigma", "wu2016-cv"))
    places = [(name, each, rank) for name, ranks in BY_CV.items() for rank in ranks for each in MAPS]
    rows = [(*place, best[place], of_sigma[place], of_both[place]) for place in places]
    return pd.DataFrame(rows, columns=["dataset", "map", "rank", *HOW])


def ahead(how: str, other: str) -> tuple[int, int, str]:
    """At equal rank: in how many cases random binning is ahead of another map, of how many, and the cases where not."""
    scores = by_rank().pivot(index=["dataset", "rank"], columns="map", values=how)
    lost = [f"{name} {rank}" for name, rank in scores.index[scores["binning"] <= scores[other]]]
    return len(scores) - len(lost), len(scores), listed(lost) if lost else ""


def worth(name: str, how: str) -> str:
    """What it is worth to choose σ on the test part, and not ``how``: the median over cases, smallest to largest."""
    rows = by_rank()[by_rank()["map"] == name]
    gains = rows["on test"] - rows[how]
    return f"{signed(gains.median(), 1)} ({span(gains)})"


@cache
def at_seconds(other: str) -> dict[str, list[str]]:
    """The cases of a dataset and a rank in which random binning is ahead of another map at its seconds of map, one fit
    and prediction, behind it, or neither. It is behind where a size of the other map takes no longer and scores no
    less. It is ahead where all such sizes score less and the largest size takes longer; else more columns might win."""
    rows = scored("wu2016-seconds")
    if rows["contended"].any():
        raise ValueError("some seconds of wu2016-seconds were taken while other work ran")
    seconds = rows.assign(cost=cost(rows, "fit")).groupby(CELL)["cost"].median()
    scores = scored("wu2016-cv").groupby(CELL)["score"].mean()
    cases: dict[str, list[str]] = {"ahead": [], "behind": [], "not decided": []}
    for name, ranks in WITH_SECONDS.items():
        for rank in ranks:
            time, score = seconds[name, "binning", rank], scores[name, "binning", rank]
            fits = [size for size in seconds[name, other].index if seconds[name, other, size] <= time]
            best = max((scores[name, other, size] for size in fits), default=-np.inf)
            largest = seconds[name, other].index.max()
            verdict = "behind" if best >= score else "not decided" if largest in fits else "ahead"
            cases[verdict].append(f"{name.removesuffix('-libsvm').removesuffix('-small')} {rank}")
    return cases


def score(dataset: str, name: str, rank: int) -> float:
    """With σ and λ by cross-validation."""
    return float(scored("wu2016-cv").groupby(CELL)["score"].mean()[dataset, name, rank])


def concerned(flaws: bool) -> Cells:
    """The cells that two flaws of the code concern, with them or without."""
    without = cells("wu2016-without-flaws")
    place = ["dataset", "method", "n_features"]
    return Cells(cells(*STORED).compared.merge(without.compared[place], on=place)) if flaws else without


@cache
def stopped() -> pd.Series:
    """What it is worth to stop conjugate gradients as their script does, and not to solve, by cell; index: dataset."""
    place = ["dataset", "method", "n_features"]
    early, solved = (rows.groupby(place)["score"].mean() for rows in (without_flaws(), scored("wu2016-solved")))
    return (early - solved).dropna().droplevel(["method", "n_features"])
