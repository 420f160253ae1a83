"""Fourier features whose frequencies are the points of spherical-radial quadrature rules."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray
from scipy.linalg import helmert

from rffbench.features.base import FourierFeatures
from rffbench.kernels import IsotropicKernel, Kernel, make_kernel_with
from rffbench.parameters import WrongParameter
from rffbench.parts import MapServes
from rffbench.seeds import RandomState, generator, seed_sequence

BUTTERFLIES = 3  # products of permutations and butterfly matrices in a rotation


class QuadratureFeatures(FourierFeatures):
    """Quadrature features: frequencies are the d + 1 vertices v of regular simplices, rotated and scaled, W = ρ·Q·v.

    φ(x) = [√c₁·cos(w₁ᵀx) … | √c₁·sin(w₁ᵀx) …]/√s, s = ``n_components``/2, c the weights. Cosine and sine together stand
    for w and −w, so that a rotated simplex integrates all polynomials of degree 3 over directions exactly.

    ``radii='pairs'``: every two simplices form a rule of degree 3 in the length, too. Theirs are ρ₁ and ρ₂, one on
    either side of m = √E‖w‖², with the density ∝ |ρ₁² − ρ₂²|·p(ρ₁)·p(ρ₂), p that of ‖w‖; and their weights
    2(ρ₂² − m²)/(ρ₂² − ρ₁²) and 2(m² − ρ₁²)/(ρ₂² − ρ₁²). So E‖w‖² is exact, no weight is negative, and, because any
    law is such a mixture of two-point laws of its mean (Hall's; Mörters & Peres, "Brownian motion", Theorem 5.13), the
    estimate is unbiased. Frequencies beyond the last whole rule of 2(d + 1) have independent lengths.
    ``radii='independent'``: every length is a draw from p, every weight 1: degree 1 in the length; unbiased.
    ``radii='truncated'``: Munkhoeva et al.'s rule of degree 3. A simplex has one ρ, with a density ∝ ρ²·p(ρ), and the
    weight m²/ρ²; the first frequency is 0, and its weight makes their mean 1. ρ is drawn again until ρ ≥ m, so that the
    weight of 0 is not negative, which is a bias.

    Parameters
    ----------
    n_components : number of output columns, even; any number, but whole rules end at multiples of 4(d + 1).
    radii : 'pairs', 'independent' or 'truncated'.
    rotation : 'orthogonal', Haar-distributed matrices Q, of which each takes d³; or 'butterfly', products of three
        permutations and butterfly matrices, d²·log d, which are not quite uniform: a bias.
    kernel : one with an isotropic density: 'gaussian', 'matern' or 'rational-quadratic'; with ``radii='independent'``
        also where frequencies have no variance, as of 'matern' with ν ≤ 1.
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
        unbiased_if="orthogonal and not truncated", fit_cost="2*d**2*s", nests=("directions_",),
        source="Munkhoeva et al., NeurIPS 2018",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple]] = {
        "radii": ("pairs", "independent", "truncated"),
        "rotation": ("orthogonal", "butterfly"),
    }

    def __init__(
        self, n_components: int = 100, *, radii: str = "pairs", rotation: str = "orthogonal",
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.radii = radii
        self.rotation = rotation
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

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
    def directions_(self) -> NDArray[np.float64]:
        """The frequencies at length 1, (d, s); of the frequency 0, zeros."""
        lengths = np.linalg.norm(self.frequencies_, axis=0)
        return self.frequencies_ / np.where(lengths == 0, 1, lengths)

    def fit(self, X: Any, y: Any = None) -> QuadratureFeatures:
        """Draw the rules for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        kernel = make_kernel_with(IsotropicKernel, self.kernel, self.bandwidth)
        s, d, sequence = self.n_frequencies, X.shape[1], seed_sequence(self.random_state)
        lengths, weights = self._radial_rule(kernel, s, d, sequence)
        nonzero = lengths > 0
        W = np.zeros((d, s), order="F")
        W[:, nonzero] = simplex_directions(int(nonzero.sum()), d, sequence, rotation=self.rotation)
        W *= lengths
        self.set_pairs(kernel.fold(W))
        self.weights_, self.scale_ = weights, np.sqrt(weights / s)
        return self

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

    The first is a plain draw, the second one from the other side of m, with the density ∝ |ρ² − m²|·p(ρ): together
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
    vertices = helmert(d + 1) * math.sqrt((d + 1) / d)
    W = np.empty((d, s), order="F")
    for first in range(0, s, d + 1):
        rotated = butterfly_rotated(vertices, rng) if rotation == "butterfly" else haar_matrix(d, rng) @ vertices
        W[:, first : first + d + 1] = rotated[:, : s - first]
    return W


def haar_matrix(d: int, rng: Generator) -> NDArray[np.float64]:
    """A uniformly distributed orthogonal matrix (d, d): the orthogonal factor of a Gaussian one's columns."""
    Q, R = np.linalg.qr(rng.standard_normal((d, d)).T)
    return np.copysign(1, np.diag(R)) * Q


def butterfly_rotated(A: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
    """The columns of A (d, m), rotated: each of ⌈log₂ d⌉ layers turns pairs of coordinates a power of two apart, each
    pair by an angle of its own; coordinates without a partner below d stay."""
    d = len(A)
    for _ in range(BUTTERFLIES):
        A = A[rng.permutation(d)]
        distance, coordinates = 1, np.arange(d)
        while distance < d:
            first = coordinates[(coordinates & distance == 0) & (coordinates + distance < d)]
            a, b = A[first], A[first + distance]
            angles = rng.uniform(0, 2 * np.pi, (len(first), 1))
            A[first], A[first + distance] = (
                np.cos(angles) * a - np.sin(angles) * b,
                np.sin(angles) * a + np.cos(angles) * b,
            )
            distance *= 2
    return A
