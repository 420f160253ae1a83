"""Kernels of the user's own: a callable, a kernel object of scikit-learn, or a precomputed matrix.

Rows may be anything that the callable takes: vectors, texts, graphs. While a learner is fitted, a row is its number in
a column (n, 1), so that all code for rows of numbers (landmarks, blocks, machines) works on it, and the kernel looks up
the rows. New rows have no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse import issparse

from rffbench.arguments.parameters import WrongParameter
from rffbench.arguments.rowsource import float_rows, is_row_source
from rffbench.kernels.base import Kernel

Signature = Literal["pairs", "matrices"]
"""What a callable takes: two rows, for a number, as in scikit-learn's ``pairwise_kernels``; or two sets of rows, for a
matrix, as in its ``SVC``."""
PRECOMPUTED = "precomputed"
OF_SCIKIT_LEARN = "sklearn.gaussian_process.kernels"
CHECKED = 1000  # rows whose matrix is looked at for a negative eigenvalue
ROUNDING = 1e-8  # relative to the largest entry, and for eigenvalues times the number of rows
ROWS = 256  # new rows at a time
_calling = RLock()  # the user's function is called by one thread at a time


def is_own(kernel: Any) -> bool:
    """Whether ``kernel`` is a callable, a kernel object of scikit-learn or 'precomputed'."""
    if isinstance(kernel, str):
        return kernel == PRECOMPUTED
    return callable(kernel) and not isinstance(kernel, (Kernel, type))


@dataclass(frozen=True, eq=False)
class OwnKernel(Kernel):
    """A kernel of row numbers. ``rows`` are the training rows: an array or a CSR matrix (n, d), or objects (n,); for a
    precomputed kernel its matrix (n, n)."""

    function: Any = field(default=None, kw_only=True)
    signature: Signature = field(default="pairs", kw_only=True)
    rows: Any = field(default=None, kw_only=True, repr=False)
    width: int = field(default=0, kw_only=True)

    name: ClassVar[str] = "own"
    formula: ClassVar[str] = "given by the user"
    has_bandwidth: ClassVar[bool] = False
    rules: ClassVar[tuple[str, ...]] = ()

    @property
    def precomputed(self) -> bool:
        """Whether rows are those of a kernel matrix."""
        return isinstance(self.function, str)

    @property
    def _takes_matrices(self) -> bool:
        """As kernels of `sklearn.gaussian_process.kernels` do, by their class."""
        kinds = type(self.function).__mro__
        return self.signature == "matrices" or any(each.__module__ == OF_SCIKIT_LEARN for each in kinds)

    def fitted_to(self, X: Any) -> OwnKernel:
        """The kernel with the training rows X. ValueError if it cannot take them."""
        rows = matrix_of(X) if self.precomputed else rows_of_any(X)
        return replace(self, rows=rows, width=int(rows.shape[1]) if rows.ndim == 2 else 1)

    def without_matrix(self) -> OwnKernel:
        """The same for new rows: a precomputed kernel then needs no matrix."""
        return replace(self, rows=None) if self.precomputed else self

    def with_rows_of(self, points: NDArray[np.float64]) -> tuple[OwnKernel, Any]:
        """The kernel with only the training rows ``points``, by their numbers (m, 1), whose numbers are then 0 to
        m − 1; and these rows. A precomputed kernel keeps no rows, and the numbers."""
        if self.precomputed:
            return self.without_matrix(), points
        rows = _at(self.rows, _integers(points))
        return replace(self, rows=rows), rows

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers of the training rows, (n, 1)."""
        return np.arange(self.rows.shape[0], dtype=np.float64)[:, None]

    def matrix(self, X: NDArray[np.float64], Y: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The kernel matrix (n, m) of rows by their numbers X (n, 1) and Y (m, 1). If these are the same, ValueError
        unless it is symmetric and, of at most `CHECKED` rows, without a negative eigenvalue."""
        first = _integers(X)
        second = first if Y is None else _integers(Y)
        if self.precomputed:
            return np.asarray(self.rows[np.ix_(first, second)])
        K = self._called(_at(self.rows, first), _at(self.rows, second))
        if len(first) > 1 and np.array_equal(first, second):
            check_symmetric(K, "the kernel")
            if len(K) <= CHECKED:
                check_positive(K, "the kernel")
        return K

    def diagonal(self, X: Any) -> NDArray[np.float64]:
        """k(xᵢ, xᵢ), (n,), of rows by their numbers X (n, 1)."""
        numbers = _integers(np.asarray(X))
        if self.precomputed:
            return np.asarray(self.rows[numbers, numbers])
        return np.array([float(self._called(row, row)[0, 0]) for row in (_at(self.rows, [at]) for at in numbers)])

    def new_rows(self, X: Any) -> Any:
        """New rows as the kernel takes them. ValueError if they are of another width."""
        rows = rows_of_any(X)
        if (self.precomputed or self.width > 1) and (rows.ndim != 2 or rows.shape[1] != self.width):
            given = f"{rows.shape[1]} columns" if rows.ndim == 2 else "no columns"
            wanted = f"{self.width}, as the rows of fit"
            if self.precomputed:
                wanted = f"{self.width}, k(x, x′) of each row x and each of the rows x′ of fit"
            raise ValueError(f"X has {given}; this kernel needs {wanted}")
        return rows

    def values(self, rows: Any, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """k(x, x′), (n, m), of new rows x (`new_rows`) and of training rows x′ by their ``numbers``."""
        index = _integers(numbers)
        if self.precomputed:
            return np.asarray(rows[:, index], dtype=np.float64)
        return self._called(rows, _at(self.rows, index))

    def product(
        self, rows: Any, numbers: NDArray[np.float64], coefficients: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Σⱼ k(x, x′ⱼ)·cⱼ, (n,) or (n, t), some new rows x at a time."""
        blocks = [
            self.values(rows[start : start + ROWS], numbers) @ coefficients for start in range(0, rows.shape[0], ROWS)
        ]
        return np.concatenate(blocks)

    def _called(self, first: Any, second: Any) -> NDArray[np.float64]:
        if not (first.shape[0] and second.shape[0]):
            return np.zeros((first.shape[0], second.shape[0]))
        with _calling:
            if self._takes_matrices:
                return self._by_matrices(first, second)
            return np.array([[self._of_pair(x, other) for other in second] for x in first])

    def _by_matrices(self, first: Any, second: Any) -> NDArray[np.float64]:
        found = self.function(first, second)
        try:
            K = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            K = np.empty(0)
        wanted = (first.shape[0], second.shape[0])
        if K.shape != wanted:
            raise ValueError(
                f"the kernel {_called(self.function)} must give a matrix {wanted}, the values for {wanted[0]} and "
                f"{wanted[1]} rows, got {_shape(found)}"
            )
        _check_numbers(K, self.function)
        return K

    def _of_pair(self, x: Any, other: Any) -> float:
        found = self.function(x, other)
        try:
            number = float(found)
        except (TypeError, ValueError):
            raise ValueError(
                f"the kernel {_called(self.function)} must give a number for two rows, got {_shape(found)}; KernelSVM "
                "takes a function of two matrices, as scikit-learn's SVC does"
            ) from None
        _check_numbers(number, self.function)
        return number


class OwnBlocks:
    """k(x, lⱼ) of new rows x and training rows l by their ``points``, numbers (m, 1), for maps."""

    def __init__(self, kernel: OwnKernel, points: NDArray[np.float64]) -> None:
        self.kernel, self.points = kernel, points

    def fill(self, X: Any, out: NDArray[Any]) -> None:
        """Write k(x, l) of the rows X into ``out`` (n, m)."""
        out[:] = self.kernel.values(X, self.points)


def rows_of_any(X: Any) -> Any:
    """Rows as an array (n, d) of float64 or a CSR matrix, if they are numbers; else their objects, (n,)."""
    if issparse(X):
        return X.tocsr()
    if is_row_source(X):
        X = np.asarray(float_rows(X))
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    if not isinstance(X, np.ndarray) or X.ndim == 2:
        try:
            numbers = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.ndim == 2:
            if not np.isfinite(numbers).all():
                raise ValueError("X contains NaN or infinity")
            return numbers
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise ValueError(f"X must be a list of rows, got {type(X).__name__}")
    found = np.empty(len(X), dtype=object)
    for at, row in enumerate(X):
        found[at] = row
    return found


def matrix_of(X: Any) -> NDArray[np.float64]:
    """A precomputed kernel matrix (n, n); ValueError unless it is square, symmetric, and has no negative eigenvalue
    among at most `CHECKED` of its rows."""
    rows = X.toarray() if issparse(X) else rows_of_any(X)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
        shape = " × ".join(map(str, rows.shape)) if rows.ndim == 2 else f"{len(rows)} rows that are no numbers"
        raise ValueError(f"a precomputed kernel needs a square matrix in fit, k of all pairs of rows, got {shape}")
    check_symmetric(rows, "the precomputed matrix")
    some = np.linspace(0, len(rows) - 1, min(CHECKED, len(rows))).astype(int)
    check_positive(rows[np.ix_(some, some)], "the precomputed matrix")
    return np.asarray(rows)


def check_symmetric(K: NDArray[np.float64], what: str) -> None:
    """ValueError, naming the rows, unless K (m, m) is symmetric up to rounding."""
    apart = np.abs(K - K.T)
    if apart.max(initial=0.0) > ROUNDING * np.abs(K).max(initial=0.0):
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise ValueError(
            f"{what} is not symmetric: k(x, x′) is {K[i, j]:.6g} and k(x′, x) is {K[j, i]:.6g} of rows {i} and {j}; "
            "take (k(x, x′) + k(x′, x))/2, if that is a kernel"
        )


def check_positive(K: NDArray[np.float64], what: str) -> None:
    """ValueError, naming the eigenvalue, if the symmetric K (m, m) has a negative one."""
    least = float(eigvalsh(K, subset_by_index=[0, 0])[0]) if len(K) else 0.0
    if least < -ROUNDING * len(K) * np.abs(K).max(initial=0.0):
        raise ValueError(
            f"{what} is not positive semi-definite: {len(K)} of its rows have the eigenvalue {least:.3g}; add "
            f"{-least:.3g} or more to k(x, x), or take a kernel that is"
        )


def own_kernel(kernel: Any, gamma: Any, signature: Signature) -> OwnKernel:
    """The user's ``kernel`` (`is_own`), without rows; WrongParameter if it has a γ beside."""
    if gamma != 1:
        problem = f"must be 1 with a kernel of your own, which has its own bandwidth, got {gamma!r}"
        raise WrongParameter("gamma", problem)
    return OwnKernel(function=kernel, signature=signature)


def _integers(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(numbers).reshape(len(numbers)).astype(np.int64)


def _at(rows: Any, index: Any) -> Any:
    return rows[index]


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _shape(found: Any) -> str:
    return f"an array {found.shape}" if hasattr(found, "shape") else f"{type(found).__name__} {found!r:.40}"


def _check_numbers(found: Any, function: Any) -> None:
    if not np.isfinite(found).all():
        raise ValueError(f"the kernel {_called(function)} gives NaN or infinity")
