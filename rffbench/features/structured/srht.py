"""Frequencies from one randomised Hadamard transform, SRHT."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from rffbench.features.structured.hadamard import Block, HadamardFeatures
from rffbench.kernels import GaussianKernel, IsotropicKernel
from rffbench.plugins.parts import MapServes


class SRHTFeatures(HadamardFeatures):
    """Frequencies from a single randomised Hadamard transform: W = (1/σ)·H·D, entries ±1/σ, 1/σ = √(2γ).

    D: random signs, H: the Walsh–Hadamard matrix. φ(x) = [cos(Wx) | sin(Wx)]/√s, s = ``n_components``/2. Padding and
    stacking are as in FastfoodFeatures. A projection wᵀx has mean 0 and variance ‖x‖²/σ², and is close to normal if x
    has many entries of similar size. If x has few non-zeros, it takes few values, and the estimate of the kernel is
    biased: at Δ = t·e₁ it is cos(t/σ) for every s. To avoid that, FastfoodFeatures and StructuredOrthogonalFeatures
    transform two and three times.

    Parameters
    ----------
    n_components : number of output columns, even.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
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

    serves: ClassVar[MapServes] = replace(
        HadamardFeatures.serves, kernels=GaussianKernel, row_cost="s*log2(N) + s + t*D",
        bias="a frequency's entries are all ±1/σ", source="Tropp, 2011",
    )  # fmt: skip

    def _block(self, kernel: IsotropicKernel, N: int, rng: Generator, of_lengths: Generator) -> Block:
        return [rng.choice([-1.0, 1.0], N)], None, np.ones(N)
