"""Butterfly rotations: random orthogonal matrices that take O(d·log d) numbers and operations, not d².

A butterfly is L_k·…·L₂·L₁·P: P permutes the d coordinates, and the layer Lⱼ rotates each pair of coordinates that are
2^(j−1) apart, each by its angle. Coordinates without a partner below d do not change. A rotation is the product of
three butterflies. Here the corners of a regular simplex are rotated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import helmert

from rffbench.arguments.rowsource import dense_rows
from rffbench.linalg.hadamard import next_power_of_two
from rffbench.linalg.trigonometric import Tiles

BUTTERFLIES = 3  # in a rotation


@dataclass(frozen=True)
class ButterflySimplices:
    """Regular simplices, each of d + 1 unit vectors, rotated by butterflies: the columns of B₁V, B₂V, …

    V (d, d + 1) are the corners of one simplex (`simplex_corners`). Row j of V has j + 1 equal entries, then one that
    makes their sum 0, so that the product with V takes O(d) operations.
    """

    permutations: NDArray[np.int32]
    """(simplices, 3, d): for each butterfly, P·a is a[permutation]."""
    turns: NDArray[np.float64]
    """(simplices, 3, pairs, 2): the cosine and sine of each pair's angle, layer by layer."""

    @classmethod
    def draw(cls, rng: Generator, simplices: int, d: int) -> ButterflySimplices:
        """Random rotations of d coordinates, one per simplex, drawn one by one, so that sizes nest."""
        permutations = np.empty((simplices, BUTTERFLIES, d), np.int32)
        angles = np.empty((simplices, BUTTERFLIES, pairs_in(d)))
        for simplex in range(simplices):
            for k in range(BUTTERFLIES):
                permutations[simplex, k] = rng.permutation(d)
                angles[simplex, k] = rng.uniform(0, 2 * np.pi, angles.shape[2])
        return cls(permutations, np.stack([np.cos(angles), np.sin(angles)], axis=3))

    def multiplied_out(self, count: int) -> NDArray[np.float64]:
        """The first ``count`` corners, (d, count)."""
        d = self.permutations.shape[2]
        vertices, W = simplex_corners(d), np.empty((d, count), order="F")
        for simplex, first in enumerate(range(0, count, d + 1)):
            W[:, first : first + d + 1] = self.rotated(vertices, simplex)[:, : count - first]
        return W

    def rotated(self, A: NDArray[np.float64], simplex: int) -> NDArray[np.float64]:
        """The columns of A (d, m), rotated like the simplex with this number."""
        d, coordinates = len(A), np.arange(len(A))
        for permutation, turns in zip(self.permutations[simplex], self.turns[simplex], strict=True):
            A, done, distance = A[permutation], 0, 1
            while distance < d:
                first = coordinates[(coordinates & distance == 0) & (coordinates + distance < d)]
                cosines, sines = turns[done : done + len(first)].T[:, :, None]
                a, b = A[first], A[first + distance]
                A[first], A[first + distance] = cosines * a - sines * b, sines * a + cosines * b
                done, distance = done + len(first), 2 * distance
        return A

    def products(self, X: Any, scale: NDArray, lengths: NDArray, zeros: int = 0) -> Tiles:
        """Tiles of [0 | X·diag(scale)·W·diag(lengths)], with ``zeros`` columns of 0, and W the corners.

        X (n, d) is an array or a CSR matrix; a tile's rows are made dense, because rotated rows are. scale is (d,), and
        lengths (s,), one per corner. O(d·log d) operations for d + 1 corners.
        """
        from rffbench.linalg.butterfly_kernels import simplex_phases

        turns, weights, scale, lengths = (
            each.astype(X.dtype, copy=False) for each in (self.turns, _weights(X.shape[1]), scale, lengths)
        )

        def write(rows: slice, columns: slice, out: NDArray) -> None:
            first = columns.start - zeros
            simplex_phases(dense_rows(X[rows]), scale, self.permutations, turns, weights, lengths, first, out)

        return write


def simplex_corners(d: int) -> NDArray[np.float64]:
    """The d + 1 corners of a regular simplex, unit vectors with the sum 0, (d, d + 1)."""
    return helmert(d + 1) * np.sqrt((d + 1) / d)


def _weights(d: int) -> NDArray[np.float64]:
    """For each row of `simplex_corners` its equal entries, and minus the entry after them, (2, d)."""
    n = np.arange(1.0, d + 1)
    equal = np.sqrt((d + 1) / d / (n * (n + 1)))
    return np.stack([equal, n * equal])


def pairs_in(d: int) -> int:
    """The number of pairs that all layers of a butterfly rotate: d/2·log₂ d if d is a power of two."""
    distances = [1 << level for level in range(next_power_of_two(d).bit_length() - 1)]
    return sum(d // (2 * h) * h + max(0, d % (2 * h) - h) for h in distances)
