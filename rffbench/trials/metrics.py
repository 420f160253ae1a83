"""What is measured: what each metric is called, in which unit, and whether more of it is better; the score of
predictions; of a feature map by itself the errors of its kernel matrix and the spread of its projections."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, eigvalsh, solve_triangular, svdvals
from scipy.optimize import brentq
from scipy.sparse import issparse
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, aslinearoperator, eigsh
from scipy.spatial.distance import pdist, squareform
from scipy.special import ndtr

from rffbench.kernels import GaussianKernel
from rffbench.parameters import TIMES_MEDIAN
from rffbench.parts import NotServed, Task, Traits, check_kernel

if TYPE_CHECKING:
    from rffbench.kernels import Kernel


SECONDS, PERCENT, BYTES = "s", "%", "bytes"
Direction = Literal["greater", "less"]
Needs = Literal["labels", "values", "scores", "probabilities"]


@dataclass(frozen=True)
class Metric:
    """A number measured in a trial, and all that a reader of it is told.

    ``name`` is its key in trials.jsonl and summary.csv; ``title`` what it is called (the name, unless given); ``unit``
    is empty for a plain number; ``better`` is the better direction, None for neither. ``heading`` stands above a
    figure's panel of it, where that is not its label, and ``short`` above a narrow column, where that is not its title.

    A score of predictions is ``score(y, predicted)`` of a trial of this ``task``, and ``needs`` says what a solver must
    predict for it. A measure of a fitted map is ``measure(mapped)``: ``kernels`` is the trait that the kernel must have
    (`rffbench.parts`), ``of_frequencies`` says that only Fourier maps have it, ``cost`` is its multiply-adds for n
    points, s frequencies and D columns. Measures that are ``judged`` are shown beside the score of every dataset.
    """

    name: str
    title: str = ""
    unit: str = ""
    better: Direction | None = None
    heading: str = ""
    short: str = ""
    score: Callable[[NDArray, NDArray], float] | None = None
    task: Task | None = None
    needs: Needs | None = None
    measure: Callable[[MapOnPoints], float] | None = None
    judged: bool = False
    kernels: Traits = None
    of_frequencies: bool = False
    cost: str = "450*n**2"  # a norm by Lanczos, or a sort, takes that for each number of the matrix

    def __post_init__(self) -> None:
        if self.better not in (None, *get_args(Direction)):
            raise ValueError(f"metric {self.name!r}: better must be 'greater', 'less' or None, got {self.better!r}")
        for name, default in (("title", self.name), ("heading", self.label), ("short", self.title or self.name)):
            object.__setattr__(self, name, getattr(self, name) or default)

    @property
    def label(self) -> str:
        """The title with its unit, as on an axis: ``training time (s)``."""
        return (self.title or self.name) + (f" ({self.unit})" if self.unit else "")

    @property
    def decimals(self) -> int | None:
        """Decimals in a table: 2 of a percentage; None where the size of the number decides."""
        return 2 if self.unit == PERCENT else None


TRIAL_COLUMNS = ("dataset", "n_features", "method", "multiple", "trial", "status", "contended")
"""What stands beside the metrics in a table of trials: no names for a metric."""


# ---- What a map or solver says of itself -------------------------------------------------------------------


def metrics_of(fitted: Any) -> dict[str, float]:
    """The ``metrics_`` of a fitted map or solver: finite numbers by name; none where it has no such attribute. What it
    says of what is measured here, its accuracy for one, is left out.

    ValueError, naming the metric, where one is no finite number or is named as something else that a trial has, and
    where there are no numbers by name.
    """
    measured, found = {}, getattr(fitted, "metrics_", {})
    if not isinstance(found, Mapping):
        raise ValueError(f"metrics_ of {type(fitted).__name__} must be a dictionary, numbers by name, got {found!r}")
    for name, value in found.items():
        where = f"metrics_[{name!r}] of {type(fitted).__name__}"
        if name in TRIAL_COLUMNS:
            raise ValueError(f"{where}: that name means something else in a trial's row; give the metric another")
        if not _is_finite(value):
            raise ValueError(f"{where} must be a finite number, got {value!r}")
        if name not in METRICS or name in SAID:
            measured[name] = float(value)
    return measured


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, numbers.Real) and math.isfinite(value)
    except OverflowError:  # a whole number beyond float64
        return False


def described(fitted: Any) -> dict[str, dict[str, str | None]]:
    """What the ``own_metrics`` of a map or solver, a sequence of `Metric`, say of its ``metrics_``: title, unit and
    better direction by name, as a trial's row keeps them, so that a reader needs the results alone. What is known
    here keeps its meaning. ValueError where they are none."""
    own = getattr(fitted, "own_metrics", ())
    if not isinstance(own, list | tuple) or not all(isinstance(each, Metric) for each in own):
        raise ValueError(
            f"own_metrics of {type(fitted).__name__} must be a tuple of rffbench.trials.metrics.Metric, got {own!r}"
        )
    return {
        metric.name: {"title": metric.title, "unit": metric.unit, "better": metric.better}
        for metric in own
        if metric.name in getattr(fitted, "metrics_", {}) and metric.name not in METRICS
    }


# ---- Predictions -------------------------------------------------------------------------------------------


def accuracy(y: NDArray, predicted: NDArray) -> float:
    """The share of labels predicted right, in percent."""
    return 100.0 * float(np.mean(y == predicted))


def rmse(y: NDArray, predicted: NDArray) -> float:
    """√(mean (y − ŷ)²), in the target's unit."""
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def relative_rmse(y: NDArray, predicted: NDArray) -> float:
    """‖y − ŷ‖₂ / ‖y‖₂ (Chen et al. 2015, Figure 2); NaN where y is zero."""
    norm = float(np.linalg.norm(y))
    return float(np.linalg.norm(y - predicted)) / norm if norm > 0 else float("nan")


