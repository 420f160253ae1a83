"""min λ‖w‖₁ + (1/N) Σ L(zₙᵀw, yₙ) for the losses of the LASSO and the ℓ1-penalised SVM, which are squares.

Both losses are c·r² of the residual r = y − Zw at the points that have a loss: ½r² at all points, or r² at those with
y·r > 0, labels y = ±1, which is the squared hinge max(0, 1 − y·zᵀw)². With a = r at these points and 0 elsewhere, loss,
gradient and dual are

    c‖a‖²/N,    −(2c/N) Zᵀa,    max over s of (2c/N)·s·aᵀy − (c/N)·s²‖a‖²,  |s|·‖(2c/N) Zᵀa‖_∞ ≤ λ,

so a duality gap costs one gradient. The descent is a proximal Newton method (newGLMNET: G.-X. Yuan, C.-H. Ho and C.-J.
Lin, JMLR 13, 2012). Randomised coordinate descent minimises the quadratic model by its Gram matrix (the covariance
updates of J. Friedman et al., J. Stat. Software 33, 2010); a line search follows. For the LASSO, the model is exact.

Here features are the rows of a C-ordered array Z (p, N), so that each is contiguous.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from rffbench.linalg.compiled import compiled
from rffbench.linalg.threads import in_threads
from rffbench.solvers.sparse.quadratic import RowGram, minimise_quadratic

SUMS = {"reassoc", "contract", "nsz"}  # compiled sums may be re-ordered, to use vector units
ADDED_AT_ONCE = 100  # features without a weight that join the model at a time, or as many as have a weight
MODEL_TOL = 0.05  # the model is minimised to this share of the largest violation of optimality
SUFFICIENT = 0.01  # a step must bring this share of the decrease that the model predicts
MOST_HALVINGS = 30
MOST_STEPS = 200


class Minimum(NamedTuple):
    """The end of a descent: the objective, the duality gap, which bounds its distance from the minimum, and the number
    of steps."""

    objective: float
    gap: float
    steps: int


class L1Problem(ABC):
    """A target y (N,), a penalty λ, and the residual y − Zw (N,) float64, which is updated with w."""

    factor: ClassVar[float]
    """c: the loss of a point is c·r²."""

    def __init__(self, y: NDArray[np.float64], penalty: float) -> None:
        self.y = y
        self.penalty = penalty
        self.residual = y.copy()
        self.gram = RowGram(len(y))

    @abstractmethod
    def points(self, residual: NDArray[np.float64]) -> NDArray[np.bool_]:
        """The mask of the points that have a loss, (N,)."""

    def objective(self, w: NDArray[np.float64]) -> float:
        """λ‖w‖₁ + (1/N) Σ L."""
        return self._value(w, self.residual)

    def loss_gradient(self) -> NDArray[np.float64]:
        """The derivatives (N,) of (1/N) Σ L(f, y) by the predictions f = Zw."""
        gradient: NDArray[np.float64] = np.where(self.points(self.residual), self.residual, 0.0)
        gradient *= -2 * self.factor / len(self.y)
        return gradient

    def shift(self, Z: NDArray, weights: NDArray[np.float64]) -> None:
        """Subtract the combination of the features with these weights from the residual."""
        self.residual -= _combination(Z, np.arange(len(Z)), weights)

    def _value(self, w: NDArray[np.float64], residual: NDArray[np.float64]) -> float:
        a = residual[self.points(residual)]
        return float(self.penalty * np.abs(w).sum() + self.factor * (a @ a) / len(self.y))

    def _gap(self, objective: float, steepest: float) -> float:
        """The objective minus the dual's value at the best feasible multiple of the loss's gradient."""
        points = self.points(self.residual)
        a = self.residual[points]
        share = self.factor / len(self.y)
        linear, square = 2 * share * float(a @ self.y[points]), share * float(a @ a)
        scale = linear / (2 * square) if square > 0 else 0.0
        if abs(scale) * steepest > self.penalty:
            scale = np.copysign(self.penalty / steepest, scale)
        return float(objective - (scale * linear - scale**2 * square))

    def search(
        self, w: NDArray[np.float64], features: NDArray[np.int64], target: NDArray[np.float64],
        change: NDArray[np.float64], foreseen: float,
    ) -> bool:  # fmt: skip
        """Move w[features] towards ``target``, and the residual by −``change``, until the objective decreases enough.
        Returns whether it does."""
        before, start = self._value(w, self.residual), w[features]
        for halving in range(MOST_HALVINGS):
            share = 0.5**halving
            w[features] = target if halving == 0 else start + share * (target - start)
            residual = self.residual - share * change
            if self._value(w, residual) - before <= SUFFICIENT * share * foreseen < 0:
                self.residual = residual
                return True
        w[features] = start
        return False


def minimise(
    problem: L1Problem, Z: NDArray, w: NDArray[np.float64], *, tol: float, rng: Generator,
    most_steps: int = MOST_STEPS,
) -> Minimum:  # fmt: skip
    """Improve w (p,) in place until the duality gap is at most ``tol`` times the objective.

    Z is (p, N), one feature per row, float64, float32 or int8; sums are float64. The model of a step has the features
    with a weight, and the steepest of those with a gradient above λ. The objective never increases; the descent also
    ends if rounding prevents a decrease.
    """
    steps, moved = 0, True
    while True:
        gradient = _products(Z, problem.loss_gradient())
        objective = problem.objective(w)
        gap = problem._gap(objective, np.abs(gradient).max(initial=0.0))
        reached = gap <= tol * objective
        if reached or steps >= most_steps or not moved:
            if not reached:
                warnings.warn("the descent ended with a duality gap above tol", ConvergenceWarning, stacklevel=2)
            return Minimum(objective, gap, steps)
        features = working_set(gradient, w, problem.penalty)
        points = problem.points(problem.residual)
        H = problem.gram.update(Z, features, points)
        slope, weights = gradient[features], w[features]
        tolerance = MODEL_TOL * _violation(slope, weights, problem.penalty)
        scale = len(points) / (2 * problem.factor)  # the model times this needs no factor, and so no copy, of H
        target = minimise_quadratic(H, scale * slope, weights, scale * problem.penalty, scale * tolerance, rng)
        step = target - weights
        foreseen = slope @ step + problem.penalty * (np.abs(target).sum() - np.abs(weights).sum())
        moved = problem.search(w, features, target, _combination(Z, features, step), foreseen)
        steps += 1


def working_set(gradient: NDArray, w: NDArray, penalty: float) -> NDArray[np.int64]:
    """The positions, sorted, of the features with a weight and of the steepest others."""
    weighted = np.flatnonzero(w)
    steep = np.flatnonzero((w == 0) & (np.abs(gradient) > penalty))
    steepest = steep[np.argsort(-np.abs(gradient[steep]), kind="stable")]
    return np.sort(np.concatenate([weighted, steepest[: max(ADDED_AT_ONCE, len(weighted))]]))


def _violation(slope: NDArray, w: NDArray, penalty: float) -> float:
    """The largest distance from 0 to a coordinate's subdifferential."""
    flat = np.maximum(np.abs(slope) - penalty, 0.0)
    return float(np.where(w != 0, np.abs(slope + penalty * np.sign(w)), flat).max(initial=0.0))


