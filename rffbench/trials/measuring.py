"""Measures of a feature map without a solver: the errors of its kernel matrix on some points, and the distribution of
its projections. `rffbench.trials.metrics` has their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, eigvalsh, solve_triangular, svdvals
from scipy.optimize import brentq
from scipy.sparse import issparse
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, aslinearoperator, eigsh
from scipy.spatial.distance import pdist, squareform
from scipy.special import ndtr

if TYPE_CHECKING:
    from rffbench.kernels import Kernel

ENTRY_QUANTILE = 0.99
RIDGE_LAMBDAS = tuple(float(f"1e-{power}") for power in range(9, 1, -1))  # from 1e-9 to 1e-2, as the board's
DECAY_RANKS = 10, 500  # the first and last rank of the eigenvalues whose decay is measured


@dataclass
class Points:
    """The rows X (n, d) on which maps are measured, with their exact kernel matrix, which is computed when it is
    needed. Some measures need the targets y (n,), or ``learnt`` (n, t), the targets in the form that ridge learns.

    λ of a measure is 1/√n, the rule of Liu et al. 2020 (Section 3.1) and of its theory's bounds. So it is the same for
    all maps, sizes and solvers, and the penalty nλ is √n. For the measures with ``ridge`` in their names, it is the λ
    that kernel ridge on these points chooses by cross-validation.
    """

    X: NDArray
    kernel: Kernel
    y: NDArray | None = None
    learnt: NDArray[np.float64] | None = None
    second: Callable[[], NDArray] | None = None

    @cached_property
    def Y(self) -> NDArray:
        """Another sample of n rows, (n, d), which may share rows with X."""
        if self.second is None:
            raise ValueError("a measure of two samples needs a second one")
        return self.second()

    @cached_property
    def cross_matrix(self) -> NDArray[np.float64]:
        """k(X, Y) (n, n)."""
        return self.kernel(self.X.astype(np.float64, copy=False), self.Y.astype(np.float64, copy=False))

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
        """The eigenvalues of K in descending order; negative ones, which are rounding, are 0."""
        return np.maximum(eigvalsh(self.kernel_matrix)[::-1], 0.0)

    @cached_property
    def penalised_factor(self) -> NDArray[np.float64]:
        """L, lower triangular, LLᵀ = K + nλI."""
        return cholesky(self.kernel_matrix + self.penalty * np.eye(len(self.X)), lower=True)

    @cached_property
    def ridge_penalty(self) -> float:
        """nλ, with the λ of RIDGE_LAMBDAS for which kernel ridge has the least squared error in a five-fold
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
        """The largest ‖x − x′‖₂; 0 for a single point."""
        return float(pdist(self.X, "euclidean").max(initial=0.0))


@dataclass
class MapOnPoints:
    """A fitted feature map and the points on which it is measured."""

    features: Any
    points: Points

    @cached_property
    def Z(self) -> NDArray[np.float64]:
        """The features (n, p). ValueError, with the map's name, unless they and their squares are finite.

        Sparse features have very many columns, so another root of ZZᵀ, (n, n), is used: all measures depend only on
        ZZᵀ."""
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
        """‖K − ZZᵀ‖₂, from products with vectors, without storing the difference."""
        Z = aslinearoperator(self.Z)
        error: LinearOperator = aslinearoperator(self.points.kernel_matrix) - Z @ Z.T
        return spectral_norm(error)

    @cached_property
    def eigenvalues(self) -> NDArray[np.float64]:
        """The min(n, p) eigenvalues of K̃ = ZZᵀ that may differ from 0, in descending order: Z's squared singular
        values."""
        return np.square(svdvals(self.Z))

    @cached_property
    def projections(self) -> NDArray[np.float64]:
        """wⱼᵀxᵢ/(√(2γ)‖xᵢ‖) for the points other than 0 and all frequencies, (n, s), each row sorted. They are N(0, 1)
        if w ~ N(0, 2γI)."""
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


