"""Rules that find the kernel's γ from the training rows: 'scale', as in scikit-learn, and 'median'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from scipy.spatial.distance import squareform

from rffbench.arguments.parameters import GAMMA_RULES, WrongParameter, is_rule
from rffbench.arguments.rowsource import row_blocks
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.kernels import OWN_KERNELS, Kernel, make_kernel
from rffbench.kernels.own import PRECOMPUTED, OwnKernel, Signature, is_own, own_kernel

MEDIAN_ROWS = 1000  # 'median' takes the distances between at most this number of rows


class Bandwidth:
    """Base of maps and kernel machines: a kernel, given by its name or as a `Kernel`, and its γ, a number or a rule. A
    rule finds the same γ in all of them from the same rows and ``random_state``."""

    kernel: Any
    gamma: float | str
    n_features_in_: int
    random_state: RandomState
    gamma_: float
    own_kernels: ClassVar[Signature | None] = None
    """What a callable kernel takes; None: kernels are given by name or as a `Kernel`."""
    _own: OwnKernel | None = None

    def _check_kernel(self) -> Kernel:
        """The kernel, with γ = 1 if a rule will find γ; ValueError if there is no such kernel or γ."""
        if is_own(self.kernel):
            if self.own_kernels is None:
                what = "a precomputed matrix" if self.kernel == PRECOMPUTED else "a callable"
                problem = f"of {type(self).__name__} must be a name or a Kernel; {OWN_KERNELS} take {what}"
                raise WrongParameter("kernel", problem)
            return own_kernel(self.kernel, self.gamma, self.own_kernels)
        kernel = make_kernel(self.kernel, 1.0)
        if isinstance(self.gamma, str) and self.gamma not in kernel.rules:
            raise WrongParameter("gamma", no_rule(kernel, self.gamma))
        if is_rule(self.gamma) and kernel.gamma != 1:
            raise WrongParameter("gamma", f"is given twice: {self.gamma!r}, and {kernel.gamma:g} in {kernel}")
        return kernel if is_rule(self.gamma) else make_kernel(self.kernel, self.gamma)

    def _learn_gamma(self, X: Any) -> None:
        """Set ``gamma_`` from the rows X (n, d) of a fit: an array, a CSR matrix or a row source."""
        kernel = self._check_kernel()
        kernel.check_inputs(X.shape[1])
        if is_rule(self.gamma):
            self.gamma_ = gamma_of_rows(kernel, self.gamma, X, seed_sequence(self.random_state))
        else:
            self.gamma_ = kernel.gamma

    def _numbered(self, X: Any) -> NDArray[np.float64]:
        """Keep the rows X of a fit for a kernel of the user's own. Returns their numbers, (n, 1)."""
        kernel = self._check_kernel()
        assert isinstance(kernel, OwnKernel)
        self._own = kernel.fitted_to(X)
        self.n_features_in_ = self._own.width
        return self._own.numbers

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == PRECOMPUTED
        return tags

    @property
    def bandwidth(self) -> float:
        """γ as a number: ``gamma``, or the number that the rule found."""
        return self.gamma_ if is_rule(self.gamma) else self._check_kernel().gamma

    @property
    def kernel_(self) -> Kernel:
        """The kernel, with γ as a number."""
        if self._own is not None and is_own(self.kernel):
            return self._own
        return make_kernel(self.kernel, self.gamma_ if is_rule(self.gamma) else self.gamma)


def no_rule(kernel: Kernel, rule: str) -> str:
    """The message if γ is ``rule``, a text that is not among the kernel's rules."""
    if kernel.rules or rule not in GAMMA_RULES:
        rules = " or ".join(["", *map(repr, kernel.rules)])
        return f"must be a positive number{',' if rules else ''}{rules}, got {rule!r}"
    if kernel.scaled_by_data:
        return f"must be a number, 1/R of the ball that holds the data, got {rule!r}"
    return f"must be 1: the {kernel.called()} kernel has no bandwidth, got {rule!r}"


