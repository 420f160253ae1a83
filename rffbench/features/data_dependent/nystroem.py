"""The Nyström approximation: features from the kernel's values at some of the training rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from scipy.sparse import issparse
from sklearn.kernel_approximation import Nystroem

from rffbench.features.base import FeatureMap
from rffbench.kernels import Kernel, check_squares
from rffbench.kernels.bandwidth import chosen_rows
from rffbench.parts import MapServes
from rffbench.rowsource import BLOCK_ROWS, row_blocks
from rffbench.seeds import RandomState, generator, seed_sequence

SMALLEST_EIGENVALUE = 1e-12  # of K_ll, as scikit-learn has it


class NystroemFeatures(FeatureMap):
    """Nyström features: φ(x) = K_ll^(−1/2)·k(landmarks, x), l = ``n_components`` training rows as landmarks.

    The landmarks are drawn from the stream, uniformly without replacement. Computed in float64, by scikit-learn's
    Nystroem for the kernels that it has by name; φ(x)ᵀφ(x′) is the kernel itself if x or x′ is a landmark. Only the
    landmarks are random.

    Parameters
    ----------
    n_components : l, the number of landmarks and of output columns. Where there are fewer training rows, all of
        them are landmarks and the columns beyond are zero.
    kernel : any of `rffbench.kernels`, by its name or as a Kernel.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState.

    Attributes
    ----------
    landmarks_ : their row numbers, (l,) or, with fewer rows, (n,), ascending.
    nystroem_ : the fitted `sklearn.kernel_approximation.Nystroem`; None for a kernel that it does not have.
    rows_ : the landmarks (l, d) float64, and normalization_ : K_ll^(−1/2) (l, l), for such a kernel.

    References
    ----------
    C. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
    """

    serves: ClassVar[MapServes] = MapServes(
        bias="the best columns for the rows it was fitted to", fits_on="inputs",
        row_cost="D*(d + t + D)", fit_cost="d*D**2 + 10*D**3",
        source="Williams and Seeger, NIPS 2000",
    )  # fmt: skip
    accepts_sparse = True

    landmarks_: NDArray[np.int64]
    nystroem_: Nystroem | None
    rows_: NDArray[np.float64]
    normalization_: NDArray[np.float64]

    def __init__(
        self, n_components: int = 100, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
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
        kernel = self.kernel_
        if kernel.sklearn_name:
            self.nystroem_ = Nystroem(
                kernel=kernel.sklearn_name, gamma=kernel.gamma, n_components=count, random_state=0
            ).fit(kernel.scaled(landmarks))
            return self
        self.nystroem_, self.rows_ = None, _dense(landmarks)
        U, values, V = svd(kernel(self.rows_))
        self.normalization_ = (U / np.sqrt(np.maximum(values, SMALLEST_EIGENVALUE))) @ V
        return self

    def fill(self, X: NDArray, out: NDArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, l), both of one dtype; unvalidated."""
        landmarks, kernel = len(self.landmarks_), self.kernel_
        for rows in row_blocks(X.shape[0]):
            block = X[rows].astype(np.float64, copy=False)
            if self.nystroem_ is not None:
                out[rows, :landmarks] = self.nystroem_.transform(kernel.scaled(block))
            else:
                out[rows, :landmarks] = kernel(_dense(block), self.rows_) @ self.normalization_.T
        out[:, landmarks:] = 0


def _dense(rows: Any) -> NDArray[np.float64]:
    return rows.toarray() if issparse(rows) else rows
