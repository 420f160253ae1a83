"""The base class of kernels, and their traits: exact form, parameters, the meaning of the bandwidth.

A kernel is a frozen dataclass. Its fields are its parameters. Its *traits* are the classes below from which it derives:
each says which random features approximate the kernel, and declares the methods that these need.

=====================  ==================================================================================
trait                  what the kernel has
=====================  ==================================================================================
SpectralKernel         a spectral density: k(x − x′) = E[cos wᵀ(x − x′)]
ProductKernel          a spectral density with independent coordinates, and their quantile: for quasi-Monte Carlo
IsotropicKernel        a spectral density with uniform directions, and lengths to draw: for structured directions
MaclaurinKernel        k(x, x′) = r(x)·r(x′)·Σₙ aₙ(xᵀx′)ⁿ with aₙ ≥ 0
ActivationKernel       k(x, x′) = E[a(wᵀx)·a(wᵀx′)], w ~ N(0, I)
HalfSpaceKernel        k(x, x′) = E[sign(θᵀx − α)·sign(θᵀx′ − α)] within a ball
BinningKernel          k(x, x′) = P[x and x′ are in one cell of a random grid]
=====================  ==================================================================================

The method ``compiled_form`` says whether compiled code (`rffbench.linalg.kernel_rows`) computes the kernel's rows: this
may depend on the parameters, so it is no trait.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist, pdist, squareform

from rffbench.arguments.arrays import FloatArray, Floats
from rffbench.arguments.parameters import WrongParameter

DRAWN_AT_ONCE = 32  # frequencies: a few MB even for text data, and writes of whole cache lines
DIAGONAL_ROWS = 64  # `diagonal` computes blocks of this size, and takes their diagonals


class Form(IntEnum):
    """The distance, and the function of it, that compiled code computes."""

    EXP_SQUARES = 0
    EXP_ABSOLUTES = 1
    INVERSE_PRODUCT = 2
    LINEAR_IN_ROOT = 3


class CompiledForm(NamedTuple):
    """A form, and the factor of the distance in it, for d inputs."""

    form: Form
    factor: float


class AffineForm(NamedTuple):
    """u = ``product``·xᵀx′ + ``squares``·(‖x‖² + ‖x′‖²) + ``constant``."""

    product: float
    squares: float = 0.0
    constant: float = 0.0


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive semi-definite kernel k of rows with d inputs.

    Parameters
    ----------
    gamma : γ > 0; `gamma_from_sigma` gives it for a bandwidth.
    lengths : lengths ℓ > 0, one for each input (ARD), the units of the rows: k(x/ℓ, x′/ℓ); all 1 by default.
    """

    gamma: float = 1.0
    lengths: list[float] | tuple[float, ...] | None = field(default=None, kw_only=True)

    trait: ClassVar[str] = ""
    """For a trait: in words, what a kernel with it has."""
    name: ClassVar[str] = ""
    """Its name in a config; empty for a class in a user's own file."""
    sklearn_name: ClassVar[str | None] = None
    """Its name in scikit-learn's ``pairwise_kernels``, with the same γ; None if scikit-learn does not have it."""
    named_after: ClassVar[bool] = False
    """Whether it is named after a person, and so is written with a capital."""
    aliases: ClassVar[dict[str, dict[str, Any]]] = {}
    """Other names, each with the parameters that it means."""
    formula: ClassVar[str] = ""
    """The exact form in one line, Δ = x − x′."""
    choices: ClassVar[dict[str, tuple[object, ...]]] = {}
    """The allowed values of parameters with a fixed list."""
    norm: ClassVar[Literal["euclidean", "cityblock"]] = "euclidean"
    """The norm of Δ in which a bandwidth σ is a length."""
    power: ClassVar[Literal[1, 2]] = 2
    """γ is one over a length to this power."""
    sigma_factor: ClassVar[float] = 1.0
    """γ = 1/(sigma_factor·σ^power)."""
    has_bandwidth: ClassVar[bool] = True
    """Whether γ changes more than the kernel's scale; False: γ must be 1."""
    rules: ClassVar[tuple[str, ...]] = ("scale", "median")
    """The rules that may find γ from training rows: `rffbench.kernels.bandwidth.gamma_of_rows`."""
    scaled_by_data: ClassVar[bool] = False
    """Whether γ is by default 1/R, with R the radius of the ball that holds the training rows; else σ is 1."""
    unit_diagonal: ClassVar[bool] = False
    """Whether k(x, x) = 1 for every x."""
    of_differences: ClassVar[bool] = False
    """Whether k(x, x′) depends only on x − x′, so that rows may be shifted."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", positive("gamma", self.gamma))
        if self.lengths is not None:
            object.__setattr__(self, "lengths", _checked_lengths(self.lengths))
        for name, allowed in self.choices.items():
            if getattr(self, name) not in allowed:
                raise WrongParameter(
                    name, f"must be one of {', '.join(map(repr, allowed))}, got {getattr(self, name)!r}"
                )
        if not self.has_bandwidth and self.gamma != 1:
            raise WrongParameter("gamma", f"must be 1: the {self.called()} kernel has no bandwidth")

    @classmethod
    def called(cls) -> str:
        """Its name in messages."""
        return cls.name or cls.__name__

    @abstractmethod
    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The kernel matrix (n, m) of X (n, d) and Y (m, d), as a new array; Y is X if it is None. Rows are already in
        units of ``lengths``."""

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        """The kernel matrix k(xᵢ, yⱼ), shape (n, m), of X (n, d) and Y (m, d); Y is X if it is not given."""
        A = self.scaled(np.asarray(X, dtype=np.float64))
        return self.matrix(A, None if Y is None else self.scaled(np.asarray(Y, dtype=np.float64)))

    def affine_form(self) -> AffineForm | None:
        """The u of which k is a smooth function, so that one matrix product of rows makes it. None if there is no such
        u, or if its rounding would show in k, as in √u. Rows are in units of ``lengths``."""
        return None

    def of_affine(self, U: FloatArray, out: FloatArray) -> None:
        """Write k of u (`affine_form`) into ``out``, both (n, m), float32 or float64; U may be overwritten."""
        raise NotImplementedError

    def diagonal(self, X: ArrayLike) -> NDArray[np.float64]:
        """k(xᵢ, xᵢ), (n,)."""
        rows = np.asarray(X, dtype=np.float64)
        if self.unit_diagonal:
            return np.ones(len(rows))
        blocks = [rows[first : first + DIAGONAL_ROWS] for first in range(0, len(rows), DIAGONAL_ROWS)]
        return np.concatenate([np.zeros(0), *(self(block, block).diagonal() for block in blocks)])

    def scaled(self, X: Any) -> Any:
        """Rows X (n, d), an array or a CSR matrix, in units of ``lengths``, as a copy; X itself without lengths."""
        if self.lengths is None:
            return X
        per_length = (1 / self._lengths_of(X.shape[1])).astype(X.dtype)
        return X.multiply(per_length).tocsr() if issparse(X) else X * per_length

    def fold(self, W: Floats) -> Floats:
        """Turn directions W (d, s) for rows in units of ``lengths`` into directions for the rows themselves, in place:
        Wᵀ(x/ℓ) = (W/ℓ)ᵀx. Returns W."""
        if self.lengths is not None:
            np.divide(W, self._lengths_of(len(W))[:, None], out=W)
        return W

    def _lengths_of(self, d: int) -> NDArray[np.float64]:
        self.check_inputs(d)
        return np.asarray(self.lengths)

    def check_inputs(self, d: int) -> None:
        """WrongParameter if the kernel's ``lengths`` are not for rows with d inputs."""
        if self.lengths is not None and len(self.lengths) != d:
            raise WrongParameter("lengths", f"must have one length for each of the {d} inputs, got {len(self.lengths)}")

    # ---- The bandwidth ----

    @classmethod
    def gamma_from_sigma(cls, sigma: float) -> float:
        """γ of the bandwidth σ."""
        sigma = positive("sigma", sigma)
        if not cls.has_bandwidth:
            raise WrongParameter("sigma", f"is not for the {cls.called()} kernel, which has no bandwidth")
        if not 1e-150 < sigma < 1e150:
            raise WrongParameter("sigma", f"must lie between 1e-150 and 1e150, so that σ² is a number, got {sigma!r}")
        return 1 / (cls.sigma_factor * sigma**cls.power)

    @classmethod
    def sigma_from_gamma(cls, gamma: float) -> float:
        """σ of γ, the inverse of `gamma_from_sigma`."""
        return float((1 / (cls.sigma_factor * gamma)) ** (1 / cls.power))

    @classmethod
    def gamma_from_variance(cls, variance: float, d: int) -> float:
        """γ by the rule 'scale' for d inputs with this variance: 1/(d·Var) with ``power`` 2. With ``power`` 1 it is one
        over a typical distance: √(d·Var) in the Euclidean norm, d·√Var in the ℓ1 norm."""
        if cls.norm == "cityblock":
            return float(1 / (d * variance**0.5))
        return float(1 / (d * variance)) if cls.power == 2 else float(1 / (d * variance) ** 0.5)

    @classmethod
    def median_distance(cls, X: ArrayLike) -> float:
        """The median of ‖x − x′‖ over pairs of the rows X (n, d), in the kernel's norm; 0 for a single row.

        As σ it is the median heuristic (A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012, Section 8).
        """
        pairs = pdist(X, cls.norm)
        return float(np.median(pairs)) if len(pairs) else 0.0

    @property
    def unit_scale(self) -> float:
        """The factor of rows that makes the kernel one with γ = 1."""
        return self.gamma if self.power == 1 else math.sqrt(self.gamma)

    def with_gamma(self, gamma: float) -> Self:
        """The same kernel with another γ."""
        return replace(self, gamma=gamma)

    def without_lengths(self) -> Self:
        """The same kernel of rows that are already in units of ``lengths``."""
        return self if self.lengths is None else replace(self, lengths=None)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters besides γ, as a config has them, without those that are None."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "gamma"}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}
        return {name: value for name, value in plain.items() if value is not None}

    # ---- Traits ----

    @classmethod
    def has(cls, trait: type) -> bool:
        """Whether the kernel derives from ``trait``: a class of this file, or a kernel's class."""
        return issubclass(cls, trait)

    @classmethod
    def traits(cls) -> list[str]:
        """The short names of its traits, in the order of `TRAITS`."""
        return [name for name, trait in TRAITS.items() if cls.has(trait)]

    def compiled_form(self, d: int) -> CompiledForm | None:
        """The compiled form of its rows, for d inputs in units of ``lengths``. None if there is none; solvers then
        compute ``kernel(X, Y)`` in blocks."""
        return None


