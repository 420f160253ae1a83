"""Features of a layer of random weights: an activation of wᵀx, w Gaussian."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.seeds import RandomState, seed_sequence
from rffbench.features.base import FeatureMap, FourierFeatures
from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.features.quadrature.gauss_hermite import GaussHermiteFeatures
from rffbench.features.quadrature.qmc import QuasiMonteCarloFeatures
from rffbench.features.quadrature.spherical_radial import QuadratureFeatures
from rffbench.features.structured.orthogonal import OrthogonalRandomFeatures
from rffbench.features.structured.rom import RandomOrthoMatrixFeatures
from rffbench.features.structured.sorf import StructuredOrthogonalFeatures
from rffbench.kernels import ActivationKernel, GaussianKernel, Kernel, make_kernel_with
from rffbench.linalg.hadamard import next_power_of_two
from rffbench.linalg.trigonometric import activation_columns
from rffbench.plugins.parts import MapServes

DRAWN_BY: dict[str, Callable[..., FourierFeatures]] = {
    "iid": RandomFourierFeatures,
    "truncated": partial(RandomFourierFeatures, truncate=3.0),
    "orthogonal": OrthogonalRandomFeatures,
    "lapack-orthogonal": partial(OrthogonalRandomFeatures, signs="lapack"),
    "tall-orthogonal": partial(OrthogonalRandomFeatures, block="tall"),
    "sorf": partial(StructuredOrthogonalFeatures, rotation="structured"),
    "transposed-sorf": partial(StructuredOrthogonalFeatures, transposed=True, rotation="structured"),
    "rom": partial(RandomOrthoMatrixFeatures, lengths="fixed", rotation="structured"),
    "qmc": QuasiMonteCarloFeatures,
    "generalized-halton": partial(QuasiMonteCarloFeatures, scramble="digits"),
    "signs": partial(GaussHermiteFeatures, points=2),
    "quadrature": QuadratureFeatures,
}
"""The maps whose frequencies for the Gaussian kernel with γ = ½ are the weights."""
BIASED = ("truncated", "lapack-orthogonal", "sorf", "transposed-sorf", "rom", "generalized-halton", "signs")
_BY_HADAMARD = ("sorf", "transposed-sorf", "rom")
_FACTORED = ("orthogonal", "lapack-orthogonal", "tall-orthogonal", "quadrature")


class ActivationFeatures(FeatureMap):
    """Random activations φ(x)_j = a(w_jᵀx)/√D, w Gaussian: features of a kernel k(x, x′) = E[a(wᵀx)·a(wᵀx′)].

    For the arc-cosine kernel of order n they are √(2/D)·[wᵀx > 0]·(wᵀx)ⁿ, D = ``n_components``: steps for n = 0,
    rectifiers for n = 1. Weights are drawn independently or coupled. Either way each is N(0, I), so that the estimate
    of the kernel is unbiased, except for the weights in BIASED. The error falls as 1/√D, with a smaller factor for
    coupled weights, and faster with ``weights='qmc'`` in few dimensions. Cost: d·D for a row, or D·log d with
    ``weights='sorf'``.

    Parameters
    ----------
    n_components : D, the number of output columns.
    weights : 'iid'; 'truncated', the same within three standard deviations; 'orthogonal', in groups of d,
        'lapack-orthogonal', the same with the signs that LAPACK leaves, and 'tall-orthogonal', all at once
        (OrthogonalRandomFeatures); 'sorf', by Hadamard matrices, whose directions are not quite uniform, and
        'transposed-sorf' (StructuredOrthogonalFeatures); 'rom', the same with fixed lengths
        (RandomOrthoMatrixFeatures); 'qmc', a scrambled Halton sequence, and 'generalized-halton', one of permuted
        digits (QuasiMonteCarloFeatures); 'signs', random signs, the grid of two points (GaussHermiteFeatures);
        'quadrature', the vertices of randomly rotated simplices, each with its opposite (QuadratureFeatures): all of
        length √d for a kernel that is `homogeneous`, like the arc-cosine kernel; else with lengths in pairs.
    kernel : 'arc-cosine', or another `Kernel` that is a mean over activations; orders as `ArcCosineKernel(order=0)`.
    gamma : 1, because such a kernel has no bandwidth.
    random_state : as in RandomFourierFeatures. The weights are the frequencies of the Fourier map of that name for the
        Gaussian kernel with γ = ½. Sizes nest; with ``weights='quadrature'`` and lengths in pairs only directions and
        whole rules do.

    Attributes
    ----------
    layer_ : the fitted map whose frequencies are the weights.
    frequencies_ : w, (d, D) float64.
    directions_ : the weights at length 1; the first of a larger map are those of a smaller one.
    scale_ : factor of each column, 1/√D, times the root of a quadrature weight; (D,).

    Notes
    -----
    X is (n, d), float64 or float32, array or CSR; ``transform`` keeps the dtype.

    References
    ----------
    Y. Cho and L. Saul, "Kernel methods for deep learning", NIPS 2009; with orthogonal weights K. Choromanski et al.,
    NIPS 2017; with those of a quadrature M. Munkhoeva et al., NeurIPS 2018, Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from rffbench import ActivationFeatures
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> Z = ActivationFeatures(20_000, weights="orthogonal", random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - 2 / np.pi) < 0.02)
    True
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=ActivationKernel,
        bias="weights of Hadamard matrices, permuted digits or signs, truncated or with LAPACK's signs are not normal",
        unbiased_if="weights are normal", row_cost="r*D + D", fit_cost="o*d**2*D", nests=("directions_",),
        source="Cho and Saul, NIPS 2009",
    )  # fmt: skip
    choices: ClassVar[dict[str, tuple[object, ...]]] = {"weights": tuple(DRAWN_BY)}
    versions: ClassVar[dict[str, dict[str, int]]] = {"weights": {"quadrature": 2}}
    accepts_sparse = True

    layer_: FourierFeatures
    scale_: NDArray[np.float64]

    def __init__(
        self, n_components: int = 100, *, weights: str = "iid", kernel: str | Kernel = "arc-cosine",
        gamma: float = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.weights = weights

    @property
    def unbiased(self) -> bool:
        return self.weights not in BIASED

    def letters(self, d: int) -> dict[str, float]:
        """r and o of the formulas: multiply-adds of a projection, and whether matrices are factored."""
        transforms = 3 * (math.log2(next_power_of_two(d)) + 1)
        return {
            "r": transforms if self.weights in _BY_HADAMARD else d,
            "o": float(self.weights in _FACTORED),
        }

    def fit(self, X: Any, y: Any = None) -> ActivationFeatures:
        """Draw the weights for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        even = self.weights == "quadrature"
        drawn = -(-self.n_components // 2) if even else self.n_components
        gaussian = GaussianKernel(0.5, lengths=None if even else self.kernel_.lengths)
        layer = DRAWN_BY[self.weights](
            2 * drawn, kernel=gaussian, random_state=seed_sequence(self.random_state)
        ).fit(X[0:1])  # fmt: skip
        weights = layer.weights_
        if even:  # as the rule is: cosine and sine represent both w and −w, an activation only w
            W = layer.frequencies_
            if make_kernel_with(ActivationKernel, self.kernel_).homogeneous:
                W, weights = math.sqrt(len(W)) * layer.directions_, np.ones(drawn)
            pairs = np.repeat(W, 2, axis=1)[:, : self.n_components]
            pairs[:, 1::2] *= -1
            layer.set_pairs(self.kernel_.fold(pairs))
            weights = np.repeat(weights, 2)[: self.n_components]
        self.layer_, self.scale_ = layer, np.sqrt(weights / self.n_components)
        return self

    @property
    def frequencies_(self) -> NDArray[np.float64]:
        """The weights as a matrix (d, D), float64."""
        return self.layer_.frequencies_

    @property
    def directions_(self) -> NDArray[np.float64]:
        """The weights at length 1, (d, D); of a weight 0, zeros."""
        lengths = np.linalg.norm(self.frequencies_, axis=0)
        return self.frequencies_ / np.where(lengths == 0, 1, lengths)

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, D), both of one dtype; unvalidated."""
        activation = make_kernel_with(ActivationKernel, self.kernel_).activation
        phases, width = self.layer_.phase_tiles(X)
        activation_columns(phases, activation, out, scale=self.scale_, width=width)
