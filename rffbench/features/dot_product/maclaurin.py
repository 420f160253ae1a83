"""Random Maclaurin features."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rffbench.features.dot_product.projections import ProjectionProducts
from rffbench.plugins.parts import MapServes


class MaclaurinFeatures(ProjectionProducts):
    """Random Maclaurin features: products of projections on random signs.

    φ(x)ⱼ = √(aₙ/(D·pₙ))·r(x)·∏ᵢ wᵢᵀx, i = 1 … n. The kernel is r(x)·r(x′)·Σₙ aₙ(xᵀx′)ⁿ: a dot-product kernel, or the
    Gaussian with r(x) = exp(−γ‖x‖²) and aₙ = (2γ)ⁿ/n!. Every w has mean 0 and covariance I, so that E[∏ᵢ wᵢᵀx·wᵢᵀx′] =
    (xᵀx′)ⁿ. A column has the degree n with probability pₙ. The estimate is unbiased. Its error falls as 1/√D, and grows
    with the length of the rows as the power series does.

    Parameters
    ----------
    n_components : D, the number of output columns.
    degrees : 'optimised', columns by each degree's share in k(x, x) of at most 1000 training rows, with the term of
        degree 0 exact in the first column (`rffbench.features.dot_product.degrees.optimised_terms`); 'truncated', the
        same without degrees of fewer than 4 columns, which is biased and has a smaller error; 'geometric', Kar and
        Karnick's pₙ ∝ 2⁻ⁿ; 'least-error', the numbers of columns of Wacker et al. 2024 for the degrees from 1 to at
        most 10, also biased; 'product', only for the polynomial kernel, all columns of its degree, of rows with √c
        appended; or 'power', for other kernels, as 'product' for (1 + a₁xᵀx′/4)⁴, which is biased.
    projection : 'rademacher', w of random signs; 'gaussian', of normal numbers, with a larger variance; or 'srht',
        orthogonal rows of randomised Walsh–Hadamard matrices, the fastest for many inputs.
    linear : 'sampled'; or 'exact', the term of degree 1 in d columns √a₁·r(x)·x, the last ones, and all others for the
        other degrees (Kar and Karnick's H0/1). With fewer than d + 4 columns 'exact' is 'sampled'. It is for the
        degrees 'optimised', 'truncated' and 'geometric'.
    kernel : one with Maclaurin coefficients: 'gaussian', 'polynomial', 'exponential'.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in RandomFourierFeatures; the first w of a larger map are those of a smaller one.

    Attributes
    ----------
    degrees_ : n of each column that is a product, (D,), or (D − d,) if degree 1 is exact.
    linear_columns_ : d if degree 1 is exact, else 0.
    directions_ : the w of all columns one after another, (d, Σ n) float64; with 'srht' multiplied out on demand.
    offset_ : the constant added to each projection, (Σ n,), 0 except with ``degrees='product'``.
    scale_ : √(aₙ/(D·pₙ)) of each of them.

    References
    ----------
    P. Kar and H. Karnick, "Random feature maps for dot product kernels", AISTATS 2012, Algorithm 1. J. Wacker, M.
    Kanagawa, M. Filippone, "Improved random features for dot product kernels", JMLR 25, 2024.
    """

    serves: ClassVar[MapServes] = replace(ProjectionProducts.serves, source="Kar and Karnick, AISTATS 2012")

    def _entries(self, rng: Generator, count: int, d: int) -> NDArray[np.float64]:
        return 2 * rng.integers(2, size=(count, d), dtype=np.int8).astype(np.float64) - 1
