"""The Nyström approximation: features from the kernel's values at some of the training rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem

from rffbench.features.bandwidth import chosen_rows
from rffbench.features.base import FeatureMap
from rffbench.kernels import check_squares
from rffbench.rowsource import BLOCK_ROWS, row_blocks
from rffbench.seeds import RandomState, generator, seed_sequence

_SKLEARN_NAMES = {"gaussian": "rbf", "laplacian": "laplacian"}


class NystroemFeatures(FeatureMap):
    """Nyström features: φ(x) = K_ll^(−1/2)·k(landmarks, x), l = ``n_components`` training rows as landmarks.

    scikit-learn's Nystroem on landmarks drawn from the stream, uniformly without replacement. Computed in float64;
    φ(x)ᵀφ(x′) is the kernel itself if x or x′ is a landmark. Only the landmarks are random.

    Parameters
    ----------
    n_components : l, the number of landmarks and of output columns. Where there are fewer training rows, all of
        them are landmarks and the columns beyond are zero.
    kernel : 'gaussian' (exp(−γ‖Δ‖²)) or 'laplacian' (exp(−γ‖Δ‖₁)).
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.features.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState.

    Attributes
    ----------
    landmarks_ : their row numbers, (l,) or, with fewer rows, (n,), ascending.
    nystroem_ : the fitted `sklearn.kernel_approximation.Nystroem`.

    References
    ----------
    C. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
    """

    unbiased = False
    choices: ClassVar[dict[str, tuple]] = {"kernel": tuple(_SKLEARN_NAMES)}

    accepts_sparse = True

    landmarks_: NDArray[np.int64]
    nystroem_: Nystroem

    def __init__(
        self, n_components: int = 100, *, kernel: str = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    @property
    def bytes_to_fit(self) -> int:
        """What ``fit`` holds at once: the landmarks' kernel matrix, its singular vectors, and LAPACK's copies."""
        return 8 * 10 * self.n_components**2

    @property
    def bytes_to_map(self) -> int:
        """What mapping a block of rows holds besides its features: kernel values, and their products."""
        return 8 * 2 * BLOCK_ROWS * self.n_components

    def fit(self, X: Any, y: Any = None) -> NystroemFeatures:
        """Choose the landmarks among the rows X (n, d); y is not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        n, count = X.shape[0], min(self.n_components, X.shape[0])
        rng = generator(seed_sequence(self.random_state), "landmarks")
        self.landmarks_ = np.sort(rng.choice(n, count, replace=False))
        landmarks = chosen_rows(X, self.landmarks_).astype(np.float64, copy=False)
        check_squares(landmarks)
        self.nystroem_ = Nystroem(
            kernel=_SKLEARN_NAMES[self.kernel], gamma=float(self.bandwidth), n_components=count, random_state=0
        ).fit(landmarks)
        return self

    def fill(self, X: NDArray, out: NDArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, l), both of one dtype; unvalidated."""
        landmarks = len(self.landmarks_)
        for rows in row_blocks(X.shape[0]):
            out[rows, :landmarks] = self.nystroem_.transform(X[rows].astype(np.float64, copy=False))
        out[:, landmarks:] = 0
