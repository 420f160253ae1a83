"""The solver ``falkon``: kernel ridge restricted to functions of landmarks, by preconditioned conjugate gradients."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import WrongParameter, check_choice, check_count
from rffbench.arguments.rowsource import InDouble, Stopwatch, row_blocks
from rffbench.arguments.seeds import RandomState, seed_sequence
from rffbench.errors import Fallback
from rffbench.features.data_dependent.landmarks import RULES, VERSIONS, Rule, TooFewRows, choose_landmarks, not_positive
from rffbench.features.data_dependent.nystroem import check_rule
from rffbench.kernels import Kernel, check_squares
from rffbench.kernels.bandwidth import Bandwidth
from rffbench.kernels.own import OwnKernel, Signature, is_own
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.linalg.lapack import eigh
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, LambdaScale, Regressor, checked_rows
from rffbench.solvers.iterative.budget import passes_of_a_fit
from rffbench.solvers.iterative.features import FeatureSystem
from rffbench.solvers.iterative.preconditioners import Spectrum
from rffbench.solvers.iterative.problems import Problems
from rffbench.solvers.iterative.ridge_cv import READ_BYTES, VECTORS, IterativeRidge, check_not_sketched
from rffbench.solvers.iterative.tiles import AT_ONCE, Tiles
from rffbench.solvers.ridge.settings import ALPHAS, Blocks, Center, Scoring, check_scoring

Numbers = NDArray[np.float64]
Preconditioning = Literal["falkon", "krill", "none"]
SINGLE_ROUNDING = 0.1
"""The largest rounding of products in float32, in units of the penalty, with which refinement converges."""
SKETCHED = 2  # rows of KRILL's sketch, in units of the landmarks


class _Falkon(Bandwidth, IterativeRidge):
    own_kernels: ClassVar[Signature | None] = "pairs"

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        n_landmarks: int = 1000, landmarks: str = "uniform", preconditioner: str = "falkon", folds: int = 5,
        lambda_scale: LambdaScale = "n", center: Center = True, scoring: Scoring = None,
        budget: Mapping[str, Any] | None = None, record: bool = False, memory: int | None = None,
        random_state: RandomState = None, blocks: Blocks = None,
    ) -> None:  # fmt: skip
        super().__init__(
            alphas, folds=folds, lambda_scale=lambda_scale, center=center, scoring=scoring, budget=budget,
            record=record, memory=memory, random_state=random_state,
        )  # fmt: skip
        self.kernel = kernel
        self.gamma = gamma
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.preconditioner = preconditioner
        self.blocks = blocks

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        super().check_parameters()
        self._check_kernel()
        check_count("n_landmarks", self.n_landmarks, least=1)
        check_choice("landmarks", self.landmarks, RULES)
        check_choice("preconditioner", self.preconditioner, get_args(Preconditioning))
        check_not_sketched(self.blocks, self.preconditioner, "falkon or none")
        check_rule(self.kernel, self.landmarks)
        if self.blocks and is_own(self.kernel):
            raise WrongParameter("blocks", f"must be null with a kernel of your own, got {self.blocks!r}")

    def _begin(self, X: Any, Y: Numbers, y: NDArray, problems: Problems) -> FeatureSystem:
        n, d = X.shape
        count = min(self.n_landmarks, n)
        needed = self._bytes(count, d, len(problems), np.dtype(X.dtype).itemsize)
        self._check_budget(f"the preconditioner of {count} landmarks", needed["preconditioner"])
        self._check_budget(f"falkon with {count} landmarks and {len(problems)} problems", sum(needed.values()))
        self._learn_gamma(X)
        sequence = seed_sequence(self.random_state)
        with Stopwatch(X) as choosing:
            self.landmarks_ = self._chosen(X, count, sequence)
            for rows in row_blocks(n):
                check_squares(checked_rows(X, rows))
        count = len(self.landmarks_)
        self.timing_["feature_s"] = choosing.seconds
        with Stopwatch() as whitening:
            transform, values = whitened(self.kernel_(self.landmarks_, self.landmarks_))
        self.rank_ = len(values)
        rounding = np.finfo(np.float32).eps * np.sqrt(n / (values.min(initial=np.inf) * problems.penalties.min()))
        tiles = self._tiles(X if rounding <= SINGLE_ROUNDING else InDouble(X), count)
        system = FeatureSystem(tiles, problems, transform=transform, counting=self._count)
        kind: Any = "sketch" if self.preconditioner == "krill" else "none"
        system.begin(kind, SKETCHED * count, sequence)
        if self.preconditioner == "falkon":
            system.preconditioner = Spectrum(None, values * (n / count))
        system.precondition_s += whitening.seconds
        return system

    def _chosen(self, X: Any, count: int, sequence: Any) -> Any:
        """The landmarks; all distinct rows, with a warning, if these are fewer than ``n_landmarks``."""
        try:
            points = choose_landmarks(self.landmarks, self.kernel_, X, count, sequence).points  # type: ignore[arg-type]
        except TooFewRows as few:
            points = choose_landmarks(self.landmarks, self.kernel_, X, few.distinct, sequence).points  # type: ignore[arg-type]
        if points.shape[0] < self.n_landmarks:
            text = f"{self.n_landmarks} landmarks are more than the distinct rows: all {points.shape[0]} are landmarks"
            warnings.warn(text, Fallback, stacklevel=5)
        return points

    def _fit_targets(self, X: Any, Y: Numbers, y: NDArray) -> None:
        super()._fit_targets(X, Y, y)
        self.metrics_["rank"] = float(self.rank_)
        self._own = self._own and self._own.without_matrix()

    def _apply(self, X: Any, coef: Numbers) -> Numbers:
        kernel = self.kernel_
        return kernel.product(X, self.landmarks_, coef) if isinstance(kernel, OwnKernel) else super()._apply(X, coef)

    def _map(self, dtype: Any) -> KernelBlocks:
        return KernelBlocks(self.kernel_, self.landmarks_, dtype)

    def _bytes(self, m: int, d: int, problems: int, itemsize: int = 8) -> dict[str, int]:
        of_sketch = 2 * SKETCHED * m**2 + 3 * m**2 if self.preconditioner == "krill" else 0
        return {
            "preconditioner": 8 * (4 * m**2 + of_sketch),  # K_mm, its eigenvectors, LAPACK's arrays, and T
            "vectors": 8 * problems * (VECTORS + AT_ONCE) * m
            + AT_ONCE * Tiles.rows_of(m) * (8 * (m + problems) + READ_BYTES[itemsize] * d),
        }  # fmt: skip

    def bytes_to_fit(self, n: int, d: int) -> int:
        """About the bytes that a fit to (n, d) float64 rows and one target needs besides the rows."""
        problems = self._problems
        return sum(self._bytes(min(self.n_landmarks, n), d, problems).values()) + 8 * problems * n


def whitened(K: Numbers) -> tuple[Numbers, Numbers]:
    """T (m, r) with TᵀKT = I, and the r positive eigenvalues of K (m, m), where r is the rank of K up to rounding. T
    are K's eigenvectors, each over the root of its eigenvalue. ValueError, naming the eigenvalue, if K is not positive
    semi-definite.
    """
    m = len(K)
    values, Q = eigh(K)
    least = m * float(np.finfo(np.float64).eps) * max(float(values[-1]), np.finfo(np.float64).tiny)
    if values[0] < -least:
        raise ValueError(not_positive(float(values[0])))
    kept = values > least
    return Q[:, kept] / np.sqrt(values[kept]), values[kept]


class FalkonCV(_Falkon, Regressor):
    """Kernel ridge restricted to functions Σⱼ αⱼk(·, lⱼ) of m landmarks l: (K_nmᵀK_nm + nλK_mm)α = K_nmᵀ(y − ȳ), λ by
    cross-validation (A. Rudi, L. Carratino and L. Rosasco, "FALKON: an optimal large scale kernel method", NIPS 2017).

    It is solved in the coordinates α = Tβ, T = QΛ^(−½), K_mm = QΛQᵀ, without the eigenvalues that are 0 up to rounding,
    so K_mm may be singular. This is ridge on the features K_nm·T. If the rows were the landmarks, their Gram matrix
    would be n/m·Λ: this is Falkon's preconditioner, for all folds and λ. Each pass computes the rows' kernel values
    again, in blocks. Memory is about 4m² numbers. Float32 rows are served as by `PCGRidgeCV`.

    Parameters
    ----------
    alphas : the λ > 0 to choose from, or the only one.
    kernel, gamma : as in the feature maps; a kernel of your own as in `NystroemFeatures`.
    n_landmarks : m; all distinct rows, with a warning, if there are fewer.
    landmarks : the rule that chooses them: 'uniform', 'kmeans', 'minibatch', 'rls', 'bless', 'rpcholesky' or
        'greedy', as in `NystroemFeatures`.
    preconditioner : 'falkon', 'krill' or 'none'
        'falkon': as above. 'krill': 2m random sums of rows of K_nm, a CountSketch, in place of the landmarks (M. Díaz,
        E. Epperly, Z. Frangella, J. Tropp and R. Webber, "Robust, randomized preconditioning for kernel ridge
        regression", 2023).
    folds, lambda_scale, center, scoring, budget, record, memory, blocks : as in `PCGRidgeCV`.
    random_state : the stream that draws the landmarks.

    Attributes
    ----------
    landmarks_ : (m, d) float64; with a kernel of your own their row numbers (m, 1).
    rank_ : the number of eigenvalues of K_mm that are kept.
    coef_ : α, (m,) or (t, m); intercept_ : float or (t,).
    gamma_ : γ as a number.
    alpha_, cv_results_, timing_, n_iter_, curves_ : as in `PCGRidgeCV`.
    metrics_ : as in `PCGRidgeCV`, and 'rank'.
    """


class FalkonClassifierCV(_Falkon, Classifier):
    """The sign of `FalkonCV` on targets −1/+1; one against the rest for more classes."""


@serves(SolverServes(
    uses="kernel rows", iterative=True, cost="i*n*L*(d + t + 2*(k + 1)*c) + 6*L**3", letters=passes_of_a_fit(25),
    source="Rudi, Carratino and Rosasco, NIPS 2017", cross_validates=True,
), versions={"landmarks": VERSIONS})  # fmt: skip
def make_falkon(
    *, task: str, kernel: str, gamma: float, n_features: int, memory: int | None = None,
    random_state: RandomState = None, lambda_: float | Sequence[float] = ALPHAS, folds: int = 5,
    lambda_scale: LambdaScale = "n", center: Center = True, scoring: Scoring = None, landmarks: Rule = "uniform",
    preconditioner: Preconditioning = "falkon", budget: dict[str, Any] | None = None, record: bool = False,
    blocks: Blocks = None,
) -> FalkonCV | FalkonClassifierCV:  # fmt: skip
    """Kernel ridge on n_features landmarks by preconditioned conjugate gradients, without storing kernel values.

    Parameters
    ----------
    lambda_ : λ, or values for cross-validation to choose from.
    folds : folds of the cross-validation.
    lambda_scale : the penalty: n·λ, or λ itself.
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    scoring : the measure that chooses λ: null, the squared error; accuracy, the share of wrong labels.
    landmarks : the rule that chooses the landmarks, as for the map nystroem.
    preconditioner : falkon, from the landmarks' kernel matrix; krill, from random sums of rows; or none.
    budget : limits {passes, seconds, tolerance}; by default 1000 passes, no limit of seconds, and 1e-6.
    record : whether the residual and the test error after each pass are kept.
    blocks : null; or dask: the workers of a dask cluster make the passes over the rows.
    """
    check_scoring(scoring, task)
    settings: dict[str, Any] = {
        "kernel": kernel, "gamma": gamma, "n_landmarks": n_features, "landmarks": landmarks,
        "preconditioner": preconditioner, "folds": folds, "lambda_scale": lambda_scale, "center": center,
        "scoring": scoring, "budget": budget, "record": record, "memory": memory, "random_state": random_state,
        "blocks": blocks,
    }  # fmt: skip
    made = FalkonClassifierCV if task == "classification" else FalkonCV
    return made(np.atleast_1d(lambda_).tolist(), **settings)
