"""Random Fourier features."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rffbench.arguments.parameters import WrongParameter, check_positive
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import ColumnBlock, FourierFeatures, draw_phases
from rffbench.kernels import GaussianKernel, Kernel, SpectralKernel, make_kernel_with
from rffbench.plugins.parts import MapServes


class RandomFourierFeatures(FourierFeatures):
    """Random Fourier features: frequencies drawn independently from the kernel's spectral density.

    ``form='paired'``: φ(x) = [cos(Wᵀx) | sin(Wᵀx)]/√s with s = ``n_components``/2 frequencies, so that
    φ(x)ᵀφ(x) = 1. ``form='offset'``: φ(x) = √(2/s)·cos(Wᵀx + b), b ~ U[0, 2π), s = ``n_components``. Either
    way E[φ(x)ᵀφ(x′)] = k(x, x′) and the error falls as 1/√s.

    Parameters
    ----------
    n_components : number of output columns; even for the paired form.
    form : 'paired' or 'offset'.
    truncate : for the Gaussian kernel, the number of standard deviations beyond which a coordinate of a frequency is
        drawn again, as in some libraries. The kernel is then a little wider: with 3 the variance of a coordinate is
        0.973 times as large.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)), 'laplacian' (exp(−γ‖Δ‖₁)) or 'cauchy' (∏ 1/(1 + γΔⱼ²)).
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState. With the same stream the
        first s frequencies of a larger map are those of a smaller one.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    offset_ : b, (s,) for the offset form, else None.
    weights_, probabilities_ : (s,), ones and 1/s.

    Notes
    -----
    X is (n, d), float64 or float32; ``transform`` keeps the dtype.

    References
    ----------
    A. Rahimi and B. Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rffbench import RandomFourierFeatures
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> Z = RandomFourierFeatures(20_000, gamma=0.5, random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1)) < 0.02)
    True
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=SpectralKernel, bias="truncated frequencies", unbiased_if="not truncated",
        nests=("frequencies_", "offset_"), source="Rahimi and Recht, NIPS 2007",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {"form": ("paired", "offset")}

    def __init__(
        self, n_components: int = 100, *, form: str = "paired", truncate: float | None = None,
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.form = form
        self.truncate = truncate

    @property
    def columns_per_frequency(self) -> int:
        """Output columns of a frequency: two if paired, one with an offset."""
        return 1 if self.form == "offset" else 2

    @property
    def base(self) -> Hashable | None:
        return "random" if self.form == "paired" and self.truncate is None else None

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.truncate is not None:
            check_positive("truncate", self.truncate)
            if not isinstance(self.kernel_, GaussianKernel):
                raise WrongParameter("truncate", f"is for the gaussian kernel, not the {self.kernel_.called()} one")

    @property
    def unbiased(self) -> bool:
        return self.truncate is None

    def draw(self, count: int, d: int) -> NDArray[np.float64]:
        W = super().draw(count, d)
        if self.truncate is None:
            return W
        kernel = make_kernel_with(GaussianKernel, self.kernel, self.bandwidth)
        below = float(ndtr(-self.truncate))
        rng = generator(seed_sequence(self.random_state), "within the truncation")
        within = kernel.inverse_cdf(rng.uniform(below, 1 - below, (count, d)))
        farthest = self.truncate * kernel.fold(np.full((d, 1), kernel.spectral_scale))
        return np.where(np.abs(W) > farthest, within, W)

    def fit(self, X: Any, y: Any = None) -> RandomFourierFeatures:
        """Draw the frequencies for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        s = self.n_frequencies
        self.set_pairs(self.draw(s, X.shape[1]))
        if self.form == "offset":
            self.offset_ = draw_phases(s, seed_sequence(self.random_state))
            self.scale_ = np.sqrt(2 / s)
        return self

    def column_blocks(self, columns: int, dtype: np.dtype) -> list[ColumnBlock]:
        """As for every Fourier map; in the offset form all columns are cosines."""
        if self.form == "paired":
            return super().column_blocks(columns, dtype)
        return [ColumnBlock(*self._columns_in(dtype), cos=slice(columns), sin=None)]
