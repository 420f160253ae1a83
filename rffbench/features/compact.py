"""Features projected from a larger number of random Fourier features: what such maps share, and compact features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.features.base import FeatureMap
from rffbench.features.fourier import RandomFourierFeatures
from rffbench.linalg.hadamard import next_power_of_two
from rffbench.linalg.sketches import SRHT
from rffbench.parameters import WrongParameter, is_number
from rffbench.seeds import RandomState, seed_sequence

TILE_ROWS = 512  # rows whose Fourier features exist at a time when mapping


class ProjectedFeatures(FeatureMap):
    """Base class: the m random Fourier features F(x) of the stream, projected to l = ``n_components`` columns.

    m is ``expansion``·l, rounded up to whole pairs of a cosine and a sine. A subclass implements ``fit``,
    beginning with ``_expand``, and ``_project``.
    """

    accepts_sparse = True

    expansion: float
    fourier_: RandomFourierFeatures

    def check_parameters(self) -> None:
        super().check_parameters()
        RandomFourierFeatures(2, kernel=self.kernel, gamma=self.gamma).check_parameters()
        if not is_number(self.expansion) or self.expansion < 1:
            problem = f"must be a number, 1 or more, so that at least the {self.n_components} columns to keep are made"
            raise WrongParameter("expansion", f"{problem}, got {self.expansion!r}")

    @property
    def n_expanded(self) -> int:
        """m, the columns of F: even, l or more."""
        return 2 * int(np.ceil(self.expansion * self.n_components / 2))

    @property
    def bytes_to_map(self) -> int:
        """What mapping a block of rows holds besides its features: a tile of F, and of what it is padded to."""
        return 8 * TILE_ROWS * (self.n_expanded + next_power_of_two(self.n_expanded))

    def _expand(self, X: Any) -> Any:
        """Check everything and draw F for X's columns; X as an array or row source."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        self.fourier_ = RandomFourierFeatures(
            self.n_expanded, kernel=self.kernel, gamma=self.bandwidth, random_state=seed_sequence(self.random_state)
        ).fit(X[0:1])
        return X

    def fill(self, X: NDArray, out: NDArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, l), both of one dtype; unvalidated."""
        n = X.shape[0]
        F = np.empty((min(n, TILE_ROWS), self.n_expanded), X.dtype)
        for start in range(0, n, TILE_ROWS):
            rows = slice(start, min(n, start + TILE_ROWS))
            tile = F[: rows.stop - start]
            self.fourier_.fill(X[rows], tile)
            self._project(tile, out[rows])

    def _project(self, F: NDArray, out: NDArray) -> None:
        """Write what becomes of the Fourier features F (n, m) into ``out`` (n, l)."""
        raise NotImplementedError


class CompactFeatures(ProjectedFeatures):
    """Compact random features: φ(x) = F(x)·Θ, random Fourier features projected by a random Hadamard transform.

    F(x) are m = ``expansion``·l paired random Fourier features, Θ (m×l) an SRHT (`rffbench.linalg.sketches.SRHT`) that
    does not depend on the data. E[ΘΘᵀ] = I, so the estimate of the kernel is unbiased. Its error falls as 1/√l for
    every expansion, because the projection has an error of its own.

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

    sketch_: SRHT

    def __init__(
        self, n_components: int = 100, *, expansion: float = 4, kernel: str = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.expansion = expansion
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> CompactFeatures:
        """Draw F and Θ for X's columns; X's values and y are not used."""
        self._expand(X)
        self.sketch_ = SRHT(self.n_expanded, self.n_components, self.fourier_.random_state)
        return self

    def _project(self, F: NDArray, out: NDArray) -> None:
        out[:] = self.sketch_.columns(F)