def _products(Z: NDArray, a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Za, (p,), summed in float64."""
    out = np.empty(len(Z))
    in_threads(lambda first, last: _multiply(Z, a, out, first, last), len(Z))
    return out


def _combination(Z: NDArray, features: NDArray, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_j weights_j·Z[features_j], (N,), summed in float64."""
    out = np.zeros(Z.shape[1])
    used = weights != 0
    features, weights = features[used], weights[used]
    in_threads(lambda first, last: _combine(Z, features, weights, out, first, last), len(out))
    return out


@compiled(fastmath=SUMS)
def _multiply(Z, a, out, first, last):
    for j in range(first, last):
        z = Z[j]
        total = 0.0
        for i in range(len(a)):
            total += z[i] * a[i]
        out[j] = total


@compiled()
def _combine(Z, features, weights, out, first, last):
    part = out[first:last]
    for k in range(len(features)):
        z = Z[features[k], first:last]
        weight = weights[k]
        for i in range(len(part)):
            part[i] += weight * z[i]


class Lasso(L1Problem):
    """The loss ½(z − y)²; every point has one."""

    factor = 0.5

    def points(self, residual: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.ones(len(residual), dtype=bool)


class SquaredHinge(L1Problem):
    """The loss max(0, 1 − yz)², y = ±1: (y − z)² at the points whose margin is below 1, y(y − z) > 0."""

    factor = 1.0

    def points(self, residual: NDArray[np.float64]) -> NDArray[np.bool_]:
        return self.y * residual > 0


def solve_by_liblinear(
    Z: NDArray, y: ArrayLike, penalty: float, *, tol: float = 1e-4, most_iterations: int = 1000, seed: int = 0
) -> NDArray[np.float64]:
    """The weights w (p,) of `SquaredHinge` for features Z (N, p) and labels y (N,), −1 and 1, by LIBLINEAR's coordinate
    descent (solver 5), which starts at 0.

    LIBLINEAR minimises ‖w‖₁ + C Σ max(0, …)², so C = 1/(λN). ``tol`` is LIBLINEAR's ε, relative to the violation of
    optimality at 0. LIBLINEAR copies Z, at 16 bytes per number.
    """
    machine = LinearSVC(
        penalty="l1", loss="squared_hinge", dual=False, C=1 / (penalty * len(Z)), tol=tol, fit_intercept=False,
        max_iter=most_iterations, random_state=seed,
    )  # fmt: skip
    return machine.fit(Z, np.asarray(y)).coef_[0]
