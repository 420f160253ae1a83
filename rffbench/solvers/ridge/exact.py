"""Exact kernel ridge regression, the reference for features, if n² numbers fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import check_count, check_memory
from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import RandomState
from rffbench.errors import MemoryBudgetError
from rffbench.kernels import Kernel
from rffbench.kernels.bandwidth import Bandwidth
from rffbench.kernels.own import OwnKernel
from rffbench.linalg.triangles import TriangleStack
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, LambdaScale, Regressor, checked_rows, less_origin, no_singular
from rffbench.solvers.ridge.dual import solve_dual_cv
from rffbench.solvers.ridge.fold_statistics import cv_results
from rffbench.solvers.ridge.settings import ALPHAS, Center, Scoring, check_folds, check_penalties, check_scoring
from rffbench.solvers.weights import Balanced, ClassWeight, check_balanced, check_class_weight, class_row_weights

BLOCK_ROWS = 1024  # rows of the kernel matrix computed at a time


class _KernelRidge(Bandwidth):
    scoring: Scoring = None
    class_weight: ClassWeight = None
    classes_: NDArray
    own_kernels = "pairs"

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        folds: int = 5, lambda_scale: LambdaScale = "n", center: Center = True, memory: int | None = None,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.center = center
        self.memory = memory
        self.random_state = random_state

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_penalties(self.alphas, self.lambda_scale, self.center)
        check_count("folds", self.folds, least=2)
        check_scoring(self.scoring, "classification")
        check_class_weight(self.class_weight)
        check_memory(self.memory)
        self._check_kernel()

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        self.check_parameters()
        X = np.asarray(checked_rows(X, slice(0, X.shape[0])), dtype=np.float64)
        n, alphas = len(X), [float(alpha) for alpha in self.alphas]
        check_folds(self.folds, alphas, n)
        needed = self.bytes_to_fit(n, X.shape[1])
        if self.memory is not None and needed > self.memory:
            raise MemoryBudgetError(f"exact kernel ridge on {n} rows", needed, self.memory)
        weights = class_row_weights(self.class_weight, self.classes_, Y, None) if self.class_weight else None
        self._learn_gamma(X)
        kernel = self.kernel_
        with Stopwatch() as filling:
            matrix, work = TriangleStack(2, n)
            for start in range(0, n, BLOCK_ROWS):
                stop = min(n, start + BLOCK_ROWS)
                matrix.set_rows(start, kernel(X[start:stop], X[:stop]))
        origin = self._target_origin(Y)  # type: ignore[attr-defined]
        with Stopwatch() as solving, no_singular():
            solution = solve_dual_cv(
                matrix,
                work,
                less_origin(Y, origin),
                alphas,
                folds=self.folds,
                lambda_scale=self.lambda_scale,
                center=self.center,
                scoring=self.scoring,
                weights=weights,
            ).for_targets_at(origin)
        self.timing_ = {"feature_s": 0.0, "gram_s": filling.seconds, "solve_s": solving.seconds}
        self.metrics_ = {"model_size": float(n)}
        self.X_fit_ = X
        self._own = self._own and self._own.without_matrix()
        single = y.ndim == 1 and Y.shape[1] == 1
        self.dual_coef_ = solution.coef[:, 0] if single else solution.coef
        self.intercept_ = float(solution.intercept[0]) if single else solution.intercept
        self.alpha_ = solution.alpha
        self.cv_results_ = cv_results(alphas, solution.fold_error)

    def bytes_to_fit(self, n: int, d: int) -> int:
        """The bytes that a fit to (n, d) rows needs besides the rows: K, a working matrix, and a block of K's rows."""
        return TriangleStack.bytes_needed(2, n) + 8 * n * min(n, BLOCK_ROWS)

    def _linear(self, X: Any) -> NDArray[np.float64]:
        kernel = self.kernel_
        if isinstance(kernel, OwnKernel):
            return kernel.product(X, self.X_fit_, self.dual_coef_) + self.intercept_
        blocks = [
            kernel(checked_rows(X, slice(start, min(start + BLOCK_ROWS, X.shape[0]))), self.X_fit_) @ self.dual_coef_
            for start in range(0, X.shape[0], BLOCK_ROWS)
        ]
        return np.concatenate(blocks) + self.intercept_


class ExactKernelRidgeCV(_KernelRidge, Regressor):
    """Exact kernel ridge f(x) = k(x, X)(K + nλI)⁻¹(y − ȳ) + ȳ, λ from ``alphas`` by cross-validation.

    K (n, n) float64 and a working copy take n(n+1) numbers; MemoryBudgetError, before the fit starts, if these do not
    fit into ``memory`` bytes. ``kernel`` and ``gamma`` are as in the feature maps; a kernel of your own as in
    `NystroemFeatures`: a callable of two rows, as scikit-learn's KernelRidge takes it, about n²/2 values, a kernel
    object of scikit-learn, or 'precomputed'. ``random_state`` draws the rows for 'median' if there are many.
    ``lambda_scale``, ``center``, the folds and the choice of λ are as in `StreamedRidgeCV`.

    Attributes
    ----------
    dual_coef_ : (n,) or (n, t) float64
    intercept_ : float or (t,)
    gamma_ : γ as a number.
    alpha_, cv_results_, timing_ : as in `StreamedRidgeCV`; the kernel matrix counts as 'gram_s'.
    metrics_ : 'model_size', n.
    """


class ExactKernelRidgeClassifierCV(_KernelRidge, Classifier):
    """The sign of `ExactKernelRidgeCV` on targets −1/+1; one against the rest for more classes.

    ``scoring`` and ``class_weight`` as in `StreamedRidgeClassifierCV`.
    """

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        folds: int = 5, lambda_scale: LambdaScale = "n", center: Center = True, memory: int | None = None,
        scoring: Scoring = None, class_weight: ClassWeight = None, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(
            alphas, kernel=kernel, gamma=gamma, folds=folds, lambda_scale=lambda_scale, center=center, memory=memory,
            random_state=random_state,
        )  # fmt: skip
        self.scoring = scoring
        self.class_weight = class_weight


@serves(SolverServes(uses="kernel rows", cost="(n + v)*n*d + f*n**3/6", cross_validates=True))
def make_kernel_ridge(
    *, task: str, kernel: str, gamma: float, memory: int | None = None,
    lambda_: float | Sequence[float] = ALPHAS, folds: int = 5, lambda_scale: LambdaScale = "n",
    center: Center = True, scoring: Scoring = None, class_weight: Balanced = None,
) -> ExactKernelRidgeCV | ExactKernelRidgeClassifierCV:  # fmt: skip
    """Exact kernel ridge regression, the reference without features; n×n memory.

    Parameters
    ----------
    lambda_ : λ, or values for cross-validation to choose from.
    folds : folds of the cross-validation.
    lambda_scale : the penalty: n·λ, or λ itself.
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    scoring : the measure that chooses λ: null, the squared error; accuracy, the share of wrong labels.
    class_weight : null; or balanced: all classes have the same total weight.
    """
    check_scoring(scoring, task)
    check_balanced(class_weight, task)
    settings: dict[str, Any] = {
        "kernel": kernel, "gamma": gamma, "folds": folds, "lambda_scale": lambda_scale, "center": center,
        "memory": memory,
    }  # fmt: skip
    if task == "classification":
        return ExactKernelRidgeClassifierCV(
            np.atleast_1d(lambda_).tolist(), scoring=scoring, class_weight=class_weight, **settings
        )
    return ExactKernelRidgeCV(np.atleast_1d(lambda_).tolist(), **settings)
