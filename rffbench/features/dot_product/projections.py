"""Base of the maps whose columns are products of random projections, real or complex."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.seeds import RandomState, generator
from rffbench.features.dot_product import allocation
from rffbench.features.dot_product.degrees import SeriesFeatures, Terms
from rffbench.kernels import Kernel, MaclaurinKernel
from rffbench.linalg.hadamard import next_power_of_two, walsh_hadamard
from rffbench.linalg.products import projection_products, transformed_products
from rffbench.plugins.parts import MapServes


class ProjectionProducts(SeriesFeatures):
    """Base class: an estimate of degree n is scale·r(x)·∏ᵢ (wᵢᵀx + bᵢ), i = 1 … n, with E[wᵢᵀx·conj(wᵢᵀx′)] = xᵀx′.

    ``projection`` says how w is drawn: 'rademacher', random signs, or units for complex maps; 'gaussian', N(0, 1), or
    complex normal numbers of variance 1; 'srht', rows of H·D, with D random signs or units and H the Walsh–Hadamard
    matrix of order N, the next power of two from d. Each row of H·D has the law of 'rademacher', and the N rows are
    orthogonal. The first w of all columns are rows of ⌈columns/N⌉ such matrices, each row once, in random order. The
    second w come from other matrices, and so on: a column's own w are independent, so that its mean is right. N of them
    take N·log₂N additions in place of N·d multiply-adds.

    A subclass draws random signs or units in ``_entries``.

    Attributes
    ----------
    directions_ : the w one after another, (d, their number) float64; for complex ones real and imaginary parts. With
        'srht' they are multiplied out on demand.
    offset_ : b, 0 except with ``degrees='product'``.
    degrees_ : the degree n of each estimate, which takes the next n w.
    scale_ : the factor of each estimate.
    """

    serves: ClassVar[MapServes] = replace(SeriesFeatures.serves, row_cost="h*r*D")
    choices: ClassVar[dict[str, tuple[object, ...]]] = {
        **SeriesFeatures.choices, "projection": ("rademacher", "gaussian", "srht"),
    }  # fmt: skip
    parts: ClassVar[int] = 1
    """Real numbers in an entry of w: 2 if w is complex."""

    projection: str
    _directions: NDArray[np.float64]  # w and b, or with 'srht':
    _offset: NDArray[np.float64]
    _signs: NDArray[np.float64]  # D, (parts, blocks, N)
    _constants: NDArray[np.float64]  # the constant after x's d inputs, times its sign, (parts, blocks)
    _places: NDArray[np.int64]  # the place of each projection among the blocks·N of all blocks

    def __init__(
        self, n_components: int = 100, *, degrees: str = "optimised", projection: str = "rademacher",
        linear: str = "sampled", kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(
            n_components, degrees=degrees, linear=linear, kernel=kernel, gamma=gamma, random_state=random_state
        )
        self.projection = projection

    def letters(self, d: int) -> dict[str, float]:
        """h of the formulas, and r, the multiply-adds of a projection."""
        return {**super().letters(d), "r": math.log2(next_power_of_two(d)) + 1 if self.projection == "srht" else d}

    def law(self, d: int) -> allocation.Law:
        complex_ = self.parts == 2
        if self.projection == "srht":
            return partial(allocation.transforms, block=next_power_of_two(d), complex_=complex_)
        return partial(allocation.normals if self.projection == "gaussian" else allocation.signs, complex_=complex_)

    def _entries(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        """``count`` draws of w from signs or units, (count, d) or (2·count, d), drawn one by one."""
        raise NotImplementedError

    def _draw(self, kernel: MaclaurinKernel, terms: Terms, d: int, sequence: SeedSequence) -> None:
        if self.projection == "srht":
            self._draw_blocks(kernel, terms, d, sequence)
            return
        entries = self._normal_entries if self.projection == "gaussian" else self._entries
        factors = int(terms.degrees.sum())
        directions = terms.gain * entries(generator(sequence, "frequencies"), factors, d).T
        constants = entries(generator(sequence, "constants"), factors, 1)
        self._directions, self._offset = kernel.fold(directions), terms.constant * constants[:, 0]

    def _normal_entries(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        return rng.standard_normal((self.parts * count, d)) / math.sqrt(self.parts)

    def _draw_blocks(self, kernel: MaclaurinKernel, terms: Terms, d: int, sequence: SeedSequence) -> None:
        """At each level, the columns take the rows of the blocks in their order, so that sizes nest."""
        N = next_power_of_two(d + bool(terms.constant))
        starts, places = np.cumsum(terms.degrees) - terms.degrees, np.empty(terms.degrees.sum(), np.int64)
        drawn: list[NDArray[np.float64]] = []
        for level in range(int(terms.degrees.max(initial=0))):
            rng, columns = generator(sequence, f"transforms of level {level}"), np.flatnonzero(terms.degrees > level)
            for first in range(0, len(columns), N):
                some = columns[first : first + N]
                places[starts[some] + level] = N * len(drawn) + rng.permutation(N)[: len(some)]
                drawn.append(self._entries(rng, 1, N))
        self._signs, self._places = np.stack(drawn, axis=1) if drawn else np.zeros((self.parts, 0, N)), places
        self._constants = terms.constant * self._signs[:, :, min(d, N - 1)]
        self._signs *= terms.gain
        for signs in self._signs:
            kernel.fold(signs[:, :d].T)

    @property
    def directions_(self) -> NDArray[np.float64]:
        """w, (d, parts·Σ n) float64."""
        return self._multiplied_out()[:-1] if self.projection == "srht" else self._directions

    @property
    def offset_(self) -> NDArray[np.float64]:
        """b, (parts·Σ n,) float64."""
        return self._multiplied_out()[-1] if self.projection == "srht" else self._offset

    def _multiplied_out(self) -> NDArray[np.float64]:
        """w and under them b, (d + 1, parts·Σ n)."""
        (parts, blocks, N), d = self._signs.shape, self.n_features_in_
        T = np.zeros((d + 1, parts, blocks, N))
        T[range(d), :, :, range(d)] = np.moveaxis(self._signs[:, :, :d], 2, 0)
        T[d, :, :, min(d, N - 1)] = self._constants
        return walsh_hadamard(T).reshape(d + 1, parts, -1)[:, :, self._places].swapaxes(1, 2).reshape(d + 1, -1)

    def _fill(self, X: Any, out: FloatArray) -> None:
        srht = self.projection == "srht"
        drawn = (self._signs, self._constants) if srht else (self._directions, self._offset)
        first, second, scale = (part.astype(X.dtype, copy=False) for part in (*drawn, self.scale_))
        shared = self.degrees_, scale, self.row_factors(X), *self._products_in(out)
        if srht:
            transformed_products(X, first, second, self._places, *shared)
        else:
            projection_products(X, first, second, *shared)

    def _products_in(self, out: FloatArray) -> list[FloatArray]:
        """The columns for the real parts of the products, and for the imaginary parts if they are complex."""
        return [out]
