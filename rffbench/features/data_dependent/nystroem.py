"""The Nyström approximation: features from the kernel's values at landmarks."""

from __future__ import annotations

import copy
import warnings
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm, strsm
from scipy.linalg.lapack import dpstrf
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.rowsource import BLOCK_ROWS, row_blocks
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.errors import Fallback
from rffbench.features.base import FeatureMap
from rffbench.features.data_dependent.landmarks import (
    CENTRES,
    RULES,
    VERSIONS,
    Landmarks,
    Rule,
    choose_landmarks,
    not_positive,
    own_landmarks,
)
from rffbench.features.hooks import KernelValues
from rffbench.kernels import Kernel, check_squares
from rffbench.kernels.bandwidth import chosen_rows
from rffbench.kernels.own import OwnBlocks, Signature, is_own
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.plugins.parts import MapServes

PASSES = {"kmeans": 2.0, "minibatch": 1.0, "rls": 3.0, "bless": 2.0, "rpcholesky": 2.0, "greedy": 4.0}
NEGATIVE = 100  # times rounding: an eigenvalue of K_ll further below 0 comes from the kernel
SINGLE_ERROR = 1e-4  # the largest error of φ(x), as a vector, by single precision; ‖φ(x)‖ ≤ 1
MARGIN = 4.0  # rows that are no landmarks may have larger errors than landmarks have
PROBES = 256  # landmarks at which the error is measured


