"""Fastfood."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from rffbench.features.structured.hadamard import Block, HadamardFeatures
from rffbench.kernels import IsotropicKernel
from rffbench.plugins.parts import MapServes


class FastfoodFeatures(HadamardFeatures):
    """Fastfood: an isotropic kernel's frequencies out of Hadamard matrices, V = (1/√N)·S·H·G·Π·H·B.

    B: random signs, Π: a random permutation, G: a standard normal diagonal, H: the Walsh–Hadamard matrix. S gives the
    rows the lengths of the kernel's frequencies, which are drawn and divided by ‖G‖; √(2γ)·χ_N for the Gaussian kernel.
    φ(x) = [cos(Vx) | sin(Vx)]/√s, s = ``n_components``/2.

    x is padded with zeros from d to the next power of two N, and ⌈s/N⌉ independent blocks V are stacked. For a point,
    time is O(s log d) and memory O(s), instead of O(s·d). Each row of V is exactly a draw from the spectral density, so
    the estimate of the kernel is unbiased. The rows of a block are uncorrelated but not independent. The error falls as
    1/√s with the number of blocks.

    Parameters
    ----------
    n_components : number of output columns, even; N need not divide the number of frequencies.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)), 'matern', 'rational-quadratic', or a `Kernel` with an isotropic density.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState; sizes nest.

    Attributes
    ----------
    diagonals_ : B and G, (2, blocks, N) float64.
    permutation_ : Π, (blocks, N).
    lengths_ : S/√N, (blocks, N) float64.
    frequencies_ : Vᵀ (d, s) float64, multiplied out when it is asked for.

    References
    ----------
    Q. Le, T. Sarlós, A. Smola, "Fastfood: approximating kernel expansions in loglinear time", ICML 2013, Eq. 7.
    """

    serves: ClassVar[MapServes] = replace(
        HadamardFeatures.serves, row_cost="2*s*log2(N) + 2*s + t*D",
        source="Le et al., ICML 2013",
    )  # fmt: skip

    def _block(self, kernel: IsotropicKernel, N: int, rng: Generator, of_lengths: Generator) -> Block:
        signs = rng.choice([-1.0, 1.0], N)
        permutation = rng.permutation(N).astype(np.int32)
        gaussian = rng.standard_normal(N)
        lengths = kernel.unit_radii(rng, N, N)
        return [signs, gaussian], permutation, lengths / (np.linalg.norm(gaussian) * np.sqrt(N))
