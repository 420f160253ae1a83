"""Which landmarks precondition better, in Díaz et al. 2023."""

import numpy as np
import pandas as pd

from studies.evidence import claims, trials

NAME = "diaz2023"
STEPS = (50, 100)


def ahead(method: str, baseline: str, steps: int, by: str = "verdict") -> set[str]:
    """The datasets on which a rule is shown to leave less than another."""
    rows = claims(NAME, method=f"{method} {steps}", baseline=f"{baseline} {steps}").judged
    return set(rows.loc[rows[by] == "holds", "dataset"])


def left(steps: int) -> pd.Series:
    """By dataset, what randomly pivoted landmarks leave of what uniform ones do."""
    rows = trials(NAME)
    logs = rows.assign(log=np.log(rows["residual_norm"])).groupby(["method", "dataset"])["log"].mean().unstack("method")
    return np.exp(logs[f"rpcholesky {steps}"] - logs[f"uniform {steps}"])


def over_none() -> float:
    """The most that greedy landmarks leave, over what is left without a preconditioner."""
    return float(claims(NAME, claim=lambda claim: claim.endswith("less than none")).measured.max())


def set_of(names: tuple[str, ...]) -> set[str]:
    return set(names)