# ---- A feature map by itself -------------------------------------------------------------------------------

ENTRY_QUANTILE = 0.99
RIDGE_LAMBDAS = tuple(float(f"1e-{power}") for power in range(9, 1, -1))  # from 1e-9 to 1e-2, as the board's
DECAY_RANKS = 10, 500  # of the eigenvalues whose decay is measured


@dataclass
class Points:
    """The rows X (n, d) that maps are measured on, their targets y (n,) where a measure needs them, and ``learnt``
    (n, t) as ridge learns them, and what their exact kernel matrix is, computed when asked for.

    λ of the measures that have one is 1/√n, the rule of Liu et al. 2020 (Section 3.1) and of the bounds that its theory
    states: so it is the same for all maps, sizes and solvers, and the penalty nλ is √n. Of those called after ridge it
    is what kernel ridge on these points chooses by cross-validation.
    """

    X: NDArray
    kernel: Kernel
    y: NDArray | None = None
    learnt: NDArray[np.float64] | None = None

    @cached_property
    def kernel_matrix(self) -> NDArray[np.float64]:
        """K (n, n)."""
        return self.kernel(self.X.astype(np.float64, copy=False))

    @cached_property
    def kernel_norm(self) -> float:
        """‖K‖₂."""
        return spectral_norm(self.kernel_matrix)

    @property
    def penalty(self) -> float:
        """nλ = √n."""
        return math.sqrt(len(self.X))

    @cached_property
    def eigenvalues(self) -> NDArray[np.float64]:
        """Those of K, falling; what rounds below 0 is 0."""
        return np.maximum(eigvalsh(self.kernel_matrix)[::-1], 0.0)

    @cached_property
    def penalised_factor(self) -> NDArray[np.float64]:
        """L, lower triangular, LLᵀ = K + nλI."""
        return cholesky(self.kernel_matrix + self.penalty * np.eye(len(self.X)), lower=True)

    @cached_property
    def ridge_penalty(self) -> float:
        """nλ, λ of RIDGE_LAMBDAS the one with which kernel ridge has the least squared error in a five-fold
        cross-validation on the points."""
        from rffbench.solvers.ridge.exact import ExactKernelRidgeCV  # it loads scikit-learn

        if self.learnt is None:
            raise ValueError("kernel ridge on the points needs their targets")
        fitted = ExactKernelRidgeCV(RIDGE_LAMBDAS, kernel=self.kernel).fit(self.X, self.learnt)
        return len(self.X) * float(fitted.alpha_)

    @cached_property
    def ridge_factor(self) -> NDArray[np.float64]:
        """L, lower triangular, LLᵀ = K + nλI with kernel ridge's λ."""
        return cholesky(self.kernel_matrix + self.ridge_penalty * np.eye(len(self.X)), lower=True)

    @cached_property
    def diameter(self) -> float:
        """The largest ‖x − x′‖₂; 0 of a single point."""
        return float(pdist(self.X, "euclidean").max(initial=0.0))


