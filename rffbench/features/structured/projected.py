"""What maps share that project a larger number of random Fourier features."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rffbench.features.base import FeatureMap
from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.kernels import SpectralKernel
from rffbench.linalg.hadamard import next_power_of_two
from rffbench.linalg.threads import side_by_side
from rffbench.parameters import WrongParameter, is_number
from rffbench.parts import MapServes
from rffbench.rowsource import row_blocks
from rffbench.seeds import seed_sequence

TILE_ROWS = 512  # rows whose Fourier features a thread has at a time when mapping
AT_ONCE = 4  # threads at most


class ProjectedFeatures(FeatureMap):
    """Base class: the m random Fourier features F(x) of the stream, projected to l = ``n_components`` columns.

    m is ``expansion``·l, rounded up to whole pairs of a cosine and a sine. A subclass implements ``fit``,
    beginning with ``_expand``, and ``_project``.
    """

    serves: ClassVar[MapServes] = MapServes(kernels=SpectralKernel, nests=("fourier_.frequencies_",))
    accepts_sparse = True

    expansion: float
    fourier_: RandomFourierFeatures

    def check_parameters(self) -> None:
        super().check_parameters()
        if not is_number(self.expansion) or self.expansion < 1:
            problem = f"must be a number, 1 or more, so that at least the {self.n_components} columns to keep are made"
            raise WrongParameter("expansion", f"{problem}, got {self.expansion!r}")

    @property
    def n_expanded(self) -> int:
        """m, the columns of F: even, l or more."""
        return 2 * int(np.ceil(self.expansion * self.n_components / 2))

    def letters(self, d: int) -> dict[str, float]:
        """m of the formulas."""
        return {"m": self.n_expanded}

    @property
    def bytes_to_map(self) -> int:
        """What mapping a block of rows holds besides its features: tiles of F, and of what it is padded to."""
        return 8 * AT_ONCE * TILE_ROWS * (self.n_expanded + next_power_of_two(self.n_expanded))

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

        def fill_rows(rows: slice) -> None:
            tile = np.empty((rows.stop - rows.start, self.n_expanded), X.dtype)
            self.fourier_.fill(X[rows], tile)
            self._project(tile, out[rows])

        side_by_side([partial(fill_rows, rows) for rows in row_blocks(X.shape[0], TILE_ROWS)], AT_ONCE)

    def _project(self, F: NDArray, out: NDArray) -> None:
        """Write what becomes of the Fourier features F (n, m) into ``out`` (n, l)."""
        raise NotImplementedError
