"""The solver ``ridge`` of configs: which estimator it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rffbench.parameters import WrongParameter, check_choice
from rffbench.solvers.base import LambdaScale
from rffbench.solvers.ridge.blocks import BlockedRidgeClassifierCV, BlockedRidgeCV
from rffbench.solvers.ridge.settings import ALPHAS, Blocks, Center, Scoring, check_scoring
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.solvers.weights import Balanced, check_balanced


def make_ridge(
    *, task: str, features: Any, memory: int | None = None,
    lambda_: float | Sequence[float] = ALPHAS, folds: int = 5, lambda_scale: LambdaScale = "n",
    center: Center = True, scoring: Scoring = None, path: bool = False, blocks: Blocks = None,
    class_weight: Balanced = None,
) -> StreamedRidgeCV | StreamedRidgeClassifierCV:  # fmt: skip
    """Ridge regression on the features, streamed over row blocks; lambda by k-fold cross-validation.

    Parameters
    ----------
    lambda_ : λ, or values for cross-validation to choose from.
    folds : folds of the cross-validation.
    lambda_scale : the penalty: n·λ, or λ itself.
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    scoring : what λ is chosen by: null, the squared error; accuracy, the share of wrong labels.
    path : whether the test score at every λ is kept too.
    blocks : where row blocks are gathered: null, here; dask, on the workers of a dask cluster.
    class_weight : null, or balanced: all classes count alike, however many rows they have.
    """
    check_scoring(scoring, task)
    check_choice("blocks", blocks, (None, "dask"))
    check_balanced(class_weight, task)
    if blocks and class_weight:
        raise WrongParameter("class_weight", f"must be null with blocks: {blocks}, whose rows have no weights")
    settings: dict[str, Any] = {
        "folds": folds, "lambda_scale": lambda_scale, "center": center, "features": features, "memory": memory,
        "path": path,
    }  # fmt: skip
    if blocks is not None:
        if task == "classification":
            return BlockedRidgeClassifierCV(np.atleast_1d(lambda_).tolist(), blocks=blocks, scoring=scoring, **settings)
        return BlockedRidgeCV(np.atleast_1d(lambda_).tolist(), blocks=blocks, **settings)
    if task == "classification":
        return StreamedRidgeClassifierCV(
            np.atleast_1d(lambda_).tolist(), scoring=scoring, class_weight=class_weight, **settings
        )
    return StreamedRidgeCV(np.atleast_1d(lambda_).tolist(), **settings)
