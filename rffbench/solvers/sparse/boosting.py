"""Boosting (Yen et al. 2014, Section 3.3): the objective of sparse random features; each step adds the steepest
function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from rffbench.arguments.parameters import check_choice, check_count
from rffbench.arguments.seeds import RandomState
from rffbench.kernels import HalfSpaceKernel, Kernel, SpectralKernel
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import Classifier, LambdaScale, Regressor
from rffbench.solvers.sparse.basis import Functions
from rffbench.solvers.sparse.fully_corrective import FullyCorrective, Proposal
from rffbench.solvers.sparse.l1 import L1Problem, Lasso, SquaredHinge
from rffbench.solvers.sparse.working_set import WorkingSet

Threshold = Literal["surrogate", "best"]
SURROGATE_C = 1e4  # the inverse penalty of the logistic surrogate, beside a mean loss: hardly any penalty
SURROGATE_TOL = 1e-4


class _Boosting(FullyCorrective):
    """A step proposes one function, about argmax_h |(1/N) Σ L′(f(xₙ), yₙ)·φ_h(xₙ)| (their Eq. 24)."""

    def __init__(
        self, kernel: str | Kernel = "perceptron", gamma: float | str = 1.0, *, alpha: float | Sequence[float] = 1.0,
        lambda_scale: LambdaScale = 1, steps: int = 100, candidates: int = 100, threshold: Threshold = "surrogate",
        tol: float = 1e-2, validation: float = 0.1, target_score: float | None = None,
        record: bool = False, callback: Callable[[Mapping[str, float]], object] | None = None,
        random_state: RandomState = None, memory: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            kernel, gamma, alpha=alpha, lambda_scale=lambda_scale, steps=steps, tol=tol, validation=validation,
            target_score=target_score, record=record, callback=callback, random_state=random_state, memory=memory,
        )  # fmt: skip
        self.candidates = candidates
        self.threshold = threshold

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("candidates", self.candidates, least=1)
        check_choice("threshold", self.threshold, get_args(Threshold))

    @property
    def _proposed_at_once(self) -> int:
        return 1 if self._basis.signs else self.candidates

    def _begin(self, d: int) -> None:
        if not self._basis.signs:
            self._drawn = self._basis.draw(self.candidates * self.steps, d, self.seed_)

    def _propose(self, step: int, working: WorkingSet, problem: L1Problem) -> Proposal | None:
        pull = -problem.loss_gradient()
        if self._basis.signs:
            function = steepest_perceptron(working.inputs[:-1].T, pull, self.threshold)
        else:
            function = self._steepest_candidate(step, working, pull)
        values = np.empty((1, working.n), dtype=working.inputs.dtype)
        self._basis.evaluate(function, working.inputs, values)
        if step and abs(values[0] @ pull) <= (1 + self.tol) * problem.penalty:  # its weight would be about 0
            return None
        return Proposal(function, np.array([step]))

    def _steepest_candidate(self, step: int, working: WorkingSet, pull: NDArray[np.float64]) -> Functions:
        """The steepest of this step's draws."""
        drawn = self._drawn.part(slice(self.candidates * step, self.candidates * (step + 1)))
        values = np.empty((self.candidates, working.n), dtype=working.inputs.dtype)
        self._basis.evaluate(drawn, working.inputs, values)
        best = int(np.abs(values @ pull.astype(values.dtype)).argmax())
        return drawn.part(slice(best, best + 1))

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        super()._fit_targets(X, Y, y)
        self.__dict__.pop("_drawn", None)

    def _stored(self) -> dict[str, NDArray]:
        return {"directions": self.directions_, "offsets": self.offsets_, "indices": self.indices_}

    def _restored(self, arrays: Mapping[str, NDArray]) -> Functions:
        self.indices_ = arrays["indices"]
        return Functions(arrays["directions"], arrays["offsets"])


