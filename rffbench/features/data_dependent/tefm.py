"""The training-efficient feature map: random Fourier features in the leading subspace that they span on the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.blas import dsymm, dsyrk

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import check_count
from rffbench.arguments.rowsource import BLOCK_ROWS, row_blocks
from rffbench.arguments.seeds import RandomState, seed_sequence
from rffbench.features.structured.projected import ProjectedFeatures
from rffbench.kernels import Kernel
from rffbench.linalg.rotations import positive_qr
from rffbench.linalg.sketches import SRHT, CountSketchGaussian, GaussianSketch, Sketch
from rffbench.plugins.parts import MapServes

# (n, l, m, seed) to Θ, n×l; the CountSketch has as many buckets as F has columns, m.
_SKETCHES: dict[str, Callable[[int, int, int, SeedSequence], Sketch]] = {
    "gaussian": lambda n, k, m, sequence: GaussianSketch(n, k, sequence),
    "srht": lambda n, k, m, sequence: SRHT(n, k, sequence),
    "countsketch": lambda n, k, m, sequence: CountSketchGaussian(n, k, m, sequence),
}
_WITHOUT_POWER = ("srht", "none")
EIGENVECTORS_PAY = 4  # n·l over m²: from here on a sketch of n rows and a power take longer than eigenvectors of FᵀF


class TrainingEfficientFeatureMap(ProjectedFeatures):
    """TEFM: φ(x) = F(x)·Q, Q (m×l) an orthonormal basis of nearly the leading right singular vectors of F.

    F (n×m) are m = ``expansion``·l paired random Fourier features of the training rows, and Θ (n×l) is a sketch.
    Y = (FᵀF)^q·FᵀΘ = QR (R's diagonal not negative) is the randomised range finder of Halko et al. (2011), so that
    φ(x)ᵀφ(x′) is nearly the best approximation of F(x)ᵀF(x′) of rank l on the data. At equal l its error is below that
    of random Fourier features. Against the exact kernel it has the error of m random Fourier features, plus the part of
    FFᵀ beyond rank l.

    F is made again in each pass, block by block, and never held. The m×m matrix FᵀF, summed in the pass that sketches,
    applies (FᵀF)^q. If m > 4ql, q more passes over the rows apply it, which then takes fewer operations. Between powers
    Y is orthonormalised. That changes neither its span nor Q, and keeps small directions from rounding.

    Parameters
    ----------
    n_components : l, the number of output columns. With fewer training rows, n, Θ has n columns, and Q is completed to
        l orthonormal columns by directions orthogonal to the training rows' features.
    sketch : what Θ is: 'gaussian', independent normals (Algorithm 1, TEFM-G); 'srht', a subsampled randomised
        Hadamard transform (Algorithm 2, TEFM-S); 'countsketch', a CountSketch to m buckets, then a Gaussian
        (Kapralov et al. 2016); 'none', no sketch: Q are the leading eigenvectors of FᵀF themselves, which have the
        least error. 'auto' is 'none' if FᵀF is summed anyway, for a power q ≥ 1 and m ≤ 4ql, and n·l ≥ 4m², so that
        the eigenvectors take less time; else 'gaussian'.
    expansion : m/l, 1 or more.
    power : q, a whole number. With 'srht' q is 0, as in Algorithm 2, and ``power`` is ignored, as with 'none'.
    kernel : 'gaussian', 'laplacian' or 'cauchy'.
    gamma, random_state : as in RandomFourierFeatures, which has the same frequencies.

    Attributes
    ----------
    fourier_ : the map F, a RandomFourierFeatures.
    components_ : Q, (m, l) float64.
    sketch_, power_ : the sketch and the q that were used.

    References
    ----------
    X. Chen, H. Yang, I. King, M. Lyu, "Training-efficient feature map for shift-invariant kernels", IJCAI 2015.
    """

    serves: ClassVar[MapServes] = replace(
        ProjectedFeatures.serves, bias="the best columns for the rows it was fitted to",
        fits_on="inputs", row_cost="d*m/2 + t*m + m*D",
        fit_sums="n*m*((1 + a)*(d/2 + t) + D + 2*a*D + g*m/2)", fit_cost="4*m*D**2", source="Chen et al., IJCAI 2015",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {"sketch": ("auto", *_SKETCHES, "none")}

    components_: NDArray[np.float64]
    sketch_: str
    power_: int

    def __init__(
        self, n_components: int = 100, *, sketch: str = "auto", expansion: float = 4, power: int = 1,
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.sketch = sketch
        self.expansion = expansion
        self.power = power

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("power", self.power, least=0)

    def letters(self, d: int) -> dict[str, float]:
        """m of the formulas, and how FᵀF is applied: summed (g = 1), or in a more passes over the rows."""
        again = 0 if self.sketch in _WITHOUT_POWER or self._sums_gram else self.power
        return {**super().letters(d), "g": float(self._sums_gram), "a": again}

    @property
    def bytes_to_fit(self) -> int:
        """The bytes that ``fit`` holds at once: a block of F, FᵀF if it is summed, Y, Q and a CountSketch's buckets."""
        m = self.n_expanded
        squares = self._sums_gram + (self.sketch == "countsketch")
        return 8 * m * (2 * BLOCK_ROWS + squares * m + 4 * self.n_components)

    @property
    def _sums_gram(self) -> bool:
        """Whether FᵀF is summed, n·m² operations, and not multiplied by, 4n·m·l for each power."""
        if self.sketch in _WITHOUT_POWER:
            return self.sketch == "none"
        return 0 < self.n_expanded <= 4 * self.power * self.n_components

    def _sketch_of(self, n: int) -> str:
        """The sketch for n training rows."""
        if self.sketch != "auto":
            return self.sketch
        pays = n * self.n_components >= EIGENVECTORS_PAY * self.n_expanded**2
        return "none" if self._sums_gram and pays else "gaussian"

    def fit(self, X: Any, y: Any = None) -> TrainingEfficientFeatureMap:
        """Find Q on the rows X (n, d); y is not used."""
        X = self._expand(X)
        m, directions = self.n_expanded, min(self.n_components, X.shape[0])
        self.sketch_ = self._sketch_of(X.shape[0])
        self.power_ = 0 if self.sketch_ in _WITHOUT_POWER else self.power
        gram = np.zeros((m, m), order="F") if self._sums_gram else None
        if self.sketch_ == "none":
            for _ in self._blocks(X, gram):
                pass
            Q = eigh(gram, lower=False, overwrite_a=True, subset_by_index=[m - self.n_components, m - 1])[1][:, ::-1]
            largest = np.take_along_axis(Q, np.abs(Q).argmax(axis=0)[None], axis=0)
            self.components_ = np.ascontiguousarray(
                Q * np.sign(largest)
            )  # the sign of an eigenvector is not determined
            return self
        sketch = _SKETCHES[self.sketch_](X.shape[0], directions, m, seed_sequence(self.fourier_.random_state))
        Y = np.zeros((m, self.n_components))
        Y[:, :directions] = sketch.row_blocks(self._blocks(X, gram), m).T
        Q = positive_qr(Y)
        for _ in range(self.power_):
            Q = positive_qr(self._gram_times(X, Q) if gram is None else dsymm(1.0, gram, Q))
        self.components_ = Q
        return self

    def _blocks(self, X: Any, gram: NDArray[np.float64] | None = None) -> Iterator[NDArray[np.float64]]:
        """F in blocks of rows, float64, each written over the one before; ``gram``'s upper triangle += FᵀF."""
        F = np.empty((min(BLOCK_ROWS, X.shape[0]), self.n_expanded), X.dtype)
        for rows in row_blocks(X.shape[0]):
            block = F[: rows.stop - rows.start]
            self.fourier_.fill(X[rows], block)
            double = block.astype(np.float64, copy=False)
            if gram is not None:
                dsyrk(1.0, double.T, beta=1.0, c=gram, overwrite_c=1)
            yield double

    def _gram_times(self, X: Any, Q: NDArray[np.float64]) -> NDArray[np.float64]:
        """FᵀF·Q in one pass."""
        product = np.zeros_like(Q)
        for F in self._blocks(X):
            product += F.T @ (F @ Q)
        return product

    def _project(self, F: FloatArray, out: FloatArray) -> None:
        np.matmul(F, self.components_.astype(F.dtype, copy=False), out=out)
