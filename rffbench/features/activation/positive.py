"""Positive random features: exponentials of random projections."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.rowsource import row_blocks
from rffbench.arguments.seeds import RandomState, seed_sequence
from rffbench.features.base import FeatureMap, FourierFeatures
from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.features.structured.orthogonal import OrthogonalRandomFeatures
from rffbench.features.structured.simplex import SimplexRandomFeatures
from rffbench.kernels import ExponentialKernel, GaussianKernel, Kernel, check_squares
from rffbench.kernels.base import squared_lengths
from rffbench.linalg.exponentials import exponential_columns
from rffbench.linalg.threads import blas_for
from rffbench.plugins.parts import MapServes

DRAWN_BY: dict[str, type[FourierFeatures]] = {
    "iid": RandomFourierFeatures,
    "orthogonal": OrthogonalRandomFeatures,
    "simplex": SimplexRandomFeatures,
}
"""The maps whose frequencies for the Gaussian kernel with γ = ½ are w."""


class PositiveFeatures(FeatureMap):
    """Positive random features (FAVOR+): exponentials of random projections, for the Gaussian and exponential kernels.

    With u = √(2γ)·x and w ~ N(0, I), exp(−‖u − u′‖²/2) is the mean of f(u)·f(u′), f(u) = exp(wᵀu − ‖u‖²). All features
    are positive, so an estimate near 0 is small, too: more columns reduce its relative error, while those of cosines
    reduce the absolute error. The variance is k²·(exp(‖u + u′‖²) − 1)/D, which grows fast with the rows' lengths. Rows
    are centred first: adding a constant to all rows does not change the Gaussian kernel.

    ``form='exp'``: φ(x)ⱼ = f(u)/√D, D = ``n_components``. ``form='hyperbolic'``: both w and −w, for D/2 draws of w; the
    variance is 1 − exp(−‖u + u′‖²) times that, with half the projections. ``form='oprf'``: f(u) = (1 − 4A)^(d/4)·
    exp(A‖w‖² + √(1 − 4A)·wᵀu − ‖u‖²), with the A < 0 that has the smallest mean of log E[f(u)²f(u′)²] over pairs of
    training rows. With R their mean ‖u + u′‖² and ρ = (√((2R + d)² + 8dR) − 2R − d)/(4R), A = (1 − 1/ρ)/8.

    The exponential kernel exp(γxᵀx′) is the Gaussian one of u = √γ·x, times exp(‖u‖²/2)·exp(‖u′‖²/2).

    Parameters
    ----------
    n_components : D, the number of output columns; even if hyperbolic.
    form : 'oprf', 'hyperbolic' or 'exp'.
    weights : 'iid'; 'orthogonal', in groups of d (OrthogonalRandomFeatures); 'simplex' (SimplexRandomFeatures).
    center : whether the training rows' mean is subtracted from all rows; the papers do not subtract it.
    kernel : 'gaussian' or 'exponential'.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : as in RandomFourierFeatures. w are the frequencies of the Fourier map of that name for the Gaussian
        kernel with γ = ½; sizes nest.

    Attributes
    ----------
    frequencies_ : w, (d, D) float64, or (d, D/2) if hyperbolic; in units of the kernel's ``lengths``.
    center_ : the vector that is subtracted from rows, (d,) float64.
    tilt_ : A; 0 except for 'oprf'.

    Notes
    -----
    X is (n, d), float64 or float32, array or CSR; ``transform`` keeps the dtype. ``fit`` passes once over the rows.
    The estimate is unbiased, because the mean and A depend on the rows and not on w. Cost: d·s for a row, and an
    exponential for each column.

    References
    ----------
    K. Choromanski et al., "Rethinking attention with Performers", ICLR 2021, Lemma 1: FAVOR+ and hyperbolic.
    V. Likhosherstov et al., "Chefs' random tables: non-trigonometric random features", NeurIPS 2022, Theorem 3.2: OPRF.

    Examples
    --------
    >>> import numpy as np
    >>> from rffbench import PositiveFeatures
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> Z = PositiveFeatures(20_000, gamma=0.5, random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1)) < 0.02), bool(Z.min() > 0)
    (True, True)
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=(GaussianKernel, ExponentialKernel), fits_on="inputs", row_cost="d*s + t*D + 2*d", fit_sums="2*n*d",
        fit_cost="o*d**2*s", nests=("frequencies_",), source="Choromanski et al., ICLR 2021",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {
        "form": ("oprf", "hyperbolic", "exp"), "weights": tuple(DRAWN_BY), "center": (True, False),
    }  # fmt: skip
    accepts_sparse = True

    frequencies_: NDArray[np.float64]
    center_: NDArray[np.float64]
    tilt_: float

    def __init__(
        self, n_components: int = 100, *, form: str = "oprf", weights: str = "simplex", center: bool = True,
        kernel: str | Kernel = "gaussian", gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.form = form
        self.weights = weights
        self.center = center

    @property
    def columns_per_frequency(self) -> int:
        """Output columns of a projection: two if hyperbolic."""
        return 2 if self.form == "hyperbolic" else 1

    @property
    def n_frequencies(self) -> int:
        """s, the number of projections for ``n_components`` columns."""
        return max(1, self.n_components // self.columns_per_frequency)

    def letters(self, d: int) -> dict[str, float]:
        """o of the formulas: whether matrices are factored."""
        return {"o": float(self.weights != "iid")}

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.n_components % self.columns_per_frequency and self.n_components != 1:  # 1: for scikit-learn's tools
            problem = f"must be even with form 'hyperbolic', a column of w and of −w each, got {self.n_components}"
            raise WrongParameter("n_components", problem)

    def fit(self, X: Any, y: Any = None) -> PositiveFeatures:
        """Draw w for X's columns, and find the rows' mean and A; y is not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        n, d = X.shape
        layer = DRAWN_BY[self.weights](
            2 * self.n_frequencies, kernel=GaussianKernel(0.5), random_state=seed_sequence(self.random_state)
        ).fit(X[0:1])
        self.frequencies_ = layer.frequencies_
        total, squares = np.zeros(d), 0.0
        for rows in row_blocks(n):
            block = self.kernel_.scaled(X[rows]).astype(np.float64, copy=False)
            check_squares(block)
            total += np.asarray(block.sum(axis=0)).ravel()
            squares += squared_lengths(block).sum()
        mean = total / n
        pairs = 2 * (squares / n + (-1 if self.center else 1) * (mean @ mean))  # of ‖x + x′‖², where centred
        self.center_ = mean if self.center else np.zeros(d)
        self.tilt_ = optimal_tilt(self._unit**2 * max(0.0, float(pairs)), d) if self.form == "oprf" else 0.0
        return self

    @property
    def _unit(self) -> float:
        """The factor of x in u."""
        kernel = self.kernel_
        return math.sqrt(kernel.gamma if isinstance(kernel, ExponentialKernel) else 2 * kernel.gamma)

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, D), both of one dtype; unvalidated."""
        d, half, unit, kernel = X.shape[1], self.n_frequencies, self._unit, self.kernel_
        center, W = self.center_, self.frequencies_ * (unit * math.sqrt(1 - 4 * self.tilt_))
        of_columns = self.tilt_ * np.einsum("ij,ij->j", self.frequencies_, self.frequencies_)
        of_columns += d / 4 * math.log(1 - 4 * self.tilt_) - math.log(out.shape[1]) / 2
        half_square, scaled = isinstance(kernel, ExponentialKernel) / 2, kernel.scaled(X)

        def of_rows(rows: slice) -> NDArray[np.float64]:
            double = scaled[rows].astype(np.float64, copy=False)  # squares of rows that have a mean cancel
            squares = squared_lengths(double)
            found = unit**2 * (half_square * squares - (squares - 2 * (double @ center) + center @ center))
            return np.asarray(found)

        mirrored = out[:, half:] if out.shape[1] > half else None
        with blas_for(W.size):  # BLAS's threads would spin on a processor while the rows are mapped
            projected = (center @ W).astype(X.dtype)
        exponential_columns(scaled, W.astype(X.dtype), projected, of_rows, of_columns, out[:, :half], mirrored)


def optimal_tilt(mean_square: float, d: int) -> float:
    """The A ≤ 0 of OPRF with the smallest mean of log E[f(u)²f(u′)²] over pairs whose mean ‖u + u′‖² is R ≥ 0."""
    R = float(mean_square)
    # ρ in the form that does not cancel: of the quadratic 2Rρ² + (2R + d)ρ − d = 0
    rho = 2 * d / (2 * R + d + math.sqrt((2 * R + d) ** 2 + 8 * d * R))
    return (1 - 1 / rho) / 8
