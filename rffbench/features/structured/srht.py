"""Frequencies from one randomised Hadamard transform, SRHT."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from rffbench.arguments.seeds import RandomState
from rffbench.errors import Fallback
from rffbench.features.by_inputs import AUTO
from rffbench.features.structured.hadamard import ROTATIONS, Block, HadamardFeatures
from rffbench.kernels import GaussianKernel, IsotropicKernel, Kernel
from rffbench.plugins.parts import MapServes

FEW_SIGNS = 16  # inputs up to which all pairs of rows feel that frequencies are signs


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
    rotation : 'structured', the products; 'dense', a Haar-distributed draw in each block, with lengths that are drawn;
        'auto', 'dense' for four inputs or fewer, where the products are far from uniform, else 'structured'.
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
        bias="a structured frequency's entries are all ±1/σ", source="Tropp, 2011",
    )  # fmt: skip

    choices: ClassVar[dict[str, tuple[object, ...]]] = {"rotation": ROTATIONS}

    def __init__(
        self, n_components: int = 100, *, rotation: str = AUTO, kernel: str | Kernel = "gaussian",
        gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.rotation = rotation

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw the blocks for X's columns; X's values and y are not used. It warns where the kernel is far off."""
        super().fit(X)
        if self.rotation == AUTO and self._dense is None and self.n_features_in_ <= FEW_SIGNS:
            warnings.warn(
                f"srht's frequencies in {self.n_features_in_} inputs are all ±1/σ in each: for rows that differ in few "
                "inputs the kernel is another one; sorf and fastfood are right",
                Fallback, stacklevel=2,
            )  # fmt: skip
        return self

    def _block(self, kernel: IsotropicKernel, N: int, rng: Generator, of_lengths: Generator) -> Block:
        return [rng.choice([-1.0, 1.0], N)], None, np.ones(N)
