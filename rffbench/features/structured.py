"""Fourier features of structured frequencies: orthogonal ones, and products of diagonals and Hadamard matrices, of
which the SRHT has one.

All are for the Gaussian kernel, whose spectral density is spherical: directions and lengths are independent.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numba
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rffbench.features.base import FourierFeatures
from rffbench.kernels import make_spectral_kernel
from rffbench.linalg.hadamard import next_power_of_two, walsh_hadamard
from rffbench.linalg.waves import TILE_COLUMNS, cos_sin_columns
from rffbench.rowsource import dense_rows, row_blocks
from rffbench.seeds import RandomState, generator, seed_sequence


class _GaussianFeatures(FourierFeatures):
    """Base class: paired maps of the Gaussian kernel that have no parameters of their own."""

    choices: ClassVar[dict[str, tuple]] = {"kernel": ("gaussian",)}

    def __init__(
        self, n_components: int = 100, *, kernel: str = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state


class OrthogonalRandomFeatures(_GaussianFeatures):
    """Orthogonal random features: Gaussian frequencies, orthogonal in groups of d, with their own lengths.

    φ(x) = [cos(Wᵀx) | sin(Wᵀx)]/√s, s = ``n_components``/2. Each d columns of W are Q·diag(‖g₁‖, …, ‖g_d‖), with
    G = QR the decomposition (R's diagonal positive) of the d frequencies g that RandomFourierFeatures has there.
    Q depends on their directions alone, and is Haar distributed; so every column is N(0, 2γ I), the estimate of
    the kernel is unbiased, and its error falls as 1/√s with a smaller factor than independent frequencies have.

    Parameters
    ----------
    n_components : number of output columns, even.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.features.bandwidth.gamma_of_rows`).
    random_state : as in RandomFourierFeatures; the first s frequencies of a larger map are those of a smaller one.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    weights_, probabilities_ : (s,), ones and 1/s.

    References
    ----------
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar, "Orthogonal random features", NIPS 2016, Eq. 2.
    """

    def fit(self, X: Any, y: Any = None) -> OrthogonalRandomFeatures:
        """Draw the frequencies for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        d = X.shape[1]
        W = self.draw(self.n_frequencies, d)
        lengths = np.linalg.norm(W, axis=0)
        for first in range(0, W.shape[1], d):
            Q, R = np.linalg.qr(W[:, first : first + d])
            W[:, first : first + d] = np.copysign(1, np.diag(R)) * Q
        self.set_pairs(W * lengths)
        return self


class HadamardFeatures(_GaussianFeatures):
    """Base class: phases Vx of stacked N×N products V of diagonals and Hadamard matrices, N ≥ d a power of two.

    x is padded with zeros to N. A block of N phases is C·H·D_k·…·H·D₂·Π·H·D₁·x with diagonals D and C and a
    permutation Π (or none), at a cost of O(N log N); ⌈s/N⌉ blocks make s frequencies.
    """

    diagonals_: NDArray[np.float64]
    permutation_: NDArray[np.int32] | None
    lengths_: NDArray[np.float64]

    def _block(
        self, N: int, rng: Generator
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.int32] | None, NDArray[np.float64]]:
        """One block's diagonals D (k of (N,)), permutation (N,) or None, and C/σ⁻¹ (N,)."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw the blocks for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        s, N = self.n_frequencies, next_power_of_two(X.shape[1])
        rng = generator(seed_sequence(self.random_state), "structured frequencies")
        diagonals, permutations, lengths = zip(*(self._block(N, rng) for _ in range(-(-s // N))), strict=True)
        self.diagonals_ = np.stack(diagonals, axis=1)
        self.permutation_ = None if permutations[0] is None else np.stack(permutations)
        self.lengths_ = make_spectral_kernel(self.kernel, self.bandwidth).spectral_scale * np.stack(lengths)
        self.set_unweighted(s)
        return self

    @property
    def frequencies_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The frequencies as a matrix (d, s), float64, multiplied out on demand."""
        return self.phases(np.eye(self.n_features_in_))

    def phases(self, X: NDArray) -> NDArray:
        """The fast product XVᵀ (n, s) of X (n, d), in X's dtype."""
        out, parts = np.empty((X.shape[0], self.n_frequencies), X.dtype), self._in(X.dtype)
        for rows in row_blocks(X.shape[0]):
            self._write_phases(X[rows], slice(0, self.n_frequencies), out[rows], parts)
        return out

    def fill(self, X: NDArray, out: NDArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        s, parts = self.n_frequencies, self._in(X.dtype)
        cos_sin_columns(
            lambda rows, columns, phase: self._write_phases(X[rows], columns, phase, parts),
            out[:, :s], out[:, s:] if out.shape[1] > s else None,
            n=X.shape[0], s=s, dtype=X.dtype, scale=self.scale_, width=max(TILE_COLUMNS, parts[0].shape[-1]),
        )  # fmt: skip

    def _in(self, dtype: np.dtype) -> tuple[NDArray, NDArray]:
        """Diagonals and lengths in the data's dtype."""
        return self.diagonals_.astype(dtype, copy=False), self.lengths_.astype(dtype, copy=False)

    def _write_phases(self, X: NDArray, columns: slice, out: NDArray, parts: tuple[NDArray, NDArray]) -> None:
        """The phases ``columns`` of X, whole blocks of N from the first on, into ``out`` (n, columns).

        The rows of a CSR matrix are dense here, as they are once transformed: a tile's, not all."""
        diagonals, lengths = parts
        N = diagonals.shape[-1]
        blocks = slice(columns.start // N, -(-columns.stop // N))
        T = np.empty((len(out), blocks.stop - blocks.start, N), X.dtype)
        _multiply(dense_rows(X), diagonals[0, blocks], T)
        walsh_hadamard(T)
        for stage, D in enumerate(diagonals[1:, blocks]):
            if self.permutation_ is not None and stage == 0:
                permuted = np.empty_like(T)
                _permute_and_multiply(T, self.permutation_[blocks], D, permuted)
                T = permuted
            else:
                T *= D
            walsh_hadamard(T)
        width = out.shape[1]
        np.multiply(T.reshape(len(out), -1)[:, :width], lengths[blocks].ravel()[:width], out=out)


@numba.njit(nogil=True, cache=True)
def _multiply(X, D, out):
    """out[i, b] ← D_b·x_i, padded with zeros, for X (n, d), D (blocks, N) and out (n, blocks, N)."""
    n, d = X.shape
    for i in range(n):
        for b in range(D.shape[0]):
            for j in range(d):
                out[i, b, j] = X[i, j] * D[b, j]
            out[i, b, d:] = 0


@numba.njit(nogil=True, cache=True)
def _permute_and_multiply(T, permutation, D, out):
    """out[i, b] ← D_b·Π_b·T[i, b], for T (n, blocks, N)."""
    n, blocks, N = T.shape
    for i in range(n):
        for b in range(blocks):
            for j in range(N):
                out[i, b, j] = T[i, b, permutation[b, j]] * D[b, j]


class FastfoodFeatures(HadamardFeatures):
    """Fastfood: Gaussian frequencies out of Hadamard matrices, V = (1/(σ√N))·S·H·G·Π·H·B, 1/σ = √(2γ).

    B: random signs, Π: a random permutation, G: standard normal diagonal, H: the Walsh–Hadamard matrix; S makes
    the rows' lengths those of Gaussian vectors: χ_N drawn over ‖G‖. φ(x) = [cos(Vx) | sin(Vx)]/√s,
    s = ``n_components``/2.

    x is padded with zeros from d to the next power of two N, and ⌈s/N⌉ independent blocks V are stacked. Time is
    O(s log d) and memory O(s) for a point, instead of O(s·d). Each row of V is exactly N(0, 2γ I), so that the
    estimate of the kernel is unbiased; rows of a block are uncorrelated but not independent. The error falls as
    1/√s with the number of blocks.

    Parameters
    ----------
    n_components : number of output columns, even; any number of frequencies, also where N doesn't divide it.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.features.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState; sizes nest.

    Attributes
    ----------
    diagonals_ : B and G, (2, blocks, N) float64.
    permutation_ : Π, (blocks, N).
    lengths_ : S/(σ√N), (blocks, N) float64.
    frequencies_ : Vᵀ (d, s) float64, multiplied out when it is asked for.

    References
    ----------
    Q. Le, T. Sarlós, A. Smola, "Fastfood: approximating kernel expansions in loglinear time", ICML 2013, Eq. 7.
    """

    def _block(
        self, N: int, rng: Generator
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.int32] | None, NDArray[np.float64]]:
        signs = rng.choice([-1.0, 1.0], N)
        permutation = rng.permutation(N).astype(np.int32)
        gaussian = rng.standard_normal(N)
        lengths = np.sqrt(rng.chisquare(N, N))
        return [signs, gaussian], permutation, lengths / (np.linalg.norm(gaussian) * np.sqrt(N))


class StructuredOrthogonalFeatures(HadamardFeatures):
    """SORF, structured orthogonal random features: W = (√N/σ)·H·D₁·H·D₂·H·D₃, H orthonormal, 1/σ = √(2γ).

    Three random sign diagonals D; φ(x) = [cos(Wx) | sin(Wx)]/√s, s = ``n_components``/2. Padding and stacking as
    in FastfoodFeatures. All frequencies have length √N/σ, about that of Gaussian ones when N is large: the
    estimate of the kernel is biased, by O(1/√N).

    Parameters
    ----------
    n_components : number of output columns, even.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.features.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState; sizes nest.

    Attributes
    ----------
    diagonals_ : D₃, D₂, D₁, (3, blocks, N) float64.
    lengths_ : what is left of the factors, (blocks, N) float64.
    frequencies_ : Wᵀ (d, s) float64, multiplied out when it is asked for.

    References
    ----------
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar, "Orthogonal random features", NIPS 2016, Eq. 5.
    """

    unbiased = False

    def _block(
        self, N: int, rng: Generator
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.int32] | None, NDArray[np.float64]]:
        return list(rng.choice([-1.0, 1.0], (3, N))), None, np.full(N, 1 / N)


class SRHTFeatures(HadamardFeatures):
    """Frequencies out of a single randomised Hadamard transform: W = (1/σ)·H·D, entries ±1/σ, 1/σ = √(2γ).

    D: random signs, H: the Walsh–Hadamard matrix. φ(x) = [cos(Wx) | sin(Wx)]/√s, s = ``n_components``/2. Padding and
    stacking as in FastfoodFeatures. A projection wᵀx has mean 0 and variance ‖x‖²/σ², and is close to normal for an x
    with many entries of similar size. For an x with few that are not 0 it takes few values, and the estimate of the
    kernel is biased: at Δ = t·e₁ it is cos(t/σ) for every s. To avoid that, FastfoodFeatures and
    StructuredOrthogonalFeatures transform two and three times.

    Parameters
    ----------
    n_components : number of output columns, even.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.features.bandwidth.gamma_of_rows`).
    random_state : as in FastfoodFeatures; sizes nest.

    Attributes
    ----------
    diagonals_ : D, (1, blocks, N) float64.
    lengths_ : 1/σ, (blocks, N) float64.
    frequencies_ : Wᵀ (d, s) float64, multiplied out when it is asked for.

    References
    ----------
    J. Tropp, "Improved analysis of the subsampled randomized Hadamard transform", 2011.
    """

    unbiased = False

    def _block(
        self, N: int, rng: Generator
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.int32] | None, NDArray[np.float64]]:
        return [rng.choice([-1.0, 1.0], N)], None, np.ones(N)
