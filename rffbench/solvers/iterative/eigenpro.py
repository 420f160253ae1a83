"""The solver ``eigenpro``: kernel ridge by stochastic gradient steps with steep directions damped (EigenPro 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import check_count
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.data_dependent.landmarks import diagonal_of, not_positive
from rffbench.kernels import Kernel
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.linalg.lapack import eigh
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, LambdaScale, Regressor
from rffbench.solvers.iterative.budget import passes_of_a_fit
from rffbench.solvers.iterative.descent import KernelDescent, Numbers, one_lambda
from rffbench.solvers.ridge.settings import Center

SAMPLE = 2000  # rows whose kernel matrix is decomposed
BATCH = 256  # rows of a step


class Damping(NamedTuple):
    """The q leading eigenvectors, ``vectors`` (s, q), of the kernel matrix of a sample of rows, ``rows``; ``factors``
    (q,) = (1 − σ_{q+1}/σ_i)/σ_i from its eigenvalues σ; and the length of a step, per row."""

    rows: NDArray[np.int64]
    vectors: Numbers
    factors: Numbers
    step: float


class EigenProSteps:
    """The steps of `EigenProRegressor`, of ``batch`` rows each. ``added`` is nλ."""

    def __init__(
        self, kernel: Kernel, X: NDArray, Y: Numbers, added: float, damping: Damping, batch: int,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.X, self.Y, self.added, self.damping, self.batch, self.rng = X, Y, added, damping, batch, rng
        self.coef, self.step, self.blocks = np.zeros_like(Y), damping.step, KernelBlocks(kernel, X, X.dtype)
        self.place = np.full(len(Y), -1)  # of the sampled rows
        self.place[damping.rows] = np.arange(len(damping.rows))
        self.buffer = np.empty((min(batch, len(Y)), len(Y)), X.dtype)

    def one_pass(self) -> float:
        """See `Steps`: every row once, in a random order."""
        squares, order = 0.0, self.rng.permutation(len(self.Y))
        coef, damping, step = self.coef, self.damping, self.step
        for first in range(0, len(self.Y), self.batch):
            at = order[first : first + self.batch]
            K = self.buffer[: len(at)]
            self.blocks.fill(self.X[at], K)
            gradient = K @ coef.astype(self.X.dtype, copy=False) + self.added * coef[at] - self.Y[at]
            squares += float(np.einsum("ij,ij->", gradient, gradient))
            sampled = K[:, damping.rows].T.astype(np.float64)
            mine = self.place[at] >= 0  # the interpolating kernel is k + added·1[x = x′]
            sampled[self.place[at][mine], np.flatnonzero(mine)] += self.added
            coef[at] -= step * gradient
            damped = damping.vectors.T @ (sampled @ gradient)
            coef[damping.rows] += step * (damping.vectors @ (damping.factors[:, None] * damped))
        return squares

    def restart(self) -> None:
        """Begin again with half the step."""
        self.coef, self.step = np.zeros_like(self.Y), self.step / 2


class _EigenPro(KernelDescent):
    called: ClassVar[str] = "eigenpro"

    def __init__(
        self, alpha: float = 1e-3, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        lambda_scale: LambdaScale = "n", center: Center = True, batch: int = BATCH, sample: int = SAMPLE,
        budget: Mapping[str, Any] | None = None, record: bool = False, memory: int | None = None,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(
            alpha, kernel=kernel, gamma=gamma, lambda_scale=lambda_scale, center=center, budget=budget, record=record,
            memory=memory, random_state=random_state,
        )  # fmt: skip
        self.batch = batch
        self.sample = sample

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("batch", self.batch, least=1)
        check_count("sample", self.sample, least=2)

    def _steps(self, Y: Numbers, added: float) -> EigenProSteps:
        rng = generator(seed_sequence(self.random_state), "batches")
        return EigenProSteps(self.kernel_, self.X_fit_, Y, added, self._damping(added), self.batch, rng)

    def _damping(self, added: float) -> Damping:
        """Ma and Belkin's choice: the fewest damped directions for which a whole batch can be one long step.

        A batch of m rows makes the step 1/β per row, as in the released code. β is the largest k(x, x); σ, the largest
        eigenvalue of the damped operator, is at most β/m. Steps of less than 2/(β_G + (m − 1)·σ) converge, with β_G ≤ β
        the largest k_G(x, x) of the damped kernel. If the sample has too few directions to damp, σ shortens the step.
        """
        n, rng = len(self.X_fit_), generator(seed_sequence(self.random_state), "eigenpro")
        size, m = min(n, self.sample), min(self.batch, n)
        index = np.sort(rng.choice(n, size, replace=False))
        kernel, rows = self.kernel_, self.X_fit_[index].astype(np.float64, copy=False)
        K = kernel(rows, rows)
        K[np.diag_indices(size)] += added
        values, Q = eigh(K)
        if values[0] < -size * np.finfo(np.float64).eps * values[-1]:
            raise ValueError(not_positive(float(values[0] - added)))
        values, Q = values[::-1], Q[:, ::-1]
        beta = float(diagonal_of(kernel, rows).max()) + added
        q = min(int(np.count_nonzero(values > beta * size / m)), size - 1)
        kept, left = values[:q], float(values[q])
        return Damping(index, Q[:, :q], (1 - left / kept) / kept, 2 / max(2 * beta, beta + (m - 1) * left / size))

    def _bytes(self, n: int, d: int, t: int) -> int:
        size = min(n, self.sample)
        return 8 * (4 * size**2 + 2 * min(self.batch, n) * n + 2 * n * d + 8 * n * t)


class EigenProRegressor(_EigenPro, Regressor):
    """Exact kernel ridge (K + nλI)a = y − ȳ by preconditioned stochastic gradient descent (S. Ma and M. Belkin, "Kernel
    machines that adapt to GPUs for effective large batch training", MLSys 2019: EigenPro 2).

    A step takes a batch of rows b: a_b ← a_b − η·g, g = k(b, X)a + nλa_b − y_b. A correction along the q leading
    eigenvectors of the kernel matrix of a sample of rows damps the step where it is too long. This is interpolation
    with the kernel k + nλ·1[x = x′]; the paper has λ = 0. q is the smallest number for which a whole batch may be one
    long step. K is not stored: an epoch is a pass, which computes each row once.

    Parameters
    ----------
    alpha : λ ≥ 0; 0 interpolates, if there are enough passes.
    kernel, gamma, lambda_scale, center : as in `ExactKernelRidgeCV`; with 'both' a target of ones is solved for, too.
    batch : rows of a step.
    sample : rows whose kernel matrix is decomposed.
    budget, record, memory : as in `PCGRidgeCV`; the tolerance is for ‖y − ȳ − (K + nλI)a‖/‖y − ȳ‖.
    random_state : the stream that draws the sample and the order of the rows.

    Attributes
    ----------
    coef_ : a, (n,) or (n, t); intercept_ : ȳ, and with ``center='both'`` the intercept.
    gamma_, alpha_, timing_, n_iter_, metrics_, curves_ : as in `PCGKernelRidgeCV`.
    """


class EigenProClassifier(_EigenPro, Classifier):
    """The sign of `EigenProRegressor` on targets −1/+1; one against the rest for more classes."""


@serves(SolverServes(
    uses="kernel rows", iterative=True, cost="i*n*n*(d/2 + t + c)", letters=passes_of_a_fit(30),
    source="Ma and Belkin, MLSys 2019",
))  # fmt: skip
def make_eigenpro(
    *, task: str, kernel: str, gamma: float, memory: int | None = None, random_state: RandomState = None,
    lambda_: float | Sequence[float] = 1e-3, lambda_scale: LambdaScale = "n", center: Center = True,
    batch: int = BATCH, sample: int = SAMPLE, budget: dict[str, Any] | None = None, record: bool = False,
) -> EigenProRegressor | EigenProClassifier:  # fmt: skip
    """Exact kernel ridge by stochastic gradient steps with the steepest directions damped (EigenPro 2).

    Parameters
    ----------
    lambda_ : λ, one number.
    lambda_scale : the penalty: n·λ, or λ itself.
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    batch : rows of a step.
    sample : rows whose kernel matrix is decomposed.
    budget : limits {passes, seconds, tolerance}; by default 1000 passes, no limit of seconds, and 1e-6.
    record : whether the residual and the test error after each pass are kept.
    """
    made = EigenProClassifier if task == "classification" else EigenProRegressor
    return made(
        one_lambda(lambda_, "eigenpro"), kernel=kernel, gamma=gamma, lambda_scale=lambda_scale, center=center,
        batch=batch, sample=sample, budget=budget, record=record, memory=memory, random_state=random_state,
    )  # fmt: skip
