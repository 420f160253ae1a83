"""Kernels of xᵀx′."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import comb, gammaln

from rffbench.arguments.arrays import FloatArray, Floats
from rffbench.arguments.parameters import WrongParameter, check_count, is_number
from rffbench.kernels.base import AffineForm, MaclaurinKernel, squared_lengths

TOO_LARGE = "values of the {} kernel overflow on these rows; scale the rows, or take a larger sigma, a smaller gamma"


@dataclass(frozen=True)
class PolynomialKernel(MaclaurinKernel):
    """The polynomial kernel (γ·xᵀx′ + c)^degree, γ = 1/σ².

    Parameters
    ----------
    degree : a whole number, 1 or more; 1 is the linear kernel.
    c : the constant, 0 or more; 0 makes the kernel homogeneous.
    """

    degree: int = 3
    c: float = 1.0

    name: ClassVar[str] = "polynomial"
    formula: ClassVar[str] = "(γ·xᵀx′ + c)^degree"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("degree", self.degree, least=1)
        if not is_number(self.c) or self.c < 0:
            raise WrongParameter("c", f"must be 0 or a positive number, got {self.c!r}")
        object.__setattr__(self, "c", float(self.c))

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            K = X @ (X if Y is None else Y).T
            K *= self.gamma
            K += self.c
            K **= self.degree
        return _finite(K, self.name)

    def affine_form(self) -> AffineForm:
        return AffineForm(self.gamma, constant=self.c)

    def of_affine(self, U: FloatArray, out: FloatArray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            out[:] = U
            for digit in f"{self.degree:b}"[1:]:  # by squaring, which is faster than a power
                out *= out
                if digit == "1":
                    out *= U
        _finite(out, self.name)

    def diagonal(self, X: ArrayLike) -> NDArray[np.float64]:
        base = self.gamma * squared_lengths(self.scaled(np.asarray(X, dtype=np.float64))) + self.c
        return np.asarray(base**self.degree)

    @property
    def highest_degree(self) -> int:
        return int(self.degree)

    def coefficients(self, count: int) -> NDArray[np.float64]:
        n = np.arange(count)
        powers = np.where(n <= self.degree, self.c ** np.maximum(self.degree - n, 0), 0.0)
        return np.asarray(comb(self.degree, n) * self.gamma**n * powers)


@dataclass(frozen=True)
class ExponentialKernel(MaclaurinKernel):
    """The exponential (softmax) kernel exp(γ·xᵀx′), γ = 1/σ².

    It is the Gaussian kernel of the same σ times exp(‖x‖²/(2σ²))·exp(‖x′‖²/(2σ²)).
    """

    name: ClassVar[str] = "exponential"
    formula: ClassVar[str] = "exp(γ·xᵀx′)"

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            K = X @ (X if Y is None else Y).T
            K *= self.gamma
            np.exp(K, out=K)
        return _finite(K, self.name)

    def affine_form(self) -> AffineForm:
        return AffineForm(self.gamma)

    def of_affine(self, U: FloatArray, out: FloatArray) -> None:
        with np.errstate(over="ignore"):
            np.exp(U, out=out)
        _finite(out, self.name)

    @property
    def highest_degree(self) -> None:
        return None

    def coefficients(self, count: int) -> NDArray[np.float64]:
        return exponential_coefficients(self.gamma, count)


def exponential_coefficients(gamma: float, count: int) -> NDArray[np.float64]:
    """γⁿ/n! for n < ``count``; ∞ beyond the largest float."""
    n = np.arange(count)
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(n * math.log(gamma) - gammaln(n + 1)))


def _finite(K: Floats, name: str) -> Floats:
    if not np.isfinite(K).all():
        raise ValueError(TOO_LARGE.format(name))
    return K
