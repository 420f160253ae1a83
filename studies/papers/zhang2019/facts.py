"""What few bits lose on covtype, and which error goes with the test error, in Zhang et al. 2019."""

import pandas as pd
from scipy.stats import spearmanr

from studies.evidence import claims, released, trials

NAME = "zhang2019"
BITS = (8, 4, 2, 1)
ERRORS = ("delta", "frobenius", "spectral")


def accuracy() -> pd.DataFrame:
    """The mean by columns (rows) and method (columns)."""
    return trials(NAME).groupby(["n_features", "method"])["accuracy"].mean().unstack("method")


def lost(bits: int) -> pd.Series:
    """By columns, how many points less accurate than full precision."""
    return (accuracy()["FP-RFF"] - accuracy()[f"LP-RFF {bits}"]).dropna()


def verdict(claim: str) -> tuple[str, str]:
    """Of a claim that begins so: alone, and judged together with all."""
    found = claims(NAME, claim=lambda text: text.startswith(claim))
    return found.verdict, found.together


def correlation_here(error: str) -> float:
    """Spearman's, of the test error and an error of the kernel, over the cells here."""
    means = trials(NAME).groupby(["method", "n_features"])[["accuracy", f"{error}_error"]].mean()
    return float(spearmanr(-means["accuracy"], means[f"{error}_error"]).statistic)


def of_draft() -> pd.DataFrame:
    """The released cells of covtype in the study of kernel errors."""
    rows = released("zhang2019_lprff.csv")
    return rows[(rows["dataset"] == "covtype-sub") & (rows["study"] == "kernel-error")]


def correlation_there(error: str) -> float:
    return float(spearmanr(of_draft()["value"], of_draft()[error]).statistic)


def error_of_draft() -> float:
    """The released error in % of full precision with 500 columns."""
    rows = of_draft()
    (error,) = rows.loc[(rows["method"] == "FP-RFF") & (rows["n_features"] == 500), "value"]
    return 100 * float(error)
