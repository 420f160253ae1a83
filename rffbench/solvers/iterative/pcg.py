"""The solver ``pcg`` of configs: ridge on features by preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import WrongParameter, check_choice, check_map
from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import RandomState, seed_sequence
from rffbench.features.base import fitted_map, held_bytes, mapped
from rffbench.features.data_dependent.landmarks import VERSIONS
from rffbench.features.hooks import hook, makes_sparse, most_columns
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, LambdaScale, Regressor
from rffbench.solvers.iterative.budget import passes_of_a_fit
from rffbench.solvers.iterative.features import FeatureSystem, Preconditioning
from rffbench.solvers.iterative.kernel import PCGKernelRidgeClassifierCV, PCGKernelRidgeCV
from rffbench.solvers.iterative.kernel import Preconditioning as OnKernel
from rffbench.solvers.iterative.problems import Problems
from rffbench.solvers.iterative.ridge_cv import (
    RANK,
    READ_BYTES,
    VECTORS,
    IterativeRidge,
    check_not_sketched,
    check_rank,
)
from rffbench.solvers.iterative.rows import RowSystem
from rffbench.solvers.iterative.system import System
from rffbench.solvers.iterative.tiles import AT_ONCE, SparseTiles, Tiles
from rffbench.solvers.ridge.settings import ALPHAS, Blocks, Center, Scoring, check_scoring


class _PCGRidge(IterativeRidge):
    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, features: Any = None, preconditioner: str | None = None,
        rank: int | None = None, folds: int = 5, lambda_scale: LambdaScale = "n", center: Center = True,
        scoring: Scoring = None, budget: Mapping[str, Any] | None = None, record: bool = False,
        memory: int | None = None, random_state: RandomState = None, blocks: Blocks = None,
        reorthogonalize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            alphas, folds=folds, lambda_scale=lambda_scale, center=center, scoring=scoring, budget=budget,
            record=record, memory=memory, random_state=random_state,
        )  # fmt: skip
        self.features = features
        self.preconditioner = preconditioner
        self.rank = rank
        self.blocks = blocks
        self.reorthogonalize = reorthogonalize

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        super().check_parameters()
        check_map(self.features)
        check_choice("preconditioner", self.preconditioner, (None, *get_args(Preconditioning)))
        if makes_sparse(self.features):
            if self.preconditioner not in (None, "none"):
                problem = f"must be none or null for sparse features, got {self.preconditioner!r}"
                raise WrongParameter("preconditioner", problem)
            if self.blocks is not None:
                raise WrongParameter("blocks", f"must be null for sparse features, got {self.blocks!r}")
        check_rank(self.rank, self._kind)
        check_not_sketched(self.blocks, self._kind, "null, nystroem or none")

    def _begin(self, X: Any, Y: NDArray[np.float64], y: NDArray, problems: Problems) -> System:
        known = int(X.shape[1]) if self.features is None else getattr(self.features, "n_components", None)
        if known is not None:  # to refuse before the map is fitted
            self._check_bytes(X, known, len(problems))
        with Stopwatch(X) as fitting:
            if self.features is not None:
                self._check_budget("fitting the feature map", hook(self.features, "bytes_to_fit"))
                self.features_ = fitted_map(self.features, X, y, Y)
        self.timing_["feature_s"] = fitting.seconds
        columns = X.shape[1] if self.features is None else mapped(self.features_, X[0:1]).shape[1]
        self._check_bytes(X, columns, len(problems), held_bytes(self._map()))
        tiles = self._tiles(X, columns)
        if isinstance(tiles, SparseTiles) and columns > tiles.n:
            return RowSystem(tiles, problems, self._count)
        system = FeatureSystem(tiles, problems, counting=self._count)
        system.begin(self._kind, self._rank(columns), seed_sequence(self.random_state))
        return system

    @property
    def _kind(self) -> Any:
        return self.preconditioner or ("none" if makes_sparse(self.features) else "nystroem")

    def _map(self, dtype: Any = None) -> Any:
        return getattr(self, "features_", None)

    def _rank(self, columns: int) -> int:
        return min(columns if self._kind == "nystroem" else 4 * columns, self.rank or RANK)

    def _check_bytes(self, X: Any, p: int, problems: int, kept: int = 0) -> None:
        n, d = X.shape
        needed = self._bytes(n, d, p, problems, np.dtype(X.dtype).itemsize)
        rank = self._rank(p)
        if self._kind != "none":
            self._check_budget(f"a preconditioner of rank {rank} for {p} columns", kept + needed["preconditioner"])
        self._check_budget(f"pcg on {p} columns and {problems} problems", kept + sum(needed.values()))

    def _bytes(self, n: int, d: int, p: int, problems: int, itemsize: int = 8) -> dict[str, int]:
        in_rows = makes_sparse(self.features) and p > n  # see `RowSystem`
        kept = self._residuals_kept(2 * n if in_rows else p, problems)
        if makes_sparse(self.features):  # Z with its indices, and another array of indices while it is made
            vectors = (2 * VECTORS + AT_ONCE) * n + p if in_rows else (VECTORS + 1) * p + n
            return {"vectors": 8 * problems * vectors + kept, "Z": 28 * most_columns(self.features, n)}
        block, rank = AT_ONCE * Tiles.rows_of(p), self._rank(p)
        of_rank = {"none": 0, "nystroem": 4 * p * rank, "sketch": 2 * p * rank + 3 * min(p, rank) ** 2}
        return {
            "preconditioner": 8 * of_rank[self._kind],
            "vectors": 8 * problems * ((VECTORS + AT_ONCE) * p + n)
            + block * (8 * (p + problems) + READ_BYTES[itemsize] * d)
            + kept,
            "map": int(hook(self.features, "bytes_to_map")),
        }

    def bytes_to_fit(self, n: int, d: int) -> int:
        """About the bytes that a fit to (n, d) float64 rows and one target needs besides the rows."""
        columns = d if self.features is None else most_columns(self.features, n)
        needed = sum(self._bytes(n, d, columns, self._problems).values())
        return max(needed, hook(self.features, "bytes_to_fit"))


class PCGRidgeCV(_PCGRidge, Regressor):
    """Ridge regression on features z by preconditioned conjugate gradients: (ZᵀZ + nλI)β = Zᵀ(y − ȳ), λ by
    cross-validation.

    Neither Z (n, p) nor ZᵀZ is stored: each step maps all rows again, in blocks, and serves all folds, λ and targets.
    Sparse features are mapped once and kept; if they have more columns than rows, the vectors are as long as the rows.
    Memory is about p·rank numbers, and some vectors (p,) for each fold, λ and target. The steps end when √(rᵀP⁻¹r) ≤
    tolerance·√(bᵀP⁻¹b), with the residual r, the right side b and the preconditioner P; this ratio is about the
    relative error of the learnt function. The residual is computed again at the end; ConvergenceWarning if it is
    larger.

    Steps on float32 rows have products in float32. Their residual is computed in float64, and solved for again until it
    is small enough (iterative refinement), so it is that of float64 rows. Where float32 is too coarse for the smallest
    λ, steps are in float64. Predictions for float32 rows are in float32: rounded by about ε·‖β‖.

    Parameters
    ----------
    alphas : the λ > 0 to choose from, or the only one.
    features : transformer or None
        A feature map, cloned, fitted on the training rows and applied block by block; None: Z is X.
    preconditioner : None, 'nystroem', 'sketch' or 'none'; None is 'nystroem', and 'none' for sparse features
        'nystroem': the randomised Nyström approximation of ZᵀZ of ``rank`` columns (Frangella, Tropp & Udell 2023).
        'sketch': ``rank`` random sums of rows of Z, a CountSketch (Avron, Clarkson & Woodruff 2017). Both are
        decomposed once, for all folds and λ.
    rank : columns of the Nyström approximation, or sketched rows; None: 1,000, and no more than p, or 4p.
    folds, lambda_scale, center, scoring : as in `StreamedRidgeClassifierCV`; ``lambda_scale`` is 'n' or 1.
    budget : None or a dictionary
        'passes': the most passes over the rows, by default 1,000; 'seconds': the most seconds, by default no limit;
        'tolerance', by default 1e-6.
    record : whether ``curves_`` are kept.
    memory : int or None
        Bytes that the fit may use besides X; MemoryBudgetError, before anything is computed, if that is too little.
    random_state : the stream that draws the preconditioner.
    blocks : None, or 'dask'
        'dask': the workers of a dask cluster make the passes, as in `BlockedRidgeCV`. They get the rows, or their
        places, once; each pass sends vectors and returns products. The results are the same for any number of workers.
        A sketch is refused.
    reorthogonalize : whether each step's residual is made orthogonal to all earlier ones, which rounding otherwise
        undoes. It takes fewer steps, and the residual after a given step does not depend on rounding. It needs two
        vectors per step for each fold, λ and target.

    Attributes
    ----------
    coef_ : (p,) or (t, p), intercept_ : float or (t,).
    alpha_, cv_results_, timing_ : as in `StreamedRidgeCV`; the decomposition of the preconditioner is 'gram_s'.
    n_iter_ : the number of steps.
    metrics_ : 'model_size', p; 'passes' over the rows; 'residual', the ratio above, in the preconditioner's norm;
        'residual_norm', ‖b − Ax‖/‖b‖, which is comparable between preconditioners.
    curves_ : lists 'passes', 'time' (seconds, without measuring), 'residual', and with an ``eval_set`` in ``fit``
        'test_error', after each step, for the fit to all rows with the chosen λ.
    """


class PCGRidgeClassifierCV(_PCGRidge, Classifier):
    """The sign of `PCGRidgeCV` on targets −1/+1; one against the rest for more classes."""


@serves(
    SolverServes(
        iterative=True, cost="2*i*(k + 1)*c*n*p", without_map="i*n*n*((d + t)/2 + (k + 1)*c)",
        sparse_cost="20*i*(k + 1)*c*n*R", letters=passes_of_a_fit(40),
        source="Frangella, Tropp and Udell, SIMAX 2023", cross_validates=True,
    ),
    versions={"preconditioner": VERSIONS},
)  # fmt: skip
def make_pcg(
    *, task: str, features: Any = None, kernel: str = "gaussian", gamma: float = 1.0, memory: int | None = None,
    random_state: RandomState = None, lambda_: float | Sequence[float] = ALPHAS, folds: int = 5,
    lambda_scale: LambdaScale = "n", center: Center = True, scoring: Scoring = None,
    preconditioner: Literal["nystroem", "sketch", "rpcholesky", "uniform", "greedy", "none"] | None = None,
    rank: int | None = None, budget: dict[str, Any] | None = None, record: bool = False, blocks: Blocks = None,
    reorthogonalize: bool = False,
) -> PCGRidgeCV | PCGRidgeClassifierCV | PCGKernelRidgeCV | PCGKernelRidgeClassifierCV:  # fmt: skip
    """Ridge on features, or on the kernel, by preconditioned conjugate gradients; no matrix of all columns or rows.

    Parameters
    ----------
    lambda_ : λ, or values for cross-validation to choose from.
    folds : folds of the cross-validation.
    lambda_scale : the penalty: n·λ, or λ itself.
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    scoring : the measure that chooses λ: null, the squared error; accuracy, the share of wrong labels.
    preconditioner : on features nystroem (null), a Nyström approximation of ZᵀZ, or sketch, random sums of rows; on
        sparse features none (null); on the kernel a Nyström approximation of K with landmarks by rpcholesky (null),
        uniform or greedy; or none.
    rank : columns of the Nyström approximation, or sketched rows; null: 1,000.
    budget : limits {passes, seconds, tolerance}; by default 1000 passes, no limit of seconds, and 1e-6.
    record : whether the residual and the test error after each pass are kept.
    blocks : null; or dask: the workers of a dask cluster make the passes over the rows, on features.
    reorthogonalize : whether residuals are kept orthogonal to all earlier ones: fewer steps, two more vectors per step.
    """
    check_scoring(scoring, task)
    on_kernel = features is None
    allowed: tuple[str, ...] = get_args(OnKernel if on_kernel else Preconditioning)
    if preconditioner is not None and preconditioner not in allowed:
        learnt = "without a feature map" if on_kernel else "on features"
        raise WrongParameter("preconditioner", f"must be one of {', '.join(allowed)} {learnt}, got {preconditioner!r}")
    settings: dict[str, Any] = {
        "preconditioner": preconditioner, "rank": rank, "folds": folds, "lambda_scale": lambda_scale, "center": center,
        "scoring": scoring, "budget": budget, "record": record, "memory": memory, "random_state": random_state,
        "reorthogonalize": reorthogonalize,
    }  # fmt: skip
    if on_kernel and blocks is not None:
        raise WrongParameter("blocks", f"must be null without a feature map, got {blocks!r}")
    settings |= {"kernel": kernel, "gamma": gamma} if on_kernel else {"features": features, "blocks": blocks}
    on_rows, on_columns = PCGKernelRidgeCV, PCGRidgeCV
    if task == "classification":
        on_rows, on_columns = PCGKernelRidgeClassifierCV, PCGRidgeClassifierCV
    return (on_rows if on_kernel else on_columns)(np.atleast_1d(lambda_).tolist(), **settings)
