"""Exact kernels, and the spectral densities of those that have one.

By Bochner's theorem a continuous shift-invariant kernel with k(0) = 1 is the Fourier transform of a
probability density p(w): k(Δ) = E[exp(i wᵀΔ)], w ~ p (Rahimi & Recht 2007). Three kernels here know both
sides; the perceptron kernel is a mean of products of signs instead. Each has one parameter γ > 0:

==========  =======================  ==================================  =========
kernel      k(x, x′), Δ = x − x′      w is drawn from                     γ from σ
==========  =======================  ==================================  =========
gaussian    exp(−γ‖Δ‖²)              N(0, 2γ I)                          1/(2σ²)
laplacian   exp(−γ‖Δ‖₁)              Cauchy(0, γ) in each coordinate     1/σ
cauchy      ∏ⱼ 1/(1 + γΔⱼ²)          Laplace(0, √γ) in each coordinate   1/σ²
perceptron  1 − c_d·γ‖Δ‖₂            no spectral density                 1/σ
==========  =======================  ==================================  =========
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import gammaln, ndtri

from rffbench.errors import unknown

DRAWN_AT_ONCE = 32  # frequencies: of text's d they are some MB, and written side by side they fill cache lines


@dataclass(frozen=True)
class Kernel(ABC):
    """A kernel with parameter ``gamma`` (γ > 0) and k(x, x) = 1."""

    gamma: float

    @abstractmethod
    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        """The kernel matrix k(xᵢ, yⱼ), shape (n, m), of X (n, d) and Y (m, d); Y is X where not given."""


class SpectralKernel(Kernel):
    """A kernel that is the Fourier transform of a probability density: what Fourier features approximate."""

    @abstractmethod
    def _standard(self, rng: Generator, size: tuple[int, int]) -> NDArray[np.float64]:
        """Independent draws from the one-dimensional spectral density at unit scale."""

    @abstractmethod
    def _quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of that density's distribution function, accurate in both tails."""

    @property
    @abstractmethod
    def spectral_scale(self) -> float:
        """What a standard draw is multiplied by to give a coordinate of a frequency."""

    @property
    @abstractmethod
    def spectral_variance(self) -> float:
        """The variance of a coordinate of a frequency: −∂²k/∂Δⱼ² at 0, and E‖w‖² over d."""

    def sample(self, rng: Generator, s: int, d: int, *, order: Literal["C", "F"] = "F") -> NDArray[np.float64]:
        """Draw s frequencies from the spectral density: W, shape (d, s), float64, laid out in ``order``.

        The numbers are drawn frequency by frequency, so that with an equally seeded ``rng`` the first s
        frequencies of a larger draw are the draw of s. A few at a time: W is the one array of its size.
        """
        W = np.empty((d, s), order=order)
        for first in range(0, s, DRAWN_AT_ONCE):
            last = min(s, first + DRAWN_AT_ONCE)
            W[:, first:last] = self._standard(rng, (last - first, d)).T
        W *= self.spectral_scale
        return W

    def inverse_cdf(self, U: ArrayLike) -> NDArray[np.float64]:
        """Frequencies W (d, s) of points U (s, d) of the open unit cube, coordinate by coordinate."""
        return self.spectral_scale * self._quantile(np.asarray(U, dtype=np.float64)).T


class GaussianKernel(SpectralKernel):
    """k = exp(−γ‖Δ‖²), w ~ N(0, 2γ I)."""

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        distances = _distances(X, Y, "sqeuclidean")
        distances *= -self.gamma
        return np.exp(distances, out=distances)

    def _standard(self, rng: Generator, size: tuple[int, int]) -> NDArray[np.float64]:
        return rng.standard_normal(size)

    def _quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return ndtri(U)

    @property
    def spectral_scale(self) -> float:
        return math.sqrt(2 * self.gamma)

    @property
    def spectral_variance(self) -> float:
        return 2 * self.gamma


class LaplacianKernel(SpectralKernel):
    """k = exp(−γ‖Δ‖₁), w ~ Cauchy(0, γ) in each coordinate."""

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        distances = _distances(X, Y, "cityblock")
        distances *= -self.gamma
        return np.exp(distances, out=distances)

    def _standard(self, rng: Generator, size: tuple[int, int]) -> NDArray[np.float64]:
        return rng.standard_cauchy(size)

    def _quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sign(U - 0.5) / np.tan(np.pi * np.minimum(U, 1 - U))

    @property
    def spectral_scale(self) -> float:
        return self.gamma

    @property
    def spectral_variance(self) -> float:
        return math.inf


class CauchyKernel(SpectralKernel):
    """k = ∏ⱼ 1/(1 + γΔⱼ²), w ~ Laplace(0, √γ) in each coordinate."""

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        A = np.asarray(X, dtype=np.float64)
        B = A if Y is None else np.asarray(Y, dtype=np.float64)
        K = np.ones((len(A), len(B)))
        with np.errstate(over="ignore"):  # 0 of points too far apart for a number
            for a, b in zip(A.T, B.T, strict=True):
                K /= 1 + self.gamma * np.subtract.outer(a, b) ** 2
        return K

    def _standard(self, rng: Generator, size: tuple[int, int]) -> NDArray[np.float64]:
        return rng.laplace(size=size)

    def _quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.sign(U - 0.5) * np.log(2 * np.minimum(U, 1 - U))

    @property
    def spectral_scale(self) -> float:
        return math.sqrt(self.gamma)

    @property
    def spectral_variance(self) -> float:
        return 2 * self.gamma


