"""Ridge at the λ with the smallest held-out error, from the folds' statistics.

With the matrix A = C + cI of all rows, that of the rows without fold k is A − D_k, where D_k is what the fold adds.
With the Cholesky factor A = LLᵀ the solution without fold k is β = L⁻ᵀu, (I − L⁻¹D_kL⁻ᵀ)u = L⁻¹b. If folds are alike,
the eigenvalues of this matrix are close together, and conjugate gradients take some 5 to 40 steps. A step reads L twice
and each fold's Gram matrix once. So one factor for each λ serves all folds: p³/3 operations, not (folds + 1)·p³/3.

Where that takes too many steps, or the penalty is near rounding, each fold has its own factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from rffbench.linalg.conjugate_gradients import Columns, conjugate_gradients
from rffbench.solvers.ridge.fold_statistics import (
    Equations,
    HeldOut,
    RidgeSolution,
    Solution,
    Solved,
    Statistics,
    Work,
    best_solution,
    cross_validate,
    held_out_mse,
    solve_folds,
)
from rffbench.solvers.ridge.settings import Center, RidgeScale

TOLERANCE = 1e-10  # of the residual, relative, in the norm of A⁻¹; held-out errors have about as many digits
FEWEST_STEPS = 8  # before it is judged whether most_steps are enough
ABOVE_ROUNDING = 100.0  # times the smallest alpha that rounding does not hide


def solve_ridge_cv(
    statistics: Statistics, alphas: Sequence[float], *, lambda_scale: RidgeScale = "n", center: Center = True,
    memory: int | None = None, held_out: HeldOut | None = None, path: bool = False,
) -> RidgeSolution:  # fmt: skip
    """Ridge on all rows at the alpha with the smallest mean held-out error over the folds, the first of equals.

    The error is that of ``held_out``, or else the mean square, from the folds' statistics. With one fold or one alpha,
    the first alpha is fitted. An alpha that is too small for a positive definite matrix has an infinite error;
    LinAlgError if none is large enough. ``memory`` (bytes) bounds the working triangles, in addition to ``statistics``:
    with fewer than two, a sum is computed again for each alpha.
    """
    alphas = [float(alpha) for alpha in alphas]
    solver = FoldSolver(statistics, lambda_scale, center, statistics.work(len(alphas), memory))
    if len(alphas) > 1:
        solver.share_factors(alphas)
    held_out = held_out or partial(held_out_mse, statistics)
    fold_error = cross_validate(statistics.folds, alphas, solver.solve, held_out)
    return best_solution(alphas, fold_error, partial(solver.solve, range(statistics.folds)), path=path)


class FoldSolver:
    """Ridge on the rows of some folds, by a Cholesky factor for each alpha, or after `share_factors` by shared ones."""

    def __init__(self, statistics: Statistics, lambda_scale: RidgeScale, center: Center, work: Work) -> None:
        self.statistics, self.lambda_scale, self.center, self.work = statistics, lambda_scale, center, work
        self.shared: dict[tuple[int, ...], dict[float, Solution]] = {}

    def solve(self, folds: Sequence[int], alphas: Sequence[float]) -> Solved:
        """The solutions on the rows of ``folds``, None where the matrix is singular; the accuracy of these, or of all
        rows."""
        shared = self.shared.get(tuple(folds), {})
        missing = [alpha for alpha in alphas if alpha not in shared]
        if not missing:
            return Solved([shared[alpha] for alpha in alphas], self.accuracy)
        found = solve_folds(
            self.statistics, folds, missing, lambda_scale=self.lambda_scale, center=self.center, work=self.work
        )
        own = dict(zip(missing, found.solutions, strict=True))
        return Solved([shared[alpha] if alpha in shared else own[alpha] for alpha in alphas], found.accuracy)

    def share_factors(self, alphas: Sequence[float]) -> None:
        """Solve now for all rows, and for those of all folds but one, by one factor per alpha, if that is faster.

        Smaller alphas need more steps, so they are left out after one that needs too many.
        """
        if not self.statistics.most_steps:
            return
        folds = range(self.statistics.folds)
        everything = Equations.of(self.statistics, folds, self.center)
        trainings = [
            Equations.of(self.statistics, [each for each in folds if each != left_out], self.center)
            for left_out in folds
        ]
        kept, by_trace = self.work.kept or self.work.factors[0], self.lambda_scale == "trace"
        traces = [training.gather(kept) if by_trace else np.nan for training in trainings]
        trace = everything.gather(kept)
        self.accuracy = everything.accuracy(trace, self.lambda_scale)
        above = ABOVE_ROUNDING * self.accuracy.smallest_alpha
        found: dict[float, list[Solution]] = {}

        def share(alpha: float, factor: Any) -> None:
            nonlocal above
            if alpha <= above:
                return
            if self.work.kept is None:
                everything.gather(factor)
            else:
                factor.copy_from(kept)
            c = everything.penalty(alpha, self.lambda_scale, trace)
            parts = zip(trainings, traces, strict=True)
            less = np.array([c - training.penalty(alpha, self.lambda_scale, each) for training, each in parts])
            try:
                everything.factor(c, factor)
                coefs = without_each_fold(everything, trainings, less, factor)
            except LinAlgError:
                coefs = None
            if coefs is None:
                above = max(above, alpha)
                return
            coefs = [factor.solve(everything.right), *coefs]
            found[alpha] = [each.solution(coef) for each, coef in zip([everything, *trainings], coefs, strict=True)]

        self.work.share_out([partial(share, alpha) for alpha in sorted(alphas, reverse=True)], len(everything.right))
        for index, each in enumerate([everything, *trainings]):
            self.shared[tuple(each.folds)] = {
                alpha: solutions[index] for alpha, solutions in found.items() if alpha > above
            }


def without_each_fold(
    everything: Equations, trainings: Sequence[Equations], less: NDArray[np.float64], factor: Any
) -> list[NDArray[np.float64]] | None:
    """The coefficients (p, t) of ``trainings``, each without the rows of one fold, by conjugate gradients; None if
    ``statistics.most_steps`` are too few.

    ``factor`` is the Cholesky factor of the matrix of all rows; ``less`` is by how much its penalty is above those of
    the trainings. LinAlgError if a matrix is not positive definite.
    """
    statistics = everything.statistics
    fold_of = np.repeat(np.arange(len(trainings)), everything.right.shape[1])  # of each column
    steps = 0

    def multiply(U: NDArray[np.float64], columns: Columns) -> NDArray[np.float64]:
        """(I − L⁻¹D_kL⁻ᵀ)U."""
        W = factor.solve_factor(U, transposed=True)
        product = less[fold_of[columns]] * W
        for fold, training in enumerate(trainings):
            mine = fold_of[columns] == fold
            if mine.any():
                V = W[:, mine]
                product[:, mine] += statistics.multiply(fold, V) + training.mean_part(V) - everything.mean_part(V)
        return U - factor.solve_factor(product)

    def too_many(X: NDArray[np.float64], left: NDArray[np.float64]) -> bool:
        """Whether the residual falls too slowly to reach the tolerance."""
        nonlocal steps
        steps += 1
        return steps >= FEWEST_STEPS and bool(left.max() > TOLERANCE ** (steps / statistics.most_steps))

    right = factor.solve_factor(np.hstack([training.right for training in trainings]))
    found = conjugate_gradients(
        multiply, right, tolerance=TOLERANCE, most_steps=statistics.most_steps, after_step=too_many
    )
    if found.left.max() > TOLERANCE:
        return None
    return np.split(factor.solve_factor(found.X[0], transposed=True), len(trainings), axis=1)