def gamma_of_rows(kernel: str | Kernel, rule: str, X: Any, sequence: SeedSequence, times: float = 1.0) -> float:
    """γ of ``kernel`` by ``rule`` on the rows X (n, d), an array, a CSR matrix or a row source, in units of the
    kernel's ``lengths``.

    'scale', with Var X over all of X's numbers: 1/(d·Var X) if γ is one over a squared length (gaussian, cauchy,
    polynomial, …), as in scikit-learn's RBFSampler and SVC. If γ is one over a length, it is 1/(d·√Var X) in the ℓ1
    norm (laplacian) and 1/√(d·Var X) in the Euclidean norm (matern).

    'median': the γ of σ (`Kernel.gamma_from_sigma`), where σ is ``times`` the median distance, in the kernel's norm,
    between at most MEDIAN_ROWS rows, which ``sequence`` draws.

    γ is 1 if all numbers of X are equal. Otherwise, a median distance of 0 is a ValueError.
    """
    kernel = make_kernel(kernel)
    if kernel.lengths is not None:
        X = kernel.scaled(X) if issparse(X) else _InUnits(X, kernel)
    median = sampled_median_distance(kernel, X, sequence) if rule == "median" else 0.0
    if 0 < median < np.inf:
        return kernel.gamma_from_sigma(times * median)
    variance = _variance(X)
    if not np.isfinite(variance) or median:
        raise ValueError(f"the rule {rule!r} squares the numbers of X, and X holds NaN, infinity or numbers too large")
    if variance == 0:
        return 1.0
    if rule == "scale":
        return kernel.gamma_from_variance(variance, X.shape[1])
    raise ValueError(
        f"the bandwidth 'median' needs rows that differ: the median distance between n_samples = {X.shape[0]} rows is "
        "0; give a number in its place"
    )


def gamma_of_ball(X: Any, kernel: Kernel) -> float:
    """γ = 1/R of a kernel of rows in a ball (`Kernel.scaled_by_data`): R is the largest ‖x‖ of the rows X (n, d), in
    units of the kernel's ``lengths`` (Lin & Li 2008). ValueError if R overflows."""
    with np.errstate(over="ignore"):
        largest = max(float(np.square(kernel.scaled(X[rows])).sum(axis=1).max()) for rows in row_blocks(X.shape[0]))
    if not np.isfinite(largest):
        raise ValueError("the squares of some numbers overflow; scale them by a preprocess step")
    return 1 / (float(np.sqrt(largest)) or 1.0)


class _InUnits:
    """The rows of X, an array or a row source, in units of a kernel's ``lengths``, block by block."""

    def __init__(self, X: Any, kernel: Kernel) -> None:
        self._X, self._kernel, self.shape = X, kernel, X.shape

    def __getitem__(self, rows: slice) -> Any:
        return self._kernel.scaled(np.asarray(self._X[rows]))


def sampled_median_distance(kernel: Kernel, X: Any, sequence: SeedSequence) -> float:
    """The median distance, in the kernel's norm, between at most MEDIAN_ROWS of the rows X (n, d)."""
    n = X.shape[0]
    chosen = generator(sequence, "median distance").choice(n, min(MEDIAN_ROWS, n), replace=False)
    rows = chosen_rows(X, np.sort(chosen)).astype(np.float64)
    if not issparse(rows):
        return kernel.median_distance(rows)
    from sklearn.metrics import pairwise_distances  # 0.2 s, which every command that reads a config would take

    metric = "manhattan" if kernel.norm == "cityblock" else "euclidean"
    pairs = squareform(pairwise_distances(rows, metric=metric), checks=False)
    return float(np.median(pairs)) if len(pairs) else 0.0


def chosen_rows(X: Any, index: NDArray[np.int64]) -> Any:
    """The rows ``index``, ascending, of X, an array, a CSR matrix or a row source, which is read block by block."""
    parts = []
    for rows in row_blocks(X.shape[0]):
        first, last = np.searchsorted(index, [rows.start, rows.stop])
        if last > first:
            parts.append(X[rows][index[first:last] - rows.start])
    return vstack(parts, format="csr") if issparse(X) else np.concatenate(parts)


def _variance(X: Any) -> float:
    """The variance of all numbers of X, including the zeros of a sparse X, in float64, in two passes over the rows."""

    def over_rows(number: Callable[[NDArray[np.float64]], np.floating[Any]]) -> float:
        blocks = (X[rows] for rows in row_blocks(X.shape[0]))
        return sum(float(number(block.data if issparse(block) else np.asarray(block))) for block in blocks)

    size = X.shape[0] * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = over_rows(lambda numbers: numbers.sum(dtype=np.float64)) / size
        squares = over_rows(lambda numbers: np.square(numbers - mean, dtype=np.float64).sum())
    zeros = size - X.nnz if issparse(X) else 0
    return float((squares + zeros * min(abs(mean), 1e154) ** 2) / size)  # Python raises OverflowError above 1e154
