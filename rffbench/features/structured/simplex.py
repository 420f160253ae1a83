"""Simplex random features."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rffbench.features.base import FourierFeatures
from rffbench.features.structured.orthogonal import OrthogonalRandomFeatures
from rffbench.plugins.parts import MapServes


class SimplexRandomFeatures(OrthogonalRandomFeatures):
    """Simplex random features: frequencies whose directions point, in groups of d, to the corners of a regular simplex.

    As OrthogonalRandomFeatures, with √(d/(d−1))·Q·(I − 11ᵀ/d) in place of Q: unit vectors at the angle arccos(−1/(d−1))
    to each other, as far apart as d directions can be. Each is uniform on the sphere, so that the estimate of the
    kernel is unbiased. Its error falls as 1/√s. A cosine is even, so an obtuse angle is no better for Fourier features
    than the acute angle beside it. Their error is above that of orthogonal ones: by little in many dimensions, by much
    in two, where both frequencies of a group have the same direction. Positive features gain by the simplex. Cost: as
    OrthogonalRandomFeatures.

    Parameters
    ----------
    n_components : number of output columns, even.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)), 'matern', 'rational-quadratic', or a `Kernel` with an isotropic density.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in OrthogonalRandomFeatures, whose rotations and lengths these are; sizes nest.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    weights_, probabilities_ : (s,), ones and 1/s.

    References
    ----------
    I. Reid, K. Choromanski, V. Likhosherstov, A. Weller, "Simplex random features", ICML 2023, Section 3. The paper's
    simplex differs from this one by a rotation.
    """

    serves: ClassVar[MapServes] = replace(OrthogonalRandomFeatures.serves, source="Reid et al., ICML 2023")
    choices: ClassVar[dict[str, tuple[object, ...]]] = {}
    of_whole_blocks: ClassVar[bool] = True
    block, signs, lengths = "square", "haar", "own"

    __init__ = FourierFeatures.__init__  # the block of a simplex is square

    def _directions(self, Q: NDArray[np.float64]) -> NDArray[np.float64]:
        d = len(Q)
        return Q if d == 1 else np.sqrt(d / (d - 1)) * (Q - Q.mean(axis=1, keepdims=True))
