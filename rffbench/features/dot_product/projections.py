"""What maps share whose columns are products of random projections, real or complex."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from rffbench.features.dot_product.degrees import SeriesFeatures, Terms
from rffbench.kernels import MaclaurinKernel
from rffbench.linalg.products import projection_products
from rffbench.seeds import generator


class ProjectionProducts(SeriesFeatures):
    """Base class: an estimate of degree n is scale·r(x)·∏ᵢ (wᵢᵀx + bᵢ), i = 1 … n, w of signs or units.

    Attributes
    ----------
    directions_ : the w one after another, (d, their number) float64; of complex ones the real and imaginary part.
    offset_ : b, 0 but of ``degrees='product'``.
    degrees_ : of each estimate; of degree n are the next n w.
    scale_ : of each estimate.
    """

    directions_: NDArray[np.float64]
    offset_: NDArray[np.float64]

    def _entries(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        """``count`` draws of w, (count, d), or (2·count, d), drawn one by one."""
        raise NotImplementedError

    def _draw(self, kernel: MaclaurinKernel, terms: Terms, d: int, sequence: SeedSequence) -> None:
        factors = int(terms.degrees.sum())
        self.directions_ = terms.gain * self._entries(generator(sequence, "frequencies"), factors, d).T
        constants = self._entries(generator(sequence, "constants"), factors, 1)
        self.offset_ = terms.constant * constants[:, 0]
        self.directions_ = kernel.fold(self.directions_)

    def fill(self, X: Any, out: NDArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        W, offset, scale = (part.astype(X.dtype, copy=False) for part in (self.directions_, self.offset_, self.scale_))
        projection_products(X, W, offset, self.degrees_, scale, self.row_factors(X), *self._parts(out))

    def _parts(self, out: NDArray) -> list[NDArray]:
        """Where the products go: their real parts, and of complex ones the imaginary ones."""
        return [out]