class NystroemFeatures(FeatureMap):
    """Nyström features: φ(x) = R⁻¹·k(landmarks, x), RRᵀ = K_ll, of l = ``n_components`` landmarks.

    R is the pivoted Cholesky factor of the landmarks' own kernel matrix. The factorisation stops when only rounding is
    left: if K_ll is singular to working precision, r < l landmarks are kept, and the columns beyond r are zero.
    φ(x)ᵀφ(x′) is exactly the kernel if x or x′ is a landmark. Only the landmarks are random.

    Computed in float64. A map that was fitted to float32 rows maps float32 rows in float32 if that is safe, because it
    takes half as long. R⁻¹ may multiply rounding errors by a million, so each fit decides: the errors of φ at 256
    landmarks, where φ is known exactly, those of kernel values, and ε/Rᵢᵢ must be at most 1e-4/4. Then φ(x) differs by
    at most about 1e-4, as a vector of length 1 or less. The kernel must depend on differences of rows.

    Parameters
    ----------
    n_components : l, the number of landmarks and of output columns. With fewer training rows, all rows are landmarks
        and the columns beyond them are zero. With more rows, rules other than uniform need l distinct ones.
    landmarks : uniform, without replacement; kmeans, centres by scikit-learn's MiniBatchKMeans; minibatch, centres by
        this package's k-means, as good and several times as fast; rls, by recursive ridge leverage scores; bless, by
        leverage scores of falling λ; rpcholesky, randomly pivoted Cholesky; greedy, large residuals. In Python also
        row numbers (l,) or points (l, d) of your own.
    kernel : any of `rffbench.kernels`, by its name or as a Kernel; or your own, for every rule but kmeans and
        minibatch: a callable of two rows, which may be vectors, texts or other objects, that gives a number, as
        scikit-learn's Nystroem takes it; a kernel object of `sklearn.gaussian_process.kernels`; or 'precomputed': then
        X is the matrix of all pairs of rows in ``fit``, (n, n), and in ``transform`` that of the new rows with these,
        (m, n). A fit with uniform landmarks takes l² values, and m new rows m·l.
    gamma : γ > 0; or 'scale' or 'median', of the rows (`rffbench.kernels.bandwidth.gamma_of_rows`).
    random_state : None, an integer, a SeedSequence, a Generator or a RandomState.

    Attributes
    ----------
    landmarks_ : their row numbers, (l,) or, with fewer rows, (n,): ascending for uniform landmarks, else in the order
        in which they were chosen; None for centres and for given points.
    points_ : the landmarks that are kept, (r, d) float64, an array or a CSR matrix; their objects (r,), if rows are no
        vectors; of a precomputed kernel their row numbers (r, 1).
    rank_ : r, the rank of K_ll to working precision.
    root_ : R, (r, r) float64, lower triangular, for the landmarks in the order of ``points_``.
    maps_in_single_ : whether float32 rows are mapped in float32; else in float64, and the features are rounded.

    References
    ----------
    C. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
    """

    serves: ClassVar[MapServes] = MapServes(
        bias="the best columns for the rows it was fitted to", fits_on="inputs",
        row_cost="D*(d + t + D/2)", fit_cost="d*D**2 + D**3/6 + a*n*D*(d + t + D/2)",
        source="Williams and Seeger, NIPS 2000",
    )  # fmt: skip
    accepts_sparse = True
    own_kernels: ClassVar[Signature | None] = "pairs"

    choices: ClassVar[dict[str, tuple[object, ...]]] = {"landmarks": RULES}
    versions: ClassVar[dict[str, dict[Rule, int]]] = {"landmarks": VERSIONS}

    landmarks_: NDArray[np.int64] | None
    points_: Any
    rank_: int
    root_: NDArray[np.float64]
    _single: KernelValues | None = None

    def __init__(
        self, n_components: int = 100, *, landmarks: Rule | Any = "uniform", kernel: str | Kernel = "gaussian",
        gamma: float | str = 1.0, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.landmarks = landmarks

    def check_parameters(self) -> None:
        """As for every map; given landmarks are checked in ``fit``, against the rows."""
        if isinstance(self.landmarks, str):
            super().check_parameters()
            check_rule(self.kernel, self.landmarks)
            return
        others = copy.copy(self)
        others.landmarks = "uniform"
        others.check_parameters()

    def letters(self, d: int) -> dict[str, float]:
        """a of the formulas: about how many times the rule passes over all rows."""
        return {"a": PASSES.get(self.landmarks, 0.0) if isinstance(self.landmarks, str) else 0.0}

    @property
    def bytes_to_fit(self) -> int:
        """The bytes that ``fit`` holds at once: the landmarks' kernel matrix, its factor and copies of it, and a block
        of kernel values. A rule that looks at the rows holds two more matrices."""
        m = self.n_components
        return 8 * m * (8 * m + 2 * BLOCK_ROWS)

    @property
    def bytes_to_map(self) -> int:
        """The bytes that mapping a block of rows takes besides its features: kernel values, and their products."""
        return 8 * 2 * BLOCK_ROWS * self.n_components

    def fit(self, X: Any, y: Any = None) -> NystroemFeatures:
        """Choose the landmarks among the rows X (n, d); y is not used."""
        self.check_parameters()
        X = self._numbered(X) if is_own(self.kernel) else self._validated(X, reset=True)
        points, self.landmarks_ = self._chosen(X)
        check_squares(points)
        blocks = KernelBlocks(self.kernel_, points)
        self.root_, kept = positive_root(blocks(points), 0.0 if is_own(self.kernel) else blocks.rounding)
        self.rank_, self.points_ = len(kept), points[kept]
        if self.rank_ < self.n_components:
            self._say_what_is_missing(X.shape[0], points)
        self._blocks: KernelBlocks | OwnBlocks = KernelBlocks(self.kernel_, self.points_)
        if self._own is not None and is_own(self.kernel):
            self._own, self.points_ = self._own.with_rows_of(self.points_)
            self._blocks = OwnBlocks(self._own, self.points_ if self._own.precomputed else self._own.numbers)
        self._single = None if is_own(self.kernel) or X.dtype != np.float32 else self._in_single()
        return self

    @property
    def maps_in_single_(self) -> bool:
        """Whether float32 rows are mapped in float32."""
        return self._single is not None

    def _in_single(self) -> KernelValues | None:
        """k(x) and R in float32; None where that makes φ(x) wrong by more than `SINGLE_ERROR`."""
        if not self.kernel_.of_differences:
            return None
        root = self.root_.astype(np.float32, order="F")
        blocks = KernelBlocks(self.kernel_, self.points_, np.float32)
        single = KernelValues(blocks, root)
        probes = np.arange(self.rank_)[:: -(-self.rank_ // PROBES)]
        found = mixed(single, self.points_[probes], np.empty((len(probes), self.rank_), np.float32))
        error = np.linalg.norm(found - self.root_[probes], axis=1).max()  # φ of landmark i is R's row i
        # At a landmark itself a rounded distance below 0 becomes 0, so the errors of rows near it do not show.
        error = max(error, blocks.rounding, np.finfo(np.float32).eps / self.root_.diagonal().min())
        return single if MARGIN * error <= SINGLE_ERROR else None

    def _validated_rows(self, X: Any, *, reset: bool) -> Any:
        if self._own is not None and is_own(self.kernel):
            return self._own.new_rows(X)
        return super()._validated_rows(X, reset=reset)

    def transform(self, X: Any) -> FloatArray:
        """Map X (n, d) to the features (n, n_components), in X's dtype (float64 or float32); float64 of objects."""
        if not is_own(self.kernel):
            return super().transform(X)
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        out = np.empty((rows.shape[0], self.n_components))
        self.fill(rows, out)
        return out

    def _say_what_is_missing(self, n: int, points: Any) -> None:
        """Warn if there are fewer rows, or fewer distinct ones, than landmarks. A rank that is low for another reason,
        such as a large bandwidth, shows only in ``rank_``."""
        asked = self.n_components
        if n < asked:
            warnings.warn(
                f"{asked} landmarks are more than the {n} rows: all rows are landmarks", Fallback, stacklevel=3
            )
            return
        dense = points.toarray() if issparse(points) else points
        distinct = len({row.tobytes() for row in dense + 0.0})  # −0 is 0
        if distinct < asked:
            text = f"of {asked} landmarks {distinct} are distinct rows: the others add nothing, and their columns are 0"
            warnings.warn(text, Fallback, stacklevel=3)

    def _chosen(self, X: Any) -> Landmarks:
        n, sequence = X.shape[0], seed_sequence(self.random_state)
        count = min(self.n_components, n)
        if not isinstance(self.landmarks, str):
            if is_own(self.kernel) and np.ndim(self.landmarks) != 1:
                problem = f"must be row numbers with a kernel of your own, got shape {np.shape(self.landmarks)}"
                raise WrongParameter("landmarks", problem)
            found = own_landmarks(X, self.landmarks)
            if found.points.shape[0] != self.n_components:
                given = found.points.shape[0]
                raise WrongParameter("n_components", f"must be {given}, the landmarks given, got {self.n_components}")
            return found
        if self.landmarks != "uniform" and count < n:
            return choose_landmarks(cast("Rule", self.landmarks), self.kernel_, X, count, sequence)
        numbers = np.sort(generator(sequence, "landmarks").choice(n, count, replace=False))
        return Landmarks(chosen_rows(X, numbers).astype(np.float64, copy=False), numbers)

    @property
    def unmixed(self) -> KernelValues:
        """The columns from which sums over rows can be made instead of the features (`rffbench.features.hooks`)."""
        return KernelValues(self._blocks, self.root_)

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, l), both of one dtype; unvalidated."""
        in_single = self._single if out.dtype == np.float32 else None
        values = in_single or KernelValues(self._blocks, self.root_)
        buffer = np.empty((min(BLOCK_ROWS, X.shape[0]), self.rank_), values.root.dtype)
        for rows in row_blocks(X.shape[0]):
            out[rows, : self.rank_] = mixed(values, X[rows], buffer[: rows.stop - rows.start])
        out[:, self.rank_ :] = 0


def mixed(values: KernelValues, X: Any, buffer: FloatArray) -> FloatArray:
    """R⁻¹·k(x) of the rows X (n, d), (n, r), in R's dtype; it is written into ``buffer`` (n, r), C-contiguous."""
    values.blocks.fill(X, buffer)
    solve = strsm if values.root.dtype == np.float32 else dtrsm
    found: FloatArray = solve(1.0, values.root, buffer.T, lower=1, overwrite_b=1).T
    return found


def check_rule(kernel: Any, rule: str) -> None:
    """WrongParameter if the landmarks' ``rule`` needs inputs, which rows of the user's own ``kernel`` may not have."""
    if is_own(kernel) and rule in CENTRES:
        others = ", ".join(each for each in RULES if each not in CENTRES)
        raise WrongParameter(
            "landmarks",
            f"must be one of {others} with a kernel of your own: centres of k-means are no rows, got {rule}",
        )


def positive_root(K: NDArray[np.float64], rounding: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """R (r, r), lower triangular in Fortran order, and its rows (r,) of K (m, m): RRᵀ = K[rows][:, rows], by pivoted
    Cholesky until the rest of K is below m·ε of its largest diagonal entry, or below ``rounding``, the error of K's
    entries, if that is larger: R⁻¹ would magnify it. ValueError, naming the eigenvalue, if K is not positive
    semi-definite."""
    usual = len(K) * float(np.finfo(np.float64).eps) * float(np.abs(K.diagonal()).max())
    factor, pivots, rank, _ = dpstrf(K, lower=1, tol=rounding if rounding > usual else -1.0)
    order, kept = pivots - 1, np.arange(rank)
    rest = order[rank:]
    if len(rest):
        left = factor[rank:, :rank]
        scale = max(usual, rounding)
        if np.abs(K[np.ix_(rest, rest)] - left @ left.T).max(initial=0.0) > NEGATIVE * scale:
            values = np.linalg.eigvalsh(K)
            if values[0] < -NEGATIVE * scale:
                raise ValueError(not_positive(float(values[0])))
    return np.asfortranarray(np.tril(factor[:rank, :rank])), order[kept].astype(np.int64)