@dataclass
class MapOnPoints:
    """A fitted feature map and the points it is measured on."""

    features: Any
    points: Points

    @cached_property
    def Z(self) -> NDArray[np.float64]:
        """The features (n, p); ValueError, naming the map, where they are not finite numbers with finite squares.

        Of sparse ones, of very many columns, another root of ZZᵀ, (n, n): all that is measured is of ZZᵀ."""
        from rffbench.features.base import check_finite, mapped  # it loads scikit-learn, which reports do without

        Z = mapped(self.features, self.points.X).astype(np.float64, copy=False)
        check_finite(self.features, Z)
        if issparse(Z):
            values, vectors = eigh((Z @ Z.T).toarray())
            return vectors * np.sqrt(np.maximum(values, 0))
        return Z

    @cached_property
    def difference(self) -> NDArray[np.float64]:
        """K − ZZᵀ (n, n)."""
        product = self.Z @ self.Z.T
        return np.subtract(self.points.kernel_matrix, product, out=product)

    @cached_property
    def entries(self) -> NDArray[np.float64]:
        """|K − ZZᵀ| at the pairs of different points."""
        return np.abs(squareform(self.difference, checks=False))

    @cached_property
    def spectral_error(self) -> float:
        """‖K − ZZᵀ‖₂; the difference is multiplied by, and not made."""
        Z = aslinearoperator(self.Z)
        error: LinearOperator = aslinearoperator(self.points.kernel_matrix) - Z @ Z.T
        return spectral_norm(error)

    @cached_property
    def eigenvalues(self) -> NDArray[np.float64]:
        """Those of K̃ = ZZᵀ that need not be 0, falling: the squared singular values of Z, min(n, p) of them."""
        return np.square(svdvals(self.Z))

    @cached_property
    def projections(self) -> NDArray[np.float64]:
        """wⱼᵀxᵢ/(√(2γ)‖xᵢ‖) of the points other than 0 and all frequencies, (n, s), each row sorted: N(0, 1) where
        w ~ N(0, 2γI)."""
        X = self.points.X.astype(np.float64, copy=False)
        lengths = np.linalg.norm(X, axis=1)
        U = X[lengths > 0] @ self.features.frequencies_
        U /= np.sqrt(2 * self.points.kernel.gamma) * lengths[lengths > 0, None]
        U.sort(axis=1)
        return U


def kernel_error(mapped: MapOnPoints) -> float:
    """‖K − ZZᵀ‖₂ / ‖K‖₂ (Liu et al. 2020, Figure 1a)."""
    return mapped.spectral_error / mapped.points.kernel_norm


def frobenius_error(mapped: MapOnPoints) -> float:
    """‖K − ZZᵀ‖_F / ‖K‖_F (Wacker et al. 2022, Section 6)."""
    return float(np.linalg.norm(mapped.difference) / np.linalg.norm(mapped.points.kernel_matrix))


