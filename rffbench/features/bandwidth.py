"""The kernel's γ by a rule, from the rows that a map or a kernel machine is fitted to: 'scale', as scikit-learn has it,
and 'median'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from scipy.spatial.distance import squareform

from rffbench.kernels import KERNELS, Kernel, gamma_from_sigma, make_kernel, median_distance
from rffbench.parameters import GAMMA_RULES, WrongParameter, is_rule
from rffbench.rowsource import row_blocks
from rffbench.seeds import RandomState, generator, seed_sequence

MEDIAN_ROWS = 1000  # rows whose median distance is the bandwidth
# γ is one over d times this power of the variance: in the kernel's units, one over a squared length or a length.
_SCALE_POWER = {"gaussian": 1.0, "cauchy": 1.0, "laplacian": 0.5}


class Bandwidth:
    """What maps and kernel machines share: a kernel whose γ is a number, or a rule that finds one in the rows of
    ``fit``. The same rows and the same stream have the same γ in all of them."""

    kernel: str
    gamma: float | str
    random_state: RandomState
    gamma_: float

    def _check_kernel(self) -> Kernel:
        """The kernel, with some γ where a rule will give it; ValueError where there is no such kernel or γ."""
        if isinstance(self.gamma, str) and self.kernel not in _SCALE_POWER and self.kernel in KERNELS:
            raise WrongParameter("gamma", f"must be a number, 1/R of the ball that holds the data, got {self.gamma!r}")
        if isinstance(self.gamma, str) and not is_rule(self.gamma):
            rules = " or ".join(map(repr, GAMMA_RULES))
            raise WrongParameter("gamma", f"must be a positive number, or {rules}, got {self.gamma!r}")
        some: Any = 1.0 if is_rule(self.gamma) else self.gamma
        return make_kernel(self.kernel, some)

    def _learn_gamma(self, X: Any) -> None:
        """Set ``gamma_`` by the rows X (n, d) of a fit: an array, a CSR matrix or a row source."""
        if is_rule(self.gamma):
            self.gamma_ = gamma_of_rows(self.kernel, self.gamma, X, seed_sequence(self.random_state))
        else:
            self.gamma_ = float(self.gamma)

    @property
    def bandwidth(self) -> Any:
        """γ as a number: ``gamma``, or what the rule came to."""
        return self.gamma_ if is_rule(self.gamma) else self.gamma


def gamma_of_rows(kernel: str, rule: str, X: Any, sequence: SeedSequence) -> float:
    """γ of ``kernel`` by ``rule`` on the rows X (n, d): an array, a CSR matrix or a row source.

    'scale': 1/(d·Var X), Var X over all of X's numbers, as in scikit-learn's RBFSampler and SVC, for the Gaussian
    and the Cauchy kernel; 1/(d·√Var X) for the Laplacian. 'median': σ is the median distance ‖x − x′‖ between pairs of
    at most MEDIAN_ROWS rows, drawn by ``sequence``, in the kernel's norm, and γ is σ's
    (`rffbench.kernels.gamma_from_sigma`): 1/(2σ²) for the Gaussian, 1/σ² for the Cauchy, 1/σ for the Laplacian.

    Where all of X is one number, γ is 1. ValueError where the median distance is 0 otherwise.
    """
    median = sampled_median_distance(kernel, X, sequence) if rule == "median" else 0.0
    if 0 < median < np.inf:
        return gamma_from_sigma(kernel, median)
    variance = _variance(X)
    if not np.isfinite(variance) or median:
        raise ValueError(f"gamma={rule!r} needs numbers that can be squared, and X holds NaN, infinity or larger ones")
    if variance == 0:
        return 1.0
    if rule == "scale":
        return float(1 / (X.shape[1] * variance ** _SCALE_POWER[kernel]))
    raise ValueError(
        f"gamma='median' needs rows that differ: the median distance between n_samples = {X.shape[0]} rows is 0; "
        f"give gamma a number"
    )


def sampled_median_distance(kernel: str, X: Any, sequence: SeedSequence) -> float:
    """The median distance, in the kernel's norm, between at most MEDIAN_ROWS of the rows X (n, d)."""
    n = X.shape[0]
    chosen = generator(sequence, "median distance").choice(n, min(MEDIAN_ROWS, n), replace=False)
    rows = chosen_rows(X, np.sort(chosen)).astype(np.float64)
    if not issparse(rows):
        return median_distance(kernel, rows)
    from sklearn.metrics import pairwise_distances  # 0.2 s, which every command that reads a config would take

    metric = "manhattan" if kernel == "laplacian" else "euclidean"
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
    """Of all numbers of X, the zeros of a sparse one included, in float64; in two passes over the rows."""

    def over_rows(number: Callable[[NDArray[np.float64]], np.floating]) -> float:
        blocks = (X[rows] for rows in row_blocks(X.shape[0]))
        return sum(float(number(block.data if issparse(block) else np.asarray(block))) for block in blocks)

    size = X.shape[0] * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = over_rows(lambda numbers: numbers.sum(dtype=np.float64)) / size
        squares = over_rows(lambda numbers: np.square(numbers - mean, dtype=np.float64).sum())
    zeros = size - X.nnz if issparse(X) else 0
    return (squares + zeros * min(abs(mean), 1e154) ** 2) / size  # a larger float's square is Python's OverflowError
