"""Tensor sketches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.seeds import generator
from rffbench.features.dot_product import allocation
from rffbench.features.dot_product.degrees import SeriesFeatures, Terms
from rffbench.kernels import MaclaurinKernel
from rffbench.linalg.sketches import CountSketch
from rffbench.linalg.threads import in_threads
from rffbench.linalg.trigonometric import WORTH_A_THREAD
from rffbench.plugins.parts import MapServes

TILE_BYTES = 1 << 20  # rows whose sketches are transformed together
SINGLE_FACTORS = 16  # of a product that is computed in single precision; more could overflow


class TensorSketchFeatures(SeriesFeatures):
    """Tensor sketches: CountSketches of x⊗…⊗x, made by Fourier transforms of CountSketches of x.

    φₙ(x) = √aₙ·r(x)·F⁻¹(F(C₁x)∘…∘F(Cₙx)) for each degree n. The kernel is r(x)·r(x′)·Σₙ aₙ(xᵀx′)ⁿ: a dot-product
    kernel, or the Gaussian with r(x) = exp(−γ‖x‖²) and aₙ = (2γ)ⁿ/n!. About Dₙ of the D columns go to degree n, as in
    MaclaurinFeatures: a number of columns whose Fourier transform is fast. The rest goes to degree 1, which needs no
    transform. The estimate is unbiased; the variance of φₙ(x)ᵀφₙ(x′) is about that of Dₙ columns of MaclaurinFeatures,
    and the cost of a row is n·(d + Dₙ·log Dₙ), not n·d·Dₙ. With ``degrees='product'`` it is Pham and Pagh's sketch of
    the polynomial kernel, as scikit-learn's PolynomialCountSketch.

    Parameters
    ----------
    n_components : D, the number of output columns.
    degrees, linear : as in MaclaurinFeatures.
    kernel : one with Maclaurin coefficients: 'gaussian', 'polynomial', 'exponential'.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in MaclaurinFeatures, which has the same degrees. Sizes do not nest, because another number of
        buckets is another sketch.

    Attributes
    ----------
    degrees_ : n of each column, ascending, (D,), or (D − d,) with an exact degree 1.
    scale_ : the factor of each of these columns.
    sketches_ : for each degree of these columns, its n CountSketches C.
    constants_ : with ``degrees='product'`` the bucket and the sign of √c in each of them, (n, 2); else zeros.

    References
    ----------
    N. Pham and R. Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD 2013, Algorithm 1.
    """

    serves: ClassVar[MapServes] = replace(
        SeriesFeatures.serves, row_cost="h*(d + 5*D*log2(D))", nests=(), source="Pham and Pagh, KDD 2013"
    )

    sketches_: dict[int, list[CountSketch]]
    constants_: NDArray[np.float64]

    def law(self, d: int) -> allocation.Law:
        return allocation.sketches

    def _draw(self, kernel: MaclaurinKernel, terms: Terms, d: int, sequence: SeedSequence) -> None:
        degrees, counts = np.unique(terms.degrees, return_counts=True)
        columns = dict(zip(degrees.tolist(), counts.tolist(), strict=True))
        scale_of = dict(zip(terms.degrees.tolist(), terms.scales.tolist(), strict=True))
        # All columns of a sketch are one estimate; in a map of projections each column is one.
        scales = [scale_of[n] * (np.sqrt(count) if n else 1.0) for n, count in columns.items()]
        if 1 in columns:
            fast = {n: fast_length(count) if n > 1 else count for n, count in columns.items()}
            columns = fast | {1: columns[1] + sum(columns.values()) - sum(fast.values())}
        self.degrees_ = np.repeat(degrees, list(columns.values()))
        self.scale_ = np.repeat(scales, list(columns.values()))
        self.sketches_ = {
            n: [CountSketch(d, count, generator(sequence, f"sketch {i} of degree {n}")) for i in range(n)]
            for n, count in columns.items() if n
        }  # fmt: skip
        for sketch in (each for sketches in self.sketches_.values() for each in sketches):
            sketch.signs *= terms.gain
            kernel.fold(sketch.signs[:, None])
        highest = int(self.degrees_[-1])
        rng = generator(sequence, "constants")
        buckets, signs = rng.integers(columns[highest], size=highest), rng.choice([-1.0, 1.0], highest)
        self.constants_ = np.stack([buckets, terms.constant * signs], axis=1)

    def _fill(self, X: Any, out: FloatArray) -> None:
        n = X.shape[0]
        height = max(1, TILE_BYTES // (out.shape[1] * out.itemsize))

        def fill_rows(begin: int, end: int) -> None:
            for row in range(begin, end, height):
                rows = slice(row, min(end, row + height))
                self._fill_tile(X[rows], out[rows])

        in_threads(fill_rows, n, worthwhile=out.nbytes > WORTH_A_THREAD)

    def _fill_tile(self, X: Any, out: FloatArray) -> None:
        first, row_factors = int(np.count_nonzero(self.degrees_ == 0)), self.row_factors(X)[:, None]
        out[:, :first] = row_factors * self.scale_[:first].astype(out.dtype)
        for sketches in self.sketches_.values():
            sketched = self._sketched(X, sketches[0], self.constants_[0])
            sketched *= row_factors  # before the products, which may be infinite for rows whose factor is 0
            if len(sketches) > SINGLE_FACTORS:
                sketched = sketched.astype(np.float64)
            if len(sketches) > 1:
                product = rfft(sketched, axis=1)
                for sketch, constant in zip(sketches[1:], self.constants_[1:], strict=False):
                    product *= rfft(self._sketched(X, sketch, constant), axis=1)  # in the precision of the first
                sketched = irfft(product, n=sketches[0].k, axis=1)
            columns = slice(first, first + sketches[0].k)
            np.multiply(sketched, self.scale_[columns].astype(sketched.dtype), out=out[:, columns], casting="same_kind")
            first = columns.stop

    def _sketched(self, X: Any, sketch: CountSketch, constant: NDArray[np.float64]) -> FloatArray:
        """Cx of the rows X with the constant appended to them, (n, k)."""
        sketched = sketch.columns(X)
        if constant[1]:
            sketched[:, int(constant[0])] += X.dtype.type(constant[1])
        return sketched


def fast_length(count: int) -> int:
    """The largest length, ``count`` or less, whose real Fourier transform is fast."""
    while next_fast_len(count, real=True) != count:
        count -= 1
    return count
