"""Random binning features: which cells of random grids a row is in."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from rffbench.arguments.rowsource import row_blocks
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import FeatureMap
from rffbench.kernels import BinningKernel, Kernel, make_kernel_with
from rffbench.linalg.bins import Grids, table_bytes
from rffbench.plugins.parts import MapServes

MOST_INT32 = np.iinfo(np.int32).max


class RandomBinningFeatures(FeatureMap):
    """Random binning: φ(x) has 1/√D at the bin of x in each of D = ``n_components`` random grids.

    A grid has a pitch δⱼ and a shift uⱼ ~ U[0, δⱼ] for each input; the bin of x is c, cⱼ = ⌊(xⱼ − uⱼ)/δⱼ⌋. Two points
    share a bin with probability ∏ⱼ E max(0, 1 − |Δⱼ|/δⱼ), which is k(x, x′) = ∏ⱼ k₁(|Δⱼ|) if δⱼ has the density
    δ·k₁″(δ). For the Laplacian kernel exp(−γ‖Δ‖₁) that is Gamma(2) with the mean 2/γ. So φ(x)ᵀφ(x′), the share of grids
    in which the points have the same bin, has the kernel as its mean, and the variance k(1 − k)/D.

    ``transform`` gives a CSR matrix (n, ``n_columns_``): a column for each bin that holds a training row, grid by grid,
    and D numbers in each row. A new row has no number for a grid in which its bin holds no training row. Its products
    with training rows are right; the product of two new rows may lack some terms. A hash of 64 bits identifies a bin
    (`rffbench.linalg.bins.Grids`).

    Parameters
    ----------
    n_components : D, the number of grids, and of numbers in a row. The rows decide the number of columns.
    kernel : 'laplacian', or another with the trait BinningKernel.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState; with the same stream the first grids
        of a larger map, and their columns, are those of a smaller one.

    Attributes
    ----------
    pitches_ : δ, (d, D) float64.
    shifts_ : u, (d, D) float64.
    n_columns_ : the number of output columns, between D and n·D.
    grids_ : the `Grids`, with a number for each bin: 24 to 48 bytes a column.

    Notes
    -----
    X is (n, d), float64 or float32, an array or a CSR matrix, of which only the stored numbers are read; ``transform``
    keeps the dtype. Bins are computed in float64.

    References
    ----------
    A. Rahimi and B. Recht, "Random features for large-scale kernel machines", NIPS 2007, Algorithm 2.
    L. Wu, I. Yen, J. Chen and R. Yan, "Revisiting random binning features", KDD 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from rffbench import RandomBinningFeatures
    >>> X = np.array([[0.0, 0.0], [0.3, 0.4]])
    >>> Z = RandomBinningFeatures(20_000, random_state=0).fit_transform(X)
    >>> bool(abs((Z @ Z.T)[0, 1] - np.exp(-0.7)) < 0.01)
    True
    """

    serves: ClassVar[MapServes] = MapServes(
        kernels=BinningKernel, fits_on="inputs", sparse=True, row_cost="R*(5*d + 500)", fit_sums="n*R*(5*d + 1500)",
        nests=("pitches_", "shifts_"), source="Rahimi and Recht, NIPS 2007; Wu et al., KDD 2016",
    )  # fmt: skip
    accepts_sparse = True
    fill = None  # type: ignore[assignment]  # no block of all columns is ever written

    pitches_: NDArray[np.float64]
    shifts_: NDArray[np.float64]
    n_columns_: int
    grids_: Grids

    def __init__(
        self, n_components: int = 100, *, kernel: str | Kernel = "laplacian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)

    def letters(self, d: int) -> dict[str, float]:
        """R of the formulas."""
        return {"R": self.n_components}

    def bytes_kept(self, n: int) -> int:
        """The bytes of the tables of bins if each of n rows has its own bin in each grid."""
        return self.n_components * table_bytes(n)

    def fit(self, X: Any, y: Any = None) -> RandomBinningFeatures:
        """Draw the grids, and give a column to each bin that holds a row of X (n, d); y is not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        (n, d), sequence = X.shape, seed_sequence(self.random_state)
        kernel = make_kernel_with(BinningKernel, self.kernel, self.bandwidth)
        self.pitches_ = kernel.pitches(generator(sequence, "pitches"), self.n_components, d)
        self.shifts_ = generator(sequence, "shifts").uniform(size=(self.n_components, d)).T * self.pitches_
        multipliers = generator(sequence, "hash").integers(2**64, size=d, dtype=np.uint64) | np.uint64(1)
        self.grids_ = Grids(self.pitches_, self.shifts_, multipliers)
        for rows in row_blocks(n):
            self.grids_.add(_finite(X[rows]))
        self.n_columns_ = self.grids_.n_cells
        return self

    def transform(self, X: Any) -> csr_array:
        """Map X (n, d) to the features, a CSR matrix (n, n_columns_) of X's dtype."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        n, grids = X.shape[0], self.n_components
        columns = np.empty((n, grids), np.int32 if max(n * grids, self.n_columns_) < MOST_INT32 else np.int64)
        for rows in row_blocks(n):
            self.grids_.cells(_finite(X[rows]), columns[rows])
        known = columns >= 0
        if known.all():
            indptr, indices = np.arange(n + 1, dtype=columns.dtype) * grids, columns.ravel()
        else:
            indptr, indices = np.zeros(n + 1, columns.dtype), columns[known]
            np.cumsum(known.sum(axis=1), out=indptr[1:])
        data = np.full(len(indices), 1 / np.sqrt(grids), X.dtype)
        return csr_array((data, indices, indptr), shape=(n, self.n_columns_))

    @property
    def _n_features_out(self) -> int:
        return self.n_columns_


def _finite(block: Any) -> Any:
    """A block of rows; ValueError for numbers that are not finite, which have no bin. Only the rows of a row source
    have not been checked before."""
    if not np.isfinite(block.data if issparse(block) else block).all():
        raise ValueError("X contains NaN or infinity")
    return block
