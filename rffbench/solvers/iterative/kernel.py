"""Kernel ridge without storing K: each step of conjugate gradients computes K again, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Event
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import check_choice
from rffbench.arguments.rowsource import Stopwatch, row_blocks
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.data_dependent.landmarks import greedily_pivoted, randomly_pivoted, rows_at
from rffbench.kernels import Kernel, check_squares
from rffbench.kernels.bandwidth import Bandwidth
from rffbench.linalg.conjugate_gradients import NotPositive
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.linalg.lapack import eigh
from rffbench.linalg.threads import side_by_side
from rffbench.solvers.base import Classifier, LambdaScale, Regressor, checked_rows
from rffbench.solvers.iterative.falkon import SINGLE_ROUNDING, whitened
from rffbench.solvers.iterative.problems import Columns, Problems
from rffbench.solvers.iterative.ridge_cv import RANK, VECTORS, IterativeRidge, check_rank
from rffbench.solvers.iterative.system import System
from rffbench.solvers.iterative.tiles import AT_ONCE, Tiles
from rffbench.solvers.ridge.fold_statistics import Solution
from rffbench.solvers.ridge.settings import ALPHAS, Center, Scoring

Numbers = NDArray[np.float64]
Preconditioning = Literal["rpcholesky", "uniform", "greedy", "none"]
BLOCK = 1024  # rows and columns of a block of K: 8 MB


class KernelMatrix:
    """Products with K of the rows X (n, d), which is computed in blocks; by symmetry, only half of them."""

    def __init__(self, kernel: Kernel, X: NDArray) -> None:
        self.n, self.dtype = len(X), X.dtype
        self._rows = [X[rows] for rows in row_blocks(len(X), BLOCK)]
        self._columns = [KernelBlocks(kernel, rows, X.dtype) for rows in self._rows]

    def times(self, V: Numbers) -> Numbers:
        """KV, for V (n, t). Results do not depend on the number of threads. An interrupt ends it after a block."""
        V = V.astype(self.dtype, copy=False)
        sums = [np.zeros(V.shape) for _ in range(AT_ONCE)]
        interrupted = Event()  # ends the other threads' work

        def add(first: int) -> None:
            try:
                buffer = np.empty((BLOCK, BLOCK), self.dtype)
                for i in range(first, len(self._rows), AT_ONCE):
                    for j in range(i, len(self._rows)):
                        if interrupted.is_set():
                            return
                        self._add_block(i, j, V, sums[first], buffer)
            except BaseException:
                interrupted.set()
                raise

        side_by_side([partial(add, first) for first in range(AT_ONCE)])
        return np.sum(sums, axis=0)

    def _add_block(self, i: int, j: int, V: NDArray, total: Numbers, buffer: NDArray) -> None:
        here, there = (slice(at * BLOCK, at * BLOCK + len(self._rows[at])) for at in (i, j))
        K = buffer.ravel()[: len(self._rows[i]) * len(self._rows[j])].reshape(len(self._rows[i]), -1)
        self._columns[j].fill(self._rows[i], K)
        total[here] += K @ V[there]
        if i != j:
            total[there] += K.T @ V[here]


class Matrix(Protocol):
    """A symmetric matrix (n, n)."""

    def times(self, V: Numbers) -> Numbers:
        """Its product with V (n, t)."""
        ...


class KernelSystem(System):
    """(DKD + cI)a = D(y − ȳ) for every fold and λ, where D is 0 on the held-out rows; with ``center='both'`` HDKDH,
    where H subtracts the mean over a fold's rows. ``root`` F (n, r), K ≈ FFᵀ, preconditions it."""

    def __init__(self, matrix: Matrix, problems: Problems, counting: Callable[[], object]) -> None:
        self.matrix: Matrix = matrix
        self.problems, self._count = problems, counting
        self.right = problems.right_sides(slice(0, problems.n))[:, problems.of_right_side]
        self.root: Numbers | None = None
        self._spectra: dict[int, tuple[Numbers, Numbers]] = {}
        self._means: Numbers | None = None  # of K's rows over the rows of each fold's fit, (n, folds + 1)
        if problems.center == "both":
            counting()
            self._means = matrix.times(self._belonging()) / problems.rows

    def _belonging(self) -> Numbers:
        """1 where a row belongs to a fold's fit, else 0: (n, folds + 1)."""
        ones = np.ones((self.problems.n, self.problems.folds + 1))
        for fold in range(self.problems.folds):
            ones[self.problems.held_out(fold), fold] = 0
        return ones

    def use(self, root: Numbers) -> None:
        """Precondition with ``root``: decompose its Gram matrix over each fold's rows, once for all λ."""
        self.root = root
        whole, sums = root.T @ root, root.sum(axis=0)

        def decompose(fold: int) -> None:
            held = root[self.problems.held_out(fold)]
            gram = whole - held.T @ held
            if self.problems.center == "both":
                mean = sums - held.sum(axis=0)
                gram -= np.outer(mean, mean) / self.problems.rows[fold]
            values, Q = eigh(gram)
            self._spectra[fold] = np.maximum(values, 0), Q

        side_by_side([partial(decompose, fold) for fold in range(self.problems.folds + 1)])

    def with_matrix(self, matrix: Matrix) -> KernelSystem:
        """The same equations and preconditioner with another ``matrix``."""
        made = KernelSystem(matrix, self.problems, self._count)
        made.root, made._spectra = self.root, self._spectra
        return made

    def projected(self, values: Numbers, columns: Columns) -> Numbers:
        """DV, or with an intercept HDV, in place."""
        problems = self.problems
        problems.leave_out(values, slice(0, problems.n), columns)
        if problems.center == "both":
            values -= values.sum(axis=0) / problems.rows[problems.fold[columns]]
            problems.leave_out(values, slice(0, problems.n), columns)
        return values

    def multiply(self, V: Numbers, columns: Columns) -> Numbers:
        """See `rffbench.solvers.iterative.system.System`."""
        self._count()
        return self.projected(self.matrix.times(V), columns) + self.problems.penalties[columns] * V

    def precondition(self, R: Numbers, columns: Columns) -> Numbers:
        """(FᵀF + cI)⁻¹ by the r×r matrices of Woodbury's formula: (I − F(FᵀF + cI)⁻¹Fᵀ)/c."""
        problems = self.problems
        if self.root is None:
            return R / problems.penalties[columns]
        inner = self.root.T @ R
        for fold in np.unique(problems.fold[columns]):
            of = problems.fold[columns] == fold
            values, Q = self._spectra[fold]
            inner[:, of] = Q @ ((Q.T @ inner[:, of]) / (values[:, None] + problems.penalties[columns][of]))
        return self.projected(R - self.root @ inner, columns) / problems.penalties[columns]

    def judge(self, X: Numbers, scoring: Scoring) -> tuple[Numbers, Numbers]:
        """See `rffbench.solvers.iterative.system.System`."""
        problems, every = self.problems, np.arange(len(self.problems))
        self._count()
        outputs = self.matrix.times(X)
        errors = problems.errors(outputs + self._intercepts(X, every), slice(0, problems.n), every, scoring)
        return self.projected(outputs, every) + problems.penalties * X, errors

    def _intercepts(self, X: Numbers, columns: Columns) -> Numbers:
        folds = self.problems.fold[columns]
        means: Numbers = self.problems.y_means[folds, self.problems.target[columns]]
        return means if self._means is None else means - np.einsum("ij,ij->j", self._means[:, folds], X)

    def solution(self, X: Numbers, columns: Columns) -> Solution:
        """See `rffbench.solvers.iterative.system.System`."""
        return X[:, columns], self._intercepts(X[:, columns], columns)


