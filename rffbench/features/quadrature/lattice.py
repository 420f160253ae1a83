"""A lattice sequence of rank 1 in base 2, for any number of coordinates."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

WEIGHT = 0.03  # of a coordinate; with 0.3, or with falling weights, errors in 10 and more dimensions are larger
ROUNDING = 1e-9  # of a mean: errors closer than this count as equal, so that z does not depend on the order of sums


def lattice_points(s: int, d: int, rng: Generator) -> NDArray[np.float64]:
    """The first s points {v(i)·z + shift} of a lattice sequence, (s, d). v(i) has the binary digits of i mirrored at
    the point, z is the generating vector, and ``rng`` draws the shift, uniform on the unit cube.

    Sizes nest, and the first 2ᵏ points are a whole lattice. (R. Cools, F. Kuo, D. Nuyens, "Constructing embedded
    lattice rules for multivariate integration", SIAM J. Sci. Comput. 28, 2006.)
    """
    bits = max(1, (s - 1).bit_length())
    index = np.arange(s)
    reversed_index = np.zeros(s, np.int64)
    for bit in range(bits):
        reversed_index |= (index >> bit & 1) << (bits - 1 - bit)
    points = np.outer(reversed_index, generating_vector(d, bits)) % (1 << bits) / (1 << bits)
    points += rng.uniform(size=d)
    points -= np.floor(points)
    return points


@lru_cache
def generating_vector(d: int, bits: int) -> NDArray[np.int64]:
    """z (d,), odd numbers below 2^bits. They are found coordinate by coordinate, and digit by digit, the lowest digit
    first: each digit is the one with the smaller worst-case error of the lattice of 2ᵏ points of the digits so far.

    The error is that of periodic functions with square-integrable mixed derivatives, with equal weights, because
    kernels treat all coordinates alike: Σᵢ ∏ⱼ (1 + WEIGHT·2π²B₂({i·zⱼ/2ᵏ})), B₂(x) = x² − x + 1/6. The lower digits do
    not depend on ``bits``. It takes about 20·d·2^bits operations. (A. Ebert, P. Kritzer, D. Nuyens, O. Osisiogu,
    "Digit-by-digit and component-by-component constructions of lattice rules for periodic functions with unknown
    smoothness", J. Complexity 66, 2021.)
    """
    products = np.ones(1 << bits)  # over the coordinates so far, of the points of the largest lattice
    products[0] = 0  # the origin is in every lattice, and would outgrow all other points
    z = np.ones(d, np.int64)
    for j in range(d):
        for k in range(2, bits + 1):
            points, of_lattice = np.arange(1 << k), products[:: 1 << (bits - k)]
            low, high = (of_lattice @ _bernoulli(points, z[j] + digit, k) for digit in (0, 1 << (k - 1)))
            z[j] += (1 << (k - 1)) * int(high < low - ROUNDING * of_lattice.sum())
        products *= 1 + WEIGHT * _bernoulli(np.arange(1 << bits), z[j], bits)
    return z


def _bernoulli(points: NDArray[np.int64], z: np.int64, k: int) -> NDArray[np.float64]:
    """2π²B₂({i·z/2ᵏ}) for the numbers i in ``points``."""
    x = (points * z & ((1 << k) - 1)) / (1 << k)
    return 2 * np.pi**2 * (x * x - x + 1 / 6)
