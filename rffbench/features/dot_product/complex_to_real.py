"""Complex-to-real features."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rffbench.features.dot_product.projections import ProjectionProducts
from rffbench.parameters import WrongParameter
from rffbench.parts import MapServes

UNITS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # 1, −1, i and −i


class ComplexToRealFeatures(ProjectionProducts):
    """Complex-to-real features: real and imaginary parts of products of complex projections.

    φ(x) = [Re ψ(x) | Im ψ(x)], ψ(x)ⱼ = √(aₙ/(s·pₙ))·r(x)·∏ᵢ wᵢᵀx, i = 1 … n, s = ``n_components``/2. As
    MaclaurinFeatures, with complex w, whose entries are 1, −1, i or −i at random, so that E[wᵢᵀx·conj(wᵢᵀx′)] = xᵀx′,
    and φ(x)ᵀφ(x′) = Re ψ(x)ᵀconj ψ(x′) is unbiased. A factor has E|wᵀx·wᵀx′|² ≈ ‖x‖²‖x′‖² + (xᵀx′)², where real signs
    have ‖x‖²‖x′‖² + 2(xᵀx′)²: the variance of high degrees is far smaller where rows point in one direction.

    Parameters
    ----------
    n_components : number of output columns, even.
    degrees : as in MaclaurinFeatures; 'product' is the sketch of the paper.
    projection : 'rademacher', w of the units above; 'gaussian', of complex normal numbers; or 'srht', as in
        MaclaurinFeatures, with these units in the place of signs.
    kernel : one with Maclaurin coefficients: 'gaussian', 'polynomial', 'exponential'.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in MaclaurinFeatures.

    Attributes
    ----------
    degrees_, scale_ : of each complex column, (s,).
    directions_ : Re w and Im w of all complex columns one after another, (d, 2·Σ n) float64; with 'srht' multiplied out
        when asked for.
    offset_ : (2·Σ n,), 0 but of ``degrees='product'``.

    References
    ----------
    J. Wacker, R. Ohana, M. Filippone, "Complex-to-real sketches for tensor products with applications to the polynomial
    kernel", AISTATS 2023, Section 3.
    """

    serves: ClassVar[MapServes] = replace(ProjectionProducts.serves, source="Wacker et al., AISTATS 2023")
    parts: ClassVar[int] = 2

    @property
    def columns_per_frequency(self) -> int:
        """Output columns a complex one makes: its real and its imaginary part."""
        return 2

    @property
    def n_frequencies(self) -> int:
        """s, the complex columns that ``n_components`` columns take."""
        return max(1, self.n_components // 2)

    @property
    def n_terms(self) -> int:
        return self.n_frequencies

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.n_components % 2 and self.n_components != 1:  # a single one is what scikit-learn's tools ask for
            problem = f"must be even, a real and an imaginary part each, got {self.n_components}"
            raise WrongParameter("n_components", problem)

    def _entries(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        units = UNITS[rng.integers(4, size=(count, d), dtype=np.int8)]
        return np.swapaxes(units, 1, 2).reshape(2 * count, d)

    def _products_in(self, out: NDArray) -> list[NDArray]:
        s = self.n_frequencies
        return [out[:, :s], out[:, s:] if out.shape[1] > s else np.empty_like(out)]
