"""Ridge regression on Fourier features, with the arrays on a PyTorch device.

The host draws frequencies, and chooses columns by their scores, with the same code and random numbers as on the CPU.
The device computes the features of row blocks, the folds' Gram matrices in float64, and the factorisations. Nothing is
specific to CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from sklearn.base import clone

from rffbench.arguments.parameters import WrongParameter, check_count
from rffbench.arguments.rowsource import Stopwatch
from rffbench.errors import MemoryBudgetError
from rffbench.features.base import FourierFeatures
from rffbench.features.weighted.pool import PooledFeatures
from rffbench.solvers.base import Classifier, Regressor, less_origin, no_singular
from rffbench.solvers.ridge.cross_validation import solve_ridge_cv
from rffbench.solvers.ridge.fold_statistics import Moments, Work, cv_results, fold_bounds
from rffbench.solvers.ridge.settings import (
    ALPHAS,
    Center,
    RidgeScale,
    check_folds,
    check_penalties,
    chosen_method,
)

BLOCK_ELEMENTS = 1 << 24  # numbers in a block of features, more than on a CPU, for larger products
MOST_BLOCK_ROWS = 1 << 16


def block_rows(columns: int) -> int:
    """Rows mapped at a time."""
    return max(256, min(MOST_BLOCK_ROWS, BLOCK_ELEMENTS // columns))


def to_host(tensor: torch.Tensor) -> NDArray[np.float64]:
    return tensor.cpu().numpy()


class DeviceMatrix:
    """A symmetric p×p float64 matrix on a device, with the interface of `rffbench.linalg.triangles.Triangle`.

    Arguments and results are numpy arrays, (p, t), except for the ``diagonal``.
    """

    def __init__(self, p: int, device: torch.device) -> None:
        self.values = torch.zeros((p, p), dtype=torch.float64, device=device)

    def _there(self, array: NDArray) -> torch.Tensor:
        return torch.tensor(array, dtype=torch.float64, device=self.values.device)

    @property
    def diagonal(self) -> torch.Tensor:
        """A writable view of the diagonal."""
        return self.values.diagonal()

    def copy_from(self, other: DeviceMatrix) -> None:
        """Set the matrix to ``other``, of the same size."""
        self.values.copy_(other.values)

    def add_gram(self, Z: NDArray[np.float64] | torch.Tensor, factor: float = 1.0) -> None:
        """Add factor·ZᵀZ, Z (rows, p)."""
        Z = Z if isinstance(Z, torch.Tensor) else self._there(Z)
        self.values.addmm_(Z.T, Z, alpha=factor)

    def cholesky(self) -> None:
        """Replace the matrix by its Cholesky factor L (A = L·Lᵀ). LinAlgError if it is not positive definite."""
        factor, info = torch.linalg.cholesky_ex(self.values)
        if order := int(info):
            raise LinAlgError(f"not positive definite: the leading minor of order {order} is not positive")
        self.values = factor

    def solve(self, B: NDArray[np.float64]) -> NDArray[np.float64]:
        """A⁻¹B, if this holds the Cholesky factor of A."""
        return to_host(torch.cholesky_solve(self._there(B), self.values))

    def inverse_diagonal(self) -> NDArray[np.float64]:
        """diag(A⁻¹), if this holds the Cholesky factor of A: the squared norms of the columns of L⁻¹."""
        identity = torch.eye(len(self.values), dtype=torch.float64, device=self.values.device)
        inverse = torch.linalg.solve_triangular(self.values, identity, upper=False)
        return to_host(inverse.square_().sum(dim=0))

    def multiply(self, B: NDArray[np.float64]) -> NDArray[np.float64]:
        """A·B."""
        return to_host(self.values @ self._there(B))


class DeviceStatistics:
    """`rffbench.solvers.ridge.fold_statistics.FoldStatistics` with whole float64 Gram matrices on a device."""

    def __init__(self, columns: int, folds: int, targets: int, device: torch.device) -> None:
        self.columns, self.folds, self.device = columns, folds, device
        self._grams = [DeviceMatrix(columns, device) for _ in range(folds)]
        # Zᵀ[y | 1] of each fold, and on the host the sums over y.
        self._right = torch.zeros((folds, columns, targets + 1), dtype=torch.float64, device=device)
        self._n = np.zeros(folds, dtype=np.int64)
        self._y_sums, self._y_squares = np.zeros((2, folds, targets))

    def add(self, fold: int, Z: torch.Tensor, Y: NDArray[np.float64]) -> None:
        """Add the rows Z (rows, columns), float64, with targets Y (rows, targets) to ``fold``."""
        self._grams[fold].add_gram(Z)
        Y1 = torch.tensor(np.column_stack([Y, np.ones(len(Y))]), device=self.device)
        self._right[fold].addmm_(Z.T, Y1)
        self._n[fold] += len(Y)
        self._y_sums[fold] += Y.sum(axis=0)
        self._y_squares[fold] += np.square(Y).sum(axis=0)

    def moments(self, folds: Sequence[int]) -> Moments:
        """The moments of all rows of ``folds``."""
        chosen = list(folds)
        right = to_host(self._right[chosen].sum(dim=0))
        y_sums, y_squares = self._y_sums[chosen].sum(axis=0), self._y_squares[chosen].sum(axis=0)
        return Moments(int(self._n[chosen].sum()), right[:, :-1], right[:, -1], y_sums, y_squares)

    def gram(self, folds: Sequence[int], out: DeviceMatrix) -> None:
        """out ← ZᵀZ over the rows of ``folds``."""
        out.values.zero_()
        for fold in folds:
            out.values.add_(self._grams[fold].values)

    most_steps = 0  # factors take no longer on a device

    def multiply(self, fold: int, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z_kᵀZ_k·coef for coef (columns, t), Z_k the rows of ``fold``."""
        return self._grams[fold].multiply(coef)

    def trace(self, fold: int) -> float:
        """‖Z_k‖², Z_k the rows of ``fold``."""
        return float(self._grams[fold].diagonal.sum())

    def work(self, penalties: int, memory: int | None = None) -> Work:
        """The working matrices; their memory was checked before the fit."""
        return Work([DeviceMatrix(self.columns, self.device)], DeviceMatrix(self.columns, self.device))

    @staticmethod
    def bytes_needed(columns: int, folds: int) -> int:
        """The bytes of a fit: the folds' matrices, two working matrices, and one while a factor is computed."""
        return 8 * (folds + 3) * columns**2


