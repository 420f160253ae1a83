"""Arc-cosine kernels: those of wide networks of one hidden layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.arrays import Floats
from rffbench.kernels.base import ActivationKernel, distances


@dataclass(frozen=True)
class ArcCosineKernel(ActivationKernel):
    """The arc-cosine kernel of order n, (1/π)·‖x‖ⁿ‖x′‖ⁿ·J_n(θ), θ the angle between x and x′.

    J₀(θ) = π − θ and J₁(θ) = sin θ + (π − θ)·cos θ. It is E[a(wᵀx)·a(wᵀx′)], w ~ N(0, I), of the step a(t) = √2·[t > 0]
    for n = 0 and of the rectifier a(t) = √2·max(t, 0) for n = 1. It has no bandwidth: scaling the rows does not change
    order 0, and multiplies order 1. A row of zeros is taken as orthogonal to every row, so the step's a(0) is √2/2.

    References: Y. Cho and L. Saul, "Kernel methods for deep learning", NIPS 2009, Eq. 1 and 3.

    Parameters
    ----------
    order : 0, the step, or 1, the rectifier.
    """

    order: int = 1

    name: ClassVar[str] = "arc-cosine"
    formula: ClassVar[str] = "‖x‖ⁿ‖x′‖ⁿ·Jₙ(θ)/π, θ the angle of x and x′"
    choices: ClassVar[dict[str, tuple[object, ...]]] = {"order": (0, 1)}
    has_bandwidth: ClassVar[bool] = False
    rules: ClassVar[tuple[str, ...]] = ()
    homogeneous: ClassVar[bool] = True

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        lengths, U = _directions(X)
        others, V = (lengths, None) if Y is None else _directions(Y)
        chords = distances(U, V, "euclidean")  # 2·sin(θ/2), more accurate for small angles than the cosine
        zeros = np.logical_or.outer(lengths == 0, others == 0)
        angles = np.where(zeros, math.pi / 2, 2 * np.arcsin(np.minimum(chords / 2, 1)))
        if self.order == 0:
            return 1 - angles / math.pi
        J = np.sin(angles) + (math.pi - angles) * np.cos(angles)
        return np.outer(lengths, others) * (J / math.pi)

    def activation(self, T: Floats) -> Floats:
        if self.order == 0:
            np.heaviside(T, T.dtype.type(0.5), out=T)
        else:
            np.maximum(T, 0, out=T)
        np.multiply(T, T.dtype.type(math.sqrt(2)), out=T)
        return T


def _directions(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rows' lengths, and the rows divided by them; a row of zeros stays zero."""
    lengths = np.linalg.norm(X, axis=1)
    return lengths, X / np.where(lengths == 0, 1, lengths)[:, None]
