"""Random Fourier features of few bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.base import FourierFeatures
from rffbench.kernels import Kernel
from rffbench.linalg.threads import in_threads
from rffbench.linalg.trigonometric import WORTH_A_THREAD
from rffbench.plugins.parts import MapServes

MOST_BITS = 16


class LowPrecisionFeatures(FourierFeatures):
    """LP-RFF, low-precision random Fourier features: each is rounded at random to one of 2ᵇ levels, b = ``bits``.

    φ(x) = Q([cos(Wᵀx) | sin(Wᵀx)]/√s), s = ``n_components``/2, with the levels −1/√s … 1/√s at equal steps. Q rounds a
    number to one of the two nearest levels, with probabilities that keep its mean. So E[φ(x)ᵀφ(x′)] = k(x, x′) for rows
    that differ. With c = 1/(2ᵇ − 1)², rounding adds at most (4c + 4c²)/D to the variance of random Fourier features.
    The mean of φ(x)ᵀφ(x) is too large: by about 4c/3 with many bits; with one bit it is 2.

    ``transform`` gives the levels as floating-point numbers, because solvers compute with these: a trial needs as much
    memory as without rounding. ``encode`` packs them, b bits each, D·b/8 bytes for a row, and ``decode`` unpacks them.

    Parameters
    ----------
    n_components : D, the number of output columns, even.
    bits : b, 1 to 16.
    kernel, gamma : as in RandomFourierFeatures.
    random_state : as in RandomFourierFeatures, which has the same frequencies; sizes nest, levels included.

    Attributes
    ----------
    frequencies_ : W, (d, s) float64.
    metrics_ : 'row_bytes', the bytes of a row from ``encode``.
    keys_ : seeds of the columns' random numbers, (D,) uint64. A row's seed is a hash of its numbers as float32, so that
        it is rounded in the same way in every block.

    References
    ----------
    J. Zhang, A. May, T. Dao, C. Ré, "Low-precision random Fourier features for memory-constrained kernel
    approximation", AISTATS 2019, Section 4. Its circulant W is left out: FastfoodFeatures needs as little memory for W.

    Examples
    --------
    >>> import numpy as np
    >>> from rffbench import LowPrecisionFeatures
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> features = LowPrecisionFeatures(20_000, bits=4, gamma=0.5, random_state=0).fit(X)
    >>> Z = features.transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1)) < 0.02), len(np.unique(Z)), features.encode(X).nbytes
    (True, 16, 20000)
    """

    serves: ClassVar[MapServes] = replace(
        FourierFeatures.serves, bias="the diagonal is too large", unbiased_if="rows differ", nests=("frequencies_",),
        row_cost="d*s + 2*t*D", source="Zhang et al., AISTATS 2019",
    )  # fmt: skip

    keys_: NDArray[np.uint64]

    def __init__(
        self, n_components: int = 100, *, bits: int = 8, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        super().__init__(n_components, kernel=kernel, gamma=gamma, random_state=random_state)
        self.bits = bits

    @property
    def unbiased(self) -> bool:
        return True

    def check_parameters(self) -> None:
        super().check_parameters()
        whole = isinstance(self.bits, (int, np.integer)) and not isinstance(self.bits, bool)
        if not whole or not 1 <= self.bits <= MOST_BITS:
            raise WrongParameter("bits", f"must be a whole number from 1 to {MOST_BITS}, got {self.bits!r}")

    def fit(self, X: Any, y: Any = None) -> LowPrecisionFeatures:
        """Draw the frequencies for X's columns; X's values and y are not used."""
        self.check_parameters()
        X = self._validated(X, reset=True)
        s, d, sequence = self.n_frequencies, X.shape[1], seed_sequence(self.random_state)
        self.set_pairs(self.draw(s, d))
        # for a cosine and a sine in turn, so that sizes nest
        keys = generator(sequence, "rounding").integers(2**64, size=(s, 2), dtype=np.uint64)
        self.keys_ = keys.T.reshape(-1)[: self.n_components]
        self.metrics_ = {"row_bytes": float(-(-self.n_components * self.bits // 8))}
        self._multipliers = generator(sequence, "hash").integers(2**64, size=d, dtype=np.uint64) | np.uint64(1)
        return self

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        from rffbench.linalg.rounding_kernels import round_rows

        super().fill(X, out)
        rows, limit, intervals = self._row_keys(X), float(self.scale_), 2.0**self.bits - 1

        def some(first: int, last: int) -> None:
            round_rows(out[first:last], rows[first:last], self.keys_, limit, intervals)

        in_threads(some, len(out), worthwhile=out.nbytes > WORTH_A_THREAD)

    def encode(self, X: Any) -> NDArray[np.uint8]:
        """The features of X (n, d) as level numbers of b bits each, packed: (n, ⌈D·b/8⌉)."""
        levels = np.rint((self.transform(X).astype(np.float64) / self.scale_ + 1) / 2 * (2**self.bits - 1))
        places = np.arange(self.bits - 1, -1, -1)
        digits = (levels.astype(np.uint16)[:, :, None] >> places & 1).astype(np.uint8)
        return np.packbits(digits.reshape(len(levels), -1), axis=1)

    def decode(self, packed: NDArray[np.uint8]) -> NDArray[np.float64]:
        """The features (n, D) that ``encode`` packed."""
        check_is_fitted(self)
        digits = np.unpackbits(packed, axis=1, count=self.n_components * self.bits).reshape(len(packed), -1, self.bits)
        levels = digits @ 2.0 ** np.arange(self.bits - 1, -1, -1)
        return np.asarray((levels * (2 / (2**self.bits - 1)) - 1) * self.scale_)

    def _row_keys(self, X: Any) -> NDArray[np.uint64]:
        """A hash of each row of X (n, d), an array or a CSR matrix: Σ of random multiples of its bits, mod 2⁶⁴."""
        with np.errstate(over="ignore"):
            if not issparse(X):
                return np.asarray(_as_bits(X) @ self._multipliers)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            bits = csr_array((_as_bits(X.data), X.indices, X.indptr), shape=X.shape)
            return np.asarray(bits @ self._multipliers)


def _as_bits(numbers: FloatArray) -> NDArray[np.uint64]:
    """The bits of numbers as float32; 0 and −0 both give 0."""
    return (np.ascontiguousarray(numbers, dtype=np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)