class DeviceMap:
    """The present state of a Fourier feature map, with frequencies on the device in the data's dtype."""

    def __init__(self, features: FourierFeatures, columns: int, dtype: np.dtype, device: torch.device) -> None:
        def there(array: NDArray) -> torch.Tensor:
            return torch.tensor(np.ascontiguousarray(array), device=device)

        self._columns, self._device = columns, device
        self._blocks = [
            block._replace(
                W=there(block.W),
                offset=None if block.offset is None else there(block.offset),
                scale=there(block.scale) if isinstance(block.scale, np.ndarray) else float(block.scale),
            )
            for block in features.column_blocks(columns, dtype)
        ]

    def __call__(self, rows: NDArray) -> torch.Tensor:
        """The features (n, columns) of ``rows`` (n, d), in their dtype, on the device."""
        X: Any = torch.tensor(rows, device=self._device)
        Z = torch.empty((len(X), self._columns), dtype=X.dtype, device=self._device)
        for W, offset, scale, cos, sin in self._blocks:
            phase = X @ W
            if offset is not None:
                phase += offset
            for function, where in ((torch.cos, cos), (torch.sin, sin)):
                if where is not None:
                    function(phase, out=Z[:, where]).mul_(scale)
        return Z


class _TorchRidge:
    """Fit and prediction; see `TorchRidgeCV`."""

    def __init__(
        self, alphas: Sequence[float] = ALPHAS, *, features: Any, folds: int = 5, lambda_scale: RidgeScale = "n",
        center: Center = True, device: str = "cuda",
    ) -> None:  # fmt: skip
        self.alphas = alphas
        self.features = features
        self.folds = folds
        self.lambda_scale = lambda_scale
        self.center = center
        self.device = device

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_penalties(self.alphas, self.lambda_scale, self.center, get_args(RidgeScale))
        if chosen_method(None, list(self.alphas), self.lambda_scale) == "svd":
            least = min(self.alphas)
            problem = (
                f"{least:g} needs the singular values of Z, which {self.device} does not compute; take a larger one"
            )
            raise WrongParameter("lambda", problem)
        check_count("folds", self.folds, least=2)

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        self.check_parameters()
        n, alphas = X.shape[0], [float(alpha) for alpha in self.alphas]
        check_folds(self.folds, alphas, n)
        folds = self.folds if len(alphas) > 1 else 1
        self._device = torch.device(self.device)
        self.features_ = clone(self.features)
        self._columns = self.features_.n_components
        self._check_memory(folds)
        warm_up(self._device, X.dtype)
        self.timing_ = {"feature_s": 0.0, "gram_s": 0.0, "solve_s": 0.0}

        with self._timed("feature_s", X):
            self._fit_features(X, Y, y)
            self._map = DeviceMap(self.features_, self._columns, X.dtype, self._device)
        y_origin = self._target_origin(Y)  # type: ignore[attr-defined]
        Y = less_origin(Y, y_origin)
        # With an intercept, a point near the columns' means is subtracted first, for accuracy.
        origin = torch.zeros(self._columns, dtype=torch.float64, device=self._device)
        if self.center == "both":
            origin = self._map(X[: min(n, block_rows(self._columns))]).double().mean(dim=0)
        statistics = DeviceStatistics(self._columns, folds, Y.shape[1], self._device)
        for fold, (start, stop) in enumerate(pairwise(fold_bounds(n, folds))):
            for block in _blocks(start, stop, self._columns):
                with self._timed("feature_s", X):
                    Z = self._map(X[block])
                with self._timed("gram_s"):
                    Z = Z.double()
                    statistics.add(fold, Z - origin if self.center == "both" else Z, Y[block])
        with self._timed("solve_s"), no_singular():
            solution = solve_ridge_cv(statistics, alphas, lambda_scale=self.lambda_scale, center=self.center)
        intercept = y_origin + (solution.intercept - to_host(origin) @ solution.coef)
        single = y.ndim == 1 and Y.shape[1] == 1
        self.coef_ = solution.coef[:, 0] if single else solution.coef.T
        self.intercept_ = float(intercept[0]) if single else intercept
        self.alpha_ = solution.alpha
        self.cv_results_ = cv_results(alphas, solution.fold_error)

    def _fit_features(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        """Fit the map. If it chooses from a pool, the device computes the statistics for that."""
        features, (n, d) = self.features_, X.shape
        if not isinstance(features, PooledFeatures):
            features.fit(X, y)
            return
        targets = Y[:, 0] if Y.shape[1] == 1 else Y
        features.n_features_in_ = d
        features._learn_gamma(X)

        def gather(columns: int) -> dict[str, Any]:
            pool = DeviceMap(features, columns, X.dtype, self._device)
            gram = DeviceMatrix(columns if "gram" in features.needs else 0, self._device)
            right = torch.zeros((columns, *targets.shape[1:]), dtype=torch.float64, device=self._device)
            norms = torch.zeros(columns, dtype=torch.float64, device=self._device)
            for block in _blocks(0, n, columns):
                B = pool(X[block]).double()
                if "gram" in features.needs:
                    gram.add_gram(B)
                if "right_side" in features.needs:
                    right += B.T @ torch.tensor(targets[block], dtype=torch.float64, device=self._device)
                if "squared_norms" in features.needs:
                    norms += B.square_().sum(dim=0)
            gathered = {"gram": gram, "right_side": to_host(right), "squared_norms": to_host(norms)}
            return {name: gathered[name] for name in features.needs}

        features.fit_pool(n, d, gather)

    def _linear(self, X: Any) -> NDArray[np.float64]:
        """Zβ + c, block by block: (n,) or (n, t)."""
        n, coef = X.shape[0], np.asarray(self.coef_).T
        there = torch.tensor(coef, device=self._device)
        output = np.empty((n, *coef.shape[1:]))
        for block in _blocks(0, n, self._columns):
            output[block] = to_host(self._map(X[block]).double() @ there)
        return output + self.intercept_

    def _check_memory(self, folds: int) -> None:
        """MemoryBudgetError, before anything is computed, if the device has too little free memory."""
        free = free_bytes(self._device)
        needed = DeviceStatistics.bytes_needed(self._columns, folds)
        widest = self._columns
        if isinstance(self.features_, PooledFeatures):
            widest = 2 * self.features_.pool_size(self.features_.n_frequencies)
            if "gram" in self.features_.needs:  # its factor, the identity, and the factor's inverse
                needed = max(needed, 3 * 8 * widest**2)
        needed += 3 * 8 * block_rows(widest) * widest  # phases, features, and these in float64
        if free is not None and needed > free:
            what = f"ridge on {self._columns} columns with {folds} folds on the device {self.device}"
            raise MemoryBudgetError(what, needed, free)

    @contextmanager
    def _timed(self, part: Literal["feature_s", "gram_s", "solve_s"], X: Any = None) -> Iterator[None]:
        """Count the seconds until the device is done, without those in which a lazy X fetches rows."""
        synchronise(self._device)
        with Stopwatch(X) as watch:
            yield
            synchronise(self._device)
        self.timing_[part] += watch.seconds


class TorchRidgeCV(_TorchRidge, Regressor):
    """`rffbench.StreamedRidgeCV` on Fourier features, computed on a PyTorch device.

    Frequencies, folds and penalties are the same, and solutions are equal up to rounding. Features have the dtype of X;
    the Gram matrices and everything after them are float64. Memory on the device is (folds + 3)·p² numbers for p
    columns of features, and a block of rows; MemoryBudgetError, before anything is computed, if a CUDA device has less.

    Parameters
    ----------
    alphas, folds, lambda_scale, center : as in `rffbench.StreamedRidgeCV`.
    features : a Fourier feature map (`rffbench.features.base.FourierFeatures`), cloned and fitted.
    device : an argument of ``torch.device``: 'cuda', 'cuda:1', 'cpu'.

    Attributes
    ----------
    coef_, intercept_, alpha_, cv_results_, features_ : as in `rffbench.StreamedRidgeCV`, numpy arrays.
    timing_ : dict
        Seconds in 'feature_s' (drawing, choosing and mapping, and copying rows to the device), 'gram_s' and 'solve_s',
        each measured until the device has finished.
    """


class TorchRidgeClassifierCV(_TorchRidge, Classifier):
    """`rffbench.StreamedRidgeClassifierCV`, computed on a PyTorch device; otherwise as `TorchRidgeCV`."""


def _blocks(start: int, stop: int, columns: int) -> Iterator[slice]:
    rows = block_rows(columns)
    return (slice(first, min(stop, first + rows)) for first in range(start, stop, rows))


def synchronise(device: torch.device) -> None:
    """Wait until the device has finished its work; on devices other than the CPU, PyTorch's calls return early."""
    if device.type != "cpu":
        getattr(torch, device.type).synchronize(device)


def free_bytes(device: torch.device) -> int | None:
    """The free memory of a CUDA device; None for other devices."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None


def warm_up(device: torch.device, dtype: np.dtype) -> None:
    """Start the device and load its libraries before timing."""
    matrix = DeviceMatrix(64, device)
    phase: Any = torch.tensor(np.eye(64, dtype=dtype), device=device)
    matrix.add_gram(torch.cos(phase @ phase).mul_(2.0).double() + torch.sin(phase).double())
    matrix.diagonal[:] += 1.0
    matrix.cholesky()
    matrix.solve(np.ones((64, 1)))
    matrix.inverse_diagonal()
    synchronise(device)
