"""Frequencies that move, in steps of resampling, to where the targets need them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from sklearn.utils.validation import check_consistent_length

from rffbench.arguments.parameters import check_count, check_positive
from rffbench.arguments.rowsource import BLOCK_ROWS, row_blocks
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import FourierFeatures
from rffbench.features.weighted.surrogate import scored_targets
from rffbench.kernels import Kernel, make_spectral_kernel
from rffbench.kernels.bandwidth import chosen_rows
from rffbench.linalg.triangles import TriangleStack
from rffbench.plugins.parts import MapServes


class AdaptiveResamplingFeatures(FourierFeatures):
    """Adaptive random Fourier features: frequencies that move to where the targets need them.

    The s frequencies begin as those of RandomFourierFeatures. Then ``steps`` times: ridge regression of the targets on
    the features gives each frequency wᵢ an amplitude aᵢ, the norm of the coefficients of its cosine and its sine; s
    frequencies are drawn anew, with replacement, with the probabilities aᵢ/Σa; each takes a random step of ``walk``
    standard deviations of the spectral density in every direction. φ(x) = [cos(Wᵀx) | sin(Wᵀx)]/√s has no weights, so
    φ(x)ᵀφ(x′) estimates another kernel, which fits these targets.

    Parameters
    ----------
    n_components : number of output columns, even; s = ``n_components``/2.
    steps : the resamplings; 0 or more. With 0 these are random Fourier features.
    walk : the length of a random step, in standard deviations of the spectral density (of kernels whose density has
        none, in its scale): positive. For the Gaussian kernel exp(−‖Δ‖²/2σ²) it is ``walk``/σ.
    penalty : of the ridge regression, as a share of the mean square of the features: positive.
    rows : at most this number of training rows, drawn at random, is used for the steps.
    kernel, gamma, random_state : as in RandomFourierFeatures, whose frequencies are the first.

    Attributes
    ----------
    frequencies_ : (d, s) float64, all different.
    weights_, probabilities_ : (s,), ones and 1/s.

    Notes
    -----
    ``fit`` needs targets y, as in SurrogateLeverageFeatures: values are centred, and of several the amplitudes are
    those of all together. It sees only the rows that it is given. If a solver then chooses λ on folds of these rows,
    the frequencies have already seen the targets of each fold. A step takes rows·(d·s + 2s²) + (2s)³/6 multiplications,
    in float64 after the features. Where rows or targets are all alike, the frequencies stay as they were drawn.

    References
    ----------
    "Convergence for adaptive resampling of random Fourier features", arXiv:2509.03151, 2025, as its code's description
    has it, with real columns for complex ones. There the frequencies lie on a lattice and begin at 0, the step comes
    before the resampling, and small amplitudes are cut off: a frequency that is drawn twice then counts twice. Here the
    step comes last, so that no column is wasted on a copy.

    Examples
    --------
    >>> import numpy as np
    >>> from rffbench import AdaptiveResamplingFeatures
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.sin(4 * X[:, 0])
    >>> features = AdaptiveResamplingFeatures(60, gamma=0.5, random_state=0).fit(X, y)
    >>> bool(np.median(abs(abs(features.frequencies_[0]) - 4)) < 0.5)
    True
    """

    serves: ClassVar[MapServes] = replace(
        FourierFeatures.serves, bias="the frequencies that the targets need", fits_on="inputs and targets",
        fit_cost="j*(min(n, x)*(d*s + t*D + D**2/2) + D**3/6)", source="arXiv:2509.03151, 2025",
    )  # fmt: skip
    takes_targets = True  # (n, t) from an estimator, which knows whether they are classes

    def __init__(
        self, n_components: int = 100, *, steps: int = 20, walk: float = 0.25, penalty: float = 1e-4,
        rows: int = 10_000, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.steps = steps
        self.walk = walk
        self.penalty = penalty
        self.rows = rows

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count("steps", self.steps, least=0)
        check_positive("walk", self.walk)
        check_positive("penalty", self.penalty)
        check_count("rows", self.rows, least=2)

    def letters(self, d: int) -> dict[str, float]:
        """j, the steps, and x, the most rows of one."""
        return {"j": self.steps, "x": self.rows}

    @property
    def bytes_to_fit(self) -> int:
        """The bytes that ``fit`` holds at once: a block of features, and their Gram matrix."""
        return 16 * BLOCK_ROWS * self.n_components + TriangleStack.bytes_needed(1, self.n_components)

    def fit(self, X: Any, y: Any) -> AdaptiveResamplingFeatures:
        """Move the frequencies by rows X (n, d) with targets y (n,) or (n, t)."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        Y = scored_targets(y, self)
        check_consistent_length(X, Y)
        (n, d), s = X.shape, self.n_frequencies
        rng = generator(seed_sequence(self.random_state), "adaptive steps")
        if n > self.rows:
            chosen = np.sort(rng.choice(n, self.rows, replace=False))
            X, Y = chosen_rows(X, chosen), Y[chosen]
        Y = Y.reshape(len(Y), -1)
        Y = Y - Y.mean(axis=0)
        kernel = make_spectral_kernel(self.kernel, self.bandwidth)
        W = self.draw(s, d)
        for _ in range(self.steps):
            self.set_pairs(W)
            amplitudes = self._amplitudes(X, Y)
            if not amplitudes.sum() > 0:  # rows or targets are all alike: there is nothing to choose by
                break
            W = W[:, rng.choice(s, size=s, p=amplitudes / amplitudes.sum())]
            W = W + kernel.fold(self.walk * kernel.spectral_scale * rng.normal(size=(d, s)))
        self.set_pairs(W)
        return self

    def _amplitudes(self, X: Any, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """By ridge regression of centred targets Y (n, t) on the features of X, the norm of each frequency's
        coefficients (s,)."""
        n, columns = X.shape[0], self.n_components
        gram, right, sums = TriangleStack(1, columns)[0], np.zeros((columns, Y.shape[1])), np.zeros(columns)
        buffer = np.empty((min(BLOCK_ROWS, n), columns), dtype=X.dtype)
        for rows in row_blocks(n):
            self.fill(X[rows], buffer[: rows.stop - rows.start])
            Z = buffer[: rows.stop - rows.start].astype(np.float64, copy=False)
            gram.add_gram(Z)
            right += Z.T @ Y[rows]
            sums += Z.sum(axis=0)
        gram.add_gram(sums[None, :], -1 / n)  # the features, too, are centred
        gram.diagonal[:] += self.penalty * gram.diagonal.mean()
        try:
            gram.cholesky()
        except LinAlgError:  # the features of all rows are the same, but for rounding
            return np.zeros(self.n_frequencies)
        squares = np.square(gram.solve(right).reshape(columns, -1)).sum(axis=1)
        return np.sqrt(np.bincount(np.arange(columns) % self.n_frequencies, weights=squares))
