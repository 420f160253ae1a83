"""Base of the maps that project a larger number of random Fourier features."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter, is_number
from rffbench.arguments.rowsource import row_blocks
from rffbench.arguments.seeds import seed_sequence
from rffbench.features.base import FeatureMap, write_columns
from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.kernels import SpectralKernel
from rffbench.linalg.threads import side_by_side
from rffbench.plugins.parts import MapServes

TASK_ROWS = 512  # rows that a thread maps before it takes the next ones
AT_ONCE = 4  # threads at most


class ProjectedFeatures(FeatureMap):
    """Base class: the m random Fourier features F(x) of the stream, projected to l = ``n_components`` columns.

    m is ``expansion``·l, rounded up to whole pairs of a cosine and a sine. A subclass implements ``fit``,
    beginning with ``_expand``, and ``_project``.
    """

    serves: ClassVar[MapServes] = MapServes(kernels=SpectralKernel, nests=("fourier_.frequencies_",))
    accepts_sparse = True

    tile_rows: ClassVar[int] = TASK_ROWS
    """Rows whose Fourier features a thread holds at a time when mapping."""

    expansion: float
    fourier_: RandomFourierFeatures

    def check_parameters(self) -> None:
        super().check_parameters()
        if not is_number(self.expansion) or self.expansion < 1:
            problem = f"must be a number, 1 or more, to make at least the {self.n_components} columns that are kept"
            raise WrongParameter("expansion", f"{problem}, got {self.expansion!r}")

    @property
    def n_expanded(self) -> int:
        """m, the columns of F: even, l or more."""
        return 2 * int(np.ceil(self.expansion * self.n_components / 2))

    def letters(self, d: int) -> dict[str, float]:
        """m of the formulas."""
        return {"m": self.n_expanded}

    @property
    def tile_columns(self) -> int:
        """The columns of a tile: first those of F, then padding."""
        return self.n_expanded

    @property
    def bytes_to_map(self) -> int:
        """The bytes that mapping a block of rows takes besides its features: a tile for each thread."""
        return 8 * AT_ONCE * self.tile_rows * self.tile_columns

    def _expand(self, X: Any) -> Any:
        """Check parameters and X, and draw F for X's columns. Returns X as an array or row source."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        self.fourier_ = RandomFourierFeatures(
            self.n_expanded, kernel=self.kernel, gamma=self.bandwidth, random_state=seed_sequence(self.random_state)
        ).fit(X[0:1])
        return X

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, l), both of one dtype; unvalidated."""
        m, blocks = self.n_expanded, self.fourier_.column_blocks(self.n_expanded, X.dtype)

        def fill_rows(task: slice) -> None:
            tile = np.empty((min(self.tile_rows, task.stop - task.start), self.tile_columns), X.dtype)
            for first in range(task.start, task.stop, self.tile_rows):
                rows = slice(first, min(task.stop, first + self.tile_rows))
                F = tile[: rows.stop - first]
                write_columns(X[rows], blocks, F[:, :m])
                self._project(F, out[rows])

        side_by_side([partial(fill_rows, rows) for rows in row_blocks(X.shape[0], TASK_ROWS)], AT_ONCE)

    def _project(self, F: FloatArray, out: FloatArray) -> None:
        """Write the projected Fourier features F (n, tile_columns), which may be written over, into ``out`` (n, l)."""
        raise NotImplementedError
