"""The solver ``askotch``: kernel ridge by accelerated steps on random blocks of rows, each preconditioned (ASkotch)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular, svd

from rffbench.arguments.parameters import check_count, check_positive
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.data_dependent.landmarks import not_positive
from rffbench.kernels import Kernel
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, LambdaScale, Regressor
from rffbench.solvers.iterative.budget import passes_of_a_fit
from rffbench.solvers.iterative.descent import KernelDescent, Numbers, one_lambda
from rffbench.solvers.ridge.settings import Center

SHARE, LEAST_BLOCK = 100, 100  # a block has n/100 rows, the paper's choice, but at least 100
RANK = 100  # of a block's Nyström approximation
POWERS = 10  # steps of the power method for the length of a step
ROUNDINGS = 10  # added to a block's diagonal, in units of rounding, so that it has a Cholesky factor
LESS_EAGER = 4.0  # ν grows by this where the acceleration was too strong


class ASkotchSteps:
    """The steps of `ASkotchRegressor`. ``added`` is nλ."""

    def __init__(
        self, kernel: Kernel, X: NDArray, Y: Numbers, added: float, block: int, rank: int, rng: np.random.Generator
    ) -> None:
        self.X, self.Y, self.added, self.rng = X, Y, added, rng
        self.block, self.rank = min(block, len(Y)), min(rank, block, len(Y))
        self.blocks = KernelBlocks(kernel, X, X.dtype)
        self.buffer = np.empty((self.block, len(Y)), X.dtype)
        self.nu = len(Y) / self.block
        self._begin()

    def _begin(self) -> None:
        self.coef, self.ahead, self.momentum = (np.zeros_like(self.Y) for _ in range(3))  # w, z and v of the paper
        mu = min(self.added, 1 / self.nu)
        self.kept, self.reach = 1 - math.sqrt(mu / self.nu), 1 / math.sqrt(mu * self.nu)  # β and γ
        self.mixed = 1 / (1 + self.reach * self.nu)  # α

    def restart(self) -> None:
        """Begin again with less acceleration."""
        self.nu *= LESS_EAGER
        self._begin()

    def one_pass(self) -> float:
        """See `Steps`: n/b blocks, each drawn from all rows."""
        return sum(self._step() for _ in range(max(1, round(len(self.Y) / self.block))))

    def _step(self) -> float:
        at = np.sort(self.rng.choice(len(self.Y), self.block, replace=False))
        K, ahead = self.buffer, self.ahead
        self.blocks.fill(self.X[at], K)
        gradient = K @ ahead.astype(K.dtype, copy=False) + self.added * ahead[at] - self.Y[at]
        inner = K[:, at].astype(np.float64)
        solve = self._preconditioner(inner)
        move = solve(gradient) / self._largest(inner, solve)
        self.momentum *= self.kept
        self.momentum += (1 - self.kept) * ahead
        self.momentum[at] -= self.reach * move
        np.copyto(self.coef, ahead)
        self.coef[at] -= move
        self.ahead = self.mixed * self.momentum + (1 - self.mixed) * self.coef
        return float(np.einsum("ij,ij->", gradient, gradient))

    def _preconditioner(self, K: Numbers) -> Callable[[Numbers], Numbers]:
        """(K̂ + ρI)⁻¹, K̂ = UΣUᵀ the randomised Nyström approximation of the block K (b, b), ρ = nλ + its smallest
        eigenvalue."""
        probes, _ = np.linalg.qr(self.rng.standard_normal((len(K), self.rank)))
        shift = ROUNDINGS * float(np.finfo(self.X.dtype).eps) * float(np.trace(K))
        image = K @ probes + shift * probes
        try:
            factor = cholesky(probes.T @ image, lower=True)
        except LinAlgError:
            raise ValueError(not_positive(float(np.linalg.eigvalsh(K)[0]))) from None
        U, root, _ = svd(solve_triangular(factor, image.T, lower=True).T, full_matrices=False)
        values = np.maximum(root**2 - shift, 0.0)
        rho = self.added + float(values[-1])

        def solve(V: Numbers) -> Numbers:
            inner = U.T @ V
            return np.asarray(U @ (inner / (values + rho)[:, None]) + (V - U @ inner) / rho)

        return solve

    def _largest(self, K: Numbers, solve: Callable[[Numbers], Numbers]) -> float:
        """About the largest eigenvalue of (K̂ + ρI)⁻¹(K + nλI)."""
        vector, found = self.rng.standard_normal((len(K), 1)), 1.0
        for _ in range(POWERS):
            vector /= np.linalg.norm(vector)
            before, vector = vector, solve(vector)
            vector = K @ vector + self.added * vector
            found = float(before[:, 0] @ vector[:, 0])
        return found


class _ASkotch(KernelDescent):
    called: ClassVar[str] = "askotch"

    def __init__(
        self, alpha: float = 1e-3, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        lambda_scale: LambdaScale = "n", center: Center = True, block: int | None = None, rank: int = RANK,
        budget: Mapping[str, Any] | None = None, record: bool = False, memory: int | None = None,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(
            alpha, kernel=kernel, gamma=gamma, lambda_scale=lambda_scale, center=center, budget=budget, record=record,
            memory=memory, random_state=random_state,
        )  # fmt: skip
        self.block = block
        self.rank = rank

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("alpha", self.alpha)
        if self.block is not None:
            check_count("block", self.block, least=1)
        check_count("rank", self.rank, least=1)

    def _steps(self, Y: Numbers, added: float) -> ASkotchSteps:
        rng = generator(seed_sequence(self.random_state), "blocks")
        return ASkotchSteps(self.kernel_, self.X_fit_, Y, added, self._block(len(Y)), self.rank, rng)

    def _block(self, n: int) -> int:
        return self.block or max(n // SHARE, LEAST_BLOCK)

    def _bytes(self, n: int, d: int, t: int) -> int:
        b = min(n, self._block(n))
        return 8 * (b * n + 3 * b**2 + 4 * b * min(b, self.rank) + 2 * n * d + 8 * n * t)


class ASkotchRegressor(_ASkotch, Regressor):
    """Exact kernel ridge (K + nλI)a = y − ȳ by accelerated approximate sketch-and-project.

    A step draws a block B of b rows, and computes K_Bn (b, n). With the gradient g = K_Bn·z + nλz_B − y_B, and K̂ the
    randomised Nyström approximation of K_BB of ``rank`` r, it moves the block by −η(K̂ + ρI)⁻¹g, ρ = nλ + λ_r(K̂). η is
    one over the largest eigenvalue of (K̂ + ρI)⁻¹(K_BB + nλI). Nesterov's acceleration mixes the moved w with a
    momentum v: v ← βv + (1 − β)z, moved by γ times as much; z ← αv + (1 − α)w; β = 1 − √(μ/ν), γ = 1/√(μν),
    α = 1/(1 + γν).

    The paper's choices: blocks drawn evenly, b = n/100 (here at least 100), r = 100, μ = nλ and ν = n/b. Here μ is at
    most 1/ν, as the theory asks. If the residual grows to 3 times its least value, the solver begins again with four
    times ν. A pass is n/b steps, O(n²·d + n·r·b), and K is not stored.

    Parameters
    ----------
    alpha : λ > 0.
    kernel, gamma, lambda_scale, center : as in `EigenProRegressor`.
    block : b, rows of a step; None: n/100, and at least 100.
    rank : r, columns of a block's Nyström approximation.
    budget, record, memory : as in `EigenProRegressor`.
    random_state : the stream that draws the blocks, and the probes of their approximations.

    Attributes
    ----------
    coef_, intercept_, gamma_, alpha_, timing_, n_iter_, metrics_, curves_ : as in `EigenProRegressor`.

    References
    ----------
    P. Rathore, Z. Frangella, J. Yang, M. Dereziński and M. Udell, "Have ASkotch: a neat solution for large-scale kernel
    ridge regression", arXiv 2407.10070, 2024; the choices are also in the authors' code.
    """


class ASkotchClassifier(_ASkotch, Classifier):
    """The sign of `ASkotchRegressor` on targets −1/+1; one against the rest for more classes."""


@serves(SolverServes(
    uses="kernel rows", iterative=True, cost="i*n*n*(d/2 + t + c)", letters=passes_of_a_fit(60),
    source="Rathore et al., 2024",
))  # fmt: skip
def make_askotch(
    *, task: str, kernel: str, gamma: float, memory: int | None = None, random_state: RandomState = None,
    lambda_: float | Sequence[float] = 1e-3, lambda_scale: LambdaScale = "n", center: Center = True,
    block: int | None = None, rank: int = RANK, budget: dict[str, Any] | None = None, record: bool = False,
) -> ASkotchRegressor | ASkotchClassifier:  # fmt: skip
    """Exact kernel ridge by accelerated steps on random blocks of rows, each preconditioned (ASkotch).

    Parameters
    ----------
    lambda_ : λ, one number.
    lambda_scale : the penalty: n·λ, or λ itself.
    center : true or target: centre y; both: an unpenalised intercept; false: neither.
    block : rows of a step; null: a hundredth of all, and at least 100.
    rank : columns of a block's Nyström approximation.
    budget : limits {passes, seconds, tolerance}; by default 1000 passes, no limit of seconds, and 1e-6.
    record : whether the residual and the test error after each pass are kept.
    """
    made = ASkotchClassifier if task == "classification" else ASkotchRegressor
    return made(
        one_lambda(lambda_, "askotch"), kernel=kernel, gamma=gamma, lambda_scale=lambda_scale, center=center,
        block=block, rank=rank, budget=budget, record=record, memory=memory, random_state=random_state,
    )  # fmt: skip
