"""What the parameters of the ridge solvers may be."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal, get_args

import numpy as np

from rffbench.parameters import WrongParameter, check_choice
from rffbench.solvers.base import LambdaScale

RidgeScale = Literal["n", 1, "trace"]
"""What λ is: 'n', the penalty on ‖β‖² is n·λ; 1, it is λ; 'trace', it is λ·tr(ZᵀZ) = λ·n times the mean of ‖z‖²."""
Method = Literal["cholesky", "svd", "cg"]
Center = Literal[True, False, "target", "both"]
Scoring = Literal["accuracy"] | None
Blocks = Literal["dask"] | None
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)  # the λ to choose from where none are given


CHOLESKY_FLOOR = float(np.finfo(np.float64).eps)
"""The smallest penalty that ZᵀZ, added up in float64, leaves apart from 0, as a share of its trace: rounding changes
the eigenvalues of ZᵀZ by ε times the largest of them, which is the trace at most."""


def chosen_method(method: Method | None, alphas: Sequence[float], lambda_scale: RidgeScale) -> Method:
    """How ridge is solved at these alphas: as ``method`` says, else by Cholesky, unless one is known beforehand to be
    too small for that: λ = 0, and with ``lambda_scale='trace'`` one below CHOLESKY_FLOOR."""
    if method is not None:
        return method
    least = min(alphas)
    return "svd" if least == 0 or (lambda_scale == "trace" and least < CHOLESKY_FLOOR) else "cholesky"


def check_penalties(
    alphas: Sequence[float], lambda_scale: object, center: object, scales: tuple[object, ...] = get_args(LambdaScale)
) -> None:
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
    check_choice("lambda_scale", lambda_scale, scales)
    check_choice("center", center, get_args(Center))


def check_blocks(blocks: object) -> None:
    """WrongParameter if row blocks cannot be gathered so."""
    check_choice("blocks", blocks, (None, "dask"))
    if blocks and find_spec("distributed") is None:
        raise WrongParameter("blocks", "dask needs the library distributed; pip install 'rffbench[dask]'")


def check_method(method: object) -> None:
    """ValueError if ridge is not solved by ``method``."""
    check_choice("method", method, (None, *get_args(Method)))


def check_for_sparse(sparse: bool, method: object, alphas: Sequence[float], path: object) -> None:
    """WrongParameter if ridge does not solve so on ``sparse`` features, or on others."""
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
        raise WrongParameter("path", "must be False for sparse features: what it is for needs ZᵀZ")


def check_scoring(scoring: object, task: str) -> None:
    """ValueError where λ cannot be chosen by ``scoring`` in this task."""
    check_choice("scoring", scoring, (None, "accuracy"))
    if task == "regression" and scoring:
        raise WrongParameter("scoring", f"must be null for a regression, {scoring!r} is for classification")


def check_folds(folds: int, alphas: Sequence[float], n: int) -> None:
    """ValueError if there are too few rows to choose among the alphas with this number of folds."""
    if len(alphas) > 1 and folds > n:
        raise WrongParameter("folds", f"must lie between 2 and the rows (n_samples = {n}), got {folds}")
