"""What is measured of a feature map by itself: the errors of its kernel matrix, and the spread of its projections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from scipy.spatial.distance import pdist, squareform
from scipy.special import ndtr

from rffbench.features.base import FourierFeatures
from rffbench.kernels import Kernel
from rffbench.metrics import spectral_norm

ENTRY_QUANTILE = 0.99


@dataclass
class Points:
    """The rows X (n, d) that maps are measured on, and what their exact kernel matrix is, computed when asked for."""

    X: NDArray
    kernel: Kernel

    @cached_property
    def kernel_matrix(self) -> NDArray[np.float64]:
        """K (n, n)."""
        return self.kernel(self.X.astype(np.float64, copy=False))

    @cached_property
    def kernel_norm(self) -> float:
        """‖K‖₂."""
        return spectral_norm(self.kernel_matrix)

    @cached_property
    def diameter(self) -> float:
        """The largest ‖x − x′‖₂; 0 of a single point."""
        return float(pdist(self.X, "euclidean").max(initial=0.0))


@dataclass
class MapOnPoints:
    """A fitted feature map and the points it is measured on."""

    features: Any
    points: Points

    @cached_property
    def Z(self) -> NDArray[np.float64]:
        """The features (n, p)."""
        return self.features.transform(self.points.X).astype(np.float64, copy=False)

    @cached_property
    def difference(self) -> NDArray[np.float64]:
        """K − ZZᵀ (n, n)."""
        product = self.Z @ self.Z.T
        return np.subtract(self.points.kernel_matrix, product, out=product)

    @cached_property
    def entries(self) -> NDArray[np.float64]:
        """|K − ZZᵀ| at the pairs of different points."""
        return np.abs(squareform(self.difference, checks=False))

    @cached_property
    def spectral_error(self) -> float:
        """‖K − ZZᵀ‖₂; the difference is multiplied by, and not made."""
        Z = aslinearoperator(self.Z)
        error: LinearOperator = aslinearoperator(self.points.kernel_matrix) - Z @ Z.T
        return spectral_norm(error)

    @cached_property
    def projections(self) -> NDArray[np.float64]:
        """wⱼᵀxᵢ/(√(2γ)‖xᵢ‖) of the points other than 0 and all frequencies, (n, s), each row sorted: N(0, 1) where
        w ~ N(0, 2γI)."""
        X = self.points.X.astype(np.float64, copy=False)
        lengths = np.linalg.norm(X, axis=1)
        U = X[lengths > 0] @ self.features.frequencies_
        U /= np.sqrt(2 * self.points.kernel.gamma) * lengths[lengths > 0, None]
        U.sort(axis=1)
        return U


def kernel_error(mapped: MapOnPoints) -> float:
    """‖K − ZZᵀ‖₂ / ‖K‖₂ (Liu et al. 2020, Figure 1a)."""
    return mapped.spectral_error / mapped.points.kernel_norm


def spectral_error(mapped: MapOnPoints) -> float:
    """‖K − ZZᵀ‖₂."""
    return mapped.spectral_error


def kernel_norm(mapped: MapOnPoints) -> float:
    """‖K‖₂, of the points alone."""
    return mapped.points.kernel_norm


def sup_error(mapped: MapOnPoints) -> float:
    """max |K − ZZᵀ| over all pairs of the points (Rahimi & Recht 2007, Claim 1)."""
    return float(np.abs(mapped.difference).max())


def entry_error(mapped: MapOnPoints) -> float:
    """The root of the mean square of K − ZZᵀ over pairs of different points."""
    return float(np.sqrt(np.mean(np.square(mapped.entries))))


def entry_quantile(mapped: MapOnPoints) -> float:
    """What |K − ZZᵀ| exceeds at one in a hundred pairs of different points: the error of an entry at δ = 0.01."""
    return float(np.quantile(mapped.entries, ENTRY_QUANTILE))


def diameter(mapped: MapOnPoints) -> float:
    """The largest ‖x − x′‖₂, of the points alone: what the bound on the sup error needs."""
    return mapped.points.diameter


def marginal_ks(mapped: MapOnPoints) -> float:
    """The Kolmogorov–Smirnov distance of a point's s projections to N(0, ‖x‖²/σ²), the mean over the points.

    sup |F_s − Φ|, F_s the empirical distribution function; independent Gaussian frequencies have about 0.87/√s.
    """
    U = mapped.projections
    s = U.shape[1]
    cumulative = ndtr(U)
    steps = np.arange(s + 1) / s
    above, below = (steps[1:] - cumulative).max(axis=1), (cumulative - steps[:-1]).max(axis=1)
    return float(np.maximum(above, below).mean())


def marginal_energy(mapped: MapOnPoints) -> float:
    """The energy distance of a point's s projections to N(0, ‖x‖²/σ²) over ‖x‖/σ, the mean over the points.

    √(2E|u − g| − E|u − u′| − E|g − g′|), u, u′ of the projections, g, g′ ~ N(0, 1) (G. Székely, M. Rizzo, "Energy
    statistics", 2013), with E|u − g| = u(2Φ(u) − 1) + 2φ(u) and E|g − g′| = 2/√π. Independent Gaussian frequencies
    have about √(2/(s√π)).
    """
    U = mapped.projections
    s = U.shape[1]
    to_normal = U * (2 * ndtr(U) - 1) + 2 * np.exp(-(U**2) / 2) / np.sqrt(2 * np.pi)
    within = U @ (2 * np.arange(1, s + 1) - s - 1) * (2 / s**2)  # Σᵢⱼ |uᵢ − uⱼ| of sorted numbers, over s²
    squared = 2 * to_normal.mean(axis=1) - within - 2 / np.sqrt(np.pi)
    return float(np.sqrt(np.maximum(squared, 0)).mean())


MEASURES: dict[str, Callable[[MapOnPoints], float]] = {
    each.__name__: each
    for each in (
        kernel_error, spectral_error, kernel_norm, sup_error, entry_error, entry_quantile, diameter, marginal_ks,
        marginal_energy,
    )
}  # fmt: skip
"""What a config may ask to be measured of a fitted map on some points, by name."""

OF_GAUSSIAN_FREQUENCIES = ("marginal_ks", "marginal_energy")


def check_measurable(name: str, features: Any) -> None:
    """ValueError where the measure ``name`` is of something that the map ``features`` does not have."""
    gaussian = isinstance(features, FourierFeatures) and features.kernel == "gaussian"
    if name in OF_GAUSSIAN_FREQUENCIES and not gaussian:
        raise ValueError(
            f"{name} compares frequencies with the Gaussian kernel's; {type(features).__name__} for the "
            f"{features.kernel} kernel has none such"
        )
