"""Structured orthogonal random features, SORF."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from rffbench.arguments.seeds import RandomState
from rffbench.features.by_inputs import AUTO
from rffbench.features.structured.hadamard import Block
from rffbench.features.structured.rom import RandomOrthoMatrixFeatures
from rffbench.kernels import IsotropicKernel, Kernel
from rffbench.plugins.parts import MapServes


class StructuredOrthogonalFeatures(RandomOrthoMatrixFeatures):
    """SORF, structured orthogonal random features: W = C·H·D₁·H·D₂·H·D₃, H the orthonormal Walsh–Hadamard matrix.

    D are three diagonals of random signs, C holds the lengths; φ(x) = [cos(Wx) | sin(Wx)]/√s, s = ``n_components``/2.
    Padding from d to N and stacking are as in FastfoodFeatures, with three transforms. With the paper's fixed lengths,
    √N/σ, the estimate of the kernel has a bias of O(1/√N). With drawn lengths there is still a small bias, because the
    directions are not quite uniform.

    Parameters
    ----------
    n_components : number of output columns, even.
    lengths : 'chi', drawn as those of the kernel's frequencies in N dimensions, √(2γ)·χ_N for the Gaussian kernel; or
        'fixed', the paper's, all √(2γN), only for the Gaussian kernel.
    transposed : whether W = C·D₁·H·D₂·H·D₃·H, as in some released code. The input then meets no random sign before the
        first H, and in few dimensions there are fewer directions.
    rotation : 'structured', the products; 'dense', a Haar-distributed draw in each block, with lengths that are drawn;
        'auto', 'dense' for four inputs or fewer, where the products are far from uniform, else 'structured'.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)), 'matern', 'rational-quadratic', or a `Kernel` with an isotropic density.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in FastfoodFeatures; sizes nest, and signs do not depend on ``lengths``.

    Attributes
    ----------
    diagonals_ : D₃, D₂, D₁, (3, blocks, N) float64.
    lengths_ : C over the factors of H, (blocks, N) float64.
    frequencies_ : Wᵀ (d, s) float64, multiplied out when it is asked for.

    References
    ----------
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar, "Orthogonal random features", NIPS 2016, Eq. 5.
    """

    serves: ClassVar[MapServes] = replace(
        RandomOrthoMatrixFeatures.serves, row_cost="3*s*log2(N) + 3*s + t*D", source="Yu et al., NIPS 2016"
    )
    products = 3

    def __init__(
        self, n_components: int = 100, *, lengths: str = "chi", transposed: bool = False, rotation: str = AUTO,
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.lengths = lengths
        self.transposed = transposed
        self.rotation = rotation
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def _block(self, kernel: IsotropicKernel, N: int, rng: Generator, of_lengths: Generator) -> Block:
        (first, *others), permutation, lengths = super()._block(kernel, N, rng, of_lengths)
        if self.transposed:  # the signs that come first are those of the rows
            return [np.ones(N), *others], permutation, first * lengths
        return [first, *others], permutation, lengths
