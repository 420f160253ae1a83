"""Orthogonal random features, and the base of simplex ones: blocks of d frequencies with directions from one random
rotation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtri

from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import FourierFeatures, draw_frequencies
from rffbench.kernels import GaussianKernel, IsotropicKernel, Kernel, make_kernel_with
from rffbench.linalg.rotations import positive_qr
from rffbench.plugins.parts import MapServes


class OrthogonalRandomFeatures(FourierFeatures):
    """Orthogonal random features: an isotropic kernel's frequencies, orthogonal in groups of d, with their own lengths.

    φ(x) = [cos(Wᵀx) | sin(Wᵀx)]/√s, s = ``n_components``/2. Each block of d columns of W is Q·diag(‖g₁‖, …, ‖g_d‖),
    where G = QR is the decomposition (R's diagonal positive) of the d frequencies g that RandomFourierFeatures has
    there. Q depends only on their directions, and is Haar distributed. So every column is a draw from the kernel's
    spectral density, and the estimate of the kernel is unbiased. Its error falls as 1/√s, with a smaller factor than
    for independent frequencies. Cost: d·s for a row, as for RandomFourierFeatures, and d²·s once.

    ``lengths='coupled'`` takes the lengths of a block in pairs (ρ, ρ′), a long one with a short one: F(ρ) + F(ρ′) = 1,
    where F is the distribution function of a length, χ with d degrees of freedom. For the variance of a pair's mean
    at the distance z, only E f(z²(ρ² + ρ′²)), f(t) = ₀F₁(d/2, −t/4), depends on the coupling. f is convex near 0, so
    for close points no coupling of two lengths has less variance. Far points gain nothing, or lose a little. The last
    length of a block with an odd number of columns has no partner.

    ``block='tall'`` is the form in Munkhoeva et al.'s code, for the Gaussian kernel and s ≥ d. Wᵀ is √(2γ)·C·Q, where
    Q (s, d) has orthonormal *columns* and C holds the lengths, χ with s degrees of freedom. The squared length of a row
    of Q is Beta(d/2, (s − d)/2), so that every frequency is again N(0, 2γI). Sizes do not nest.

    Parameters
    ----------
    n_components : number of output columns, even.
    block : 'square', groups of d orthogonal frequencies; or 'tall', one matrix for all.
    lengths : 'own', independent of each other; or 'coupled', in pairs, for the Gaussian kernel and square blocks.
    signs : 'haar', those of the Haar distribution; or 'lapack', those that LAPACK's QR leaves, as in released code.
        Cosines and sines do not depend on them. Activations do: with 'lapack' directions are not uniform, and the
        error of the arc-cosine kernel stops falling.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)), 'matern', 'rational-quadratic', or a `Kernel` with an isotropic density.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in RandomFourierFeatures; the first s frequencies of a larger map are those of a smaller one.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    weights_, probabilities_ : (s,), ones and 1/s.

    References
    ----------
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar, "Orthogonal random features", NIPS 2016, Eq. 2; of the
    tall block M. Munkhoeva et al., "Quadrature-based features for kernel approximation", NeurIPS 2018; of coupled
    lengths I. Reid, S. Markou, K. Choromanski, R. Turner, A. Weller, "Variance-reducing couplings for random features",
    ICLR 2025, Theorem 3.2.
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=IsotropicKernel, fit_cost="d**2*s", nests=("frequencies_",), source="Yu et al., NIPS 2016"
    )
    choices: ClassVar[dict[str, tuple[object, ...]]] = {
        "block": ("square", "tall"), "signs": ("haar", "lapack"), "lengths": ("own", "coupled"),
    }  # fmt: skip
    of_whole_blocks: ClassVar[bool] = False
    """Whether a direction depends on all d columns of the rotation, so that whole blocks are drawn and then cut."""

    def __init__(
        self, n_components: int = 100, *, block: str = "square", signs: str = "haar", lengths: str = "own",
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.block = block
        self.signs = signs
        self.lengths = lengths

    def check_parameters(self) -> None:
        super().check_parameters()
        for name, chosen, usual in (("block", "tall", "square"), ("lengths", "coupled", "own")):
            if getattr(self, name) == chosen and not isinstance(self.kernel_, GaussianKernel):
                with_kernel = f"with the {self.kernel_.called()} kernel: {chosen!r} is for the gaussian one alone"
                raise WrongParameter(name, f"must be {usual!r} {with_kernel}")
        if self.block == "tall" and self.lengths == "coupled":
            raise WrongParameter("lengths", "must be 'own' with block='tall', got 'coupled'")

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw the frequencies for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        s, d = self.n_frequencies, X.shape[1]
        if self.block == "tall":
            return self._fit_tall(s, d)
        drawn = -(-s // d) * d if self.of_whole_blocks else s
        kernel = make_kernel_with(IsotropicKernel, self.kernel, self.bandwidth)
        W = draw_frequencies(kernel.without_lengths(), drawn, d, seed_sequence(self.random_state))
        lengths = np.linalg.norm(W, axis=0)
        for first in range(0, W.shape[1], d):
            if self.lengths == "coupled":
                own, coupled = lengths[first : first + d : 2], lengths[first + 1 : first + d : 2]
                coupled[:] = self._partners(own[: len(coupled)] / kernel.spectral_scale, d) * kernel.spectral_scale
            W[:, first : first + d] = self._directions(self._orthonormal(W[:, first : first + d]))
        self.set_pairs(kernel.fold((W * lengths)[:, :s]))
        return self

    def _fit_tall(self, s: int, d: int) -> Any:
        if s < d:
            raise WrongParameter("block", f"must be 'square' with fewer frequencies than inputs ({s}, {d}), not 'tall'")
        kernel = make_kernel_with(GaussianKernel, self.kernel, self.bandwidth)
        sequence = seed_sequence(self.random_state)
        Q = self._orthonormal(generator(sequence, "frequencies").standard_normal((s, d)))
        lengths = np.sqrt(generator(sequence, "lengths").chisquare(s, s))
        Q *= kernel.spectral_scale
        self.set_pairs(kernel.fold(np.asfortranarray((Q * lengths[:, None]).T)))
        return self

    def _partners(self, lengths: NDArray[np.float64], d: int) -> NDArray[np.float64]:
        """F⁻¹(1 − F(ρ)) of lengths ρ that are χ with d degrees of freedom."""
        return np.asarray(np.sqrt(chdtri(d, chdtr(d, lengths**2))))

    def _orthonormal(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        """Q (n, m) of A = QR, with the ``signs`` asked for."""
        return positive_qr(A) if self.signs == "haar" else np.asarray(np.linalg.qr(A)[0])

    def _directions(self, Q: NDArray[np.float64]) -> NDArray[np.float64]:
        """The directions of a block of frequencies, as columns, from the columns Q (d, d or less) of a rotation."""
        return Q