def complex_frobenius_error(mapped: MapOnPoints) -> float:
    """‖K − ψψᴴ‖_F / ‖K‖_F of Z = [P | Q] as the complex features ψ = P + iQ: ψψᴴ = ZZᵀ + i(QPᵀ − PQᵀ)."""
    if (columns := mapped.Z.shape[1]) % 2:
        raise ValueError(f"complex_frobenius_error needs an even number of columns, not {columns}")
    half = columns // 2
    crossed = mapped.Z[:, half:] @ mapped.Z[:, :half].T
    crossed -= crossed.T.copy()
    errors = np.linalg.norm(mapped.difference), np.linalg.norm(crossed)
    return float(np.hypot(*errors) / np.linalg.norm(mapped.points.kernel_matrix))


def scaled_error(mapped: MapOnPoints) -> float:
    """min over c of ‖K − cZZᵀ‖₂ / ‖K‖₂: what is left of the kernel error where the features may have any length.

    ‖K − cK̃‖₂ is the larger of λmax(K − cK̃), which falls with c, and −λmin(K − cK̃), which grows; so the least is where
    they are equal, and that c is the root of a falling function between 0 and 2‖K‖₂/‖K̃‖₂ (beyond, the error is more
    than c = 0 has). The root is found by Brent's method to 1e-9 of the bracket and the eigenvalues by Lanczos to 1e-6
    relative: so the result is at most about 2e-6 too large or small, of a number between 0 and 1.
    """
    if not (norm := spectral_norm(_product(mapped.Z))):
        return 1.0
    K = aslinearoperator(mapped.points.kernel_matrix / mapped.points.kernel_norm)
    K_tilde = _product(mapped.Z / math.sqrt(norm))

    def ends(c: float) -> tuple[float, float]:
        return extreme_eigenvalues(K - c * K_tilde)

    def excess(c: float) -> float:  # at the ends of the bracket the sign is known, and the size matters to nothing
        return 1.0 if c == 0 else -1.0 if c == _MOST_SCALE else sum(ends(c))

    best = brentq(excess, 0.0, _MOST_SCALE, xtol=1e-9)
    return min(float(np.abs(ends(best)).max()), 1.0)


_MOST_SCALE = 2.0  # of K̃ where both matrices have norm 1


def _product(Z: NDArray) -> LinearOperator:
    """ZZᵀ, multiplied by and not made."""
    operator = aslinearoperator(Z)
    return operator @ operator.T


def delta_error(mapped: MapOnPoints) -> float:
    """‖(K + nλI)^−½ (ZZᵀ − K) (K + nλI)^−½‖₂, the Δ of Lemma 1 of Liu et al. 2020 (Eq. 18), at λ = 1/√n of the points.

    With K + nλI = LLᵀ it is ‖L⁻¹(ZZᵀ − K)L⁻ᵀ‖₂: L⁻¹ is the inverse root times an orthogonal matrix. Lanczos, to 1e-6
    relative. Below 1, ridge regression on the features has about the kernel's own risk.
    """
    return _delta(mapped, mapped.points.penalised_factor)


def ridge_delta_error(mapped: MapOnPoints) -> float:
    """Δ as `delta_error`, at the λ that kernel ridge on the points chooses."""
    return _delta(mapped, mapped.points.ridge_factor)


def _delta(mapped: MapOnPoints, L: NDArray[np.float64]) -> float:
    """‖L⁻¹(ZZᵀ − K)L⁻ᵀ‖₂."""
    K, Z = mapped.points.kernel_matrix, mapped.Z

    def multiply(v: NDArray) -> NDArray:
        u = solve_triangular(L, v, lower=True, trans="T", check_finite=False)
        return solve_triangular(L, Z @ (Z.T @ u) - K @ u, lower=True, check_finite=False)

    return spectral_norm(LinearOperator(K.shape, matvec=multiply, matmat=multiply, dtype=np.float64))


def effective_dimension(mapped: MapOnPoints) -> float:
    """tr(K̃(K̃ + nλI)⁻¹), K̃ = ZZᵀ, λ = 1/√n: d of Liu et al. 2020 (Eq. 5) with the features' kernel matrix."""
    return dimension_of(mapped.eigenvalues, mapped.points.penalty)


