"""Perceptron features: the signs of random affine functions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import FeatureMap
from rffbench.kernels import HalfSpaceKernel, Kernel
from rffbench.linalg.trigonometric import sign_columns
from rffbench.plugins.parts import MapServes


def draw_perceptrons(
    count: int, d: int, radius: float, sequence: SeedSequence
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The stream's directions θ (d, count), uniform on the unit sphere, and thresholds α (count,) on ±radius.

    Sizes nest: the first of a larger draw are those of a smaller one.
    """
    directions = generator(sequence, "frequencies").standard_normal((count, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions.T, generator(sequence, "thresholds").uniform(-radius, radius, count)


class PerceptronFeatures(FeatureMap):
    """Random perceptrons φ(x)_j = sign(θ_jᵀx − α_j)/√D, θ uniform on the unit sphere, α uniform on [−R, R].

    E[φ(x)ᵀφ(x′)] is the perceptron kernel 1 − c_d‖x − x′‖₂/R (`rffbench.kernels.PerceptronKernel`) for x and
    x′ within R of the origin, and the error falls as 1/√D, D = ``n_components``. sign(0) is 1.

    Parameters
    ----------
    n_components : D, the number of output columns.
    kernel : 'perceptron', the only kernel that these features approximate.
    gamma : 1/R, where R is the radius of a ball around the origin that holds the data.
    random_state : as in RandomFourierFeatures; with the same stream the first columns of a larger map have the
        directions and thresholds of a smaller one.

    Attributes
    ----------
    directions_ : θ, (d, D) float64, unit columns.
    thresholds_ : α, (D,) float64.
    scale_ : 1/√D.

    Notes
    -----
    X is (n, d), float64 or float32; ``transform`` keeps the dtype. Points beyond R have features too, but their
    products do not estimate the kernel's formula.

    References
    ----------
    H.-T. Lin and L. Li, "Support vector machinery for infinite ensemble learning", JMLR 9, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from rffbench import PerceptronFeatures
    >>> X = np.array([[0.0, 0.0], [0.6, 0.8]])
    >>> Z = PerceptronFeatures(20_000, gamma=0.5, random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - (1 - 2 / np.pi * 0.5)) < 0.02)
    True
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=HalfSpaceKernel, fits_on="the rows' radius", row_cost="d*D + D",
        nests=("directions_", "thresholds_"), source="Lin and Li, JMLR 2008",
    )  # fmt: skip
    accepts_sparse = True

    directions_: NDArray[np.float64]
    thresholds_: NDArray[np.float64]
    scale_: float

    def __init__(
        self, n_components: int = 100, *, kernel: str | Kernel = "perceptron", gamma: float = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)

    def fit(self, X: Any, y: Any = None) -> PerceptronFeatures:
        """Draw the perceptrons for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        self.directions_, self.thresholds_ = draw_perceptrons(
            self.n_components, X.shape[1], 1 / float(self.bandwidth), seed_sequence(self.random_state)
        )
        self.kernel_.fold(self.directions_)
        self.scale_ = 1 / np.sqrt(self.n_components)
        return self

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, D), both of one dtype; unvalidated."""
        directions, thresholds = (part.astype(X.dtype, copy=False) for part in (self.directions_, self.thresholds_))
        sign_columns(X, directions, thresholds, out, scale=self.scale_)
