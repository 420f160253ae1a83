"""Types and checks of the ridge solvers' parameters."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal, get_args

import numpy as np

from rffbench.arguments.parameters import WrongParameter, check_choice
from rffbench.solvers.base import LambdaScale

RidgeScale = Literal["n", 1, "trace"]
"""The penalty on ‖β‖²: n·λ for 'n', λ for 1; λ·tr(ZᵀZ) = λ·n times the mean of ‖z‖² for 'trace'."""
Method = Literal["cholesky", "svd", "cg"]
Center = Literal[True, False, "target", "both"]
Scoring = Literal["accuracy"] | None
Blocks = Literal["dask"] | None
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)  # the default λ to choose from


CHOLESKY_FLOOR = float(np.finfo(np.float64).eps)
"""The smallest penalty that rounding of ZᵀZ in float64 does not hide, as a share of its trace: rounding changes the
eigenvalues of ZᵀZ by ε times the largest of them, which is at most the trace."""


def chosen_method(method: Method | None, alphas: Sequence[float], lambda_scale: RidgeScale) -> Method:
    """``method``, or the one that is chosen if it is None: Cholesky, unless one of the alphas is known to be too small
    for it: λ = 0, or with ``lambda_scale='trace'`` below CHOLESKY_FLOOR."""
    if method is not None:
        return method
    least = min(alphas)
    return "svd" if least == 0 or (lambda_scale == "trace" and least < CHOLESKY_FLOOR) else "cholesky"


def check_penalties(
    alphas: Sequence[float], lambda_scale: object, center: object, scales: tuple[object, ...] = get_args(LambdaScale)
) -> None:
    """ValueError for a wrong parameter, naming it and what would be right."""
    try:
        grid = np.asarray(alphas, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"every alpha must be a finite number, 0 or more, got {alphas!r}") from None
    if not grid.ndim:
        raise WrongParameter("alphas", f"must be a list of numbers, got {alphas!r}")
    if not grid.size:
        raise ValueError("alphas must have at least one number, got none")
    if grid.ndim != 1 or not (np.isfinite(grid) & (grid >= 0)).all():
        raise ValueError(f"every alpha must be a finite number, 0 or more, got {grid.tolist()}")
    check_choice("lambda_scale", lambda_scale, scales)
    check_choice("center", center, get_args(Center))


def check_blocks(blocks: object) -> None:
    """WrongParameter if ``blocks`` is unknown, or its library is missing."""
    check_choice("blocks", blocks, (None, "dask"))
    if blocks and find_spec("distributed") is None:
        raise WrongParameter("blocks", "dask needs the library distributed; pip install 'rffbench[dask]'")


def check_method(method: object) -> None:
    """ValueError if ridge has no such method."""
    check_choice("method", method, (None, *get_args(Method)))


def check_for_sparse(sparse: bool, method: object, alphas: Sequence[float], path: object) -> None:
    """WrongParameter if ridge cannot solve in this way on ``sparse`` features, or on dense ones."""
    if not sparse:
        if method == "cg":
            raise WrongParameter(
                "method", "must be None, 'cholesky' or 'svd' for features that are not sparse, got 'cg'"
            )
        return
    if method == "svd":
        raise WrongParameter("method", "must be None, 'cg' or 'cholesky' for sparse features, got 'svd'")
    if min(alphas) == 0:
        raise WrongParameter("lambda", "must be above 0 for sparse features, got 0")
    if path:
        raise WrongParameter("path", "must be False for sparse features, for which ZᵀZ is not computed")


def check_scoring(scoring: object, task: str) -> None:
    """ValueError if λ cannot be chosen by ``scoring`` in this task."""
    check_choice("scoring", scoring, (None, "accuracy"))
    if task == "regression" and scoring:
        raise WrongParameter("scoring", f"must be null for a regression, {scoring!r} is for classification")


def check_folds(folds: int, alphas: Sequence[float], n: int) -> None:
    """ValueError if there are too few rows to choose among the alphas with this number of folds."""
    if len(alphas) > 1 and folds > n:
        raise WrongParameter("folds", f"must lie between 2 and the rows (n_samples = {n}), got {folds}")
