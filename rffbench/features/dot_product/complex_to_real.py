"""Complex-to-real features."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter
from rffbench.features.dot_product.projections import ProjectionProducts
from rffbench.plugins.parts import MapServes

UNITS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # 1, −1, i and −i


class ComplexToRealFeatures(ProjectionProducts):
    """Complex-to-real features: real and imaginary parts of products of complex projections.

    φ(x) = [Re ψ(x) | Im ψ(x)], ψ(x)ⱼ = √(aₙ/(s·pₙ))·r(x)·∏ᵢ wᵢᵀx, i = 1 … n, s = ``n_components``/2. As
    MaclaurinFeatures, with complex w, whose entries are 1, −1, i or −i at random. So E[wᵢᵀx·conj(wᵢᵀx′)] = xᵀx′, and
    φ(x)ᵀφ(x′) = Re ψ(x)ᵀconj ψ(x′) is unbiased. A factor has E|wᵀx·wᵀx′|² ≈ ‖x‖²‖x′‖² + (xᵀx′)²; with real signs it
    would be ‖x‖²‖x′‖² + 2(xᵀx′)². So the variance of high degrees is far smaller if rows point in similar directions.

    Parameters
    ----------
    n_components : number of output columns, even.
    degrees : as in MaclaurinFeatures; 'product' is the sketch of the paper.
    projection : 'rademacher', w of the units above; 'gaussian', of complex normal numbers; or 'srht', as in
        MaclaurinFeatures, with these units in place of signs.
    linear : as in MaclaurinFeatures; if that leaves an odd number of columns, one of them is 0.
    kernel : one with Maclaurin coefficients: 'gaussian', 'polynomial', 'exponential'.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in MaclaurinFeatures.

    Attributes
    ----------
    degrees_, scale_ : of each complex column, (s,).
    directions_ : Re w and Im w of all complex columns one after another, (d, 2·Σ n) float64; with 'srht' multiplied out
        on demand.
    offset_ : (2·Σ n,), 0 except with ``degrees='product'``.

    References
    ----------
    J. Wacker, R. Ohana, M. Filippone, "Complex-to-real sketches for tensor products with applications to the polynomial
    kernel", AISTATS 2023, Section 3.
    """

    serves: ClassVar[MapServes] = replace(ProjectionProducts.serves, source="Wacker et al., AISTATS 2023")
    parts: ClassVar[int] = 2

    @property
    def columns_per_frequency(self) -> int:
        """Output columns of a complex column: its real and its imaginary part."""
        return 2

    @property
    def n_frequencies(self) -> int:
        """s, the number of complex columns for ``n_components`` columns."""
        return max(1, self.n_components // 2)

    def terms_in(self, columns: int) -> int:
        return max(1, columns // 2)

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.n_components % 2 and self.n_components != 1:  # scikit-learn's tools ask for a single column
            problem = f"must be even, a real and an imaginary part each, got {self.n_components}"
            raise WrongParameter("n_components", problem)

    def _entries(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        units = UNITS[rng.integers(4, size=(count, d), dtype=np.int8)]
        return np.swapaxes(units, 1, 2).reshape(2 * count, d)

    def _products_in(self, out: FloatArray) -> list[FloatArray]:
        s = len(self.degrees_)
        out[:, 2 * s :] = 0  # if the exact columns leave an odd number
        return [out[:, :s], out[:, s : 2 * s] if out.shape[1] > s else np.empty_like(out)]
