"""Features re-sampled by ridge leverage scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.parameters import check_positive
from rffbench.arguments.seeds import RandomState
from rffbench.features.weighted.pool import EPS, PooledFeatures
from rffbench.kernels import Kernel
from rffbench.linalg.triangles import Triangle
from rffbench.plugins.parts import MapServes


def ridge_leverage_scores(gram: Triangle, c: float) -> NDArray[np.float64]:
    """Ridge leverage scores of the columns of B: diag(G(G + cI)⁻¹), (2l,), from the Gram matrix G = BᵀB.

    c is nλ (Li et al. 2019, Algorithm 1). Computed as 1 − c·diag((G + cI)⁻¹) = 1 − c·‖L⁻¹e_j‖² with the Cholesky factor
    L of G + cI, which replaces G in its triangle. Scores lie between machine epsilon and 1. LinAlgError if G + cI is
    not positive definite.
    """
    if not c > 0:
        raise ValueError(f"c = nλ must be positive, got {c!r}")
    gram.diagonal[:] += c
    gram.cholesky()
    return np.maximum(1 - c * gram.inverse_diagonal(), EPS)


class LeverageScoreFeatures(PooledFeatures):
    """Leverage-score features: frequencies chosen by their ridge leverage scores on the training data.

    l frequencies are drawn from the spectral density. With B their base features (n, 2l), the scores are the diagonal
    of BᵀB(BᵀB + nλI)⁻¹; a frequency's score is the sum of those of its two columns. y is not used.

    Parameters
    ----------
    n_components : number of output columns, even; s = ``n_components``/2.
    variant : 'as-written', s frequencies drawn again by the scores and weighted by p/q (see ``resample``), in whole
        pairs [cos | sin]; 'reweighted', a deterministic choice of columns as published by J. Li (see ``reweight`` for
        the source).
    score_lambda : λ of the scores, independent of the solver's; 0.05 by default, as in leverageRFF.m.
    pool : l/s, the frequencies drawn to choose from, as a multiple of those chosen; 1 or more. None is 1.
    kernel, gamma, random_state : as in RandomFourierFeatures, whose frequencies the pool's are.

    Attributes
    ----------
    frequencies_ : as-written (d, s), each frequency as often as it was drawn; reweighted (d, 2s), one per column.
    weights_, probabilities_ : p/q and pᵢ/L of the chosen frequencies, (s,); reweighted 1/q and q of each column, (2s,).
    offset_ : None; reweighted the phases, (2s,).

    Notes
    -----
    Cost: 2nl² + 8l³/3 multiplications after mapping the pool, streamed by row blocks. Memory: about 2l² numbers, one
    triangle of the Gram matrix.

    References
    ----------
    Z. Li, J.-F. Ton, D. Oglic, D. Sejdinovic, "Towards a unified analysis of random Fourier features", ICML
    2019, Algorithm 1; Eq. 3 of F. Liu et al., AAAI 2020, who compare with it.
    """

    serves: ClassVar[MapServes] = replace(
        PooledFeatures.serves, fits_on="inputs", fit_sums="n*l*(d + 2*t + 2*l)", fit_cost="8*l**3/3",
        source="Li et al., ICML 2019",
    )  # fmt: skip

    def __init__(
        self, n_components: int = 100, *, variant: str = "as-written", score_lambda: float = 0.05,
        pool: float | None = 1, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.variant = variant
        self.score_lambda = score_lambda
        self.pool = pool

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("score_lambda", self.score_lambda)

    def fit(self, X: Any, y: Any = None) -> LeverageScoreFeatures:
        """Draw the pool, score it on X (n, d) and choose; y is not used."""
        self.check_parameters()
        self._fit(self._validated(X, reset=True), None)
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        return ("gram",)

    def column_scores(self, n: int, *, gram: Triangle) -> NDArray[np.float64]:  # type: ignore[override]
        return ridge_leverage_scores(gram, n * self.score_lambda)
