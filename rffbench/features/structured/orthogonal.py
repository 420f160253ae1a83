"""Orthogonal random features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rffbench.features.base import draw_frequencies
from rffbench.features.structured.gaussian import GaussianFeatures
from rffbench.kernels import SpectralKernel, make_kernel_with
from rffbench.parts import MapServes
from rffbench.seeds import seed_sequence


class OrthogonalRandomFeatures(GaussianFeatures):
    """Orthogonal random features: Gaussian frequencies, orthogonal in groups of d, with their own lengths.

    φ(x) = [cos(Wᵀx) | sin(Wᵀx)]/√s, s = ``n_components``/2. Each d columns of W are Q·diag(‖g₁‖, …, ‖g_d‖), with
    G = QR the decomposition (R's diagonal positive) of the d frequencies g that RandomFourierFeatures has there.
    Q depends on their directions alone, and is Haar distributed; so every column is N(0, 2γ I), the estimate of
    the kernel is unbiased, and its error falls as 1/√s with a smaller factor than independent frequencies have.

    Parameters
    ----------
    n_components : number of output columns, even.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in RandomFourierFeatures; the first s frequencies of a larger map are those of a smaller one.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    weights_, probabilities_ : (s,), ones and 1/s.

    References
    ----------
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar, "Orthogonal random features", NIPS 2016, Eq. 2.
    """

    serves: ClassVar[MapServes] = replace(
        GaussianFeatures.serves, fit_cost="d**2*s", nests=("frequencies_",), source="Yu et al., NIPS 2016"
    )

    def fit(self, X: Any, y: Any = None) -> OrthogonalRandomFeatures:
        """Draw the frequencies for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        d = X.shape[1]
        kernel = make_kernel_with(SpectralKernel, self.kernel, self.bandwidth)
        W = draw_frequencies(kernel.without_lengths(), self.n_frequencies, d, seed_sequence(self.random_state))
        lengths = np.linalg.norm(W, axis=0)
        for first in range(0, W.shape[1], d):
            Q, R = np.linalg.qr(W[:, first : first + d])
            W[:, first : first + d] = np.copysign(1, np.diag(R)) * Q
        self.set_pairs(kernel.fold(W * lengths))
        return self
