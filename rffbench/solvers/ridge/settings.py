"""What the parameters of the ridge solvers may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from rffbench.parameters import WrongParameter, check_choice
from rffbench.solvers.base import LambdaScale

Center = Literal[True, False, "target", "both"]
Scoring = Literal["accuracy"] | None
Blocks = Literal["dask"] | None
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)  # the λ to choose from where none are given


def check_penalties(alphas: Sequence[float], lambda_scale: object, center: object) -> None:
    """ValueError, naming the parameter and what would be right, where one is wrong."""
    try:
        grid = np.asarray(alphas, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"every alpha must be a finite number, 0 or more, got {alphas!r}") from None
    if not grid.ndim:
        raise WrongParameter("alphas", f"must be a list of numbers, got {alphas!r}")
    if not grid.size:
        raise ValueError("alphas must hold one number at least, got none")
    if grid.ndim != 1 or not (np.isfinite(grid) & (grid >= 0)).all():
        raise ValueError(f"every alpha must be a finite number, 0 or more, got {grid.tolist()}")
    check_choice("lambda_scale", lambda_scale, get_args(LambdaScale))
    check_choice("center", center, get_args(Center))


def check_scoring(scoring: object, task: str) -> None:
    """ValueError where λ cannot be chosen by ``scoring`` in this task."""
    check_choice("scoring", scoring, (None, "accuracy"))
    if task == "regression" and scoring:
        raise WrongParameter("scoring", f"must be null for a regression, {scoring!r} is for classification")


def check_folds(folds: int, alphas: Sequence[float], n: int) -> None:
    """ValueError where the rows are too few to choose among the alphas by so many folds."""
    if len(alphas) > 1 and folds > n:
        raise WrongParameter("folds", f"must lie between 2 and the rows (n_samples = {n}), got {folds}")
