"""Exact shift-invariant kernels and their spectral densities.

By Bochner's theorem a continuous shift-invariant kernel with k(0) = 1 is the Fourier transform of a
probability density p(w): k(Δ) = E[exp(i wᵀΔ)], w ~ p (Rahimi & Recht 2007). Each kernel here knows both
sides, with one parameter γ > 0:

=========  =======================  ==================================  =========
kernel     k(x, x′), Δ = x − x′      w is drawn from                     γ from σ
=========  =======================  ==================================  =========
gaussian   exp(−γ‖Δ‖²)              N(0, 2γ I)                          1/(2σ²)
laplacian  exp(−γ‖Δ‖₁)              Cauchy(0, γ) in each coordinate     1/σ
cauchy     ∏ⱼ 1/(1 + γΔⱼ²)          Laplace(0, √γ) in each coordinate   1/σ²
=========  =======================  ==================================  =========
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from rffbench.errors import unknown


@dataclass(frozen=True)
class Kernel(ABC):
    """A shift-invariant kernel with parameter ``gamma`` (γ > 0) and k(x, x) = 1."""

    gamma: float

    @abstractmethod
    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        """The kernel matrix k(xᵢ, yⱼ), shape (n, m), of X (n, d) and Y (m, d); Y is X where not given."""

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

    def sample(self, rng: Generator, s: int, d: int) -> NDArray[np.float64]:
        """Draw s frequencies from the spectral density: W, shape (d, s), float64.

        The numbers are drawn frequency by frequency, so that with an equally seeded ``rng`` the first s
        frequencies of a larger draw are the draw of s.
        """
        return self.spectral_scale * self._standard(rng, (s, d)).T

    def inverse_cdf(self, U: ArrayLike) -> NDArray[np.float64]:
        """Frequencies W (d, s) of points U (s, d) of the open unit cube, coordinate by coordinate."""
        return self.spectral_scale * self._quantile(np.asarray(U, dtype=np.float64)).T


class GaussianKernel(Kernel):
    """k = exp(−γ‖Δ‖²), w ~ N(0, 2γ I)."""

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        return np.exp(-self.gamma * cdist(X, X if Y is None else Y, "sqeuclidean"))

    def _standard(self, rng: Generator, size: tuple[int, int]) -> NDArray[np.float64]:
        return rng.standard_normal(size)

    def _quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return ndtri(U)

    @property
    def spectral_scale(self) -> float:
        return math.sqrt(2 * self.gamma)


class LaplacianKernel(Kernel):
    """k = exp(−γ‖Δ‖₁), w ~ Cauchy(0, γ) in each coordinate."""

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        return np.exp(-self.gamma * cdist(X, X if Y is None else Y, "cityblock"))

    def _standard(self, rng: Generator, size: tuple[int, int]) -> NDArray[np.float64]:
        return rng.standard_cauchy(size)

    def _quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sign(U - 0.5) / np.tan(np.pi * np.minimum(U, 1 - U))

    @property
    def spectral_scale(self) -> float:
        return self.gamma


class CauchyKernel(Kernel):
    """k = ∏ⱼ 1/(1 + γΔⱼ²), w ~ Laplace(0, √γ) in each coordinate."""

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        A = np.asarray(X, dtype=np.float64)
        B = A if Y is None else np.asarray(Y, dtype=np.float64)
        K = np.ones((len(A), len(B)))
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


KERNELS: dict[str, type[Kernel]] = {
    "gaussian": GaussianKernel,
    "laplacian": LaplacianKernel,
    "cauchy": CauchyKernel,
}


def make_kernel(name: str, gamma: float) -> Kernel:
    """The kernel called ``name`` ('gaussian', 'laplacian' or 'cauchy') with parameter γ = ``gamma``.

    Raises ValueError for an unknown name (naming the nearest one) and for a γ that is not a positive number.
    """
    return _kernel_class(name)(_positive("gamma", gamma))


def gamma_from_sigma(name: str, sigma: float) -> float:
    """γ of the kernel ``name`` with bandwidth σ: 1/(2σ²) gaussian, 1/σ laplacian, 1/σ² cauchy."""
    _kernel_class(name)
    sigma = _positive("sigma", sigma)
    if not 1e-150 < sigma < 1e150:
        raise ValueError(f"sigma must lie between 1e-150 and 1e150, so that σ² is a number, got {sigma!r}")
    return {"gaussian": 1 / (2 * sigma**2), "laplacian": 1 / sigma, "cauchy": 1 / sigma**2}[name]


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