def steepest_perceptron(X: NDArray, pull: NDArray[np.float64], threshold: str) -> Functions:
    """Approximately the perceptron with the largest |Σ pullₙ·sign(θᵀxₙ − α)|, ‖θ‖ = 1; X is (n, d).

    It is the linear classifier of the labels sign(pullₙ) with the least error, weighted by |pullₙ|, which is hard to
    find. The logistic loss replaces that error, and is convex (S.-T. Chen et al., ICML 2012). With the ``threshold``
    'best', α is then the best one for this θ.
    """
    pulled = pull != 0
    labels, weights = pull[pulled] > 0, np.abs(pull[pulled])
    if labels.all() or not labels.any():  # then a constant function is the steepest
        return Functions(np.zeros((1, X.shape[1])), np.ones(1))
    surrogate = LogisticRegression(C=SURROGATE_C, tol=SURROGATE_TOL, max_iter=1000)
    surrogate.fit(X[pulled], labels, sample_weight=weights / weights.sum())
    length = np.linalg.norm(surrogate.coef_) or 1.0
    direction, offset = surrogate.coef_.astype(np.float64) / length, surrogate.intercept_.astype(np.float64) / length
    if threshold == "best":
        offset = np.array([-_best_threshold((X @ direction[0].astype(X.dtype)).astype(np.float64), pull)])
    return Functions(direction, offset)


def _best_threshold(along: NDArray[np.float64], pull: NDArray[np.float64]) -> float:
    """The α with the largest |Σ pullₙ·sign(alongₙ − α)|, midway between two neighbouring points."""
    order = np.argsort(along)
    along, below = along[order], np.cumsum(pull[order])
    between = np.flatnonzero(along[1:] > along[:-1])  # no threshold separates equal points
    if not len(between):
        return float(along[0])
    best = between[np.abs(below[-1] - 2 * below[between]).argmax()]
    return float(along[best] + along[best + 1]) / 2


class BoostedFeaturesRegressor(_Boosting, Regressor):
    """Boosting for regression: f(x) = Σ_h w(h)·φ_h(x), the steepest φ_h joining at each of T steps (Yen et al. 2014).

    The objective, the basis and the minimisation over all weights are those of `SparseRandomFeaturesRegressor`, which
    also describes the other parameters and attributes.

    The steepest function is found approximately. Perceptrons: by logistic regression of the sign of −L′ on the inputs,
    weighted by |L′|. Cosines: the steepest of ``candidates`` draws. The steps end if the function that is found is too
    flat to get a weight, even if the objective is above its minimum.

    Parameters
    ----------
    steps : T, the most steps; each adds one function.
    candidates : cosines drawn per step; not used for perceptrons.
    threshold : 'surrogate' or 'best'
        The threshold of a perceptron: the logistic regression's, as in the paper, or the steepest for its direction,
        which is found exactly. Not used for cosines.

    Attributes
    ----------
    indices_ : the steps at which the functions joined, (m,).

    Notes
    -----
    A saved file also has 'directions' and 'offsets'.
    """

    loss = Lasso


class BoostedFeaturesClassifier(_Boosting, Classifier):
    """Boosting for two classes: the squared hinge, otherwise as `BoostedFeaturesRegressor`."""

    loss = SquaredHinge


@serves(
    SolverServes(
        uses="own functions", kernels=(SpectralKernel, HalfSpaceKernel), iterative=True, source="Yen et al., NIPS 2014"
    )
)
def make_boosting(
    *, task: str, kernel: str, gamma: float, random_state: RandomState = None, memory: int | None = None,
    lambda_: float | Sequence[float] = (1.0,), lambda_scale: LambdaScale = 1, steps: int = 100, tol: float = 1e-2,
    validation: float = 0.1, target_score: float | None = None, record: bool = False,
    candidates: int = 100, threshold: Threshold = "surrogate",
) -> BoostedFeaturesRegressor | BoostedFeaturesClassifier:  # fmt: skip
    """Boosting: each step adds the steepest function, and minimises over all weights with an ℓ1 penalty.

    Parameters
    ----------
    lambda_ : λ of the ℓ1 penalty, or values to choose from on held-out rows.
    lambda_scale : 1: the number is Nλ, the penalty beside a summed loss; n: it is λ, beside a mean loss.
    steps : the most functions; n_features has no effect.
    tol : the duality gap, as a share of the objective, at which a step's minimisation stops.
    validation : the share of rows held out to choose among several λ.
    target_score : λ is chosen by the held-out score nearest to this; null: by the best score.
    record : whether every step is recorded.
    candidates : cosines drawn per step; not used for perceptrons.
    threshold : of a perceptron: the logistic regression's, or the best for its direction.
    """
    estimator = BoostedFeaturesClassifier if task == "classification" else BoostedFeaturesRegressor
    return estimator(
        kernel, gamma, alpha=lambda_, lambda_scale=lambda_scale, steps=steps, candidates=candidates,
        threshold=threshold, tol=tol, validation=validation, target_score=target_score, record=record,
        random_state=random_state, memory=memory,
    )  # fmt: skip
