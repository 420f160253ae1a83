"""Fourier features with Gaussian frequencies of a sketch of the input."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import check_count
from rffbench.arguments.seeds import RandomState, seed_sequence
from rffbench.features.base import FourierFeatures, draw_frequencies
from rffbench.kernels import GaussianKernel, Kernel, make_spectral_kernel
from rffbench.linalg.sketches import CountSketch
from rffbench.linalg.trigonometric import fourier_columns
from rffbench.plugins.parts import MapServes


class CountSketchGaussianFeatures(FourierFeatures):
    """Gaussian frequencies of an input in buckets: φ(x) = [cos(GᵀSᵀx) | sin(GᵀSᵀx)]/√s, s = ``n_components``/2.

    S is a CountSketch, d×B: it adds up the inputs, each with a random sign, in B random buckets. The columns of G (B×s)
    are frequencies drawn from the kernel's spectral density. Cost per point: O(d + B·s), not O(d·s). A frequency S·g
    has N(0, 2γ) in each coordinate, but the coordinates of one bucket are equal up to the sign. Given S the estimate is
    that of exp(−γ‖Sᵀ(x − x′)‖²), and ‖SᵀΔ‖² differs from ‖Δ‖² by a standard deviation of about ‖Δ‖²·√(2/B), which more
    frequencies do not reduce.

    Parameters
    ----------
    n_components : number of output columns, even.
    buckets : B. B ≥ d has no advantage over RandomFourierFeatures.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)); no other.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState; sizes nest.

    Attributes
    ----------
    sketch_ : S, a CountSketch.
    gaussian_ : G, (B, s) float64.
    frequencies_ : S·G, (d, s) float64, multiplied out when it is asked for.

    References
    ----------
    M. Kapralov, V. Potluru, D. Woodruff, "How to fake multiply by a Gaussian matrix", ICML 2016.
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=GaussianKernel, bias="the kernel of the sketched points", row_cost="d + B*s + t*D",
        nests=("frequencies_",), source="Kapralov et al., ICML 2016",
    )  # fmt: skip

    sketch_: CountSketch
    gaussian_: NDArray[np.float64]

    def __init__(
        self, n_components: int = 100, *, buckets: int = 256, kernel: str | Kernel = "gaussian",
        gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.buckets = buckets

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("buckets", self.buckets, least=1)

    def letters(self, d: int) -> dict[str, float]:
        """B of the formulas."""
        return {"B": self.buckets}

    def fit(self, X: Any, y: Any = None) -> CountSketchGaussianFeatures:
        """Draw S and G for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        sequence, s = seed_sequence(self.random_state), self.n_frequencies
        kernel = make_spectral_kernel(self.kernel, self.bandwidth)
        self.sketch_ = CountSketch(X.shape[1], self.buckets, sequence)
        kernel.fold(self.sketch_.signs[:, None])
        self.gaussian_ = draw_frequencies(kernel.without_lengths(), s, self.buckets, sequence)
        self.set_unweighted(s)
        return self

    @property
    def frequencies_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The frequencies as a matrix (d, s), float64, multiplied out on demand."""
        return self.sketch_.signs[:, None] * self.gaussian_[self.sketch_.buckets]

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        s = self.n_frequencies
        fourier_columns(
            self.sketch_.columns(X), self.gaussian_.astype(X.dtype, copy=False), cos=out[:, :s],
            sin=out[:, s:] if out.shape[1] > s else None, scale=self.scale_,
        )  # fmt: skip
