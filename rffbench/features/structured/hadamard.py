"""Base of the maps whose frequencies are products of diagonals and Walsh–Hadamard matrices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.rowsource import dense_rows, row_blocks
from rffbench.arguments.seeds import generator, seed_sequence
from rffbench.features.base import FourierFeatures
from rffbench.features.by_inputs import AUTO, rotation_of
from rffbench.kernels import IsotropicKernel, make_kernel_with
from rffbench.linalg.compiled import compiled
from rffbench.linalg.hadamard import next_power_of_two, walsh_hadamard
from rffbench.linalg.rotations import positive_qr
from rffbench.linalg.trigonometric import TILE_COLUMNS, Tiles
from rffbench.plugins.parts import MapServes

ROTATIONS = (AUTO, "structured", "dense")
Block = tuple[list[NDArray[np.float64]], NDArray[np.int32] | None, NDArray[np.float64]]
"""The diagonals D, k of (N,), the permutation (N,) or None, and C (N,) at unit scale."""


class HadamardFeatures(FourierFeatures):
    """Base class: phases Vx of stacked N×N products V of diagonals and Hadamard matrices, N ≥ d a power of two.

    x is padded with zeros to N. A block of N phases is C·H·D_k·…·H·D₂·Π·H·D₁·x with diagonals D and C and a
    permutation Π (or none), at a cost of O(N log N); ⌈s/N⌉ blocks make s frequencies. Their lengths are drawn as those
    of the kernel's frequencies in N dimensions: the first d coordinates of such a frequency are one in d dimensions.

    Maps with the parameter ``rotation`` may take a dense draw instead: a block is C·Q, Q Haar distributed, N×N. Its
    directions are uniform, so that the estimate of the kernel is unbiased. In few dimensions products of Hadamard
    matrices are far from that, of two columns multiples of 45°; and there a dense block costs no more.
    """

    serves: ClassVar[MapServes] = MapServes(kernels=IsotropicKernel, nests=("frequencies_",))
    rotation: str = "structured"
    _dense: NDArray[np.float64] | None = None  # the frequencies (d, s) of a dense draw

    diagonals_: NDArray[np.float64]
    permutation_: NDArray[np.int32] | None
    lengths_: NDArray[np.float64]

    def _block(self, kernel: IsotropicKernel, N: int, rng: Generator, of_lengths: Generator) -> Block:
        """One block for a kernel at unit scale, drawn by ``rng``. ``of_lengths`` draws lengths on which the other
        diagonals must not depend."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw the blocks for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        s, N, sequence = self.n_frequencies, next_power_of_two(X.shape[1]), seed_sequence(self.random_state)
        kernel = make_kernel_with(IsotropicKernel, self.kernel, self.bandwidth)
        draws = [generator(sequence, purpose) for purpose in ("structured frequencies", "structured lengths")]
        count = -(-s // N)
        self.check_inputs(X.shape[1])
        self._dense = None
        if self._rotation(X.shape[1]) == "dense":
            W = np.concatenate([_rotated(kernel, N, *draws) for _ in range(count)], axis=1)
            self._dense = kernel.fold(np.asfortranarray(kernel.spectral_scale * W[: X.shape[1], :s]))
            self.set_unweighted(s)
            return self
        blocks = [self._block(kernel, N, *draws) for _ in range(count)]
        diagonals, permutations, lengths = zip(*blocks, strict=True)
        self.diagonals_ = np.stack(diagonals, axis=1)
        kernel.fold(self.diagonals_[0, :, : X.shape[1]].T)
        self.permutation_ = None if permutations[0] is None else np.stack(permutations)
        self.lengths_ = kernel.spectral_scale * np.stack(lengths)
        self.set_unweighted(s)
        return self

    def check_inputs(self, d: int) -> None:
        """WrongParameter, naming what would do, if the map is for more than d inputs."""

    def _rotation(self, d: int) -> str:
        return rotation_of(d) if self.rotation == AUTO else self.rotation

    @property
    def frequencies_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The frequencies as a matrix (d, s), float64, multiplied out on demand."""
        if self._dense is not None:
            return self._dense
        return np.asarray(self.phases(np.eye(self.n_features_in_)), np.float64)

    def phases(self, X: FloatArray) -> FloatArray:
        """The product XVᵀ (n, s) of X (n, d), by the fast transform, in X's dtype."""
        if self._dense is not None:
            return np.asarray(X @ self._dense.astype(X.dtype, copy=False))
        out, parts = np.empty((X.shape[0], self.n_frequencies), X.dtype), self._in(X.dtype)
        for rows in row_blocks(X.shape[0]):
            self._write_phases(X[rows], slice(0, self.n_frequencies), out[rows], parts)
        return out

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        self.fill_by_tiles(X, out)

    def phase_tiles(self, X: Any) -> tuple[Tiles, int]:
        """As for every Fourier map; a tile has whole blocks."""
        if self._dense is not None:
            return super().phase_tiles(X)
        parts = self._in(X.dtype)

        def write(rows: slice, columns: slice, phases: FloatArray) -> None:
            self._write_phases(X[rows], columns, phases, parts)

        return write, max(TILE_COLUMNS, parts[0].shape[-1])

    def _in(self, dtype: np.dtype) -> tuple[FloatArray, FloatArray]:
        """Diagonals and lengths in the data's dtype."""
        return self.diagonals_.astype(dtype, copy=False), self.lengths_.astype(dtype, copy=False)

    def _write_phases(
        self, X: FloatArray, columns: slice, out: FloatArray, parts: tuple[FloatArray, FloatArray]
    ) -> None:
        """The phases ``columns`` of X, whole blocks of N from the first on, into ``out`` (n, columns). Rows of a CSR
        matrix are made dense, because their transforms are."""
        diagonals, lengths = parts
        N = diagonals.shape[-1]
        blocks = slice(columns.start // N, -(-columns.stop // N))
        T = np.empty((len(out), blocks.stop - blocks.start, N), X.dtype)
        _multiply(dense_rows(X), diagonals[0, blocks], T)
        walsh_hadamard(T)
        for stage, D in enumerate(diagonals[1:, blocks]):
            if self.permutation_ is not None and stage == 0:
                permuted = np.empty_like(T)
                _permute_and_multiply(T, self.permutation_[blocks], D, permuted)
                T = permuted
            else:
                T *= D
            walsh_hadamard(T)
        width = out.shape[1]
        np.multiply(T.reshape(len(out), -1)[:, :width], lengths[blocks].ravel()[:width], out=out)


def _rotated(kernel: IsotropicKernel, N: int, rng: Generator, of_lengths: Generator) -> NDArray[np.float64]:
    """A dense block of frequencies, (N, N), for a kernel at unit scale."""
    return positive_qr(rng.standard_normal((N, N))) * kernel.unit_radii(of_lengths, N, N)


@compiled()
def _multiply(X: FloatArray, D: FloatArray, out: FloatArray) -> None:
    """out[i, b] ← D_b·x_i, padded with zeros, for X (n, d), D (blocks, N) and out (n, blocks, N)."""
    n, d = X.shape
    for i in range(n):
        for b in range(D.shape[0]):
            for j in range(d):
                out[i, b, j] = X[i, j] * D[b, j]
            out[i, b, d:] = 0


@compiled()
def _permute_and_multiply(T: FloatArray, permutation: NDArray[np.int32], D: FloatArray, out: FloatArray) -> None:
    """out[i, b] ← D_b·Π_b·T[i, b], for T (n, blocks, N)."""
    n, blocks, N = T.shape
    for i in range(n):
        for b in range(blocks):
            for j in range(N):
                out[i, b, j] = T[i, b, permutation[b, j]] * D[b, j]