def cross_error(mapped: MapOnPoints) -> float:
    """‖K − Z_X·Z_Yᵀ‖_F / ‖K‖_F, K = k(X, Y) of two samples, which may share rows (Munkhoeva et al. 2018).

    Unlike the matrix of one sample, it has no diagonal, where most maps have no error."""
    from rffbench.features import base  # as in `MapOnPoints.Z`

    K = mapped.points.cross_matrix
    Z = base.mapped(mapped.features, mapped.points.Y).astype(np.float64, copy=False)
    base.check_finite(mapped.features, Z)
    if issparse(Z):
        raise ValueError("cross_error is not for sparse features")
    return float(np.linalg.norm(mapped.Z @ Z.T - K) / np.linalg.norm(K))


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
    """min over c of ‖K − cZZᵀ‖₂ / ‖K‖₂: the kernel error if the features are scaled optimally.

    ‖K − cK̃‖₂ is the larger of λmax(K − cK̃), which decreases with c, and −λmin(K − cK̃), which increases. The minimum is
    where they are equal; that c is the root of a decreasing function between 0 and 2‖K‖₂/‖K̃‖₂ (for larger c, the error
    is larger than for c = 0). The root is found by Brent's method to 1e-9 of the bracket and the eigenvalues by Lanczos
    to 1e-6 relative, so the absolute error of the result, which is between 0 and 1, is at most about 2e-6.
    """
    if not (norm := spectral_norm(_product(mapped.Z))):
        return 1.0
    K = aslinearoperator(mapped.points.kernel_matrix / mapped.points.kernel_norm)
    K_tilde = _product(mapped.Z / math.sqrt(norm))

    def ends(c: float) -> tuple[float, float]:
        return extreme_eigenvalues(K - c * K_tilde)

    def excess(c: float) -> float:  # at the ends of the bracket only the sign matters, and that is known
        return 1.0 if c == 0 else -1.0 if c == _MOST_SCALE else sum(ends(c))

    best = brentq(excess, 0.0, _MOST_SCALE, xtol=1e-9)
    return min(float(np.abs(ends(best)).max()), 1.0)


_MOST_SCALE = 2.0  # the largest c if both matrices have norm 1


def _product(Z: NDArray) -> LinearOperator:
    """ZZᵀ as an operator, which is not stored."""
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
    """tr(K(K + nλI)⁻¹), λ = 1/√n, of the exact kernel: d of Liu et al. 2020, Eq. 5."""
    return dimension_of(mapped.points.eigenvalues, mapped.points.penalty)


def ridge_dimension(mapped: MapOnPoints) -> float:
    """tr(K(K + nλI)⁻¹) of the exact kernel, at the λ that kernel ridge on the points chooses."""
    return dimension_of(mapped.points.eigenvalues, mapped.points.ridge_penalty)


def spectral_decay(mapped: MapOnPoints) -> float:
    """The rate at which K's eigenvalues fall: the least-squares slope of −log μ_r over log r, from rank 10 to rank 500
    or the last rank above rounding. NaN with fewer than two such ranks."""
    values = mapped.points.eigenvalues
    above = values > len(values) * np.finfo(np.float64).eps * values[0]
    ranks = np.arange(1, len(values) + 1)
    used = above & (ranks >= DECAY_RANKS[0]) & (ranks <= DECAY_RANKS[1])
    return float(-np.polyfit(np.log(ranks[used]), np.log(values[used]), 1)[0]) if used.sum() > 1 else float("nan")


def surrogate_dimension(mapped: MapOnPoints) -> float:
    """tr((yyᵀ + nI)K̃)/(n²λ), K̃ = ZZᵀ, λ = 1/√n: D of Liu et al. 2020 (Eq. 10) with the features' kernel matrix. y is
    taken as it is: ±1 for two classes; of several targets it is their matrix."""
    Z, n = mapped.Z, len(mapped.Z)
    aligned = float(np.square(_targets(mapped).T @ Z).sum())
    return (aligned + n * float(np.square(Z).sum())) / (n * mapped.points.penalty)


def kernel_surrogate_dimension(mapped: MapOnPoints) -> float:
    """tr((yyᵀ + nI)K)/(n²λ), λ = 1/√n, of the exact kernel: D of Liu et al. 2020, Eq. 10; at most 2/λ if y is ±1.
    Of several targets y is their matrix, and yᵀKy a trace."""
    K, y, n = mapped.points.kernel_matrix, _targets(mapped), len(mapped.points.X)
    aligned = np.trace(np.atleast_2d(y.T @ K @ y))
    return float(aligned + n * np.trace(K)) / (n * mapped.points.penalty)


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
    """‖K‖₂ of the exact kernel."""
    return mapped.points.kernel_norm


