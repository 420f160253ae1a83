"""The solver ``ridge`` of configs, which chooses among the estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rffbench.arguments.parameters import WrongParameter, check_choice
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.platt import Calibrate
from rffbench.solvers.ridge.blocks import BlockedRidgeClassifierCV, BlockedRidgeCV
from rffbench.solvers.ridge.partitioned import PartitionedRidgeClassifierCV, PartitionedRidgeCV
from rffbench.solvers.ridge.settings import ALPHAS, Blocks, Center, Method, RidgeScale, Scoring, check_scoring
from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.solvers.weights import Balanced, check_balanced


@serves(SolverServes(
    sums="n*p*min(n/P, p)/2", cost="f*P*min(n/P, p)**3/6", sparse_cost="15000*(q + 1)*c*n*R",
    letters=lambda config: {"P": config.get("partitions") or 1}, cross_validates=True,
))  # fmt: skip
def make_ridge(
    *, task: str, features: Any, memory: int | None = None,
    lambda_: float | Sequence[float] = ALPHAS, folds: int = 5, lambda_scale: RidgeScale = "n",
    center: Center = True, scoring: Scoring = None, path: bool = False, blocks: Blocks = None,
    class_weight: Balanced = None, method: Method | None = None,
    calibrate: Calibrate = None, partitions: int | None = None,
) -> StreamedRidgeCV | StreamedRidgeClassifierCV:  # fmt: skip
    """Ridge regression on the features, streamed over row blocks; lambda by k-fold cross-validation.

    Parameters
    ----------
    lambda_ : λ, or values for cross-validation to choose from.
    folds : folds of the cross-validation.
    lambda_scale : the penalty: n·λ, or λ itself; trace, λ·tr(ZᵀZ), that is n·λ times the mean of ‖z‖².
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    scoring : the measure that chooses λ: null, the squared error; accuracy, the share of wrong labels.
    path : whether the test score at every λ is also kept.
    blocks : null; or dask: the workers of a dask cluster compute the sums over the rows.
    class_weight : null; or balanced: all classes have the same total weight.
    method : cholesky, the normal equations; svd, the singular values of Z, accurate for any λ; cg, conjugate gradients,
        only for sparse features; null: svd if λ is 0, or below 2.2e-16 with lambda_scale trace, else cholesky; for
        sparse features cg if they have many columns.
    calibrate : null; or platt: probabilities by a sigmoid of the decision scores of held-out rows, for scores that need
        them (log_loss, brier, calibration_error).
    partitions : null; or m: each of m disjoint parts of the rows is solved separately, and the weights are averaged;
        for one λ.
    """
    check_scoring(scoring, task)
    check_choice("calibrate", calibrate, (None, "platt"))
    if calibrate and task != "classification":
        raise WrongParameter("calibrate", f"must be null for {task}, which has no probabilities")
    check_choice("blocks", blocks, (None, "dask"))
    check_balanced(class_weight, task)
    if blocks and class_weight:
        raise WrongParameter("class_weight", f"must be null with blocks: {blocks}, which takes no weights")
    if blocks and method == "svd":
        raise WrongParameter("method", f"must be null or cholesky with blocks: {blocks}")
    settings: dict[str, Any] = {
        "folds": folds, "lambda_scale": lambda_scale, "center": center, "features": features, "memory": memory,
        "path": path,
    }  # fmt: skip
    if partitions is not None:
        return _in_parts(task, np.atleast_1d(lambda_).tolist(), partitions, blocks, class_weight, method, settings)
    if blocks is not None:
        if task == "classification":
            return BlockedRidgeClassifierCV(np.atleast_1d(lambda_).tolist(), blocks=blocks, scoring=scoring, **settings)
        return BlockedRidgeCV(np.atleast_1d(lambda_).tolist(), blocks=blocks, **settings)
    if task == "classification":
        return StreamedRidgeClassifierCV(
            np.atleast_1d(lambda_).tolist(), scoring=scoring, class_weight=class_weight, method=method, **settings
        )
    return StreamedRidgeCV(np.atleast_1d(lambda_).tolist(), method=method, **settings)


def _in_parts(
    task: str, alphas: list[float], partitions: int, blocks: Blocks, class_weight: Balanced, method: Method | None,
    settings: dict[str, Any],
) -> PartitionedRidgeCV | PartitionedRidgeClassifierCV:  # fmt: skip
    """Ridge by averaged parts; WrongParameter for parameters that it does not support."""
    for name, value in {"blocks": blocks, "class_weight": class_weight, "path": settings["path"]}.items():
        if value:
            raise WrongParameter(name, f"must be {'false' if value is True else 'null'} with partitions, got {value!r}")
    settings = {key: settings[key] for key in ("lambda_scale", "center", "features", "memory")}
    made = PartitionedRidgeClassifierCV if task == "classification" else PartitionedRidgeCV
    return made(alphas, partitions=partitions, method=method, **settings)


def make_ridge_on_device(
    *, task: str, features: Any, device: str, lambda_: list[float], folds: int, lambda_scale: RidgeScale,
    center: Center,
) -> Any:  # fmt: skip
    """Ridge regression on Fourier features, computed on ``device``, with some of ridge's parameters."""
    # PyTorch is an extra, and slow to import.
    from rffbench.solvers.ridge.torch import TorchRidgeClassifierCV, TorchRidgeCV

    estimator = TorchRidgeClassifierCV if task == "classification" else TorchRidgeCV
    return estimator(lambda_, features=features, folds=folds, lambda_scale=lambda_scale, center=center, device=device)