def kernel_effective_dimension(mapped: MapOnPoints) -> float:
    """tr(K(K + nλI)⁻¹), λ = 1/√n, of the points alone: d of Liu et al. 2020, Eq. 5."""
    return dimension_of(mapped.points.eigenvalues, mapped.points.penalty)


def ridge_dimension(mapped: MapOnPoints) -> float:
    """tr(K(K + nλI)⁻¹) of the points alone, at the λ that kernel ridge on them chooses."""
    return dimension_of(mapped.points.eigenvalues, mapped.points.ridge_penalty)


def spectral_decay(mapped: MapOnPoints) -> float:
    """How fast K's eigenvalues fall: the least-squares slope of −log μ_r over log r from rank 10 to rank 500, or to the
    last rank above rounding; NaN of fewer than two such ranks."""
    values = mapped.points.eigenvalues
    above = values > len(values) * np.finfo(np.float64).eps * values[0]
    ranks = np.arange(1, len(values) + 1)
    used = above & (ranks >= DECAY_RANKS[0]) & (ranks <= DECAY_RANKS[1])
    return float(-np.polyfit(np.log(ranks[used]), np.log(values[used]), 1)[0]) if used.sum() > 1 else float("nan")


def surrogate_dimension(mapped: MapOnPoints) -> float:
    """tr((yyᵀ + nI)K̃)/(n²λ), K̃ = ZZᵀ, λ = 1/√n: D of Liu et al. 2020 (Eq. 10) with the features' kernel matrix. y is
    taken as it is: ±1 for two classes."""
    Z, n = mapped.Z, len(mapped.Z)
    aligned = float(np.square(_targets(mapped) @ Z).sum())
    return (aligned + n * float(np.square(Z).sum())) / (n * mapped.points.penalty)


def kernel_surrogate_dimension(mapped: MapOnPoints) -> float:
    """tr((yyᵀ + nI)K)/(n²λ), λ = 1/√n, of the points alone: D of Liu et al. 2020, Eq. 10; at most 2/λ for y of ±1."""
    K, y, n = mapped.points.kernel_matrix, _targets(mapped), len(mapped.points.X)
    return float(y @ K @ y + n * np.trace(K)) / (n * mapped.points.penalty)


def _targets(mapped: MapOnPoints) -> NDArray[np.float64]:
    if mapped.points.y is None:
        raise ValueError("the surrogate dimension needs the targets of the points")
    return mapped.points.y.astype(np.float64)


def dimension_of(eigenvalues: NDArray[np.float64], penalty: float) -> float:
    """Σ μ/(μ + penalty) over the eigenvalues μ ≥ 0 of a matrix: its effective dimension."""
    return float(np.sum(eigenvalues / (eigenvalues + penalty)))


def spectral_error(mapped: MapOnPoints) -> float:
    """‖K − ZZᵀ‖₂."""
    return mapped.spectral_error


def kernel_norm(mapped: MapOnPoints) -> float:
    """‖K‖₂, of the points alone."""
    return mapped.points.kernel_norm


def sup_error(mapped: MapOnPoints) -> float:
    """max |K − ZZᵀ| over all pairs of the points (Rahimi & Recht 2007, Claim 1)."""
    return float(np.abs(mapped.difference).max())


def entry_error(mapped: MapOnPoints) -> float:
    """The root of the mean square of K − ZZᵀ over pairs of different points."""
    return float(np.sqrt(np.mean(np.square(mapped.entries))))


def entry_quantile(mapped: MapOnPoints) -> float:
    """What |K − ZZᵀ| exceeds at one in a hundred pairs of different points: the error of an entry at δ = 0.01."""
    return float(np.quantile(mapped.entries, ENTRY_QUANTILE))


def diameter(mapped: MapOnPoints) -> float:
    """The largest ‖x − x′‖₂, of the points alone: what the bound on the sup error needs."""
    return mapped.points.diameter


