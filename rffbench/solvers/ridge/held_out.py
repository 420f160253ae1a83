"""What ridge regression predicts for rows that it was not fitted to: at every λ, in two passes for all folds."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.features.base import not_finite
from rffbench.solvers.base import default_block_rows
from rffbench.solvers.ridge.cross_validation import FoldSolver
from rffbench.solvers.ridge.fold_statistics import FoldStatistics
from rffbench.solvers.ridge.streamed import StreamedRidge
from rffbench.solvers.ridge.streaming import Streaming


def dealt(Y: NDArray[np.float64], folds: int) -> NDArray[np.intp]:
    """The fold of each row (n,) for targets −1/+1 (n, t): the rows of a class are dealt to the folds in turn, so that
    sorted rows are no trouble, and the folds have about the same share of every class."""
    code = (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else Y.argmax(axis=1)
    order = np.argsort(code, kind="stable")
    fold = np.empty(len(Y), dtype=np.intp)
    fold[order] = np.arange(len(Y)) % folds
    return fold


def cross_validated_outputs(
    features: Any, X: Any, Y: NDArray[np.float64], fold: NDArray[np.intp], alphas: list[float],
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:  # fmt: skip
    """The outputs of `held_out_outputs` (alphas, n, t), with a map that is fitted to all rows first, for the penalties
    λ·tr(ZᵀZ) and an intercept. ``weights`` (n,) are those of the rows."""
    model = StreamedRidge(min(alphas), lambda_scale="trace", center="both", features=features)
    found: list[NDArray[np.float64]] = []

    def fit(X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        model._begin(X, Y)
        model._fit_map(X, Y, y)
        model._unmix(X, alphas, int(fold.max()) + 1)
        found.append(held_out_outputs(model, X, Y, fold, alphas)[0])

    model._with_weights(weights, (X, Y, Y[:, 0] if Y.shape[1] == 1 else Y), fit)
    return found[0]


def held_out_outputs(
    model: Streaming, X: Any, Y: NDArray[np.float64], fold: NDArray[np.intp], alphas: list[float]
) -> tuple[NDArray[np.float64], FoldStatistics]:
    """Outputs (alphas, n, t) for the rows X (n, d) with targets Y (n, t), each from the fit to the rows of other folds,
    and the folds' statistics, for a fit to all rows.

    ``fold`` (n,) is the fold of each row. ``model`` has begun a fit: its map is fitted, and is the same for all folds.
    The first pass adds up the Gram matrix of each fold; the second applies the solutions of all λ. An output is NaN if
    the matrix of its λ is singular.
    """
    rows, folds, weights = model.block_rows or default_block_rows(model._columns), int(fold.max()) + 1, model._weights
    model._set_origin(X, rows)
    statistics = FoldStatistics(model._columns, folds, Y.shape[1])
    for block, Z in model._blocks(X, 0, X.shape[0], rows):
        Z = model._shifted(Z)
        for each, mine in _by_fold(fold[block]):
            of_rows = None if weights is None else weights[block][mine]
            statistics.add(each, Z[mine], Y[block][mine], weights=of_rows)
    if not statistics.finite:
        raise ValueError(not_finite(model.features))
    if model._root is not None:
        statistics.mix(model._root)
    solver = FoldSolver(statistics, model.lambda_scale, model.center, statistics.work(len(alphas), model.memory))
    solver.share_factors(alphas)
    solved = []
    for each in range(folds):
        others = [other for other in range(folds) if other != each]
        found = solver.solve(others, alphas)
        nothing = np.full((model._columns, Y.shape[1]), np.nan), np.full(Y.shape[1], np.nan)
        coefs, intercepts = zip(*(each or nothing for each in found.solutions), strict=True)
        solved.append((model._raw(np.hstack(coefs)), np.hstack(intercepts)))
    outputs = np.empty((len(Y), len(alphas), Y.shape[1]))
    for block, Z in model._blocks(X, 0, X.shape[0], rows):
        Z = model._shifted(Z)
        for each, mine in _by_fold(fold[block]):
            coef, intercept = solved[each]
            outputs[block][mine] = (Z[mine] @ coef + intercept).reshape(len(mine), len(alphas), -1)
    return np.ascontiguousarray(outputs.transpose(1, 0, 2)), statistics


def _by_fold(fold: NDArray[np.intp]) -> list[tuple[int, NDArray[np.intp]]]:
    """The folds of a block of rows, and the places of each fold's rows in it."""
    order = np.argsort(fold, kind="stable")
    return [(int(each), np.array(list(places))) for each, places in groupby(order, key=lambda at: fold[at])]
