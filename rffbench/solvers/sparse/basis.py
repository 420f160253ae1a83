"""The basis functions φ_h of the kernels, unscaled, among which ℓ1-penalised machines choose.

A cosine is cos(wᵀx + b), with w from the kernel's spectral density and b uniform on [0, 2π). A perceptron is
sign(θᵀx − α), with θ uniform on the unit sphere, α uniform on [−1/γ, 1/γ], and sign(0) = 1. Both are functions of
directionᵀx + offset. Draws nest, and are those of `RandomFourierFeatures` (form 'offset') and `PerceptronFeatures` on
the same stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from rffbench.features.activation.perceptron import draw_perceptrons
from rffbench.features.base import draw_frequencies, draw_phases
from rffbench.kernels import HalfSpaceKernel, Kernel, SpectralKernel, make_kernel, with_trait
from rffbench.linalg.trigonometric import fourier_columns

BLOCK_ELEMENTS = 1 << 20  # values per block if they need a temporary array


class Functions(NamedTuple):
    """Functions of a basis: ``directions`` (m, d) and ``offsets`` (m,), float64."""

    directions: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def part(self, which: NDArray | slice) -> Functions:
        """The functions at the positions ``which``."""
        return Functions(self.directions[which], self.offsets[which])

    @staticmethod
    def joined(parts: Sequence[Functions]) -> Functions:
        """All of ``parts``, one after the other."""
        directions, offsets = zip(*parts, strict=True)
        return Functions(np.concatenate(directions), np.concatenate(offsets))


def with_ones(X: NDArray) -> NDArray:
    """[X | 1]ᵀ, (d + 1, n) in C order, the inputs of `Basis.evaluate`."""
    return np.vstack([X.T, np.ones((1, len(X)), X.dtype)])


class Basis:
    """The basis of ``kernel`` with γ = ``gamma``; ValueError if the kernel has none."""

    def __init__(self, kernel: str | Kernel, gamma: float) -> None:
        self.kernel = make_kernel(kernel, gamma)
        self.signs = isinstance(self.kernel, HalfSpaceKernel)
        if not self.signs and not isinstance(self.kernel, SpectralKernel):
            served = [*with_trait(SpectralKernel), *with_trait(HalfSpaceKernel)]
            raise ValueError(f"the {self.kernel.name} kernel has no basis of functions; {', '.join(served)} have")

    def column_dtype(self, dtype: np.dtype) -> np.dtype:
        """The dtype of stored values: a byte for signs, the data's dtype for cosines."""
        return np.dtype(np.int8) if self.signs else np.dtype(dtype)

    def draw(self, count: int, d: int, sequence: SeedSequence) -> Functions:
        """The first ``count`` functions of the stream, for d inputs."""
        if isinstance(self.kernel, SpectralKernel):
            return Functions(draw_frequencies(self.kernel, count, d, sequence).T, draw_phases(count, sequence))
        assert isinstance(self.kernel, HalfSpaceKernel)
        directions, thresholds = draw_perceptrons(count, d, self.kernel.ball, sequence)
        return Functions(self.kernel.fold(directions).T, -thresholds)

    def evaluate(self, functions: Functions, inputs: NDArray, out: NDArray) -> None:
        """Write φ_j(x_i) into out[j, i], (m, n); ``inputs`` is [X | 1]ᵀ, float32 or float64. ``out`` has the inputs'
        dtype for cosines, and any dtype for signs."""
        rows = np.column_stack(functions).astype(inputs.dtype)  # an offset is the coefficient of the input 1
        if not self.signs:
            fourier_columns(rows, inputs, cos=out)
            return
        size = max(1, BLOCK_ELEMENTS // max(1, len(rows)))
        for start in range(0, inputs.shape[1], size):
            block = slice(start, start + size)
            np.multiply(rows @ inputs[:, block] >= 0, 2, out=out[:, block], casting="unsafe", dtype=np.int8)
            out[:, block] -= 1