def nystroem_root(kernel: Kernel, X: NDArray, landmarks: Numbers) -> Numbers:
    """F (n, r) with FFᵀ = K_nS·K_SS⁺·K_Sn, where S are the landmarks and r is the rank of K_SS."""
    transform, _ = whitened(kernel(landmarks, landmarks))
    root, X = np.empty((len(X), transform.shape[1])), X.astype(np.float64, copy=False)
    for rows, _, part in Tiles(X, KernelBlocks(kernel, landmarks), len(landmarks)).visit(lambda _, Z: Z @ transform):
        root[rows] = part
    return root


class _PCGKernelRidge(Bandwidth, IterativeRidge):
    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        preconditioner: str | None = None, rank: int | None = None, folds: int = 5, lambda_scale: LambdaScale = "n",
        center: Center = True, scoring: Scoring = None, budget: Mapping[str, Any] | None = None,
        record: bool = False, memory: int | None = None, random_state: RandomState = None,
        reorthogonalize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            alphas, folds=folds, lambda_scale=lambda_scale, center=center, scoring=scoring, budget=budget,
            record=record, memory=memory, random_state=random_state,
        )  # fmt: skip
        self.kernel = kernel
        self.gamma = gamma
        self.preconditioner = preconditioner
        self.rank = rank
        self.reorthogonalize = reorthogonalize

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        super().check_parameters()
        self._check_kernel()
        check_choice("preconditioner", self.preconditioner, (None, *get_args(Preconditioning)))
        check_rank(self.rank, self._kind)

    def _begin(self, X: Any, Y: Numbers, y: NDArray, problems: Problems) -> KernelSystem:
        (n, d), itemsize = X.shape, np.dtype(X.dtype).itemsize
        needed, rank = self._bytes(n, d, len(problems), itemsize), self._rank(n)
        if self._kind != "none":
            self._check_budget(f"a preconditioner of rank {rank} for {n} rows", needed["preconditioner"])
        self._check_budget(f"pcg on the kernel of {n} rows with {len(problems)} problems", sum(needed.values()))
        self._learn_gamma(X)
        safe = np.finfo(np.float32).eps * np.sqrt(n) <= SINGLE_ROUNDING * problems.penalties.min()
        self.X_fit_ = np.array(checked_rows(X, slice(0, n)), X.dtype if safe else np.float64, order="C")
        check_squares(self.X_fit_)
        system = KernelSystem(KernelMatrix(self.kernel_, self.X_fit_), problems, self._count)
        if self._kind != "none":
            with Stopwatch() as watch:
                rng = generator(seed_sequence(self.random_state), "landmarks")
                if self._kind == "uniform":
                    index = rng.choice(n, rank, replace=False)
                else:
                    pivoted = greedily_pivoted if self._kind == "greedy" else randomly_pivoted
                    index = pivoted(self.kernel_, self.X_fit_, rank, rng)
                if len(index):  # else K is 0
                    system.use(nystroem_root(self.kernel_, self.X_fit_, rows_at(self.X_fit_, index)))
            system.precondition_s = watch.seconds
        return system

    def _in_double(self, system: System, X: Any) -> System:
        if not isinstance(system, KernelSystem) or self.X_fit_.dtype == np.float64:
            return system
        return system.with_matrix(KernelMatrix(self.kernel_, self.X_fit_.astype(np.float64)))

    def _not_positive(self, error: NotPositive, problems: Problems) -> str:
        value = error.eigenvalue - float(problems.penalties.min())
        return f"the kernel matrix is not positive semi-definite: it has an eigenvalue of {value:.3g} or below"

    @property
    def _kind(self) -> str:
        return self.preconditioner or "rpcholesky"

    def _map(self, dtype: Any) -> KernelBlocks:
        return KernelBlocks(self.kernel_, self.X_fit_, dtype)

    def _rank(self, n: int) -> int:
        return min(n, self.rank or RANK)

    def _bytes(self, n: int, d: int, problems: int, itemsize: int) -> dict[str, int]:
        rank, copies = self._rank(n), 2 if itemsize == 8 else 4  # those in float64 come on top
        return {
            "preconditioner": 0 if self._kind == "none" else 8 * (2 * n * rank + (self.folds + 4) * rank**2),
            "vectors": 8 * problems * (VECTORS + AT_ONCE) * n + self._residuals_kept(n, problems),
            "blocks": AT_ONCE * 8 * max(BLOCK**2, Tiles.rows_of(n) * n) + copies * 8 * n * d,
        }

    def bytes_to_fit(self, n: int, d: int) -> int:
        """About the bytes that a fit to (n, d) float64 rows and one target needs besides the rows."""
        return sum(self._bytes(n, d, self._problems, 8).values())


