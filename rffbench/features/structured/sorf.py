"""Structured orthogonal random features, SORF."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rffbench.features.structured.hadamard import HadamardFeatures
from rffbench.parts import MapServes


class StructuredOrthogonalFeatures(HadamardFeatures):
    """SORF, structured orthogonal random features: W = (√N/σ)·H·D₁·H·D₂·H·D₃, H orthonormal, 1/σ = √(2γ).

    Three random sign diagonals D; φ(x) = [cos(Wx) | sin(Wx)]/√s, s = ``n_components``/2. Padding and stacking as
    in FastfoodFeatures. All frequencies have length √N/σ, about that of Gaussian ones when N is large: the
    estimate of the kernel is biased, by O(1/√N).

    Parameters
    ----------
    n_components : number of output columns, even.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
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

    serves: ClassVar[MapServes] = replace(
        HadamardFeatures.serves, row_cost="3*s*log2(N) + 3*s + t*D", bias="all frequencies have the length √N/σ",
        source="Yu et al., NIPS 2016",
    )  # fmt: skip

    def _block(
        self, N: int, rng: Generator
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.int32] | None, NDArray[np.float64]]:
        return list(rng.choice([-1.0, 1.0], (3, N))), None, np.full(N, 1 / N)
