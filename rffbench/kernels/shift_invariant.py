"""Kernels of Δ = x − x′, and the spectral densities of those that have one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import gammaln, kve, ndtri

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter
from rffbench.kernels.base import (
    AffineForm,
    BinningKernel,
    CompiledForm,
    Form,
    HalfSpaceKernel,
    IsotropicKernel,
    MaclaurinKernel,
    ProductKernel,
    distances,
    positive,
    squared_lengths,
)
from rffbench.kernels.dot_product import exponential_coefficients

FAR = 1e3  # exp(−t) is 0 here, and t² is finite
LARGEST_NU = 100.0  # above, the Matérn kernel is the Gaussian to within 1 %, and its Bessel functions overflow


@dataclass(frozen=True)
class GaussianKernel(ProductKernel, IsotropicKernel, MaclaurinKernel):
    """The Gaussian kernel exp(−γ‖Δ‖²), γ = 1/(2σ²).

    w ~ N(0, 2γ I). It is exp(−γ‖x‖²)·exp(−γ‖x′‖²)·Σₙ (2γ)ⁿ/n!·(xᵀx′)ⁿ.
    """

    name: ClassVar[str] = "gaussian"
    named_after: ClassVar[bool] = True
    sklearn_name: ClassVar[str | None] = "rbf"
    formula: ClassVar[str] = "exp(−γ‖Δ‖²)"
    sigma_factor: ClassVar[float] = 2.0

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        K = distances(X, Y, "sqeuclidean")
        K *= -self.gamma
        return np.exp(K, out=K)

    def affine_form(self) -> AffineForm:
        return AffineForm(2 * self.gamma, -self.gamma)

    def of_affine(self, U: FloatArray, out: FloatArray) -> None:
        np.exp(U, out=out)

    def frequencies(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        return rng.standard_normal((count, d))

    def frequency(self, rng: Generator, d: int) -> NDArray[np.float64]:
        return rng.standard_normal(d)

    def quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(ndtri(U))

    def radius(self, rng: Generator, d: int) -> float:
        return math.sqrt(rng.chisquare(d))

    def size_biased_radius(self, rng: Generator, d: int) -> float:
        return math.sqrt(rng.chisquare(d + 2))

    def unit_radii(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        return np.sqrt(rng.chisquare(d, count))

    @property
    def spectral_scale(self) -> float:
        return math.sqrt(2 * self.gamma)

    @property
    def spectral_variance(self) -> float:
        return 2 * self.gamma

    @property
    def highest_degree(self) -> None:
        return None

    def coefficients(self, count: int) -> NDArray[np.float64]:
        return exponential_coefficients(2 * self.gamma, count)

    def row_factor(self, X: Any) -> FloatArray:
        return np.asarray(np.exp(-self.gamma * squared_lengths(X)))

    def compiled_form(self, d: int) -> CompiledForm:
        return CompiledForm(Form.EXP_SQUARES, -self.gamma)


@dataclass(frozen=True)
class LaplacianKernel(ProductKernel, BinningKernel):
    """The Laplacian kernel in the ℓ1 norm, exp(−γ‖Δ‖₁), γ = 1/σ.

    w ~ Cauchy(0, γ) in each coordinate. Pitches of random grids have the density δ·k₁″(δ) = γ²δ·exp(−γδ), which is
    Gamma(2) with the mean 2/γ.
    """

    name: ClassVar[str] = "laplacian"
    named_after: ClassVar[bool] = True
    sklearn_name: ClassVar[str | None] = "laplacian"
    formula: ClassVar[str] = "exp(−γ‖Δ‖₁)"
    norm: ClassVar[Literal["euclidean", "cityblock"]] = "cityblock"
    power: ClassVar[Literal[1, 2]] = 1

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        K = distances(X, Y, "cityblock")
        K *= -self.gamma
        return np.exp(K, out=K)

    def frequencies(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        return rng.standard_cauchy((count, d))

    def quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sign(U - 0.5) / np.tan(np.pi * np.minimum(U, 1 - U))

    def unit_pitches(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        return rng.standard_gamma(2.0, (count, d))

    @property
    def spectral_scale(self) -> float:
        return self.gamma

    @property
    def spectral_variance(self) -> float:
        return math.inf

    def compiled_form(self, d: int) -> CompiledForm:
        return CompiledForm(Form.EXP_ABSOLUTES, -self.gamma)


@dataclass(frozen=True)
class CauchyKernel(ProductKernel):
    """The Cauchy kernel ∏ⱼ 1/(1 + γΔⱼ²), γ = 1/σ².

    w ~ Laplace(0, √γ) in each coordinate.
    """

    name: ClassVar[str] = "cauchy"
    named_after: ClassVar[bool] = True
    formula: ClassVar[str] = "∏ⱼ 1/(1 + γΔⱼ²)"

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        Y = X if Y is None else Y
        K = np.ones((len(X), len(Y)))
        with np.errstate(over="ignore"):  # 0 if Δ² overflows
            for a, b in zip(X.T, Y.T, strict=True):
                K /= 1 + self.gamma * np.subtract.outer(a, b) ** 2
        return K

    def frequencies(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        return rng.laplace(size=(count, d))

    def quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(-np.sign(U - 0.5) * np.log(2 * np.minimum(U, 1 - U)))

    @property
    def spectral_scale(self) -> float:
        return math.sqrt(self.gamma)

    @property
    def spectral_variance(self) -> float:
        return 2 * self.gamma

    def compiled_form(self, d: int) -> CompiledForm:
        return CompiledForm(Form.INVERSE_PRODUCT, self.gamma)


@dataclass(frozen=True)
class MaternKernel(IsotropicKernel):
    """The Matérn kernel of smoothness ν, 2^(1−ν)/Γ(ν)·tᵛ·K_ν(t) with t = √(2ν)·γ‖Δ‖₂, γ = 1/σ.

    ν = ½ gives exp(−γ‖Δ‖₂), the Laplacian in the Euclidean norm; ν = 3/2 gives (1 + t)·exp(−t); ν = 5/2 gives
    (1 + t + t²/3)·exp(−t); ν → ∞ gives the Gaussian of the same σ. w is γ times a multivariate t variable with 2ν
    degrees of freedom: a normal one times √(2ν/χ²_{2ν}) (C. Rasmussen and C. Williams, "Gaussian processes for machine
    learning", 2006, Eq. 4.14 and 4.15).

    Parameters
    ----------
    nu : the smoothness, 0 < ν ≤ 100.
    """

    nu: float = 1.5

    name: ClassVar[str] = "matern"
    aliases: ClassVar[dict[str, dict[str, float]]] = {"laplacian-l2": {"nu": 0.5}}
    formula: ClassVar[str] = "2^(1−ν)/Γ(ν)·tᵛ·K_ν(t), t = √(2ν)·γ‖Δ‖₂"
    power: ClassVar[Literal[1, 2]] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "nu", positive("nu", self.nu))
        if self.nu > LARGEST_NU:
            raise WrongParameter(
                "nu", f"must be at most {LARGEST_NU:g}, got {self.nu:g}; use the gaussian kernel, its limit"
            )

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        t = distances(X, Y, "euclidean")
        t *= math.sqrt(2 * self.nu) * self.gamma
        if self.nu not in (0.5, 1.5, 2.5):
            return matern_of_any_smoothness(t, self.nu)
        np.minimum(t, FAR, out=t)
        if self.nu == 0.5:
            polynomial: FloatArray | float = 1.0
        else:
            polynomial = 1 + t if self.nu == 1.5 else 1 + t + t**2 / 3
        return np.exp(-t, out=t) * polynomial

    def radius(self, rng: Generator, d: int) -> float:
        return math.sqrt(rng.chisquare(d) * 2 * self.nu / rng.chisquare(2 * self.nu))

    def size_biased_radius(self, rng: Generator, d: int) -> float:
        return math.sqrt(rng.chisquare(d + 2) * 2 * self.nu / rng.chisquare(2 * self.nu - 2))

    @property
    def spectral_scale(self) -> float:
        return self.gamma

    @property
    def spectral_variance(self) -> float:
        return self.gamma**2 * self.nu / (self.nu - 1) if self.nu > 1 else math.inf


@dataclass(frozen=True)
class RationalQuadraticKernel(IsotropicKernel):
    """The rational-quadratic kernel (1 + γ‖Δ‖²/α)^(−α), γ = 1/(2σ²).

    It is the mean of Gaussian kernels exp(−τγ‖Δ‖²), τ ~ Gamma(α) with mean 1, so that w is √(2γτ) times a normal
    variable (C. Rasmussen and C. Williams, "Gaussian processes for machine learning", 2006, Eq. 4.19 and 4.20). α → ∞
    is the Gaussian.

    Parameters
    ----------
    alpha : α > 0.
    """

    alpha: float = 1.0

    name: ClassVar[str] = "rational-quadratic"
    formula: ClassVar[str] = "(1 + γ‖Δ‖²/α)^(−α)"
    sigma_factor: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        K = distances(X, Y, "sqeuclidean")
        K *= self.gamma / self.alpha
        np.log1p(K, out=K)
        K *= -self.alpha
        return np.exp(K, out=K)

    def affine_form(self) -> AffineForm:
        return AffineForm(-2 * self.gamma / self.alpha, self.gamma / self.alpha)

    def of_affine(self, U: FloatArray, out: FloatArray) -> None:
        np.log1p(np.maximum(U, 0, out=U), out=U)
        U *= U.dtype.type(-self.alpha)
        np.exp(U, out=out)

    def radius(self, rng: Generator, d: int) -> float:
        return math.sqrt(rng.chisquare(d) * rng.gamma(self.alpha, 1 / self.alpha))

    def size_biased_radius(self, rng: Generator, d: int) -> float:
        return math.sqrt(rng.chisquare(d + 2) * rng.gamma(self.alpha + 1, 1 / self.alpha))

    @property
    def spectral_scale(self) -> float:
        return math.sqrt(2 * self.gamma)

    @property
    def spectral_variance(self) -> float:
        return 2 * self.gamma


@dataclass(frozen=True)
class PerceptronKernel(HalfSpaceKernel):
    """The perceptron kernel 1 − c_d·γ‖Δ‖₂, c_d = Γ(d/2)/(√π Γ((d+1)/2)), for points within R = 1/γ of the origin.

    It is E[sign(θᵀx − α)·sign(θᵀx′ − α)], θ uniform on the unit sphere of ℝᵈ, α uniform on [−R, R] (Lin & Li 2008). If
    |θᵀx|, |θᵀx′| ≤ R, the two signs differ for α between θᵀx and θᵀx′, with probability |θᵀΔ|/(2R). So the mean is
    1 − E|θᵀΔ|/R, and E|θᵀΔ| = ‖Δ‖₂·E|θ₁| = ‖Δ‖₂·c_d. Outside that ball the closed form is not that mean, and may not be
    positive semi-definite.
    """

    name: ClassVar[str] = "perceptron"
    formula: ClassVar[str] = "1 − c_d·γ‖Δ‖₂"
    power: ClassVar[Literal[1, 2]] = 1
    rules: ClassVar[tuple[str, ...]] = ()
    scaled_by_data: ClassVar[bool] = True

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        K = distances(X, Y, "euclidean")
        if not np.isfinite(K).all():
            raise ValueError("distances between points overflow in the perceptron kernel; scale the points first")
        K *= -mean_abs_coordinate(X.shape[1]) * self.gamma
        K += 1
        return K

    @property
    def ball(self) -> float:
        return 1 / self.gamma

    def compiled_form(self, d: int) -> CompiledForm:
        return CompiledForm(Form.LINEAR_IN_ROOT, -self.gamma * mean_abs_coordinate(d))


def matern_of_any_smoothness(t: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    """2^(1−ν)/Γ(ν)·tᵛ·K_ν(t), from its logarithm; near 0, where K_ν overflows, from the first terms of its series."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bessel = kve(nu, t)  # eᵗ·K_ν(t)
        K = np.exp((1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(t) + np.log(bessel) - t)
    near = ~np.isfinite(bessel) & np.isfinite(t)
    if nu > 2:
        u = t[near] ** 2 / 4
        K[near] = 1 - u / (nu - 1) + u**2 / (2 * (nu - 1) * (nu - 2))
    else:
        K[near] = 1.0
    K[np.isinf(t)] = 0.0
    return np.asarray(K)


def mean_abs_coordinate(d: int) -> float:
    """c_d = E|θ₁| = Γ(d/2)/(√π Γ((d+1)/2)), θ uniform on the unit sphere of ℝᵈ: 1, 2/π, 1/2, …"""
    return float(np.exp(gammaln(d / 2) - gammaln((d + 1) / 2)) / math.sqrt(math.pi))