def marginal_ks(mapped: MapOnPoints) -> float:
    """The Kolmogorov–Smirnov distance of a point's s projections to N(0, ‖x‖²/σ²), the mean over the points.

    sup |F_s − Φ|, F_s the empirical distribution function; independent Gaussian frequencies have about 0.87/√s.
    """
    U = mapped.projections
    s = U.shape[1]
    cumulative = ndtr(U)
    steps = np.arange(s + 1) / s
    above, below = (steps[1:] - cumulative).max(axis=1), (cumulative - steps[:-1]).max(axis=1)
    return float(np.maximum(above, below).mean())


def marginal_energy(mapped: MapOnPoints) -> float:
    """The energy distance of a point's s projections to N(0, ‖x‖²/σ²) over ‖x‖/σ, the mean over the points.

    √(2E|u − g| − E|u − u′| − E|g − g′|), u, u′ of the projections, g, g′ ~ N(0, 1) (G. Székely, M. Rizzo, "Energy
    statistics", 2013), with E|u − g| = u(2Φ(u) − 1) + 2φ(u) and E|g − g′| = 2/√π. Independent Gaussian frequencies
    have about √(2/(s√π)).
    """
    U = mapped.projections
    s = U.shape[1]
    to_normal = U * (2 * ndtr(U) - 1) + 2 * np.exp(-(U**2) / 2) / np.sqrt(2 * np.pi)
    within = U @ (2 * np.arange(1, s + 1) - s - 1) * (2 / s**2)  # Σᵢⱼ |uᵢ − uⱼ| of sorted numbers, over s²
    squared = 2 * to_normal.mean(axis=1) - within - 2 / np.sqrt(np.pi)
    return float(np.sqrt(np.maximum(squared, 0)).mean())


SPECTRUM_RANKS = 40  # of the eigenvalues kept, as far apart on a logarithmic scale


def spectrum(mapped: MapOnPoints) -> dict[str, list[float]]:
    """Eigenvalues of K and of K̃ = ZZᵀ over n, falling, at SPECTRUM_RANKS ranks from 1 to n: the columns 'rank',
    'eigenvalue' and 'map_eigenvalue'."""
    n = len(mapped.points.X)
    ranks = np.unique(np.geomspace(1, n, SPECTRUM_RANKS).round().astype(int))
    own = np.zeros(n)
    own[: len(mapped.eigenvalues)] = mapped.eigenvalues
    columns = {
        "rank": ranks,
        "eigenvalue": mapped.points.eigenvalues[ranks - 1] / n,
        "map_eigenvalue": own[ranks - 1] / n,
    }
    return {name: values.astype(float).tolist() for name, values in columns.items()}


def spectral_norm(A: NDArray | LinearOperator) -> float:
    """‖A‖₂ of a symmetric matrix, by Lanczos from a fixed start to 1e-6 relative."""
    operator = aslinearoperator(A)
    n = operator.shape[0]
    start = np.random.default_rng(0).standard_normal(n)
    if n < 3 or not operator.matvec(start).any():  # Lanczos needs room for two vectors besides the wanted one
        return float(np.linalg.norm(operator @ np.eye(n), 2))
    try:
        value = eigsh(operator, k=1, which="LM", v0=start, tol=1e-6, return_eigenvectors=False)
    except ArpackNoConvergence:  # two extreme eigenvalues of opposite sign and nearly equal size
        return float(np.linalg.norm(operator @ np.eye(n), 2))
    return float(abs(value[0]))


MOST_RESTARTS = 30  # of Lanczos, before all eigenvalues are quicker


def extreme_eigenvalues(A: LinearOperator) -> tuple[float, float]:
    """The least and the largest eigenvalue of a symmetric matrix, by Lanczos from a fixed start to 1e-6 relative."""
    n = A.shape[0]
    if n >= 4:  # Lanczos needs room for two vectors besides the wanted ones
        try:
            start = np.random.default_rng(0).standard_normal(n)
            low, high = sorted(eigsh(A, k=2, which="BE", v0=start, tol=1e-6, maxiter=MOST_RESTARTS,
                                    return_eigenvectors=False))  # fmt: skip
            return float(low), float(high)
        except ArpackError:  # one of them is 0, or next to others
            pass
    values = eigvalsh(A @ np.eye(n))
    return float(values[0]), float(values[-1])