class SpectralKernel(Kernel):
    """A kernel that is the Fourier transform of a probability density: what Fourier features approximate.

    By Bochner's theorem these are the continuous shift-invariant kernels with k(0) = 1 (Rahimi & Recht 2007).
    """

    trait: ClassVar[str] = "a spectral density"
    unit_diagonal: ClassVar[bool] = True
    of_differences: ClassVar[bool] = True

    @property
    @abstractmethod
    def spectral_scale(self) -> float:
        """The factor of a frequency at unit scale."""

    @property
    @abstractmethod
    def spectral_variance(self) -> float:
        """The variance of a coordinate of a frequency: −∂²k/∂Δⱼ² at 0, and E‖w‖² over d; without ``lengths``."""

    @abstractmethod
    def frequency(self, rng: Generator, d: int) -> NDArray[np.float64]:
        """One draw (d,) from the spectral density at unit scale."""

    def frequencies(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        """``count`` draws (count, d). A subclass may draw the same numbers faster."""
        return np.stack([self.frequency(rng, d) for _ in range(count)])

    def sample(self, rng: Generator, s: int, d: int, *, order: Literal["C", "F"] = "F") -> NDArray[np.float64]:
        """Draw s frequencies from the spectral density: W, shape (d, s), float64, laid out in ``order``.

        Sizes nest: with the same seed, the first s frequencies of a larger draw are the draw of s. W is the only array
        of its size, because `DRAWN_AT_ONCE` frequencies are drawn at a time.
        """
        W = np.empty((d, s), order=order)
        for first in range(0, s, DRAWN_AT_ONCE):
            last = min(s, first + DRAWN_AT_ONCE)
            W[:, first:last] = self.frequencies(rng, last - first, d).T
        W *= self.spectral_scale
        return self.fold(W)


class ProductKernel(SpectralKernel):
    """A kernel whose spectral density is a product of equal densities, one for each coordinate."""

    trait: ClassVar[str] = "a product density"

    @abstractmethod
    def quantile(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of the coordinates' distribution function at unit scale, accurate in both tails."""

    def frequency(self, rng: Generator, d: int) -> NDArray[np.float64]:
        return self.quantile(rng.uniform(size=d))

    def inverse_cdf(self, U: ArrayLike) -> NDArray[np.float64]:
        """Frequencies W (d, s) of points U (s, d) of the open unit cube, coordinate by coordinate."""
        return self.fold(self.spectral_scale * self.quantile(np.asarray(U, dtype=np.float64)).T)


class IsotropicKernel(SpectralKernel):
    """A kernel with an isotropic spectral density: frequencies have a uniform direction, and `radius` draws the length.

    Maps with structured directions Q (columns of length 1) compute W = Q·diag(``radii``), and then `fold` it. With
    ``lengths`` the density is isotropic in their units.
    """

    trait: ClassVar[str] = "an isotropic density"

    @abstractmethod
    def radius(self, rng: Generator, d: int) -> float:
        """One draw of ‖w‖ in d dimensions at unit scale."""

    def size_biased_radius(self, rng: Generator, d: int) -> float:
        """One draw of ‖w‖ from the density ∝ ‖w‖²·p(w), at unit scale. Radial quadrature rules of degree 3 need it."""
        raise NotImplementedError

    def radii(self, rng: Generator, s: int, d: int) -> NDArray[np.float64]:
        """s draws of ‖w‖ in d dimensions, (s,), one by one, so that sizes nest."""
        return self.spectral_scale * self.unit_radii(rng, s, d)

    def unit_radii(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        """The same at unit scale, (count,); a subclass may draw the same numbers faster."""
        return np.array([self.radius(rng, d) for _ in range(count)])

    def frequency(self, rng: Generator, d: int) -> NDArray[np.float64]:
        direction = rng.standard_normal(d)
        return direction * (self.radius(rng, d) / math.sqrt(direction @ direction))


class MaclaurinKernel(Kernel):
    """A kernel k(x, x′) = r(x)·r(x′)·Σₙ aₙ(xᵀx′)ⁿ with aₙ ≥ 0: a power series in xᵀx′ times a factor of each row."""

    trait: ClassVar[str] = "Maclaurin coefficients"

    @property
    @abstractmethod
    def highest_degree(self) -> int | None:
        """The degree of the last term; None if there are infinitely many terms."""

    @abstractmethod
    def coefficients(self, count: int) -> NDArray[np.float64]:
        """a₀ … a_(count−1), γ included."""

    def row_factor(self, X: Any) -> FloatArray:
        """r(x), (n,) in X's dtype, of the rows X (n, d), an array or a CSR matrix already in units of ``lengths``. It
        is 1 for a dot-product kernel."""
        return np.ones(X.shape[0], X.dtype)


class ActivationKernel(Kernel):
    """A kernel k(x, x′) = E[a(wᵀx)·a(wᵀx′)] of an activation a, w ~ N(0, I)."""

    trait: ClassVar[str] = "an activation"
    homogeneous: ClassVar[bool] = False
    """Whether a(ct) = a(t) for every c > 0, or a(ct) = c·a(t): then of the length of w only E‖w‖² = d counts."""

    @abstractmethod
    def activation(self, T: Floats) -> Floats:
        """Replace each t of T, an array of any shape, by a(t), and return T."""

    def weights(self, rng: Generator, s: int, d: int) -> NDArray[np.float64]:
        """s draws of w, (d, s), one by one, so that sizes nest; for rows before division by ``lengths``."""
        return self.fold(np.asfortranarray(rng.standard_normal((s, d)).T))


class HalfSpaceKernel(Kernel):
    """A kernel k(x, x′) = E[sign(θᵀx − α)·sign(θᵀx′ − α)] for rows within ``ball`` of 0, θ uniform on the unit sphere
    and α uniform on [−ball, ball]."""

    trait: ClassVar[str] = "random half-spaces"
    unit_diagonal: ClassVar[bool] = True
    of_differences: ClassVar[bool] = True

    @property
    @abstractmethod
    def ball(self) -> float:
        """The radius R of the ball, in units of ``lengths``."""


class BinningKernel(Kernel):
    """A kernel k(x, x′) = ∏ⱼ k₁(|Δⱼ|), k₁ convex with k₁(0) = 1, falling to 0: the probability that a random grid has x
    and x′ in one cell, where its pitches have the density δ·k₁″(δ) and its shifts are uniform (Rahimi & Recht 2007)."""

    trait: ClassVar[str] = "a pitch density"
    unit_diagonal: ClassVar[bool] = True
    of_differences: ClassVar[bool] = True

    @abstractmethod
    def unit_pitches(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        """Draws (count, d) of a grid's pitches at γ = 1, drawn one by one, so that sizes nest."""

    def pitches(self, rng: Generator, s: int, d: int) -> NDArray[np.float64]:
        """s draws (d, s) of a grid's pitches, for rows before division by ``lengths``."""
        return 1 / self.fold(self.unit_scale / self.unit_pitches(rng, s, d).T)


TRAITS: dict[str, type[Kernel]] = {
    "spectral": SpectralKernel,
    "product": ProductKernel,
    "isotropic": IsotropicKernel,
    "maclaurin": MaclaurinKernel,
    "activation": ActivationKernel,
    "half-space": HalfSpaceKernel,
    "binning": BinningKernel,
}
"""The traits by their short names. Each has the attribute ``trait``: in words, what a kernel with it has."""


def distances(
    X: NDArray[np.float64], Y: NDArray[np.float64] | None, metric: Literal["sqeuclidean", "euclidean", "cityblock"]
) -> NDArray[np.float64]:
    """The distances between X (n, d) and Y (m, d), (n, m). Y is X if it is None: then each pair is computed once."""
    return np.asarray(squareform(pdist(X, metric)) if Y is None else cdist(X, Y, metric))


def squared_lengths(X: Any) -> FloatArray:
    """‖x‖² of the rows X (n, d), an array or a CSR matrix, (n,) in X's dtype."""
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if issparse(X) else np.einsum("ij,ij->i", X, X)


def positive(what: str, value: Any) -> float:
    """``value`` as a float; WrongParameter unless it is a positive, finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf or isinstance(value, bool):
        raise WrongParameter(what, f"must be a positive number, got {value!r}")
    return number


def _checked_lengths(lengths: Any) -> tuple[float, ...]:
    try:
        found = tuple(float(each) for each in lengths)
    except (TypeError, ValueError):
        found = ()
    if not found or not all(0 < each < math.inf for each in found):
        raise WrongParameter("lengths", f"must be positive numbers, one for each input, got {lengths!r}")
    return found
