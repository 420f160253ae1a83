"""Fourier features whose frequencies are the points of spherical-radial quadrature rules."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import FourierFeatures
from rffbench.kernels import IsotropicKernel, Kernel, make_kernel_with
from rffbench.linalg.butterflies import BUTTERFLIES, ButterflySimplices, pairs_in, simplex_corners
from rffbench.linalg.rotations import positive_qr
from rffbench.linalg.trigonometric import TILE_COLUMNS, Tiles
from rffbench.plugins.parts import MapServes

BUTTERFLIES_PAY = 400  # inputs: from here on butterflies are faster than the product with a matrix, in both dtypes


class QuadratureFeatures(FourierFeatures):
    """Quadrature features: frequencies are the d + 1 vertices v of regular simplices, rotated and scaled, W = ρ·Q·v.

    φ(x) = [√c₁·cos(w₁ᵀx) … | √c₁·sin(w₁ᵀx) …]/√s, s = ``n_components``/2, c the weights. A cosine and a sine represent
    both w and −w, so that a rotated simplex integrates all polynomials of degree 3 over directions exactly.

    ``radii='pairs'``: every two simplices form a rule of degree 3 in the length, too. Their lengths ρ₁ and ρ₂ are on
    either side of m = √E‖w‖², with the density ∝ |ρ₁² − ρ₂²|·p(ρ₁)·p(ρ₂), where p is the density of ‖w‖. Their weights
    are 2(ρ₂² − m²)/(ρ₂² − ρ₁²) and 2(m² − ρ₁²)/(ρ₂² − ρ₁²). So E‖w‖² is exact and no weight is negative. The estimate
    is unbiased, because any law is such a mixture of two-point laws with its mean (by Hall; Mörters & Peres, "Brownian
    motion", Theorem 5.13). Frequencies beyond the last whole rule of 2(d + 1) have independent lengths.
    ``radii='independent'``: every length is a draw from p, and every weight is 1: degree 1 in the length; unbiased.
    ``radii='truncated'``: Munkhoeva et al.'s rule of degree 3. A simplex has one ρ, with a density ∝ ρ²·p(ρ), and the
    weight m²/ρ². The first frequency is 0; its weight makes the mean weight 1. ρ is drawn again until ρ ≥ m, so that
    the weight of 0 is not negative, which is a bias.

    Parameters
    ----------
    n_components : number of output columns, even; any number, but whole rules end at multiples of 4(d + 1).
    radii : 'pairs', 'independent' or 'truncated'.
    rotation : 'orthogonal', matrices Q of the Haar distribution, d³ operations each; or 'butterfly', products of three
        butterflies (`rffbench.linalg.butterflies`). These are not quite uniform, which is a bias. From 400 inputs on
        they are never multiplied out: d·log d numbers and operations for d + 1 frequencies of a row.
    kernel : one with an isotropic density: 'gaussian', 'matern' or 'rational-quadratic'; only ``radii='independent'``
        takes kernels whose frequencies have no finite variance, such as 'matern' with ν ≤ 1.
    gamma, random_state : as in RandomFourierFeatures; Q's columns are those of OrthogonalRandomFeatures.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    directions_ : W's columns at length 1, (d, s); the first of a larger map are those of a smaller one.
    weights_ : c, (s,).

    References
    ----------
    M. Munkhoeva, Y. Kapushev, E. Burnaev, I. Oseledets, "Quadrature-based features for kernel approximation", NeurIPS
    2018. A. Genz and J. Monahan, "Stochastic integration rules for infinite regions", SIAM J. Sci. Comput. 19, 1998.
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=IsotropicKernel, bias="butterflies are not uniform, truncated lengths too long",
        unbiased_if="orthogonal and not truncated", row_cost="r*s + t*D", fit_cost="2*o*d**2*s",
        nests=("directions_",), source="Munkhoeva et al., NeurIPS 2018",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {
        "radii": ("pairs", "independent", "truncated"),
        "rotation": ("orthogonal", "butterfly"),
    }

    _frequencies: NDArray[np.float64]  # W; of butterflies of many inputs instead:
    _butterflies: ButterflySimplices | None
    _lengths: NDArray[np.float64]  # of each corner, (s,), or (s − 1,) after the frequency 0
    _scale: NDArray[np.float64]  # one over the kernel's lengths, (d,)

    def __init__(
        self, n_components: int = 100, *, radii: str = "pairs", rotation: str = "orthogonal",
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.radii = radii
        self.rotation = rotation

    def check_parameters(self) -> None:
        super().check_parameters()
        kernel = self._check_kernel()
        assert isinstance(kernel, IsotropicKernel)
        if self.radii == "independent":
            return
        called = f"{kernel.called()} kernel {kernel.parameters or ''}".strip()
        if not math.isfinite(kernel.spectral_variance):
            problem = f"must be 'independent': frequencies of the {called} have no variance, got {self.radii!r}"
            raise WrongParameter("radii", problem)
        if type(kernel).size_biased_radius is IsotropicKernel.size_biased_radius:
            problem = f"must be 'independent': the {called} has no size_biased_radius, got {self.radii!r}"
            raise WrongParameter("radii", problem)

    @property
    def unbiased(self) -> bool:
        return self.rotation == "orthogonal" and self.radii != "truncated"

    @property
    def frequencies_(self) -> NDArray[np.float64]:
        """The frequencies as a matrix (d, s), float64; of butterflies multiplied out on demand, if d is large."""
        if self._butterflies is None:
            return self._frequencies
        W = np.zeros((len(self._scale), self.n_frequencies), order="F")
        corners = W[:, W.shape[1] - len(self._lengths) :]
        np.multiply(self._butterflies.multiplied_out(corners.shape[1]), self._lengths, out=corners)
        W *= self._scale[:, None]
        return W

    @frequencies_.setter
    def frequencies_(self, frequencies: NDArray[np.float64]) -> None:
        self._frequencies = frequencies

    @property
    def directions_(self) -> NDArray[np.float64]:
        """The frequencies at length 1, (d, s); of the frequency 0, zeros."""
        W = self.frequencies_
        lengths = np.linalg.norm(W, axis=0)
        return W / np.where(lengths == 0, 1, lengths)

    def letters(self, d: int) -> dict[str, float]:
        """r and o of the formulas: multiply-adds of a projection, and whether matrices are factored."""
        butterflies = self.rotation == "butterfly"
        fast = butterflies and d >= BUTTERFLIES_PAY
        return {"r": 4 * BUTTERFLIES * pairs_in(d) / (d + 1) if fast else d, "o": float(not butterflies)}

    def fit(self, X: Any, y: Any = None) -> QuadratureFeatures:
        """Draw the rules for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        kernel = make_kernel_with(IsotropicKernel, self.kernel, self.bandwidth)
        s, d, sequence = self.n_frequencies, X.shape[1], seed_sequence(self.random_state)
        lengths, weights = self._radial_rule(kernel, s, d, sequence)
        corners = int(np.count_nonzero(lengths))  # all frequencies but 0, which comes first
        if self.rotation == "butterfly" and d >= BUTTERFLIES_PAY:
            self._butterflies = ButterflySimplices.draw(generator(sequence, "frequencies"), -(-corners // (d + 1)), d)
            self._lengths, self._scale = lengths[s - corners :], kernel.fold(np.ones((d, 1)))[:, 0]
            self.set_unweighted(s)
        else:
            self._butterflies = None
            W = np.zeros((d, s), order="F")
            W[:, s - corners :] = simplex_directions(corners, d, sequence, rotation=self.rotation)
            W *= lengths
            self.set_pairs(kernel.fold(W))
        self.weights_, self.scale_ = weights, np.sqrt(weights / s)
        return self

    def fill(self, X: Any, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        if self._butterflies is None:
            super().fill(X, out)
        else:
            self.fill_by_tiles(X, out)

    def phase_tiles(self, X: Any) -> tuple[Tiles, int]:
        """As for every Fourier map; a tile has whole simplices, or all columns if the first frequency is 0."""
        if self._butterflies is None:
            return super().phase_tiles(X)
        corners = X.shape[1] + 1
        zeros = self.n_frequencies - len(self._lengths)
        width = self.n_frequencies if zeros else -(-TILE_COLUMNS // corners) * corners
        return self._butterflies.products(X, self._scale, self._lengths, zeros), width

    def _radial_rule(
        self, kernel: IsotropicKernel, s: int, d: int, sequence: SeedSequence
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lengths and weights of s frequencies, (s,) each."""
        rng, corners = generator(sequence, "radii"), d + 1
        if self.radii == "independent":
            return kernel.radii(rng, s, d), np.ones(s)
        if self.radii == "truncated":
            simplices = -(-(s - 1) // corners)
            lengths = np.repeat([truncated_radius(kernel, rng, d) for _ in range(simplices)], corners)[: s - 1]
            weights = s / max(1, s - 1) * mean_square(kernel, d) / lengths**2
            return (
                np.concatenate([[0.0], kernel.spectral_scale * lengths]),
                np.concatenate([[s - weights.sum()], weights]),
            )
        rules = s // (2 * corners)
        pairs = np.array([radius_pair(kernel, rng, d) for _ in range(rules)]).reshape(-1, 2)
        left = s - 2 * corners * rules
        rest = kernel.radii(generator(sequence, "radii beyond whole rules"), left, d) if left else np.zeros(0)
        lengths = np.concatenate([kernel.spectral_scale * np.repeat(pairs[:, 0], corners), rest])
        return lengths, np.concatenate([np.repeat(pairs[:, 1], corners), np.ones(left)])


def mean_square(kernel: IsotropicKernel, d: int) -> float:
    """m² = E‖w‖² at unit scale."""
    return d * kernel.spectral_variance / kernel.spectral_scale**2


def radius_pair(kernel: IsotropicKernel, rng: Generator, d: int) -> list[list[float]]:
    """Two lengths at unit scale, each with its weight: [[ρ₁, c₁], [ρ₂, c₂]], in random order. (c₁ + c₂)/2 = 1,
    (c₁ρ₁² + c₂ρ₂²)/2 = m², and E[c₁f(ρ₁)] = E[c₂f(ρ₂)] = E[f(‖w‖)] for every f.

    The first is a plain draw. The second is drawn on the other side of m, with the density ∝ |ρ² − m²|·p(ρ). Together
    they have the density ∝ |ρ₁² − ρ₂²|·p(ρ₁)·p(ρ₂), because |ρ₁² − ρ₂²| = |ρ₁² − m²| + |ρ₂² − m²|.
    """
    m2 = mean_square(kernel, d)
    first = second = kernel.radius(rng, d) ** 2
    below = first < m2
    while (second > m2) != below:
        drawn = (kernel.size_biased_radius if below else kernel.radius)(rng, d) ** 2
        kept = (drawn - m2) / drawn if below else (m2 - drawn) / m2
        second = drawn if rng.uniform() < kept else first
    weight = 2 * (second - m2) / (second - first)
    pair = [[math.sqrt(first), weight], [math.sqrt(second), 2 - weight]]
    return pair if rng.uniform() < 0.5 else pair[::-1]


def truncated_radius(kernel: IsotropicKernel, rng: Generator, d: int) -> float:
    """One length at unit scale with the density ∝ ρ²·p(ρ), above m."""
    while (drawn := kernel.size_biased_radius(rng, d)) < math.sqrt(mean_square(kernel, d)):
        pass
    return drawn


def simplex_directions(s: int, d: int, sequence: SeedSequence, *, rotation: str) -> NDArray[np.float64]:
    """The first s vertices of randomly rotated regular simplices, (d, s), of length 1; sizes nest."""
    rng = generator(sequence, "frequencies")
    if rotation == "butterfly":
        return ButterflySimplices.draw(rng, -(-s // (d + 1)), d).multiplied_out(s)
    vertices, W = simplex_corners(d), np.empty((d, s), order="F")
    for first in range(0, s, d + 1):
        W[:, first : first + d + 1] = (haar_matrix(d, rng) @ vertices)[:, : s - first]
    return W


def haar_matrix(d: int, rng: Generator) -> NDArray[np.float64]:
    """A uniformly distributed orthogonal matrix (d, d): the orthogonal factor of a Gaussian one's columns."""
    return positive_qr(rng.standard_normal((d, d)).T)