class PerceptronKernel(Kernel):
    """k = 1 − c_d·γ‖Δ‖₂, c_d = Γ(d/2)/(√π Γ((d+1)/2)); for points within 1/γ of the origin.

    With R = 1/γ it is E[sign(θᵀx − α)·sign(θᵀx′ − α)], θ uniform on the unit sphere of ℝᵈ, α uniform on
    [−R, R] (Lin & Li 2008): where |θᵀx|, |θᵀx′| ≤ R the two signs differ for the α between θᵀx and θᵀx′, with
    probability |θᵀΔ|/(2R), so that the mean is 1 − E|θᵀΔ|/R, and E|θᵀΔ| = ‖Δ‖₂·E|θ₁| with
    E|θ₁| = Γ(d/2)/(√π Γ((d+1)/2)) = c_d. Beyond that ball the closed form isn't that mean, and need not be
    positive semi-definite.
    """

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        distances = _distances(X, Y, "euclidean")
        if not np.isfinite(distances).all():
            raise ValueError("points are too far apart for the perceptron kernel, which has no limit; scale them first")
        distances *= -mean_abs_coordinate(np.shape(X)[1]) * self.gamma
        distances += 1
        return distances


def mean_abs_coordinate(d: int) -> float:
    """c_d = E|θ₁| = Γ(d/2)/(√π Γ((d+1)/2)), θ uniform on the unit sphere of ℝᵈ: 1, 2/π, 1/2, …"""
    return float(np.exp(gammaln(d / 2) - gammaln((d + 1) / 2)) / math.sqrt(math.pi))


SPECTRAL_KERNELS: dict[str, type[SpectralKernel]] = {
    "gaussian": GaussianKernel,
    "laplacian": LaplacianKernel,
    "cauchy": CauchyKernel,
}
KERNELS: dict[str, type[Kernel]] = {**SPECTRAL_KERNELS, "perceptron": PerceptronKernel}


def make_kernel(name: str, gamma: float) -> Kernel:
    """The kernel called ``name`` (one of ``KERNELS``) with parameter γ = ``gamma``.

    Raises ValueError for an unknown name (naming the nearest one) and for a γ that is not a positive number.
    """
    return _kernel_class(name)(_positive("gamma", gamma))


def make_spectral_kernel(name: str, gamma: float) -> SpectralKernel:
    """`make_kernel` for those that have a spectral density; ValueError for the others."""
    kernel = make_kernel(name, gamma)
    if not isinstance(kernel, SpectralKernel):
        raise ValueError(
            f"the {name} kernel has no spectral density for Fourier features to draw from; use the "
            f"{name} features, or one of the kernels {', '.join(SPECTRAL_KERNELS)}"
        )
    return kernel


def gamma_from_sigma(name: str, sigma: float) -> float:
    """γ of the kernel ``name`` with bandwidth σ: 1/(2σ²) gaussian, 1/σ² cauchy, 1/σ laplacian and perceptron."""
    _kernel_class(name)
    sigma = _positive("sigma", sigma)
    if not 1e-150 < sigma < 1e150:
        raise ValueError(f"sigma must lie between 1e-150 and 1e150, so that σ² is a number, got {sigma!r}")
    return 1 / {"gaussian": 2 * sigma**2, "laplacian": sigma, "cauchy": sigma**2, "perceptron": sigma}[name]


def median_distance(name: str, X: ArrayLike) -> float:
    """The median of ‖x − x′‖ over pairs of the rows X (n, d), in the norm of the kernel ``name``: ‖·‖₁ for the
    laplacian, ‖·‖₂ for the others. 0 of a single row.

    As σ it is the median heuristic (A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012, Section 8).
    """
    _kernel_class(name)
    pairs = pdist(X, "cityblock" if name == "laplacian" else "euclidean")
    return float(np.median(pairs)) if len(pairs) else 0.0


def check_squares(X: Any) -> None:
    """ValueError where squares of numbers in the rows X (n, d), array or CSR, or sums of them may be infinite."""
    largest = math.sqrt(float(np.finfo(X.dtype).max)) / (10 * X.shape[1])
    if not np.abs(X.data if issparse(X) else X).max(initial=0.0) < largest:
        raise ValueError(f"X holds numbers above {largest:.0g}, whose squares overflow; scale it first")


def _distances(X: ArrayLike, Y: ArrayLike | None, metric: str) -> NDArray[np.float64]:
    """The distances between X (n, d) and Y (m, d), (n, m); between pairs of X, each computed once, without Y."""
    return squareform(pdist(X, metric)) if Y is None else cdist(X, Y, metric)


def _kernel_class(name: str) -> type[Kernel]:
    if name in KERNELS:
        return KERNELS[name]
    raise ValueError(unknown("kernel", name, KERNELS))


def _positive(what: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError(f"{what} must be a positive number, got {value!r}")
    return number
