"""Numbers of columns for the degrees of a power series that minimise the estimated error of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffbench.kernels import MaclaurinKernel
from rffbench.kernels.base import squared_lengths

FEWEST_DEGREES, MOST_DEGREES = 2, 10  # after which an infinite series is cut, as in the paper


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows x, x′: xᵀx′, (xᵀx′)², ‖x‖²‖x′‖², Σ xᵢ²x′ᵢ² and r(x)·r(x′), (n, n) each."""

    dots: NDArray[np.float64]
    squared: NDArray[np.float64]
    lengths: NDArray[np.float64]
    products: NDArray[np.float64]
    factors: NDArray[np.float64]

    @classmethod
    def of(cls, kernel: MaclaurinKernel, rows: NDArray[np.float64]) -> Pairs:
        squares, factors = squared_lengths(rows), kernel.row_factor(rows)
        dots, of_squares = rows @ rows.T, np.square(rows)
        return cls(
            dots, np.square(dots), np.outer(squares, squares), of_squares @ of_squares.T, np.outer(factors, factors)
        )


class Spread(NamedTuple):
    """The spread of D columns of a degree: their estimate has the variance (variance + (min(D, block) − 1)·
    covariance)/D. The columns of one ``block`` are dependent; independent columns have block 1."""

    variance: NDArray[np.float64]
    covariance: NDArray[np.float64] | float = 0.0
    block: int = 1


Law = Callable[[Pairs, int], Spread]
"""The spread of an estimate of (xᵀx′)ⁿ, for pairs and a degree n."""


def signs(pairs: Pairs, n: int, *, complex_: bool = False) -> Spread:
    """Products of n projections on independent signs; ``complex_``: on 1, −1, i and −i (Wacker et al., Theorem 3.1)."""
    moment = pairs.lengths + (1 if complex_ else 2) * (pairs.squared - pairs.products)
    return Spread(moment**n - pairs.squared**n)


def normals(pairs: Pairs, n: int, *, complex_: bool = False) -> Spread:
    """Products of n projections on independent normal numbers, or complex ones."""
    return Spread((pairs.lengths + (1 if complex_ else 2) * pairs.squared) ** n - pairs.squared**n)


def transforms(pairs: Pairs, n: int, *, block: int, complex_: bool = False) -> Spread:
    """Products of n projections on rows of randomised Hadamard transforms, ``block`` rows of one, drawn without
    replacement: columns of one block are negatively correlated (Wacker et al., Theorem 3.4)."""
    own = 0.0 if complex_ else 1.0
    rest = pairs.lengths + own * pairs.squared - (1 + own) * pairs.products
    between = pairs.squared - rest / max(1, block - 1)
    power = np.abs(between) ** n * np.where(between < 0, (-1) ** n, 1)  # powers of negative numbers are slow
    return Spread(signs(pairs, n, complex_=complex_).variance, power - pairs.squared**n, block)


def sketches(pairs: Pairs, n: int) -> Spread:
    """A tensor sketch of degree n (Pham and Pagh 2013, Lemma 7)."""
    return Spread(pairs.lengths**n + pairs.squared**n)


def highest_degree(kernel: MaclaurinKernel) -> int:
    """The highest degree that may have columns."""
    return MOST_DEGREES if kernel.highest_degree is None else kernel.highest_degree


def least_error_counts(kernel: MaclaurinKernel, rows: NDArray[np.float64], count: int, law: Law) -> NDArray[np.int64]:
    """How many of ``count`` columns go to each degree 1, 2, …, (degrees,), by the rows (m, d), in the kernel's units.

    For the degrees up to p these are the whole numbers Dₙ ≥ 1 that minimise the variance Σₙ aₙ²·E[Vₙ]/Dₙ: one column
    after another goes to the degree that it helps most. p minimises the sum of that variance and the squared bias,
    E[(k − Σₙ≤ₚ)²]. Means are over pairs of different rows; for the bias over all pairs. (J. Wacker, M. Kanagawa,
    M. Filippone, "Improved random features for dot product kernels", JMLR 25, 2024, Algorithm 1.)
    """
    highest = highest_degree(kernel)
    coefficients = kernel.coefficients(highest + 1)
    pairs = Pairs.of(kernel, rows)
    different = np.tril_indices(len(rows), -1)
    exact, power, series = kernel(rows), np.ones_like(pairs.dots), np.full_like(pairs.dots, coefficients[0])
    spreads: list[tuple[float, float, int]] = []
    biases = []
    for n in range(1, highest + 1):
        power *= pairs.dots
        series += coefficients[n] * power
        biases.append(float(np.square(exact - pairs.factors * series).mean()))
        found = law(pairs, n)
        weight = np.square(pairs.factors)
        means = [
            float(np.nanmean((weight * part)[different])) if np.ndim(part) and len(different[0]) else 0.0
            for part in found[:2]
        ]
        spreads.append((coefficients[n] ** 2 * means[0], coefficients[n] ** 2 * means[1], found.block))
    variance, covariance, blocks = (np.array(column) for column in zip(*spreads, strict=True))
    best: tuple[float, NDArray[np.int64]] | None = None
    for p in range(min(FEWEST_DEGREES, highest, count), min(highest, count) + 1):
        counts, error = _allocated(variance[:p], covariance[:p], blocks[:p], count)
        if best is None or error + biases[p - 1] <= best[0]:
            best = error + biases[p - 1], counts
    assert best is not None
    return best[1]


def _allocated(
    variance: NDArray[np.float64], covariance: NDArray[np.float64], blocks: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], float]:
    """Numbers of columns, 1 or more each, with the sum ``count``, and the variance that remains."""

    def left(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        together = np.where((covariance <= 0) & (counts <= blocks), counts, blocks)
        return (variance + (together - 1) * covariance) / counts

    counts = np.ones(len(variance), dtype=np.int64)
    for _ in range(count - len(counts)):
        counts[int(np.argmax(left(counts) - left(counts + 1)))] += 1
    return counts, float(left(counts).sum())