# ---- Every metric ------------------------------------------------------------------------------------------

_DECOMPOSED = "450*n**2 + 3*n**3"  # it takes eigenvalues or factors, too
_PROJECTED = "450*n*s"

METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "test accuracy", PERCENT, "greater", score=accuracy, task="classification", needs="labels"),
        Metric("rmse", "test RMSE", better="less", score=rmse, task="regression", needs="values"),
        Metric("relative_rmse", "relative test RMSE", better="less", score=relative_rmse, task="regression",
               needs="values"),
        Metric("balanced_accuracy", "balanced test accuracy", PERCENT, "greater"),  # those of `rffbench.trials.scores`
        Metric("auc", "area under the ROC curve", better="greater", short="AUC"),
        Metric("average_precision", "average precision", better="greater"),
        Metric("log_loss", "log-loss", better="less"),
        Metric("brier", "Brier score", better="less"),
        Metric("calibration_error", "calibration error", PERCENT, "less"),
        Metric("mae", "mean absolute error", better="less"),
        Metric("mse", "test mean squared error", better="less"),
        Metric("r2", "R²", better="greater"),
        Metric("kernel_error", "relative kernel error", better="less", measure=kernel_error, judged=True),
        Metric("scaled_error", "kernel error at the best scale", better="less", measure=scaled_error, judged=True,
               cost=_DECOMPOSED),
        Metric("delta_error", "Δ-spectral error", better="less", heading="Δ-spectral error, λ = 1/√n",
               measure=delta_error, judged=True, cost=_DECOMPOSED),
        Metric("spectral_error", "spectral error ‖K−K̃‖₂", better="less", heading="spectral error ‖K̃−K‖₂",
               measure=spectral_error, judged=True),
        Metric("frobenius_error", "relative kernel error in the Frobenius norm", better="less",
               measure=frobenius_error, judged=True, cost="6*n**2"),
        Metric("complex_frobenius_error", "relative kernel error of the complex features", better="less",
               measure=complex_frobenius_error, judged=True, cost="(6 + D)*n**2"),
        Metric("sup_error", "largest entry error", better="less", heading="largest error of an entry",
               measure=sup_error, judged=True),
        Metric("entry_error", "entry error (RMS)", better="less", measure=entry_error, judged=True),
        Metric("entry_quantile", "entry error (99th percentile)", better="less",
               heading="error that 1 entry in 100 exceeds", measure=entry_quantile),
        Metric("marginal_ks", "Kolmogorov–Smirnov distance", better="less", measure=marginal_ks, judged=True,
               kernels=GaussianKernel, of_frequencies=True, cost=_PROJECTED),
        Metric("marginal_energy", "energy distance", better="less", measure=marginal_energy, judged=True,
               kernels=GaussianKernel, of_frequencies=True, cost=_PROJECTED),
        Metric("effective_dimension", "effective dimension of K̃", measure=effective_dimension, cost=_DECOMPOSED),
        Metric("surrogate_dimension", "surrogate dimension of K̃", measure=surrogate_dimension),
        Metric("kernel_effective_dimension", "effective dimension of K", measure=kernel_effective_dimension,
               cost=_DECOMPOSED),
        Metric("ridge_delta_error", "Δ-spectral error at kernel ridge's λ", better="less", measure=ridge_delta_error,
               cost=_DECOMPOSED),
        Metric("ridge_dimension", "effective dimension of K at kernel ridge's λ", measure=ridge_dimension,
               cost=_DECOMPOSED),
        Metric("spectral_decay", "decay of K's eigenvalues", measure=spectral_decay, cost=_DECOMPOSED),
        Metric("kernel_surrogate_dimension", "surrogate dimension of K", measure=kernel_surrogate_dimension),
        Metric("kernel_norm", "‖K‖₂", measure=kernel_norm),
        Metric("diameter", "diameter of the points", measure=diameter),
        Metric("objective"),
        Metric("model_size", "model size"),
        Metric("newton_steps", "Newton steps"),
        Metric("passes", "passes over the rows"),
        Metric("residual", "share of the right side that is left"),
        Metric("residual_norm", "‖b − Ax‖/‖b‖", better="less"),
        Metric("rank", "rank of the landmarks' kernel matrix"),
        Metric("training_bytes", "training memory as planned", BYTES),
        Metric("train_s", "training time", SECONDS),
        Metric("feature_s", "feature time", SECONDS),
        Metric("fit_s", "fit time", SECONDS),
        Metric("predict_s", "prediction time", SECONDS),
        Metric("peak_memory_bytes", "peak memory", BYTES),
        Metric("own_memory_bytes", "peak memory less what was held before", BYTES, short="memory"),
        Metric("lambda", "chosen λ"),
        Metric("effective_lambda", "effective λ"),
        Metric("median_lambda", "effective λ by the median column"),
        Metric("gamma", "chosen γ"),
        Metric(TIMES_MEDIAN, "chosen σ over the median distance"),
        Metric("bandwidth_s", "time to choose the bandwidth", SECONDS),
        Metric("cv_error", "cross-validation error"),
        Metric("test_error", "test error", better="less"),  # of a solver's curves, as the next
        Metric("nonzeros", "features in the model"),
    )
}  # fmt: skip
"""Every metric that this package measures, in the order of summary.csv. What a map or solver of another package
measures besides is described by its ``own_metrics``, in the rows of the trials."""