def sup_error(mapped: MapOnPoints) -> float:
    """max |K − ZZᵀ| over all pairs of the points (Rahimi & Recht 2007, Claim 1)."""
    return float(np.abs(mapped.difference).max())


def entry_error(mapped: MapOnPoints) -> float:
    """The root of the mean square of K − ZZᵀ over pairs of different points."""
    return float(np.sqrt(np.mean(np.square(mapped.entries))))


def entry_quantile(mapped: MapOnPoints) -> float:
    """The 99 % quantile of |K − ZZᵀ| over pairs of different points: the error of an entry at δ = 0.01."""
    return float(np.quantile(mapped.entries, ENTRY_QUANTILE))


def diameter(mapped: MapOnPoints) -> float:
    """The largest ‖x − x′‖₂, which the bound on the sup error needs."""
    return mapped.points.diameter


def marginal_ks(mapped: MapOnPoints) -> float:
    """The Kolmogorov–Smirnov distance of a point's s projections to N(0, ‖x‖²/σ²), averaged over the points.

    sup |F_s − Φ|, F_s the empirical distribution function; independent Gaussian frequencies have about 0.87/√s.
    """
    U = mapped.projections
    s = U.shape[1]
    cumulative = ndtr(U)
    steps = np.arange(s + 1) / s
    above, below = (steps[1:] - cumulative).max(axis=1), (cumulative - steps[:-1]).max(axis=1)
    return float(np.maximum(above, below).mean())


def marginal_energy(mapped: MapOnPoints) -> float:
    """The energy distance of a point's s projections to N(0, ‖x‖²/σ²) over ‖x‖/σ, averaged over the points.

    √(2E|u − g| − E|u − u′| − E|g − g′|) for projections u, u′ and g, g′ ~ N(0, 1) (G. Székely, M. Rizzo, "Energy
    statistics", 2013), with E|u − g| = u(2Φ(u) − 1) + 2φ(u) and E|g − g′| = 2/√π. Independent Gaussian frequencies
    have about √(2/(s√π)).
    """
    U = mapped.projections
    s = U.shape[1]
    to_normal = U * (2 * ndtr(U) - 1) + 2 * np.exp(-(U**2) / 2) / np.sqrt(2 * np.pi)
    within = U @ (2 * np.arange(1, s + 1) - s - 1) * (2 / s**2)  # Σᵢⱼ |uᵢ − uⱼ| of sorted numbers, over s²
    squared = 2 * to_normal.mean(axis=1) - within - 2 / np.sqrt(np.pi)
    return float(np.sqrt(np.maximum(squared, 0)).mean())


SPECTRUM_RANKS = 40  # ranks of the eigenvalues that are kept, evenly spaced on a logarithmic scale


def spectrum(mapped: MapOnPoints) -> dict[str, list[float]]:
    """The eigenvalues of K and of K̃ = ZZᵀ over n, in descending order, at SPECTRUM_RANKS ranks from 1 to n: the columns
    'rank', 'eigenvalue' and 'map_eigenvalue'."""
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


MOST_RESTARTS = 30  # of Lanczos; after more, computing all eigenvalues would be quicker


def extreme_eigenvalues(A: LinearOperator) -> tuple[float, float]:
    """The least and the largest eigenvalue of a symmetric matrix, by Lanczos from a fixed start to 1e-6 relative."""
    n = A.shape[0]
    if n >= 4:  # Lanczos needs room for two vectors besides the wanted ones
        try:
            start = np.random.default_rng(0).standard_normal(n)
            low, high = sorted(eigsh(A, k=2, which="BE", v0=start, tol=1e-6, maxiter=MOST_RESTARTS,
                                    return_eigenvectors=False))  # fmt: skip
            return float(low), float(high)
        except ArpackError:  # one of them is 0, or close to others
            pass
    values = eigvalsh(A @ np.eye(n))
    return float(values[0]), float(values[-1])