class PCGKernelRidgeCV(_PCGKernelRidge, Regressor):
    """Exact kernel ridge f(x) = k(x, X)(K + nλI)⁻¹(y − ȳ) + ȳ by preconditioned conjugate gradients, λ by
    cross-validation, without storing K (n, n).

    Each step computes K again, in blocks, for all folds, λ and targets. The preconditioner is a Nyström approximation
    FFᵀ of K; FᵀF of each fold's rows is decomposed once for all λ (M. Díaz, E. Epperly, Z. Frangella, J. Tropp and
    R. Webber, "Robust, randomized preconditioning for kernel ridge regression", 2023). Memory is about 2·n·rank
    numbers, and some vectors (n,) for each fold, λ and target. Float32 rows are served as by `PCGRidgeCV`.

    Parameters
    ----------
    alphas : the λ > 0 to choose from, or the only one.
    kernel, gamma : as in `ExactKernelRidgeCV`.
    preconditioner : None, 'rpcholesky', 'uniform', 'greedy' or 'none'
        The rule of `choose_landmarks` that chooses F's landmarks among the rows; None is 'rpcholesky'.
    rank : landmarks of the preconditioner; None: 1,000, or all rows if there are fewer.
    folds, lambda_scale, center, scoring, budget, record, memory, reorthogonalize : as in `PCGRidgeCV`. Two vectors per
        step cost little here, beside computing K again.
    random_state : the stream that draws the landmarks.

    Attributes
    ----------
    coef_ : one per training row, (n,) or (t, n); intercept_ : float or (t,).
    gamma_ : γ as a number.
    alpha_, cv_results_, timing_, n_iter_, curves_, metrics_ : as in `PCGRidgeCV`.
    """


class PCGKernelRidgeClassifierCV(_PCGKernelRidge, Classifier):
    """The sign of `PCGKernelRidgeCV` on targets −1/+1; one against the rest for more classes."""
