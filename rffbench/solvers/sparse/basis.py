"""The basis functions φ_h of the kernels, unscaled: what ℓ1-penalised machines choose among.

A cosine is cos(wᵀx + b), w from the kernel's spectral density and b uniform on [0, 2π); a perceptron sign(θᵀx − α),
θ uniform on the unit sphere and α on ±1/γ, with sign(0) = 1. Either is a function of directionᵀx + offset. Draws
nest, and are those of `RandomFourierFeatures` (form 'offset') and `PerceptronFeatures` on the same stream.
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

BLOCK_ELEMENTS = 1 << 20  # values computed at a time, where they need a place besides the one they are written to


class Functions(NamedTuple):
    """Some functions of a basis: ``directions`` (m, d) and ``offsets`` (m,), float64."""

    directions: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def part(self, which: NDArray | slice) -> Functions:
        """Those at the positions ``which``."""
        return Functions(self.directions[which], self.offsets[which])

    @staticmethod
    def joined(parts: Sequence[Functions]) -> Functions:
        """All of ``parts``, one after the other."""
        directions, offsets = zip(*parts, strict=True)
        return Functions(np.concatenate(directions), np.concatenate(offsets))


def with_ones(X: NDArray) -> NDArray:
    """[X | 1]ᵀ, (d + 1, n) in C order: inputs as `Basis.evaluate` takes them."""
    return np.vstack([X.T, np.ones((1, len(X)), X.dtype)])


class Basis:
    """The basis of the kernel called ``kernel`` with parameter γ = ``gamma``; ValueError if there is none."""

    def __init__(self, kernel: str | Kernel, gamma: float) -> None:
        self.kernel = make_kernel(kernel, gamma)
        self.signs = isinstance(self.kernel, HalfSpaceKernel)
        if not self.signs and not isinstance(self.kernel, SpectralKernel):
            served = [*with_trait(SpectralKernel), *with_trait(HalfSpaceKernel)]
            raise ValueError(f"the {self.kernel.name} kernel has no basis of functions; {', '.join(served)} have")

    def column_dtype(self, dtype: np.dtype) -> np.dtype:
        """What training values are kept in: signs in a byte, cosines in the data's dtype."""
        return np.dtype(np.int8) if self.signs else np.dtype(dtype)

    def draw(self, count: int, d: int, sequence: SeedSequence) -> Functions:
        """The first ``count`` functions of the stream, for d inputs."""
        if isinstance(self.kernel, SpectralKernel):
            return Functions(draw_frequencies(self.kernel, count, d, sequence).T, draw_phases(count, sequence))
        assert isinstance(self.kernel, HalfSpaceKernel)
        directions, thresholds = draw_perceptrons(count, d, self.kernel.ball, sequence)
        return Functions(self.kernel.fold(directions).T, -thresholds)

    def evaluate(self, functions: Functions, inputs: NDArray, out: NDArray) -> None:
        """Write φ_j(x_i) into out[j, i], (m, n); ``inputs`` is [X | 1]ᵀ, float32 or float64.

        A sign may be written as any number; cosines are of the inputs' dtype.
        """
        rows = np.column_stack(functions).astype(inputs.dtype)  # an offset is the coefficient of the input 1
        if not self.signs:
            fourier_columns(rows, inputs, cos=out)
            return
        size = max(1, BLOCK_ELEMENTS // max(1, len(rows)))
        for start in range(0, inputs.shape[1], size):
            block = slice(start, start + size)
            np.multiply(rows @ inputs[:, block] >= 0, 2, out=out[:, block], casting="unsafe", dtype=np.int8)
            out[:, block] -= 1