SCORES = tuple(name for name, metric in METRICS.items() if metric.score)
"""What a dataset is judged by: the first that its trials hold."""
MAP_MEASURES = tuple(name for name, metric in METRICS.items() if metric.judged)
"""What a map is judged by, in the order of a figure's panels."""
ERRORS = tuple(name for name in MAP_MEASURES if not name.startswith("marginal"))
"""Of these the errors against the exact kernel: of two kernels they cannot be compared."""
MEASURES = {name: metric.measure for name, metric in METRICS.items() if metric.measure}
"""What a config may ask to be measured of a fitted map on some points, by name."""
CURVES: dict[str, Callable[[MapOnPoints], dict[str, list[float]]]] = {"spectrum": spectrum}
"""What a config may ask for besides, which is no number but curves."""
COSTS = {name: METRICS[name].cost for name in MEASURES} | dict.fromkeys(CURVES, _DECOMPOSED)
"""Multiply-adds of measures and curves, as formulas."""
SAID = (
    "objective",
    "model_size",
    "newton_steps",
    "passes",
    "residual",
    "residual_norm",
    "rank",
    "training_bytes",
    "nonzeros",
    "test_error",
)
"""Of METRICS what a solver may say of itself, in its ``metrics_``; all others are measured of it, or not at all."""

TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == SECONDS)
"""What is comparable only where nothing else used the processors."""


def scored(task: str, y: NDArray, predicted: NDArray) -> dict[str, float]:
    """The scores, by name, of what was ``predicted`` for the rows with targets y."""
    return {name: each.score(y, predicted) for name, each in METRICS.items() if each.score and each.task == task}


def check_measurable(name: str, features: Any) -> None:
    """NotServed where the measure ``name`` is of something that the map ``features``, or its kernel, does not have."""
    from rffbench.features.base import FourierFeatures  # slow to load, and reports need the metrics' names alone

    metric = METRICS.get(name)
    if metric is None:
        return
    if metric.of_frequencies and not isinstance(features, FourierFeatures):
        raise NotServed("measures", f"{name} is of a Fourier map's frequencies; {type(features).__name__} has none")
    if metric.kernels is not None:
        check_kernel(name, metric.kernels, features.kernel)
