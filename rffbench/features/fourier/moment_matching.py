"""Random Fourier features whose frequencies have exactly the second moments of the spectral density."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import svd

from rffbench.arguments.seeds import seed_sequence
from rffbench.features.base import FourierFeatures, draw_frequencies
from rffbench.kernels import CauchyKernel, GaussianKernel, make_spectral_kernel
from rffbench.plugins.parts import MapServes


class MomentMatchingFeatures(FourierFeatures):
    """Moment matching: random Fourier features whose frequencies are whitened, so that (1/s)·WWᵀ = E[wwᵀ] exactly.

    φ(x) = [cos(Wᵀx) | sin(Wᵀx)]/√s, s = ``n_components``/2, W = √(s·v)·(GGᵀ)^(−1/2)·G, G (d, s) the frequencies of
    RandomFourierFeatures and v the variance of a coordinate. So the term of degree 2 of the estimate, ½Δᵀ(1/s)WWᵀΔ, is
    the kernel's. First moments need no matching, because a cosine is even. With fewer than d frequencies the moments
    cannot match: W is √(d·v) times the orthonormal columns nearest to G.

    Whitening makes W depend on all draws. So the estimate has a bias of order 1/s, below its standard deviation of
    order 1/√s, and sizes do not nest. Cost: d·s for a row, and d·s·min(d, s) once.

    Parameters
    ----------
    n_components : number of output columns, even.
    kernel : 'gaussian' or 'cauchy'. Frequencies of infinite variance have no moments to match; if tails are heavy, as
        Matérn's are, matching gains nothing.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in RandomFourierFeatures, whose frequencies are whitened.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    weights_, probabilities_ : (s,), ones and 1/s.

    References
    ----------
    W. Shen, Z. Yang, J. Wang, "Random features for shift-invariant kernels with moment matching", AAAI 2017; here only
    the second moments, of independent draws.
    """

    serves: ClassVar[MapServes] = replace(
        FourierFeatures.serves, kernels=(GaussianKernel, CauchyKernel), bias="frequencies depend on each other, O(1/s)",
        fit_cost="6*d*s*min(d, s)", source="Shen et al., AAAI 2017",
    )  # fmt: skip

    def fit(self, X: Any, y: Any = None) -> MomentMatchingFeatures:
        """Draw the frequencies for X's columns and whiten them; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        s, d = self.n_frequencies, X.shape[1]
        kernel = make_spectral_kernel(self.kernel, self.bandwidth)
        G = draw_frequencies(kernel.without_lengths(), s, d, seed_sequence(self.random_state))
        U, _, V = svd(G, full_matrices=False)
        self.set_pairs(kernel.fold(np.sqrt(max(s, d) * kernel.spectral_variance) * (U @ V)))
        return self
