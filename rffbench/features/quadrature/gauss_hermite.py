"""Fourier features whose frequencies are the points of a Gauss–Hermite grid."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

from rffbench.arguments.parameters import WrongParameter, check_count
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import FourierFeatures
from rffbench.features.by_inputs import AUTO, points_of
from rffbench.kernels import GaussianKernel, Kernel, make_spectral_kernel
from rffbench.plugins.parts import MapServes

MOST_POINTS = 100  # of a rule: larger rules have weights too small for a float
LARGEST_GRID = 30  # inputs up to which a message writes the size of the grid in digits


class GaussHermiteFeatures(FourierFeatures):
    """Gauss–Hermite features: frequencies of the tensor grid of a rule of p points in each of the d coordinates.

    φ(x) = [√c·cos(Wᵀx) | √c·sin(Wᵀx)]/√s, s = ``n_components``/2, c the weights. The rule's points h and weights q
    integrate polynomials of a coordinate exactly up to degree 2p − 1, and so does the grid, of √(2γ)·(h_i₁, …, h_i_d)
    with the weight q_i₁·…·q_i_d.

    ``grid='dense'``: the whole grid, which is fixed. A cosine and a sine represent both w and −w, so that it has
    s = ⌈pᵈ/2⌉ frequencies. ``n_components`` determines p; a number without a p is refused, naming the nearest with one.
    ``grid='subsampled'``: s points of the grid, each coordinate drawn with the weights as probabilities; c = 1. With
    p = 2 they are random signs.

    Either way the mean of the estimate is the grid's ∏ⱼ Σᵢ qᵢ·cos(√(2γ)·hᵢΔⱼ) in place of exp(−γ‖Δ‖²): a bias of order
    Δⱼ^(2p), which more columns do not reduce.

    Parameters
    ----------
    n_components : number of output columns, even; of the dense grid 2⌈pᵈ/2⌉.
    grid : 'subsampled' or 'dense'.
    points : p of the subsampled grid, 2 to 100; 'auto' is 3, but 100 for three inputs or fewer, where three are wrong
        for most pairs of rows.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in RandomFourierFeatures; sizes of the subsampled grid nest; the dense grid is fixed.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    weights_ : c, (s,).

    References
    ----------
    T. Dao, C. De Sa, C. Ré, "Gaussian quadrature for kernel features", NIPS 2017, Sections 3 and 4.
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=GaussianKernel, bias="the kernel of the grid", nests=("frequencies_",), source="Dao et al., NIPS 2017"
    )
    choices: ClassVar[dict[str, tuple[object, ...]]] = {"grid": ("subsampled", "dense")}

    def __init__(
        self, n_components: int = 100, *, grid: str = "subsampled", points: int | Literal["auto"] = AUTO,
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.grid = grid
        self.points = points

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.points == AUTO:
            return
        if isinstance(self.points, str):
            raise WrongParameter("points", f"must be a whole number, 2 or more, or 'auto', got {self.points!r}")
        check_count("points", self.points, least=2)
        if self.points > MOST_POINTS:
            raise WrongParameter("points", f"must be {MOST_POINTS} at most, got {self.points}")

    def check_inputs(self, d: int) -> None:
        """WrongParameter, naming the nearest sizes, if no dense grid of d inputs has ``n_components`` columns."""
        if self.grid == "dense":
            points_of_grid(self.n_components, d)

    def fit(self, X: Any, y: Any = None) -> GaussHermiteFeatures:
        """Make the frequencies for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        kernel = make_spectral_kernel(self.kernel, self.bandwidth)
        s, d = self.n_frequencies, X.shape[1]
        if self.grid == "dense":
            W, weights = half_grid(points_of_grid(self.n_components, d), d)
        else:
            nodes, probabilities = gauss_hermite(points_of(d) if self.points == AUTO else int(self.points))
            uniform = generator(seed_sequence(self.random_state), "frequencies").uniform(size=(s, d)).T
            W, weights = nodes[np.searchsorted(probabilities.cumsum()[:-1], uniform, side="right")], np.ones(s)
        self.set_pairs(kernel.fold(kernel.spectral_scale * W))
        self.weights_, self.scale_ = weights, np.sqrt(weights / s)
        return self


def gauss_hermite(p: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The p points and weights (p,), which sum to 1, that integrate polynomials of degree 2p − 1 over N(0, 1)."""
    nodes, weights = hermegauss(p)
    return nodes, weights / weights.sum()


def half_grid(p: int, d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One of w and −w for each point of the grid pᵈ, W (d, s), and their weights times s, (s,), s = ⌈pᵈ/2⌉."""
    nodes, weights = gauss_hermite(p)
    s = -(-(p**d) // 2)
    # The points are numbered in base p: the mirror image of a point is as far from the end as the point from the start.
    index = np.unravel_index(np.arange(s), (p,) * d)
    both = np.full(s, 2.0)
    if p % 2:
        both[-1] = 1.0
    return nodes[np.array(index)], s * both * np.prod(weights[np.array(index)], axis=0)


def points_of_grid(columns: int, d: int) -> int:
    """The largest p for which the dense grid of d inputs has ``columns`` columns; WrongParameter, naming the nearest
    sizes, if there is no such p."""
    largest = 2
    while largest < MOST_POINTS and columns_of_grid(largest, d) <= columns:
        largest += 1
    nearest = [p for p in (largest - 1, largest) if p > 1]
    for p in reversed(nearest):
        if columns_of_grid(p, d) == columns:
            return p
    near = " or ".join(f"{columns_of_grid(p, d)} (p = {p})" for p in nearest) if d <= LARGEST_GRID else f"2^{d} (p = 2)"
    problem = f"must be 2⌈pᵈ/2⌉ with the dense grid of d = {d} inputs, nearest {near}, got {columns}"
    raise WrongParameter("n_components", f"{problem}; grid='subsampled' has any even number")


def columns_of_grid(p: int, d: int) -> int:
    """The columns of the dense grid of p points in each of d coordinates."""
    return int(2 * -(-(p**d) // 2))
