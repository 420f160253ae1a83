"""Errors on kin40k and protein by the columns that the tuning had, in Parkinson and Wang 2023."""

from studies.evidence import Cells, cells, claims, trials

NAME = "parkinson2023"


def of(dataset: str) -> Cells:
    return cells(NAME, dataset=f"{dataset}-xgpr")


def verdict(dataset: str) -> tuple[str, str]:
    """Of the claim that more columns for tuning lower the error: alone, and both together."""
    found = claims(NAME, dataset=f"{dataset}-xgpr")
    return found.verdict, found.together


def gain(dataset: str) -> float:
    """By how many percent the error is lower."""
    (ratio,) = claims(NAME, dataset=f"{dataset}-xgpr").measured
    return 100 * (1 - ratio)


def at_the_least_lambda(dataset: str) -> tuple[int, int]:
    """In how many trials λ is the smallest of all, and of how many."""
    rows = trials(NAME)
    here = rows[rows["dataset"] == f"{dataset}-xgpr"]
    return int((here["lambda"] == rows["lambda"].min()).sum()), len(here)
