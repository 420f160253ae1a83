"""Compact random features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.seeds import RandomState
from rffbench.features.structured.projected import ProjectedFeatures
from rffbench.kernels import Kernel
from rffbench.linalg.hadamard import next_power_of_two
from rffbench.linalg.sketches import SRHT
from rffbench.plugins.parts import MapServes


class CompactFeatures(ProjectedFeatures):
    """Compact random features: φ(x) = F(x)·Θ, random Fourier features projected by a random Hadamard transform.

    F(x) are m = ``expansion``·l paired random Fourier features, Θ (m×l) an SRHT (`rffbench.linalg.sketches.SRHT`) that
    does not depend on the data. E[ΘΘᵀ] = I, so the estimate of the kernel is unbiased. Its error falls as 1/√l for
    every expansion, because the projection also has an error.

    Parameters
    ----------
    n_components : l, the number of output columns.
    expansion : m/l, 1 or more.
    kernel : 'gaussian', 'laplacian' or 'cauchy'.
    gamma, random_state : as in RandomFourierFeatures, which has the same frequencies.

    Attributes
    ----------
    fourier_ : the map F, a RandomFourierFeatures.
    sketch_ : Θ. Its rows are padded from m to a power of two.

    References
    ----------
    R. Hamid, Y. Xiao, A. Gittens, D. DeCoste, "Compact random feature maps", ICML 2014, Algorithm 1 (for
    polynomial kernels); on shift-invariant kernels as in Chen et al. (IJCAI 2015).
    """

    serves: ClassVar[MapServes] = replace(
        ProjectedFeatures.serves, row_cost="d*m/2 + t*m + m*log2(m)", source="Hamid et al., ICML 2014"
    )
    tile_rows: ClassVar[int] = 128
    sketch_: SRHT

    def __init__(
        self, n_components: int = 100, *, expansion: float = 4, kernel: str | Kernel = "gaussian",
        gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.expansion = expansion

    def fit(self, X: Any, y: Any = None) -> CompactFeatures:
        """Draw F and Θ for X's columns; X's values and y are not used."""
        self._expand(X)
        self.sketch_ = SRHT(self.n_expanded, self.n_components, self.fourier_.random_state)
        return self

    @property
    def tile_columns(self) -> int:
        return next_power_of_two(self.n_expanded)

    def _project(self, F: FloatArray, out: FloatArray) -> None:
        self.sketch_.project(F, out)
