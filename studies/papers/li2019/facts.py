"""Errors on covtype by the number of features, and of parts, in Li, Liu and Wang 2019."""

import pandas as pd

from studies.evidence import Cells, cells, claims

NAME, BY_SIZE = "li2019-distributed", "features 500"
ENOUGH, LOSSLESS = "√N = 500 features are enough", "√N = 500 parts lose no accuracy"


def by_size() -> Cells:
    """The cells of each number of features."""
    return cells(NAME, method=BY_SIZE)


def by_parts() -> Cells:
    """The cells of each number of parts."""
    return cells(NAME, method=lambda method: method != BY_SIZE)


def verdict(claim: str) -> str:
    return claims(NAME, claim=claim).verdict


def errors() -> pd.Series:
    """The error in % by the number of parts."""
    rows = by_parts().compared
    parts = rows["method"].str.extract(r"(\d+)$")[0].astype(int)
    return (100 - rows["measured"]).groupby(parts).mean()


def not_one(size: int) -> bool:
    return size != 1


def part(number: int) -> pd.Series:
    rows = by_parts().compared
    return rows[rows["method"] == f"partitions {number}"].iloc[0]


def size(number: int) -> pd.Series:
    rows = by_size().compared
    return rows[rows["n_features"] == number].iloc[0]
