"""Sparse random features: descent on the weights of random functions, some of which are added at every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import WrongParameter, check_choice, check_count
from rffbench.arguments.seeds import RandomState
from rffbench.kernels import HalfSpaceKernel, Kernel, SpectralKernel
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, LambdaScale, Regressor
from rffbench.solvers.sparse.basis import Functions
from rffbench.solvers.sparse.fully_corrective import FullyCorrective, Proposal
from rffbench.solvers.sparse.l1 import L1Problem, Lasso, SquaredHinge, solve_by_liblinear
from rffbench.solvers.sparse.working_set import WorkingSet

Subproblem = Literal["descent", "liblinear"]


class _SparseRandomFeatures(FullyCorrective):
    """Step t proposes the draws tR … (t + 1)R − 1 of the basis."""

    def __init__(
        self, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, *, alpha: float | Sequence[float] = 1.0,
        lambda_scale: LambdaScale = 1, features_per_step: int = 10, steps: int = 100, tol: float = 1e-2,
        validation: float = 0.1, target_score: float | None = None, record: bool = False,
        callback: Callable[[Mapping[str, float]], object] | None = None, random_state: RandomState = None,
        memory: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            kernel, gamma, alpha=alpha, lambda_scale=lambda_scale, steps=steps, tol=tol, validation=validation,
            target_score=target_score, record=record, callback=callback, random_state=random_state, memory=memory,
        )  # fmt: skip
        self.features_per_step = features_per_step

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("features_per_step", self.features_per_step, least=1)

    @property
    def _proposed_at_once(self) -> int:
        return self.features_per_step

    def _begin(self, d: int) -> None:
        self._drawn = self._basis.draw(self.features_per_step * self.steps, d, self.seed_)

    def _propose(self, step: int, working: WorkingSet, problem: L1Problem) -> Proposal:
        names = np.arange(self.features_per_step * step, self.features_per_step * (step + 1))
        names = np.setdiff1d(names, working.names, assume_unique=True)  # an earlier alpha may have left some
        return Proposal(self._drawn.part(names), names)

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        super()._fit_targets(X, Y, y)
        del self._drawn

    def _stored(self) -> dict[str, NDArray]:
        return {"indices": self.indices_}

    def _restored(self, arrays: Mapping[str, NDArray]) -> Functions:
        self.indices_ = arrays["indices"]
        count = int(self.indices_.max(initial=-1)) + 1
        return self._basis.draw(count, self.n_features_in_, self.seed_).part(self.indices_)


class SparseRandomFeaturesRegressor(_SparseRandomFeatures, Regressor):
    """Sparse random features for regression: f(x) = Σ_h w(h)·φ_h(x), most w(h) = 0 (Yen et al. 2014, Algorithm 1).

    T times: R functions are drawn and join the working set; λ‖w‖₁ + (1/2N) Σ (f(xₙ) − yₙ)² is minimised over its
    weights, starting at the present ones; functions with weight 0 leave. φ_h is cos(wᵀx + b) for kernels with a
    spectral density, and sign(θᵀx − α) for the perceptron kernel, without a factor: for √2·cos, with products that
    average to the kernel, the minimum is the same at √2·λ. There is no intercept. The draws are those of
    `RandomFourierFeatures` (form 'offset') and `PerceptronFeatures` with the same ``random_state``.

    Parameters
    ----------
    kernel : 'gaussian', 'laplacian', 'cauchy' or 'perceptron'.
    gamma : γ > 0, as in `rffbench.kernels`; or 'scale' or 'median', of the rows
        (`rffbench.kernels.bandwidth.gamma_of_rows`), but for the perceptron kernel.
    alpha : float or list of floats
        λ > 0. Of several, held-out rows choose one, which is then fitted to all rows.
    lambda_scale : 1 or 'n'
        ``alpha`` is Nλ with 1, the penalty beside a summed loss (λN in the paper), and λ with 'n'.
    features_per_step, steps : R and T.
    tol : the duality gap, as a share of the objective, at which a step's minimisation stops.
    validation : the share of rows held out to choose among several ``alpha``, which are fitted from the largest down,
        each starting at the last solution.
    target_score : None: the alpha with the best score on the held-out rows is chosen. A number: the one with a score
        (accuracy, as a share, or −RMSE) nearest to it, as the paper does with the score of random features.
    record : whether ``curves_`` are kept.
    callback : None, or a function that is called after each step with the step's row of ``curves_``, a dictionary.
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState.
    memory : bytes, or None. MemoryBudgetError, before the fit or a step, if the working set would take more: its
        values (N numbers of X's dtype per function, or N bytes for a perceptron), the inputs, and the Gram matrix of
        the functions with a weight.

    Attributes
    ----------
    coef_ : the weights other than 0, (m,) float64.
    indices_ : their numbers among the draws, (m,).
    directions_, offsets_ : the functions, (m, d) and (m,): φ is a function of directionᵀx + offset.
    alpha_ : the chosen λ. path_ : 'alpha', 'score', 'nonzeros' of all λ, if there are several.
    metrics_ : 'model_size', m, and 'objective'.
    curves_ : lists 'time' (seconds, without measuring), 'objective', 'nonzeros', and with an ``eval_set`` in ``fit``
        'test_error'; one entry per step.
    timing_ : as in `StreamedRidge`; 'solve_s' is the minimisation.
    gamma_ : γ as a number.
    seed_ : the SeedSequence of the draws.

    Notes
    -----
    X is (n, d), float64 or float32, y (n,). A saved file (``save``, ``load``) also has 'indices': the functions are
    drawn again from the seed.

    References
    ----------
    I. Yen et al., "Sparse random feature algorithm as coordinate descent in Hilbert space", NIPS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from rffbench import SparseRandomFeaturesRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> model = SparseRandomFeaturesRegressor(gamma=10.0, alpha=0.1, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).max() < 0.05), len(model.coef_) < 30
    (True, True)
    """

    loss = Lasso


class SparseRandomFeaturesClassifier(_SparseRandomFeatures, Classifier):
    """Sparse random features for two classes: the loss is the squared hinge (1/N) Σ max(0, 1 − yₙf(xₙ))², yₙ = ±1.

    Otherwise as `SparseRandomFeaturesRegressor`, with one parameter more. More than two classes are refused.

    Parameters
    ----------
    subproblem : 'descent' or 'liblinear'
        A step's minimisation: by this package's descent, starting at the present weights, or by LIBLINEAR (solver 5),
        starting at 0, as in the paper. ``tol`` is then LIBLINEAR's ε, and the objective may rise.
    """

    loss = SquaredHinge

    def __init__(
        self, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, *, alpha: float | Sequence[float] = 1.0,
        lambda_scale: LambdaScale = 1, features_per_step: int = 10, steps: int = 100, tol: float = 1e-2,
        validation: float = 0.1, target_score: float | None = None, subproblem: Subproblem = "descent",
        record: bool = False, callback: Callable[[Mapping[str, float]], object] | None = None,
        random_state: RandomState = None, memory: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            kernel, gamma, alpha=alpha, lambda_scale=lambda_scale, features_per_step=features_per_step, steps=steps,
            tol=tol, validation=validation, target_score=target_score, record=record, callback=callback,
            random_state=random_state, memory=memory,
        )  # fmt: skip
        self.subproblem = subproblem

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("subproblem", self.subproblem, get_args(Subproblem))

    def _minimise(self, problem: L1Problem, working: WorkingSet, rng: np.random.Generator) -> None:
        if self.subproblem == "descent":
            super()._minimise(problem, working, rng)
            return
        problem.shift(working.values, -working.weights)
        working.weights[:] = solve_by_liblinear(
            working.values.T, problem.y, problem.penalty, tol=self.tol, seed=int(rng.integers(2**31))
        )
        problem.shift(working.values, working.weights)


@serves(
    SolverServes(
        uses="own functions", kernels=(SpectralKernel, HalfSpaceKernel), iterative=True, source="Yen et al., NIPS 2014"
    )
)
def make_sparse_rf(
    *, task: str, kernel: str, gamma: float, n_features: int | None, random_state: RandomState = None,
    memory: int | None = None,
    lambda_: float | Sequence[float] = (1.0,), lambda_scale: LambdaScale = 1, steps: int = 100, tol: float = 1e-2,
    validation: float = 0.1, target_score: float | None = None, record: bool = False,
    subproblem: Subproblem = "descent",
) -> SparseRandomFeaturesRegressor | SparseRandomFeaturesClassifier:  # fmt: skip
    """Sparse random features: n_features drawn in steps, each minimised over with an ℓ1 penalty, zeros dropped.

    Parameters
    ----------
    lambda_ : λ of the ℓ1 penalty, or values to choose from on held-out rows.
    lambda_scale : 1: the number is Nλ, the penalty beside a summed loss; n: it is λ, beside a mean loss.
    steps : the number of steps; each adds an equal part of n_features.
    tol : the duality gap, as a share of the objective, at which a step's minimisation stops.
    validation : the share of rows held out to choose among several λ.
    target_score : λ is chosen by the held-out score nearest to this; null: by the best score.
    record : whether every step is recorded.
    subproblem : the minimisation for two classes: descent from the present weights, or LIBLINEAR from 0.
    """
    check_count("steps", steps, least=1)
    if n_features is None or n_features % steps:
        raise WrongParameter("steps", f"must divide n_features, {n_features}, got {steps!r}")
    settings: dict[str, Any] = {
        "kernel": kernel, "gamma": gamma, "alpha": lambda_, "lambda_scale": lambda_scale,
        "features_per_step": n_features // steps, "steps": steps, "tol": tol, "validation": validation,
        "target_score": target_score, "record": record, "random_state": random_state, "memory": memory,
    }  # fmt: skip
    if task == "classification":
        return SparseRandomFeaturesClassifier(**settings, subproblem=subproblem)
    if subproblem != "descent":
        raise WrongParameter("subproblem", f"is for classification, got {subproblem!r} for {task}")
    return SparseRandomFeaturesRegressor(**settings)
